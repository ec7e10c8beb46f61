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
    /// Address of the instruction after the call; `None` for a tail call, and where the linker erased it.
    pub return_addr: Option<ImageAddr>,
    /// `None` where the call goes through a register or memory.
    pub callee: Option<LocalCallee>,
    /// The call is the last thing that the function does: the callee takes its frame.
    pub tail: bool,
    /// Which word of a table in memory the call goes through (a virtual call's slot); [`super::NONE16`] where it goes
    /// another way, or that is not recorded.
    pub slot: u16,
}

/// A subprogram that is called, as the unit describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitCallee {
    pub die: DieOffset,
    pub place: CalleePlace,
    pub origin: LocalOrigin,
    /// Other units mean the same function by its name (`DW_AT_external`).
    pub external: bool,
}

/// Where the DIE of a callee is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalleePlace {
    /// In this unit.
    Here,
    /// In the unit of the program that its offset lies in.
    Program,
    /// In a supplementary file, or in another unit of a `.dwo`: offsets of the program mean something else.
    Elsewhere,
}
