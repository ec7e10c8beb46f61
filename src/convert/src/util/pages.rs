//! Maps files into memory, and releases pages of a mapping.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use memmap2::{Mmap, MmapOptions, MmapRaw};

/// Releases the pages that are entirely inside a range of a mapping.
#[cfg(unix)]
pub(crate) fn release(map: &Mmap, start: usize, len: usize) {
    /// At least the size of a page on every system that runs this.
    const GRAIN: usize = 1 << 16;
    let (start, end) = (start.next_multiple_of(GRAIN), (start + len) / GRAIN * GRAIN);
    if start < end {
        // SAFETY: the mapping is read-only and backed by a file, so no written byte is lost. A released page has the same bytes
        // when it is next read, as long as nobody changes the file, which `Files` requires anyway.
        let advised =
            unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start) };
        // On an error the pages stay, which is harmless.
        drop(advised);
    }
}

#[cfg(not(unix))]
pub(crate) fn release(_: &Mmap, _: usize, _: usize) {}

/// Maps a whole file: the only way to read debug information larger than memory without copying it.
pub(crate) fn map_file(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the mapping is private and read-only, and `Files` owns it as long as a slice of it lives. The remaining
    // duty, that nobody changes the file meanwhile, cannot be checked by any process; it is documented on `Files`, and
    // all readers check every offset against the length that was mapped, so changed bytes are only damaged input.
    unsafe { Mmap::map(file) }
}

/// Maps the first `len` bytes of a file for reading and writing. What is written goes to the file.
pub(crate) fn map_writable(file: &File, len: usize) -> std::io::Result<MmapRaw> {
    MmapOptions::new().len(len).map_raw(file)
}

/// Releases all pages of a mapping made by [`map_writable`]. Its bytes stay in the file.
#[cfg(unix)]
pub(crate) fn release_written(map: &MmapRaw) {
    // SAFETY: the mapping is shared and backed by a file, so written bytes belong to the file and are not lost. The pages hold the
    // same bytes when they are next read.
    let advised = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    // On an error the pages stay, which is harmless.
    drop(advised);
}

#[cfg(not(unix))]
pub(crate) fn release_written(_: &MmapRaw) {}

/// The first read of a page maps the pages around it too: on Linux all 16 of its window of 64 KiB.
const WINDOW: usize = 64 << 10;

/// For [`ReadWindows`]: the pages of mapped files are released when names from more windows than this were read (32 MiB).
pub(crate) const NAME_WINDOWS: usize = 512;

/// A bit for each window of 4 GiB of addresses. Two windows that have one bit count as one.
const BITS: usize = 1 << 16;

/// The windows of mapped files that were read since their pages were last released.
pub(crate) struct ReadWindows {
    /// By address.
    read: Box<[AtomicU64]>,
    count: AtomicUsize,
}

impl Default for ReadWindows {
    fn default() -> ReadWindows {
        let read = (0..BITS / 64).map(|_| AtomicU64::new(0)).collect();
        ReadWindows { read, count: AtomicUsize::new(0) }
    }
}

impl ReadWindows {
    /// Counts the windows of a list that is about to be read. True if they are more than `most` now: the caller releases the pages.
    pub(crate) fn is_over<T>(&self, list: &[T], most: usize) -> bool {
        let start = list.as_ptr() as usize;
        let windows = start / WINDOW..(start + size_of_val(list)).div_ceil(WINDOW);
        // Of a long list a caller may use little, for each function of a unit again.
        let new = windows.take(most / 2).filter(|window| {
            let (word, bit) = (&self.read[window % BITS / 64], 1 << (window % 64));
            // If two threads set a bit at once, `fetch_or` shows only one of them that it was clear: a window counts once.
            word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
        });
        let new = new.count();
        new > 0 && self.count.fetch_add(new, Ordering::Relaxed) + new > most
    }

    /// The pages were released.
    pub(crate) fn clear(&self) {
        // A thread may count a window at the same time. Then pages are released a little later, which changes no answer.
        self.count.store(0, Ordering::Relaxed);
        self.read.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// Tells the bytes of this process's memory that are pages of files. Linux alone says so.
pub(crate) struct MappedBytes {
    /// Kept open: to open it takes ten times as long as to read it.
    statm: File,
    page: u64,
}

impl MappedBytes {
    /// `None` if the system does not tell.
    pub(crate) fn open() -> Option<MappedBytes> {
        let mapped = MappedBytes { statm: File::open("/proc/self/statm").ok()?, page: page_bytes()? };
        mapped.now().is_some().then_some(mapped)
    }

    /// The bytes at this moment.
    pub(crate) fn now(&self) -> Option<u64> {
        let (mut statm, mut text) = (&self.statm, [0; 128]);
        statm.seek(SeekFrom::Start(0)).ok()?;
        let len = statm.read(&mut text).ok()?;
        // The third number is that of pages of files. It includes those of files that are in memory (tmpfs).
        let pages: u64 = str::from_utf8(&text[..len]).ok()?.split(' ').nth(2)?.parse().ok()?;
        Some(pages * self.page)
    }
}

/// The bytes of a page, as the system told the process when it began.
fn page_bytes() -> Option<u64> {
    /// `AT_PAGESZ`
    const PAGE_BYTES: usize = 6;
    let words = std::fs::read("/proc/self/auxv").ok()?;
    // Pairs of a type and a value, each a word of this process (System V ABI, auxiliary vector).
    let words: Vec<usize> = words.as_chunks().0.iter().map(|word| usize::from_ne_bytes(*word)).collect();
    words.chunks_exact(2).find(|pair| pair[0] == PAGE_BYTES).map(|pair| pair[1] as u64)
}

#[cfg(test)]
mod tests {
    use super::{ReadWindows, WINDOW};

    #[test]
    fn a_window_that_is_read_again_does_not_count() {
        const MOST: usize = 8;
        let read = ReadWindows::default();
        let bytes = vec![0u8; (MOST + 2) * WINDOW];
        let start = bytes.as_ptr().align_offset(WINDOW);
        let is_over =
            |from: usize, to: usize| read.is_over(&bytes[start + from * WINDOW..start + to * WINDOW], MOST);
        assert!(!is_over(0, 1) && !is_over(0, 1) && !is_over(0, 0));
        // Of a long list half of the limit counts.
        assert!(!is_over(0, MOST));
        assert!(!is_over(MOST / 2, MOST));
        // One more.
        assert!(is_over(MOST, MOST + 1));
        read.clear();
        assert!(!is_over(0, 1));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells_what_is_mapped() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
        let kib: u64 = line.trim_end_matches("kB").trim().parse().unwrap();
        let mapped = super::MappedBytes::open().unwrap().now().unwrap();
        // Other tests map files meanwhile: only the unit is certain.
        assert!((kib << 8..kib << 12).contains(&mapped), "{mapped} against {kib} KiB");
    }
}
