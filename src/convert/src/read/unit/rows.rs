//! Joins the line rows and the inline tree of a function into rows that say both.
//!
//! The ranges of the inline tree are painted in the order of the DIEs: where two overlap, the later DIE
//! wins, which for a proper tree is the innermost. The result is a list of segments, each with one node.
//! Merging it with the rows of the line table gives rows of (offset, node, file, line).

use super::super::Endianity;
use super::super::line::{LineRow, Lines, Sequence};
use super::{MAX_COMPARED, UnitReader};
use crate::model::{BareLines, ImageAddr, LocalOrigin, MAX_PIECE, NONE16, Row, RowRange};
use crate::paint::Segment;
use crate::report::Kind;

/// No row of the line table covers the address.
pub(super) const NO_FILE: u32 = u32::MAX;

impl<E: Endianity> UnitReader<'_, '_, E> {
    /// Of several sequences with a row at `start` (functions that were folded), the one with the row that is the
    /// nearest behind the declaration; `None` where there is no choice to make.
    pub(super) fn best_sequence(&mut self, start: u64, end: u64, origin: LocalOrigin) -> Option<usize> {
        let rows = |s: &Sequence| {
            let from = |address| {
                s.rows.start + self.lines.rows[s.rows.clone()].partition_point(|row| row.address < address)
            };
            from(start)..from(end)
        };
        let found: Vec<(usize, std::ops::Range<usize>)> =
            self.lines.with_row_at(start).map(|(index, s)| (index, rows(s))).collect();
        if found.len() < 2 {
            return None;
        }
        let declared = self.origins.tables.origins[origin.index()];
        let mut best: Option<(u32, usize)> = None;
        for (index, rows) in found {
            if self.compared_left < rows.len() {
                let offset = self.unit_offset;
                self.diagnostics.add(Kind::CapReached, offset, || {
                    format!("over {MAX_COMPARED} rows compared to tell sequences at one address apart, at {start:#x}")
                });
                break;
            }
            self.compared_left -= rows.len();
            for at in rows {
                let row = self.lines.rows[at];
                if row.line >= declared.line && self.file(row.file) == declared.file {
                    let distance = row.line - declared.line;
                    if best.is_none_or(|(least, _)| distance < least) {
                        best = Some((distance, index));
                    }
                }
            }
        }
        best.map(|(_, index)| index)
    }

    /// The local id of a file index of the line program.
    fn file(&mut self, index: u32) -> u16 {
        if index == NO_FILE {
            return NONE16;
        }
        if self.last_file.0 != index {
            self.last_file = (index, self.origins.row_file(u64::from(index), &mut self.diagnostics));
        }
        self.last_file.1
    }

    /// Joins line rows and segments of `start..end` and adds them to the unit's rows. Neighbours that say the same
    /// are one row if `joined`: of others the boundary may be that of inlined code.
    pub(super) fn rows(
        &mut self,
        own: Option<usize>,
        segments: &[Segment],
        start: u64,
        end: u64,
        joined: bool,
    ) -> RowRange {
        let mut runs = std::mem::take(&mut self.runs);
        line_runs(&self.lines, own, start, end, &mut runs, &mut self.claimed);
        let first = self.out.rows.len();
        if first >= self.max_rows {
            let offset = self.unit_offset;
            self.diagnostics.add(Kind::CapReached, offset, || format!("the unit has over {first} rows"));
            runs.truncate(0);
            runs.push(LineRow { address: start, file: NO_FILE, line: 0, column: 0 });
        }
        let segments = if first >= self.max_rows { &[] } else { segments };
        let mut next_segment = segments.partition_point(|s| s.start <= start);
        let mut node = if next_segment == 0 { 0 } else { segments[next_segment - 1].node };
        let mut run = 0;
        let mut at = start;
        while at < end && run < runs.len() {
            let LineRow { file, line, column, .. } = runs[run];
            let row = Row {
                offset: (at - start) as u32,
                scope: node,
                line,
                file: self.file(file),
                column: if self.options.columns { column } else { 0 },
            };
            let repeated = joined
                && self.out.rows[first..]
                    .last()
                    .is_some_and(|last| Row { offset: 0, ..*last } == Row { offset: 0, ..row });
            if !repeated {
                self.out.rows.push(row);
            }
            let next_run = runs.get(run + 1).map_or(end, |next| next.address);
            let next_node = segments.get(next_segment).map_or(end, |next| next.start);
            at = next_run.min(next_node);
            if at == next_run {
                run += 1;
            }
            if at == next_node && at < end {
                node = segments[next_segment].node;
                next_segment += 1;
            }
        }
        self.runs = runs;
        RowRange { start: first as u32, len: (self.out.rows.len() - first) as u32 }
    }

