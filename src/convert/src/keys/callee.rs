//! The callee of a call, as far as it is known.

use crate::model::{FuncId, NameId};

/// The callee of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Callee {
    Function(FuncId),
    /// The likely callee of a record of clang at `-g1`, which has no linkage name. The call may be of another function: one whose name the
    /// program lost, or that a label renamed. Example: `int area(int) asm("volume")` is recorded as `area`.
    ByName(FuncId),
    /// The record has only this plain name, which several functions have or may have.
    Plain(NameId),
    /// A function of another module, by its name. If the name is plain, it may also be that of a C++ function here.
    OtherModule(NameId),
    /// The call goes through a register or memory.
    Indirect,
    /// An unknown function, perhaps of the program.
    Unknown,
}

/// The record that names the callee of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CalleeSource {
    /// The call site or call table that the compiler wrote.
    Record,
    /// The same, without a linkage name.
    NameAlone,
    /// A relocation. gcc keeps the name of a replaced callee in DWARF, not in the code.
    Relocation,
}

impl Callee {
    /// The function, if it is one of the program, and what names it.
    pub(crate) fn function(self) -> Option<(FuncId, CalleeSource)> {
        match self {
            Callee::Function(function) => Some((function, CalleeSource::Record)),
            Callee::ByName(function) => Some((function, CalleeSource::NameAlone)),
            Callee::Plain(_) | Callee::OtherModule(_) | Callee::Indirect | Callee::Unknown => None,
        }
    }
}
