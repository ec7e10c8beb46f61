//! Opens a file in memory: reads its header, directory and the first bytes of each table.

use foldsym_format::header::{ALIGN, HEADER_LEN, flags};
use foldsym_format::names::Names;
use foldsym_format::{DebugInfo, DirectoryEntry, FormatError, Header, SectionId, Starts, Table, What};
use foldsym_unwind::Unwind;

use crate::error::{Error, InSection};
use crate::ids::{FileId, ImageAddr, NameId};

/// An opened `.fsym`. It borrows the bytes, is `Copy`, and holds no state of its own: any number of
/// threads may read one.
#[derive(Clone, Copy)]
pub struct SymbolFile<'d> {
    pub(crate) bytes: &'d [u8],
    header: Header,
    pub(crate) starts: Starts<'d>,
    pub(crate) pieces: Table<'d>,
    pub(crate) functions: Table<'d>,
    pub(crate) origins: Table<'d>,
    pub(crate) edges: Table<'d>,
    pub(crate) groups: Table<'d>,
    pub(crate) members: Table<'d>,
    pub(crate) aliases: Table<'d>,
    pub(crate) calls: Table<'d>,
    pub(crate) tails: Table<'d>,
    pub(crate) vtables: Table<'d>,
    pub(crate) slots: Table<'d>,
    pub(crate) overriders: Table<'d>,
    pub(crate) dispatches: Table<'d>,
    pub(crate) targets: Table<'d>,
    pub(crate) rows: &'d [u8],
    pub(crate) scopes: &'d [u8],
    pub(crate) names: Names<'d>,
    pub(crate) files: Names<'d>,
    build_id: &'d [u8],
}

/// The sections that every file has: a bit for each id.
// Ids 2 to 9 and 20 (schema, section 3).
const REQUIRED: u64 = 0x10_03fc;

impl<'d> SymbolFile<'d> {
    /// Opens a file from all of its bytes: checks the header, the directory, their checksum, and the heads of the
    /// sections that a lookup needs. The directory repeats these heads, so nothing after the directory is read, and
    /// for most files only one page is touched. Takes constant time and allocates nothing;
    /// the sections' content is checked by [`SymbolFile::verify`], or on access.
    ///
    /// # Errors
    /// Bytes that are no `.fsym` of this version, that are shorter or longer than the file's own length, or
    /// whose header, directory or section heads break the format.
    pub fn open(bytes: &'d [u8]) -> Result<Self, Error> {
        let mut file = Self {
            bytes,
            header: Header::default(),
            starts: Starts::default(),
            pieces: Table::EMPTY,
            functions: Table::EMPTY,
            origins: Table::EMPTY,
            edges: Table::EMPTY,
            groups: Table::EMPTY,
            members: Table::EMPTY,
            aliases: Table::EMPTY,
            calls: Table::EMPTY,
            tails: Table::EMPTY,
            vtables: Table::EMPTY,
            slots: Table::EMPTY,
            overriders: Table::EMPTY,
            dispatches: Table::EMPTY,
            targets: Table::EMPTY,
            rows: &[],
            scopes: &[],
            names: Names::default(),
            files: Names::default(),
            build_id: &[],
        };
        // Filled in place: the C interface has bars on stack and code.
        file.open_sections()?;
        Ok(file)
    }

    /// Reads header and directory, and opens the sections that they list.
    #[inline(never)]
    fn open_sections(&mut self) -> Result<(), Error> {
        let bytes = self.bytes;
        self.header = Header::parse(bytes).within(Error::FILE)?;
        let header = self.header;
        let wrong = |what, offset| Error::new(Error::FILE, what, offset);
        let file_len = bytes.len() as u64;
        // The file may have been cut, or may have bytes after its end, which no checksum covers.
        if header.file_len > file_len {
            return Err(wrong(What::Truncated, file_len));
        }
        if header.file_len < file_len {
            return Err(wrong(What::Length, header.file_len));
        }
        let heads_end = directory_end(&header);
        let mut head_at = (HEADER_LEN as u64).wrapping_add(header.entries_len() as u64);
        let mut last_id = SectionId(0);
        let mut end = heads_end;
        let mut missing = REQUIRED;
        for index in 0..header.section_count {
            let at = entry_offset(index);
            let entry = entry(bytes, index).ok_or(wrong(What::Reserved, at))?;
            // Ids increase strictly: a second section of the same id would replace the first.
            if entry.id <= last_id {
                return Err(wrong(What::Order, at));
            }
            last_id = entry.id;
            let gap = entry.offset.checked_sub(end).ok_or(wrong(What::Order, at))?;
            // Bytes between sections only align the next one, so there are at most 7 (schema, section 2).
            if gap >= ALIGN || entry.offset % ALIGN != 0 {
                return Err(wrong(What::Length, at));
            }
            let section = slice(bytes, entry.offset, entry.len).ok_or(wrong(What::Truncated, at))?;
            end = entry.end().ok_or(wrong(What::Length, at))?;
            let head = slice(bytes, head_at, entry.head_len.into()).ok_or(wrong(What::Length, at))?;
            head_at = head_at.wrapping_add(entry.head_len.into());
            if head_at > heads_end {
                return Err(wrong(What::Length, at));
            }
            self.open_section(entry.id, head, section).within(entry.id)?;
            // All ids from 63 on share a bit, which no required section has. Without `min`, id 66 would wrap to id 2.
            missing &= !1u64.wrapping_shl(entry.id.0.min(63));
        }
        if end != file_len {
            return Err(wrong(What::Length, end));
        }
        if head_at != heads_end {
            return Err(wrong(What::Length, head_at));
        }
        if missing != 0 {
            return Err(Error::new(SectionId(missing.trailing_zeros()), What::Missing, 0));
        }
        // The number of a piece is an index into both.
        if self.starts.len() != self.pieces.len() {
            return Err(Error::new(SectionId::STARTS, What::Length, self.starts.len().into()));
        }
        Ok(())
    }

