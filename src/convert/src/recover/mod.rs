//! Finds the code of functions without an address, because the linker folded them or the compiler merged them: from
//! units and symbols to units that have those functions.
//!
//! A folded subprogram has a tombstone in place of its address. Its line sequence, its symbols and the call sites
//! that name it show where its code is.

mod erased;
mod gcc_icf;
mod inlines;
mod outcome;
mod overrun;
pub(crate) mod recovered;
mod relaxed;
mod section_lines;
mod survivors;
mod tombstones;

use crate::diagnostics::Diagnostics;
use crate::merge::names::Names;
use crate::merge::units::{Records, Units};
use crate::model::{UnitCode, UnitTraces};
use crate::open::{Image, Linker};
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;
use crate::recover::recovered::Recovered;

/// Adds the recovered functions to the units, with their lines and inlined calls.
pub(crate) fn recover<'u, 'f>(
    image: &Image<'_>,
    machine: &Machine<'_, '_>,
    names: &Names<'_>,
    (units, records): (&'u Units<'f>, &'u Records<'f>),
    (code, traces): (Vec<UnitCode<'f>>, Vec<UnitTraces>),
    symbols: &mut Symbols<'_>,
    diagnostics: &mut Diagnostics,
) -> Recovered<'u, 'f> {
    let mut recovered = Recovered::new(units, records, code, traces);
    let may_fold = image.linker != Linker::NeverFolds;
    if may_fold {
        section_lines::part(&mut recovered, diagnostics);
        overrun::cut(&mut recovered);
        let first = |start, end| machine.shortened_until(start, end);
        relaxed::fit(image.arch.machine, &mut recovered.code, first, diagnostics);
    }
    tombstones::recover(names, &mut recovered, symbols, may_fold, diagnostics);
    image.release_pages();
    image.release_pages();
    inlines::restore(names, &mut recovered, diagnostics);
    gcc_icf::find(names, &mut recovered, symbols, machine);
    recovered
}
