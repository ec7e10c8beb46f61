//! Opens tiny files that these tests build byte by byte. So they need no compiler, and no bytes come from the code under test.

mod build;
mod elf;
mod hostile;
mod macho;
mod separate;
mod split;

use std::path::Path;

use super::program::image_from_bytes;
use super::{Files, Image, OpenError, OpenOptions, open_image};
use crate::diagnostics::opening::OpenDiagnosticKind;

/// Opens bytes. The path is for messages only.
fn open<'f>(files: &'f Files, bytes: Vec<u8>) -> Result<Image<'f>, OpenError> {
    let bytes = files.keep(bytes);
    image_from_bytes(files, Path::new("program"), bytes, &OpenOptions::default())
}

/// Options that search only next to the program and in the given directories.
fn no_system() -> OpenOptions {
    OpenOptions { system_debug_dir: false, ..OpenOptions::default() }
}

fn noted(image: &Image<'_>, kind: OpenDiagnosticKind) -> Option<(u64, String)> {
    let entry = image.diagnostics.iter().find(|entry| entry.kind == kind)?;
    Some((entry.count, entry.first.clone()))
}
