//! Finds range and location lists by index (DWARF 5 7.28, 7.29).
//!
//! The offset table holds offsets from the unit's base. gimli adds base and offset without a check, so a build with overflow
//! checks would panic at a damaged offset.

use gimli::{AttributeValue, LocationListsOffset, RangeListsOffset, Reader as _, Section as _};

use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::space::Info;

type GimliUnit<'f, E> = gimli::Unit<Bytes<'f, E>>;
type Value<'f, E> = AttributeValue<Bytes<'f, E>>;

/// As `gimli::Dwarf::attr_ranges_offset`.
///
/// # Errors
/// The index or the offset at this index is outside of the section.
pub(crate) fn ranges_offset<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    unit: &GimliUnit<'f, E>,
    value: Value<'f, E>,
) -> gimli::Result<Option<RangeListsOffset>> {
    let AttributeValue::DebugRngListsIndex(index) = value else {
        // Other forms are offsets. In a `.dwo` of DWARF 4 they count from the skeleton's `DW_AT_GNU_ranges_base`, which
        // gimli adds.
        return dwarf.attr_ranges_offset(unit, value);
    };
    let section = *dwarf.ranges.debug_rnglists().reader();
    listed(section, unit, unit.rnglists_base.0, index.0).map(|offset| Some(RangeListsOffset(offset)))
}

/// As `gimli::Dwarf::attr_ranges`.
///
/// # Errors
/// As [`ranges_offset`].
pub(crate) fn ranges<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    unit: &GimliUnit<'f, E>,
    value: Value<'f, E>,
) -> gimli::Result<Option<gimli::RngListIter<Bytes<'f, E>>>> {
    ranges_offset(dwarf, unit, value)?.map(|offset| dwarf.ranges(unit, offset)).transpose()
}

/// As `gimli::Dwarf::attr_locations_offset`.
///
/// # Errors
/// The index or the offset at this index is outside of the section.
pub(crate) fn locations_offset<'f, E: Endianity>(
    info: &Info<'f, E>,
    unit: &GimliUnit<'f, E>,
    value: Value<'f, E>,
) -> gimli::Result<Option<LocationListsOffset>> {
    let AttributeValue::DebugLocListsIndex(index) = value else {
        return info.dwarf.attr_locations_offset(unit, value);
    };
    listed(info.location_lists, unit, unit.loclists_base.0, index.0)
        .map(|offset| Some(LocationListsOffset(offset)))
}

/// The section offset of the list with this index.
fn listed<'f, E: Endianity>(
    mut section: Bytes<'f, E>,
    unit: &GimliUnit<'f, E>,
    base: usize,
    index: usize,
) -> gimli::Result<usize> {
    // The elements of the offset table have the size of an offset (DWARF 5 7.28, 7.29).
    let format = unit.header.format();
    let place = index.checked_mul(format.word_size().into()).and_then(|at| at.checked_add(base));
    section.skip(place.ok_or(gimli::Error::UnsupportedOffset)?)?;
    base.checked_add(section.read_offset(format)?).ok_or(gimli::Error::UnsupportedOffset)
}
