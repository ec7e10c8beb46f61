//! Gives the frames of answered stacks to a signer, which makes their signatures.

use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use foldsym_signature::{Counted, Function, RuleError, Rules, Signature, Signer};
use rustc_hash::FxHashMap;

use crate::answer::{Answer, Symbol};
use crate::batch::BatchFrame;
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
struct Functions {
    /// Those of the frame, or of all of its candidates.
    all: Vec<(Arc<str>, Arc<str>)>,
    /// Where the functions of each candidate end.
    ends: Vec<usize>,
}

/// The functions of one frame.
#[derive(Clone, Copy)]
struct OfFrame<'f> {
    all: &'f [(Arc<str>, Arc<str>)],
    /// By candidate, from the start of `all`. Empty: one function is known to have run, or none.
    ends: &'f [usize],
}

impl Functions {
    /// Adds the functions of an answer.
    fn read<T: Deref<Target: AsRef<[u8]>>>(&mut self, answer: &Answer, names: &mut Names<'_, T>) {
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
    fn sign<'n>(
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

/// Makes the signatures of the stacks of a [`Batch`](crate::Batch): the same ones as [`Signing`]. Each distinct answer is read once. The
/// engine must list candidates.
pub struct BatchSigning {
    signer: Signer,
    functions: Functions,
    /// By number of the answer: the ends of its functions, and of its `ends`, in `functions`.
    answers: Vec<(usize, usize)>,
    /// By module of the last process: the number of its name.
    modules: (Option<u64>, Vec<Option<u32>>),
    names: FxHashMap<Arc<str>, u32>,
    /// By answer, and the number of the module's name: what counts.
    counted: FxHashMap<(u32, u32), Counted>,
}

impl BatchSigning {
    /// A value without answers.
    pub fn new(rules: impl Into<Arc<Rules>>) -> Self {
        Self {
            signer: Signer::new(rules),
            functions: Functions::default(),
            answers: Vec::new(),
            modules: (None, Vec::new()),
            names: FxHashMap::default(),
            counted: FxHashMap::default(),
        }
    }

    /// Takes the next distinct answer, in the order in which [`Worker::answer_batch`](crate::Worker::answer_batch) gives them.
    pub fn answer<T: Deref<Target: AsRef<[u8]>>>(&mut self, answer: &Answer, names: &mut Names<'_, T>) {
        self.functions.read(answer, names);
        self.answers.push((self.functions.all.len(), self.functions.ends.len()));
    }

    /// The signature of a stack of the batch. `own` are the functions that its report itself names, with the index of their frame, by frame:
    /// they count where no function is known.
    pub fn signature(
        &mut self,
        frames: &[BatchFrame],
        modules: &Modules,
        own: &[(usize, GivenName<'_>)],
    ) -> Signature {
        if self.modules.0 != Some(modules.serial()) {
            self.modules = (Some(modules.serial()), vec![None; modules.len()]);
        }
        for (index, frame) in frames.iter().enumerate() {
            let module = frame.module.and_then(|module| modules.get(module as usize));
            let module = module.map_or("", |module| &*module.name);
            let at = frame.answer as usize;
            let start = at.checked_sub(1).and_then(|before| self.answers.get(before)).copied();
            let ((first, first_end), (last, last_end)) =
                (start.unwrap_or_default(), self.answers.get(at).copied().unwrap_or_default());
            let of_frame = OfFrame {
                all: self.functions.all.get(first..last).unwrap_or_default(),
                ends: self.functions.ends.get(first_end..last_end).unwrap_or_default(),
            };
            if of_frame.all.is_empty() {
                let before = own.partition_point(|(frame, _)| *frame < index);
                let own = own[before..].iter().take_while(|(frame, _)| *frame == index);
                of_frame.sign(&mut self.signer, module, frame.offset, own.map(|(_, given)| *given));
                continue;
            }
            let known = frame.module.and_then(|module| self.modules.1.get_mut(module as usize));
            let number = match known {
                Some(Some(number)) => *number,
                known => {
                    let next = self.names.len() as u32;
                    let number = *self.names.entry(module.into()).or_insert(next);
                    if let Some(known) = known {
                        *known = Some(number);
                    }
                    number
                }
            };
            let signer = &mut self.signer;
            let counted = self.counted.entry((frame.answer, number)).or_insert_with(|| {
                signer.counted(|signer| of_frame.sign(signer, module, None, std::iter::empty()))
            });
            signer.again(counted);
        }
        self.signer.finish()
    }
}
