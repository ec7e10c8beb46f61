//! The callee of a call, as far as it is known.

use crate::model::{FuncId, NameId};

/// The callee of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Callee {
    Function(FuncId),
    /// The function of the name that the source declares, in a unit at `-g1`. clang leaves out linkage names there, so a label
    /// (`int e3(int) asm("e3_real")`) may have made the call one of another function.
    Declared(FuncId),
    /// The record has only this plain name, which several functions have or may have.
    Plain(NameId),
    /// The function that the record means most likely. Others may be meant.
    Unproven(FuncId),
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
    /// The same, of a unit whose records have no linkage names.
    Declaration,
    /// The same, by a name that other functions may have.
    SharedName,
    /// A relocation. gcc keeps the name of a replaced callee in DWARF, not in the code.
    Relocation,
}

impl Callee {
    /// The function, if it is one of the program, and what names it.
    pub(crate) fn function(self) -> Option<(FuncId, CalleeSource)> {
        match self {
            Callee::Function(function) => Some((function, CalleeSource::Record)),
            Callee::Declared(function) => Some((function, CalleeSource::Declaration)),
            Callee::Unproven(function) => Some((function, CalleeSource::SharedName)),
            Callee::Plain(_) | Callee::OtherModule(_) | Callee::Indirect | Callee::Unknown => None,
        }
    }
}
