//! What a comparison found, with the first cases spelled out.

/// Mismatches that are spelled out; more are counted.
const SHOWN: usize = 20;

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct Mismatches {
    /// Addresses that were asked.
    pub asked: u64,
    /// Addresses whose answer is another, and things said of the whole program that are others.
    pub count: u64,
    /// The first of them, a line each: the file, the address, what was expected and what was found.
    pub examples: Vec<String>,
}

impl Mismatches {
    /// Counts one, and keeps its line if it is among the first.
    pub(crate) fn add(&mut self, line: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < SHOWN {
            self.examples.push(line());
        }
    }
}
