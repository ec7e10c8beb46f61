//! Lists the loaded sections and segments of the program, from SECTIONS and SEGMENTS (schema, section 7).

use foldsym_format::sections::segments;
use foldsym_format::varint;

use crate::ids::ImageAddr;

/// A loaded section of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSection<'d> {
    /// Its name, as the program spells it.
    pub name: &'d [u8],
    /// Its first address; synthetic in a relocatable file.
    pub start: ImageAddr,
    /// Its bytes.
    pub len: u64,
    /// Holds code.
    pub executable: bool,
}

/// The program's loaded sections; see [`crate::records::Records::program_sections`].
#[derive(Clone)]
pub struct ProgramSections<'d> {
    data: &'d [u8],
    at: usize,
    left: u64,
    image_base: u64,
    /// One had a flag that no version has.
    strange: bool,
}

impl<'d> ProgramSections<'d> {
    pub(crate) fn new(data: &'d [u8], image_base: u64) -> Self {
        // Without a count the list is empty. Position 0 then shows `verify` that bytes are left.
        let (left, at) = varint::read(data, 0).unwrap_or((0, 0));
        Self { data, at, left, image_base, strange: false }
    }

    /// The read position, how many are left, and whether all flags are known; for `verify`.
    pub(crate) const fn rest(&self) -> (usize, u64, bool) {
        (self.at, self.left, !self.strange)
    }

    fn read(&mut self) -> Option<ProgramSection<'d>> {
        let (address, at) = varint::read(self.data, self.at)?;
        let (len, at) = varint::read(self.data, at)?;
        let flags = *self.data.get(at)?;
        // No error here: a listing goes on, and `verify` refuses the flag.
        self.strange |= flags & !1 != 0;
        let (name_len, at) = varint::read(self.data, at.checked_add(1)?)?;
        // The length is any number in a damaged file.
        let end = at.checked_add(usize::try_from(name_len).ok()?)?;
        let name = self.data.get(at..end)?;
        self.at = end;
        let start = ImageAddr(self.image_base.wrapping_add(address));
        Some(ProgramSection { name, start, len, executable: flags & 1 != 0 })
    }
}

impl<'d> Iterator for ProgramSections<'d> {
    type Item = ProgramSection<'d>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.left.checked_sub(1)?;
        let section = self.read();
        // If one cannot be read, the rest stays counted, so that `verify` sees it.
        match section {
            Some(_) => self.left = left,
            None => self.at = self.data.len(),
        }
        section
    }
}

/// A part of the program's file that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its first link-time address.
    pub start: ImageAddr,
    /// Bytes of memory.
    pub len: u64,
    /// Where in the file it begins.
    pub file_offset: u64,
    /// Bytes of the file; the rest of its memory is zero.
    pub file_len: u64,
    /// Holds code.
    pub executable: bool,
}

/// The program's segments; see [`crate::records::Records::segments`].
#[derive(Clone)]
pub struct Segments<'d> {
    data: &'d [u8],
    at: usize,
    left: u64,
    image_base: u64,
    flags: u8,
    /// One had a flag that no version has.
    strange: bool,
}

/// Flag in the section's first byte: the program may be loaded at any address.
const POSITION_INDEPENDENT: u8 = 1;

impl<'d> Segments<'d> {
    /// `None` without a count, and if there are more than [`segments::MAX`].
    pub(crate) fn new(data: &'d [u8], image_base: u64) -> Option<Self> {
        let flags = *data.first()?;
        let (left, at) = varint::read(data, 1)?;
        if left > segments::MAX.into() {
            return None;
        }
        Some(Self { data, at, left, image_base, flags, strange: flags & !POSITION_INDEPENDENT != 0 })
    }

    /// Whether the program may be loaded at any address (`ET_DYN`, a Mach-O library or position-independent executable).
    pub const fn is_position_independent(&self) -> bool {
        self.flags & POSITION_INDEPENDENT != 0
    }

    /// The link-time address of a byte of the file. Of segments that have the same byte, an executable one counts before others. Reads
    /// the segments up to that one, at most [`segments::MAX`].
    pub fn address_of(&self, file_offset: u64) -> Option<ImageAddr> {
        let mut found = None;
        for segment in self.clone() {
            // By the bytes of the file, not of memory: bytes past `p_filesz` are zero and not in the file (ELF gABI, program header).
            let Some(behind) = file_offset.checked_sub(segment.file_offset) else { continue };
            if behind < segment.file_len && (found.is_none() || segment.executable) {
                found = Some(ImageAddr(segment.start.0.wrapping_add(behind)));
                if segment.executable {
                    break;
                }
            }
        }
        found
    }

    /// The read position, how many are left, and whether all flags are known; for `verify`.
    pub(crate) const fn rest(&self) -> (usize, u64, bool) {
        (self.at, self.left, !self.strange)
    }

    fn read(&mut self) -> Option<Segment> {
        let (address, at) = varint::read(self.data, self.at)?;
        let (len, at) = varint::read(self.data, at)?;
        let (file_offset, at) = varint::read(self.data, at)?;
        let (file_len, at) = varint::read(self.data, at)?;
        let flags = *self.data.get(at)?;
        self.strange |= flags & !1 != 0;
        self.at = at.checked_add(1)?;
        let start = ImageAddr(self.image_base.wrapping_add(address));
        Some(Segment { start, len, file_offset, file_len, executable: flags & 1 != 0 })
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.left.checked_sub(1)?;
        let segment = self.read();
        // If one cannot be read, the rest stays counted, so that `verify` sees it.
        match segment {
            Some(_) => self.left = left,
            None => self.at = self.data.len(),
        }
        segment
    }
}
