//! The inline tree of a function, while its entries are read.

use std::ops::Range;

use crate::model::{LocalEdge, LocalOrigin, LostScope, Scope};
use crate::util::paint::PaintRange;

/// A node of an inline tree: a function, or an inlined subroutine.
#[derive(Clone, Copy)]
pub(crate) struct TreeNode {
    pub(crate) origin: LocalOrigin,
    pub(crate) depth: u16,
}

/// The inlined subroutines of a function. Its memory is reused for the next function.
#[derive(Default)]
pub(crate) struct InlineTree {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) ranges: Vec<PaintRange>,
    /// Node 0 is the function.
    pub(crate) nodes: Vec<TreeNode>,
}

impl InlineTree {
    /// Removes all nodes, and keeps the memory.
    pub(crate) fn empty(&mut self) {
        self.scopes.clear();
        self.ranges.clear();
        self.nodes.clear();
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

/// What survives of the ranges of an inlined subroutine whose address was erased.
pub(crate) enum Surviving {
    /// The length of its only range.
    Len(u32),
    /// Offsets from the start of the function: these elements of [`crate::model::UnitTraces::lost_ranges`].
    Ranges(Range<u32>),
    /// It has no code.
    Empty,
    Nothing,
}

impl LostTree {
    /// Adds an inlined subroutine. Returns its node number.
    pub(crate) fn push(&mut self, parent: u32, edge: LocalEdge, surviving: Surviving) -> u32 {
        let (len, ranges) = match surviving {
            Surviving::Len(len) => (len, 0..0),
            Surviving::Ranges(ranges) => (0, ranges),
            Surviving::Empty => (0, 0..0),
            Surviving::Nothing => {
                self.lose();
                (0, 0..0)
            }
        };
        self.scopes.push(LostScope { parent, edge, len, ranges });
        self.scopes.len() as u32
    }

    /// Records that there is an inlined subroutine of which nothing is kept.
    pub(crate) fn lose(&mut self) {
        self.beyond = true;
    }
}
