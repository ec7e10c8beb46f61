//! Reads one compile unit: its functions with code, their inline trees, and their rows.
//!
//! There is one walk over the entries, in file order and without recursion. Most entries are neither a subprogram with code nor
//! inlined into one; the walk skips these by their abbreviation without decoding them.
//!
//! `read` runs the line program first, since entries refer to its sequences (`DW_AT_LLVM_stmt_sequence`). `entry_walk` walks the
//! entries: it calls a reader for each role (`subprogram`, `inlined_subroutine`, `calls`, `codeless`, `classes`, `root`), and adds what the
//! reader returns to the `walk`: functions with inline trees and calls, and erased functions. It hands each function over to
//! `assign` as the function ends, so that at most one inline tree per open function is in memory. If a function's sequence is
//! certain, `assign` gives it its rows at once (`functions`, `rows`), otherwise when all functions are known (`sequences`,
//! `sequence_owners`).

mod addresses;
mod assign;
pub(crate) mod attributes;
mod callees;
mod calls;
mod class_places;
mod classes;
mod codeless;
mod edges;
mod entry_walk;
pub(crate) mod file;
mod functions;
mod inline_lengths;
mod inlined_subroutine;
pub(crate) mod language;
mod lists;
mod locations;
mod lone_sequences;
pub(crate) mod memory;
mod named_sequence;
mod numbering;
mod open_function;
pub(crate) mod origins;
pub(crate) mod ranges;
pub(crate) mod roles;
mod root;
mod rows;
mod sequence_owners;
mod sequences;
pub(crate) mod source;
mod subprogram;
mod table_calls;
pub(crate) mod tree;
mod variables;
mod walk;
mod walked_unit;

pub(crate) use classes::classes;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::Unit;
use crate::read::code::CodeSections;
use crate::read::limits::Limits;
use crate::read::options::ReadOptions;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::emitted::in_program_order;
use crate::read::sections::line::{self, Lines};
use crate::read::shared_lines::ReadLines;
use crate::read::unit::entry_walk::all_entries;
use crate::read::unit::locations::Locations;
use crate::read::unit::memory::Memory;
use crate::read::unit::named_sequence::count_uses;
use crate::read::unit::source::UnitSource;
use crate::read::unit::table_calls::listed_calls;
use crate::read::unit::walk::Walk;

/// The limits beyond which functions of a unit have no lines, or no code.
const CAPS: [Kind; 9] = [
    Kind::Cap(Cap::LinePrograms),
    Kind::Cap(Cap::LineRows),
    Kind::Cap(Cap::RangeEntries),
    Kind::Cap(Cap::RowSteps),
    Kind::Cap(Cap::SequenceComparisons),
    Kind::Cap(Cap::SharedRows),
    Kind::Cap(Cap::FunctionsTogether),
    Kind::Cap(Cap::SequencesTogether),
    Kind::Cap(Cap::RangeBytes),
];

/// Reads one unit: walks its entries, and gives its functions their rows. Also returns how much the unit used of
/// [`Limits::of_others`]: entries of range lists, and rows past [`OWN_ROWS`](crate::read::limits::OWN_ROWS).
pub(crate) fn read<'f, E: Endianity>(
    source: &UnitSource<'_, 'f, E>,
    code: &CodeSections,
    options: ReadOptions,
    memory: &mut Memory,
    limits: Limits,
    diagnostics: &mut Diagnostics,
) -> (Unit<'f>, u64) {
    let (mut kept, mut counted) = (std::mem::take(memory), std::mem::take(diagnostics));
    // The walk does not read classes.
    let members = std::mem::take(&mut kept.members);
    let lines = match (source.shared_rows, source.rows.header) {
        (Some(shared), _) => shared.lines(code, &mut counted),
        (None, Some(header)) => line::run(header, code, &mut counted),
        (None, None) => Lines::default(),
    };
    let mut walk = Walk::new(source, code, options, lines, kept, limits, counted);
    if let Err(error) = all_entries(&mut walk) {
        let offset = walk.fixed.unit_offset;
        let message = || format!("unit at .debug_info+{offset:#x}: {error}");
        walk.ids.diagnostics.add(Kind::BadEntries, offset, message);
        walk.out.head.cut_short = true;
    }
    // From here on all functions of the unit are known.
    walk.assign
        .refuse_foreign(&mut walk.ids)
        .into_iter()
        .for_each(|erased| walk.out.records.erased.push(erased));
    walk.assign.settle(&mut walk.ids, &walk.out);
    walk.assign.take_rows_of_others(&mut walk.ids, &walk.out);
    walk.out.records.listed = listed_calls(&walk.fixed, &mut walk.ids, &mut walk.callees, source.listed);
    // What no function has claimed by now is of a function that was folded, or of code without a function.
    walk.assign.keep_unclaimed(&mut walk.ids, !walk.out.records.erased.is_empty());
    // A partial unit of dwz shares the line program of the unit that it was taken from, which has these lines.
    // After `keep_unclaimed`, because reading the rows of a sequence marks it as claimed.
    if walk.owns_lines {
        walk.assign.bare_lines(&mut walk.ids);
    }
    walk.assign.code.locations =
        Locations { unit: walk.fixed, ids: &mut walk.ids }.read(std::mem::take(&mut walk.with_locations));
    if let Some(at) = source.shared_rows.and_then(ReadLines::without_range)
        && walk.assign.lines.sequences.is_empty()
        && !walk.assign.code.pieces.is_empty()
    {
        let offset = walk.fixed.unit_offset;
        walk.ids.diagnostics.add(Kind::BadLineProgram, offset, || {
            format!(
                "unit at .debug_info+{offset:#x}: its functions have no lines: its root gives no range, by which it would have a part of the \
                 line program at .debug_line+{at:#x}, which several units name"
            )
        });
        // Which sequences are of its functions is not known, so nothing shows that no other function has their code.
        walk.assign.lines.capped = true;
    }
    if !walk.assign.code.functions.iter().any(|function| function.external)
        || walk.out.records.calls.is_empty()
    {
        walk.out.records.emitted = in_program_order(&walk.assign.lines);
    }
    if let Some(uses) = &mut walk.out.records.sequences {
        let values = std::mem::take(&mut walk.named_sequences);
        count_uses(values, &walk.ids.diagnostics, uses);
    }
    let of_others = walk.list_entries.visited() + walk.assign.rows_of_others() as u64;
    walk.out.head.capped =
        walk.assign.lines.capped || CAPS.iter().any(|&cap| walk.ids.diagnostics.count(cap) > 0);
    let unit;
    (unit, *diagnostics, *memory) = walk.finish();
    memory.members = members;
    (unit, of_others)
}
