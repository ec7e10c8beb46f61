//! Reads one compile unit: its functions with code, their inline trees, and their rows.
//!
//! There is one walk over the entries, in file order and without recursion. Most entries are neither a subprogram with code nor
//! inlined into one; the walk skips these by their abbreviation without decoding them.
//!
//! `walk` turns entries into functions with inline trees and calls, and into erased functions. It hands each function over to
//! `assign` as it ends. `assign` has the line program. If a function's sequence is certain, it gets its rows at once
//! (`rows`). Otherwise it gets them when all functions are known (`sequences`, `sequence_owners`).

mod addresses;
mod assign;
mod attributes;
mod calls;
mod class_places;
mod classes;
mod codeless;
pub(crate) mod file;
mod inline_lengths;
mod inlined;
mod lists;
mod locations;
pub(crate) mod memory;
mod numbering;
pub(crate) mod origins;
mod ranges;
pub(crate) mod roles;
mod root;
mod rows;
mod sequence_owners;
mod sequences;
pub(crate) mod source;
mod subprogram;
mod table_calls;
pub(crate) mod tree;
mod walk;

pub(crate) use classes::classes;

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::Unit;
use crate::read::code::CodeSections;
use crate::read::limits::Limits;
use crate::read::options::ReadOptions;
use crate::read::sections::bytes::Endianity;
use crate::read::unit::memory::Memory;
use crate::read::unit::source::UnitSource;
use crate::read::unit::walk::Walk;

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
    let (kept, counted) = (std::mem::take(memory), std::mem::take(diagnostics));
    let mut walk = Walk::new(source, code, options, kept, limits, counted);
    if let Err(error) = walk.all_entries() {
        let offset = walk.unit_offset;
        let message = || format!("unit at .debug_info+{offset:#x}: {error}");
        walk.ids.diagnostics.add(Kind::BadEntries, offset, message);
    }
    // From here on all functions of the unit are known.
    for (function, dead) in walk.assign.refuse_foreign(&mut walk.ids.diagnostics) {
        let named = (function.origin, function.instance);
        walk.erased(function.die, named, dead, false, function.lost, function.calls);
    }
    walk.assign.settle(&mut walk.ids, &walk.out.records.erased);
    walk.listed_calls(source.listed);
    walk.assign.keep_unclaimed(&mut walk.ids, !walk.out.records.erased.is_empty());
    if walk.owns_lines {
        walk.assign.bare_lines(&mut walk.ids);
    }
    walk.locations();
    let of_others = walk.max_ranges - walk.ranges_left + walk.assign.rows_of_others() as u64;
    let unit;
    (unit, *diagnostics, *memory) = walk.finish();
    (unit, of_others)
}
