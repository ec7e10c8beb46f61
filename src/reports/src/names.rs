//! The names that a report itself has for its frames. They stand where the engine knows no function.

use std::collections::HashMap;
use std::sync::Arc;

use foldsym_symbolize::Answer;

use crate::Thread;

/// Most bytes of a name.
pub(crate) const MAX_TEXT: usize = 1 << 12;

/// A function at a frame, as the report names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportedName {
    /// The index of the frame in [`Thread::frames`].
    pub frame: u32,
    /// The function's name, as the report spells it.
    pub function: Arc<str>,
    /// The source file; empty if the report has none.
    pub file: Arc<str>,
    /// The line, from 1; 0 if the report has none.
    pub line: u32,
}

impl ReportedName {
    /// The word that says in JSON and in tables that names are the report's.
    pub const SOURCE: &'static str = "report";
}

impl Thread {
    /// The report's names for a frame, innermost function first.
    pub fn names_of(&self, frame: usize) -> &[ReportedName] {
        let before = |end: usize| self.names.partition_point(|name| (name.frame as usize) < end);
        &self.names[before(frame)..before(frame.saturating_add(1))]
    }

    /// The same, or none if the answer names a function itself.
    pub fn names_for(&self, frame: usize, answer: &Answer) -> &[ReportedName] {
        if answer.symbol.frames.iter().any(|frame| frame.name.is_some()) { &[] } else { self.names_of(frame) }
    }

    /// Adds a function to a frame, after those that are inlined into it.
    pub(crate) fn name(&mut self, frame: usize, function: Arc<str>, file: Arc<str>, line: u32) {
        // A stack has fewer frames than 32 bits count.
        self.names.push(ReportedName { frame: frame as u32, function, file, line });
    }
}

/// Texts of a report, each kept once.
#[derive(Default)]
pub(crate) struct Texts<'b>(HashMap<&'b str, Arc<str>>);

impl<'b> Texts<'b> {
    pub(crate) fn of(&mut self, text: &'b str) -> Arc<str> {
        let text = crate::cut(text, MAX_TEXT);
        self.0.entry(text).or_insert_with(|| text.into()).clone()
    }
}

/// A name without the offset that some producers write behind it: `f` of `f+0x10`.
pub(crate) fn without_offset(text: &str) -> &str {
    let is_offset = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = text.rsplit_once("+0x").filter(|(_, digits)| is_offset(digits));
    name.map_or(text, |(name, _)| name)
}

/// Reads `FILE:LINE` or `FILE:LINE:COLUMN`. Without a line the whole text is the file.
pub(crate) fn file_and_line(text: &str) -> (&str, u32) {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    let Some((before, Some(last))) = text.rsplit_once(':').map(|(before, last)| (before, number(last)))
    else {
        return (text, 0);
    };
    match before.rsplit_once(':').map(|(file, line)| (file, number(line))) {
        Some((file, Some(line))) => (file, line),
        _ => (before, last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for (text, expected) in [
            ("/a b/c.cpp:3", ("/a b/c.cpp", 3)),
            ("c.cpp:3:5", ("c.cpp", 3)),
            ("C:\\a.cpp:3", ("C:\\a.cpp", 3)),
            ("a.cpp", ("a.cpp", 0)),
            ("a:x", ("a:x", 0)),
            ("a:99999999999", ("a:99999999999", 0)),
            ("", ("", 0)),
        ] {
            assert_eq!(file_and_line(text), expected, "{text}");
        }
    }
}
