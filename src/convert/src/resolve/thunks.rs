//! Finds functions that LLVM merged with others (`-fmerge-functions`): it keeps the code and the description of one, lets
//! the others jump to it, describes those no more, and rewrites the calls that it sees to calls of the one.
//!
//! So what is left of such a function is a symbol at a little code that no DIE describes and that passes its call on to one
//! function that is described: a jump, or a call and a return where the compiler was told to keep frames, with whatever
//! each function has (a frame pointer, a guard of the stack, a call of a profiler). The code where it leads is that of both,
//! and what is recorded of calls within that unit may mean either.
//!
//! Where no code is at hand (a debug file alone), or none that can be read, such a symbol shows that its unit merges
//! functions, and not which: any of the unit's may be the one.
//!
//! gcc (`-fipa-icf`) does so where both functions have their addresses taken. It describes the one that jumps, without an
//! address.

use rustc_hash::{FxHashMap, FxHashSet};

use super::functions::{Candidate, Candidates};
use super::machine::Machine;
use super::merge::Merged;
use super::names::{Relation, is_mangled, relation, spellings};
use super::undescribed::Undescribed;
use crate::budget::Budget;
use crate::model::{FuncId, Function, Member, NameId, OriginId, UnitId};

/// Bytes of a function that only jumps to another, or calls it and returns, with what each function begins and ends with.
pub(super) const MAX_THUNK: u64 = 128;

/// Units that are asked for the names of functions that jump.
const MAX_STEPS: u64 = 1 << 24;

/// Names of functions without readable code that are added to the functions of one unit.
const MAX_UNREAD: usize = 16;

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
    units.extend(unread(merged, machine, undescribed, candidates));
    units.sort_unstable();
    units.dedup();
    units
}

/// Adds functions that may jump to others and whose code cannot be read to all functions of the units that may have them:
/// of LLVM, those whose code is beside them, or where objects without debug information are at hand on both sides; of gcc,
/// those that describe one of that name. Gives these units.
fn unread(
    merged: &Merged<'_>,
    machine: &Machine<'_, '_>,
    undescribed: &Undescribed,
    candidates: &mut Candidates,
) -> Vec<UnitId> {
    let Candidates { functions, dies, symbols, .. } = candidates;
    let small = symbols.iter().filter(|candidate| candidate.end - candidate.start <= MAX_THUNK);
    let unread = small.filter(|candidate| {
        units_of(candidate, functions).next().is_none() && !machine.can_read(candidate.start, candidate.end)
    });
    let unread: Vec<&Candidate> = unread.collect();
    if unread.is_empty() {
        return Vec::new();
    }
    let mut by_unit: FxHashMap<UnitId, Vec<Member>> = FxHashMap::default();
    let mut described: FxHashMap<NameId, Vec<UnitId>> = FxHashMap::default();
    for (index, unit) in (0..).zip(&merged.program.units) {
        for codeless in &unit.codeless {
            let origin = merged.program.maps[index as usize].origins[codeless.origin.index()];
            let units = described.entry(merged.program.origins[origin.index()].name).or_default();
            if units.last() != Some(&UnitId(index)) && units.len() < MAX_COMPARED {
                units.push(UnitId(index));
            }
        }
    }
    let steps = Budget::new(MAX_STEPS);
    for candidate in unread {
        let before = dies.partition_point(|die| die.start < candidate.start);
        let [left, right] = [before.checked_sub(1), Some(before)].map(|at| at.and_then(|at| dies.get(at)));
        let beside: Vec<&Candidate> = left.into_iter().chain(right).collect();
        if !steps.spend(beside.iter().map(|die| die.members.len()).sum::<usize>() + candidate.members.len()) {
            break;
        }
        let has = |die: &&Candidate, unit: UnitId| units_of(die, functions).any(|other| other == unit);
        let mut of_llvm: Vec<UnitId> = beside.iter().flat_map(|die| units_of(die, functions)).collect();
        of_llvm.sort_unstable();
        of_llvm.dedup();
        of_llvm.retain(|unit| {
            let data = &merged.program.units[unit.index()];
            let sides = beside.iter().filter(|die| has(die, *unit)).count();
            !data.keeps_callees && !data.assembly && (!undescribed.has_objects() || sides == 2)
        });
        for member in &candidate.members {
            let symbol = merged.program.name_of(&functions[member.function.index()]);
            let name = merged.name_bytes(symbol);
            let reserved = is_of_start(name);
            let of_gcc = spellings(name).filter_map(|name| merged.name_of(name));
            let of_gcc = of_gcc.filter_map(|name| described.get(&name)).flatten();
            let of_llvm = of_llvm.iter().filter(|_| is_merged(name, &[]) && !reserved);
            for &unit in of_llvm.chain(of_gcc) {
                let unread = by_unit.entry(unit).or_default();
                if unread.len() < MAX_UNREAD && !unread.iter().any(|other| other.function == member.function)
                {
                    unread.push(Member { rows: None, symbol: None, ..*member });
                }
            }
        }
    }
    if by_unit.is_empty() {
        return Vec::new();
    }
    for die in dies.iter_mut() {
        let mut units: Vec<UnitId> = units_of(die, functions).collect();
        units.sort_unstable();
        units.dedup();
        let mut added: Vec<Member> =
            units.iter().filter_map(|unit| by_unit.get(unit)).flatten().copied().collect();
        added.sort_unstable_by_key(|member| member.function);
        added.dedup_by_key(|member| member.function);
        die.members.extend(added.into_iter().take(MAX_UNREAD));
    }
    let mut units: Vec<UnitId> = by_unit.into_keys().collect();
    units.sort_unstable();
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

/// True for what begins a program: the compiler's `crtstuff.c`, C's library (`crti.o`), and reserved names.
fn is_of_start(name: &[u8]) -> bool {
    const OWN: [&[u8]; 4] = [b"register_tm_clones", b"deregister_tm_clones", b"frame_dummy", b"call_weak_fn"];
    OWN.contains(&name) || (name.starts_with(b"_") && !is_mangled(name))
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
    use super::{is_merged, is_of_start};

    #[test]
    fn names_of_what_begins_a_program() {
        for (name, expected) in [("frame_dummy", true), ("_start", true), ("_Z3foov", false), ("main", false)]
        {
            assert_eq!(is_of_start(name.as_bytes()), expected, "{name}");
        }
    }

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
