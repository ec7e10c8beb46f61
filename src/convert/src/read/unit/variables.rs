//! Reads the variables of a unit that have a fixed address (DWARF 5 4.1), with the place of their declaration.

use gimli::{AttributeValue, Expression};

use crate::model::{ImageAddr, UnitVariable};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::unit::class_places::VtableDefinition;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::origins::SubprogramIdentity;
use crate::read::unit::roles::Role;
use crate::read::unit::walked_unit::{UnitEntries, WalkedUnit};
use crate::toolchain::itanium_abi::is_vtable;

/// Reads a variable; `None` if it has no name, no fixed address, or one that the linker erased. It may also be the definition of a vtable.
pub(crate) fn variable<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    ids: &mut Numbering<'_, 'f, E>,
    entries: &mut UnitEntries<'_, 'f, E>,
    mut entry: Entry<Role>,
) -> gimli::Result<(Option<UnitVariable>, Option<VtableDefinition>)> {
    let place = ids.origins.place(entry.offset);
    let (mut identity, mut address) = (SubprogramIdentity::default(), None);
    let (mut declaration, mut is_table) = (None, false);
    while let Some(attribute) = entries.attribute(&mut entry)? {
        match (attribute.name, attribute.value) {
            (gimli::DW_AT_specification, AttributeValue::UnitRef(target)) => declaration = Some(target),
            (gimli::DW_AT_linkage_name, value) => {
                is_table = ids.origins.name(place, value).is_some_and(|name| is_vtable(name.slice()));
            }
            _ => {}
        }
        match (attribute.name, attribute.value) {
            // Before DWARF 4 an expression has the form of a block (DWARF 3 7.5.4).
            (
                gimli::DW_AT_location,
                AttributeValue::Exprloc(Expression(bytes)) | AttributeValue::Block(bytes),
            ) => {
                // More operations make another value of the address: that of a thread's variable, or a part of another one.
                let found = unit.fixed_address(Expression(bytes)).filter(|(_, is_alone)| *is_alone);
                address = found.map(|(address, _)| address);
            }
            (gimli::DW_AT_location, _) => {}
            _ => ids.origins.take(place, &mut identity, &attribute, &mut ids.diagnostics),
        }
    }
    let Some(address) = address else { return Ok((None, None)) };
    if is_table {
        // Its declaration has no place.
        return Ok((None, declaration.map(|declaration| VtableDefinition { address, declaration })));
    }
    // clang describes string literals by variables without a name.
    if identity.name.is_none() && identity.linkage_name.is_none() && identity.next.is_none() {
        return Ok((None, None));
    }
    let (origin, _) = ids.origins.finish(place, identity, &mut ids.diagnostics);
    Ok((Some(UnitVariable { address: ImageAddr(address), origin }), None))
}
