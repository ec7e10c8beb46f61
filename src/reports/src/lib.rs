//! Reads crash reports: the modules of the process, its threads, and the addresses on their stacks.
//!
//! A report is found by its content ([`read`]). What comes out is the input of the engine: each [`Thread`] has frames whose kind (exact,
//! return address, adjusted) the format defines, so that [`foldsym_symbolize`] resolves folded functions over the whole stack. The
//! documentation of each [`Format`] says which addresses are of which kind.
//!
//! # What the crate promises
//!
//! - **Reports are hostile.** Sizes and counts in them are checked against the bytes that there are; damage is an error that says where, or a
//!   warning where the rest can be read. Several entries may name the same bytes: the memory that a report takes, and the frames that its
//!   stacks have together, follow from its size.
//! - **A report opens no file by its path**, unless [`Options::open_paths`] says so.
//! - **A frame that is a guess tells its neighbours nothing.** Where an unwinder found a caller by looking for anything that may be a return
//!   address, there may be frames between, and it may be no frame at all: [`StackFrame::UNKNOWN`] stands on both sides of it, and no caller
//!   proves a folded function across that.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod json;
pub mod symbolicate;

use std::sync::Arc;

use foldsym_symbolize::{Kind, Modules, StackFrame, Symbolizer};

#[cfg(feature = "unwind")]
mod elf_core;
mod json_lines;
#[cfg(feature = "unwind")]
mod minidump;
#[cfg(feature = "pprof")]
pub mod pprof;
pub mod sanitizer;
#[cfg(feature = "unwind")]
mod unwind;

/// What a report is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Our own JSON: an object for each stack, one a line. `schema/answers.md` says what the keys are.
    ///
    /// | frame | address |
    /// |---|---|
    /// | first of a stack | exact, unless `kind` says otherwise |
    /// | others | return address, unless `kind` says otherwise |
    JsonLines,
    /// The text of AddressSanitizer, UndefinedBehaviorSanitizer, ThreadSanitizer, MemorySanitizer and LeakSanitizer: see [`sanitizer`].
    Sanitizer,
    /// Minidumps, as Crashpad, Breakpad and Windows write them. Stacks are walked here.
    ///
    /// | frame | address |
    /// |---|---|
    /// | first of a stack | exact: the registers of the crash, or of the thread |
    /// | caller of a frame that a signal made | exact |
    /// | others | return address |
    Minidump,
    /// ELF cores, as the Linux kernel and gdb write them, of x86-64 and AArch64. Stacks are walked here, and addresses are as in a minidump.
    ElfCore,
    /// A request of `/symbolicate/v5`: see [`symbolicate`].
    ///
    /// | frame | address |
    /// |---|---|
    /// | first of a stack | exact |
    /// | others | exact, as neighbours need not be callers of each other; what the key `callers` says, where there is one |
    Symbolicate,
    /// A profile as pprof writes it: see [`pprof`].
    Pprof,
}

impl Format {
    /// All formats.
    pub const ALL: &[Self] =
        &[Self::JsonLines, Self::Sanitizer, Self::Minidump, Self::ElfCore, Self::Symbolicate, Self::Pprof];

    /// The word for it in options and JSON.
    pub const fn text(self) -> &'static str {
        match self {
            Self::JsonLines => "json",
            Self::Sanitizer => "sanitizer",
            Self::Minidump => "minidump",
            Self::ElfCore => "core",
            Self::Symbolicate => "symbolicate",
            Self::Pprof => "pprof",
        }
    }

    /// The format of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.text() == word)
    }

    /// The format of bytes, by their content.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"MDMP") || bytes.starts_with(b"PMDM") {
            Some(Self::Minidump)
        } else if bytes.starts_with(b"\x7fELF") && matches!(bytes.get(16..18), Some([4, 0] | [0, 4])) {
            Some(Self::ElfCore)
        } else if json_lines::is_one(bytes) {
            Some(Self::JsonLines)
        } else if symbolicate::is_one(bytes) {
            Some(Self::Symbolicate)
        } else if sanitizer::is_one(bytes) {
            Some(Self::Sanitizer)
        } else if is_profile(bytes) {
            Some(Self::Pprof)
        } else {
            None
        }
    }
}

/// Whether bytes are a profile; without the feature none is known.
fn is_profile(bytes: &[u8]) -> bool {
    #[cfg(feature = "pprof")]
    return pprof::is_one(bytes);
    #[cfg(not(feature = "pprof"))]
    {
        let _ = bytes;
        false
    }
}

/// A crash report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The format that the bytes are of.
    pub format: Format,
    /// The modules of the process.
    pub modules: Modules,
    /// The threads, in the report's order.
    pub threads: Vec<Thread>,
    /// Why the process crashed, in the report's words; empty if it has none.
    pub reason: String,
    /// The address that the crash is about, if the report has it.
    pub crash_address: Option<u64>,
    /// What was lost on the way, a sentence each.
    pub warnings: Vec<String>,
    /// What [`Thread::values`] are, `TYPE/UNIT`; empty if stacks have none.
    pub value_types: Vec<String>,
    /// Which of them is meant where nobody says.
    pub default_value: usize,
}

impl Report {
    pub(crate) fn new(format: Format, modules: Modules, threads: Vec<Thread>) -> Self {
        Self {
            format,
            modules,
            threads,
            reason: String::new(),
            crash_address: None,
            warnings: Vec::new(),
            value_types: Vec::new(),
            default_value: 0,
        }
    }

    /// The modules that the frames of a thread are of: those of the report, or the thread's own.
    pub fn modules_of<'r>(&'r self, thread: &'r Thread) -> &'r Modules {
        thread.modules.as_ref().unwrap_or(&self.modules)
    }
}

