//! Opens tiny files that are assembled here byte by byte, so that no compiler is needed and nothing is read back that
//! the code under test has written.

mod build;
mod elf;
mod hostile;
mod macho;
mod separate;
mod split;

use std::path::Path;

use super::{Files, Image, OpenDiagnosticKind, OpenError, OpenOptions, image_from_bytes, open_image};

/// Opens bytes, with a path for messages only.
fn open<'f>(files: &'f Files, bytes: Vec<u8>) -> Result<Image<'f>, OpenError> {
    let bytes = files.keep(bytes);
    image_from_bytes(files, Path::new("program"), bytes, &OpenOptions::default())
}

/// Looks nowhere but beside the program and in the given directories.
fn no_system() -> OpenOptions {
    OpenOptions { system_debug_dir: false, ..OpenOptions::default() }
}

fn noted(image: &Image<'_>, kind: OpenDiagnosticKind) -> Option<(u64, String)> {
    let entry = image.diagnostics.iter().find(|entry| entry.kind == kind)?;
    Some((entry.count, entry.first.clone()))
}
