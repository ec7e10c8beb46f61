//! Reads crash reports: the modules of the process, its threads, and the addresses on their stacks.
//!
//! [`read`] recognises the format of a report by its content. The result is the input of [`foldsym_symbolize`]: each [`Thread`] has
//! frames, and each frame has a kind (exact, return address, adjusted), which the engine needs to resolve folded functions over the
//! whole stack. The documentation of each [`Format`] says which addresses have which kind.
//!
//! # What the crate promises
//!
//! - **Reports are hostile.** Sizes and counts are checked against the bytes of the report. Damage is an error that says where it is, or a
//!   warning if the rest can be read. Several entries may refer to the same bytes, so the memory for a report and the frames of all its
//!   stacks together are bounded by its size.
//! - **A report opens no file by its path**, unless [`Options::open_paths`] says so.
//! - **A guessed frame is not evidence for its neighbours.** An unwinder may find a caller by scanning the stack for possible return
//!   addresses. Then frames may be missing next to it, or it may not be a frame at all. So it gets [`StackFrame::UNKNOWN`] on both sides,
//!   and no caller proves a folded function across that.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod about;
pub mod json;
pub mod symbolicate;

use std::sync::Arc;

use foldsym_symbolize::{AddressKind, Modules, StackFrame, Symbolizer};

#[cfg(feature = "unwind")]
mod elf_core;
mod json_lines;
#[cfg(feature = "unwind")]
mod minidump;
mod names;
pub mod numbered;
mod opened;
#[cfg(feature = "pprof")]
pub mod otlp;
mod perf_script;
#[cfg(feature = "pprof")]
pub mod pprof;
#[cfg(feature = "pprof")]
mod profiles;
#[cfg(feature = "unwind")]
mod unwind;
#[cfg(feature = "pprof")]
mod wire;

pub use about::{About, Signal};
pub use names::ReportedName;
pub use opened::Opened;
#[cfg(not(all(feature = "unwind", feature = "pprof")))]
use opened::Unread;
use opened::{FormatReader, ReadWith};

/// Most frames of one stack; further ones are left out.
pub(crate) const MAX_FRAMES: usize = foldsym_symbolize::MAX_FRAMES;

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Our own JSON: an object for each stack, one per line. `schema/answers.md` describes the keys.
    ///
    /// | frame | address |
    /// |---|---|
    /// | first of a stack | exact, unless `kind` says otherwise |
    /// | others | return address, unless `kind` says otherwise |
    JsonLines,
    /// The text of AddressSanitizer, UndefinedBehaviorSanitizer, ThreadSanitizer, MemorySanitizer and LeakSanitizer: see [`numbered`].
    Sanitizer,
    /// The stack dumps of LLVM's tools, and of programs that print stacks by LLVM's library. Lines that were written without
    /// `llvm-symbolizer` at hand name a function that other modules can see, and an offset from its start; such a line has an answer if one
    /// function of the module's file has that name, and the offset is in it.
    ///
    /// | frame | address |
    /// |---|---|
    /// | a frame of the system that returns from a signal handler, and the frame that the signal interrupted | exact |
    /// | others, the first too | return address |
    Llvm,
    /// Tombstones of Android, and their copies in the log.
    ///
    /// | frame | address |
    /// |---|---|
    /// | first of a stack | exact |
    /// | others | adjusted |
    Android,
    /// What systemd-coredump writes into the journal (`coredumpctl info`).
    ///
    /// | frame | address |
    /// |---|---|
    /// | first of a stack | exact |
    /// | others | return address |
    Systemd,
    /// Apple's crash reports, and what `backtrace_symbols` of macOS writes. Lines name functions as those of LLVM's dumps without a symbolizer
    /// do.
    ///
    /// | frame | address |
    /// |---|---|
    /// | first below `Thread 0 Crashed:`, or any thread of a crash report | exact |
    /// | first with a tab before its address, which crash reports alone have; but for the backtraces of exceptions | exact |
    /// | `_sigtramp`, and the frame that the signal interrupted | exact |
    /// | others, the first that `backtrace` returns too | return address |
    MacOs,
    /// Minidumps, as Crashpad, Breakpad and Windows write them. This crate walks the stacks.
    ///
    /// | frame | address |
    /// |---|---|
    /// | first of a stack | exact: the registers of the crash, or of the thread |
    /// | trampoline to which a signal handler returns, and the code that the signal interrupted | exact |
    /// | caller of a function that Go's runtime puts on the stack for a signal (`runtime.sigpanic`) | exact |
    /// | others | return address |
    Minidump,
    /// ELF cores, as the Linux kernel and gdb write them, of x86-64, i386 and AArch64. This crate walks the stacks; addresses are as in a
    /// minidump.
    ElfCore,
    /// A request of `/symbolicate/v5`: see [`symbolicate`].
    ///
    /// | frame | address |
    /// |---|---|
    /// | first of a stack | exact |
    /// | others | exact, as neighbours need not be callers of each other; what the key `callers` says, where there is one |
    Symbolicate,
    /// A profile as pprof, Go's runtime or gperftools writes it: see [`pprof`].
    Pprof,
    /// Profiles of OpenTelemetry: see [`otlp`].
    Otlp,
    /// The text of `perf script`.
    ///
    /// | frame | address |
    /// |---|---|
    /// | first of a sample, and first of the program outside of the kernel's | exact |
    /// | others, in samples of `perf record --call-graph dwarf`, which the header (`perf script --header`) or [`Options::callers`] says | adjusted |
    /// | others | return address, found by the kernel by frame pointers |
    PerfScript,
}

