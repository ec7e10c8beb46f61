//! Reads the ranges of functions and inlined subroutines (DWARF 5 2.17), skips damaged entries, and separates ranges in code
//! from tombstones.

use std::ops::Range;

use gimli::{AttributeValue, RawRngListEntry};

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{AddressRange, DieOffset, ImageAddr, MAX_PIECE};
use crate::open::DebugSection;
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::sections::line::Lines;
use crate::read::unit::addresses::{Addresses, DeadRange};
use crate::read::unit::lists;
use crate::read::unit::walked_unit::WalkedUnit;

/// A range whose address is the tombstone -1 or -2 in 64 bits, which lld writes if `-z dead-reloc-in-nonalloc` asks for it. Its length is
/// evidence. The last bytes of the address space stand for it: no program has code there. `None` if it is longer than [`MAX_ERASED`].
fn erased(start: u64, len: u64) -> Option<AddressRange> {
    let is_erased = start >= u64::MAX - 1 && (1..=MAX_ERASED).contains(&len);
    is_erased.then(|| AddressRange::new(ImageAddr(u64::MAX - len), ImageAddr(u64::MAX)))
}

/// Bytes of the longest function whose erased range is kept. A longer range is reported as `empty_range`.
const MAX_ERASED: u64 = 1 << 20;

/// How many entries of range lists a unit may visit. Any number of DIEs may refer to the same long list.
pub(crate) struct RangeEntries {
    most: u64,
    left: u64,
}

impl RangeEntries {
    pub(crate) fn new(most: u64) -> RangeEntries {
        RangeEntries { most, left: most }
    }

