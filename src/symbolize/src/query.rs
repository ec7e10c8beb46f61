//! The queries of a worker: a stack, with data about its innermost frame. Also the places of frames in files.

use foldsym_lookup::{NameId, StackAddr};
use foldsym_stopped::Machine;

use crate::answer::Answer;
use crate::stack::{Modules, ReportedAddress, StackFrame, module_offset};

/// A stack to answer.
#[derive(Clone, Copy)]
pub struct Query<'q> {
    /// The modules of the process.
    pub modules: &'q Modules,
    /// The frames, innermost first.
    pub frames: &'q [StackFrame],
    /// Data about the innermost frame.
    pub innermost: Innermost<'q>,
}

/// Data about the innermost frame other than its address, which may determine the folded method that ran.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub enum Innermost<'q> {
    /// Nothing.
    #[default]
    Nothing,
    /// The value of its object's vtable pointer.
    Vtable(ReportedAddress),
    /// Registers and memory. The file must have locations of objects (`foldsym convert --locations`).
    State(&'q dyn Machine),
}

/// The place of a frame: its module, its file, and the address in it.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) module: Option<usize>,
    /// `None` if there is no file. [`Worker::unknown`](crate::worker::Worker::unknown) has the reason.
    pub(crate) file: Option<usize>,
    /// The load bias (runtime address minus link-time address), if it is known.
    pub(crate) bias: Option<u64>,
    /// The number that the report gave.
    pub(crate) given: Option<u64>,
    /// Bytes from the module's first segment to that address.
    pub(crate) offset: Option<u64>,
    pub(crate) address: StackAddr,
}

impl Placed {
    pub(crate) const NOWHERE: Self =
        Self { module: None, file: None, bias: None, given: None, offset: None, address: StackAddr::Foreign };

    /// A frame whose module, if there is one, has no file.
    pub(crate) fn without_file(modules: &Modules, module: Option<usize>, place: ReportedAddress) -> Self {
        Self { module, given: place.given(), offset: module_offset(modules, module, place), ..Self::NOWHERE }
    }

    /// Makes this the answer for the frame, without a function.
    pub(crate) fn begin(&self, answer: &mut Answer) {
        answer.clear();
        (answer.address, answer.module, answer.module_offset) = (self.given, self.module, self.offset);
        answer.image_address = self.address.lookup_address().map(|address| address.0);
    }

    /// True if a call between the two stays in one loaded file.
    pub(crate) fn shares_module(&self, other: &Self) -> bool {
        let same_file = self.file.is_some() && self.file == other.file;
        same_file && (self.module == other.module || (self.bias.is_some() && self.bias == other.bias))
    }
}

/// The name that a call to another module's function was linked to: the caller's file, and the name's id in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Import {
    pub(crate) file: usize,
    pub(crate) name: NameId,
}
