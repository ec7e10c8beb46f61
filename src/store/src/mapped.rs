//! Turns a path into bytes that stay in place: the one module of this crate with unsafe code.

use std::fs::{File, FileType};
use std::io;
use std::ops::Deref;
use std::path::Path;

use crate::error::StoreError;

/// The bytes of a regular file, mapped read-only.
pub(crate) struct Mapped {
    bytes: Bytes,
}

enum Bytes {
    Map(memmap2::Mmap),
    /// What cannot be mapped: an empty file, or what came through a pipe.
    Read(Vec<u8>),
}

impl Mapped {
    /// Maps a file. `Ok(None)` where there is none.
    ///
    /// # Errors
    /// It is no regular file, or cannot be opened or mapped.
    pub(crate) fn open(path: &Path, follow_links: bool) -> Result<Option<Self>, StoreError> {
        // Asked before the file is opened: to open a FIFO would wait for its writer.
        let found = if follow_links { path.metadata() } else { path.symlink_metadata() };
        let kind = match found {
            Ok(found) => found.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(path, "read", error)),
        };
        if !kind.is_file() {
            return Err(StoreError::NotAFile { path: path.to_owned(), found: kind_text(kind) });
        }
        match Self::map(path) {
            Ok(mapped) => Ok(Some(mapped)),
            // Removed since: as if it had never been there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(path, "map", error)),
        }
    }

    /// Bytes that were read already.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes: Bytes::Read(bytes) }
    }

    fn map(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self::of_bytes(Vec::new()));
        }
        // SAFETY: `Mmap::map` asks that the file does not change while it is mapped. The mapping is private and read-only, so
        // nothing in this process writes through it. A store never writes into a published file: it links a whole file
        // to its name, replaces one by renaming another over the name, and removes one by its name; all three leave the
        // mapped file as it is. Against a stranger who writes into the file all the same: its bytes are read by `foldsym-lookup`,
        // which forbids unsafe code and checks every index against the length of the mapping where it uses it, and are
        // compared as slices of `u8`; no memory access rests on two reads giving the same value. The answer may
        // then be wrong. A file that is cut short ends the process by a signal.
        Ok(Self { bytes: Bytes::Map(unsafe { memmap2::Mmap::map(&file)? }) })
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Map(map) => map,
            Bytes::Read(bytes) => bytes,
        }
    }
}

pub(crate) fn kind_text(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else {
        "a device, a pipe or a socket"
    }
}
