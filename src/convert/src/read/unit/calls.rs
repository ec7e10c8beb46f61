//! Reads the call sites of a function: the return address and the callee of each call (DWARF 5 3.4.1).
//!
//! Both forms are accepted in any DWARF version. GNU's tag of DWARF 4 has the return address in `DW_AT_low_pc` and the
//! callee in `DW_AT_abstract_origin`. clang writes the standard's tag into units of version 4 for some debuggers.

use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::entries::Entry;
use crate::read::unit::origins::{DiePlace, NameText};
use crate::read::unit::roles::Role;
use crate::read::unit::walk::{UnitEntries, Walk};
use gimli::AttributeValue;

use crate::model::{
    CalleePlace, DieOffset, ImageAddr, LocalCallee, NONE16, UnitCall, UnitCallee, UnitOrigin,
};

impl<'f, E: Endianity> Walk<'_, 'f, E> {
    /// Reads a `DW_TAG_call_site` of the function that is being read.
    pub(crate) fn call_site(
        &mut self,
        entries: &mut UnitEntries<'_, 'f, E>,
        mut entry: Entry<Role>,
    ) -> gimli::Result<()> {
        let place = self.ids.origins.place(entry.offset);
        let (mut return_pc, mut target, mut tail, mut slot) = (None, None, false, NONE16);
        let mut named = false;
        while let Some(attribute) = entries.attribute(&mut entry)? {
            match attribute.name {
                gimli::DW_AT_call_return_pc | gimli::DW_AT_low_pc => return_pc = Some(attribute.value),
                gimli::DW_AT_call_origin | gimli::DW_AT_abstract_origin => {
                    let found = self.ids.origins.target(place, attribute.value, &mut self.ids.diagnostics);
                    (target, named) = (found.or(target), true);
                }
                gimli::DW_AT_call_tail_call | gimli::DW_AT_GNU_tail_call => tail = attribute.is_set(),
                gimli::DW_AT_call_target
                | gimli::DW_AT_call_target_clobbered
                | gimli::DW_AT_GNU_call_site_target
                | gimli::DW_AT_GNU_call_site_target_clobbered => slot = self.slot(attribute.value),
                _ => {}
            }
        }
        // Some compilers give a tail call an address too, but the callee does not return there.
        let return_addr = return_pc
            .filter(|_| !tail)
            .and_then(|value| self.address(value))
            .filter(|address| self.code.contains(address.wrapping_sub(1)))
            .map(ImageAddr);
        let callee = match target {
            Some(target) => Some(self.callee(target)),
            None => named.then(|| self.unknown_callee()),
        };
        if let Some(function) = self.building.last_mut() {
            function.calls.push(UnitCall { return_addr, callee, tail, slot });
        }
        Ok(())
    }

    /// The vtable slot of a call: its target is a register plus an offset, and the slot is this offset in words.
    fn slot(&self, value: AttributeValue<Bytes<'f, E>>) -> u16 {
        let AttributeValue::Exprloc(expression) = value else { return NONE16 };
        let encoding = self.unit.encoding();
        let mut operations = expression.operations(encoding);
        let (Ok(Some(gimli::Operation::RegisterOffset { offset, .. })), Ok(None)) =
            (operations.next(), operations.next())
        else {
            return NONE16;
        };
        let size = i64::from(encoding.address_size.max(1));
        if offset < 0 || offset % size != 0 { NONE16 } else { u16::try_from(offset / size).unwrap_or(NONE16) }
    }

    /// The local id of the unknown callee: the call site names a callee, but no DIE describes it. gcc may write the address of
    /// a symbol instead of a reference, and a reference may be damaged. Such a call is not a call through a pointer.
    fn unknown_callee(&mut self) -> LocalCallee {
        if let Some(id) = self.unknown_callee {
            return id;
        }
        let name = self.ids.origins.tables.name(NameText::Whole(&[]));
        let origin = self.ids.origins.tables.origin(UnitOrigin { name, file: NONE16, line: 0 });
        let id = LocalCallee(self.out.records.callees.len() as u32);
        let (die, place) = (DieOffset(0), CalleePlace::OtherDebugFile);
        self.out.records.callees.push(UnitCallee { die, place, origin, external: false });
        self.unknown_callee = Some(id);
        id
    }

    /// The local id of a callee. The unit has one record for each callee.
    pub(crate) fn callee(&mut self, target: DiePlace) -> LocalCallee {
        if let Some(&id) = self.callee_ids.get(&target) {
            return id;
        }
        let origin = self.ids.origins.resolve(target, &mut self.ids.diagnostics);
        let id = LocalCallee(self.out.records.callees.len() as u32);
        self.out.records.callees.push(UnitCallee {
            die: self.ids.origins.die(target),
            place: self.ids.origins.callee_place(target),
            origin,
            external: self.ids.origins.tables.is_external(origin),
        });
        self.callee_ids.insert(target, id);
        id
    }
}
