//! Finds the code of functions that have no address, since the linker folded them or the compiler merged them. Takes
//! units and symbols, and returns the units with these functions.
//!
//! A folded subprogram has a tombstone in place of its address. Its line sequence, its symbols and the call sites
//! that name it show where its code is.

mod caps;
pub(crate) mod described_symbols;
mod equal_rows;
mod erased;
mod folded_sections;
mod gcc_icf;
mod inlines;
mod limits;
mod long_sequences;
mod outcome;
pub(crate) mod recovered;
pub(crate) mod relaxation;
mod survivors;
mod tombstones;

use crate::diagnostics::Diagnostics;
use crate::merge::names::Names;
use crate::merge::units::{Records, Units};
use crate::model::{UnitCode, UnitTraces};
use crate::open::Image;
use crate::policy::linker::Linker;
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;
use crate::recover::recovered::Recovered;

/// The units as they were read: what stays as it is, and what `recover` adds to and uses up.
pub(crate) struct ReadUnits<'u, 'f> {
    pub(crate) units: &'u Units<'f>,
    pub(crate) records: &'u Records<'f>,
    /// One for each unit.
    pub(crate) code: Vec<UnitCode<'f>>,
    /// One for each unit.
    pub(crate) traces: Vec<UnitTraces>,
}

/// Adds the recovered functions to the units, with their lines and inlined calls. The symbols come back with the ids
/// of their names, if the search needed them. Each step takes over the result of the step before.
pub(crate) fn recover<'u, 'f>(
    image: &Image<'_>,
    linker: Linker,
    machine: &Machine<'_, '_>,
    names: &Names<'_>,
    read: ReadUnits<'u, 'f>,
    symbols: Symbols<'f>,
    diagnostics: &mut Diagnostics,
) -> (Recovered<'u, 'f>, Symbols<'f>) {
    let ReadUnits { units, records, code, traces } = read;
    let mut recovered = Recovered::new(units, records, code, traces);
    if linker.may_fold() {
        // `tombstones` compares sequences with functions of the same range. So a sequence of several functions, or one that is longer
        // than its function, is cut first, and a folded function gets the length of the code that is there.
        // Whole sections come first: to `long_sequences` the sequence of a folded section is one that is longer than its first
        // function, and it would lose the rows of the others if all have one line.
        recovered = folded_sections::part(recovered, diagnostics);
        recovered = long_sequences::cut(recovered);
        let first = |code| machine.shortened_until(code);
        recovered.code = relaxation::fit(image.arch.machine, recovered.code, first, diagnostics);
    }
    let (recovered, symbols) = tombstones::recover(names, recovered, symbols, linker, diagnostics);
    // `tombstones` has read the name of each symbol: the pages of the string table need not be in memory any longer.
    image.release_pages();
    let mut recovered = inlines::restore(names, recovered, diagnostics);
    for traces in &mut recovered.traces {
        // Nobody reads them after this.
        (traces.lost, traces.lost_ranges) = Default::default();
    }
    // Last, since gcc may have merged a function with one that the linker folded later.
    (gcc_icf::find(names, recovered, &symbols, machine, diagnostics), symbols)
}
