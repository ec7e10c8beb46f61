//! Finds functions that a linker may have replaced by another definition, so that a recorded call of them may be a call of the other one.
//!
//! A name may have two definitions: a weak function and the strong one that overrides it. Each unit describes its own definition
//! and records calls of it. A call by that name calls the definition that prevailed, and DWARF does not show which one that is.
//!
//! With `--wrap=f` a linker makes calls of `f` from other objects calls of `__wrap_f`. Mostly the code shows that, since the call goes
//! elsewhere. It does not if both functions were folded into each other.

use std::borrow::Cow;

use crate::keys::functions::Functions;
use crate::keys::limits::MAX_COMPARISONS;
use crate::merge::names::are_apart;
use crate::merge::units::Records;
use crate::model::{FuncId, Function, Group, NameId, OriginId, Program, UnitId};
use crate::program::names::itanium::{PlainName, is_mangled, own_name, plain_base};
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// What the linker puts before the name of a wrapped function.
const WRAPPER: &[u8] = b"__wrap_";

/// Functions in whose place the linker may have chosen another definition: a call that is recorded as one of them may be of the other.
pub(crate) struct Replaced {
    functions: HashSet<FuncId>,
    /// True if the limit of comparisons was reached. All members of the groups that were not compared are in `functions`.
    pub(crate) is_short: bool,
}

impl Replaced {
    /// `shared`: as [`Functions::shared`].
    pub(crate) fn new(
        functions: &Functions<'_, '_>,
        shared: &[(FuncId, NameId)],
        records: &Records<'_>,
    ) -> Self {
        let comparisons = Budget::new(MAX_COMPARISONS);
        let mut replaced = defined_twice(functions.program, shared, records);
        // A function with many names may be in many groups, so its names are looked at once.
        let (mut seen, mut wrappers) = (HashSet::default(), HashSet::default());
        for member in functions.program.groups.iter().flat_map(|group| &group.members) {
            let wraps = || functions.names(member.function).any(|name| wrapped(name).is_some());
            if seen.insert(member.function) && wraps() {
                wrappers.insert(member.function);
            }
        }
        for group in &functions.program.groups {
            let members = group.members.iter().map(|member| member.function);
            replaced.extend(unnamed_definitions(functions, group, &comparisons));
            if !members.clone().any(|member| wrappers.contains(&member)) {
                continue;
            }
            let names = members.clone().map(|member| functions.names(member).count()).sum();
            if !comparisons.spend(names) {
                replaced.extend(members);
                continue;
            }
            let wrapped: HashSet<&[u8]> =
                members.clone().flat_map(|member| functions.names(member)).filter_map(wrapped).collect();
            let is_wrapped = |member: &FuncId| functions.names(*member).any(|name| wrapped.contains(name));
            replaced.extend(members.filter(is_wrapped));
        }
        Replaced { functions: replaced, is_short: comparisons.is_short() }
    }

    pub(crate) fn contains(&self, function: FuncId) -> bool {
        self.functions.contains(&function)
    }
}

/// `f` of `__wrap_f`.
fn wrapped(name: &[u8]) -> Option<&[u8]> {
    name.strip_prefix(WRAPPER)
}

/// A described function, its name, and its unit.
type DescribedMember<'n> = (FuncId, &'n [u8], UnitId);

/// The members of a group that may be two definitions of one function, where at least one has no linkage name (clang at `-g1`). Two local
/// functions of one plain name are found too: the program does not show that they are local.
fn unnamed_definitions(
    functions: &Functions<'_, '_>,
    group: &Group,
    comparisons: &Budget,
) -> HashSet<FuncId> {
    let program = functions.program;
    let described = || {
        let members = group.members.iter();
        let described = members.map(|m| (m.function, &program.functions[m.function.index()]));
        described.filter_map(|(id, function)| Some((id, function, function.source?.unit)))
    };
    let is_unnamed =
        |function: &Function| function.symbol.is_none() && program.origins[function.origin.index()].line == 0;
    let name_of = |function: &Function| {
        functions.text(function.symbol.unwrap_or(program.origins[function.origin.index()].name))
    };
    let mut found = HashSet::default();
    let is_needed = described().any(|(_, function, _)| is_unnamed(function));
    let first = described().next().map(|(.., unit)| unit);
    // Functions of one unit are different ones.
    if !is_needed || described().all(|(.., unit)| Some(unit) == first) {
        return found;
    }
    // By the name without arguments; under the empty name those that cannot be read.
    // Only names of one base are compared. A group may have thousands of members, and all pairs would take quadratic time.
    let mut by_base: HashMap<Cow<'_, [u8]>, Vec<DescribedMember<'_>>> = HashMap::default();
    for (id, function, unit) in described() {
        let name = name_of(function);
        let base = match is_mangled(name) {
            true => own_name(name).unwrap_or_default(),
            false => Cow::Borrowed(plain_base(name)),
        };
        by_base.entry(base).or_default().push((id, name, unit));
    }
    for (one, function, unit) in described().filter(|(_, function, _)| is_unnamed(function)) {
        let name = name_of(function);
        let alike = |base| by_base.get(base).map_or(&[][..], |of| of);
        let [alike, unread] = [alike(plain_base(name)), alike(b"")];
        if !comparisons.spend(alike.len() + unread.len()) {
            // Members that were not compared count as replaced. Calls recorded as theirs get no keys, which costs answers and
            // makes none wrong.
            return group.members.iter().map(|member| member.function).collect();
        }
        let plain = PlainName::new(name);
        let is_same =
            |&&(_, other, of): &&DescribedMember<'_>| of != unit && (other == name || plain.may_be_of(other));
        let same: Vec<FuncId> = alike.iter().chain(unread).filter(is_same).map(|other| other.0).collect();
        if !same.is_empty() && !name.is_empty() {
            found.extend(same);
            found.insert(one);
        }
    }
    found
}

/// The described functions of a name that has several definitions.
fn defined_twice(
    program: &Program<'_>,
    shared: &[(FuncId, NameId)],
    records: &Records<'_>,
) -> HashSet<FuncId> {
    let mut defined: Vec<Option<(FuncId, OriginId)>> = vec![None; program.names.len()];
    let mut names: HashSet<NameId> = HashSet::default();
    for &(function, name) in shared {
        let origin = program.functions[function.index()].origin;
        // Compared with the first alone: if two later definitions differ, one of them differs from the first.
        let (first, first_origin) = *defined[name.index()].get_or_insert((function, origin));
        if first != function && are_several(program, first_origin, origin) {
            names.insert(name);
        }
    }
    // gcc may have merged the other definition with another function of its unit.
    for (unit, map) in records.units.iter().zip(&program.maps) {
        for codeless in unit.codeless.iter().filter(|codeless| codeless.external) {
            let origin = map.origins[codeless.origin.index()];
            let name = program.origins[origin.index()].name;
            let first = defined[name.index()].map(|(_, first)| first);
            if first.is_some_and(|first| are_apart(&program.origins, &program.files, first, origin)) {
                names.insert(name);
            }
        }
    }
    shared.iter().filter(|(_, name)| names.contains(name)).map(|(function, _)| *function).collect()
}

/// True if two functions of one name are two definitions. clang at `-g1` gives no place of declaration to compare, so two functions count as
/// two definitions unless `place` made them one.
fn are_several(program: &Program<'_>, one: OriginId, other: OriginId) -> bool {
    let has_place = |origin: OriginId| program.origins[origin.index()].line > 0;
    !(has_place(one) && has_place(other)) || are_apart(&program.origins, &program.files, one, other)
}