    /// Counts an entry that was visited; false if it was the last one, or one too many.
    fn visit(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    /// Counts an entry; false if none is left.
    pub(crate) fn spend(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// The number of entries that were visited.
    pub(crate) fn visited(&self) -> u64 {
        self.most - self.left
    }
}

/// The ranges of a subprogram.
pub(crate) struct SubprogramRanges {
    /// The ranges that are in code. The range at the function's entry comes first.
    pub(crate) live: Vec<AddressRange>,
    /// The other ranges.
    pub(crate) dead: Vec<DeadRange>,
}

/// Reads the ranges of a subprogram.
pub(crate) fn subprogram_ranges<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    list_entries: &mut RangeEntries,
    diagnostics: &mut Diagnostics,
    die: DieOffset,
    addresses: &Addresses<'f, E>,
) -> SubprogramRanges {
    let mut all = Vec::new();
    visit_ranges(unit, list_entries, diagnostics, die, addresses, |range| all.push(range));
    let (mut live, mut dead) = (Vec::new(), Vec::new());
    for (index, AddressRange { start, end }) in all.into_iter().enumerate() {
        let Some(section) = unit.code.section(start).filter(|_| start < end) else {
            // The first range of a list is taken for the entry's, since an erased address cannot be compared with the
            // entry's.
            dead.push(DeadRange { len: end - start, part: index > 0 });
            continue;
        };
        if end > section.end {
            diagnostics.add(Kind::RangeLeavesSection, die.0, || {
                format!("range {start:#x}..{end:#x} ends after its section, at {:#x}", section.end)
            });
        }
        // The start is in code, so the function's entry and first rows are right. Only the end is wrong, and is cut.
        let end = end.min(section.end);
        if end - start > MAX_PIECE {
            diagnostics.add(Kind::Cap(Cap::RangeBytes), die.0, || {
                format!("range {start:#x}..{end:#x} has more than {MAX_PIECE} bytes")
            });
        }
        live.push(AddressRange { start, end: end.min(start.saturating_add(MAX_PIECE)) });
    }
    let address = |value| unit.address(value);
    let low_pc = addresses.low_pc.and_then(address);
    let entry = match addresses.entry_pc {
        // A constant counts from the base address of the ranges (DWARF 5 2.18).
        Some(AttributeValue::Udata(offset)) => {
            let base = low_pc.or(live.first().map(|range| range.start.0));
            base.map(|base| base.wrapping_add(offset))
        }
        Some(value) => address(value),
        None => low_pc,
    };
    // A list may begin with a cold part, and later steps take the first piece of a function for its entry.
    if let Some(entry) = entry
        && let Some(at) = live.iter().position(|range| range.start.0 == entry)
    {
        live.swap(0, at);
    }
    SubprogramRanges { live, dead }
}

/// True if `open` replaced the tombstone in a function's address by the address in a kept relocation. `bytes` are the
/// bytes of its DIE in `.debug_info`.
pub(crate) fn was_restored<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    addresses: &Addresses<'f, E>,
    bytes: Range<u64>,
) -> bool {
    let restored = &unit.code.restored;
    // Few programs are linked with `--emit-relocs`. All others need not read their lists a second time.
    if restored.is_empty() {
        return false;
    }
    let size = u64::from(unit.unit.header.address_size());
    let base = unit.unit.addr_base.0 as u64;
    let indexed = |index: gimli::DebugAddrIndex<usize>| {
        let place = base.saturating_add(size.saturating_mul(index.0 as u64));
        restored.any(DebugSection::Addr, place, place.saturating_add(size))
    };
    let split = unit.dwarf.file_type == gimli::DwarfFileType::Dwo;
    match (addresses.low_pc, addresses.ranges) {
        // The linker relocates only the program: a `.dwo` refers to addresses there and has no relocations of its own.
        (Some(AttributeValue::DebugAddrIndex(index)), _) => indexed(index),
        (Some(_), _) => !split && restored.any(DebugSection::Info, bytes.start, bytes.end),
        (None, Some(list)) => {
            let Ok(Some(offset)) = lists::ranges_offset(unit.dwarf, unit.unit, list) else {
                return false;
            };
            // The bytes of the first entry, which has at most a kind and two addresses.
            let (start, end) = (offset.0 as u64, (offset.0 as u64).saturating_add(2 * size));
            let section =
                if unit.unit.header.version() < 5 { DebugSection::Ranges } else { DebugSection::RngLists };
            // A list that begins with an index into `.debug_addr` has its relocation there.
            let first = unit.dwarf.ranges(unit.unit, offset).and_then(|mut list| list.next_raw());
            match first {
                Ok(Some(
                    RawRngListEntry::BaseAddressx { addr: index }
                    | RawRngListEntry::StartxLength { begin: index, .. }
                    | RawRngListEntry::StartxEndx { begin: index, .. },
                )) => indexed(index),
                _ => !split && restored.any(section, start, end),
            }
        }
        (None, None) => false,
    }
}

/// The range of a function with a tombstone, if its own sequence is live: the linker folded the function. The range begins at
/// the sequence, and its length is the surviving `DW_AT_high_pc`.
pub(crate) fn folded_range<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    lines: &Lines,
    addresses: &Addresses<'f, E>,
    own_sequence: Option<usize>,
) -> Option<AddressRange> {
    let sequence = &lines.sequences[own_sequence?];
    let start = ImageAddr(sequence.start);
    let section = unit.code.section(start)?;
    let len = match addresses.high_pc {
        Some(AttributeValue::Udata(len)) => len,
        // No length survives if `DW_AT_high_pc` was an address (always before DWARF 4), or if the function has
        // `DW_AT_ranges`.
        _ => sequence.end - sequence.start,
    };
    // A function that is longer than the rest of the section was not folded here. One that is longer than a piece is damaged.
    let end = start.checked_add(len).filter(|_| len <= MAX_PIECE).filter(|end| *end <= section.end)?;
    (end > start).then_some(AddressRange { start, end })
}

