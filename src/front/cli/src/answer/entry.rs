//! The entries of a line that is a stack.

use crate::answer::address::Address;
use crate::answer::stopped::Stopped;

/// One entry of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The instruction that is executed, or was when a signal came. The frame inside it was not called
    /// by it.
    Exact(Address),
    /// Where a call returns to.
    Return(Address),
    /// A frame of another module: nothing is known of it, and it was called from nowhere that is known.
    Foreign,
}

/// A parsed line.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) entries: Vec<Entry>,
    /// What the vtable pointer of the innermost frame's object holds.
    pub(crate) vptr: Option<Address>,
    /// Registers and memory of the innermost frame.
    pub(crate) stopped: Option<Stopped>,
}
