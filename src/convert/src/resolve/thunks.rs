//! Finds functions that LLVM merged with others (`-fmerge-functions`): it keeps the code and the description of one, lets
//! the others jump to it, describes those no more, and rewrites the calls that it sees to calls of the one.
//!
//! So what is left of such a function is a symbol at a little code that no DIE describes and that passes its call on to one
//! function that is described: a jump, or a call and a return where the compiler was told to keep frames, with whatever
//! each function has (a frame pointer, a guard of the stack, a call of a profiler). The code where it leads is that of both, and what is recorded of calls within that unit may mean either.
//!
//! gcc (`-fipa-icf`) does so where both functions have their addresses taken. It describes the one that jumps, without an
//! address.

use rustc_hash::{FxHashMap, FxHashSet};

use super::functions::{Candidate, Candidates};
use super::machine::Machine;
use super::merge::Merged;
use super::names::{Relation, relation, spellings};
use super::undescribed::Undescribed;
use crate::budget::Budget;
use crate::model::{FuncId, Function, Member, NameId, OriginId, UnitId};

/// Bytes of a function that only jumps to another, or calls it and returns, with what each function begins and ends with.
pub(super) const MAX_THUNK: u64 = 128;

/// Units that are asked for the names of functions that jump.
const MAX_STEPS: u64 = 1 << 24;

/// Functions at one address that a name is compared with.
const MAX_COMPARED: usize = 256;

/// Adds the functions that jump to others to those at whose code they arrive. Gives the units whose compiler made such.
pub(super) fn add(
    merged: &Merged<'_>,
    machine: &Machine<'_, '_>,
    undescribed: &Undescribed,
    candidates: &mut Candidates,
) -> Vec<UnitId> {
    let mut units = of_gcc(merged, machine, candidates);
    let Candidates { functions, dies, symbols, .. } = candidates;
    // Of code that a DIE describes, what stands behind it is a symbol's too, where symbols have no size.
    let is_undescribed = |candidate: &&Candidate| units_of(candidate, functions).next().is_none();
    let small = symbols.iter().filter(|candidate| candidate.end - candidate.start <= MAX_THUNK);
    for thunk in small.filter(is_undescribed) {
        let is_described = |target: u64| dies.binary_search_by_key(&target, |die| die.start).is_ok();
        let Some(target) = machine.passes_on(thunk.start, thunk.end, is_described) else { continue };
        let first = dies.partition_point(|die| die.start < target);
        let Some(at) = dies.get(first).filter(|die| die.start == target) else { continue };
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
        // An object without debug information may hold a function that only calls another: then this may be one of the
        // unit if the unit's code is beside it, and is one if that is on both sides of it.
        let before = dies.partition_point(|die| die.start < thunk.start);
        let beside = [before.checked_sub(1), Some(before)].map(|at| at.and_then(|at| dies.get(at)));
        let sides = |unit: UnitId| {
            let has = |die: &&&Candidate| units_of(die, functions).any(|other| other == unit);
            match undescribed.has_objects() {
                true => beside.iter().flatten().filter(has).count(),
                false => beside.len(),
            }
        };
        let may_be_own = of_llvm.iter().any(|&unit| sides(unit) > 0);
        units.extend(of_llvm.into_iter().filter(|&unit| sides(unit) == beside.len()));
        let at = &mut dies[first];
        if at.members.len() > 1 || may_be_own {
            at.members.extend(added);
        }
    }
    units.sort_unstable();
    units.dedup();
    units
}

/// A function that gcc made jump to another: its code, and its place among those who share that.
type Jumping = (u64, u64, Member);

