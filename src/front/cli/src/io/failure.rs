//! Turns whatever went wrong into one line on standard error and an exit code.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// The exit codes of every command.
pub(crate) mod exit {
    /// `find` found nothing; `verify --against` found a difference.
    pub(crate) const NOTHING: u8 = 1;
    /// The command line, or an address line, could not be understood.
    pub(crate) const USAGE: u8 = 2;
    /// A file could not be read, is damaged, or is for another processor; the only input is a folder without a
    /// program; or an output could not be written.
    pub(crate) const BAD_INPUT: u8 = 3;
    /// Some of several inputs failed to convert.
    pub(crate) const SOME_FAILED: u8 = 4;
}

/// Why a command stopped.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Empty if there is nothing to print: the reader of our output closed it.
    pub(crate) message: String,
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: exit::USAGE }
    }

    pub(crate) fn input(path: &Path, what: impl Display) -> Self {
        Self { message: format!("{}: {what}", path.display()), code: exit::BAD_INPUT }
    }

    /// Prints the message, if there is one, as a single line.
    pub(crate) fn print(&self) {
        if !self.message.is_empty() {
            complain(&self.message);
        }
    }
}

/// Foreign text, quoted in a message: only its beginning, since it may be a megabyte long.
pub(crate) fn quoted(text: &str) -> String {
    let short = shortened(text);
    if short.len() == text.len() {
        // With the escapes of `Debug`, the quotation marks show where the text ends.
        format!("{text:?}")
    } else {
        format!("{short:?}... ({} bytes)", text.len())
    }
}

/// The fault of a line that is JSON: `text` says what is wrong there, with its line. The caller adds the number of the line.
pub(crate) fn json_problem(text: String, line: usize, column: usize) -> String {
    // serde_json's line number counts within this text, which is one line of the input, so it is left out.
    match text.strip_suffix(&format!(" at line {line} column {column}")) {
        Some(what) => format!("{what} at column {column}"),
        None => text,
    }
}

/// The beginning of a text, as much as a message or an answer repeats.
pub(crate) fn shortened(text: &str) -> &str {
    const SHOWN: usize = 80;
    // The limit counts characters, so that none is cut.
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}

/// Writing an answer failed. A closed pipe is the reader's choice (`foldsym ... | head`), not a failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self { message: String::new(), code: 0 }
        } else {
            Self { message: format!("output: {error}"), code: exit::BAD_INPUT }
        }
    }
}

/// A program could not be converted.
#[cfg(feature = "convert")]
impl From<foldsym_convert::ConvertError> for Failure {
    fn from(error: foldsym_convert::ConvertError) -> Self {
        // If the options do not choose among the parts of a file, the command line is at fault.
        let code = if error.is_usage() { exit::USAGE } else { exit::BAD_INPUT };
        Self { message: error.to_string(), code }
    }
}

/// One line on standard error. Messages quote names and paths of untrusted files, so control
/// characters are escaped wherever standard error goes.
pub(crate) fn complain(message: &str) {
    let mut line = b"foldsym: ".to_vec();
    crate::io::escape::push_escaped(&mut line, message.as_bytes());
    line.push(b'\n');
    // If standard error is closed, the error cannot be reported.
    let _ = io::Write::write_all(&mut io::stderr().lock(), &line);
}
