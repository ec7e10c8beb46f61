//! Reads crash reports and profiles: the modules of the process, its threads, and the addresses on their stacks.
//!
//! A report is found by its content ([`read`]). What comes out is the input of the engine: each [`Thread`] has frames whose kind (exact,
//! return address, adjusted) the format defines, so that [`foldsym_symbolize`] resolves folded functions over the whole stack.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod symbolicate;

use foldsym_symbolize::{Modules, StackFrame, Symbolizer};

/// What a report is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {}

/// A crash report or profile.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The format that the bytes are of.
    pub format: Format,
    /// The modules of the process.
    pub modules: Modules,
    /// The threads, in the report's order.
    pub threads: Vec<Thread>,
    /// What was lost on the way, a sentence each.
    pub warnings: Vec<String>,
}

/// The stack of a thread.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Thread {
    /// The thread's id in its process, if the report has it.
    pub id: Option<u64>,
    /// The thread's name; empty if the report has none.
    pub name: String,
    /// Whether the report says that this thread crashed.
    pub crashed: bool,
    /// The frames, innermost first.
    pub frames: Vec<StackFrame>,
}

/// Why bytes are no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// No format begins like this.
    #[error("no known report: it begins with {0:?}")]
    UnknownFormat(Vec<u8>),
}

/// Reads a report of any format. Reports that hold memory in place of stacks are unwound with the files that `symbolizer` finds.
///
/// # Errors
/// [`ReportError`], for bytes that are of no known format, or damaged.
pub fn read(bytes: &[u8], symbolizer: &Symbolizer) -> Result<Report, ReportError> {
    let _ = symbolizer;
    Err(ReportError::UnknownFormat(bytes[..bytes.len().min(16)].to_vec()))
}
