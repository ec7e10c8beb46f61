//! Finds the calls through pointers that may call members of groups, with the members that have a type of such a call.
//!
//! The call graph has the types of all indirect calls of a function, not the type of each. Example: `int get(A *)` and `int get(B *)` are
//! folded, and the only indirect call of `main` is of a function of type `int (A *)`. So `get(A *)` is likely.
//!
//! **A type rules no member out.** C and C++ programs cast pointers to functions and call them by another type than their own (callbacks of
//! `void *`), and the compiler omits the types of calls that it makes itself. No member is likely if another member of its group
//!
//! - has no known type: it may have the type of the call, too;
//! - is a destructor: virtual calls of destructors are not in the list of types;
//! - is a method that returns a pointer: it may override a method of another type (covariant return types).

use std::collections::BTreeMap;

use crate::keys::callee::Callee;
use crate::keys::index::Index;
use crate::keys::limits::MAX_TYPE_STEPS;
use crate::keys::tail_calls::JumpsOf;
use crate::keys::types::function_types::FunctionTypes;
use crate::model::{
    DispatchKey, FuncId, Group, GroupId, How, ImageAddr, NONE16, TargetKey, TypeHash, UnitCall,
};
use crate::program::names::itanium::nested;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// Calls through pointers and the members of groups that they may call.
#[derive(Default)]
pub(crate) struct PointerCalls {
    /// By return address; sets count from 0.
    pub(crate) calls: Vec<DispatchKey>,
    pub(crate) targets: Vec<TargetKey>,
    /// A limit was reached: later calls have no set.
    pub(crate) is_short: bool,
}

/// Finds the calls. `is_known`: for this return address there is better evidence.
pub(crate) fn find(
    index: &Index<'_, '_>,
    may_lead_into_group: &[bool],
    types: &FunctionTypes<'_>,
    is_known: impl Fn(ImageAddr) -> bool,
) -> PointerCalls {
    let steps = Budget::new(MAX_TYPE_STEPS);
    let mut found = PointerCalls::default();
    let calls = calls(index, types, &is_known);
    let called: HashSet<TypeHash> = calls.iter().flat_map(|(_, called)| called).copied().collect();
    let is_target = |function: FuncId| may_lead_into_group[function.index()];
    let mut targets: Vec<(TypeHash, FuncId)> = types.targets().collect();
    targets.retain(|(id, function)| called.contains(id) && is_target(*function));
    targets.sort_unstable();
    let reached = TypeReach::new(index, &targets, &steps);
    // By the types of a call: the set, if it has members.
    let mut sets: HashMap<&[TypeHash], Option<u32>> = HashMap::default();
    for (return_addr, called) in &calls {
        let set = sets.entry(called).or_insert_with(|| {
            let number = found.targets.last().map_or(0, |last| last.set + 1);
            let keys = set_of(index, types, &reached, (number, called), &steps);
            if steps.is_short() || keys.is_empty() {
                return None;
            }
            found.targets.extend(keys);
            Some(number)
        });
        found.calls.extend(set.map(|set| DispatchKey { return_addr: *return_addr, set, by_type: true }));
    }
    found.is_short = steps.is_short();
    found
}

/// The calls through pointers, by return address, each with the types that its function calls; sorted.
fn calls(
    index: &Index<'_, '_>,
    types: &FunctionTypes<'_>,
    is_known: &impl Fn(ImageAddr) -> bool,
) -> Vec<(ImageAddr, Vec<TypeHash>)> {
    let functions = &index.functions;
    // Two functions that are no group have no call in common. If a damaged file says so, neither counts.
    let mut found: BTreeMap<ImageAddr, Option<Vec<TypeHash>>> = BTreeMap::new();
    let mut add = |return_addr: ImageAddr, called: &[TypeHash]| {
        let once = |known: &mut Option<Vec<TypeHash>>| *known = None;
        found.entry(return_addr).and_modify(once).or_insert_with(|| Some(called.to_vec()));
    };
    for id in (0..functions.program.functions.len() as u32).map(FuncId) {
        let Some((unit, _, listed)) = functions.calls(id).filter(|_| functions.group(id).is_none()) else {
            continue;
        };
        let called = sorted(types.called(index, id));
        if called.is_empty() || index.merged_units.within[unit].is_some() {
            continue;
        }
        for return_addr in indirect(index, unit, listed, is_known) {
            let range = functions.ranges_of(id).last_below(return_addr);
            if range.is_some_and(|range| return_addr <= range.end)
                && functions.calling_group(return_addr).is_none()
                && !index.ambiguous_parts.at(functions, id, return_addr)
            {
                add(return_addr, &called);
            }
        }
    }
    for (number, group) in (0..).zip(&functions.program.groups) {
        let called = types.called_in(index, group);
        let live = group.members.iter().find(|member| member.how == How::LiveRange);
        let calls = live.and_then(|member| functions.calls(member.function));
        let Some((unit, _, listed)) = calls.filter(|_| !called.is_empty()) else { continue };
        for return_addr in indirect(index, unit, listed, is_known) {
            if functions.calling_group(return_addr) == Some(GroupId(number)) {
                add(return_addr, &called);
            }
        }
    }
    found.into_iter().filter_map(|(return_addr, called)| Some((return_addr, called?))).collect()
}