/// Adds the functions that gcc made jump to others, with what it says of them, to those at whose code they arrive. Gives
/// their units.
fn of_gcc(merged: &Merged<'_>, machine: &Machine<'_, '_>, candidates: &mut Candidates) -> Vec<UnitId> {
    let mut units = Vec::new();
    if merged.program.units.iter().all(|unit| unit.codeless.is_empty()) {
        return units;
    }
    let Candidates { functions, dies, symbols, .. } = candidates;
    // Such jumps are folded too, also with functions that are described.
    let small =
        symbols.iter().chain(dies.iter()).filter(|candidate| candidate.end - candidate.start <= MAX_THUNK);
    let jumping: Vec<Jumping> = small
        .flat_map(|candidate| {
            candidate.members.iter().map(|member| (candidate.start, candidate.end, *member))
        })
        .filter(|(.., member)| functions[member.function.index()].source.is_none())
        .collect();
    let mut here: FxHashMap<u64, Vec<UnitId>> = FxHashMap::default();
    let mut added: FxHashSet<(u64, FuncId)> = FxHashSet::default();
    let steps = Budget::new(MAX_STEPS);
    let mut described: FxHashMap<UnitId, FxHashMap<NameId, Vec<OriginId>>> = FxHashMap::default();
    for (start, end, member) in jumping {
        let is_described =
            |target: u64| target != start && dies.binary_search_by_key(&target, |die| die.start).is_ok();
        let Some(target) = machine.passes_on(start, end, is_described) else { continue };
        let first = dies.partition_point(|die| die.start < target);
        let Some(at) = dies.get_mut(first).filter(|die| die.start == target) else {
            continue;
        };
        let here = here.entry(target).or_insert_with(|| {
            let mut here: Vec<UnitId> = units_of(at, functions)
                .filter(|unit| !merged.program.units[unit.index()].codeless.is_empty())
                .collect();
            here.sort_unstable();
            here.dedup();
            here
        });
        if !steps.spend(here.len()) {
            break;
        }
        let symbol = merged.program.name_of(&functions[member.function.index()]);
        let mut origins: Vec<OriginId> = Vec::new();
        for &mut unit in here {
            let described = described.entry(unit).or_insert_with(|| codeless(merged, unit));
            let names = spellings(merged.name_bytes(symbol)).filter_map(|name| merged.name_of(name));
            let of_unit = names.filter_map(|name| described.get(&name)).flatten().copied();
            let is_own = |origin: &OriginId| {
                let name = merged.name_bytes(merged.program.origins[origin.index()].name);
                relation(name, merged.name_bytes(symbol)) != Relation::Other
            };
            let before = origins.len();
            origins.extend(of_unit.take(MAX_COMPARED).filter(is_own));
            if origins.len() > before {
                units.push(unit);
            }
        }
        origins.sort_unstable();
        origins.dedup();
        if origins.is_empty() {
            continue;
        }
        // Of several nothing says which that is.
        if let [origin] = origins[..] {
            let function = &mut functions[member.function.index()];
            (function.origin, function.symbol) = (origin, Some(symbol));
        }
        if added.insert((target, member.function)) {
            at.members.push(Member { rows: None, symbol: None, ..member });
        }
    }
    units
}

/// The functions that a unit describes and that have no code, by name.
fn codeless(merged: &Merged<'_>, unit: UnitId) -> FxHashMap<NameId, Vec<OriginId>> {
    let (unit, map) = (&merged.program.units[unit.index()], &merged.program.maps[unit.index()]);
    let mut by_name: FxHashMap<NameId, Vec<OriginId>> = FxHashMap::default();
    for codeless in &unit.codeless {
        let origin = map.origins[codeless.origin.index()];
        by_name.entry(merged.program.origins[origin.index()].name).or_default().push(origin);
    }
    by_name
}

fn units_of<'a>(
    candidate: &'a Candidate,
    functions: &'a [Function],
) -> impl Iterator<Item = UnitId> + use<'a> {
    let source = |member: &Member| functions[member.function.index()].source;
    candidate.members.iter().filter_map(source).map(|source| source.unit)
}

/// True where a name is that of a function which may have been merged with those here: not where it jumps to itself (a
/// weak function's body has no symbol), nor for what C++ calls a thunk, the functions that make its thread-local
/// variables, what linkers make and what LLVM's outliner does.
fn is_merged(name: &[u8], here: &[&[u8]]) -> bool {
    const MADE: [&[u8]; 6] = [b"_ZTh", b"_ZTv", b"_ZTc", b"_ZTW", b"_ZTH", b"OUTLINED_FUNCTION_"];
    let made = MADE.iter().any(|prefix| name.starts_with(prefix))
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
            ("_ZTW1x", "__tls_init", false),
            ("OUTLINED_FUNCTION_3", "a", false),
            ("", "a", false),
        ] {
            assert_eq!(is_merged(name.as_bytes(), &[here.as_bytes()]), expected, "{name} {here}");
        }
    }
}
