//! The calls of a unit's functions, as the unit describes them.

use super::{DieOffset, ImageAddr, LocalCallee, LocalOrigin};

/// The calls of a function.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// Index range into [`super::UnitRecords::calls`], in the order of the DIEs.
    pub range: std::ops::Range<u32>,
    /// The compiler promises that no tail call is missing (`DW_AT_call_all_calls`,
    /// `DW_AT_call_all_tail_calls`; DWARF 5 3.3.1.3).
    pub all_tail_calls: bool,
    /// It promises that none is missing at all (`DW_AT_call_all_calls`).
    pub all_calls: bool,
}

/// A call (DWARF 5 3.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitCall {
    /// Address of the instruction after the call; `None` for a tail call, and if the linker erased it.
    pub return_addr: Option<ImageAddr>,
    /// `None` if the call goes through a register or memory.
    pub callee: Option<LocalCallee>,
    /// A tail call: the callee takes over the function's frame.
    pub tail: bool,
    /// The word of a table in memory through which the call goes (a virtual call's slot); [`super::NONE16`] if it
    /// goes another way, or if that is not recorded.
    pub slot: u16,
}

/// A callee, as the unit describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitCallee {
    pub die: DieOffset,
    pub place: CalleePlace,
    pub origin: LocalOrigin,
    /// Other units mean the same function by its name (`DW_AT_external`).
    pub external: bool,
}

/// The unit with the DIE of a callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalleePlace {
    /// This unit.
    Here,
    /// The unit of the program at that offset.
    Program,
    /// A supplementary file, or another unit of a `.dwo`: offsets there are not those of the program.
    OtherDebugFile,
}
