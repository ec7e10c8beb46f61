//! The call graph that clang writes with `-fexperimental-call-graph-section`: the types of functions, and of the calls whose callee is
//! not known.

use std::ops::Range;

use super::{DieOffset, ImageAddr};

/// The hash of a function type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TypeHash(pub u64);

/// What the call graph says of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallGraphRecord {
    /// Where the function begins: a linker may write the address of the function into which it folded this one.
    pub entry: ImageAddr,
    /// The type by which calls through pointers and virtual calls may call it; `None` if there are none, or if the type is local to
    /// its unit.
    pub type_id: Option<TypeHash>,
    /// Index range into [`CallGraph::called`]: the types of its calls whose callee is not known.
    pub called: Range<u32>,
}

/// The records of a program, in the order of its sections: that of its objects, and within an object that of its functions.
#[derive(Debug, Default)]
pub(crate) struct CallGraph {
    pub records: Vec<CallGraphRecord>,
    pub called: Vec<TypeHash>,
}

impl CallGraph {
    /// The types of the calls of a record.
    pub(crate) fn called(&self, record: &CallGraphRecord) -> &[TypeHash] {
        &self.called[record.called.start as usize..record.called.end as usize]
    }
}

/// The type of a function as its DIE gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionType {
    pub die: DieOffset,
    /// Its hash as LLVM 22 and 23 write it, and as later versions do.
    pub ids: [TypeHash; 2],
    /// It returns a pointer or a reference, so it may override a method of another type (C++ [class.virtual], covariant return types).
    pub returns_pointer: bool,
}

/// The types of the functions of a unit that could be determined, sorted by DIE.
#[derive(Debug, Default)]
pub(crate) struct UnitTypes {
    /// Offset of the unit's header in `.debug_info`; of a split unit that of its skeleton.
    pub offset: u64,
    pub functions: Vec<FunctionType>,
}

/// The call graph of a program, and the types that DIEs give to its functions.
#[derive(Default)]
pub(crate) struct CallTypes {
    pub graph: CallGraph,
    /// By the offset of the unit.
    pub units: Vec<UnitTypes>,
}
