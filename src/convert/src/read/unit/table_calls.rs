//! Keeps the unit's calls in `.debug_dcall`, with their callees.

use crate::diagnostics::Kind;
use crate::model::{NONE16, UnitCall};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::call_tables::DirectCall;
use crate::read::sections::entries::{Entries, Plans, Wanted};
use crate::read::unit::walk::Walk;
use crate::util::hash::HashSet;

/// The entries of functions, without attributes.
const CALLABLE: Wanted<()> = Wanted {
    role: |abbreviation| {
        matches!(abbreviation.tag, gimli::DW_TAG_subprogram | gimli::DW_TAG_entry_point).then_some(())
    },
    inner: |()| false,
    attribute: |_| false,
};

impl<E: Endianity> Walk<'_, '_, E> {
    /// Keeps the listed calls whose callee is a function's entry in this unit.
    pub(crate) fn listed_calls(&mut self, listed: &[DirectCall]) {
        if listed.is_empty() {
            return;
        }
        let entries = self.callable(listed);
        for call in listed {
            let Some(offset) = self.offsets(call).find(|offset| entries.contains(offset)) else {
                self.ids.diagnostics.add(Kind::BadCallTable, call.return_addr.0, || {
                    let (callee, address, unit) = (call.callee, call.return_addr.0, self.unit_offset);
                    format!(
                        "the call that returns to {address:#x} calls {callee:#x} of the unit at .debug_info+{unit:#x}, no function"
                    )
                });
                continue;
            };
            let callee = self.callee(self.ids.origins.place(gimli::UnitOffset(offset)));
            self.out.records.listed.push(UnitCall {
                return_addr: Some(call.return_addr),
                callee: Some(callee),
                tail: false,
                slot: NONE16,
            });
        }
    }

    /// The possible offsets of the callee in the unit: the proposal counts from the unit or from the section.
    fn offsets(&self, call: &DirectCall) -> impl Iterator<Item = usize> + use<E> {
        let absolute = call.callee.checked_sub(self.unit_offset);
        [Some(call.callee), absolute].into_iter().flatten().filter_map(|offset| usize::try_from(offset).ok())
    }

    /// The callee offsets at which the entry of a function begins.
    fn callable(&self, listed: &[DirectCall]) -> HashSet<usize> {
        let asked: HashSet<usize> = listed.iter().flat_map(|call| self.offsets(call)).collect();
        let mut found = HashSet::default();
        let mut entries = Entries::new(self.unit, self.abbreviations, CALLABLE, Plans::default());
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
}
