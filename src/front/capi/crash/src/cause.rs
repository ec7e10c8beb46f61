//! What the kernel says of a signal, as values that are kept while its report is written.

/// What a signal is about.
#[derive(Clone, Copy)]
pub(crate) struct Cause {
    pub(crate) signal: i32,
    pub(crate) code: i32,
    pub(crate) address: u64,
    /// The process that sent it.
    pub(crate) sender: i32,
}

impl Cause {
    /// A process sent it: kill, sigqueue, a message queue, tgkill. Of a timer the same bytes are something else.
    pub(crate) const fn has_sender(&self) -> bool {
        matches!(self.code, 0 | -1 | -3 | -6)
    }

    /// The processor met the fault: nobody sent the signal.
    pub(crate) const fn is_fault(&self) -> bool {
        self.code > 0
            && matches!(
                self.signal,
                libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE | libc::SIGTRAP
            )
    }
}
