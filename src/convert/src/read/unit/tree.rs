//! The inline tree of a function, while its entries are read.

use std::hash::{Hash, Hasher};

use crate::model::{LocalOrigin, LostScope, Scope};
use crate::read::unit::origins::PackedPlace;
use crate::util::paint::PaintRange;

/// The inlined subroutines of a function. Its memory is reused for the next function.
#[derive(Default)]
pub(crate) struct InlineTree {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) ranges: Vec<PaintRange>,
    /// For each node, origin and depth. Node 0 is the function.
    pub(crate) nodes: Vec<(LocalOrigin, u16)>,
}

/// The attributes of an inlined subroutine that determine its [`UnitEdge`](crate::model::UnitEdge). Different DIEs of the callee
/// may lead to the same origin; then the unit has an edge for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct InlinedCall {
    pub(crate) caller: LocalOrigin,
    pub(crate) callee: PackedPlace,
    /// The index in the unit's file table.
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u16,
}

/// Hashes two words. It runs for each inlined subroutine of a program.
impl Hash for InlinedCall {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let &InlinedCall { caller, callee, file, line, column } = self;
        state.write_u64(u64::from(caller.0) | u64::from(line) << 32);
        state.write_u64(u64::from(callee.offset) ^ u64::from(file) << 32 ^ u64::from(column) << 48);
    }
}

/// The inlined subroutines of a function whose address was erased.
#[derive(Default)]
pub(crate) struct LostTree {
    /// True if the function has its address, so that nothing is lost.
    pub(crate) live: bool,
    /// False if no line sequence can be the function's, so that the tree is not needed.
    pub(crate) kept: bool,
    /// `DW_AT_low_pc` of the function, if that is an index into the address table.
    pub(crate) base: Option<gimli::DebugAddrIndex<usize>>,
    /// True if the function has one range.
    pub(crate) whole: bool,
    pub(crate) scopes: Vec<LostScope>,
    /// True if there is an inlined subroutine of which nothing is kept.
    pub(crate) beyond: bool,
}

impl LostTree {
    /// The number of the last node.
    pub(crate) fn last_node(&self) -> u32 {
        self.scopes.len() as u32
    }

    /// Records that there is an inlined subroutine of which nothing is kept.
    pub(crate) fn lose(&mut self) {
        self.beyond = true;
    }
}