impl Format {
    /// All formats.
    pub const ALL: &[Self] = &[
        Self::JsonLines,
        Self::Sanitizer,
        Self::Llvm,
        Self::Android,
        Self::Systemd,
        Self::MacOs,
        Self::Minidump,
        Self::ElfCore,
        Self::Symbolicate,
        Self::Pprof,
        Self::Otlp,
        Self::PerfScript,
    ];

    /// Its word in options and JSON.
    pub const fn text(self) -> &'static str {
        match self {
            Self::JsonLines => "json",
            Self::Sanitizer => "sanitizer",
            Self::Llvm => "llvm",
            Self::Android => "android",
            Self::Systemd => "systemd",
            Self::MacOs => "macos",
            Self::Minidump => "minidump",
            Self::ElfCore => "core",
            Self::Symbolicate => "symbolicate",
            Self::Pprof => "pprof",
            Self::Otlp => "otlp",
            Self::PerfScript => "perf",
        }
    }

    /// The format that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.text() == word)
    }

    /// The format of bytes, recognised by their content.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        READERS.iter().find(|reader| reader.is_one(bytes)).map(|reader| reader.format())
    }
}

/// The readers, in the order in which bytes are tried: formats with a magic number come first. A profile that is not compressed has none, so
/// it is tried last.
const READERS: &[&dyn FormatReader] = &[
    #[cfg(feature = "unwind")]
    &minidump::MinidumpReader,
    #[cfg(feature = "unwind")]
    &elf_core::CoreReader,
    #[cfg(not(feature = "unwind"))]
    &Unread(Format::Minidump, |bytes| bytes.starts_with(b"MDMP") || bytes.starts_with(b"PMDM")),
    #[cfg(not(feature = "unwind"))]
    &Unread(Format::ElfCore, |bytes| bytes.starts_with(b"\x7fELF")),
    &json_lines::JsonLinesReader,
    &symbolicate::SymbolicateReader,
    &numbered::SANITIZER,
    &numbered::LLVM,
    &numbered::ANDROID,
    &numbered::SYSTEMD,
    &numbered::MACOS,
    &perf_script::PerfScriptReader,
    #[cfg(feature = "pprof")]
    &otlp::OtlpReader,
    #[cfg(feature = "pprof")]
    &pprof::ProfileReader,
    #[cfg(not(feature = "pprof"))]
    &Unread(Format::Otlp, |_| false),
    #[cfg(not(feature = "pprof"))]
    &Unread(Format::Pprof, |_| false),
];

