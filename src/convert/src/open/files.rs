//! Owns every mapped file and every decompressed buffer, so that images can borrow from them.

use std::fs::{File, FileType};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use elsa::sync::FrozenVec;
use memmap2::Mmap;

use super::error::OpenError;
use crate::util::budget::Allowance;
use crate::util::pages::{MappedBytes, map_file, release};
use crate::util::scratch::ScratchFile;

/// A section of this size is always allowed.
const SECTION_FLOOR: u64 = 64 << 20;
/// Buffers of this size together are always allowed.
const TOTAL_FLOOR: u64 = 128 << 20;
/// The largest ratio of a buffer to its source bytes, above the floors. Debug information compresses 3 to 8 times.
const RATIO: u64 = 64;
/// [`Files::was_read`] releases the pages of all mapped files after this many bytes.
const RELEASE_AFTER: usize = 16 << 20;
/// A read of fewer bytes counts as this many. The first read of a page maps the pages around it too, 16 in all on Linux
/// (64 KiB). Neighbouring reads share these pages, so a read counts as a quarter of them.
const LEAST: usize = 16 << 10;
/// How often [`Files::while_releasing`] looks at a large program. A step maps at most some ten megabytes in this time.
const LOOK_AFTER: Duration = Duration::from_millis(1);
/// How often it looks whether the program is large.
const LOOK_BEFORE: Duration = Duration::from_millis(5);
/// The pages of a large program's files that may be in memory, in bytes. 36 MiB saved no memory at the peak, where other lists are the
/// most; with 32 MiB a conversion took a quarter more time than with 64, since names are read again and again.
const MAPPED: u64 = 48 << 20;
/// How much the pages of others may have grown since pages were last released. Most of what is mapped then was mapped by the
/// conversion meanwhile.
const OTHERS_GREW: u64 = 4 << 20;
/// The number of mapped files whose descriptors stay open.
const OPEN_FILES: usize = 16;

/// Append-only owner of all bytes that images borrow.
///
/// Use one for each program, and a short-lived one for each `.dwo`, since dropping it unmaps its files. Threads may share it.
///
/// # Limits
/// A decompressed section has at most 64 MiB or 64 times its compressed size, whichever is larger. All buffers together
/// (decompressed, joined or relocated) have at most 128 MiB or 64 times the size of all mapped files, whichever is larger.
/// Both limits are checked before memory is reserved.
///
/// No process may shorten a mapped file while it is in use: the operating system would then kill this process (`SIGBUS`).
#[derive(Default)]
pub struct Files {
    maps: FrozenVec<Box<Map>>,
    buffers: FrozenVec<Vec<u8>>,
    mapped_bytes: AtomicU64,
    buffer_bytes: AtomicU64,
    /// Bytes counted by [`Files::was_read`] since all pages were last released.
    read: AtomicUsize,
    /// The scratch file for the lists of a large program's units.
    scratch: ScratchFile,
}

/// A file and its bytes.
struct Map {
    bytes: Mmap,
    /// Open for the first [`OPEN_FILES`] files only, since a process may have few files open at once.
    file: Option<File>,
}

impl Map {
    /// The file offset of these bytes; `None` if they are not from this file.
    fn offset(&self, bytes: &[u8]) -> Option<usize> {
        let offset = (bytes.as_ptr() as usize).checked_sub(self.bytes.as_ptr() as usize)?;
        (offset < self.bytes.len()).then_some(offset)
    }
}

impl Files {
    /// An empty owner.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty owner that creates its scratch file, if it needs one, in this folder.
    pub(crate) fn with_scratch(folder: PathBuf) -> Self {
        Files { scratch: ScratchFile::in_folder(folder), ..Self::default() }
    }

    /// The scratch file for the lists of a large program's units.
    pub(crate) fn scratch(&self) -> &ScratchFile {
        &self.scratch
    }

    /// Counts bytes that the caller read itself like a mapped file, since the allowance depends on the size of the input.
    pub(super) fn count(&self, bytes: &[u8]) {
        self.mapped_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }

    /// Size of all mapped files together.
    pub fn mapped_bytes(&self) -> u64 {
        self.mapped_bytes.load(Ordering::Relaxed)
    }

