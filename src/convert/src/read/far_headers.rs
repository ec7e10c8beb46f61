//! Reads the header of a unit that is far from the one before it, by a copy.

use gimli::Reader as _;

use crate::open::Files;
use crate::read::dwarf_6::{self, MAX_HEADER};
use crate::read::sections::bytes::{Bytes, Endianity};

/// If a unit has at least this many bytes, the header after it is read by a copy.
pub(crate) const FAR: usize = 1 << 14;

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
    let (len, format) = Bytes::new(&copy, section.endian()).read_initial_length().ok()?;
    // A unit that is shorter than the copy is read in place: the copy has bytes of the next unit too, and damage in the
    // header must give the same error as without the copy.
    if len < MAX_HEADER - usize::from(format.initial_length_size()) {
        return None;
    }
    dwarf_6::of_copy(section, offset, &mut copy).ok()
}
