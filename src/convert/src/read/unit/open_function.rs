//! A function whose children are being read.

use crate::model::{AddressRange, DieOffset, How, Instance, LocalOrigin, UnitCall};
use crate::read::unit::addresses::DeadRange;
use crate::read::unit::tree::{InlineTree, LostTree};

/// A function, and what its children described so far.
pub(crate) struct OpenFunction {
    pub(crate) die: DieOffset,
    pub(crate) origin: LocalOrigin,
    pub(crate) instance: Instance,
    /// `None` if the address was erased.
    pub(crate) how: Option<How>,
    pub(crate) dead: Vec<DeadRange>,
    pub(crate) ranges: Vec<AddressRange>,
    /// The sequence to which its `DW_AT_LLVM_stmt_sequence` refers.
    pub(crate) own_sequence: Option<usize>,
    pub(crate) tree: InlineTree,
    /// The inlined subroutines, if its address was erased.
    pub(crate) lost: LostTree,
    pub(crate) calls: Vec<UnitCall>,
    pub(crate) all_tail_calls: bool,
    pub(crate) all_calls: bool,
}
