//! Turns the line and INLINE records of a FUNC into intervals, each with one line and one chain of inlined calls.
//!
//! The records of a FUNC are lists of ranges in any order. Line records are made disjoint: the one that starts first keeps its code. At each
//! depth the INLINE that starts last counts, as in minidump-stackwalk. Then the starts and ends of all records are visited by address. The
//! chain at an address has the INLINE of depth 0 there, of depth 1 and so on, up to the first depth without one.

use std::ops::Range;

use super::symbols::{Inline, Line};
use crate::util::budget::Budget;

/// The deepest inlined call that is kept; a file holds no deeper one.
const MAX_DEPTH: u32 = foldsym_format::header::MAX_DEPTH - 1;

/// Steps for each range of an INLINE record, and for any FUNC.
const STEPS_PER_RANGE: u64 = 4;
const FREE_STEPS: u64 = 1 << 12;

/// Code with one line and one chain of inlined calls.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Interval<'r> {
    pub(super) start: u64,
    /// The line record; `None` if there is none here.
    pub(super) line: Option<usize>,
    /// The INLINE records from the outside to the inside.
    pub(super) chain: &'r [usize],
    /// So many calls of the chain are those of the interval before.
    pub(super) kept: usize,
}

/// What was not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FlattenLosses {
    /// Line records that are inside of the code of others.
    pub(super) lines: u64,
    /// Ranges of INLINE records without code inside of their parents.
    pub(super) stray: u64,
    /// Ranges that are too deep.
    pub(super) too_deep: u64,
    /// The budget ended: from there on there are no inlined calls.
    pub(super) short: bool,
}

/// An INLINE begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    address: u64,
    /// Ends come before starts.
    starts: bool,
    depth: u32,
    inline: usize,
}

/// Visits the intervals of the code, by address; the first one starts where the code does.
pub(super) fn flatten(
    code: &Range<u64>,
    lines: &[Line],
    inlines: &[Inline],
    mut each: impl FnMut(Interval<'_>),
) -> FlattenLosses {
    let mut left_out = FlattenLosses::default();
    let lines = disjoint(code, lines, &mut left_out);
    let changes = changes(code, inlines, &mut left_out);
    // A change at depth 0 makes the whole chain anew, so a hostile file could make the steps a product. Calls inside of their parents are
    // visited once for each of their ranges. Each step may make a node of the tree, so there are fewer than for steps that keep nothing.
    let budget = Budget::new(STEPS_PER_RANGE * inlines.len() as u64 + FREE_STEPS);
    let mut active: Vec<Option<usize>> = Vec::new();
    let mut is_used = vec![false; inlines.len()];
    let mut chain: Vec<usize> = Vec::new();
    let (mut next_line, mut next_change) = (0, 0);
    let mut line: Option<usize> = None;
    let mut at = code.start;
    let mut first = true;
    while at < code.end {
        let mut changed = first;
        // The lowest depth whose call is another one.
        let mut lowest = usize::MAX;
        while let Some(change) = changes.get(next_change).filter(|change| change.address <= at) {
            let depth = change.depth as usize;
            if active.len() <= depth {
                active.resize(depth + 1, None);
            }
            active[depth] = change.starts.then_some(change.inline);
            lowest = lowest.min(depth);
            next_change += 1;
        }
        if let Some(ended) = line
            && lines[ended].0.end <= at
        {
            (line, changed) = (None, true);
        }
        if lines.get(next_line).is_some_and(|(range, _)| range.start <= at) {
            (line, changed) = (Some(next_line), true);
            next_line += 1;
        }
        let mut kept = chain.len();
        if lowest != usize::MAX {
            changed = true;
            kept = kept.min(lowest);
            chain.truncate(kept);
            while let Some(&Some(inline)) = active.get(chain.len()) {
                if !budget.spend(1) {
                    left_out.short = true;
                    chain.clear();
                    kept = 0;
                    break;
                }
                is_used[inline] = true;
                chain.push(inline);
            }
        }
        if changed {
            let line = line.map(|line| lines[line].1);
            each(Interval { start: at, line, chain: &chain, kept: kept.min(chain.len()) });
        }
        first = false;
        let ends = line.map(|line| lines[line].0.end);
        let starts = lines.get(next_line).map(|(range, _)| range.start);
        let changes = changes.get(next_change).map(|change| change.address);
        at = [ends, starts, changes].into_iter().flatten().min().unwrap_or(code.end);
    }
    let is_inside = |inline: &Inline| inline.address < code.end && inline.end > code.start;
    let unused = inlines.iter().zip(&is_used).filter(|(inline, used)| !**used && is_inside(inline));
    left_out.stray = (unused.count() as u64).saturating_sub(left_out.too_deep);
    left_out
}

/// The line records inside of the code, with their numbers: sorted, and without overlaps.
fn disjoint(code: &Range<u64>, lines: &[Line], left_out: &mut FlattenLosses) -> Vec<(Range<u64>, usize)> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|&line| (lines[line].address, lines[line].end));
    let mut kept: Vec<(Range<u64>, usize)> = Vec::with_capacity(order.len());
    let mut covered = code.start;
    for number in order {
        let line = &lines[number];
        let (start, end) = (line.address.max(covered), line.end.min(code.end));
        if start < end {
            kept.push((start..end, number));
            covered = end;
        } else if line.end <= covered && line.address >= code.start {
            left_out.lines += 1;
        }
    }
    kept
}

