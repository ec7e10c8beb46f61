//! An evaluation of an expression: its place in the code, its stack and its nodes, in the caller's memory. `machine` runs it.

use crate::location::{Entry, Node, NodeId};
use crate::problem::Problem;
use crate::scratch::{Return, Scratch};
use crate::settings::{Settings, Want};
use crate::value::Type;

/// An evaluation of one expression. It borrows its memory from the caller.
pub struct Evaluation<'s, 'e> {
    pub(crate) settings: Settings,
    pub(crate) want: Want,
    pub(crate) code: &'e [u8],
    pub(crate) at: usize,
    pub(crate) stack: &'s mut [Entry<'e>],
    pub(crate) depth: usize,
    pub(crate) nodes: &'s mut [Node<'e>],
    pub(crate) made: usize,
    pub(crate) calls: &'s mut [Return<'e>],
    pub(crate) called: usize,
    pub(crate) steps: u32,
}

impl<'s, 'e> Evaluation<'s, 'e> {
    /// Prepares to evaluate `expression`. The stack is empty.
    pub fn new(expression: &'e [u8], want: Want, settings: Settings, scratch: Scratch<'s, 'e>) -> Self {
        Evaluation {
            // A value has 1 to 8 bytes. With a size of 0, the operand of `DW_OP_addr` would have no bytes, and its read would succeed.
            settings: Settings { address_size: settings.address_size.clamp(1, 8), ..settings },
            want,
            code: expression,
            at: 0,
            stack: scratch.stack,
            depth: 0,
            nodes: scratch.nodes,
            made: 0,
            calls: scratch.calls,
            called: 0,
            steps: 0,
        }
    }

    /// Puts an entry on the stack: what the attribute's class has there before the first operation (DWARF 5 2.5.1).
    ///
    /// # Errors
    /// The stack is full.
    pub fn push(&mut self, entry: Entry<'e>) -> Result<(), Problem> {
        let room = self.stack.get_mut(self.depth).ok_or(Problem::StackFull)?;
        *room = entry;
        self.depth = self.depth.saturating_add(1);
        Ok(())
    }

    /// The stack, its top last.
    pub fn stack(&self) -> &[Entry<'e>] {
        self.stack.get(..self.depth).unwrap_or_default()
    }

    /// The node of a composite.
    pub fn node(&self, id: NodeId) -> Node<'e> {
        // An id of another evaluation may be out of range here. Its composite then has no parts.
        self.nodes.get(usize::try_from(id.0).unwrap_or(usize::MAX)).copied().unwrap_or(Node::Free)
    }

    /// The generic type of the program.
    pub fn generic(&self) -> Type {
        Type::generic(self.settings.address_size)
    }
}
