//! Replaces tombstones in debug sections by the true addresses, from relocations that the linker kept (`--emit-relocs`).
//!
//! The linker overwrites every address in the debug information of a folded function with a tombstone. The kept
//! relocation of such an address still names a symbol, and the value of that symbol is the survivor's address. The
//! relocations of discarded code have no symbol any more, so their tombstones remain. Only words with a tombstone are
//! replaced, and only by addresses of code. [`Restored`] lists the replaced words, because a restored address is
//! a different kind of evidence from an address that the linker wrote.

use super::layout::Layout;
use super::relocate::Relocator;
use crate::model::{AddressRange, ImageAddr};
use crate::open::elf_tables::Tables;
use crate::open::error::OpenError;
use crate::open::files::Files;
use crate::open::image::{DebugSection, DebugSections, Restored};
use crate::open::relocations::KeptRelocations;

/// The debug sections that hold addresses of code.
const SECTIONS: [(DebugSection, &[u8]); 4] = [
    // `.debug_line` is missing on purpose: there linkers write the address of the survivor for a folded function.
    (DebugSection::Info, b".debug_info"),
    (DebugSection::Addr, b".debug_addr"),
    (DebugSection::Ranges, b".debug_ranges"),
    (DebugSection::RngLists, b".debug_rnglists"),
];

/// Replaces each debug section that has tombstones to restore by a restored copy.
///
/// # Errors
/// A copy is larger than `files` allows.
pub(super) fn restore<'f>(
    files: &'f Files,
    tables: &Tables<'f>,
    layout: &Layout,
    kept: &KeptRelocations<'f>,
    debug: &mut DebugSections<'f>,
    path: &std::path::Path,
) -> Result<Restored, OpenError> {
    let mut restored = Restored::default();
    let code: Vec<AddressRange> =
        layout.sections.iter().filter(|section| section.executable).map(|section| section.range).collect();
    let is_code = |address: u64| {
        let address = ImageAddr(address);
        let after = code.partition_point(|range| range.start <= address);
        after.checked_sub(1).is_some_and(|at| address < code[at].end)
    };
    let relocator = Relocator::new(tables, &layout.bias);
    for (id, name) in SECTIONS {
        let bytes = debug.get(id);
        let mut patches: Vec<(usize, usize, u64)> = Vec::new();
        for section in kept.sections().iter().filter(|section| section.target_name == name) {
            for relocation in section.iter().filter(|relocation| relocation.symbol != 0) {
                // Only an address of a whole word can be a tombstone: a difference of two labels may be 0 for other
                // reasons.
                let Some(width) = relocator.absolute(relocation.kind).map(usize::from) else { continue };
                let Ok(at) = usize::try_from(relocation.section_off) else { continue };
                let Some(word) = at.checked_add(width).and_then(|end| bytes.get(at..end)) else { continue };
                if !is_tombstone(word, tables.is_big_endian()) {
                    continue;
                }
                // A target outside of code is not the address of a function, whatever was overwritten.
                if let Some(target) = section.target(&relocation).filter(|&target| is_code(target)) {
                    patches.push((at, width, target));
                }
            }
        }
        if patches.is_empty() {
            continue;
        }
        let len = bytes.len() as u64;
        let mut copy = files.reserve(path, "relocations that the linker kept", len, len)?;
        copy.extend_from_slice(bytes);
        for &(at, width, target) in &patches {
            let place = &mut copy[at..at + width];
            if tables.is_big_endian() {
                place.copy_from_slice(&target.to_be_bytes()[8 - width..]);
            } else {
                place.copy_from_slice(&target.to_le_bytes()[..width]);
            }
        }
        debug.set(id, files.keep(copy));
        restored.set(id, patches.into_iter().map(|(at, ..)| at as u64).collect());
    }
    Ok(restored)
}

/// True for the tombstones that linkers write: 0, 1, -1 and -2 in the size of the word.
fn is_tombstone(word: &[u8], big_endian: bool) -> bool {
    let (low, high) = match (word, big_endian) {
        ([high @ .., low], true) | ([low, high @ ..], false) => (*low, high),
        ([], _) => return false,
    };
    high.iter().all(|&byte| byte == 0) && low <= 1 || high.iter().all(|&byte| byte == 0xff) && low >= 0xfe
}

#[cfg(test)]
mod tests {
    use super::is_tombstone;

    #[test]
    fn tombstones() {
        for word in [0u64, 1, u64::MAX, u64::MAX - 1] {
            assert!(is_tombstone(&word.to_le_bytes(), false) && is_tombstone(&word.to_be_bytes(), true));
        }
        for word in [2u64, 0x100, 1 << 56, u64::MAX - 2, u64::MAX >> 8] {
            assert!(!is_tombstone(&word.to_le_bytes(), false) && !is_tombstone(&word.to_be_bytes(), true));
        }
        assert!(is_tombstone(&u32::MAX.to_le_bytes(), false) && !is_tombstone(&[], false));
    }
}