/// Bytes of a thread's name: many threads may have one, and each has a copy.
const MAX_NAME: usize = 1 << 10;

/// The start of a text, of at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=text.len().min(most)).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// The stack of a thread.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Thread {
    /// The thread's id in its process, if the report has it.
    pub id: Option<u64>,
    /// The thread's name, or what the report says above the stack; empty if the report has none.
    pub name: String,
    /// Whether the report says that this thread crashed.
    pub crashed: bool,
    /// The frames, innermost first.
    pub frames: Vec<StackFrame>,
    /// How each frame was found, as many as there are frames; empty if the report does not say.
    pub trust: Vec<Trust>,
    /// The registers of each frame, by name and as numbers are written, as many as there are frames; empty unless [`Options::registers`] is
    /// set.
    pub registers: Vec<Vec<(&'static str, String)>>,
    /// The modules, where this stack is of another process than the rest of the report.
    pub modules: Option<Modules>,
    /// What a profile counted at this stack, in the order of [`Report::value_types`].
    pub values: Vec<i64>,
    /// What the answer repeats: keys, each once, and their values as JSON.
    pub echo: Vec<(String, String)>,
}

/// How an unwinder found a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trust {
    /// By the registers of the thread.
    Context,
    /// By call frame information.
    Cfi,
    /// By the frame pointer.
    FramePointer,
    /// By looking for anything on the stack that may be a return address.
    Scan,
    /// It stands for frames that may be missing: none was found.
    Gap,
}

impl Trust {
    /// The word for it in text and JSON.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Cfi => "cfi",
            Self::FramePointer => "frame_pointer",
            Self::Scan => "scan",
            Self::Gap => "gap",
        }
    }
}

/// Why bytes are no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// No format begins like this.
    #[error("no known report: it begins with {}", .0.escape_ascii())]
    UnknownFormat(Vec<u8>),
    /// The report is damaged, or of a version that is not known.
    #[error("{}: {problem}", .format.text())]
    Damaged {
        /// What it is of.
        format: Format,
        /// What is wrong, with the place.
        problem: String,
    },
    /// Nobody wants it any more.
    #[error("stopped: nobody waits for the report")]
    Stopped,
}

/// How a report is read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The format; `None` finds it by content.
    pub format: Option<Format>,
    /// Programs are opened at the paths that the report names: only for reports of somebody who may see this machine's files.
    pub open_paths: bool,
    /// The registers of frames are wanted, where stacks are walked here.
    pub registers: bool,
    /// What the addresses of callers are, where formats do not say and producers differ: profiles.
    pub callers: Option<Kind>,
}

/// Reads a report of any format. Reports that hold memory in place of stacks are unwound with the files that `symbolizer` finds.
///
/// # Errors
/// [`ReportError`], for bytes that are of no known format, or damaged.
pub fn read(bytes: &[u8], symbolizer: &Symbolizer) -> Result<Report, ReportError> {
    read_with(bytes, symbolizer, &Options::default())
}

/// As [`read`], with options.
///
/// # Errors
/// As [`read`].
pub fn read_with(bytes: &[u8], symbolizer: &Symbolizer, options: &Options) -> Result<Report, ReportError> {
    Reader::new(symbolizer).read(bytes, options)
}

/// What readers keep from report to report: call frame information of programs.
#[derive(Default)]
pub struct Kept {
    #[cfg(feature = "unwind")]
    programs: unwind::Programs,
}

/// Reads many reports. One serves all threads.
pub struct Reader<'s> {
    symbolizer: &'s Symbolizer,
    kept: Arc<Kept>,
}

impl<'s> Reader<'s> {
    /// A reader that finds files as the symbolizer does.
    pub fn new(symbolizer: &'s Symbolizer) -> Self {
        Self::sharing(symbolizer, Arc::default())
    }

    /// The same, of several that keep things together. Their symbolizers find the same files.
    pub fn sharing(symbolizer: &'s Symbolizer, kept: Arc<Kept>) -> Self {
        Self { symbolizer, kept }
    }

    /// Reads a report.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self, bytes: &[u8], options: &Options) -> Result<Report, ReportError> {
        self.read_while(bytes, options, &|| true)
    }

    /// As [`Self::read`], as long as somebody wants it: asked for each thread and each frame of a stack that is walked.
    ///
    /// # Errors
    /// As [`read`], and [`ReportError::Stopped`].
    pub fn read_while(
        &self,
        bytes: &[u8],
        options: &Options,
        is_wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Report, ReportError> {
        if !is_wanted() {
            return Err(ReportError::Stopped);
        }
        let format = options.format.or_else(|| Format::of(bytes));
        let _ = (self.symbolizer, &self.kept);
        match format {
            Some(Format::JsonLines) => json_lines::read(bytes),
            Some(Format::Sanitizer) => sanitizer::read(bytes, options),
            Some(Format::Symbolicate) => symbolicate::read(bytes),
            #[cfg(feature = "pprof")]
            Some(Format::Pprof) => Ok(pprof::Profile::parse(bytes, options)?.report()),
            #[cfg(feature = "unwind")]
            Some(Format::Minidump) => {
                minidump::read(bytes, self.symbolizer, &self.kept.programs, options, is_wanted)
            }
            #[cfg(feature = "unwind")]
            Some(Format::ElfCore) => {
                elf_core::read(bytes, self.symbolizer, &self.kept.programs, options, is_wanted)
            }
            #[cfg(not(all(feature = "unwind", feature = "pprof")))]
            Some(format) => {
                let problem = "built without the feature that reads it".to_owned();
                Err(ReportError::Damaged { format, problem })
            }
            None => Err(ReportError::UnknownFormat(bytes[..bytes.len().min(16)].to_vec())),
        }
    }
}
