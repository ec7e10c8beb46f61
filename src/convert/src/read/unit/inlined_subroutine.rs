//! Reads the inlined subroutines of a function (DWARF 5 3.3.8.2).

use crate::model::DieOffset;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::unit::addresses::Addresses;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::origins::DiePlace;
use crate::read::unit::roles::Role;
use crate::read::unit::walked_unit::{UnitEntries, WalkedUnit};

/// The attributes of a `DW_TAG_inlined_subroutine`.
pub(crate) struct InlinedEntry<'f, E: Endianity> {
    pub(crate) place: DiePlace,
    pub(crate) die: DieOffset,
    pub(crate) addresses: Addresses<'f, E>,
    /// `DW_AT_abstract_origin`, if it leads to a unit.
    pub(crate) callee: Option<DiePlace>,
    /// The index of the call's file in the unit's file table.
    pub(crate) file: Option<u64>,
    pub(crate) line: u32,
    pub(crate) column: u16,
}

/// Reads an inlined subroutine.
pub(crate) fn inlined<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    ids: &mut Numbering<'_, 'f, E>,
    entries: &mut UnitEntries<'_, 'f, E>,
    mut entry: Entry<Role>,
) -> gimli::Result<InlinedEntry<'f, E>> {
    let place = ids.origins.place(entry.offset);
    let mut addresses = Addresses::default();
    let (mut callee, mut file, mut line, mut column) = (None, None, 0, 0);
    while let Some(attribute) = entries.attribute(&mut entry)? {
        match attribute.name {
            gimli::DW_AT_low_pc => addresses.low_pc = Some(attribute.value),
            gimli::DW_AT_high_pc => addresses.high_pc = Some(attribute.value),
            gimli::DW_AT_ranges => addresses.ranges = Some(attribute.value),
            gimli::DW_AT_abstract_origin => {
                callee = ids.origins.target(place, attribute.value, &mut ids.diagnostics);
            }
            gimli::DW_AT_call_file => {
                file = attribute.number().or(file);
            }
            gimli::DW_AT_call_line => {
                // Line 0 means that the line is unknown, so a damaged number loses only itself.
                line = attribute.number().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
            }
            gimli::DW_AT_call_column if unit.options.columns => {
                column = attribute.number().and_then(|c| u16::try_from(c).ok()).unwrap_or(0);
            }
            _ => {}
        }
    }
    Ok(InlinedEntry { place, die: unit.die(entry.offset), addresses, callee, file, line, column })
}