/// The return addresses of the calls whose callee is not known: neither to the compiler, nor by other evidence.
fn indirect<'c>(
    index: &'c Index<'_, '_>,
    unit: usize,
    listed: &'c [UnitCall],
    is_known: &'c impl Fn(ImageAddr) -> bool,
) -> impl Iterator<Item = ImageAddr> + 'c {
    let unknown = listed
        .iter()
        .filter(move |call| !call.is_tail() && index.callee(unit, call.callee()) == Callee::Indirect);
    unknown.filter_map(move |call| {
        let at = call.return_addr()?;
        // clang omits some callees that it knows, so the code counts. A record with a slot describes a call through memory.
        let is_indirect = call.slot != NONE16 || index.functions.machine.is_indirect_call(at);
        (is_indirect && !is_known(at)).then_some(at)
    })
}

fn sorted(types: &[TypeHash]) -> Vec<TypeHash> {
    let mut all = types.to_vec();
    all.sort_unstable();
    all.dedup();
    all
}

/// By type: the members of groups that calls of this type may lead to, directly or by tail calls.
struct TypeReach {
    by_type: HashMap<TypeHash, Vec<(GroupId, FuncId)>>,
}

impl TypeReach {
    /// `targets`: functions that may lead into groups, by type; sorted.
    fn new(index: &Index<'_, '_>, targets: &[(TypeHash, FuncId)], steps: &Budget) -> TypeReach {
        let mut by_type: HashMap<TypeHash, Vec<(GroupId, FuncId)>> = HashMap::default();
        let mut jumps = JumpsOf::default();
        for &(id, function) in targets {
            let reach = index.reach(&mut jumps, function);
            if !steps.spend(1 + reach.members.len()) {
                break;
            }
            let functions = reach.members.iter().copied().chain([function]);
            let members = functions.flat_map(|of| index.functions.groups(of).map(move |group| (group, of)));
            by_type.entry(id).or_default().extend(members);
        }
        TypeReach { by_type }
    }
}

/// The keys of a set of types: those of the groups in which the types tell members apart.
fn set_of(
    index: &Index<'_, '_>,
    types: &FunctionTypes<'_>,
    reached: &TypeReach,
    (set, called): (u32, &[TypeHash]),
    steps: &Budget,
) -> Vec<TargetKey> {
    let mut members: Vec<(GroupId, FuncId)> = Vec::new();
    for id in called {
        let of_type = reached.by_type.get(id).map_or(&[][..], |members| members);
        if !steps.spend(of_type.len()) {
            return Vec::new();
        }
        members.extend(of_type);
    }
    members.sort_unstable();
    members.dedup();
    let mut keys = Vec::new();
    for same in members.chunk_by(|a, b| a.0 == b.0) {
        let group = &index.functions.program.groups[same[0].0.index()];
        if same.len() >= group.members.len() || !steps.spend(group.members.len()) {
            continue;
        }
        let may_be: HashSet<FuncId> = same.iter().map(|(_, function)| *function).collect();
        let doubtful = is_doubtful(index, types, group, &may_be);
        let key = |&(_, function): &(GroupId, FuncId)| TargetKey { set, point: None, function, doubtful };
        keys.extend(same.iter().map(key));
    }
    // A function in several groups is one record.
    keys.sort_unstable();
    keys.dedup_by(|next, before| {
        let is_same = (next.set, next.point, next.function) == (before.set, before.point, before.function);
        before.doubtful |= is_same && next.doubtful;
        is_same
    });
    keys
}

/// True if another member of the group than these may be called, too, or if the group may have members that are not known.
fn is_doubtful(
    index: &Index<'_, '_>,
    types: &FunctionTypes<'_>,
    group: &Group,
    may_be: &HashSet<FuncId>,
) -> bool {
    let tied = &index.functions.placed.tied;
    let lacks = index.may_lack_functions() && !types.lists_all(index, group);
    lacks
        || group.members.iter().any(|member| {
            let function = member.function;
            if may_be.contains(&function) {
                return tied.contains(&function) || index.replaced.contains(function);
            }
            let Some(known) = types.of(function) else { return true };
            let is = |test: fn(&[u8]) -> bool| index.functions.names(function).any(test);
            is(is_destructor) || (known.returns_pointer && is(|name| nested(name).is_some()))
        })
}

/// True for the variants of a destructor (Itanium C++ ABI 5.1.4.3).
fn is_destructor(name: &[u8]) -> bool {
    name.starts_with(b"_Z") && [b"D0Ev", b"D1Ev", b"D2Ev"].iter().any(|end| name.ends_with(*end))
}
