//! Writes CALLS, TAILS, VTABLES, SLOTS, OVERRIDERS, GUESSES, DISPATCHES and TARGETS: the callees of calls into folded code (schema, section 3).

use super::outline::Outline;
use super::section::{MAX_SPAN, Section};
use super::tables::Table;
use crate::model::{FuncId, ImageAddr, Keys, SlotKey};
use foldsym_format::SectionId;
use foldsym_format::sections::{dispatches, slots};

/// Returns a section for each kind of key that the program has, and the number of keys left out. A key is left out if its
/// address is below the image base or [`MAX_SPAN`] or more above it: no memory of the program is there.
pub(super) fn sections(keys: &Keys, outline: &Outline, image_base: u64) -> (Vec<Section>, u64) {
    let rank = |function: FuncId| i64::from(outline.function_ranks[function.index()]);
    let optional = |function: Option<FuncId>| function.map_or(0, |function| rank(function) + 1);
    let offset = |address: ImageAddr| offset(address, image_base);
    let mut calls: Vec<[i64; 4]> = keys
        .calls
        .iter()
        .filter_map(|key| {
            Some([offset(key.return_addr)?, optional(key.caller), rank(key.callee), key.how as i64])
        })
        .collect();
    let mut tails: Vec<[i64; 2]> =
        keys.tails.iter().map(|key| [rank(key.function), optional(key.target)]).collect();
    let mut vtables: Vec<[i64; 4]> = keys
        .vtables
        .iter()
        .filter_map(|key| {
            let point = offset(key.point)?;
            let slot = key.slot.map_or(0, |slot| i64::from(slot) + 1);
            // A guessed key is doubtful too, so the sum is 2 for it (schema, VTABLES).
            let doubtful = i64::from(key.doubtful) + i64::from(key.guessed);
            Some([point, rank(key.function), slot, doubtful])
        })
        .collect();
    let through: Vec<[i64; 2]> =
        keys.slots.iter().filter_map(|key| Some([offset(key.return_addr)?, word(key)])).collect();
    let mut overriders: Vec<[i64; 3]> = keys
        .overriders
        .iter()
        .map(|key| [i64::from(key.slot), rank(key.function), i64::from(key.doubtful)])
        .collect();
    let dispatches: Vec<[i64; 3]> = keys
        .dispatches
        .iter()
        .filter_map(|key| {
            let how = if key.by_type { dispatches::TYPE } else { dispatches::METHOD };
            Some([offset(key.return_addr)?, i64::from(key.set), how.cast_signed()])
        })
        .collect();
    let mut targets: Vec<[i64; 4]> = keys
        .targets
        .iter()
        .filter_map(|key| {
            let point = match key.point {
                None => 0,
                Some(point) => offset(point)? + 1,
            };
            Some([i64::from(key.set), point, rank(key.function), i64::from(key.doubtful)])
        })
        .collect();
    let mut guesses: Vec<[i64; 3]> = keys
        .guesses
        .iter()
        .filter_map(|&((address, caller), callee)| {
            Some([offset(address)?, caller.map_or(0, |caller| rank(caller) + 1), rank(callee)])
        })
        .collect();
    let all = keys.calls.len() + keys.vtables.len() + keys.slots.len() + keys.guesses.len();
    let of_sets = (keys.dispatches.len() - dispatches.len()) + (keys.targets.len() - targets.len());
    let left_out = (all - calls.len() - vtables.len() - through.len() - guesses.len() + of_sets) as u64;
    // The file orders records by rank, which is not the order of the model's ids.
    calls.sort_unstable();
    tails.sort_unstable();
    vtables.sort_unstable();
    overriders.sort_unstable();
    guesses.sort_unstable();
    targets.sort_unstable();
    let mut sections = Vec::new();
    // SLOTS and DISPATCHES are sorted by address alone, and [`Keys`] has them in that order.
    add(&mut sections, SectionId::CALLS, &calls);
    add(&mut sections, SectionId::TAILS, &tails);
    add(&mut sections, SectionId::VTABLES, &vtables);
    add(&mut sections, SectionId::SLOTS, &through);
    add(&mut sections, SectionId::OVERRIDERS, &overriders);
    add(&mut sections, SectionId::GUESSES, &guesses);
    add(&mut sections, SectionId::DISPATCHES, &dispatches);
    add(&mut sections, SectionId::TARGETS, &targets);
    (sections, left_out)
}

/// The index of the table word that a call goes through, with [`slots::BY_OBJECT`] if the code loads the table's address
/// from an object.
fn word(key: &SlotKey) -> i64 {
    i64::from(key.slot) | if key.by_object { slots::BY_OBJECT } else { 0 }
}

/// An address relative to the image base; `None` if the file cannot store it.
pub(super) fn offset(address: ImageAddr, image_base: u64) -> Option<i64> {
    let offset = address.0.checked_sub(image_base).filter(|offset| *offset < MAX_SPAN)?;
    i64::try_from(offset).ok()
}

pub(super) fn add<const K: usize>(sections: &mut Vec<Section>, id: SectionId, records: &[[i64; K]]) {
    if !records.is_empty() {
        let record = |i: usize| records[i];
        let table = Table { count: records.len(), record };
        sections.push(Section::new(id, table.encode()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An input may place a section at any address, and with it a vtable or a call of `.debug_vcall`.
    #[test]
    fn an_address_that_no_table_can_hold_is_left_out() {
        for (address, base, expected) in [
            (0x1010, 0x1000, Some(0x10)),
            (0xfff, 0x1000, None),
            (MAX_SPAN - 1, 0, Some((MAX_SPAN - 1) as i64)),
            (MAX_SPAN, 0, None),
            (u64::MAX, 0x1000, None),
        ] {
            assert_eq!(offset(ImageAddr(address), base), expected, "{address:#x}");
        }
    }
}
