//! A report whose threads are read one after another: the next is made when it is asked for, so that a report of millions of stacks takes the
//! memory of one.

use foldsym_symbolize::Symbolizer;

use crate::{Format, Kept, Options, Report, ReportError, Thread};

/// What a reader may use.
pub(crate) struct ReadWith<'r> {
    pub(crate) symbolizer: &'r Symbolizer,
    #[cfg_attr(not(feature = "unwind"), expect(dead_code, reason = "walks alone use it"))]
    pub(crate) kept: &'r Kept,
    pub(crate) options: &'r Options,
    /// Whether anybody waits for the report.
    pub(crate) is_wanted: &'r (dyn Fn() -> bool + Sync),
}

/// Reads the reports of one format. A format is a file with a reader, and the reader's row in the list of the crate.
pub(crate) trait FormatReader: Sync {
    /// The format.
    fn format(&self) -> Format;

    /// Whether bytes are such a report, by their content.
    fn is_one(&self, bytes: &[u8]) -> bool;

    /// Reads a report up to its threads.
    ///
    /// # Errors
    /// The bytes are no such report, or damaged; reading takes too much memory, or was cancelled.
    fn open<'b>(&self, bytes: &'b [u8], with: &ReadWith<'_>) -> Result<Opened<'b>, ReportError>;
}

/// A format whose reader this build lacks.
#[cfg(not(all(feature = "unwind", feature = "pprof")))]
pub(crate) struct Unread(pub(crate) Format, pub(crate) fn(&[u8]) -> bool);

#[cfg(not(all(feature = "unwind", feature = "pprof")))]
impl FormatReader for Unread {
    fn format(&self) -> Format {
        self.0
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        (self.1)(bytes)
    }

    fn open<'b>(&self, _: &'b [u8], _: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        let problem = "built without the feature that reads it".to_owned();
        Err(ReportError::Damaged { format: self.0, problem })
    }
}

/// Reads the threads of a report, in its order.
pub(crate) trait ThreadSource {
    /// The next thread. What is lost on the way becomes a warning of the report.
    fn next(&mut self, report: &mut Report) -> Option<Thread>;
}

/// A report that is being read.
pub struct Opened<'b> {
    /// The report without its threads. Warnings may be added until the last thread was read; nothing else changes.
    report: Report,
    source: Box<dyn ThreadSource + 'b>,
}

impl<'b> Opened<'b> {
    pub(crate) fn new(report: Report, source: impl ThreadSource + 'b) -> Self {
        Self { report, source: Box::new(source) }
    }

    /// A report that is in memory.
    #[cfg(feature = "unwind")]
    pub(crate) fn whole(mut report: Report) -> Self {
        let threads = std::mem::take(&mut report.threads).into_iter();
        Self::new(report, Listed(threads))
    }

    /// The report without its threads. It has all warnings after the last thread.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The next thread.
    pub fn next_thread(&mut self) -> Option<Thread> {
        self.source.next(&mut self.report)
    }

    /// The whole report.
    pub fn read(mut self) -> Report {
        let mut threads = Vec::new();
        while let Some(thread) = self.next_thread() {
            threads.push(thread);
        }
        self.report.threads = threads;
        self.report
    }
}

#[cfg(feature = "unwind")]
struct Listed(std::vec::IntoIter<Thread>);

#[cfg(feature = "unwind")]
impl ThreadSource for Listed {
    fn next(&mut self, _: &mut Report) -> Option<Thread> {
        self.0.next()
    }
}
