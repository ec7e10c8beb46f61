//! Whom a call calls, as far as that is known.

use crate::model::{FuncId, NameId};

/// Whom a call calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Callee {
    Function(FuncId),
    /// A function of another module, by its name.
    Elsewhere(NameId),
    /// The call goes through a register or memory.
    Indirect,
    /// A function that the program may have, but not one that is known.
    Unknown,
}
