//! Decides what stands at each address: gives every name, file, origin and call edge its id in the whole
//! program, joins functions with symbols, finds which functions share code, and cuts what overlaps.
//!
//! `merge` numbers; `symbols` sorts the symbol table; `sections` parts the lines of sections that were folded whole;
//! `recover` finds functions that were folded and erased, by what `remaining` lists, and `recovered` gives them their code;
//! `inlines` finds what is inlined into them; `compiled` and `thunks` find functions that the compiler merged;
//! `subprograms` lists those of all units by address; `functions` turns subprograms and symbols into candidates with a
//! range, and asks `undescribed` whether a name that no DIE has is one of them; `parts` does so for what stands elsewhere than
//! its entry; `certainty` says of functions that are alone whether that is certain; `pieces` paints the candidates over each other into disjoint pieces; `calls` says which of the functions of a piece
//! each call calls, and asks `machine` about jumps.

mod behind;
mod calls;
mod certainty;
mod compiled;
mod functions;
mod inlines;
mod known;
mod machine;
mod merge;
mod names;
mod overloads;
mod parts;
mod pieces;
mod recover;
mod recovered;
mod remaining;
mod sections;
mod subprograms;
mod symbols;
mod thunks;
mod uncovered;
mod undescribed;

use crate::model::{Keys, Program, Unit, UnitClasses};
use crate::open::{Image, Linker};
use crate::report::{Diagnostics, Kind};
use foldsym_format::names::MAX_NAME;
pub(crate) use merge::{Merged, Sizes};
pub(crate) use symbols::Symbols;

/// What the decisions depend on besides the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResolveOptions {
    /// Prefixes of stored paths to replace: (old, new), the first that fits.
    pub remap_path: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The decided program, and what its keys are found with.
pub(crate) struct Resolved<'f> {
    cut: pieces::Cut<'f>,
    /// Whoever seems to call may be another, of which nothing is known.
    forgotten: bool,
}

/// Reads the classes of these units, once it is known that they matter.
pub(crate) type ReadClasses<'a, 'f> =
    &'a (dyn Fn(&[UnitClasses<'_>], &mut Diagnostics) -> Vec<Unit<'f>> + Sync);

/// Resolves the units that were read against the image's symbols.
pub(crate) fn resolve<'f>(
    image: &Image<'f>,
    mut merged: Merged<'f>,
    mut symbols: Symbols<'f>,
    diagnostics: &mut Diagnostics,
) -> Resolved<'f> {
    merged.end_units();
    let may_fold = image.linker != Linker::NeverFolds;
    if may_fold {
        sections::part(&mut merged, diagnostics);
        behind::cut(&mut merged);
    }
    recover::recover(&mut merged, &mut symbols, may_fold, diagnostics);
    inlines::restore(&mut merged, diagnostics);
    let machine = machine::Machine::new(image);
    compiled::find(&mut merged, &symbols, &machine);
    let (undescribed, subprograms) = rayon::join(
        || undescribed::Undescribed::new(image, &merged, &symbols),
        || subprograms::by_address(&merged),
    );
    let mut candidates =
        functions::candidates(&mut merged, subprograms, &symbols, &undescribed, &machine, diagnostics);
    certainty::decide(image, &merged, &symbols, &undescribed, &machine, &mut candidates);
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
    Resolved { cut, forgotten }
}

impl<'f> Resolved<'f> {
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

    /// Finds what tells which of the functions that share code ran. Nothing else of the program depends on it.
    pub(crate) fn keys(
        &self,
        image: &Image<'f>,
        classes: ReadClasses<'_, 'f>,
        diagnostics: &mut Diagnostics,
    ) -> Keys {
        calls::keys(&self.cut, image, self.forgotten, classes, diagnostics)
    }
}
