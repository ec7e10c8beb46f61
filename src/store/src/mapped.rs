//! Maps a file into memory. This is the only module of the crate with unsafe code.

use std::fs::FileType;
use std::io;
use std::ops::Deref;
use std::path::Path;

use crate::error::StoreError;
use crate::regular::open_regular;

/// The bytes of a regular file, mapped read-only.
pub(crate) struct Mapped {
    bytes: Bytes,
}

enum Bytes {
    Map(memmap2::Mmap),
    /// Bytes that cannot be mapped: of an empty file, or from a pipe.
    Read(Vec<u8>),
}

impl Mapped {
    /// Maps a file. `Ok(None)` if there is none.
    ///
    /// # Errors
    /// The path is not a regular file, or cannot be opened or mapped.
    pub(crate) fn open(path: &Path, follow_links: bool) -> Result<Option<Self>, StoreError> {
        // Before the file is opened: opening a FIFO would wait for its writer.
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
            // The file was removed since; it counts as absent.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(path, "map", error)),
        }
    }

    /// Bytes that were read already.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes: Bytes::Read(bytes) }
    }

    fn map(path: &Path) -> io::Result<Self> {
        let file = open_regular(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self::of_bytes(Vec::new()));
        }
        // SAFETY: `Mmap::map` requires that the file does not change while it is mapped. The mapping is private and read-only, so
        // nothing in this process writes through it. A store never writes into a published file: it links a whole file
        // to its name, replaces a file by renaming another one over the name, and removes a file by its name. All three leave the
        // mapped file unchanged. If another process writes into the file nevertheless: `foldsym-lookup` reads the bytes, forbids
        // unsafe code, and checks every index against the length of the mapping at each use; the store compares them as
        // slices of `u8`. No memory access relies on two reads giving the same value, so the worst case is a wrong answer.
        // If another process truncates the file, a signal ends this process.
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
    } else if kind.is_file() {
        "a file"
    } else {
        "a device, a pipe or a socket"
    }
}
