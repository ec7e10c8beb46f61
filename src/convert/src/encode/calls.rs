//! Writes CALLS, TAILS, VTABLES and SLOTS: whom the calls into folded code call (schema, section 3).

use super::Section;
use super::outline::Outline;
use super::tables::Table;
use crate::model::{FuncId, Keys};
use foldsym_format::SectionId;

/// The sections, where the program has any keys, and how many keys of tables are left out: those of tables below the
/// image base, which are in no memory of the program.
pub(super) fn sections(keys: &Keys, outline: &Outline, image_base: u64) -> (Vec<Section>, u64) {
    let rank = |function: FuncId| i64::from(outline.function_ranks[function.index()]);
    let optional = |function: Option<FuncId>| function.map_or(0, |function| rank(function) + 1);
    let mut calls: Vec<[i64; 4]> = keys
        .calls
        .iter()
        .map(|key| {
            let address = key.return_addr.0.wrapping_sub(image_base) as i64;
            [address, optional(key.caller), rank(key.callee), key.how as i64]
        })
        .collect();
    let mut tails: Vec<[i64; 2]> =
        keys.tails.iter().map(|key| [rank(key.function), optional(key.target)]).collect();
    let mut vtables: Vec<[i64; 4]> = keys
        .vtables
        .iter()
        .filter_map(|key| {
            let point = i64::try_from(key.point.0.checked_sub(image_base)?).ok()?;
            let slot = key.slot.map_or(0, |slot| i64::from(slot) + 1);
            Some([point, rank(key.function), slot, i64::from(key.doubtful)])
        })
        .collect();
    let left_out = (keys.vtables.len() - vtables.len()) as u64;
    let slots: Vec<[i64; 2]> = keys
        .slots
        .iter()
        .map(|key| [key.return_addr.0.wrapping_sub(image_base) as i64, i64::from(key.slot)])
        .collect();
    // Ranks have another order than the ids of the model.
    calls.sort_unstable();
    tails.sort_unstable();
    vtables.sort_unstable();
    let mut sections = Vec::new();
    add(&mut sections, SectionId::CALLS, &calls);
    add(&mut sections, SectionId::TAILS, &tails);
    add(&mut sections, SectionId::VTABLES, &vtables);
    add(&mut sections, SectionId::SLOTS, &slots);
    (sections, left_out)
}

fn add<const K: usize>(sections: &mut Vec<Section>, id: SectionId, records: &[[i64; K]]) {
    if !records.is_empty() {
        let record = |i: usize| records[i];
        let table = Table { count: records.len(), record };
        sections.push(Section::new(id, table.encode()));
    }
}
