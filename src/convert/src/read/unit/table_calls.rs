//! Finds the callees of the unit's calls in `.debug_dcall`.

use crate::diagnostics::Kind;
use crate::model::{NONE16, UnitCall};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::call_tables::DirectCall;
use crate::read::sections::entries::{Entries, Plans, Wanted};
use crate::read::unit::callees::Callees;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::walked_unit::WalkedUnit;
use crate::util::hash::HashSet;

/// The entries of functions, without attributes.
const CALLABLE: Wanted<()> = Wanted {
    role: |abbreviation| {
        matches!(abbreviation.tag, gimli::DW_TAG_subprogram | gimli::DW_TAG_entry_point).then_some(())
    },
    inner: |()| false,
    attribute: |_| false,
};

/// The listed calls whose callee is a function's entry in this unit.
pub(crate) fn listed_calls<E: Endianity>(
    unit: &WalkedUnit<'_, '_, E>,
    ids: &mut Numbering<'_, '_, E>,
    callees: &mut Callees,
    listed: &[DirectCall],
) -> Vec<UnitCall> {
    let mut found = Vec::new();
    if listed.is_empty() {
        return found;
    }
    let entries = callable(unit, listed);
    for call in listed {
        let Some(offset) = offsets(unit, call).find(|offset| entries.contains(offset)) else {
            ids.diagnostics.add(Kind::BadCallee, call.return_addr.0, || {
                let (callee, address, unit) = (call.callee, call.return_addr.0, unit.unit_offset);
                format!(
                    "the call that returns to {address:#x} calls {callee:#x} of the unit at .debug_info+{unit:#x}, no function"
                )
            });
            continue;
        };
        let callee = callees.at(ids.origins.place(gimli::UnitOffset(offset)), ids);
        found.push(UnitCall::new(Some(call.return_addr), Some(callee), false, NONE16));
    }
    found
}

/// The possible offsets of the callee in the unit: the proposal counts from the unit or from the section.
fn offsets<E: Endianity>(
    unit: &WalkedUnit<'_, '_, E>,
    call: &DirectCall,
) -> impl Iterator<Item = usize> + use<E> {
    let absolute = call.callee.checked_sub(unit.unit_offset);
    [Some(call.callee), absolute].into_iter().flatten().filter_map(|offset| usize::try_from(offset).ok())
}

/// The callee offsets at which the entry of a function begins.
fn callable<E: Endianity>(unit: &WalkedUnit<'_, '_, E>, listed: &[DirectCall]) -> HashSet<usize> {
    // Only a walk from the root shows at which offsets entries begin: the bytes at another offset may look like a DIE.
    // One walk serves all calls.
    let asked: HashSet<usize> = listed.iter().flat_map(|call| offsets(unit, call)).collect();
    let mut found = HashSet::default();
    let mut entries = Entries::new(unit.unit, unit.abbreviations, CALLABLE, Plans::default());
    // The walk over the unit has already counted an error.
    while let Ok(Some(entry)) = entries.next(isize::MAX) {
        if asked.contains(&entry.offset.0) {
            found.insert(entry.offset.0);
        }
        if entries.skip(&entry).is_err() {
            break;
        }
    }
    found
}
