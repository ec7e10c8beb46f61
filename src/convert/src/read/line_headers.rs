//! Reads the headers of line programs, also those of DWARF 6, and those with a segment selector size that is not 0 (DWARF 5 6.2.4).
//!
//! No opcode of a line program has a segment selector, so the size changes nothing, and DWARF 6 has the layout of DWARF 5
//! ([`dwarf_6`]). gimli refuses such headers, so it gets a copy of the section in which the sizes are 0 and the versions 5.

use std::sync::OnceLock;

use gimli::{Reader as _, Section as _};

use crate::open::Files;
use crate::read::dwarf_6;
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
        let Err(error) = found else { return found };
        if !(matches!(error, gimli::Error::UnsupportedSegmentSize(_)) || dwarf_6::is_refused(error)) {
            return Err(error);
        }
        let section = *dwarf.debug_line.reader();
        let copy = || {
            let mut bytes = section.slice().to_vec();
            make_plain(&mut bytes, section.endian());
            gimli::DebugLine::from(Bytes::new(self.files.keep(bytes), section.endian()))
        };
        self.copy.get_or_init(copy).program(at, address_size, comp_dir, name)
    }
}

/// Makes a `.debug_line` one that gimli reads: in all headers that follow each other from its start on, the segment selector size is 0,
/// and DWARF 6 is DWARF 5.
pub(crate) fn make_plain(section: &mut [u8], endian: impl gimli::Endianity) {
    dwarf_6::lower_all(section, endian, |version, header| {
        // After two bytes of version and the size of addresses.
        if version == 5
            && let Some(size) = header.get_mut(3)
        {
            *size = 0;
        }
    });
}
