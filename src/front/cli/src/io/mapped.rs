//! Turns a path into bytes that stay in place. Unsafe code of this crate is here and in `limits`.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::io::failure::Failure;
use crate::io::limits::{self, Named};

/// The bytes of a `.fsym` or of a core, mapped if possible.
pub(crate) struct Mapped {
    path: PathBuf,
    bytes: Bytes,
    /// As long as the bytes are used.
    _named: Named,
}

enum Bytes {
    Map(memmap2::Mmap),
    /// A file that cannot be mapped (a pipe, an empty file) is read.
    Read(Vec<u8>),
}

impl Mapped {
    /// Maps a file read-only.
    ///
    /// # Errors
    /// The file cannot be opened, or is a directory: exit code 3, with the path.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let bytes = Self::bytes(path).map_err(|error| Failure::input(path, error))?;
        let named = limits::name(&path.display().to_string()).at(&bytes);
        Ok(Self { path: path.to_owned(), bytes, _named: named })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn bytes(path: &Path) -> io::Result<Bytes> {
        let mut file = File::open(path)?;
        let meta = file.metadata()?;
        if !meta.is_file() || meta.len() == 0 {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Ok(Bytes::Read(bytes));
        }
        // SAFETY: `Mmap::map` requires that the file does not change while it is mapped. The mapping is private and read-only, so nothing
        // in this process writes to it. foldsym itself replaces a `.fsym` by renaming a new file over it, which leaves a mapped one
        // unchanged. Another program may still write into the file. Two kinds of files are mapped here: symbol files, which
        // `foldsym-lookup` reads, and cores, which `foldsym-reports` reads. Both crates forbid unsafe code and take the mapping as bytes:
        // no `str` refers to it (texts of a core are copied first), no memory access relies on two reads giving the same value, and every
        // index is checked against the length of the mapping at its use. The answer may then be wrong. A file that is truncated ends the
        // process by a signal, which `limits` handles.
        Ok(Bytes::Map(unsafe { memmap2::Mmap::map(&file)? }))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Map(map) => map,
            Bytes::Read(bytes) => bytes,
        }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
