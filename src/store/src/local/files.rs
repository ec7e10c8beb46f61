//! Reads and makes the files and folders of a store.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::error::StoreError;
use crate::mapped::kind_text;

/// An index entry or a report is small; a larger one is damaged.
const MAX_SMALL: u64 = 16 << 20;

pub(super) fn touch(path: &Path) -> io::Result<()> {
    // Some systems set the time only of a file that is open for writing. With `append` the content stays.
    File::options().append(true).open(path)?.set_modified(SystemTime::now())
}

pub(super) fn make_folder(path: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(path).map_err(|error| match path.metadata() {
        Ok(found) if !found.is_dir() => {
            StoreError::NotAFolder { path: path.to_owned(), found: kind_text(found.file_type()) }
        }
        _ => StoreError::io(path, "make the folder", error),
    })
}

/// The text of a small file. `Ok(None)` if there is no file.
pub(super) fn read_small(path: &Path) -> Result<Option<String>, StoreError> {
    // A store makes no symbolic links, so none is followed.
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io(path, "read", error)),
    };
    if !found.is_file() {
        return Err(StoreError::NotAFile { path: path.to_owned(), found: kind_text(found.file_type()) });
    }
    if found.len() > MAX_SMALL {
        return Err(StoreError::damaged(
            path,
            format!("{} bytes, expected at most {MAX_SMALL}", found.len()),
        ));
    }
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|error| StoreError::damaged(path, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(path, "read", error)),
    }
}

#[cfg(test)]
thread_local! {
    /// The entries of folders that this thread has listed.
    pub(super) static LISTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The entries of a folder, by name; no entries if the folder does not exist.
pub(super) fn read_folder(path: &Path) -> Result<Vec<fs::DirEntry>, StoreError> {
    let read = || -> io::Result<Vec<fs::DirEntry>> {
        let mut entries: Vec<_> = fs::read_dir(path)?.collect::<io::Result<_>>()?;
        // The file system's order of names may differ from machine to machine, and results must not.
        entries.sort_by_key(fs::DirEntry::file_name);
        #[cfg(test)]
        LISTED.set(LISTED.get() + entries.len());
        Ok(entries)
    };
    match read() {
        Ok(entries) => Ok(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::io(path, "list", error)),
    }
}

/// As [`read_folder`], for a folder that the store made: a symbolic link to one is not followed, and has no entries.
pub(super) fn read_own_folder(path: &Path) -> Result<Vec<fs::DirEntry>, StoreError> {
    if is_own_folder(path) { read_folder(path) } else { Ok(Vec::new()) }
}

/// True for a folder, and false for a symbolic link to one: a store makes no links, and what one leads to may be outside of the store.
pub(super) fn is_own_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// The kind of a listed file, of a link and not of its target. `None` if it was removed since it was listed.
pub(super) fn kind_of(entry: &fs::DirEntry) -> Option<fs::FileType> {
    entry.file_type().ok()
}

/// True for a listed regular file, which is the only kind that a store writes.
pub(super) fn is_file(entry: &fs::DirEntry) -> bool {
    kind_of(entry).is_some_and(|kind| kind.is_file())
}

/// The name, if it can be the name of a file in any folder; otherwise `None`.
pub(super) fn safe_name(name: &str) -> Option<&str> {
    let good = |c: char| !c.is_control() && c != '/' && c != '\\';
    let is_name = !name.is_empty() && name.len() <= 255 && name != "." && name != "..";
    (is_name && name.chars().all(good)).then_some(name)
}
