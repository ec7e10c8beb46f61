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
    /// The callee, or the method of a virtual call; [`NO_CALLEE`] for none.
    callee: u32,
    /// The word of a table in memory through which the call goes (a virtual call's slot); [`super::NONE16`] if it
    /// goes another way, or if that is not recorded.
    pub slot: u16,
    /// [`TAIL`], [`VIRTUAL`].
    flags: u16,
}

/// Flag of a [`UnitCall`]: a tail call.
const TAIL: u16 = 1;

/// Flag of a [`UnitCall`]: `callee` is the method that a virtual call names.
const VIRTUAL: u16 = 2;

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
            flags: if tail { TAIL } else { 0 },
        }
    }

    /// The same call as a virtual call: this is the declaration of the method in the static class of the object.
    pub(crate) fn with_method(self, method: LocalCallee) -> UnitCall {
        UnitCall { callee: method.0, flags: self.flags | VIRTUAL, ..self }
    }

    /// Address of the instruction after the call; `None` for a tail call, and if the linker erased it.
    pub(crate) fn return_addr(&self) -> Option<ImageAddr> {
        (self.return_addr != 0).then_some(ImageAddr(self.return_addr))
    }

    /// `None` if the call goes through a register or memory.
    pub(crate) fn callee(&self) -> Option<LocalCallee> {
        self.named().filter(|_| self.flags & VIRTUAL == 0)
    }

    /// The declaration that a virtual call names: that of the method in the static class of the object. The callee is this method, or
    /// overrides it.
    pub(crate) fn method(&self) -> Option<LocalCallee> {
        self.named().filter(|_| self.flags & VIRTUAL != 0)
    }

    fn named(&self) -> Option<LocalCallee> {
        (self.callee != NO_CALLEE).then_some(LocalCallee(self.callee))
    }

    /// A tail call: the callee takes over the function's frame.
    pub(crate) fn is_tail(&self) -> bool {
        self.flags & TAIL != 0
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
