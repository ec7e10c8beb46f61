//! Finds the code of functions whose address the linker erased, or the compiler never gave, since another function of the
//! same code stands for them: units and symbols to units that have those functions.
//!
//! Folded subprograms keep a tombstone in place of their address. What the linker left of them shows where their code is:
//! a line sequence of their own, their symbols, call sites.

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

/// Gives the units with the functions that were folded and erased, with their lines and what is inlined into them.
pub(crate) fn recover<'u, 'f>(
    image: &Image<'_>,
    machine: &Machine<'_, '_>,
    names: &Names<'_>,
    (units, records): (&'u Units<'f>, &'u Records<'f>),
    (code, traces): (Vec<UnitCode>, Vec<UnitTraces>),
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
    inlines::restore(names, &mut recovered, diagnostics);
    gcc_icf::find(names, &mut recovered, symbols, machine);
    recovered
}
