//! What is known of an address, with names as ids of the file: what text, JSON and [`Frame`](crate::Frame)s are made from.

use foldsym_lookup::{self as lookup, NameId};

use crate::certainty::{Certainty, Evidence, Reason};
use crate::objects::ObjectAnswer;
use crate::unknown::Unknown;

/// The frames of one function at an address, innermost first, and the function's other names.
#[derive(Clone, Debug, Default)]
pub struct Symbol {
    /// The functions that are inlined there, then the one that holds the code.
    pub frames: Vec<lookup::Frame>,
    /// Other names of the last.
    pub aliases: Vec<NameId>,
}

impl Symbol {
    /// The name of the function, which the outermost frame has.
    pub fn name(&self) -> Option<NameId> {
        self.frames.last().and_then(|frame| frame.name)
    }
}

/// A function of shared code that may be the one that ran.
#[derive(Clone, Debug)]
pub struct Member {
    /// The evidence that recovered it: a word of the file format.
    pub how: &'static str,
    /// Its frames and names.
    pub symbol: Symbol,
}

/// What is known of one frame of a stack. Ids are those of its module's file: [`Names`](crate::Names) has their text.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Answer {
    /// The address as it was given; `None` for a frame of which nothing is known.
    pub address: Option<u64>,
    /// The module that has the address, as an index of the stack's [`Modules`](crate::Modules).
    pub module: Option<usize>,
    /// The link-time address that was looked up.
    pub image_address: Option<u64>,
    /// Link-time address at which the function, or this part of it, starts. `None` in padding between functions.
    pub start: Option<u64>,
    /// No frames where nothing is known. At shared code they are the first candidate's.
    pub symbol: Symbol,
    /// `None` where nothing is known.
    pub certainty: Option<Certainty>,
    /// What the certainty rests on, at shared code.
    pub evidence: Option<Evidence>,
    /// Why a likely answer is not certain.
    pub reason: Option<Reason>,
    /// At shared code: how many functions are still possible.
    pub candidate_count: Option<u32>,
    /// And which, the answer first; empty unless they were asked for.
    pub candidates: Vec<Member>,
    /// Inlined frames are unknown, since a `.dwo` file was missing.
    pub partial: bool,
    /// The object of the innermost frame, where registers and memory were given and the code is shared.
    pub object: Option<ObjectAnswer>,
    /// Why [`Symbol::frames`] is empty.
    pub unknown: Option<Unknown>,
}

impl Answer {
    /// Makes it the answer where nothing is known, and keeps its memory.
    pub(crate) fn clear(&mut self) {
        // Field by field: to replace the whole costs a tenth of a lookup.
        let Self { address, module, image_address, start, symbol, certainty, evidence, reason, .. } = self;
        (*address, *module, *image_address, *start) = (None, None, None, None);
        (*certainty, *evidence, *reason) = (None, None, None);
        symbol.frames.clear();
        symbol.aliases.clear();
        (self.candidate_count, self.partial) = (None, false);
        self.candidates.clear();
        (self.object, self.unknown) = (None, None);
    }

    /// The same frame without an answer.
    pub fn without(&self, why: Unknown) -> Self {
        let Self { address, module, image_address, .. } = *self;
        Self { address, module, image_address, unknown: Some(why), ..Self::default() }
    }
}
