//! Reads clang's offload bundles: a table of targets with offsets, uncompressed or compressed as a whole.

use std::path::Path;

use super::device::{DeviceCode, number, range};
use crate::open::decompress::{self, Compression};
use crate::open::error::OpenError;
use crate::open::files::Files;

const PLAIN: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED: &[u8] = b"CCOB";

/// The most entries of a bundle; more are damage.
const MAX_ENTRIES: u64 = 1 << 16;

pub(super) fn is_uncompressed(data: &[u8]) -> bool {
    data.starts_with(PLAIN)
}

pub(super) fn is_compressed(data: &[u8]) -> bool {
    data.starts_with(COMPRESSED)
}

/// Reads an uncompressed bundle at the start of `data`. Returns its length, up to the end of its last entry.
///
/// # Errors
/// Its table or an entry is outside `data`.
pub(super) fn read<'f>(
    path: &Path,
    place: &str,
    data: &'f [u8],
    contents: &mut DeviceCode<'f>,
) -> Result<usize, OpenError> {
    let malformed = |problem: String| OpenError::malformed(path, place, problem);
    let cut_off = || malformed("its table is cut off".to_owned());
    let count = number(data, PLAIN.len(), 8).ok_or_else(cut_off)?;
    let mut at = PLAIN.len() + 8;
    if count > MAX_ENTRIES {
        return Err(malformed(format!("{count} entries, at most {MAX_ENTRIES} allowed")));
    }
    let mut end = at;
    let mut together = 0;
    for index in 0..count {
        let mut field = || {
            let value = number(data, at, 8)?;
            at += 8;
            Some(value)
        };
        // clang's `ClangOffloadBundler`: each entry has the offset and size of its code, the length of its name, and the name.
        let (offset, size, name_len) =
            (field().ok_or_else(cut_off)?, field().ok_or_else(cut_off)?, field().ok_or_else(cut_off)?);
        let name = range(data, at as u64, name_len).ok_or_else(cut_off)?;
        at += name.len();
        let code = range(data, offset, size).ok_or_else(|| {
            malformed(format!(
                "entry {index}, {size} bytes at {offset:#x}, is outside of {} bytes",
                data.len()
            ))
        })?;
        // Entries need not be in the order of their code, so the bundle ends after the furthest byte.
        end = end.max(at).max(offset as usize + code.len());
        // Without this check many entries could name the same few bytes.
        together += code.len();
        if together > data.len() {
            let have = data.len();
            return Err(malformed(format!(
                "its entries to number {index} have {together} bytes, of {have}: they overlap"
            )));
        }
        // clang also lists the host, whose entry is no device program.
        if let Some(target) = target(&String::from_utf8_lossy(name)) {
            contents.add(path, target, code)?;
        }
    }
    Ok(end)
}

/// The target in an entry's name, without the offload kind before it (`hipv4-amdgcn-amd-amdhsa--gfx90a`); `None` for the
/// host's entry.
pub(super) fn target(name: &str) -> Option<&str> {
    if name.starts_with("host-") {
        return None;
    }
    let kinds = ["hipv4-", "hip-", "openmp-", "openacc-", "opencl-", "sycl-"];
    let rest = kinds.iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name);
    // A `-` at the end belongs to a triple without a processor and is cut. After a feature (`xnack-`) it means that the
    // feature is off.
    Some(if rest.contains(':') { rest } else { rest.trim_end_matches('-') })
}

/// Reads a compressed bundle at the start of `data`, and returns its compressed length.
///
/// # Errors
/// Its header contradicts `data`, its version or method is unknown, or its content is damaged or too large.
pub(super) fn read_compressed<'f>(
    files: &'f Files,
    path: &Path,
    place: &str,
    data: &'f [u8],
    contents: &mut DeviceCode<'f>,
) -> Result<usize, OpenError> {
    let malformed = |problem: String| OpenError::malformed(path, place, problem);
    let field = |at: usize, len: usize| {
        number(data, at, len).ok_or_else(|| malformed("its header is cut off".to_owned()))
    };
    let (version, method) = (field(4, 2)?, field(6, 2)?);
    // Version 1 has no field for the whole size, so it extends to the end of the data. Each header ends with an 8-byte hash.
    let (header, whole, claimed) = match version {
        1 => (20, data.len() as u64, field(8, 4)?),
        2 => (24, field(8, 4)?, field(12, 4)?),
        3 => (32, field(8, 8)?, field(16, 8)?),
        other => return Err(malformed(format!("version {other} of the compressed form is not known"))),
    };
    let method = match method {
        0 => Compression::Zlib,
        1 => Compression::Zstd,
        other => return Err(malformed(format!("compression method {other} is not known"))),
    };
    let packed = range(data, 0, whole)
        .and_then(|bytes| bytes.get(header..))
        .ok_or_else(|| malformed(format!("{whole} bytes claimed, {} there", data.len())))?;
    // Only after the header is read, since its size leads to the next container.
    if contents.only.is_some_and(|only| only != contents.container) {
        return Ok(whole as usize);
    }
    let mut unpacked = files.reserve(path, place, claimed, packed.len() as u64)?;
    decompress::append(method, packed, claimed, &mut unpacked).map_err(malformed)?;
    let unpacked = files.keep(unpacked);
    if !is_uncompressed(unpacked) {
        return Err(OpenError::malformed(path, place, "what was compressed is no bundle"));
    }
    read(path, &format!("{place}, decompressed"), unpacked, contents)?;
    let programs = (contents.objects.len() - contents.before) as u64;
    contents.work = contents.work.saturating_add(programs.saturating_mul(unpacked.len() as u64));
    Ok(whole as usize)
}
