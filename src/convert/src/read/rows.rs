//! Joins the line rows and the inline tree of a function into rows that say both.
//!
//! The ranges of the inline tree are painted in the order of the DIEs: where two overlap, the later DIE
//! wins, which for a proper tree is the innermost. The result is a list of segments, each with one node.
//! Merging it with the rows of the line table gives rows of (offset, node, file, line).

use super::line::{LineRow, Lines};

/// No row of the line table covers the address.
pub(crate) const NO_FILE: u32 = u32::MAX;

/// Collects the line rows of `start..end`, each from the address at which it begins to hold; where no
/// sequence covers the code, a row with [`NO_FILE`]. `own` is the function's own sequence, where known:
/// it comes before others that cover the same code.
pub(crate) fn line_runs(lines: &Lines, own: Option<usize>, start: u64, end: u64, runs: &mut Vec<LineRow>) {
    runs.clear();
    let mut at = start;
    if let Some(own) = own {
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
