//! Finds names that are defined more than once: a weak function and the one that overrides it. Each unit describes its own
//! and records calls of it, but whoever is called by that name is the one that prevailed, and nothing says which that is.

use rustc_hash::FxHashSet;

use super::super::merge::are_apart;
use super::super::names::is_program_wide;
use crate::model::{FuncId, Function, NameId, OriginId, Program, Source};

/// The functions of such names.
pub(super) fn functions(program: &Program<'_>) -> FxHashSet<FuncId> {
    let mut defined: Vec<Option<OriginId>> = vec![None; program.names.len()];
    let mut names: FxHashSet<NameId> = FxHashSet::default();
    let name_of = |origin: OriginId| program.origins[origin.index()].name;
    let is_shared = |function: &&Function| {
        let external =
            |source: Source| program.units[source.unit.index()].functions[source.function.index()].external;
        let name = &program.names[name_of(function.origin).index()];
        function.source.is_some_and(|source| external(source) || is_program_wide(name))
    };
    for function in program.functions.iter().filter(is_shared) {
        let name = name_of(function.origin);
        let first = *defined[name.index()].get_or_insert(function.origin);
        if first != function.origin && are_apart(program, first, function.origin) {
            names.insert(name);
        }
    }
    // gcc may have merged the other definition with another function of its unit.
    for (unit, map) in program.units.iter().zip(&program.maps) {
        for codeless in unit.codeless.iter().filter(|codeless| codeless.external) {
            let origin = map.origins[codeless.origin.index()];
            let name = name_of(origin);
            if defined[name.index()].is_some_and(|first| are_apart(program, first, origin)) {
                names.insert(name);
            }
        }
    }
    if names.is_empty() {
        return FxHashSet::default();
    }
    let ids = (0..).map(FuncId).zip(&program.functions);
    ids.filter(|(_, function)| is_shared(function) && names.contains(&name_of(function.origin)))
        .map(|(id, _)| id)
        .collect()
}
