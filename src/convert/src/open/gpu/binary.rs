//! Reads LLVM's offload binaries: a header, then entries, each with strings and one image.

use std::path::Path;

use super::device::{DeviceCode, number, range};
use crate::open::error::OpenError;

const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];

/// The most entries of a binary, and the most strings of one entry; more are damage.
const MAX_STRINGS: u64 = 1 << 12;

/// The longest string in bytes. It bounds the work, since all strings of a table may point to the same long text.
const MAX_TEXT: usize = 1 << 12;

/// The most strings of all entries together.
const MAX_ALL_STRINGS: u64 = 1 << 16;

pub(super) fn is_binary(data: &[u8]) -> bool {
    data.starts_with(&MAGIC)
}

/// Reads an offload binary at the start of `data`, and returns its length.
///
/// The header's last field is the entry's size in version 1, which has one entry, and the number of entries in version 2.
///
/// # Errors
/// The version is unknown, or the header, an entry, a string or an image is outside of the binary.
pub(super) fn read<'f>(
    path: &Path,
    place: &str,
    data: &'f [u8],
    contents: &mut DeviceCode<'f>,
) -> Result<usize, OpenError> {
    let malformed = |problem: &str| OpenError::malformed(path, place, problem);
    let cut_off = || malformed("its header is cut off");
    // LLVM's `OffloadBinary.h`: magic and version have 4 bytes each; size, offset of the entries and last field have 8.
    let version = number(data, 4, 4).ok_or_else(cut_off)?;
    let size = number(data, 8, 8).ok_or_else(cut_off)?;
    let entries = number(data, 16, 8).ok_or_else(cut_off)?;
    let last = number(data, 24, 8).ok_or_else(cut_off)?;
    let (count, string_len) = match version {
        1 => (1, 16),
        2 => (last, 24),
        other => {
            return Err(OpenError::malformed(
                path,
                place,
                format!("version {other} of the form is not known"),
            ));
        }
    };
    if count > MAX_STRINGS {
        return Err(OpenError::malformed(
            path,
            place,
            format!("{count} entries, at most {MAX_STRINGS} allowed"),
        ));
    }
    let whole = range(data, 0, size).filter(|whole| whole.len() >= 32).ok_or_else(|| {
        OpenError::malformed(path, place, format!("{size} bytes claimed, {} there", data.len()))
    })?;
    let (mut all_strings, mut together) = (0_u64, 0);
    for index in 0..count {
        let outside = |what: &str| {
            OpenError::malformed(path, place, format!("{what} of entry {index} is outside of it"))
        };
        let start = index.checked_mul(40).and_then(|by| entries.checked_add(by));
        let entry = start.and_then(|start| range(whole, start, 40)).ok_or_else(|| outside("the header"))?;
        let field = |at: usize| number(entry, at, 8).unwrap_or(u64::MAX);
        // Before these, an entry has the kind of the image, the kind of offloading, and flags.
        let (strings, string_count, offset, len) = (field(8), field(16), field(24), field(32));
        let image = range(whole, offset, len).ok_or_else(|| outside("the image"))?;
        together += image.len();
        if together > whole.len() {
            return Err(malformed("its images have more bytes than it: they overlap"));
        }
        all_strings = string_count.saturating_add(all_strings);
        if string_count > MAX_STRINGS || all_strings > MAX_ALL_STRINGS {
            return Err(outside("a table of many strings"));
        }
        let (mut triple, mut arch) = (String::new(), String::new());
        for string in 0..string_count {
            // A string is two offsets, of its key and its value. The third number of version 2 is not needed: texts end in a zero.
            let at = string.checked_mul(string_len).and_then(|by| strings.checked_add(by));
            let entry = at.and_then(|at| range(whole, at, string_len)).ok_or_else(|| outside("a string"))?;
            let text = |at: usize| {
                let bytes = whole.get(usize::try_from(number(entry, at, 8)?).ok()?..)?;
                let len = bytes.iter().take(MAX_TEXT).position(|byte| *byte == 0)?;
                Some(String::from_utf8_lossy(&bytes[..len]).into_owned())
            };
            let (key, value) = text(0).zip(text(8)).ok_or_else(|| outside("a string"))?;
            // The strings of several entries may be the same bytes of the file, so the copies are limited.
            contents.charge(path, 16 + key.len() + value.len())?;
            match &*key {
                "triple" => triple = value,
                "arch" => arch = value,
                _ => {}
            }
        }
        let target = if arch.is_empty() { triple } else { format!("{triple}--{arch}") };
        contents.add(path, &target, image)?;
    }
    Ok(whole.len())
}
