//! The calls of a unit's functions, as the unit describes them.

use super::{DieOffset, ImageAddr, LocalCallee, LocalOrigin};

/// The calls of a function.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// Index range into `UnitRecords::calls`, in the order of the DIEs.
    pub range: std::ops::Range<u32>,
    /// The compiler promises that no tail call is missing (`DW_AT_call_all_calls`,
    /// `DW_AT_call_all_tail_calls`; DWARF 5 3.3.1.3).
    pub all_tail_calls: bool,
    /// It promises that none is missing at all (`DW_AT_call_all_calls`).
    pub all_calls: bool,
}

/// A call (DWARF 5 3.4.1). A large program has millions of them, so they are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitCall {
    /// 0 for none: no instruction is before address 0.
    return_addr: u64,
    /// [`NO_CALLEE`] for none.
    callee: u32,
    /// The word of a table in memory through which the call goes (a virtual call's slot); [`super::NONE16`] if it
    /// goes another way, or if that is not recorded.
    pub slot: u16,
    /// 1 for a tail call, else 0.
    tail: u16,
}

/// A unit has fewer callees: each takes an entry of its own.
const NO_CALLEE: u32 = u32::MAX;

impl UnitCall {
    /// A call with these fields.
    pub(crate) fn new(
        return_addr: Option<ImageAddr>,
        callee: Option<LocalCallee>,
        tail: bool,
        slot: u16,
    ) -> UnitCall {
        UnitCall {
            return_addr: return_addr.map_or(0, |address| address.0),
            callee: callee.map_or(NO_CALLEE, |callee| callee.0),
            slot,
            tail: tail.into(),
        }
    }

    /// Address of the instruction after the call; `None` for a tail call, and if the linker erased it.
    pub(crate) fn return_addr(&self) -> Option<ImageAddr> {
        (self.return_addr != 0).then_some(ImageAddr(self.return_addr))
    }

    /// `None` if the call goes through a register or memory.
    pub(crate) fn callee(&self) -> Option<LocalCallee> {
        (self.callee != NO_CALLEE).then_some(LocalCallee(self.callee))
    }

    /// A tail call: the callee takes over the function's frame.
    pub(crate) fn is_tail(&self) -> bool {
        self.tail != 0
    }
}

/// A callee, as the unit describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitCallee {
    pub die: DieOffset,
    pub place: CalleePlace,
    pub origin: LocalOrigin,
    /// Other units mean the same function by its name (`DW_AT_external`).
    pub external: bool,
}

/// The unit with the DIE of a callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalleePlace {
    /// This unit.
    Here,
    /// The unit of the program at that offset.
    Program,
    /// A supplementary file, or another unit of a `.dwo`: offsets there are not those of the program.
    OtherDebugFile,
}
