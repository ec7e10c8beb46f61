//! Finds names with two definitions: a weak function and the strong one that overrides it. Each unit describes its
//! own definition and records calls of it. A call by that name calls the definition that prevailed, and DWARF does
//! not show which one that is.

use crate::merge::names::are_apart;
use crate::merge::units::Records;
use crate::model::{FuncId, NameId, OriginId, Program};
use crate::util::hash::HashSet;

/// The functions with such names among `shared`, the described functions that other units can call by name.
pub(crate) fn functions(
    program: &Program<'_>,
    records: &Records<'_>,
    shared: Vec<FuncId>,
) -> HashSet<FuncId> {
    let mut defined: Vec<Option<OriginId>> = vec![None; program.names.len()];
    let mut names: HashSet<NameId> = HashSet::default();
    let name_of = |origin: OriginId| program.origins[origin.index()].name;
    let are_apart = |one, other| are_apart(&program.origins, &program.files, one, other);
    let origin_of = |function: &FuncId| program.functions[function.index()].origin;
    for origin in shared.iter().map(origin_of) {
        let name = name_of(origin);
        let first = *defined[name.index()].get_or_insert(origin);
        if first != origin && are_apart(first, origin) {
            names.insert(name);
        }
    }
    // gcc may have merged the other definition with another function of its unit.
    for (unit, map) in records.units.iter().zip(&program.maps) {
        for codeless in unit.codeless.iter().filter(|codeless| codeless.external) {
            let origin = map.origins[codeless.origin.index()];
            let name = name_of(origin);
            if defined[name.index()].is_some_and(|first| are_apart(first, origin)) {
                names.insert(name);
            }
        }
    }
    if names.is_empty() {
        return HashSet::default();
    }
    shared.into_iter().filter(|function| names.contains(&name_of(origin_of(function)))).collect()
}
