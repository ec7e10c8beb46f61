//! Finds functions that a linker may have replaced by another definition, so that a recorded call of them may be a call of the other one.
//!
//! A name may have two definitions: a weak function and the strong one that overrides it. Each unit describes its own definition
//! and records calls of it. A call by that name calls the definition that prevailed, and DWARF does not show which one that is.
//!
//! With `--wrap=f` a linker makes calls of `f` from other objects calls of `__wrap_f`. Mostly the code shows that, since the call goes
//! elsewhere. It does not if both functions were folded into each other.

use crate::keys::functions::Functions;
use crate::merge::names::are_apart;
use crate::merge::units::Records;
use crate::model::{FuncId, NameId, OriginId, Program};
use crate::util::hash::HashSet;

/// What the linker puts before the name of a wrapped function.
const WRAPPER: &[u8] = b"__wrap_";

/// Functions that are perhaps not what a call by their name calls.
pub(crate) struct Replaced {
    functions: HashSet<FuncId>,
}

impl Replaced {
    /// `shared`: as [`Functions::shared`].
    pub(crate) fn new(
        functions: &Functions<'_, '_>,
        shared: &[(FuncId, NameId)],
        records: &Records<'_>,
    ) -> Self {
        let mut replaced = defined_twice(functions.program, shared, records);
        for group in &functions.program.groups {
            let members = group.members.iter().map(|member| member.function);
            let wrapped: HashSet<&[u8]> =
                members.clone().flat_map(|member| functions.names(member)).filter_map(wrapped).collect();
            if !wrapped.is_empty() {
                let is_wrapped =
                    |member: &FuncId| functions.names(*member).any(|name| wrapped.contains(name));
                replaced.extend(members.filter(is_wrapped));
            }
        }
        Replaced { functions: replaced }
    }

    pub(crate) fn contains(&self, function: FuncId) -> bool {
        self.functions.contains(&function)
    }
}

/// `f` of `__wrap_f`.
fn wrapped(name: &[u8]) -> Option<&[u8]> {
    name.strip_prefix(WRAPPER)
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

/// True if two functions of one name are two definitions. Without linkage names (clang at `-g1`) they have no place of declaration:
/// what `place` did not join are two.
fn are_several(program: &Program<'_>, one: OriginId, other: OriginId) -> bool {
    let has_place = |origin: OriginId| program.origins[origin.index()].line > 0;
    !(has_place(one) && has_place(other)) || are_apart(&program.origins, &program.files, one, other)
}
