//! Maps files into memory, and releases pages of a mapping.

use std::fs::File;

use memmap2::Mmap;

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
