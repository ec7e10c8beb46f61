//! A report whose threads are read one after another: the next is made when it is asked for, so that a report of millions of stacks takes the
//! memory of one.

use crate::{Report, Thread};

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

struct Listed(std::vec::IntoIter<Thread>);

impl ThreadSource for Listed {
    fn next(&mut self, _: &mut Report) -> Option<Thread> {
        self.0.next()
    }
}
