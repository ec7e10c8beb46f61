//! Finds functions that LLVM merged with others (`-fmerge-functions`): it keeps the code and the description of one, lets
//! the others jump to it, describes those no more, and rewrites the calls that it sees to calls of the one.
//!
//! So what is left of such a function is a symbol at code that no DIE describes and that is a jump and nothing else. The
//! code where the jump leads is that of both, and what is recorded of calls within that unit may mean either.

use super::functions::{Candidate, Candidates};
use super::machine::Machine;
use super::merge::Merged;
use super::names::{Relation, relation};
use super::undescribed::Undescribed;
use crate::model::{FuncId, Function, Member, UnitId};

/// Bytes of a function that only jumps to another.
const MAX_THUNK: u64 = 16;

/// Functions at one address that a name is compared with.
const MAX_COMPARED: usize = 256;

/// Adds the functions that jump to others to those at whose code they arrive. Gives the units whose compiler made such.
pub(super) fn add(
    merged: &Merged<'_>,
    machine: &Machine<'_, '_>,
    undescribed: &Undescribed,
    candidates: &mut Candidates,
) -> Vec<UnitId> {
    let mut units = Vec::new();
    let Candidates { functions, dies, symbols, .. } = candidates;
    for thunk in symbols.iter().filter(|candidate| candidate.end - candidate.start <= MAX_THUNK) {
        let Some(target) = machine.only_jump(thunk.start, thunk.end) else { continue };
        let first = dies.partition_point(|die| die.start < target);
        let Some(at) = dies.get_mut(first).filter(|die| die.start == target) else { continue };
        let of_llvm: Vec<UnitId> = units_of(at, functions)
            .filter(|unit| {
                let unit = &merged.program.units[unit.index()];
                !unit.keeps_callees && !unit.assembly
            })
            .collect();
        if of_llvm.is_empty() {
            continue;
        }
        let name = |function: FuncId| merged.name_bytes(merged.program.name_of(&functions[function.index()]));
        let here: Vec<&[u8]> =
            at.members.iter().take(MAX_COMPARED).map(|member| name(member.function)).collect();
        let added: Vec<Member> = thunk
            .members
            .iter()
            .filter(|member| is_merged(name(member.function), &here))
            .map(|member| Member { rows: None, symbol: None, ..*member })
            .collect();
        if added.is_empty() {
            continue;
        }
        if at.members.len() > 1 || !undescribed.has_objects() {
            at.members.extend(added);
        }
        // An object without debug information may hold a function that only calls another: then this is one of the unit
        // only if the unit's code is on both sides of it.
        let before = dies.partition_point(|die| die.start < thunk.start);
        let beside = [before.checked_sub(1), Some(before)].map(|at| at.and_then(|at| dies.get(at)));
        let within = |unit: &UnitId| {
            let has = |die: &&Candidate| units_of(die, functions).any(|other| other == *unit);
            beside.iter().all(|die| die.as_ref().is_some_and(has))
        };
        units.extend(of_llvm.into_iter().filter(|unit| !undescribed.has_objects() || within(unit)));
    }
    units.sort_unstable();
    units.dedup();
    units
}

fn units_of<'a>(
    candidate: &'a Candidate,
    functions: &'a [Function],
) -> impl Iterator<Item = UnitId> + use<'a> {
    let source = |member: &Member| functions[member.function.index()].source;
    candidate.members.iter().filter_map(source).map(|source| source.unit)
}

/// True where a name is that of a function which may have been merged with those here: not where it jumps to itself (a
/// weak function's body has no symbol), nor for what C++ calls a thunk and what linkers make.
fn is_merged(name: &[u8], here: &[&[u8]]) -> bool {
    let made = [b"_ZTh", b"_ZTv", b"_ZTc"].iter().any(|prefix| name.starts_with(*prefix))
        || (name.starts_with(b"__") && name.windows(6).any(|part| part == b"Thunk_"))
        || name.ends_with(b"$thunk");
    !name.is_empty() && !made && here.iter().all(|own| relation(own, name) == Relation::Other)
}

#[cfg(test)]
mod tests {
    use super::is_merged;

    #[test]
    fn names_of_merged_functions() {
        for (name, here, expected) in [
            ("_Z2a2v", "_Z2a1v", true),
            ("b", "a", true),
            ("a", "a", false),
            ("_ZN1SC1Ev", "_ZN1SC2Ev", false),
            ("_ZThn8_N1S1fEv", "_ZN1S1fEv", false),
            ("__AArch64ADRPThunk_far", "near", false),
            ("far$thunk", "near", false),
            ("", "a", false),
        ] {
            assert_eq!(is_merged(name.as_bytes(), &[here.as_bytes()]), expected, "{name} {here}");
        }
    }
}
