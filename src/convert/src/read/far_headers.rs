//! Reads the header of a unit that is far from the one before it, by a copy.

use gimli::Reader as _;

use crate::open::Files;
use crate::read::sections::bytes::{Bytes, Endianity};

/// If a unit has at least this many bytes, the header after it is read by a copy.
pub(crate) const FAR: usize = 1 << 14;

/// The size of the longest unit header: a 64-bit type unit's.
const MAX_HEADER: usize = 40;

/// Reads the header of the unit at an offset without touching its page. `None` if that is not possible, or if anything in the
/// header is wrong.
pub(crate) fn peeked<'f, E: Endianity>(
    section: Bytes<'f, E>,
    offset: usize,
    files: &Files,
) -> Option<gimli::UnitHeader<Bytes<'f, E>>> {
    let mut copy = [0; MAX_HEADER];
    if !files.peek(section.slice().get(offset..)?, &mut copy) {
        return None;
    }
    let endian = section.endian();
    let (len, format) = Bytes::new(&copy, endian).read_initial_length().ok()?;
    let len_size = usize::from(format.initial_length_size());
    let end = offset.checked_add(len_size)?.checked_add(len)?;
    let room = MAX_HEADER - len_size;
    // A unit that is shorter than the copy is read in place: the copy has bytes of the next unit too, and damage in the
    // header must give the same error as without the copy.
    if len < room || end > section.len() {
        return None;
    }
    // The copy is parsed as a unit that ends where the copy ends.
    match format {
        gimli::Format::Dwarf32 => endian.write_u32(&mut copy, room as u32),
        gimli::Format::Dwarf64 => endian.write_u64(&mut copy[len_size - 8..], room as u64),
    }
    let of_copy = gimli::DebugInfo::new(&copy, endian);
    let header = of_copy.header_from_offset(gimli::DebugInfoOffset(0)).ok()?;
    Some(gimli::UnitHeader::new(
        header.encoding(),
        len,
        header.type_(),
        header.debug_abbrev_offset(),
        gimli::SectionId::DebugInfo,
        gimli::UnitSectionOffset(offset),
        section.range(offset + header.size_of_header()..end),
    ))
}
