//! The answer for a frame, with names as ids of the file. Text, JSON and [`Frame`](crate::Frame)s are made from it.

use foldsym_lookup::{self as lookup, DebugInfo, NameId};

use crate::certainty::{Certainty, Evidence, Reason};
use crate::objects::ObjectAnswer;
use crate::unknown::Unknown;

/// The frames of one function at an address, innermost first, and the function's other names.
#[derive(Clone, Debug, Default)]
pub struct Symbol {
    /// The functions that are inlined there, then the function that contains the code.
    pub frames: Vec<lookup::Frame>,
    /// Other names of the last of these.
    pub aliases: Vec<NameId>,
}

impl Symbol {
    /// The name of the function, which is that of the outermost frame.
    pub fn name(&self) -> Option<NameId> {
        self.frames.last().and_then(|frame| frame.name)
    }
}

/// One of the functions of folded code that may have run.
#[derive(Clone, Debug)]
pub struct Member {
    /// The evidence that recovered it: a word of the file format.
    pub how: &'static str,
    /// Its frames and names.
    pub symbol: Symbol,
}

/// The answer for one frame of a stack. Ids are those of its module's file; [`Names`](crate::Names) has their text.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Answer {
    /// The address as it was given; `None` for a frame without an address.
    pub address: Option<u64>,
    /// The module that contains the address, as an index of the stack's [`Modules`](crate::Modules).
    pub module: Option<usize>,
    /// The link-time address that was looked up.
    pub image_address: Option<u64>,
    /// Bytes from the module's first segment to the address as it was given; `None` if the segment's place is not known.
    pub module_offset: Option<u64>,
    /// Bytes from [`Answer::start`] to the address as it was given.
    pub function_offset: Option<u64>,
    /// Link-time address at which the function, or this part of it, starts. `None` in padding between functions.
    pub start: Option<u64>,
    /// The function at the address. It has no frames if no function is known. At folded code it is the first candidate.
    pub symbol: Symbol,
    /// How sure the answer is; `None` if no function is known.
    pub certainty: Option<Certainty>,
    /// At folded code: the evidence for the answer.
    pub evidence: Option<Evidence>,
    /// Why an answer with only one known function is not `unique`.
    pub reason: Option<Reason>,
    /// At folded code: the number of functions that may have run.
    pub candidate_count: Option<u32>,
    /// At folded code: these functions, the answer first. Empty without the option [`Builder::candidates`](crate::Builder::candidates).
    pub candidates: Vec<Member>,
    /// Inlined frames are unknown, since a `.dwo` file was missing.
    pub partial: bool,
    /// How much of the program's debug information the module's file has.
    pub level: DebugInfo,
    /// The object of the innermost frame, if registers and memory were given and the code is folded.
    pub object: Option<ObjectAnswer>,
    /// Why [`Symbol::frames`] is empty.
    pub unknown: Option<Unknown>,
}

impl Answer {
    /// Makes it an empty answer, and keeps its memory.
    pub(crate) fn clear(&mut self) {
        // Field by field: replacing the whole value would cost a tenth of a lookup.
        let Self { address, module, image_address, start, symbol, certainty, evidence, reason, .. } = self;
        (*address, *module, *image_address, *start) = (None, None, None, None);
        (*certainty, *evidence, *reason) = (None, None, None);
        symbol.frames.clear();
        symbol.aliases.clear();
        (self.module_offset, self.function_offset) = (None, None);
        (self.candidate_count, self.partial, self.level) = (None, false, DebugInfo::Full);
        self.candidates.clear();
        (self.object, self.unknown) = (None, None);
    }

    /// True if every answer of the file for this link-time address has the same function, with the same certainty.
    pub(crate) fn is_of_its_address_alone(&self) -> bool {
        self.candidate_count.is_none() && self.object.is_none() && self.unknown.is_none()
    }

    /// The answer for the same frame without a function.
    pub fn without(&self, why: Unknown) -> Self {
        let Self { address, module, image_address, module_offset, .. } = *self;
        Self { address, module, image_address, module_offset, unknown: Some(why), ..Self::default() }
    }
}
