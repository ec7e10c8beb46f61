//! The report of a conversion: what it read, decided and stored, and the time and memory that its steps took.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::counts::Counts;
use crate::diagnostics::Diagnostics;
use crate::diagnostics::opening::OpenDiagnostic;
use crate::model::{BlockCounts, CallCounts, EncodeStats, How, InlineCounts, Keys, Owner, Program, Reason};

/// What one step took.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Step {
    /// Wall time.
    pub time: Duration,
    /// The largest resident set of the process up to the end of the step, in KiB; 0 if the system does not report it.
    pub peak_kib: u64,
}

impl Step {
    /// A step that began at `began` and ends now.
    pub(crate) fn since(began: Instant) -> Step {
        Step { time: began.elapsed(), peak_kib: peak_kib() }
    }
}

/// What each step took. Merging units goes on while others are read, and counts as reading.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Steps {
    /// Finding and mapping files.
    pub open: Step,
    /// Decoding units.
    pub read: Step,
    /// Recovering erased functions.
    pub recover: Step,
    /// Placing functions and symbols.
    pub place: Step,
    /// Finding keys: calls, objects and slots that tell folded functions apart.
    pub keys: Step,
    /// Encoding everything but the keys. With several threads it runs in parallel with the step `keys`.
    pub encode: Step,
    /// Writing the file.
    pub write: Step,
}

impl Steps {
    /// The steps with the names that the report gives them; progress counts the keys as a part of `encode`.
    pub fn named(&self) -> [(&'static str, Step); 7] {
        [
            ("open", self.open),
            ("read", self.read),
            ("recover", self.recover),
            ("place", self.place),
            ("keys", self.keys),
            ("encode", self.encode),
            ("write", self.write),
        ]
    }
}

/// What was decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decided {
    /// Functions of the program.
    pub functions: u64,
    /// Functions that only a symbol names.
    pub symbol_only: u64,
    /// Other names of functions.
    pub aliases: u64,
    /// Functions with code of their own, if a check proved that no second function has that code.
    pub unique: u64,
    /// Functions with code of their own for which the check could not prove it, by reason in the order of [`Reason::ALL`].
    pub likely: [u64; Reason::ALL.len()],
    /// Addresses that several functions share.
    pub folded_addresses: u64,
    /// Functions at those addresses.
    pub folded_functions: u64,
    /// Calls into folded functions.
    pub calls: CallCounts,
    /// Keys of calls.
    pub call_keys: u64,
    /// Keys of functions that end in tail calls.
    pub tail_keys: u64,
    /// Erased functions whose inlined code was placed, or lost.
    pub inlines: InlineCounts,
    /// Keys of the objects of classes.
    pub vtable_keys: u64,
    /// Those of the vtable keys that leave one function.
    pub sure_vtable_keys: u64,
    /// Calls through a slot that is known.
    pub slot_keys: u64,
    /// Members of groups by the evidence that recovered them, in the order of [`How`].
    pub by_evidence: [u64; How::ALL.len()],
    /// Basic blocks.
    pub blocks: u64,
    /// Ranges of basic blocks.
    pub block_ranges: u64,
    /// What the map of basic blocks had, and how much of it was not kept.
    pub block_counts: BlockCounts,
}

/// The report of one conversion.
///
/// ```
/// use std::path::Path;
///
/// use foldsym_convert::report::{How, Kind};
/// use foldsym_convert::{NoProgress, Options, convert_to};
///
/// let program = Path::new("../../testbins/built/fold.clang-lld.set/program");
/// let report = convert_to(program, &mut Vec::new(), &Options::default(), &NoProgress)?;
/// // lld erases the addresses of the functions that it folds.
/// assert!(report.diagnostics.count(Kind::FoldedFunction) > 0);
/// let by_evidence = report.decided.by_evidence;
/// assert!(by_evidence[How::LiveRange as usize] < by_evidence.iter().sum());
/// println!("{}", report.summary());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The path of the program, as the caller gave it.
    pub input: PathBuf,
    /// Its architecture.
    pub arch: &'static str,
    /// Its build id or UUID; empty if it has none.
    pub build_id: Vec<u8>,
    /// The program is linked, so it should have a build id.
    pub is_linked: bool,
    /// What was read.
    pub counts: Counts,
    /// What was decided.
    pub decided: Decided,
    /// What was skipped, repaired, or decided by a rule.
    pub diagnostics: Diagnostics,
    /// The diagnostics of `open`.
    pub notes: Vec<OpenDiagnostic>,
    /// What each step took.
    pub steps: Steps,
    /// What was stored.
    pub stats: EncodeStats,
    /// Name and bytes of each section of the file.
    pub sections: Vec<(String, u64)>,
    /// Bytes of the file.
    pub file_len: u64,
    /// The largest resident set of the process so far, in KiB; 0 if the system does not report it.
    pub peak_kib: u64,
}

