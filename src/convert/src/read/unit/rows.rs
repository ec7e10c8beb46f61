//! Joins the line rows and the inline tree of a function into rows that have both.
//!
//! The ranges of the inline tree are painted in the order of the DIEs. If two overlap, the later DIE wins, which in
//! a well-formed tree is the inner one. The result is a list of segments, each with one node. Merging the segments with the
//! rows of the line table gives rows of (offset, node, file, line).

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{AddressRange, BareLines, ImageAddr, MAX_PIECE, NONE16, Row, RowRange, UnitPiece};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::line::{LineRow, Lines};
use crate::read::unit::assign::{Assign, NO_FILE, RowOwner};
use crate::read::unit::numbering::Numbering;
use crate::util::budget::STEPS_PER_ITEM;
use crate::util::hash::HashSet;
use crate::util::paint::Segment;

impl Assign<'_> {
    /// The local id of a file index of the line program.
    pub(crate) fn file<E: Endianity>(&mut self, ids: &mut Numbering<'_, '_, E>, index: u32) -> u16 {
        if index == NO_FILE {
            return NONE16;
        }
        // Neighbouring rows mostly have one file.
        if self.memory.last_file.0 != index {
            self.memory.last_file = (index, ids.row_file(u64::from(index)));
        }
        self.memory.last_file.1
    }

    /// Joins the line rows and segments of a range, and appends the result to the unit's rows. With `joined`, equal
    /// neighbours become one row. Without it they stay apart, because `recover` may find a boundary of inlined code there.
    pub(crate) fn rows<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        own: RowOwner,
        segments: &[Segment],
        range: AddressRange,
        joined: bool,
    ) -> RowRange {
        let (start, end) = (range.start.0, range.end.0);
        let first = self.code.rows.len();
        let mut runs = std::mem::take(&mut self.memory.runs);
        let has_room = first < self.limits.max_rows;
        let fits = has_room && !self.limits.joined.is_short() && {
            let room = usize::try_from(self.limits.joined.left()).unwrap_or(usize::MAX);
            let whole = line_runs(&self.lines, own, range, &mut runs, &mut self.claimed, room);
            self.limits.joined.spend(runs.len()) && whole
        };
        if !fits {
            let cap = if has_room { Cap::RowSteps } else { Cap::SharedRows };
            self.out_of_rows(cap, &mut ids.diagnostics);
            runs.clear();
            // A piece has a row at its start, even if no line is known.
            runs.push(LineRow { address: start, file: NO_FILE, line: 0, column: 0 });
        }
        let segments = if fits { segments } else { &[] };
        // The segments are those of the whole function, and this range may be a later part of it.
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
                file: self.file(ids, file),
                column: if self.columns { column } else { 0 },
            };
            let repeated = joined
                && self.code.rows.own()[first..]
                    .last()
                    .is_some_and(|last| Row { offset: 0, ..*last } == Row { offset: 0, ..row });
            if !repeated {
                self.code.rows.own_mut().push(row);
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
                // The result is not needed here: this range is finished, and the next one finds the budget empty.
                self.limits.joined.spend(1);
            }
        }
        self.memory.runs = runs;
        RowRange { start: first as u32, len: (self.code.rows.len() - first) as u32 }
    }

    /// Counts a function that gets no rows, because earlier functions used up the limit of the unit. It is not known any more which
    /// sequences have no function, so all of them count as claimed.
    fn out_of_rows(&mut self, cap: Cap, diagnostics: &mut Diagnostics) {
        let (offset, most) = (self.unit_offset, self.limits.max_rows);
        if !std::mem::replace(&mut self.limits.no_more_rows, true) {
            self.claimed.fill(true);
        }
        diagnostics.add(Kind::Cap(cap), offset, || {
            let what = match cap {
                Cap::RowSteps => format!(
                    "it takes over {STEPS_PER_ITEM} steps for each row of the unit to find their rows"
                ),
                _ => format!("they may have {most} rows together"),
            };
            format!(
                "functions of the unit at {offset:#x} share their lines: {what}, and later ones have none"
            )
        });
    }

    /// Keeps the lines of code that no function of the unit contains: assembly code and padding.
    pub(crate) fn bare_lines<E: Endianity>(&mut self, ids: &mut Numbering<'_, '_, E>) {
        let mut claimed: Vec<AddressRange> = self.code.pieces.iter().map(UnitPiece::range).collect();
        // Sequences are in order of their starts, so sorted pieces are passed once: `next` never goes back.
        claimed.sort_unstable();
        let mut next = 0;
        let mut at = ImageAddr(0);
        for index in 0..self.lines.sequences.len() {
            let AddressRange { start, end } = self.lines.sequences[index].range();
            // Sequences may overlap. The first of them, by start, has the lines of an address.
            at = start.max(at);
            while at < end {
                while claimed.get(next).is_some_and(|range| range.end <= at) {
                    next += 1;
                }
                let (stop, after) = match claimed.get(next) {
                    Some(range) if range.start < end => (range.start.max(at), range.end),
                    _ => (end, end),
                };
                if stop > at {
                    let lines = self.sequence(ids, index, AddressRange { start: at, end: stop }, true);
                    self.bare.extend(lines);
                }
                at = after.max(stop);
            }
        }
    }

    /// Keeps sequences that no function of the unit has. With `all`, which is set if functions of the unit were erased, it keeps
    /// all of these sequences: they are the rows of folded functions. Otherwise it keeps only a sequence that shows that some
    /// function shares its code with another one: it begins at a function of the unit, or has the range of another sequence.
    pub(crate) fn keep_unclaimed<E: Endianity>(&mut self, ids: &mut Numbering<'_, '_, E>, all: bool) {
        let mut in_doubt = vec![false; self.claimed.len()];
        self.in_doubt.iter().for_each(|&index| in_doubt[index] = true);
        if !all && !in_doubt.contains(&true) && !self.claimed.contains(&false) {
            return;
        }
        // With `all` every unclaimed sequence is kept, so the starts are not needed.
        let starts: HashSet<ImageAddr> = match all {
            true => HashSet::default(),
            false => self.code.pieces.iter().map(|piece| piece.start).collect(),
        };
        // Sequences of one start are in the order of the line program, so two of one range may have others between them.
        let mut seen: HashSet<AddressRange> = HashSet::default();
        for (index, in_doubt) in in_doubt.into_iter().enumerate() {
            let range = self.lines.sequences[index].range();
            let start = range.start;
            let is_again = !all && !seen.insert(range);
            if in_doubt {
                let (len, rows) = (range.len().min(MAX_PIECE) as u32, RowRange::default());
                self.unclaimed.push(BareLines { start, len, rows, continues: false, in_doubt: true });
            } else if !self.claimed[index] && (all || is_again || starts.contains(&start)) {
                let lines = self.sequence(ids, index, range, false);
                self.unclaimed.extend(lines);
            }
        }
    }

    /// The rows of a sequence for a range.
    fn sequence<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        sequence: usize,
        AddressRange { start, end }: AddressRange,
        joined: bool,
    ) -> Option<BareLines> {
        // Only the first row of a sequence is known to be in code. A later part of it may be past the end of its section.
        let section = self.sections.section(start)?;
        let end = end.min(section.end).min(start.saturating_add(MAX_PIECE));
        let rows = self.rows(ids, RowOwner::Sequence(sequence), &[], AddressRange { start, end }, joined);
        let sequence = &self.lines.sequences[sequence];
        let continues =
            self.lines.rows[sequence.rows.clone()].binary_search_by_key(&start.0, |row| row.address).is_err();
        Some(BareLines { start, len: (end - start) as u32, rows, continues, in_doubt: false })
    }
}