/// A crash report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The format of the report.
    pub format: Format,
    /// The modules of the process.
    pub modules: Modules,
    /// The threads, in the report's order.
    pub threads: Vec<Thread>,
    /// Why the process crashed, in the report's words; empty if it has none.
    pub reason: String,
    /// The address that the crash is about, if the report has it.
    pub crash_address: Option<u64>,
    /// What the report says about the process and its system.
    pub about: About,
    /// What was lost while the report was read, one sentence each.
    pub warnings: Vec<String>,
    /// Type and unit of each of [`Thread::values`], `TYPE/UNIT`; empty if stacks have none.
    pub value_types: Vec<String>,
    /// The index of the value that is used if the user names none.
    pub default_value: usize,
    /// The events of which stacks are samples, in the order of the report; empty if it does not name them.
    pub events: Vec<Arc<str>>,
}

impl Report {
    pub(crate) fn new(format: Format, modules: Modules, threads: Vec<Thread>) -> Self {
        Self {
            format,
            modules,
            threads,
            reason: String::new(),
            crash_address: None,
            about: About::default(),
            warnings: Vec::new(),
            value_types: Vec::new(),
            default_value: 0,
            events: Vec::new(),
        }
    }

    /// The modules of a thread's frames: those of the report, or the thread's own.
    pub fn modules_of<'r>(&'r self, thread: &'r Thread) -> &'r Modules {
        thread.modules.as_ref().unwrap_or(&self.modules)
    }
}

/// Most bytes of a thread's name: many threads may share one long name, and each has a copy.
const MAX_NAME: usize = 1 << 10;

