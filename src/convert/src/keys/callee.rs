//! The callee of a call, as far as it is known.

use crate::model::{FuncId, NameId};

/// The callee of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Callee {
    Function(FuncId),
    /// A function of another module, by its name.
    OtherModule(NameId),
    /// The call goes through a register or memory.
    Indirect,
    /// An unknown function, perhaps of the program.
    Unknown,
}
