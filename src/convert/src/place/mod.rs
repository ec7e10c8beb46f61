//! Decides what stands at each address: units and symbols to disjoint pieces of code, each with its function or with the
//! group of functions that were folded into it.
//!
//! `subprograms` lists the subprograms of all units by address. `candidates` joins them with symbols: each candidate is a
//! range of code with the functions that have it. `aliases` decides whether a symbol that no DIE explains is another name of
//! a function there, or a folded function. `cold_parts` finds the function of a part that stands elsewhere (`f.cold`).
//! `thunks` finds functions that the compiler merged, `silent_merges` says which of those that are left may stand for one of
//! which nothing is left, `certainty` says of a function without company whether that is certain,
//! and `pieces` cuts candidates that overlap.

mod alias_owner;
mod aliases;
mod candidates;
mod certainty;
mod cold_parts;
mod linkage_names;
pub(crate) mod pieces;
mod silent_merges;
mod subprograms;
mod symbol_ranges;
pub(crate) mod thunks;

use foldsym_format::names::MAX_NAME;

use crate::diagnostics::{Diagnostics, Kind};
use crate::merge::Merged;
use crate::model::Program;
use crate::open::Image;
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;

/// The program whose pieces are decided, and what its keys are found with.
pub(crate) struct Placed<'f> {
    pub(crate) cut: pieces::Cut<'f>,
    /// The linker dropped the symbols of local functions that it folded, of objects without debug information: any caller
    /// may be one of those.
    pub(crate) forgotten: bool,
}

/// Places the functions of the units and the symbols.
pub(crate) fn place<'f>(
    image: &Image<'f>,
    machine: &Machine<'_, 'f>,
    mut merged: Merged<'f>,
    symbols: &Symbols<'f>,
    diagnostics: &mut Diagnostics,
) -> Placed<'f> {
    let (undescribed, subprograms) = rayon::join(
        || aliases::AliasRules::new(image, &merged, symbols),
        || subprograms::by_address(&merged),
    );
    let mut candidates =
        candidates::candidates(&mut merged, subprograms, symbols, &undescribed, machine, diagnostics);
    certainty::decide(image, &merged, symbols, &undescribed, machine, &mut candidates);
    if merged.cut_names > 0 {
        diagnostics.add(Kind::CapReached, 0, || {
            format!("{} names are longer than {MAX_NAME} bytes: cut", merged.cut_names)
        });
    }
    if merged.without_room > 0 {
        diagnostics.add(Kind::CapReached, 0, || {
            format!(
                "names and paths have more bytes than the program's strings: {} are cut",
                merged.without_room
            )
        });
    }
    let forgotten = undescribed.may_be_forgotten();
    let cut = pieces::cut(merged, candidates, diagnostics);
    Placed { cut, forgotten }
}

impl<'f> Placed<'f> {
    pub(crate) fn program(&self) -> &Program<'f> {
        &self.cut.merged.program
    }

    pub(crate) fn program_mut(&mut self) -> &mut Program<'f> {
        &mut self.cut.merged.program
    }

    /// Frees what keys alone are found with: none are found after this.
    pub(crate) fn end_keys(&mut self) {
        self.cut.merged.end_keys();
    }
}
