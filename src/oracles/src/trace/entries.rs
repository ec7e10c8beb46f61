//! The output of a stepped program: the entries of functions, each with its stack.

/// How far each program is stepped.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Instructions.
    pub(super) steps: usize,
    /// Entries of functions.
    pub(super) entries: usize,
}

/// A word of a stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Word {
    /// The function was entered here, or stopped by a signal.
    Exact(u64),
    /// A call returns here.
    Return(u64),
}

impl Word {
    /// An address inside the instruction that counts.
    pub(super) fn address(self) -> u64 {
        match self {
            Word::Exact(address) => address,
            Word::Return(address) => address.wrapping_sub(1),
        }
    }
}

/// Entries of functions, each with the number of its stack.
#[derive(Default)]
pub(super) struct Run {
    pub(super) entries: Vec<usize>,
    pub(super) stacks: Vec<Vec<Word>>,
    /// Why the run ended.
    pub(super) end: String,
}
