//! The answer for an address, in the form that all printers take.

use crate::answer::variable::Variable;

/// One function at an address.
#[derive(Clone, Default)]
pub(super) struct AnsweredLine {
    /// Empty if unknown.
    pub(super) function: Vec<u8>,
    /// Empty if unknown.
    pub(super) file: Vec<u8>,
    /// From 1; 0 if unknown.
    pub(super) line: u32,
    /// From 1; 0 if unknown.
    pub(super) column: u32,
    /// Where the function is declared.
    pub(super) start_file: Vec<u8>,
    pub(super) start_line: u32,
    /// The line is that of an earlier address (`--skip-line-zero`).
    pub(super) is_approximate: bool,
    /// The address at which the function starts; not of a function that was inlined.
    pub(super) start: Option<u64>,
}

/// The answer for an address: its lines, innermost first, and its certainty if the code was folded.
#[derive(Default)]
pub(super) struct Answer {
    /// The first `len` are of this answer; the others keep their memory for the next.
    lines: Vec<AnsweredLine>,
    len: usize,
    /// At folded code: the word for the certainty, and how many functions may have run.
    pub(super) folded: Option<(&'static str, u32)>,
    /// The answer to a request for data.
    pub(super) variable: Option<Variable>,
}

impl Answer {
    pub(super) fn lines(&self) -> &[AnsweredLine] {
        &self.lines[..self.len]
    }

    pub(super) fn lines_mut(&mut self) -> &mut [AnsweredLine] {
        &mut self.lines[..self.len]
    }

    pub(super) fn clear(&mut self) {
        (self.len, self.folded, self.variable) = (0, None, None);
    }

    /// Appends a line to fill.
    pub(super) fn push(&mut self) -> &mut AnsweredLine {
        if self.len == self.lines.len() {
            self.lines.push(AnsweredLine::default());
        }
        self.len += 1;
        &mut self.lines[self.len - 1]
    }
}
