//! The caller's memory that an evaluation works in.

use crate::location::{Entry, Location, Node, Storage};

/// Where a called expression returns to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Return<'e> {
    pub(crate) code: &'e [u8],
    pub(crate) at: usize,
}

/// Room for an evaluation. How much there is bounds how deep the stack, composites and calls may become.
#[derive(Debug)]
pub struct Scratch<'s, 'e> {
    /// Entries of the stack.
    pub stack: &'s mut [Entry<'e>],
    /// Parts of composites. Each operation that makes one needs one, also if it makes 64 parts.
    pub nodes: &'s mut [Node<'e>],
    /// Calls within calls.
    pub calls: &'s mut [Return<'e>],
}

/// Scratch of a fixed size: by default 64 stack entries, 128 nodes and 32 calls, about 15 KiB.
#[derive(Debug)]
pub struct Buffers<'e, const STACK: usize = 64, const NODES: usize = 128, const CALLS: usize = 32> {
    stack: [Entry<'e>; STACK],
    nodes: [Node<'e>; NODES],
    calls: [Return<'e>; CALLS],
}

impl<'e, const STACK: usize, const NODES: usize, const CALLS: usize> Buffers<'e, STACK, NODES, CALLS> {
    /// Empty room.
    pub const fn new() -> Self {
        Buffers {
            stack: [Entry::Location(Location::start(Storage::Undefined)); STACK],
            nodes: [Node::Free; NODES],
            calls: [Return { code: &[], at: 0 }; CALLS],
        }
    }

    /// Lends all of it.
    pub fn scratch(&mut self) -> Scratch<'_, 'e> {
        Scratch { stack: &mut self.stack, nodes: &mut self.nodes, calls: &mut self.calls }
    }
}

impl<const STACK: usize, const NODES: usize, const CALLS: usize> Default
    for Buffers<'_, STACK, NODES, CALLS>
{
    fn default() -> Self {
        Self::new()
    }
}
