//! Owns every mapping and every decompressed buffer, so that images can borrow from it.

use std::fs::{File, FileType};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use elsa::sync::FrozenVec;
use memmap2::Mmap;

use super::error::OpenError;
use crate::util::budget::Allowance;
use crate::util::pages::{map_file, release};
use crate::util::scratch::{LEAST, ScratchFile};

/// A section may always claim this many bytes.
const SECTION_FLOOR: u64 = 64 << 20;
/// All buffers together may always hold this many bytes.
const TOTAL_FLOOR: u64 = 128 << 20;
/// Above the floors, a buffer may be this many times the bytes it is made from. Debug information shrinks 3 to 8 times.
const RATIO: u64 = 64;
/// [`Files::was_read`] gives the pages of all mapped files back after this many bytes.
const RELEASE_AFTER: usize = 16 << 20;
/// Files that are kept open as long as they are mapped.
const OPEN_FILES: usize = 16;

/// Append-only owner of everything that images borrow from.
///
/// One for each program, and a short-lived one for each `.dwo`: dropping it unmaps. May be shared between threads.
///
/// # Limits
/// A decompressed section holds at most the larger of 64 MiB and 64 times its compressed bytes; all buffers together
/// (decompressed, joined or relocated) the larger of 128 MiB and 64 times the bytes mapped. Both are checked before memory
/// is reserved.
///
/// A mapped file must not be shortened while it is in use: the operating system then ends the process.
#[derive(Default)]
pub struct Files {
    maps: FrozenVec<Box<Map>>,
    buffers: FrozenVec<Vec<u8>>,
    mapped_bytes: AtomicU64,
    buffer_bytes: AtomicU64,
    /// Mapped bytes that were read since all pages were last given back, as far as that is counted.
    read: AtomicUsize,
    /// The scratch file for rows and scopes of a large program.
    scratch: ScratchFile,
}

/// A file and its bytes.
struct Map {
    bytes: Mmap,
    /// `None` behind the first [`OPEN_FILES`]: a system has few of them open at once.
    file: Option<File>,
}

impl Map {
    /// Where bytes are in the file; `None` for bytes of no file, or of another.
    fn offset(&self, bytes: &[u8]) -> Option<usize> {
        let offset = (bytes.as_ptr() as usize).checked_sub(self.bytes.as_ptr() as usize)?;
        (offset < self.bytes.len()).then_some(offset)
    }
}

impl Files {
    /// An owner of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// An owner of nothing yet, with a scratch file in this folder if it needs one.
    pub(crate) fn with_scratch(folder: PathBuf) -> Self {
        Files { scratch: ScratchFile::in_folder(folder), ..Self::default() }
    }

    /// The scratch file for rows and scopes of a large program.
    pub(crate) fn scratch(&self) -> &ScratchFile {
        &self.scratch
    }

    /// Counts bytes that the caller read itself as a mapped file: what a conversion may take follows from their number.
    pub(super) fn count(&self, bytes: &[u8]) {
        self.mapped_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }

    /// Bytes of all mapped files.
    pub fn mapped_bytes(&self) -> u64 {
        self.mapped_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of all buffers: decompressed, joined or relocated sections.
    pub fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes.load(Ordering::Relaxed)
    }

