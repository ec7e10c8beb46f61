//! Turns a file that is compressed as a whole into the program in it: distributions install kernel modules as `NAME.ko.xz`, `.zst` or `.gz`.

use std::io::Read;
use std::path::Path;

use super::decompress::xz_decoder;
use super::error::OpenError;
use super::files::Files;

const GZIP: &[u8] = b"\x1f\x8b\x08";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const XZ: &[u8] = b"\xfd7zXZ\0";

/// ELF; Mach-O of both sizes and byte orders.
const PROGRAMS: [[u8; 4]; 5] = [
    *b"\x7fELF",
    [0xfe, 0xed, 0xfa, 0xce],
    [0xfe, 0xed, 0xfa, 0xcf],
    [0xce, 0xfa, 0xed, 0xfe],
    [0xcf, 0xfa, 0xed, 0xfe],
];

/// The place in messages.
const PLACE: &str = "compressed file";

/// True for the first bytes of a file in gzip, zstd or xz.
pub fn is_compressed(head: &[u8]) -> bool {
    [GZIP, ZSTD, XZ].iter().any(|magic| head.starts_with(magic))
}

/// Maps a program. One that is compressed is kept decompressed, of at most the size that [`Files`] allows for a section.
///
/// # Errors
/// As [`Files::map`]; or the compressed stream is damaged, or holds too much. Bytes that are no program are returned as they are.
pub(super) fn map_program<'f>(files: &'f Files, path: &Path) -> Result<&'f [u8], OpenError> {
    let data = files.map(path)?;
    let limit = files.section_limit(data.len() as u64);
    match decompressed(data, limit) {
        None => Ok(data),
        Some(Ok(bytes)) => {
            files.account(path, PLACE, bytes.len() as u64, data.len() as u64)?;
            Ok(files.keep(bytes))
        }
        Some(Err(problem)) => Err(OpenError::malformed(path, PLACE, problem)),
    }
}

/// The program in a compressed file. `None` if the file is not compressed, or what is in it is no program: an archive of sources
/// is not decompressed to be refused.
///
/// # Errors
/// The stream is damaged, or holds more than `limit` bytes. The text says which.
pub(super) fn decompressed(data: &[u8], limit: u64) -> Option<Result<Vec<u8>, String>> {
    match data {
        _ if data.starts_with(GZIP) => program_in(flate2::bufread::MultiGzDecoder::new(data), limit),
        _ if data.starts_with(ZSTD) => match zstd::stream::read::Decoder::with_buffer(data) {
            Ok(decoder) => program_in(decoder, limit),
            Err(error) => Some(Err(error.to_string())),
        },
        _ if data.starts_with(XZ) => match xz_decoder(data) {
            Ok(decoder) => program_in(decoder, limit),
            Err(problem) => Some(Err(problem)),
        },
        _ => None,
    }
}

fn program_in(mut decoder: impl Read, limit: u64) -> Option<Result<Vec<u8>, String>> {
    let mut bytes = Vec::new();
    let mut read = |most: u64, bytes: &mut Vec<u8>| {
        let read = decoder.by_ref().take(most).read_to_end(bytes);
        read.map_err(|error| format!("damaged compressed data: {error}"))
    };
    if let Err(problem) = read(4, &mut bytes) {
        return Some(Err(problem));
    }
    if !PROGRAMS.iter().any(|magic| bytes == magic) {
        return None;
    }
    // One byte more than the limit shows that there is more.
    Some(match read(limit, &mut bytes) {
        Err(problem) => Err(problem),
        Ok(_) if bytes.len() as u64 > limit => Err(format!("more than {limit} bytes")),
        Ok(_) => Ok(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::read::GzEncoder::new(bytes, flate2::Compression::fast());
        let mut out = Vec::new();
        encoder.read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn every_form_under_a_limit() {
        let program = [b"\x7fELF".as_slice(), &[0; 5000]].concat();
        let zstd = zstd::stream::encode_all(program.as_slice(), 1).unwrap();
        let mut xz = Vec::new();
        liblzma::read::XzEncoder::new(program.as_slice(), 1).read_to_end(&mut xz).unwrap();
        for form in [gzip(&program), zstd, xz] {
            assert!(is_compressed(&form));
            assert_eq!(decompressed(&form, 6000), Some(Ok(program.clone())));
            let Some(Err(problem)) = decompressed(&form, 5000) else { panic!() };
            assert_eq!(problem, "more than 5000 bytes");
            assert!(matches!(decompressed(&form[..form.len() / 2], 6000), Some(Err(_))));
        }
        assert_eq!(decompressed(&gzip(&[b'x'; 5000]), 1), None);
        assert_eq!(decompressed(&program, 6000), None);
    }
}
