//! Turns the first bytes of a file into what it is: an archive, or an error that says what is there in place of a program.

use std::path::Path;

use super::error::OpenError;

/// Why a file that is no program cannot be one, by its first bytes.
pub(super) fn not_an_object(path: &Path, bytes: &[u8]) -> OpenError {
    // A user may name the converted file in place of the program. Its first bytes alone would not explain the mistake.
    if bytes.starts_with(&foldsym_format::header::MAGIC) {
        let what = "is a .fsym file already; expected a program".to_owned();
        return OpenError::Unsupported { path: path.to_owned(), what };
    }
    let found = match bytes {
        [] => "an empty file".to_owned(),
        _ if is_archive(bytes) => "an archive; --out-dir takes a file for each member".to_owned(),
        _ if bytes.starts_with(b"MZ") => "a PE file (a program for Windows)".to_owned(),
        _ if bytes.starts_with(b"\0asm") => "a WebAssembly module".to_owned(),
        _ if bytes.starts_with(b"Microsoft C/C++ ") => {
            "a PDB file (debug information for Windows)".to_owned()
        }
        // A script (`#!/b`) and a compressed file differ here. Escaped, the bytes cannot control a terminal.
        _ => format!("begins with \"{}\"", bytes[..bytes.len().min(4)].escape_ascii()),
    };
    OpenError::NotAnObject { path: path.to_owned(), found }
}

/// True if the data begins with the magic of an archive, normal or thin.
pub(super) fn is_archive(data: &[u8]) -> bool {
    data.starts_with(b"!<arch>\n") || data.starts_with(b"!<thin>\n")
}
