//! The scratch file of a conversion: holds the lists of a large program's units, so that they take no memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use elsa::sync::FrozenVec;
use memmap2::Mmap;

use crate::util::pages::{map_file, release};

/// Lists of units stay in memory up to this many bytes. Those of RocksDB (147 MB, 7.7 million entries) are half as long. In the tests
/// of this crate small programs use the file, too.
const IN_MEMORY: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// Pages of the scratch file are released after this many bytes were read.
const RELEASE_AFTER: usize = 16 << 20;

/// A read of fewer bytes counts as this many. The first read of a page maps the pages around it too, 16 in all on Linux
/// (64 KiB). Neighbouring reads share these pages, so a read counts as a quarter of them.
pub(crate) const LEAST: usize = 16 << 10;

/// A file without a name, which the system removes when the conversion ends. Each part is mapped when it is written.
#[derive(Default)]
pub(crate) struct ScratchFile {
    /// The folder for the file; `None` for the system's folder for temporary files.
    folder: Option<PathBuf>,
    parts: FrozenVec<Box<Mmap>>,
    /// Bytes that were read since pages were last released.
    read: AtomicUsize,
}

impl ScratchFile {
    /// A scratch file in this folder. The caller gives the folder of the output, which has room for a file and is usually on a disk.
    pub(crate) fn in_folder(folder: PathBuf) -> ScratchFile {
        ScratchFile { folder: Some(folder), ..ScratchFile::default() }
    }

    /// True if lists of so many bytes should move to the file.
    pub(crate) fn is_wanted(bytes: usize) -> bool {
        bytes >= IN_MEMORY
    }

    /// Writes lists one after the other, and returns their bytes in the mapped file.
    ///
    /// # Errors
    /// There is no room, or the folder cannot be written to. The file keeps nothing of the lists then.
    pub(crate) fn keep<'l>(&self, lists: impl Iterator<Item = &'l [u8]>) -> io::Result<&[u8]> {
        let file = match &self.folder {
            Some(folder) => tempfile::tempfile_in(folder)?,
            None => tempfile::tempfile()?,
        };
        Ok(self.parts.push_get(Box::new(write(file, lists)?)))
    }

    /// Counts bytes that were read, and releases all pages when there are many. The system reads a released page from the file
    /// again when it is next used.
    pub(crate) fn was_read(&self, bytes: usize) {
        if self.read.fetch_add(bytes.max(LEAST), Ordering::Relaxed) >= RELEASE_AFTER {
            self.release();
        }
    }

    /// Releases all pages.
    pub(crate) fn release(&self) {
        self.read.store(0, Ordering::Relaxed);
        self.parts.iter().for_each(|part| release(part, 0, part.len()));
    }
}

fn write<'l>(file: File, lists: impl Iterator<Item = &'l [u8]>) -> io::Result<Mmap> {
    let mut out = BufWriter::with_capacity(1 << 20, &file);
    for list in lists {
        out.write_all(list)?;
    }
    out.flush()?;
    drop(out);
    map_file(&file)
}