    /// What a conversion may take that reads the files which are mapped by now.
    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::of(self.mapped_bytes(), self.buffer_bytes())
    }

    /// Maps a regular file and lends its bytes.
    ///
    /// # Errors
    /// The file is missing, not readable, or not a regular file.
    pub fn map(&self, path: &Path) -> Result<&[u8], OpenError> {
        let io = |action| move |source| OpenError::Io { path: path.to_owned(), action, source };
        // Before opening: to open a FIFO would wait for a writer, to open a device may act on it.
        check_regular(path, std::fs::metadata(path).map_err(io("open"))?.file_type())?;
        let file = File::open(path).map_err(io("open"))?;
        let metadata = file.metadata().map_err(io("open"))?;
        // And again on what was opened: the name may have changed in between.
        check_regular(path, metadata.file_type())?;
        if metadata.len() == 0 {
            return Ok(&[]);
        }
        let bytes = map_file(&file).map_err(io("map"))?;
        self.mapped_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let file = (self.maps.len() < OPEN_FILES).then_some(file);
        Ok(&self.maps.push_get(Box::new(Map { bytes, file })).bytes)
    }

    /// Gives memory back that mapped bytes occupy: they are read from the file again if they are asked for again. Bytes of
    /// a buffer stay. It only ever costs time.
    pub fn release(&self, bytes: &[u8]) {
        for map in self.maps.iter() {
            if let Some(start) = map.offset(bytes) {
                release(&map.bytes, start, bytes.len().min(map.bytes.len() - start));
            }
        }
    }

    /// Counts mapped bytes that a step read at scattered places. Past [`RELEASE_AFTER`] it gives all pages back.
    pub(crate) fn was_read(&self, bytes: usize) {
        if self.read.fetch_add(bytes.max(LEAST), Ordering::Relaxed) >= RELEASE_AFTER {
            self.read.store(0, Ordering::Relaxed);
            self.release_all();
        }
    }

    /// Gives back what all mapped files occupy, as [`Files::release`] does.
    pub fn release_all(&self) {
        self.maps.iter().for_each(|map| release(&map.bytes, 0, map.bytes.len()));
    }

    /// Copies what mapped bytes begin with, without their pages: to touch a byte maps what is around it as well, which costs
    /// more than a few bytes are worth. False where it cannot be done; nothing is known of the copy then.
    pub fn peek(&self, bytes: &[u8], copy: &mut [u8]) -> bool {
        let fits = copy.len() <= bytes.len();
        let map = self.maps.iter().find_map(|map| Some((map, map.offset(bytes)?)));
        let open = map.filter(|_| fits).and_then(|(map, offset)| Some((map.file.as_ref()?, offset)));
        open.is_some_and(|(file, offset)| read_at(file, copy, offset as u64))
    }

    /// Takes bytes that the caller has and lends them.
    pub fn keep(&self, bytes: Vec<u8>) -> &[u8] {
        self.buffers.push_get(bytes)
    }

    /// The most bytes that a section may hold that is made from `source_bytes` of the file.
    pub(super) fn section_limit(&self, source_bytes: u64) -> u64 {
        source_bytes.saturating_mul(RATIO).max(SECTION_FLOOR)
    }

    /// Counts bytes of a buffer against the limits.
    ///
    /// # Errors
    /// The claim is above a limit; nothing is counted then.
    pub(super) fn account(
        &self,
        path: &Path,
        place: &str,
        claimed: u64,
        source_bytes: u64,
    ) -> Result<(), OpenError> {
        let refuse = |allowed| OpenError::TooLarge {
            path: path.to_owned(),
            place: place.to_owned(),
            claimed,
            allowed,
        };
        let allowed = self.section_limit(source_bytes);
        if claimed > allowed {
            return Err(refuse(allowed));
        }
        let allowed = self.mapped_bytes().saturating_mul(RATIO).max(TOTAL_FLOOR);
        let before = self.buffer_bytes.fetch_add(claimed, Ordering::Relaxed);
        let left = allowed.saturating_sub(before);
        if claimed > left {
            self.buffer_bytes.fetch_sub(claimed, Ordering::Relaxed);
            return Err(refuse(left));
        }
        Ok(())
    }

    /// Reserves an empty buffer for `claimed` bytes, made from `source_bytes` of the file.
    ///
    /// # Errors
    /// The claim is above a limit, or there is no memory.
    pub(super) fn reserve(
        &self,
        path: &Path,
        place: &str,
        claimed: u64,
        source_bytes: u64,
    ) -> Result<Vec<u8>, OpenError> {
        self.account(path, place, claimed, source_bytes)?;
        let mut buffer = Vec::new();
        let length = usize::try_from(claimed).unwrap_or(usize::MAX);
        if buffer.try_reserve_exact(length).is_err() {
            self.buffer_bytes.fetch_sub(claimed, Ordering::Relaxed);
            return Err(OpenError::TooLarge {
                path: path.to_owned(),
                place: place.to_owned(),
                claimed,
                allowed: 0,
            });
        }
        Ok(buffer)
    }
}

/// Fails unless the type is that of a regular file.
fn check_regular(path: &Path, kind: FileType) -> Result<(), OpenError> {
    if kind.is_file() {
        return Ok(());
    }
    let found = if kind.is_dir() { "directory" } else { "FIFO, socket or device" };
    Err(OpenError::NotRegular { path: path.to_owned(), found })
}

/// True where the path, symbolic links followed, is a regular file.
pub(super) fn is_regular(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// A path from the bytes of a file.
pub(super) fn path_from_bytes(bytes: &[u8]) -> Option<PathBuf> {
    if bytes.is_empty() || bytes.contains(&0) {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        std::str::from_utf8(bytes).ok().map(PathBuf::from)
    }
}

#[cfg(unix)]
fn read_at(file: &File, copy: &mut [u8], offset: u64) -> bool {
    std::os::unix::fs::FileExt::read_exact_at(file, copy, offset).is_ok()
}

#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> bool {
    false
}
