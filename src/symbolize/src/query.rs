//! What a worker is asked: a stack, with what is known of its innermost frame; and where the frames are.

use foldsym_lookup::{NameId, StackAddr};
use foldsym_stopped::Machine;

use crate::stack::{Modules, Place, StackFrame};

/// A stack to answer.
#[derive(Clone, Copy)]
pub struct Query<'q> {
    /// The modules of the process.
    pub modules: &'q Modules,
    /// The frames, innermost first.
    pub frames: &'q [StackFrame],
    /// What is known of the innermost frame.
    pub innermost: Innermost<'q>,
}

/// What is known of the innermost frame besides its address: it may tell which folded method ran.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub enum Innermost<'q> {
    /// Nothing.
    #[default]
    Nothing,
    /// What the vtable pointer of its object holds.
    Vtable(Place),
    /// Registers and memory. Where the object is must be in the file (`foldsym convert --locations`).
    State(&'q dyn Machine),
}

/// Where a frame is.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) module: Option<usize>,
    /// `None` where there is no file: why is in [`Worker::unknown`].
    pub(crate) file: Option<usize>,
    /// What link-time addresses are less than runtime ones, where that is known.
    pub(crate) bias: Option<u64>,
    /// The number that the report gave.
    pub(crate) given: Option<u64>,
    pub(crate) address: StackAddr,
}

impl Placed {
    pub(crate) const NOWHERE: Self =
        Self { module: None, file: None, bias: None, given: None, address: StackAddr::Foreign };

    /// Whether a call from the one to the other stays in one loaded file.
    pub(crate) fn shares_module(&self, other: &Self) -> bool {
        let same_file = self.file.is_some() && self.file == other.file;
        same_file && (self.module == other.module || (self.bias.is_some() && self.bias == other.bias))
    }
}

/// The name that a call of another module's function was linked to: the caller's file, and the name there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Import {
    pub(crate) file: usize,
    pub(crate) name: NameId,
}