/// Visits the ranges of a DIE, except empty ranges and the tombstones that gimli knows. See [`visit_list`] for the one kind of
/// empty range that is visited.
pub(crate) fn visit_ranges<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    list_entries: &mut RangeEntries,
    diagnostics: &mut Diagnostics,
    die: DieOffset,
    addresses: &Addresses<'f, E>,
    mut visit: impl FnMut(AddressRange),
) {
    if let (Some(low), Some(high)) = (addresses.low_pc, addresses.high_pc) {
        let Some(start) = unit.address(low) else {
            diagnostics.add(Kind::BadLowPc, die.0, || "unreadable DW_AT_low_pc".to_owned());
            return;
        };
        // A constant is the length, an address the end (DWARF 5 2.17.2).
        let end = match high {
            AttributeValue::Udata(len) => start.checked_add(len),
            value => unit.address(value),
        };
        if let (None, AttributeValue::Udata(len)) = (end, high)
            && let Some(range) = erased(start, len)
        {
            visit(range);
            return;
        }
        match end {
            Some(end) if end > start => visit(AddressRange::new(ImageAddr(start), ImageAddr(end))),
            _ => diagnostics.add(Kind::EmptyRange, die.0, || format!("no bytes at {start:#x}")),
        }
        return;
    }
    let Some(value) = addresses.ranges else {
        // `DW_AT_low_pc` alone is a single address and not a range (DWARF 5 2.17.1).
        if addresses.low_pc.is_some() {
            diagnostics.add(Kind::NoEnd, die.0, || "DW_AT_low_pc without DW_AT_high_pc".to_owned());
        }
        return;
    };
    if let Err(error) = visit_list(unit.dwarf, unit.unit, value, list_entries, visit) {
        diagnostics.add(Kind::BadRanges, die.0, || format!("DW_AT_ranges: {error}"));
    }
    if list_entries.left == 0 {
        let most = list_entries.most;
        diagnostics.add(Kind::Cap(Cap::RangeEntries), die.0, || {
            format!("the unit has more than {most} entries of range lists, its share of the limit")
        });
    }
}

/// Visits the ranges of a list, except the tombstones that gimli knows, until no entry is left in `list_entries`. Before DWARF 5, linkers
/// write 1 for both ends of a range that they removed; this is visited as the empty range `1..1`.
///
/// # Errors
/// The first damage. After an entry with an index outside of the address table, the list is read on. After an entry of an
/// unknown kind, or a base with such an index, the rest of the list cannot be read.
pub(crate) fn visit_list<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    unit: &gimli::Unit<Bytes<'f, E>>,
    value: gimli::AttributeValue<Bytes<'f, E>>,
    list_entries: &mut RangeEntries,
    mut visit: impl FnMut(AddressRange),
) -> gimli::Result<()> {
    let Some(mut list) = lists::ranges(dwarf, unit, value)? else { return Ok(()) };
    let mut damage = Ok(());
    while let Some(entry) = list.next_raw()? {
        // Every entry counts, even without a range, since any number of DIEs may refer to the same long list.
        if !list_entries.visit() {
            break;
        }
        let is_base = matches!(entry, RawRngListEntry::BaseAddressx { .. });
        // lld and mold write 1, since a pair of zeros ends the list (DWARF 4 2.17.3). gimli skips the pair as an empty range,
        // but it shows that a range of the function was erased.
        if let RawRngListEntry::AddressOrOffsetPair { begin: 1, end: 1 } = entry {
            visit(AddressRange::of(ImageAddr(1), 0));
            continue;
        }
        // gimli skips a range at a tombstone, also where the length beside it survives.
        let with_length = match entry {
            RawRngListEntry::StartLength { begin, length } => Some((begin, length)),
            RawRngListEntry::StartxLength { begin, length } => {
                dwarf.address(unit, begin).ok().map(|begin| (begin, length))
            }
            _ => None,
        };
        if let Some(range) = with_length.and_then(|(begin, len)| erased(begin, len)) {
            visit(range);
            continue;
        }
        match list.convert_raw(entry) {
            Ok(Some(range)) => visit(AddressRange::new(ImageAddr(range.begin), ImageAddr(range.end))),
            Ok(None) => {}
            // The pairs after a lost base would count from the base before it, and lead to other code.
            Err(error) if is_base => return Err(error),
            Err(error) => damage = damage.and(Err(error)),
        }
    }
    damage
}
