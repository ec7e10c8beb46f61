//! Maps files for the readers.

use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time of the last [`map`], in nanoseconds.
static MAPPED_IN: AtomicU64 = AtomicU64::new(0);

/// The system's time to open and map the last file, and to load its first page; `None` for a tool that maps no file.
pub(crate) fn mapped_in() -> Option<Duration> {
    let nanoseconds = MAPPED_IN.load(Ordering::Relaxed);
    (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
}

/// Maps a whole file for the rest of the process's life: readers here borrow from it.
pub(crate) fn map(path: &Path) -> Result<&'static [u8], String> {
    let start = Instant::now();
    let file = std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // SAFETY: the map is read-only and private; outputs are complete before they are read, and
    // inputs are not changed while they are measured.
    let map = unsafe { memmap2::Mmap::map(&file) };
    let map = map.map_err(|error| format!("{}: {error}", path.display()))?;
    let map: &'static [u8] = Box::leak(Box::new(map));
    black_box(map.first().copied());
    MAPPED_IN.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    Ok(map)
}