/// Collects the line rows of a range. The first row begins at its start. Code that no sequence covers gets a row with
/// [`NO_FILE`]. Returns false if there are more than `room` rows.
fn line_runs(
    lines: &Lines,
    own: RowOwner,
    range: AddressRange,
    runs: &mut Vec<LineRow>,
    claimed: &mut [bool],
    room: usize,
) -> bool {
    runs.clear();
    let (mut at, end) = (range.start.0, range.end.0);
    if let RowOwner::Sequence(own) = own {
        claimed[own] = true;
        at = sequence_runs(lines, own, at, end, runs, room);
    }
    for (index, sequence) in lines.covering(range) {
        if at >= end || runs.len() > room {
            break;
        }
        // Code between two sequences has no lines. Without this row it would have the lines of the code before it.
        if sequence.start > at {
            runs.push(LineRow { address: at, file: NO_FILE, line: 0, column: 0 });
            at = sequence.start;
        }
        claimed[index] |= !matches!(own, RowOwner::Stray);
        at = sequence_runs(lines, index, at, end, runs, room);
    }
    if at < end {
        runs.push(LineRow { address: at, file: NO_FILE, line: 0, column: 0 });
    }
    runs.len() <= room
}

/// Appends the rows of one sequence for `at..end`, but stops when `runs` has `room + 1` rows. Returns the end of the code that the
/// sequence covers.
fn sequence_runs(
    lines: &Lines,
    index: usize,
    at: u64,
    end: u64,
    runs: &mut Vec<LineRow>,
    room: usize,
) -> u64 {
    let sequence = &lines.sequences[index];
    if at < sequence.start || at >= sequence.end {
        return at;
    }
    let rows = &lines.rows[sequence.rows.clone()];
    // A row holds until the next one, so the row before `at` has the line of `at`.
    let first = rows.partition_point(|row| row.address <= at).saturating_sub(1);
    let end = end.min(sequence.end);
    let room = (room + 1).saturating_sub(runs.len());
    for row in rows[first..].iter().take_while(|row| row.address < end).take(room) {
        runs.push(LineRow { address: row.address.max(at), ..*row });
    }
    end
}
