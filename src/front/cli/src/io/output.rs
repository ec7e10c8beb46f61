//! Collects answers and writes them in large pieces, or as soon as somebody waits for them.

use std::io::{self, IsTerminal, Write};

/// Answers wait here until there are this many bytes.
const FULL: usize = 64 << 10;

/// Standard output with a buffer that the printers append to.
pub(crate) struct Output {
    pub(crate) text: Vec<u8>,
    sink: io::StdoutLock<'static>,
    is_terminal: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        let stdout = io::stdout();
        // The buffer has twice the limit, since an answer may exceed it.
        Self { text: Vec::with_capacity(2 * FULL), is_terminal: stdout.is_terminal(), sink: stdout.lock() }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes if there is much to write.
    pub(crate) fn give(&mut self) -> io::Result<()> {
        if self.text.len() < FULL { Ok(()) } else { self.flush() }
    }

    /// Writes everything.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let written = self.sink.write_all(&self.text).and_then(|()| self.sink.flush());
        // The buffer is cleared even after an error: bytes that were written must not be written again.
        self.text.clear();
        written
    }
}
