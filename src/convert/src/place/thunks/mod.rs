//! Finds functions that the compiler merged and replaced by a jump.
//!
//! LLVM (`-fmerge-functions`) keeps the code and the DIE of one function, for example `f` at 0x1000. It replaces the
//! body of an equal `g` at 0x2000 by a jump to 0x1000, drops the DIE of `g`, and rewrites the calls of `g` that it
//! sees into calls of `f`. What remains of `g` is a symbol at small code that no DIE describes and that passes its
//! call on to one described function: by a jump, or by a call and a return if the compiler keeps frame pointers. The
//! small code may contain what compilers add to every function (a frame pointer, a stack guard, a call of a
//! profiler). The code at 0x1000 is then that of both functions, and a recorded call of `f` within that unit may mean
//! either.
//!
//! gcc (`-fipa-icf`) does the same if the addresses of both functions are taken. It describes the function that
//! jumps, without an address.
//!
//! If the code is missing (only a debug file was given), or the processor is not supported, nothing shows that a
//! symbol is such a jump, and no function becomes a member by it.

mod gcc;
mod llvm;
mod merging_units;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::UnitId;
use crate::place::claim::Claims;
use crate::place::folding_evidence::FoldingEvidence;
use crate::place::limits::MAX_THUNK_STEPS;
use crate::place::placing::Placing;
use crate::place::thunks::merging_units::may_merge;
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;

/// Adds each function that jumps to another to the members at its target. Returns the units that are taken to have
/// merged functions, sorted: the units of gcc in which functions jump, and, if a unit of LLVM has such a function,
/// all units of LLVM. A program is mostly built with the same options throughout, and a unit may have merged
/// functions without leaving a jump. Both `unique` answers and `exact` calls rest on this one list.
pub(crate) fn add<'f>(
    placing: &mut Placing<'_, 'f>,
    machine: &Machine<'_, 'f>,
    folding: &FoldingEvidence,
    symbols: &Symbols<'f>,
    claims: &mut Claims,
    diagnostics: &mut Diagnostics,
) -> Vec<UnitId> {
    // gcc first: what its DIEs explain is not LLVM's, and LLVM's functions have no DIE to tell them by.
    let gcc = gcc::find(placing, machine, claims);
    let mut units = gcc.units;
    if gcc.capped {
        report_steps(Cap::MergedByGcc, "gcc", diagnostics);
    }
    if (0..placing.recovered.units.len()).any(|unit| may_merge(placing, UnitId::new(unit as u32))) {
        let llvm = llvm::Llvm { placing, machine, folding, symbols };
        if llvm.add(claims, &gcc.added, &mut units) {
            report_steps(Cap::MergedByLlvm, "LLVM", diagnostics);
        }
    }
    let all = (0..placing.recovered.units.len() as u32).map(UnitId::new);
    if units.iter().any(|&unit| may_merge(placing, unit)) {
        units.extend(all.filter(|&unit| may_merge(placing, unit)));
    }
    units.sort_unstable();
    units.dedup();
    units
}

/// Reports that the steps of matching the functions that a compiler merged are used up.
fn report_steps(cap: Cap, compiler: &str, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::Cap(cap), 0, || {
        format!(
            "over {MAX_THUNK_STEPS} steps of matching functions that {compiler} may have replaced by a jump: later ones are in groups \
             without a comparison"
        )
    });
}
