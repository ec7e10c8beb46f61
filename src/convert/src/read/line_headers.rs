//! Reads the headers of line programs, also those with a segment selector size that is not 0 (DWARF 5 6.2.4).
//!
//! No opcode of a line program has a segment selector, so the size changes nothing. gimli refuses such a header, so it gets a copy of
//! the section in which the sizes are 0.

use std::sync::OnceLock;

use gimli::{Reader as _, Section as _};

use crate::open::Files;
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};

/// A line program, whose header was read.
pub(crate) type LineProgram<'f, E> = gimli::IncompleteLineProgram<Bytes<'f, E>>;

/// The headers in one `.debug_line`.
pub(crate) struct LineHeaders<'f, E: Endianity> {
    /// The copy, made when the first such header is read.
    copy: OnceLock<gimli::DebugLine<Bytes<'f, E>>>,
    files: &'f Files,
}

impl<'f, E: Endianity> LineHeaders<'f, E> {
    pub(crate) fn new(files: &'f Files) -> LineHeaders<'f, E> {
        LineHeaders { copy: OnceLock::new(), files }
    }

    /// The line program at an offset. The arguments are those of [`gimli::DebugLine::program`].
    ///
    /// # Errors
    /// The header is damaged.
    pub(crate) fn program(
        &self,
        dwarf: &Dwarf<'f, E>,
        at: gimli::DebugLineOffset,
        address_size: u8,
        (comp_dir, name): (Option<Bytes<'f, E>>, Option<Bytes<'f, E>>),
    ) -> gimli::Result<LineProgram<'f, E>> {
        let found = dwarf.debug_line.program(at, address_size, comp_dir, name);
        let Err(gimli::Error::UnsupportedSegmentSize(_)) = found else { return found };
        let section = *dwarf.debug_line.reader();
        let copy = || {
            let mut bytes = section.slice().to_vec();
            clear_selector_sizes(&mut bytes, section.endian());
            gimli::DebugLine::from(Bytes::new(self.files.keep(bytes), section.endian()))
        };
        self.copy.get_or_init(copy).program(at, address_size, comp_dir, name)
    }
}

/// Makes the segment selector size 0 in all headers of a `.debug_line` that follow each other from its start on.
pub(crate) fn clear_selector_sizes(section: &mut [u8], endian: impl gimli::Endianity) {
    let mut at = 0;
    while let Some(program) = section.get_mut(at..).filter(|rest| !rest.is_empty()) {
        let mut header = gimli::EndianSlice::new(&*program, endian);
        let Ok((len, format)) = header.read_initial_length() else { return };
        let before = format.initial_length_size() as usize;
        // After the length: two bytes of version, the size of addresses, the size of selectors.
        if header.read_u16().is_ok_and(|version| version == 5)
            && let Some(size) = program.get_mut(before + 3)
        {
            *size = 0;
        }
        let Some(next) = before.checked_add(len).and_then(|len| at.checked_add(len)) else { return };
        at = next;
    }
}
