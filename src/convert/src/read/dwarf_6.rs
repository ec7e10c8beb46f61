//! Reads headers that say DWARF 6 as headers of DWARF 5.
//!
//! DWARF 6 keeps the layout of the headers of units, line programs and of the tables of addresses, strings and ranges. (LLVM's `-gdwarf-6`
//! changes only the number; the headers of those tables are not read, since units give the offset after them.) gimli refuses the
//! number, so it gets a copy in which the number is 5. From then on the unit or the program is one of version 5.

use gimli::Reader as _;

use crate::read::sections::bytes::{Bytes, Endianity};

/// The version whose layout version 6 has.
const LAYOUT: u16 = 5;
const DWARF_6: u16 = 6;

/// The size of the longest unit header: a 64-bit type unit's.
pub(crate) const MAX_HEADER: usize = 40;

/// True for the error of gimli that a header says DWARF 6.
pub(crate) fn is_refused(error: gimli::Error) -> bool {
    matches!(error, gimli::Error::UnknownVersion(version) if version == u64::from(DWARF_6))
}

/// The header of the unit at an offset of `.debug_info`.
///
/// # Errors
/// The header is damaged or cut off, or of another version than 2 to 6.
pub(crate) fn unit_header<'f, E: Endianity>(
    section: Bytes<'f, E>,
    offset: usize,
) -> gimli::Result<gimli::UnitHeader<Bytes<'f, E>>> {
    let found = gimli::DebugInfo::from(section).header_from_offset(gimli::DebugInfoOffset(offset));
    let Err(error) = found else { return found };
    let Some(bytes) = section.slice().get(offset..).filter(|_| is_refused(error)) else { return Err(error) };
    let mut copy = [0; MAX_HEADER];
    let len = bytes.len().min(MAX_HEADER);
    copy[..len].copy_from_slice(&bytes[..len]);
    of_copy(section, offset, &mut copy[..len])
}

/// The header of the unit at an offset of `.debug_info`, from a copy of the first bytes of the unit, which may go on after its end.
///
/// # Errors
/// As [`unit_header`].
pub(crate) fn of_copy<'f, E: Endianity>(
    section: Bytes<'f, E>,
    offset: usize,
    copy: &mut [u8],
) -> gimli::Result<gimli::UnitHeader<Bytes<'f, E>>> {
    let endian = section.endian();
    let (len, format) = Bytes::new(copy, endian).read_initial_length()?;
    let len_size = usize::from(format.initial_length_size());
    let cut = || gimli::Error::UnexpectedEof(section.offset_id());
    let start = offset.checked_add(len_size).ok_or_else(cut)?;
    let end = start.checked_add(len).filter(|end| *end <= section.len()).ok_or_else(cut)?;
    // The copy is parsed as a unit that ends where the copy ends.
    let room = len.min(copy.len() - len_size);
    let copy = &mut copy[..len_size + room];
    match format {
        gimli::Format::Dwarf32 => endian.write_u32(copy, room as u32),
        gimli::Format::Dwarf64 => endian.write_u64(&mut copy[len_size - 8..], room as u64),
    }
    lower(&mut copy[len_size..], endian);
    let header = gimli::DebugInfo::new(copy, endian).header_from_offset(gimli::DebugInfoOffset(0)).map_err(
        // The place of the error would be in the copy.
        |error| if matches!(error, gimli::Error::UnexpectedEof(_)) { cut() } else { error },
    )?;
    Ok(gimli::UnitHeader::new(
        header.encoding(),
        len,
        header.type_(),
        header.debug_abbrev_offset(),
        gimli::SectionId::DebugInfo,
        gimli::UnitSectionOffset(offset),
        section.range(offset + header.size_of_header()..end),
    ))
}

/// Lowers the version at the start of the bytes that follow a header's length, if it is 6. Returns the version that stands there then.
pub(crate) fn lower(header: &mut [u8], endian: impl gimli::Endianity) -> Option<u16> {
    let version = endian.read_u16(header.get(..2)?);
    if version == DWARF_6 {
        endian.write_u16(header, LAYOUT);
        return Some(LAYOUT);
    }
    Some(version)
}