    /// Opens a section that lookups need, by its head; lets the others be. Of most files the head is in the page that was
    /// read already, the section in one of its own.
    #[inline(always)]
    fn open_section(&mut self, id: SectionId, head: &[u8], section: &'d [u8]) -> Result<(), FormatError> {
        let table = match id {
            SectionId::PIECES => &mut self.pieces,
            SectionId::FUNCTIONS => &mut self.functions,
            SectionId::ORIGINS => &mut self.origins,
            SectionId::EDGES => &mut self.edges,
            SectionId::GROUPS => &mut self.groups,
            SectionId::MEMBERS => &mut self.members,
            SectionId::ALIASES => &mut self.aliases,
            SectionId::CALLS => &mut self.calls,
            SectionId::TAILS => &mut self.tails,
            SectionId::VTABLES => &mut self.vtables,
            SectionId::SLOTS => &mut self.slots,
            SectionId::OVERRIDERS => &mut self.overriders,
            SectionId::DISPATCHES => &mut self.dispatches,
            SectionId::TARGETS => &mut self.targets,
            SectionId::NAMES | SectionId::FILES => {
                let names = if id == SectionId::NAMES { &mut self.names } else { &mut self.files };
                return names.open_with_head(head, section);
            }
            _ => {
                match id {
                    SectionId::STARTS => self.starts = Starts::with_head(head, section)?,
                    SectionId::BUILD_ID => self.build_id = section,
                    SectionId::ROWS => self.rows = section,
                    SectionId::SCOPES => self.scopes = section,
                    // Sections that are opened on demand, or that this reader does not know and must skip (schema, section 2).
                    _ => {}
                }
                return Ok(());
            }
        };
        *table = Table::with_head(head, section, id.column_count(self.header.features))?;
        Ok(())
    }

    /// The header's fields.
    #[inline]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The program's build id or UUID; empty if it has none.
    pub const fn build_id(&self) -> &'d [u8] {
        self.build_id
    }

    /// The link-time address that the file's addresses are relative to. Answers already include it.
    pub const fn image_base(&self) -> ImageAddr {
        ImageAddr(self.header.image_base)
    }

    /// The directory, in the order of the file.
    pub(crate) fn directory(&self) -> impl Iterator<Item = DirectoryEntry> + use<'d> {
        let bytes = self.bytes;
        (0..self.header.section_count).map_while(move |index| entry(bytes, index))
    }

    /// The bytes of a section; `None` if the file has none with this id.
    pub(crate) fn section_bytes(&self, id: SectionId) -> Option<&'d [u8]> {
        // A scan of at most 64 entries, which no lookup of frames needs.
        let entry = self.directory().find(|entry| entry.id == id)?;
        slice(self.bytes, entry.offset, entry.len)
    }

    /// Rows of call frame information, by link-time address, for walking frames; `None` of a file that was converted without
    /// `--unwind`.
    ///
    /// # Errors
    /// A damaged section.
    pub fn unwind(&self) -> Result<Option<Unwind<'d>>, Error> {
        let Some(data) = self.section_bytes(SectionId::UNWIND) else { return Ok(None) };
        Unwind::open(data, self.header.image_base).within(SectionId::UNWIND).map(Some)
    }

    /// Writes a function name to `out`, as much as fits, and returns its whole length in bytes; `None` for
    /// an id that does not exist or a damaged name.
    pub fn write_name(&self, name: NameId, out: &mut [u8]) -> Option<usize> {
        self.names.write(name.0, out)
    }

    /// Writes a path to `out`, as much as fits, and returns its whole length in bytes; `None` for an id that
    /// does not exist or a damaged path.
    pub fn write_path(&self, file: FileId, out: &mut [u8]) -> Option<usize> {
        self.files.write(file.0, out)
    }

    /// How much of the program's debug information the file has.
    pub const fn debug_info(&self) -> DebugInfo {
        DebugInfo::of_flags(self.header.flags)
    }

    /// Name 0 has no bytes, and means that a name is missing. Names are sorted, so no other can be empty.
    pub(crate) const fn first_name_is_empty(&self) -> bool {
        self.header.flags & flags::EMPTY_NAME != 0
    }

    /// `None` for the empty name.
    #[inline(always)]
    pub(crate) const fn non_empty(&self, name: NameId) -> Option<NameId> {
        if name.0 == 0 && self.first_name_is_empty() { None } else { Some(name) }
    }
}

/// Where the directory ends and sections may begin.
pub(crate) const fn directory_end(header: &Header) -> u64 {
    (HEADER_LEN as u64).saturating_add(header.directory_len as u64)
}

fn entry_offset(index: u32) -> u64 {
    let len = foldsym_format::header::ENTRY_LEN as u64;
    (HEADER_LEN as u64).wrapping_add(u64::from(index).wrapping_mul(len))
}

fn entry(bytes: &[u8], index: u32) -> Option<DirectoryEntry> {
    DirectoryEntry::parse(bytes.get(HEADER_LEN..)?, index as usize)
}

/// Bytes of the file.
pub(crate) fn slice(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    // Offsets have 64 bits in the file. On a 32-bit target some do not fit a `usize`.
    let end = usize::try_from(offset.checked_add(len)?).ok()?;
    bytes.get(start..end)
}
