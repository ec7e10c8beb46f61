//! Visits the ranges of a list that `DW_AT_ranges` names (DWARF 5 2.17.3), past entries that are damaged.

use super::super::{Bytes, Dwarf, Endianity};

/// Visits each range of the list that is no tombstone of gimli's, as long as `visit` says to go on. Before DWARF 5
/// linkers write 1 for both ends of a range that they removed: it is visited as an empty one.
///
/// # Errors
/// The first damage that was met. An entry whose index is in no address table is left out alone; after one
/// whose kind is unknown, or that was the base of those behind it, the rest of the list cannot be read.
pub(super) fn visit<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    unit: &gimli::Unit<Bytes<'f, E>>,
    value: gimli::AttributeValue<Bytes<'f, E>>,
    mut visit: impl FnMut(u64, u64) -> bool,
) -> gimli::Result<()> {
    let Some(mut list) = dwarf.attr_ranges(unit, value)? else { return Ok(()) };
    let mut damage = Ok(());
    while let Some(entry) = list.next_raw()? {
        let is_base = matches!(entry, gimli::RawRngListEntry::BaseAddressx { .. });
        if let gimli::RawRngListEntry::AddressOrOffsetPair { begin: 1, end: 1 } = entry {
            if !visit(1, 1) {
                break;
            }
            continue;
        }
        match list.convert_raw(entry) {
            Ok(Some(range)) if !visit(range.begin, range.end) => break,
            Ok(_) => {}
            Err(error) if is_base => return Err(error),
            Err(error) => damage = damage.and(Err(error)),
        }
    }
    damage
}
