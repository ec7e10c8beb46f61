//! Splits the line sequence of a section that the linker folded as a whole.
//!
//! Without `-ffunction-sections` the functions of a unit share a section. A linker that finds another section with
//! the same bytes folds all its functions at once. The folded unit keeps one unclaimed line sequence over several
//! functions of the other unit. For example, unit A has functions at 0x1000 and 0x1020, and the folded unit B has one
//! sequence from 0x1000 to 0x1040 with rows at both addresses. The sequence is cut at the starts and ends of A's
//! functions, and `recover` then finds the function of B for each part. Lines of A without a function count like
//! functions here: with `-g1` clang describes only functions with inlined calls.

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{AddressRange, BareLines, How, ImageAddr, Row, RowRange, UnitCode, UnitId, UnitTraces};
use crate::recover::limits::{MAX_SECTION_STEPS, MAX_UNITS_THERE};
use crate::recover::recovered::{Recovered, UnitView};
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// Padding bytes that may follow the last function of a section.
const MAX_PADDING: u64 = 64;

/// What the searches of one comparison cost, in steps.
const SEARCH_STEPS: usize = 16;

/// A range of a unit: of a function that kept its address, or of bare lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    range: AddressRange,
    described: bool,
}

/// A sequence, with the functions at which it is split.
type Parted = (BareLines, Vec<Standing>);

/// Splits the sequences of units whose sections were folded.
pub(crate) fn part<'u, 'f>(
    mut recovered: Recovered<'u, 'f>,
    diagnostics: &mut Diagnostics,
) -> Recovered<'u, 'f> {
    let begun: HashSet<ImageAddr> = recovered.all().flat_map(lines_of).map(|lines| lines.start).collect();
    if begun.is_empty() {
        return recovered;
    }
    // Units with a function at the start of one of these sequences, in the order of the program.
    let mut there: HashMap<ImageAddr, Vec<UnitId>> = HashMap::default();
    for (id, unit) in recovered.numbered() {
        // Without a function that kept its address the unit gives `covered` nothing to split at.
        if !unit.code.pieces.iter().any(|piece| piece.how == How::LiveRange) {
            continue;
        }
        let starts = unit.code.pieces.iter().map(|piece| piece.start);
        for start in starts.chain(unit.traces.bare.iter().map(|lines| lines.start)) {
            if begun.contains(&start) {
                let of = there.entry(start).or_default();
                // Ids rise in this loop, so a unit with several functions at one start is the last of the list.
                if of.last() != Some(&id) {
                    of.push(id);
                }
            }
        }
    }
    let steps = Budget::new(MAX_SECTION_STEPS);
    let mut standing: HashMap<UnitId, Vec<Standing>> = HashMap::default();
    let mut parted: Vec<(UnitId, Vec<Parted>)> = Vec::new();
    for (id, unit) in recovered.numbered() {
        let mut of_unit = Vec::new();
        for lines in lines_of(unit) {
            let others = there.get(&lines.start).map_or(&[][..], |others| others);
            let start = lines.start;
            let found =
                others.iter().take(MAX_UNITS_THERE).filter(|other| **other != id).find_map(|&other| {
                    // Collected once: the sections of many units may have been folded into those of one.
                    let of_other = standing.entry(other).or_insert_with(|| ranges(recovered.unit(other)));
                    covered(unit, lines, of_other, &steps)
                });
            if found.is_none() && others.len() > MAX_UNITS_THERE {
                diagnostics.add(Kind::Cap(Cap::FoldedSectionUnits), start.0, || {
                    format!("over {MAX_UNITS_THERE} units have code at {start:#x}: a section that was folded there may keep its lines whole")
                });
            }
            of_unit.extend(found.map(|ranges| (*lines, ranges)));
        }
        if !of_unit.is_empty() {
            parted.push((id, of_unit));
        }
    }
    // Cut only now: every unit is compared with the lines as they were read, so the order of units does not matter.
    for (id, of_unit) in parted {
        cut(&mut recovered.code[id.index()], &mut recovered.traces[id.index()], &of_unit);
    }
    if steps.is_short() {
        diagnostics.add(Kind::Cap(Cap::FoldedSections), 0, || {
            format!("over {MAX_SECTION_STEPS} steps to find sections that were folded: not all were compared")
        });
    }
    recovered
}

