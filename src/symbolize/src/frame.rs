//! The answer for one frame of a stack, with names as text.

use std::sync::Arc;

use foldsym_lookup::DebugInfo;

use crate::answer::{Answer, Member, Symbol};
use crate::certainty::{Certainty, Evidence, Reason};
use crate::names::Names;
use crate::unknown::Unknown;

/// The answer for one frame of a stack. Names are shared text: a clone is cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// The address as it was given; `None` for a frame without an address.
    pub address: Option<u64>,
    /// The module that contains the address, as an index of the stack's [`Modules`](crate::Modules).
    pub module: Option<usize>,
    /// The name of that module; empty without a module.
    pub module_name: Arc<str>,
    /// The link-time address that was looked up, in the space of the program's section headers.
    pub image_address: Option<u64>,
    /// The link-time address at which the function, or this part of it, starts. `None` in padding between functions.
    pub start: Option<u64>,
    /// The functions at the address, innermost first: the functions that are inlined there, then the function that contains the code.
    /// Empty if no function is known. At folded code they are those of the first candidate.
    pub functions: Vec<Location>,
    /// Other names of the function that contains the code.
    pub aliases: Vec<Arc<str>>,
    /// How sure it is that this function ran; `None` if no function is known.
    pub certainty: Option<Certainty>,
    /// At folded code: the evidence for the answer.
    pub evidence: Option<Evidence>,
    /// Why an answer with only one known function is not [`Certainty::Unique`].
    pub reason: Option<Reason>,
    /// At folded code: the number of functions that may have run.
    pub candidate_count: Option<u32>,
    /// At folded code: these functions, the answer first. Empty without the option [`Builder::candidates`](crate::Builder::candidates).
    pub candidates: Vec<Candidate>,
    /// Inlined functions are unknown, since a `.dwo` file was missing when the program was converted.
    pub partial: bool,
    /// How much of the program's debug information the module's file has.
    pub level: DebugInfo,
    /// Why [`Frame::functions`] is empty.
    pub unknown: Option<Unknown>,
}

impl Frame {
    /// Copies an answer and its names. `module_name` stays empty.
    pub(crate) fn of(answer: &Answer, names: &mut Names<'_, Arc<str>>) -> Self {
        let frame = Self::with_names(answer, names);
        match names.take_damage() {
            // A damaged name reads as empty. In an answer it would look like an unknown name.
            Some(why) => Self::with_names(&answer.without(why), names),
            None => frame,
        }
    }

    fn with_names(answer: &Answer, names: &mut Names<'_, Arc<str>>) -> Self {
        names.begin(0);
        // Bytes of the texts so far, for the bound of an answer ([`Names::has_room`]).
        let mut len = 0;
        let candidate = |member: &Member, names: &mut Names<'_, Arc<str>>, len: &mut usize| {
            let (functions, aliases) = texts(&member.symbol, names, len);
            Candidate { how: member.how, functions, aliases }
        };
        let (functions, aliases) = texts(&answer.symbol, names, &mut len);
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
            candidates: answer.candidates.iter().map(|member| candidate(member, names, &mut len)).collect(),
            partial: answer.partial,
            level: answer.level,
            unknown: answer.unknown.clone(),
        }
    }
}

/// The frames and the aliases of a function, whose bytes are added to `len`. Ends where the answer has no room: the file then counts as
/// damaged.
fn texts(
    symbol: &Symbol,
    names: &mut Names<'_, Arc<str>>,
    len: &mut usize,
) -> (Vec<Location>, Vec<Arc<str>>) {
    let (mut locations, mut aliases) = (Vec::new(), Vec::new());
    for frame in &symbol.frames {
        if !names.has_room(*len) {
            break;
        }
        let (linkage_name, function) = names.both(frame.name);
        let (linkage_name, function) = (linkage_name.clone(), function.clone());
        let file = names.kept_path(frame.file).clone();
        let start_file = names.kept_path(frame.start_file).clone();
        *len += size_of::<Location>() + linkage_name.len() + function.len() + file.len() + start_file.len();
        locations.push(Location {
            function,
            linkage_name,
            file,
            line: frame.line,
            column: frame.column,
            start_file,
            start_line: frame.start_line,
            inlined: !frame.is_outermost,
        });
    }
    for alias in &symbol.aliases {
        if !names.has_room(*len) {
            break;
        }
        let alias = names.both(Some(*alias)).0.clone();
        *len += size_of::<Arc<str>>() + alias.len();
        aliases.push(alias);
    }
    (locations, aliases)
}

/// One function at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// The demangled name, or the linkage name if it cannot be demangled; empty if no name is known.
    pub function: Arc<str>,
    /// The name as the symbol table or the compiler spells it. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub linkage_name: Arc<str>,
    /// The source file; empty if it is unknown.
    pub file: Arc<str>,
    /// The line, from 1; 0 if it is unknown.
    pub line: u32,
    /// The column, from 1; 0 if it is unknown or was not kept.
    pub column: u32,
    /// The file of the function's declaration; empty if it is unknown.
    pub start_file: Arc<str>,
    /// The line of the function's declaration; 0 if it is unknown.
    pub start_line: u32,
    /// The function is inlined into the next one.
    pub inlined: bool,
}

/// One of the functions of folded code that may have run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The evidence that recovered it: a word of the file format (`live_range`, `symbol`, ...).
    pub how: &'static str,
    /// Its frames, innermost first.
    pub functions: Vec<Location>,
    /// Its other names.
    pub aliases: Vec<Arc<str>>,
}

impl Candidate {
    /// The linkage name of the function, which is that of the outermost frame; empty if it has no name.
    pub fn linkage_name(&self) -> &str {
        self.functions.last().map_or("", |outermost| &outermost.linkage_name)
    }
}
