//! Writes CALLS and TAILS: whom the calls into folded code call (schema, section 3).

use super::Section;
use super::outline::Outline;
use super::tables::Table;
use crate::model::{FuncId, Program};
use foldsym_format::SectionId;

/// The sections, where the program has any keys.
pub(super) fn sections(program: &Program<'_>, outline: &Outline, image_base: u64) -> Vec<Section> {
    let rank = |function: FuncId| i64::from(outline.function_ranks[function.index()]);
    let optional = |function: Option<FuncId>| function.map_or(0, |function| rank(function) + 1);
    let mut calls: Vec<[i64; 4]> = program
        .calls
        .iter()
        .map(|key| {
            let address = key.return_addr.0.wrapping_sub(image_base) as i64;
            [address, optional(key.caller), rank(key.callee), key.how as i64]
        })
        .collect();
    let mut tails: Vec<[i64; 2]> =
        program.tails.iter().map(|key| [rank(key.function), optional(key.target)]).collect();
    // Ranks have another order than the ids of the model.
    calls.sort_unstable();
    tails.sort_unstable();
    let mut sections = Vec::new();
    if !calls.is_empty() {
        let record = |i: usize| calls[i];
        let table = Table { count: calls.len(), record };
        sections.push(Section::new(SectionId::CALLS, table.encode()));
    }
    if !tails.is_empty() {
        let record = |i: usize| tails[i];
        let table = Table { count: tails.len(), record };
        sections.push(Section::new(SectionId::TAILS, table.encode()));
    }
    sections
}