/// The unclaimed sequences of a unit.
fn lines_of<'u>(unit: UnitView<'u, '_>) -> impl Iterator<Item = &'u BareLines> + use<'u> {
    // A unit without erased functions lists such sequences as bare lines.
    let of_unit = if unit.records.erased.is_empty() { &unit.traces.bare } else { &unit.traces.unclaimed };
    // Bare lines that continue a row begin inside a section, and not at its start.
    of_unit.iter().filter(|lines| !lines.in_doubt && !lines.continues)
}

/// The ranges of a unit, sorted by address.
fn ranges(unit: UnitView<'_, '_>) -> Vec<Standing> {
    let live = unit.code.pieces.iter().filter(|piece| piece.how == How::LiveRange);
    let live = live.map(|piece| Standing { range: piece.range(), described: true });
    let bare = unit.traces.bare.iter();
    let bare = bare.map(|lines| Standing { range: lines.range(), described: false });
    let mut ranges: Vec<Standing> = live.chain(bare).collect();
    ranges.sort_unstable();
    // Two functions of one range (aliases, or functions that the compiler merged) are one place to cut at; `covered` refuses
    // ranges that overlap.
    ranges.dedup();
    ranges
}

/// The functions of another unit whose lines a sequence has. They must be all functions of their section, and more
/// than one.
fn covered(
    unit: UnitView<'_, '_>,
    lines: &BareLines,
    standing: &[Standing],
    steps: &Budget,
) -> Option<Vec<Standing>> {
    // A comparison begins with two searches.
    if !steps.spend(SEARCH_STEPS) {
        return None;
    }
    let AddressRange { start, end } = lines.range();
    let there = &standing[standing.partition_point(|standing| standing.range.start < start)..];
    let there = &there[..there.partition_point(|standing| standing.range.start < end)];
    let ([first, .., last], true) = (there, steps.spend(there.len())) else { return None };
    let apart = there.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start);
    let last = last.range.end;
    let whole = first.range.start == start && last <= end && end - last < MAX_PADDING;
    let rows = unit.code.rows_of(lines.rows);
    // Compilers begin each function with a row of its own. A sequence without a row at the start of a function does not
    // describe a section with that function.
    let begins = |standing: &&Standing| {
        let offset = u32::try_from(standing.range.start - start);
        offset.is_ok_and(|offset| rows.binary_search_by_key(&offset, |row| row.offset).is_ok())
    };
    let functions = || there.iter().filter(|standing| standing.described);
    // A linker folds all functions of a section or none.
    (apart && whole && steps.spend(rows.len()) && functions().all(|standing| begins(&standing)))
        .then(|| functions().copied().collect())
        .filter(|functions: &Vec<Standing>| !functions.is_empty())
}

/// Replaces sequences by their parts.
fn cut(code: &mut UnitCode<'_>, traces: &mut UnitTraces, parted: &[Parted]) {
    let mut parts: HashMap<(ImageAddr, u32), Vec<BareLines>> = HashMap::default();
    for (lines, ranges) in parted {
        let of_lines = ranges.iter().map(|standing| clip(code, lines, standing.range)).collect();
        parts.insert((lines.start, lines.rows.start), of_lines);
    }
    // Several sequences may begin at one address, so their rows are part of the key.
    let whole = |lines: &BareLines| (lines.start, lines.rows.start);
    let mut unclaimed: Vec<BareLines> = Vec::new();
    for lines in &traces.unclaimed {
        match parts.remove(&whole(lines)) {
            Some(of_lines) => unclaimed.extend(of_lines),
            None => unclaimed.push(*lines),
        }
    }
    // In a unit that has only bare lines.
    let others = parted.iter().filter_map(|(lines, _)| parts.remove(&whole(lines)));
    unclaimed.extend(others.flatten());
    // `tombstones` and `gcc_icf` search the list by start.
    unclaimed.sort_by_key(|lines| lines.start);
    traces.unclaimed = unclaimed;
}

/// The part of a sequence that covers a function.
fn clip(code: &mut UnitCode<'_>, lines: &BareLines, range: AddressRange) -> BareLines {
    let (from, len) = ((range.start - lines.start) as u32, range.len() as u32);
    let rows = code.rows_of(lines.rows);
    // `covered` found a row at this offset, so the first row of the part has offset 0, as [`Row::offset`] demands.
    let first = rows.partition_point(|row| row.offset < from);
    let own: Vec<Row> = rows[first..]
        .iter()
        .take_while(|row| row.offset - from < len)
        .map(|row| Row { offset: row.offset - from, ..*row })
        .collect();
    let kept = RowRange { start: code.rows.len() as u32, len: own.len() as u32 };
    code.rows.own_mut().extend(own);
    BareLines { start: range.start, len, rows: kept, continues: false, in_doubt: false }
}
