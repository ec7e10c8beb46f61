//! What is inlined into a function, while its entries are read.

use std::hash::{Hash, Hasher};

use crate::model::{LocalOrigin, LostScope, Scope};
use crate::read::unit::origins::PackedPlace;
use crate::util::paint::PaintRange;

/// The inlined subroutines of a function; its memory is that of a function before.
#[derive(Default)]
pub(crate) struct InlineTree {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) ranges: Vec<PaintRange>,
    /// By node, from 0: the origin and the depth.
    pub(crate) nodes: Vec<(LocalOrigin, u16)>,
}

/// A [`UnitEdge`] as the attributes of an inlined subroutine give it. Entries that lead to one origin may differ, and then
/// the unit has an edge for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct InlinedCall {
    pub(crate) caller: LocalOrigin,
    pub(crate) callee: PackedPlace,
    /// As the file table of the unit numbers it.
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u16,
}

/// In two words: one is looked for for each inlined subroutine of a program.
impl Hash for InlinedCall {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let &InlinedCall { caller, callee, file, line, column } = self;
        state.write_u64(u64::from(caller.0) | u64::from(line) << 32);
        state.write_u64(u64::from(callee.offset) ^ u64::from(file) << 32 ^ u64::from(column) << 48);
    }
}

/// The inlined subroutines of a function without its address.
#[derive(Default)]
pub(crate) struct LostTree {
    /// Nothing is lost.
    pub(crate) live: bool,
    /// False where nobody will ask: no line sequence could be the function's.
    pub(crate) kept: bool,
    /// `DW_AT_low_pc` of the function, where that is an index into the address table.
    pub(crate) base: Option<gimli::DebugAddrIndex<usize>>,
    /// The function has one range.
    pub(crate) whole: bool,
    pub(crate) scopes: Vec<LostScope>,
    /// Something is inlined of which nothing is left.
    pub(crate) beyond: bool,
}

impl LostTree {
    /// The number of the node that was added last.
    pub(crate) fn last_node(&self) -> u32 {
        self.scopes.len() as u32
    }

    /// Notes that something is inlined of which nothing is kept.
    pub(crate) fn lose(&mut self) {
        self.beyond = true;
    }
}