    /// Keeps the lines of code that no function of the unit claims: assembly, and padding.
    pub(super) fn bare_lines(&mut self) {
        if !self.owns_lines {
            return;
        }
        let mut claimed: Vec<(u64, u64)> =
            self.out.pieces.iter().map(|p| (p.start.0, p.start.0 + u64::from(p.len))).collect();
        claimed.sort_unstable();
        let mut next = 0;
        let mut at = 0;
        for index in 0..self.lines.sequences.len() {
            let (start, end) = (self.lines.sequences[index].start, self.lines.sequences[index].end);
            at = start.max(at);
            while at < end {
                while claimed.get(next).is_some_and(|c| c.1 <= at) {
                    next += 1;
                }
                let (stop, after) = match claimed.get(next) {
                    Some(&(from, to)) if from < end => (from.max(at), to),
                    _ => (end, end),
                };
                if stop > at {
                    self.bare(index, at, stop);
                }
                at = after.max(stop);
            }
        }
    }

    /// Keeps each sequence that is no function's: the rows of functions that were folded, and whose addresses
    /// are gone.
    pub(super) fn unclaimed(&mut self) {
        if self.out.erased.is_empty() {
            return;
        }
        for index in 0..self.lines.sequences.len() {
            if !self.claimed[index] {
                let (start, end) = (self.lines.sequences[index].start, self.lines.sequences[index].end);
                let lines = self.sequence(index, start, end, false);
                self.out.unclaimed.extend(lines);
            }
        }
    }

    fn bare(&mut self, sequence: usize, start: u64, end: u64) {
        let lines = self.sequence(sequence, start, end, true);
        self.out.bare.extend(lines);
    }

    /// The rows of a sequence for `start..end`.
    fn sequence(&mut self, sequence: usize, start: u64, end: u64, joined: bool) -> Option<BareLines> {
        let section = self.code.section(start)?;
        let end = end.min(section.end).min(start.saturating_add(MAX_PIECE));
        let rows = self.rows(Some(sequence), &[], start, end, joined);
        let sequence = &self.lines.sequences[sequence];
        let continues =
            self.lines.rows[sequence.rows.clone()].binary_search_by_key(&start, |row| row.address).is_err();
        Some(BareLines { start: ImageAddr(start), len: (end - start) as u32, rows, continues })
    }
}

/// Collects the line rows of `start..end`, each from the address at which it begins to hold; where no
/// sequence covers the code, a row with [`NO_FILE`]. `own` is the function's own sequence, where known:
/// it comes before others that cover the same code.
fn line_runs(
    lines: &Lines,
    own: Option<usize>,
    start: u64,
    end: u64,
    runs: &mut Vec<LineRow>,
    claimed: &mut [bool],
) {
    runs.clear();
    let mut at = start;
    if let Some(own) = own {
        claimed[own] = true;
        at = sequence_runs(lines, own, at, end, runs);
    }
    for (index, sequence) in lines.covering(start, end) {
        if at >= end {
            break;
        }
        if sequence.start > at {
            runs.push(LineRow { address: at, file: NO_FILE, line: 0, column: 0 });
            at = sequence.start;
        }
        claimed[index] = true;
        at = sequence_runs(lines, index, at, end, runs);
    }
    if at < end {
        runs.push(LineRow { address: at, file: NO_FILE, line: 0, column: 0 });
    }
}

/// Adds the rows of one sequence for `at..end`; returns where they end.
fn sequence_runs(lines: &Lines, index: usize, at: u64, end: u64, runs: &mut Vec<LineRow>) -> u64 {
    let sequence = &lines.sequences[index];
    if at < sequence.start || at >= sequence.end {
        return at;
    }
    let rows = &lines.rows[sequence.rows.clone()];
    let first = rows.partition_point(|row| row.address <= at).saturating_sub(1);
    let end = end.min(sequence.end);
    for row in rows[first..].iter().take_while(|row| row.address < end) {
        runs.push(LineRow { address: row.address.max(at), ..*row });
    }
    end
}