/// What opening a program found.
pub(crate) struct OpenedProgram {
    /// As [`Report::arch`].
    pub(crate) arch: &'static str,
    /// As [`Report::build_id`].
    pub(crate) build_id: Vec<u8>,
    /// As [`Report::is_linked`].
    pub(crate) is_linked: bool,
    /// As [`Report::notes`].
    pub(crate) notes: Vec<OpenDiagnostic>,
}

impl Report {
    pub(crate) fn new(input: &Path) -> Report {
        Report {
            input: input.to_owned(),
            arch: "unknown",
            build_id: Vec::new(),
            is_linked: false,
            counts: Counts::default(),
            decided: Decided::default(),
            diagnostics: Diagnostics::default(),
            notes: Vec::new(),
            steps: Steps::default(),
            stats: EncodeStats::default(),
            sections: Vec::new(),
            file_len: 0,
            peak_kib: 0,
        }
    }

    /// Takes what opening the program found.
    pub(crate) fn opened(&mut self, program: OpenedProgram) {
        (self.arch, self.build_id) = (program.arch, program.build_id);
        (self.is_linked, self.notes) = (program.is_linked, program.notes);
    }

    pub(crate) fn decided(&mut self, program: &Program<'_>, keys: &Keys) {
        let decided = &mut self.decided;
        decided.functions = program.functions.len() as u64;
        for function in &program.functions {
            decided.symbol_only += u64::from(function.how.is_undescribed());
            decided.aliases += function.aliases.len() as u64;
        }
        let mut counted = vec![false; program.functions.len()];
        for piece in &program.pieces {
            let Owner::Function(function) = piece.owner else { continue };
            // A function with several pieces (`f.cold`) has one reason, and counts once.
            if std::mem::replace(&mut counted[function.index()], true) {
                continue;
            }
            match program.functions[function.index()].reason {
                None => decided.unique += 1,
                // Codes begin at 1: 0 is `unique` in the file (schema, FUNCTIONS).
                Some(reason) => decided.likely[reason.code() as usize - 1] += 1,
            }
        }
        decided.calls = keys.counts;
        decided.inlines = program.inlines;
        decided.call_keys = keys.calls.len() as u64;
        decided.tail_keys = keys.tails.len() as u64;
        decided.blocks = program.blocks.blocks.len() as u64;
        decided.block_ranges = program.blocks.ranges.len() as u64;
        decided.block_counts = program.blocks.counts;
        decided.vtable_keys = keys.vtables.len() as u64;
        decided.sure_vtable_keys = keys.vtables.iter().filter(|key| !key.doubtful).count() as u64;
        decided.slot_keys = keys.slots.len() as u64;
        decided.folded_addresses = program.groups.len() as u64;
        for member in program.groups.iter().flat_map(|group| &group.members) {
            decided.folded_functions += 1;
            decided.by_evidence[member.how as usize] += 1;
        }
    }

    /// Takes what the file stores, with its sections and its length.
    pub(crate) fn finish(&mut self, stats: EncodeStats, sections: Vec<(String, u64)>, file_len: u64) {
        (self.stats, self.sections, self.file_len) = (stats, sections, file_len);
        self.peak_kib = peak_kib();
    }

    /// The report in one line of text.
    pub fn summary(&self) -> String {
        let debug = if self.counts.units == 0 { "no debug information, symbols alone; " } else { "" };
        let folded = if self.decided.folded_addresses > 0 {
            format!(
                ", {} folded at {} addresses",
                self.decided.folded_functions, self.decided.folded_addresses
            )
        } else {
            String::new()
        };
        format!("{debug}{} functions{folded}, {} bytes", self.decided.functions, self.file_len)
    }
}

/// The largest resident set of the process so far, in KiB. If the process makes several conversions, it is that of all of them.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
