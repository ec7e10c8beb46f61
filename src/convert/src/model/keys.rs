//! The keys: data that show which of the functions that share code ran.

use super::classes::{DispatchKey, OverriderKey, SlotKey, TargetKey, VtableKey};
use super::ids::{FuncId, ImageAddr};

/// The callee of the call before a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    pub return_addr: ImageAddr,
    /// The caller, if the calling code is folded and its members do not all have one callee here.
    pub caller: Option<FuncId>,
    pub callee: FuncId,
    pub how: CallHow,
}

/// A call: its return address, and the caller if the calling code is folded.
pub(crate) type CallFrom = (ImageAddr, Option<FuncId>);

/// The evidence for the callee of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CallHow {
    /// A `DW_TAG_call_site`.
    CallSite = 0,
    /// A kept relocation names the callee's symbol.
    Relocation = 1,
    /// A call site, whose callee the compiler may have substituted for a function that it merged with it.
    Doubtful = 2,
    /// A relocation with such a callee.
    DoubtfulRelocation = 3,
    /// A call site or a relocation that rules nothing out: any caller may hide another function, or the callee jumps to unknown code.
    Unproven = 4,
    /// A call site or a relocation in a unit of which gcc merged functions: it may mean another member of the group.
    Merged = 5,
    /// A call site without the linkage name of its callee, or of code that may also be that of a function without a trace. It
    /// rules nothing out.
    NameAlone = 6,
}

/// A function that another function reaches by tail calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TailKey {
    pub function: FuncId,
    /// A member of a group; `None`: also unknown functions.
    pub target: Option<FuncId>,
}

/// The keys of a program.
#[derive(Default)]
pub struct Keys {
    /// Sorted, at most one per address and caller.
    pub calls: Vec<CallKey>,
    /// Sorted, distinct.
    pub tails: Vec<TailKey>,
    /// Sorted, one per address.
    pub slots: Vec<SlotKey>,
    /// Sorted, distinct.
    pub vtables: Vec<VtableKey>,
    /// Sorted, one per slot and function.
    pub overriders: Vec<OverriderKey>,
    /// Sorted, one per address.
    pub dispatches: Vec<DispatchKey>,
    /// Sorted, one per set, point and function.
    pub targets: Vec<TargetKey>,
    /// Guesses for calls that nothing recorded: sorted, one per call.
    pub guesses: Vec<(CallFrom, FuncId)>,
    /// By function: return addresses of calls whose callee the compiler did not know. Filled only if the file stores
    /// the locations of objects.
    pub unknown_calls: Vec<(FuncId, Vec<ImageAddr>)>,
    pub counts: CallCounts,
}

/// The number of calls that lead into folded code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Recorded calls whose callee is a member of a group.
    pub into_groups: u64,
    /// Such calls that have a key.
    pub keyed: u64,
}