/// Lowers the versions of all headers of a section that follow each other from its start on (DWARF 5 7.4: each begins with the
/// length of what it heads). `change` also gets the version of each and the bytes after its length.
pub(crate) fn lower_all(
    section: &mut [u8],
    endian: impl gimli::Endianity,
    mut change: impl FnMut(u16, &mut [u8]),
) {
    let mut at = 0;
    while let Some(rest) = section.get_mut(at..).filter(|rest| !rest.is_empty()) {
        let Ok((len, format)) = gimli::EndianSlice::new(&*rest, endian).read_initial_length() else { return };
        let before = usize::from(format.initial_length_size());
        let Some(own) = before.checked_add(len) else { return };
        let end = own.min(rest.len());
        let header = &mut rest[before..end];
        if let Some(version) = lower(header, endian) {
            change(version, header);
        }
        let Some(next) = at.checked_add(own) else { return };
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit of this version (32-bit, little-endian), with `rest` after the version.
    fn unit(version: u16, rest: &[u8]) -> Vec<u8> {
        let len = (2 + rest.len()) as u32;
        [&len.to_le_bytes()[..], &version.to_le_bytes(), rest].concat()
    }

    fn header(
        bytes: &[u8],
        offset: usize,
    ) -> gimli::Result<gimli::UnitHeader<Bytes<'_, gimli::LittleEndian>>> {
        unit_header(Bytes::new(bytes, gimli::LittleEndian), offset)
    }

    /// All types of units: type, address size, offset of the abbreviations, then an id or signature and an offset.
    #[test]
    fn units_of_version_6_are_those_of_version_5() {
        for kind in 1..=6u8 {
            let rest = [&[kind, 8, 0x10, 0, 0, 0][..], &[1; 8], &[0x18, 0, 0, 0], &[7; 64]].concat();
            // After another unit, so that the offset counts.
            let [five, six] = [5, 6].map(|version| [unit(4, &[0; 8]), unit(version, &rest)].concat());
            let [five, six] = [&five, &six].map(|bytes| header(bytes, 14).unwrap());
            assert_eq!(format!("{five:?}"), format!("{six:?}"), "{kind}");
            assert_eq!(five.debug_abbrev_offset().0, 0x10);
        }
    }

    #[test]
    fn other_versions_and_cut_headers_are_errors() {
        let whole = unit(6, &[1, 8, 0x10, 0, 0, 0, 9]);
        assert!(header(&whole, 0).is_ok());
        for len in 0..whole.len() {
            assert!(header(&whole[..len], 0).is_err(), "{len}");
        }
        assert!(header(&whole, whole.len()).is_err() && header(&whole, usize::MAX).is_err());
        for version in [0, 1, 7, 0x600, u16::MAX] {
            assert!(header(&unit(version, &[1, 8, 0x10, 0, 0, 0, 9]), 0).is_err(), "{version}");
        }
        // Shorter than its header, and longer than the section: 32 and 64 bits.
        assert!(header(&unit(6, &[1, 8, 0]), 0).is_err());
        let mut long = whole.clone();
        long[..4].copy_from_slice(&0xffff_ffefu32.to_le_bytes());
        assert!(header(&long, 0).is_err());
        assert!(header(&[&[0xff; 12][..], &[6, 0, 1, 8]].concat(), 0).is_err());
    }

    #[test]
    fn versions_of_a_section_are_lowered_up_to_damage() {
        let mut section = [unit(6, &[1; 9]), unit(4, &[2; 3]), unit(6, &[]), unit(6, &[3])].concat();
        section.extend([0xf0, 0xff, 0xff, 0xff, 6, 0]);
        let mut seen = Vec::new();
        lower_all(&mut section, gimli::LittleEndian, |version, rest| seen.push((version, rest[0])));
        assert_eq!(seen, [(5, 5), (4, 4), (5, 5), (5, 5)]);
        let expected = [unit(5, &[1; 9]), unit(4, &[2; 3]), unit(5, &[]), unit(5, &[3])].concat();
        assert_eq!(section[..expected.len()], expected);
        assert_eq!(section[expected.len()..], [0xf0, 0xff, 0xff, 0xff, 6, 0]);
        // A length of 2^64 - 1 does not lead back.
        lower_all(&mut [0xff; 40], gimli::LittleEndian, |_, _| {});
        lower_all(&mut [], gimli::LittleEndian, |_, _| panic!("no header"));
    }
}
