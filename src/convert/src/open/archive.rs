//! Lists the programs in one file: the members of an archive or the architectures of a fat file.

use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;

use super::error::OpenError;
use super::files::Files;
use super::macho::{self, fat};
use super::magic::is_archive;

/// A program inside a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// A member of an archive, if it is an ELF or Mach-O file.
    Member {
        /// Its position among all members, from 0: the value for `OpenOptions::member`.
        index: usize,
        /// Its name in the archive. Several members may have the same name.
        name: String,
    },
    /// An architecture of a fat file, by Apple's name: the value for `OpenOptions::arch`.
    Arch(String),
}

/// The programs in an archive or a fat file, in file order. Empty for any other file.
///
/// # Errors
/// The archive or fat file is damaged, or the archive is thin: its members are separate files.
pub fn parts(files: &Files, path: &Path) -> Result<Vec<Part>, OpenError> {
    // The conversion of this path reports the error.
    let Ok(data) = files.map(path) else { return Ok(Vec::new()) };
    if is_archive(data) {
        let mut parts = Vec::new();
        each_member(path, data, |index, name, member| {
            // Members that are no programs, such as bitcode of `clang -flto`, are left out. They still count in `index`.
            if member.starts_with(b"\x7fELF") || macho::is_macho(member) {
                parts.push(Part::Member { index, name: String::from_utf8_lossy(name).into_owned() });
            }
        })?;
        return Ok(parts);
    }
    // `is_fat` is false for Java class files, which have the same magic.
    let slices = if fat::is_fat(data) { fat::slices(path, data)? } else { Vec::new() };
    let mut parts: Vec<Part> = Vec::new();
    for part in slices.into_iter().map(|slice| Part::Arch(slice.name)) {
        // `--arch` selects the first slice of a name, so the others of that name cannot be selected.
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    Ok(parts)
}

/// A member's bytes, and its path for messages: `libfoo.a(bar.o)`.
///
/// # Errors
/// The file is not an archive, is damaged, or has no such member.
pub(super) fn member<'f>(
    path: &Path,
    data: &'f [u8],
    wanted: usize,
) -> Result<(PathBuf, &'f [u8]), OpenError> {
    if !is_archive(data) {
        return Err(OpenError::Unsupported { path: path.to_owned(), what: "not an archive".to_owned() });
    }
    let mut found = None;
    each_member(path, data, |index, name, member| {
        if index == wanted {
            // A name with a folder would make a path of several components, and the last one would name the program.
            let name = String::from_utf8_lossy(name).replace('/', "_");
            let mut named = path.as_os_str().to_owned();
            named.push(format!("({name})"));
            found = Some((PathBuf::from(named), member));
        }
    })?;
    let none = || OpenError::malformed(path, "archive", format!("no member {wanted}"));
    found.ok_or_else(none)
}

fn each_member<'f>(
    path: &Path,
    data: &'f [u8],
    mut each: impl FnMut(usize, &'f [u8], &'f [u8]),
) -> Result<(), OpenError> {
    let damaged = |error: object::read::Error| OpenError::malformed(path, "archive", error.to_string());
    let archive = ArchiveFile::parse(data).map_err(damaged)?;
    // A thin archive has only the names of its members (GNU `ar --thin`): there are no bytes to return.
    if archive.is_thin() {
        let what = "a thin archive: convert the files that it lists".to_owned();
        return Err(OpenError::Unsupported { path: path.to_owned(), what });
    }
    // `members` leaves out the symbol table and the table of long names, so these have no index.
    for (index, member) in archive.members().enumerate() {
        let member = member.map_err(damaged)?;
        each(index, member.name(), member.data(data).map_err(damaged)?);
    }
    Ok(())
}