/// The start of a text, at most this many bytes.
fn cut(text: &str, most: usize) -> &str {
    // A character has up to 4 bytes in UTF-8, and a slice that ends inside of one would panic.
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
    /// The registers of each frame, by name and as hexadecimal numbers, as many as there are frames; empty unless [`Options::registers`] is
    /// set.
    pub registers: Vec<Vec<(&'static str, String)>>,
    /// The registers of the first frame of the first thread that crashed, by name and as hexadecimal numbers.
    pub crash_registers: Vec<(&'static str, String)>,
    /// Indexes of the frames that return from a signal handler to the code that the signal interrupted.
    pub signals: Vec<usize>,
    /// The modules, if this stack is of another process than the rest of the report.
    pub modules: Option<Modules>,
    /// The names that the report itself has, by frame; of the functions at one frame those that are inlined come first. Empty if the report
    /// has none.
    pub names: Vec<ReportedName>,
    /// The event of which this stack is a sample, if the report says it.
    pub event: Option<Arc<str>>,
    /// The values that a profile counted for this stack, in the order of [`Report::value_types`].
    pub values: Vec<i64>,
    /// Keys that the answer repeats, each once, with their values as JSON.
    pub echo: Vec<(String, String)>,
}

#[cfg(feature = "unwind")]
impl Thread {
    /// Takes what a walk found.
    fn set(&mut self, walked: unwind::Walked) {
        (self.frames, self.trust, self.registers) = (walked.frames, walked.trust, walked.registers);
        self.signals = walked.signals;
    }
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
    /// Not a frame: frames may be missing here.
    Gap,
}

impl Trust {
    /// Its word in text and JSON.
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

/// Why a report cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The bytes begin as no known format.
    #[error("not a known crash report: begins with \"{}\", expected a minidump, an ELF core, JSON, a profile, or the text of a sanitizer, LLVM, Android, systemd-coredump, macOS or perf script", .0.escape_ascii())]
    UnknownFormat(Vec<u8>),
    /// The report is damaged, or of an unknown version.
    #[error("{}: {problem}", .format.text())]
    Damaged {
        /// The report's format.
        format: Format,
        /// The fault, with its place.
        problem: String,
    },
    /// Reading takes more memory than [`Options::memory`].
    #[error("{}: reading it takes more than {most} bytes of memory", .format.text())]
    Memory {
        /// The report's format.
        format: Format,
        /// The bytes that the caller allows.
        most: u64,
    },
    /// The caller cancelled the reading.
    #[error("cancelled")]
    Stopped,
}

/// Options of reading.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The format; `None` recognises it by content.
    pub format: Option<Format>,
    /// Opens programs at the paths that the report names. Only for reports of somebody who may see this machine's files.
    pub open_paths: bool,
    /// Keeps the registers of frames, for formats whose stacks this crate walks.
    pub registers: bool,
    /// Bytes of memory that reading may take. Without it a report may take 40 times its bytes and 200 MB. Profiles and the walks of stacks heed
    /// it: a profile that takes more is a [`ReportError::Memory`]. The memory of other formats follows from their bytes, and is at most 24
    /// times as many.
    pub memory: Option<u64>,
    /// The kind of callers' addresses, for a format that does not say it and whose producers differ (profiles, the text of `perf script`).
    pub callers: Option<AddressKind>,
    /// The event whose samples are read, for formats that have several (the text of `perf script`); `None` reads all.
    pub event: Option<String>,
}

/// Reads a report of any format. If a report has memory instead of stacks, the stacks are walked with the files that `symbolizer` finds.
///
/// # Errors
/// [`ReportError`], for bytes of no known format, or damaged ones.
pub fn read(bytes: &[u8], symbolizer: &Symbolizer) -> Result<Report, ReportError> {
    read_with(bytes, symbolizer, &Options::default())
}

/// Whether bytes begin as a profile that is not compressed. False in a build that reads none.
pub fn begins_as_profile(bytes: &[u8]) -> bool {
    #[cfg(feature = "pprof")]
    return pprof::begins_as_profile(bytes) || otlp::begins_as_profile(bytes);
    #[cfg(not(feature = "pprof"))]
    return {
        let _ = bytes;
        false
    };
}

/// As [`read`], with options.
///
/// # Errors
/// As [`read`].
pub fn read_with(bytes: &[u8], symbolizer: &Symbolizer, options: &Options) -> Result<Report, ReportError> {
    Reader::new(symbolizer).read(bytes, options)
}

/// What readers keep from report to report: the call frame information of programs.
#[derive(Default)]
pub struct Kept {
    #[cfg(feature = "unwind")]
    programs: unwind::Programs,
}

impl Kept {
    /// Keeps at most so many bytes, with those that reports use which are being read; [`Kept::default`] keeps 512 MiB. What does not fit is
    /// read again for the next report, and a report that finds no room does without the rules of a program.
    pub fn within(
        #[cfg_attr(not(feature = "unwind"), expect(unused_variables, reason = "walks alone keep files"))]
        most: u64,
    ) -> Self {
        Self {
            #[cfg(feature = "unwind")]
            programs: unwind::Programs::within(most),
        }
    }
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

    /// A reader that shares its cache with others. Their symbolizers must find the same files.
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

    /// As [`Self::read`], and can be cancelled: the condition is checked at each thread and at each frame of a stack that is walked.
    ///
    /// # Errors
    /// As [`read`], and [`ReportError::Stopped`].
    pub fn read_while(
        &self,
        bytes: &[u8],
        options: &Options,
        is_wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Report, ReportError> {
        Ok(self.open_while(bytes, options, is_wanted)?.read())
    }

    /// As [`Self::read_while`], and hands the threads on one after another. A report that has memory instead of stacks is walked first.
    ///
    /// # Errors
    /// As [`Self::read_while`].
    pub fn open_while<'b>(
        &self,
        bytes: &'b [u8],
        options: &Options,
        is_wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Opened<'b>, ReportError> {
        if !is_wanted() {
            return Err(ReportError::Stopped);
        }
        let with = ReadWith { symbolizer: self.symbolizer, kept: &self.kept, options, is_wanted };
        let is_it = |reader: &&&dyn FormatReader| match options.format {
            Some(format) => reader.format() == format,
            None => reader.is_one(bytes),
        };
        match READERS.iter().find(is_it) {
            Some(reader) => reader.open(bytes, &with),
            None => Err(ReportError::UnknownFormat(bytes[..bytes.len().min(16)].to_vec())),
        }
    }
}
