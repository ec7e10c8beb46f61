//! Turns what a call came to into the numbers of `foldsym.h` and `foldsym_crash.h`, and those into words.

use core::ffi::CStr;

/// A number of the headers.
pub(crate) type Status = i32;

pub(crate) const OK: Status = 0;
pub(crate) const NO_SYMBOLS: Status = 5;
pub(crate) const E_ARGUMENT: Status = -1;
pub(crate) const E_SIZE: Status = -2;
pub(crate) const E_RESERVED: Status = -3;
pub(crate) const E_DAMAGED: Status = -4;
pub(crate) const E_MEMORY: Status = -6;
pub(crate) const E_OTHER_BUILD: Status = -7;
pub(crate) const E_FULL: Status = -8;
pub(crate) const E_SIGNAL: Status = -20;
pub(crate) const E_STACK: Status = -21;
pub(crate) const E_BUSY: Status = -22;
pub(crate) const E_NOT_INSTALLED: Status = -23;

/// The words for a status.
pub(crate) fn text(status: Status) -> &'static CStr {
    match status {
        OK => c"done",
        NO_SYMBOLS => c"no .fsym was found",
        E_ARGUMENT => c"an option has a value that is not allowed",
        E_SIZE => c"the options have a size that this library cannot read",
        E_RESERVED => c"a field or flag that this library does not know is not zero",
        E_DAMAGED => c"the .fsym is damaged",
        E_MEMORY => c"the system gives no memory",
        E_OTHER_BUILD => c"the .fsym is of another build",
        E_FULL => c"the table of modules is full: give a larger module_capacity",
        E_SIGNAL => c"the system does not let a handler be installed for a signal of the options",
        E_STACK => c"the system refuses the alternate stack",
        E_BUSY => c"another call does the same at this moment",
        E_NOT_INSTALLED => c"the handler is not installed",
        _ => c"an unknown status",
    }
}
