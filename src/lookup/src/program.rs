//! The section SECTIONS to the program's loaded sections (spec, section 7).

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

/// The program's loaded sections; see [`crate::SymbolFile::program_sections`].
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
        let (left, at) = varint::read(data, 0).unwrap_or((0, 0));
        Self { data, at, left, image_base, strange: false }
    }

    /// Where reading stands, how many are still to come, and whether all flags are known; for `verify`.
    pub(crate) const fn rest(&self) -> (usize, u64, bool) {
        (self.at, self.left, !self.strange)
    }

    fn read(&mut self) -> Option<ProgramSection<'d>> {
        let (address, at) = varint::read(self.data, self.at)?;
        let (len, at) = varint::read(self.data, at)?;
        let flags = *self.data.get(at)?;
        self.strange |= flags & !1 != 0;
        let (name_len, at) = varint::read(self.data, at.checked_add(1)?)?;
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
        // What is left stays counted where one cannot be read, so that `verify` sees it.
        match section {
            Some(_) => self.left = left,
            None => self.at = self.data.len(),
        }
        section
    }
}
