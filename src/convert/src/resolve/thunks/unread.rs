//! Functions that may jump to others where no code is at hand, or none that can be read.

use rustc_hash::FxHashMap;

use super::{MAX_COMPARED, MAX_STEPS, MAX_THUNK, is_merged, may_merge, units_of};
use crate::budget::Budget;
use crate::model::{Function, Member, NameId, UnitId};
use crate::resolve::functions::{Candidate, Candidates, by_name_alone};
use crate::resolve::machine::{Machine, is_added};
use crate::resolve::merge::Merged;
use crate::resolve::names::spellings;
use crate::resolve::symbols::Symbols;
use crate::resolve::undescribed::Undescribed;

/// Names of functions without readable code that are added to the functions of one unit.
const MAX_UNREAD: usize = 256;

/// How many such are added in the whole program.
const MAX_ADDED: u64 = 1 << 20;

/// Adds functions that may jump to others and whose code cannot be read to all functions of the units that may have them:
/// of LLVM, those whose code is beside them, where objects without debug information are at hand without a larger function
/// between; of gcc, those that describe one of that name. Adds these units. True where they were too many: then a function
/// without a name stands for those that are missing.
pub(super) fn add(
    merged: &mut Merged<'_>,
    machine: &Machine<'_, '_>,
    undescribed: &Undescribed,
    symbols: &Symbols<'_>,
    candidates: &mut Candidates,
    units: &mut Vec<UnitId>,
) -> bool {
    let Candidates { functions, dies, symbols: by_symbol, .. } = candidates;
    let is_undescribed = |candidate: &&Candidate| units_of(candidate, functions).next().is_none();
    let (unread, large): (Vec<&Candidate>, Vec<&Candidate>) = by_symbol
        .iter()
        .filter(is_undescribed)
        .filter(|candidate| !machine.can_read(candidate.start, candidate.end))
        .partition(|candidate| candidate.end - candidate.start <= MAX_THUNK);
    if unread.is_empty() {
        return false;
    }
    let mut large: Vec<u64> = large.iter().map(|candidate| candidate.start).collect();
    large.sort_unstable();
    let is_between = |from: u64, to: u64| {
        let after = large.partition_point(|start| *start < from);
        undescribed.has_objects() && large.get(after).is_some_and(|start| *start < to)
    };
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
    let mut at_dies: FxHashMap<usize, Vec<UnitId>> = FxHashMap::default();
    for candidate in unread {
        let after = dies.partition_point(|die| die.start < candidate.start);
        let left = after.checked_sub(1).filter(|&left| !is_between(dies[left].start, candidate.start));
        let right = dies.get(after).filter(|right| !is_between(candidate.start, right.start)).map(|_| after);
        let own = symbols.at(candidate.start);
        let is_of_another = |unit: UnitId| match own {
            [symbol] => symbols.sure_file(symbol).is_some_and(|own| {
                let file = &merged.program.units[unit.index()].file_name;
                own != &file[..] && symbols.has_file(file)
            }),
            _ => false,
        };
        for beside in left.into_iter().chain(right) {
            at_dies.entry(beside).or_insert_with(|| {
                let mut units: Vec<UnitId> =
                    units_of(&dies[beside], functions).filter(|&unit| may_merge(merged, unit)).collect();
                units.sort_unstable();
                units.dedup();
                units
            });
        }
        for member in &candidate.members {
            let symbol = merged.program.name_of(&functions[member.function.index()]);
            let name = merged.name_bytes(symbol);
            let of_gcc = spellings(name).filter_map(|name| merged.name_of(name));
            let of_gcc = of_gcc.filter_map(|name| described.get(&name)).flatten().copied();
            let may_be_llvms = is_merged(name) && !is_of_start(name);
            let of_llvm = left.into_iter().chain(right).filter(|_| may_be_llvms);
            let of_llvm = of_llvm.filter_map(|beside| at_dies.get(&beside)).flatten().copied();
            for unit in of_llvm.filter(|&unit| !is_of_another(unit)).chain(of_gcc) {
                let unread = by_unit.entry(unit).or_default();
                // One more than are added.
                if steps.spend(1)
                    && unread.len() <= MAX_UNREAD
                    && unread.last().is_none_or(|last| last.function != member.function)
                {
                    unread.push(Member { rows: None, symbol: None, ..*member });
                }
            }
            if steps.is_short() {
                break;
            }
        }
        if steps.is_short() {
            break;
        }
    }
    if by_unit.is_empty() {
        return false;
    }
    let mut capped = steps.is_short();
    let left = Budget::new(MAX_ADDED);
    let mut others: Option<Member> = None;
    for die in dies.iter_mut() {
        let mut of: Vec<UnitId> = units_of(die, functions).collect();
        of.sort_unstable();
        of.dedup();
        let lists: Vec<&Vec<Member>> = of.iter().filter_map(|unit| by_unit.get(unit)).collect();
        let has_more = steps.is_short() && of.iter().any(|&unit| may_merge(merged, unit));
        if lists.is_empty() && !has_more {
            continue;
        }
        let fits = left.spend(lists.iter().map(|list| list.len()).sum());
        let mut added: Vec<Member> = lists.into_iter().filter(|_| fits).flatten().copied().collect();
        added.sort_unstable_by_key(|member| member.function);
        added.dedup_by_key(|member| member.function);
        let missing = has_more || !fits || added.len() > MAX_UNREAD;
        die.members.extend(added.into_iter().take(MAX_UNREAD));
        if missing {
            let others = *others.get_or_insert_with(|| by_name_of_others(merged, functions));
            die.members.push(others);
            capped = true;
        }
    }
    units.extend(by_unit.into_keys());
    if steps.is_short() {
        let all = (0..merged.program.units.len() as u32).map(UnitId);
        units.extend(all.filter(|&unit| may_merge(merged, unit)));
    }
    capped
}

/// A function without a name, which stands for those that are too many.
fn by_name_of_others(merged: &mut Merged<'_>, functions: &mut Vec<Function>) -> Member {
    let name = merged.name(b"");
    by_name_alone(merged, functions, name)
}

/// True for what begins and ends a program, and what a compiler adds to it: its `crtstuff.c`, C's library (`crt1.o`, `crti.o`).
fn is_of_start(name: &[u8]) -> bool {
    const OWN: [&[u8]; 17] = [
        b"register_tm_clones",
        b"deregister_tm_clones",
        b"frame_dummy",
        b"call_weak_fn",
        b"_start",
        b"_start_c",
        b"_init",
        b"_fini",
        b"_dl_relocate_static_pie",
        b"__do_global_dtors_aux",
        b"__do_global_ctors_aux",
        b"__do_init",
        b"__do_fini",
        b"__libc_csu_init",
        b"__libc_csu_fini",
        b"__tls_init",
        b"__clang_call_terminate",
    ];
    OWN.contains(&name) || is_added(name)
}

#[cfg(test)]
mod tests {
    use super::is_of_start;

    #[test]
    fn names_of_what_begins_a_program() {
        for (name, expected) in [
            ("frame_dummy", true),
            ("_start", true),
            ("__clang_call_terminate", true),
            ("__asan_init", true),
            ("_Z3foov", false),
            ("_own", false),
            ("__own", false),
            ("main", false),
        ] {
            assert_eq!(is_of_start(name.as_bytes()), expected, "{name}");
        }
    }
}
