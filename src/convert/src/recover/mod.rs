//! Finds the code of functions whose address the linker erased, or the compiler never gave, since another function of the
//! same code stands for them: units and symbols to units that have those functions.
//!
//! Folded subprograms keep a tombstone in place of their address. What the linker left of them shows where their code is:
//! a line sequence of their own, their symbols, call sites.

mod gcc_icf;
mod inlines;
mod outcome;
mod overrun;
mod section_lines;
mod survivors;
mod tombstones;

use crate::diagnostics::Diagnostics;
use crate::merge::Merged;
use crate::open::{Image, Linker};
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;

/// Adds to the units the functions that were folded and erased, with their lines and what is inlined into them.
pub(crate) fn recover(
    image: &Image<'_>,
    machine: &Machine<'_, '_>,
    merged: &mut Merged<'_>,
    symbols: &mut Symbols<'_>,
    diagnostics: &mut Diagnostics,
) {
    let may_fold = image.linker != Linker::NeverFolds;
    if may_fold {
        section_lines::part(merged, diagnostics);
        overrun::cut(merged);
    }
    tombstones::recover(merged, symbols, may_fold, diagnostics);
    inlines::restore(merged, diagnostics);
    gcc_icf::find(merged, symbols, machine);
}
