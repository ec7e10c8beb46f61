//! Reads stacks in text whose frames begin with a number. Each producer writes other addresses, so a line is read by the one form
//! that it has whole: [`parse`]. A form is a file here and a row of the list of formats.
//!
//! A logger may have put text in front of the number. A frame that the producer symbolized, and that names no module, keeps its place in the
//! stack as an unknown frame.

mod android;
mod columns;
mod line;
mod llvm;
mod sanitizer;
mod stacks;
mod systemd;

use crate::Format;
pub use line::{AddressBase, AroundSignal, Line};

pub(crate) use android::FORM as ANDROID;
pub(crate) use columns::MACOS;
pub(crate) use llvm::FORM as LLVM;
pub(crate) use sanitizer::FORM as SANITIZER;
pub(crate) use systemd::FORM as SYSTEMD;

/// Reads a line that is a frame by the form of one format, and the text that a logger put before it. `None` if it is no such line.
pub fn parse(format: Format, line: &str) -> Option<(&str, Line<'_>)> {
    // No two forms read the same line.
    [SANITIZER, LLVM, ANDROID, SYSTEMD, MACOS].iter().find(|form| form.format == format)?.parse(line)
}

#[cfg(test)]
mod tests;
