//! Finds functions that LLVM merged with others (`-fmerge-functions`): it keeps the code and the description of one, lets
//! the others jump to it, describes those no more, and rewrites the calls that it sees to calls of the one.
//!
//! So what is left of such a function is a symbol at a little code that no DIE describes and that passes its call on to one
//! function that is described: a jump, or a call and a return where the compiler was told to keep frames, with whatever
//! each function has (a frame pointer, a guard of the stack, a call of a profiler). The code where it leads is that of both,
//! and what is recorded of calls within that unit may mean either.
//!
//! Where the code is not at hand (a debug file alone), or is of a machine whose instructions are not read, nothing shows
//! that a symbol is such a jump: no function gets a member by it.
//!
//! gcc (`-fipa-icf`) does so where both functions have their addresses taken. It describes the one that jumps, without an
//! address.

pub(crate) mod bounds;
mod gcc;
mod llvm;

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::UnitId;
use crate::place::aliases::AliasRules;
use crate::place::candidate::Candidates;
use crate::place::placing::Placing;
use crate::place::thunks::bounds::may_merge;
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;

/// Adds the functions that jump to others to those at whose code they arrive. Gives the units whose compiler made such.
pub(crate) fn add<'f>(
    placing: &mut Placing<'_, 'f>,
    machine: &Machine<'_, 'f>,
    undescribed: &AliasRules,
    symbols: &Symbols<'f>,
    candidates: &mut Candidates,
    diagnostics: &mut Diagnostics,
) -> Vec<UnitId> {
    let gcc = gcc::find(placing, machine, candidates);
    let mut units = gcc.units;
    let mut capped = gcc.capped;
    if (0..placing.recovered.units.len()).any(|unit| may_merge(placing, UnitId(unit as u32))) {
        let llvm = llvm::Llvm { placing, machine, undescribed, symbols };
        capped |= llvm.add(candidates, &gcc.added, &mut units);
    }
    if capped {
        diagnostics.add(Kind::CapReached, 0, || {
            "functions that the compiler may have merged are too many: some stand for others".to_owned()
        });
    }
    units.sort_unstable();
    units.dedup();
    units
}
