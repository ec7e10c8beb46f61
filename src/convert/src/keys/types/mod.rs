//! Calls through pointers: which members of a group have a type that such a call may call, by the call graph that clang writes
//! (`-fexperimental-call-graph-section`).

pub(crate) mod function_types;
pub(crate) mod pointer_calls;

use crate::diagnostics::Diagnostics;
use crate::keys::index::Index;
use crate::keys::types::function_types::FunctionTypes;
use crate::keys::types::pointer_calls::PointerCalls;
use crate::model::{CallGraph, CallTypes, ImageAddr};
use crate::place::Placed;

/// The offsets of the units whose types are needed, sorted: of those with members of groups, and of those with functions in the call graph,
/// on which the types are proven. None without a call graph.
pub(crate) fn units_with_needed_types(placed: &Placed<'_>, graph: &CallGraph) -> Vec<u64> {
    let program = &placed.program;
    if graph.records.is_empty() || program.groups.is_empty() {
        return Vec::new();
    }
    let mut entries: Vec<ImageAddr> = graph.records.iter().map(|record| record.entry).collect();
    entries.sort_unstable();
    let mut wanted: Vec<bool> = Vec::new();
    for unit in program.code.iter() {
        let is_listed = |start| entries.binary_search(&start).is_ok();
        wanted.push(unit.pieces.iter().any(|piece| is_listed(piece.start)));
    }
    let members = program.groups.iter().flat_map(|group| &group.members);
    for source in members.filter_map(|member| program.functions[member.function.index()].source) {
        wanted[source.unit.index()] = true;
    }
    let heads = program.heads.iter().zip(wanted);
    heads.filter(|(_, wanted)| *wanted).map(|(head, _)| head.offset).collect()
}

/// Finds the calls through pointers that lead into groups, without those that already have a record of their callee.
pub(crate) fn pointer_calls(
    index: &Index<'_, '_>,
    may_lead_into_group: &[bool],
    types: &CallTypes,
    is_known: impl Fn(ImageAddr) -> bool,
    diagnostics: &mut Diagnostics,
) -> PointerCalls {
    let has_graph = !types.graph.records.is_empty();
    match has_graph.then(|| FunctionTypes::proven(index, types, diagnostics)).flatten() {
        Some(functions) => pointer_calls::find(index, may_lead_into_group, &functions, is_known),
        None => PointerCalls::default(),
    }
}
