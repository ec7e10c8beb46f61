//! What tells which of the functions that share code ran.

use super::classes::{OverriderKey, SlotKey, VtableKey};
use super::ids::{FuncId, ImageAddr};

/// Whom a call calls, by the address that it returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    pub return_addr: ImageAddr,
    /// Where the calling code is folded and its functions do not all call the same: whose call this is.
    pub caller: Option<FuncId>,
    pub callee: FuncId,
    pub how: CallHow,
}

/// What says whom a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CallHow {
    /// A `DW_TAG_call_site`.
    CallSite = 0,
    /// A relocation that the linker kept names the callee's symbol.
    Relocation = 1,
    /// A call site, of a callee that the compiler may have put in the place of one that it merged with it.
    Doubtful = 2,
    /// A relocation, of such a callee.
    DoubtfulRelocation = 3,
}

/// What a function reaches by tail calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TailKey {
    pub function: FuncId,
    /// A function of a group; `None`: also ones that are not known.
    pub target: Option<FuncId>,
}

/// What tells which of the functions that share code ran.
#[derive(Default)]
pub struct Keys {
    /// Sorted, no two of one address and caller.
    pub calls: Vec<CallKey>,
    /// Sorted, distinct.
    pub tails: Vec<TailKey>,
    /// Sorted, one an address.
    pub slots: Vec<SlotKey>,
    /// Sorted, distinct.
    pub vtables: Vec<VtableKey>,
    /// Sorted, one a slot and function.
    pub overriders: Vec<OverriderKey>,
    /// Whom calls probably call that nobody recorded: return address and callee; sorted, one an address.
    pub guesses: Vec<(ImageAddr, FuncId)>,
    /// Return addresses of calls whose callee the compiler did not know, by function; only where a file is to say where
    /// objects are.
    pub unknown_calls: Vec<(FuncId, Vec<ImageAddr>)>,
    pub counts: CallCounts,
}

/// How many calls lead into folded code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls whose callee shares its code, as the compiler described them.
    pub into_groups: u64,
    /// Those of them that have a key.
    pub keyed: u64,
}
