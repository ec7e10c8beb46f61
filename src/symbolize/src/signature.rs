//! Gives the frames of answered stacks to a signer, which makes their signatures.

use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use foldsym_signature::{Function, RuleError, Rules, Signature, Signer};

use crate::answer::{Answer, Symbol};
use crate::certainty::Certainty;
use crate::json::GivenName;
use crate::names::Names;
use crate::stack::Modules;

/// The most bytes of a file of rules.
const MAX_RULES: u64 = 1 << 20;

/// Why a file of rules is of no use.
#[derive(Debug)]
#[non_exhaustive]
pub enum RulesError {
    /// The file cannot be read, or is too large.
    Io {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A line is no rule.
    Rule(RuleError),
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "{path}: {error}"),
            Self::Rule(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RulesError {}

/// The rules that ship, and those of a file of the user's, which outweigh them.
///
/// # Errors
/// The file cannot be read, has more than 1 MiB, or has a line that is no rule.
pub fn rules_of(file: Option<&Path>) -> Result<Rules, RulesError> {
    use std::io::Read;

    let Some(path) = file else { return Ok(Rules::shipped()) };
    let name = path.display().to_string();
    let failed = |error| RulesError::Io { path: name.clone(), error };
    let mut text = String::new();
    // A pipe or a device may be a file of rules too: the user named it.
    let opened = std::fs::File::open(path).map_err(failed)?;
    opened.take(MAX_RULES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_RULES {
        let what = format!("a file of rules has at most {MAX_RULES} bytes");
        return Err(failed(std::io::Error::other(what)));
    }
    Rules::shipped().with(&name, &text).map_err(RulesError::Rule)
}

/// The functions of frames as their file spells them: linkage name and path of the source file.
#[derive(Default)]
pub(crate) struct Functions {
    /// Those of the frame, or of all of its candidates.
    pub(crate) all: Vec<(Arc<str>, Arc<str>)>,
    /// Where the functions of each candidate end.
    pub(crate) ends: Vec<usize>,
}

/// The functions of one frame.
#[derive(Clone, Copy)]
pub(crate) struct OfFrame<'f> {
    pub(crate) all: &'f [(Arc<str>, Arc<str>)],
    /// By candidate, from the start of `all`. Empty: one function is known to have run, or none.
    pub(crate) ends: &'f [usize],
}

impl Functions {
    /// Adds the functions of an answer.
    pub(crate) fn read<T: Deref<Target: AsRef<[u8]>>>(&mut self, answer: &Answer, names: &mut Names<'_, T>) {
        match answer.certainty {
            Some(Certainty::Unique | Certainty::Exact | Certainty::Likely) => self.add(&answer.symbol, names),
            _ => {
                let start = self.all.len();
                for member in &answer.candidates {
                    let before = self.all.len();
                    self.add(&member.symbol, names);
                    // A candidate without a name says nothing.
                    if self.all.len() > before {
                        self.ends.push(self.all.len() - start);
                    }
                }
            }
        }
    }

    fn add<T: Deref<Target: AsRef<[u8]>>>(&mut self, symbol: &Symbol, names: &mut Names<'_, T>) {
        for frame in &symbol.frames {
            let name = names.raw(frame.name);
            if !name.is_empty() {
                self.all.push((name, names.raw_path(frame.file)));
            }
        }
    }
}

impl OfFrame<'_> {
    /// Gives the frame to a signer. What the report itself names there counts if no function is known.
    pub(crate) fn sign<'n>(
        self,
        signer: &mut Signer,
        module: &str,
        offset: Option<u64>,
        own: impl IntoIterator<Item = GivenName<'n>>,
    ) {
        let functions = |range: std::ops::Range<usize>| {
            let range = self.all.get(range).unwrap_or_default();
            range.iter().map(|(name, file)| Function::new(name).in_file(file))
        };
        if !self.ends.is_empty() {
            let mut start = 0;
            for &end in self.ends {
                signer.candidate(module, functions(start..end));
                start = end;
            }
            return signer.end_candidates();
        }
        if !self.all.is_empty() {
            return signer.known(module, functions(0..self.all.len()));
        }
        let mut own = own.into_iter().filter(|given| !given.function.is_empty()).peekable();
        match own.peek() {
            Some(_) => {
                signer.known(module, own.map(|given| Function::new(given.function).in_file(given.file)))
            }
            None => signer.unknown(module, offset),
        }
    }
}

/// Makes the signatures of stacks from their answers. The engine must list candidates ([`Builder::candidates`](crate::Builder::candidates)):
/// a frame that is neither [`Certainty::Unique`], [`Certainty::Exact`] nor [`Certainty::Likely`] counts by all of them.
pub struct Signing {
    signer: Signer,
    functions: Functions,
}

impl Signing {
    /// A value without frames.
    pub fn new(rules: impl Into<Arc<Rules>>) -> Self {
        Self { signer: Signer::new(rules), functions: Functions::default() }
    }

    /// Adds the answer for the next frame of a stack, innermost first. `own` are the functions that the report itself names there, which count
    /// if the answer has none.
    pub fn add<'n, T: Deref<Target: AsRef<[u8]>>>(
        &mut self,
        answer: &Answer,
        names: &mut Names<'_, T>,
        modules: &Modules,
        own: impl IntoIterator<Item = GivenName<'n>>,
    ) {
        let module = answer.module.and_then(|module| modules.get(module)).map_or("", |module| &*module.name);
        let Functions { all, ends } = &mut self.functions;
        all.clear();
        ends.clear();
        self.functions.read(answer, names);
        let frame = OfFrame { all: &self.functions.all, ends: &self.functions.ends };
        frame.sign(&mut self.signer, module, answer.module_offset, own);
    }

    /// The signature of the frames since the last call.
    pub fn finish(&mut self) -> Signature {
        self.signer.finish()
    }
}
