//! Writes the index from names to functions (schema, section 8).
//!
//! A key of the index is a name of a function: the name of its origin, a symbol of the function or of one of its pieces, an
//! alias; and the demangled form of each, where it differs. Several functions may share one name, such as local functions
//! of different files. The value of such a key refers to a list.

use super::bits::put_varint;
use super::input::EncodeOptions;
use super::outline::{Outline, extra_names};
use super::plan::Plan;
use super::section::{EncodeError, Section};
use crate::model::{FuncId, NameId, Program};
use foldsym_format::SectionId;
use rayon::prelude::*;

/// The section; `None` unless [`EncodeOptions::name_index`] is set.
pub(super) fn section(
    program: &Program<'_>,
    outline: &Outline,
    plan: &Plan,
    options: &EncodeOptions,
) -> Result<Option<Section>, EncodeError> {
    if !options.name_index {
        return Ok(None);
    }
    let own = |&id: &FuncId| (id, program.origins[program.functions[id.index()].origin.index()].name);
    let uses = outline.functions.iter().map(own).chain(extra_names(program, outline));
    let mut uses: Vec<(u32, u32)> =
        uses.map(|(id, name)| (plan.name(name), outline.function_ranks[id.index()])).collect();
    uses.par_sort_unstable();
    uses.dedup();
    let bytes_of =
        |name: u32| -> &[u8] { &program.names[NameId::new(plan.names.order[name as usize]).index()] };

    // The threads sort the demangled names by themselves first. The sort below only merges them with the others.
    let mut demangled: Vec<(Vec<u8>, u32)> = match options.demangle {
        None => Vec::new(),
        Some(demangle) => uses
            .par_chunk_by(|a, b| a.0 == b.0)
            .filter_map(|uses| {
                let name = bytes_of(uses[0].0);
                let text = demangle(name)?.into_bytes();
                // A name that is not mangled is a key already.
                (text != name).then(|| uses.iter().map(move |&(_, function)| (text.clone(), function)))
            })
            .flatten_iter()
            .collect(),
    };
    demangled.par_sort_unstable();
    let mut keys: Vec<(&[u8], u32)> =
        uses.iter().map(|&(name, function)| (bytes_of(name), function)).collect();
    keys.extend(demangled.iter().map(|(name, function)| (&name[..], *function)));
    // `keys` is two sorted runs, which the stable sort merges.
    keys.sort();
    keys.dedup();
    // Nobody can search for an empty name.
    keys.retain(|(name, _)| !name.is_empty());
    let bytes = build(&keys).map_err(|problem| EncodeError::NameIndex { problem: problem.to_string() })?;
    Ok(Some(Section::new(SectionId::NAME_INDEX, bytes)))
}

/// Builds the map from sorted pairs of name and function.
fn build(keys: &[(&[u8], u32)]) -> Result<Vec<u8>, fst::Error> {
    let mut lists = Vec::new();
    let mut map = fst::MapBuilder::memory();
    for uses in keys.chunk_by(|a, b| a.0 == b.0) {
        // Most names have one function. Its number is the value itself, and needs no list.
        let value = if let [(_, function)] = uses {
            u64::from(*function) << 1
        } else {
            let at = lists.len() as u64;
            put_varint(&mut lists, uses.len() as u64);
            uses.iter().for_each(|&(_, function)| put_varint(&mut lists, u64::from(function)));
            at << 1 | 1
        };
        // `fst` refuses a key that is not above the one before. The keys are sorted, and a chunk has all uses of one
        // name.
        map.insert(uses[0].0, value)?;
    }
    let map = map.into_inner()?;
    let mut out = (map.len() as u64).to_le_bytes().to_vec();
    out.extend_from_slice(&map);
    out.extend_from_slice(&lists);
    Ok(out)
}
