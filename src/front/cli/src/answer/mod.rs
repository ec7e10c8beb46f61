//! The one neutral answer, and the text and JSON of it.

pub(crate) mod address;
pub(crate) mod block;
pub(crate) mod entry;
pub(crate) mod json;
pub(crate) mod names;
pub(crate) mod object;
pub(crate) mod open;
pub(crate) mod resolver;
pub(crate) mod session;
pub(crate) mod stopped;
pub(crate) mod text;

use foldsym_lookup::{BasicBlock, Certainty, Evidence, Frame, NameId, Reason};

use object::ObjectAnswer;

/// The frames of one function at an address, innermost first, and the function's other names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbol {
    pub(crate) frames: Vec<Frame>,
    pub(crate) aliases: Vec<NameId>,
}

impl Symbol {
    /// The name of the function, which the outermost frame has.
    pub(crate) fn name(&self) -> Option<NameId> {
        self.frames.last().and_then(|frame| frame.name)
    }
}

/// A function that may be the one that ran.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The evidence that recovered it.
    pub(crate) how: &'static str,
    pub(crate) symbol: Symbol,
}

/// The basic block that holds an address.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) block: BasicBlock,
    /// The function whose blocks these are.
    pub(crate) function: Option<NameId>,
    /// Other functions were folded into it: numbers and flags are of the one that remained.
    pub(crate) folded: bool,
}

/// What is known of an address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// The address as it was given; `None` for a frame of another module.
    pub(crate) address: Option<u64>,
    /// The address is in no section of the program: it is another module's, or nobody's.
    pub(crate) outside: bool,
    /// Link-time address at which the function, or this part of it, starts.
    pub(crate) start: Option<u64>,
    /// No frames where nothing is known.
    pub(crate) symbol: Symbol,
    /// `None` where nothing is known.
    pub(crate) certainty: Option<Certainty>,
    pub(crate) evidence: Option<Evidence>,
    /// Why a likely answer is not certain.
    pub(crate) reason: Option<Reason>,
    /// At an address of a group: how many functions are still possible.
    pub(crate) candidate_count: Option<u32>,
    /// And which, the answer first; empty unless they were asked for.
    pub(crate) candidates: Vec<Candidate>,
    /// Inlined frames are unknown, since a `.dwo` was missing.
    pub(crate) partial: bool,
    /// `None` where it was not asked for; then `None` where the address is in no block.
    pub(crate) block: Option<Option<Block>>,
    /// `None` where it was not asked for, and where the code is not folded.
    pub(crate) object: Option<ObjectAnswer>,
}

impl Answer {
    /// Makes it the answer where nothing is known, and keeps its memory.
    pub(crate) fn clear(&mut self) {
        let mut symbol = std::mem::take(&mut self.symbol);
        symbol.frames.clear();
        symbol.aliases.clear();
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        *self = Self { symbol, candidates, ..Self::default() };
    }
}
