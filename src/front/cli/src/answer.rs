//! Turns what the reader found at an address into the one neutral answer that text and JSON print.

use foldsym_lookup::{FileId, NameId};

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// One function alone is at the address.
    Unique,
    /// Several are, and the caller names this one.
    Exact,
    /// Several are, and the caller excludes some.
    Narrowed,
    /// Several are.
    Ambiguous,
}

impl Certainty {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Certainty::Unique => "unique",
            Certainty::Exact => "exact",
            Certainty::Narrowed => "narrowed",
            Certainty::Ambiguous => "ambiguous",
        }
    }
}

/// What made an answer `exact` or `narrowed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "given by the reader once a stack is resolved by its callers")]
pub(crate) enum Evidence {
    DirectCall,
    Relocation,
    MergedCaller,
    TailCall,
    VirtualSlot,
    Vtable,
}

impl Evidence {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Evidence::DirectCall => "direct_call",
            Evidence::Relocation => "relocation",
            Evidence::MergedCaller => "merged_caller",
            Evidence::TailCall => "tail_call",
            Evidence::VirtualSlot => "virtual_slot",
            Evidence::Vtable => "vtable",
        }
    }
}

/// One frame of source: a function, and the place in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) name: Option<NameId>,
    pub(crate) file: Option<FileId>,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// Where the function is declared.
    pub(crate) start_file: Option<FileId>,
    pub(crate) start_line: u32,
}

/// The frames of one function at an address, innermost first, and the function's other names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbol {
    pub(crate) frames: Vec<Frame>,
    pub(crate) aliases: Vec<NameId>,
}

/// A function that may be the one that ran.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The evidence that recovered it.
    pub(crate) how: &'static str,
    pub(crate) symbol: Symbol,
}

/// What is known of an address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// The address as it was given; `None` for a frame of another module.
    pub(crate) address: Option<u64>,
    /// Link-time address at which the function, or this part of it, starts.
    pub(crate) start: Option<u64>,
    /// No frames where nothing is known.
    pub(crate) symbol: Symbol,
    pub(crate) certainty: Option<Certainty>,
    pub(crate) evidence: Option<Evidence>,
    /// At an address of a group: how many functions are still possible.
    pub(crate) candidate_count: Option<u32>,
    /// And which, the answer first; empty unless they were asked for.
    pub(crate) candidates: Vec<Candidate>,
    /// Inlined frames are unknown, since a `.dwo` was missing.
    pub(crate) partial: bool,
}
