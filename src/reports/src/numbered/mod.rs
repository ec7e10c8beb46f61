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

use foldsym_symbolize::AddressKind;

use crate::Format;
use line::Form;
pub use line::{AddressBase, AroundSignal, Line};

pub(crate) use android::FORM as ANDROID;
pub(crate) use columns::MACOS;
pub(crate) use llvm::FORM as LLVM;
pub(crate) use sanitizer::FORM as SANITIZER;
pub(crate) use systemd::FORM as SYSTEMD;

/// Reads a line that is a frame by the form of one format, and the text that a logger put before it. `None` if it is no such line. No two
/// formats read the same line.
pub fn parse(format: Format, line: &str) -> Option<(&str, Line<'_>)> {
    form(format)?.parse(line, false)
}

/// As [`parse`], of a line below one of this format. A line that two producers may have written is of the format of the lines above it.
pub fn parse_next(format: Format, line: &str) -> Option<(&str, Line<'_>)> {
    form(format)?.parse(line, true)
}

/// The kind of the address of frame 0 of a stack below a line that is not a frame; `None` if that line does not show it.
pub fn kind_below(format: Format, heading: &str) -> Option<AddressKind> {
    (form(format)?.kind_below)(heading.trim())
}

fn form(format: Format) -> Option<&'static Form> {
    [&SANITIZER, &LLVM, &ANDROID, &SYSTEMD, &MACOS].into_iter().find(|form| form.format == format)
}

#[cfg(test)]
mod tests;
