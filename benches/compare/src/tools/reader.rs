//! The interfaces of each tool's reader and converter.

use std::path::Path;

/// Answers from an opened file. Both calls answer all frames with function, file and line.
pub(crate) trait Reader: Sized {
    /// `base` is what [`Converted::base`] said.
    fn open(path: &Path, base: u64) -> Result<Self, String>;

    /// The tool's cheapest form (ids, borrowed names), passed through `black_box`; returns the
    /// number of frames.
    fn ids(&mut self, address: u64) -> usize;

    /// The same with every function's and file's name appended to `out`.
    fn names(&mut self, address: u64, out: &mut Output) -> usize;

    /// All of `addresses` in one call, if the tool has such a call; returns the frames.
    fn batch(&mut self, _addresses: &[u64]) -> Option<usize> {
        None
    }
}

/// A caller's buffer, which no reader grows: what does not fit is cut.
pub(crate) struct Output {
    bytes: Vec<u8>,
    used: usize,
}

impl Output {
    pub(crate) fn new(len: usize) -> Self {
        Self { bytes: vec![0; len], used: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    pub(crate) fn written(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Appends a name that the reader has in memory.
    pub(crate) fn add(&mut self, name: &[u8]) {
        let room = &mut self.bytes[self.used..];
        let len = name.len().min(room.len());
        room[..len].copy_from_slice(&name[..len]);
        self.used += len;
    }

    /// Lets a reader write a name itself; `write` returns the length of the whole name.
    pub(crate) fn fill(&mut self, write: impl FnOnce(&mut [u8]) -> Option<usize>) {
        let room = &mut self.bytes[self.used..];
        self.used += write(room).unwrap_or(0).min(room.len());
    }
}

/// The data of a conversion's output.
#[derive(Default)]
pub(crate) struct Converted {
    /// Subtracted from a virtual address to make the address that the reader takes.
    pub(crate) base: u64,
    /// For the person who reads the table, or empty.
    pub(crate) note: String,
}