    /// Size of all buffers together: decompressed, joined or relocated sections.
    pub fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes.load(Ordering::Relaxed)
    }

    /// The memory that a conversion of the files mapped so far may use.
    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::of(self.mapped_bytes(), self.buffer_bytes())
    }

    /// Maps a regular file and returns its bytes.
    ///
    /// # Errors
    /// The file is missing, unreadable, or not a regular file.
    pub fn map(&self, path: &Path) -> Result<&[u8], OpenError> {
        let io = |action| move |error| OpenError::Io { path: path.to_owned(), action, error };
        // Checked before opening, because opening a FIFO would wait for a writer, and opening a device may have effects.
        check_regular(path, std::fs::metadata(path).map_err(io("open"))?.file_type())?;
        let file = File::open(path).map_err(io("open"))?;
        let metadata = file.metadata().map_err(io("open"))?;
        // Checked again on the open file, because the path may name another file by now.
        check_regular(path, metadata.file_type())?;
        // POSIX `mmap` refuses a length of 0. Callers refuse an empty file, since it has no magic.
        if metadata.len() == 0 {
            return Ok(&[]);
        }
        let bytes = map_file(&file).map_err(io("map"))?;
        // The length that was mapped counts: the file may have another size than `metadata` said.
        self.mapped_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let file = (self.maps.len() < OPEN_FILES).then_some(file);
        Ok(&self.maps.push_get(Box::new(Map { bytes, file })).bytes)
    }

    /// Releases the pages of mapped bytes. The bytes stay valid: the system reads them from the file again when needed.
    /// Buffers stay in memory.
    pub fn release(&self, bytes: &[u8]) {
        for map in self.maps.iter() {
            if let Some(start) = map.offset(bytes) {
                release(&map.bytes, start, bytes.len().min(map.bytes.len() - start));
            }
        }
    }

    /// Counts mapped bytes that a step read at scattered places. After [`RELEASE_AFTER`] bytes it releases all pages.
    pub(crate) fn was_read(&self, bytes: usize) {
        // No lock: if two threads pass the limit at once, both release the pages, which costs time and changes no result.
        if self.read.fetch_add(bytes.max(LEAST), Ordering::Relaxed) >= RELEASE_AFTER {
            self.read.store(0, Ordering::Relaxed);
            self.release_all();
        }
    }

    /// Releases the pages of all mapped files, as [`Files::release`] does.
    pub fn release_all(&self) {
        self.maps.iter().for_each(|map| release(&map.bytes, 0, map.bytes.len()));
    }

    /// Runs `work` while another thread releases the pages of a large program's files whenever `work` mapped more than [`MAPPED`]: so
    /// the memory that they take does not grow with the program. The system maps a page again when it is next used.
    pub(crate) fn while_releasing<T>(&self, work: impl FnOnce() -> T) -> T {
        let (done, is_done) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let release = move || {
                // Pages of others: of the program that runs this, and of its other files. Systems other than Linux do not tell.
                let Some(pages) = MappedBytes::open() else { return };
                let mut others = pages.now().unwrap_or_default();
                let wait = || if self.scratch.is_used() { LOOK_AFTER } else { LOOK_BEFORE };
                while is_done.recv_timeout(wait()) == Err(RecvTimeoutError::Timeout) {
                    // A program whose lists fit into memory is small. Releasing its pages would only cost reading them again.
                    if !self.scratch.is_used() {
                        continue;
                    }
                    let mapped = pages.now().unwrap_or_default();
                    // `others` is an estimate. Pages that are not ours are never more than all pages, so it must fall with them.
                    others = others.min(mapped);
                    if mapped - others > MAPPED {
                        self.release_all();
                        self.scratch.release();
                        others = pages.now().unwrap_or_default().min(others + OTHERS_GREW);
                    }
                }
            };
            // Without that thread the conversion only takes more memory.
            drop(std::thread::Builder::new().spawn_scoped(scope, release));
            let result = work();
            // The channel closes, and the other thread ends. A panic of `work` drops `done` too, so the scope never waits for ever.
            drop(done);
            result
        })
    }

    /// Copies the first bytes of mapped bytes by a read from the file. Reading them through the mapping would also map
    /// the pages around them, which costs more than a few bytes are worth. Returns false if the file is not open; the content
    /// of `copy` is undefined then.
    pub fn peek(&self, bytes: &[u8], copy: &mut [u8]) -> bool {
        let fits = copy.len() <= bytes.len();
        let map = self.maps.iter().find_map(|map| Some((map, map.offset(bytes)?)));
        let open = map.filter(|_| fits).and_then(|(map, offset)| Some((map.file.as_ref()?, offset)));
        open.is_some_and(|(file, offset)| read_at(file, copy, offset as u64))
    }

    /// Takes ownership of a buffer and returns its bytes.
    pub fn keep(&self, bytes: Vec<u8>) -> &[u8] {
        self.buffers.push_get(bytes)
    }

    /// The largest size of a section that is made from `source_bytes` bytes of the file.
    pub(super) fn section_limit(&self, source_bytes: u64) -> u64 {
        source_bytes.saturating_mul(RATIO).max(SECTION_FLOOR)
    }

    /// Counts the bytes of a buffer against the limits.
    ///
    /// # Errors
    /// The size is above a limit; nothing is counted then.
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
        // Added before the check, so that threads that reserve at the same time see each other's bytes.
        let before = self.buffer_bytes.fetch_add(claimed, Ordering::Relaxed);
        // `before` may be above the limit for a moment: another thread has added its bytes and not yet taken them back.
        let left = allowed.saturating_sub(before);
        if claimed > left {
            self.buffer_bytes.fetch_sub(claimed, Ordering::Relaxed);
            return Err(refuse(left));
        }
        Ok(())
    }

    /// Reserves an empty buffer for `claimed` bytes that are made from `source_bytes` bytes of the file.
    ///
    /// # Errors
    /// The size is above a limit, or there is not enough memory.
    pub(super) fn reserve(
        &self,
        path: &Path,
        place: &str,
        claimed: u64,
        source_bytes: u64,
    ) -> Result<Vec<u8>, OpenError> {
        self.account(path, place, claimed, source_bytes)?;
        let mut buffer = Vec::new();
        // On a 32-bit host, a size that does not fit is refused below like one for which there is no memory.
        let length = usize::try_from(claimed).unwrap_or(usize::MAX);
        // `Vec::with_capacity` would end the process if the system refuses the memory.
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

/// Fails if this is not the type of a regular file.
fn check_regular(path: &Path, kind: FileType) -> Result<(), OpenError> {
    if kind.is_file() {
        return Ok(());
    }
    let found = if kind.is_dir() { "directory" } else { "FIFO, socket or device" };
    Err(OpenError::NotRegular { path: path.to_owned(), found })
}

/// True if the path, after all symbolic links, is a regular file.
pub(super) fn is_regular(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Makes a path from a string in a file; `None` if it is empty or has a zero byte.
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
// There is no portable read that leaves the position of the file alone. Callers read the mapping in its place.
fn read_at(_: &File, _: &mut [u8], _: u64) -> bool {
    false
}
