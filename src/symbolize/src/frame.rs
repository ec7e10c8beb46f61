//! What is known of one frame of a stack.

use std::fmt;
use std::sync::Arc;

use crate::answer::{Answer, Member, Symbol};
use crate::certainty::{Certainty, Evidence, Reason};
use crate::names::Names;

/// One frame of a stack, answered. Names are shared text: a clone of one is cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// The address as it was given; `None` for a frame of which nothing is known.
    pub address: Option<u64>,
    /// Which module of the stack's [`Modules`](crate::Modules) it is in.
    pub module: Option<usize>,
    /// The name of that module, empty without one.
    pub module_name: Arc<str>,
    /// The link-time address that was looked up, in the space of the program's section headers.
    pub image_address: Option<u64>,
    /// Where the function, or this part of it, starts: a link-time address. `None` in padding between functions.
    pub start: Option<u64>,
    /// The functions at the address, innermost first: those that are inlined there, then the one that holds the code. Empty where
    /// nothing is known. At shared code they are the first candidate's.
    pub functions: Vec<Location>,
    /// Other names of the function that holds the code.
    pub aliases: Vec<Arc<str>>,
    /// How sure it is that this function ran; `None` where nothing is known.
    pub certainty: Option<Certainty>,
    /// What that rests on, at shared code.
    pub evidence: Option<Evidence>,
    /// Why the answer is not [`Certainty::Unique`], where nobody else has a trace.
    pub reason: Option<Reason>,
    /// At shared code: how many functions are still possible.
    pub candidate_count: Option<u32>,
    /// Which functions those are, the answer first; empty unless [`Builder::candidates`](crate::Builder::candidates) asks for them.
    pub candidates: Vec<Candidate>,
    /// Inlined functions are unknown, since a `.dwo` file was missing when the program was converted.
    pub partial: bool,
    /// Why [`Frame::functions`] is empty.
    pub unknown: Option<Unknown>,
}

impl Frame {
    /// A copy of an answer, with its names. The name of the module is left out.
    pub(crate) fn of(answer: &Answer, names: &mut Names<'_, Arc<str>>) -> Self {
        let frame = Self::with_names(answer, names);
        match names.take_damage() {
            Some(why) => Self::with_names(&answer.without(why), names),
            None => frame,
        }
    }

    fn with_names(answer: &Answer, names: &mut Names<'_, Arc<str>>) -> Self {
        let candidate = |member: &Member, names: &mut Names<'_, Arc<str>>| {
            let (functions, aliases) = texts(&member.symbol, names);
            Candidate { how: member.how, functions, aliases }
        };
        let (functions, aliases) = texts(&answer.symbol, names);
        Self {
            address: answer.address,
            module: answer.module,
            module_name: names.both(None).0.clone(),
            image_address: answer.image_address,
            start: answer.start,
            functions,
            aliases,
            certainty: answer.certainty,
            evidence: answer.evidence,
            reason: answer.reason,
            candidate_count: answer.candidate_count,
            candidates: answer.candidates.iter().map(|member| candidate(member, names)).collect(),
            partial: answer.partial,
            unknown: answer.unknown.clone(),
        }
    }
}

fn texts(symbol: &Symbol, names: &mut Names<'_, Arc<str>>) -> (Vec<Location>, Vec<Arc<str>>) {
    let location = |frame: &foldsym_lookup::Frame, names: &mut Names<'_, Arc<str>>| {
        let (linkage_name, function) = names.both(frame.name);
        let (linkage_name, function) = (linkage_name.clone(), function.clone());
        Location {
            function,
            linkage_name,
            file: names.kept_path(frame.file).clone(),
            line: frame.line,
            column: frame.column,
            start_file: names.kept_path(frame.start_file).clone(),
            start_line: frame.start_line,
            inlined: !frame.is_outermost,
        }
    };
    let locations = symbol.frames.iter().map(|frame| location(frame, names)).collect();
    (locations, symbol.aliases.iter().map(|alias| names.both(Some(*alias)).0.clone()).collect())
}

/// One function at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// The readable name; the linkage name where it has no other, empty where none is known.
    pub function: Arc<str>,
    /// The name as the symbol table or the compiler spells it. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub linkage_name: Arc<str>,
    /// The source file, empty where it is not known.
    pub file: Arc<str>,
    /// The line, from 1; 0 where it is not known.
    pub line: u32,
    /// The column, from 1; 0 where it is not known or was not kept.
    pub column: u32,
    /// The file of the function's declaration, empty where it is not known.
    pub start_file: Arc<str>,
    /// The line of the function's declaration; 0 where it is not known.
    pub start_line: u32,
    /// The function is inlined into the next one.
    pub inlined: bool,
}

/// A function of shared code that may be the one that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// What recovered it: a word of the file format (`live_range`, `symbol`, ...).
    pub how: &'static str,
    /// Its frames, innermost first.
    pub functions: Vec<Location>,
    /// Its other names.
    pub aliases: Vec<Arc<str>>,
}

impl Candidate {
    /// The linkage name of the function, which the outermost frame has; empty where it has none.
    pub fn linkage_name(&self) -> &str {
        self.functions.last().map_or("", |outermost| &outermost.linkage_name)
    }
}

/// Why a frame has no function. Absence, damage and failure are three things: what is absent may be given, what is damaged must be made
/// again, what failed may be tried again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unknown {
    /// The stack does not say where the frame is.
    NoAddress,
    /// The address is in none of the stack's modules.
    NoModule,
    /// The module's file was not found. The text names the module and says where it was looked for.
    Absent(Arc<str>),
    /// The module's file is there and has no function at the address.
    NoFunction,
    /// The module's mapping cannot be turned into link-time addresses. The text says what is missing.
    NoMapping(Arc<str>),
    /// The module's file is damaged, or of another program. The text names the file.
    Damaged(Arc<str>),
    /// A file could not be read or fetched. The text says which and why.
    Failed(Arc<str>),
}

impl Unknown {
    /// The word for it in JSON.
    pub const fn text(&self) -> &'static str {
        match self {
            Self::NoAddress => "no_address",
            Self::NoModule => "no_module",
            Self::Absent(_) => "absent",
            Self::NoFunction => "no_function",
            Self::NoMapping(_) => "no_mapping",
            Self::Damaged(_) => "damaged",
            Self::Failed(_) => "failed",
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAddress => "the stack does not say where the frame is",
            Self::NoModule => "the address is in no module of the stack",
            Self::NoFunction => "no function is known at the address",
            Self::Absent(text) | Self::NoMapping(text) | Self::Damaged(text) | Self::Failed(text) => text,
        })
    }
}
