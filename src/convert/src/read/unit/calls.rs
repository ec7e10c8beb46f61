//! Reads the call sites of a function: the return address and the callee of each call (DWARF 5 3.4.1).
//!
//! Both forms are accepted in any DWARF version. GNU's tag of DWARF 4 has the return address in `DW_AT_low_pc` and the
//! callee in `DW_AT_abstract_origin`. clang writes the standard's tag into units of version 4 for some debuggers.
//!
//! The callee of a virtual call is not known. clang 23 names the declaration of the method in the static class of the
//! object, which the callee is or overrides.

use gimli::AttributeValue;

use crate::model::{ImageAddr, NONE16, UnitCall};
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::entries::Entry;
use crate::read::unit::attributes as attribute;
use crate::read::unit::callees::Callees;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::roles::Role;
use crate::read::unit::walked_unit::{UnitEntries, WalkedUnit};

/// Reads a `DW_TAG_call_site`.
pub(crate) fn call_site<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    ids: &mut Numbering<'_, 'f, E>,
    callees: &mut Callees,
    entries: &mut UnitEntries<'_, 'f, E>,
    mut entry: Entry<Role>,
) -> gimli::Result<UnitCall> {
    let place = ids.origins.place(entry.offset);
    let (mut return_pc, mut target, mut tail, mut slot) = (None, None, false, NONE16);
    let (mut named, mut method) = (false, None);
    while let Some(attribute) = entries.attribute(&mut entry)? {
        match attribute.name {
            // `DW_AT_call_pc` is not read: clang writes it only for tail calls, as the address of the jump.
            gimli::DW_AT_call_return_pc | gimli::DW_AT_low_pc => return_pc = Some(attribute.value),
            gimli::DW_AT_call_origin | gimli::DW_AT_abstract_origin => {
                let found = ids.origins.target(place, attribute.value, &mut ids.diagnostics);
                (target, named) = (found.or(target), true);
            }
            attribute::VIRTUAL_CALL_ORIGIN => {
                method = ids.origins.target(place, attribute.value, &mut ids.diagnostics);
            }
            gimli::DW_AT_call_tail_call | gimli::DW_AT_GNU_tail_call => tail = attribute.is_set(),
            gimli::DW_AT_call_target
            | gimli::DW_AT_call_target_clobbered
            | gimli::DW_AT_GNU_call_site_target
            | gimli::DW_AT_GNU_call_site_target_clobbered => slot = vtable_slot(unit, attribute.value),
            _ => {}
        }
    }
    // Some compilers give a tail call an address too, but the callee does not return there.
    let return_addr = return_pc
        .filter(|_| !tail)
        .and_then(|value| unit.address(value))
        // The byte before it: after a call that does not return, the address may be the end of the section. A tombstone
        // has no code before it.
        .filter(|address| unit.code.contains(address.wrapping_sub(1)))
        .map(ImageAddr);
    let callee = match target {
        Some(target) => Some(callees.at(target, ids)),
        None => named.then(|| callees.unknown(ids)),
    };
    let call = UnitCall::new(return_addr, callee, tail, slot);
    // A call with a known callee is not virtual.
    Ok(match method {
        Some(method) if callee.is_none() => call.with_method(callees.at(method, ids)),
        _ => call,
    })
}

/// The vtable slot of a call: its target is a register plus an offset, and the slot is this offset in words.
fn vtable_slot<'f, E: Endianity>(unit: &WalkedUnit<'_, 'f, E>, value: AttributeValue<Bytes<'f, E>>) -> u16 {
    let AttributeValue::Exprloc(expression) = value else { return NONE16 };
    let encoding = unit.unit.encoding();
    let mut operations = expression.operations(encoding);
    // `DW_OP_breg0 RAX+16` is a call through a word in memory. `DW_OP_reg0 RAX` is one through a function pointer.
    let (Ok(Some(gimli::Operation::RegisterOffset { offset, .. })), Ok(None)) =
        (operations.next(), operations.next())
    else {
        return NONE16;
    };
    // Words before the address point of a vtable are offsets and type information, no functions (Itanium C++ ABI 2.5.2),
    // so a negative offset is no slot.
    let size = i64::from(encoding.address_size.max(1));
    if offset < 0 || offset % size != 0 { NONE16 } else { u16::try_from(offset / size).unwrap_or(NONE16) }
}
