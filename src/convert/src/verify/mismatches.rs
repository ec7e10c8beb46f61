//! The result of a comparison: how many mismatches there are, and the first of them in words.

/// Mismatches that are kept in words; further ones are only counted.
const SHOWN: usize = 20;

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Mismatches {
    /// Addresses and basic blocks that were compared.
    pub asked: u64,
    /// Addresses that the second reader cannot answer: functions or line sequences that the linker removed seem to cover them, or it answers
    /// with one of several line sequences.
    pub left_out: u64,
    /// Mismatches: addresses with different answers, basic blocks and their ranges, and facts about the whole program.
    pub count: u64,
    /// The first mismatches, a line each: the file, the address, what was expected and what was found.
    pub examples: Vec<String>,
}

impl Mismatches {
    /// Counts a mismatch, and keeps its line if it is among the first.
    pub(crate) fn add(&mut self, line: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < SHOWN {
            self.examples.push(line());
        }
    }
}