/// The starts and ends of inlined calls, by address.
fn changes(code: &Range<u64>, inlines: &[Inline], left_out: &mut FlattenLosses) -> Vec<Change> {
    let mut order: Vec<usize> = Vec::with_capacity(inlines.len());
    for (number, inline) in inlines.iter().enumerate() {
        if inline.depth <= MAX_DEPTH {
            order.push(number);
        } else {
            left_out.too_deep += 1;
        }
    }
    order.sort_by_key(|&number| (inlines[number].depth, inlines[number].address));
    // Of two calls of one depth that start at one address, the first counts.
    order.dedup_by_key(|number| (inlines[*number].depth, inlines[*number].address));
    let mut changes = Vec::with_capacity(order.len() * 2);
    for (at, &inline) in order.iter().enumerate() {
        let Inline { address, end, depth, .. } = inlines[inline];
        // A later call of the same depth ends this one.
        let next = order.get(at + 1).map(|&next| &inlines[next]).filter(|next| next.depth == depth);
        let end = next.map_or(end, |next| end.min(next.address)).min(code.end);
        let start = address.max(code.start);
        if start < end {
            changes.push(Change { address: start, starts: true, depth, inline });
            changes.push(Change { address: end, starts: false, depth, inline });
        }
    }
    changes.sort_unstable();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(address: u64, end: u64) -> Line {
        Line { address, end, line: 1, file: 0 }
    }

    fn inline(depth: u32, address: u64, end: u64) -> Inline {
        Inline { address, end, depth, call_line: 1, call_file: None, origin: 0 }
    }

    /// The start of an interval, its line and its chain.
    type Found = (u64, Option<usize>, Vec<usize>);

    fn all(code: Range<u64>, lines: &[Line], inlines: &[Inline]) -> (Vec<Found>, FlattenLosses) {
        let mut found = Vec::new();
        let left_out = flatten(&code, lines, inlines, |interval| {
            found.push((interval.start, interval.line, interval.chain.to_vec()));
        });
        (found, left_out)
    }

    #[test]
    fn lines_and_calls_are_cut_where_they_change() {
        let lines = [line(0x10, 0x20), line(0x20, 0x24), line(0x22, 0x30), line(0x23, 0x24)];
        let inlines = [inline(0, 0x14, 0x28), inline(1, 0x18, 0x1c), inline(1, 0x1c, 0x20)];
        let (found, left_out) = all(0x10..0x40, &lines, &inlines);
        let expected = vec![
            (0x10, Some(0), vec![]),
            (0x14, Some(0), vec![0]),
            (0x18, Some(0), vec![0, 1]),
            (0x1c, Some(0), vec![0, 2]),
            (0x20, Some(1), vec![0]),
            (0x24, Some(2), vec![0]),
            (0x28, Some(2), vec![]),
            (0x30, None, vec![]),
        ];
        assert_eq!(found, expected);
        assert_eq!(left_out, FlattenLosses { lines: 1, ..FlattenLosses::default() });
    }

    #[test]
    fn calls_outside_of_their_parents_and_of_the_code_are_left_out() {
        let inlines =
            [inline(0, 0x10, 0x14), inline(1, 0x20, 0x24), inline(0, 0x80, 0x90), inline(900, 0x10, 0x11)];
        let (found, left_out) = all(0x10..0x40, &[], &inlines);
        assert_eq!(found[0], (0x10, None, vec![0]));
        assert!(found[1..].iter().all(|(.., chain)| chain.is_empty()));
        assert_eq!(left_out, FlattenLosses { stray: 1, too_deep: 1, ..FlattenLosses::default() });
    }

    #[test]
    fn a_later_call_of_the_same_depth_hides_an_earlier_one() {
        let inlines = [inline(0, 0x10, 0x40), inline(0, 0x20, 0x28)];
        let (found, _) = all(0x10..0x40, &[], &inlines);
        let expected = vec![(0x10, None, vec![0]), (0x20, None, vec![1]), (0x28, None, vec![])];
        assert_eq!(found, expected);
    }

    #[test]
    fn steps_are_bounded_by_the_number_of_records() {
        // A chain of 250 calls that begins anew at each byte.
        let mut inlines: Vec<Inline> = (0..250).map(|depth| inline(depth, 0, 100_000)).collect();
        inlines.extend((0..50_000).map(|at| inline(0, at, 100_000)));
        let (_, left_out) = all(0..100_000, &[], &inlines);
        assert!(left_out.short);
    }
}
