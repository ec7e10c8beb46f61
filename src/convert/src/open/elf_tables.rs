//! The ELF header, section headers and program headers of both classes and byte orders, as rows of plain integers.

use std::path::Path;

use object::elf::{self, FileHeader32, FileHeader64, Rel32, Rel64, Rela32, Rela64, Sym32, Sym64};
use object::endian::{Endianness, U32};
use object::pod::{Pod, slice_from_all_bytes};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader, Sym};

use crate::diagnostics::opening::{OpenDiagnosticKind, OpenDiagnostics};
use crate::open::error::OpenError;
use crate::util::hash::{HashMap, HashSet};
use crate::util::text;

/// The bytes of names of versions that are read; glibc's have 700.
const MAX_VERSION_BYTES: usize = 1 << 20;

/// One row of the section header table.
pub(in crate::open) struct ElfSection<'f> {
    /// Empty if the name is not in the string table.
    pub(in crate::open) name: &'f [u8],
    pub index: usize,
    /// `sh_type`.
    pub(in crate::open) kind: u32,
    pub flags: u64,
    pub address: u64,
    /// File offset.
    pub offset: u64,
    pub size: u64,
    pub link: usize,
    pub info: usize,
    pub align: u64,
}

impl ElfSection<'_> {
    /// True if the section has its own addresses in memory. `.tbss` has not: the sections after it use the same addresses.
    pub(in crate::open) fn is_loaded(&self) -> bool {
        let thread_zeroes = self.flags & elf::SHF_TLS.0 != 0 && self.kind == elf::SHT_NOBITS.0;
        self.flags & elf::SHF_ALLOC.0 != 0 && !thread_zeroes
    }
}

/// One row of the program header table.
pub(in crate::open) struct ElfSegment<'f> {
    pub(in crate::open) kind: u32,
    pub address: u64,
    pub size: u64,
    pub file_offset: u64,
    pub file_size: u64,
    pub flags: u32,
    pub align: u64,
    /// The segment's bytes in the file; used to read notes.
    pub bytes: &'f [u8],
}

/// One ELF file's tables.
pub(in crate::open) struct Tables<'f> {
    pub data: &'f [u8],
    pub endian: Endianness,
    pub is_64: bool,
    pub file_type: u16,
    pub machine: u16,
    pub sections: Vec<ElfSection<'f>>,
    pub segments: Vec<ElfSegment<'f>>,
}

impl<'f> Tables<'f> {
    /// Reads the tables of an ELF file of any class and byte order.
    ///
    /// # Errors
    /// The header or a table is outside the file, a table has a wrong row size, or the file is a core dump.
    pub(in crate::open) fn parse(path: &Path, data: &'f [u8]) -> Result<Self, OpenError> {
        // `EI_CLASS` (System V gABI, ELF identification).
        const CLASS_OFFSET: usize = 4;
        match data.get(CLASS_OFFSET) {
            Some(&class) if class == elf::ELFCLASS32.0 => {
                Self::parse_class::<FileHeader32<Endianness>>(path, data, false)
            }
            Some(&class) if class == elf::ELFCLASS64.0 => {
                Self::parse_class::<FileHeader64<Endianness>>(path, data, true)
            }
            class => {
                let found = class.map_or("cut off here".to_owned(), |class| format!("class {class}"));
                Err(OpenError::malformed(
                    path,
                    "ELF header, offset 0x4",
                    format!("{found}, expected class 1 (32-bit) or 2 (64-bit)"),
                ))
            }
        }
    }

    fn parse_class<Elf: FileHeader<Endian = Endianness>>(
        path: &Path,
        data: &'f [u8],
        is_64: bool,
    ) -> Result<Self, OpenError> {
        let malformed = |place: String| {
            move |error: object::read::Error| OpenError::malformed(path, place, error.to_string())
        };
        let header = Elf::parse(data).map_err(malformed("ELF header, offset 0x0".to_owned()))?;
        let endian = header.endian().map_err(malformed("ELF header, offset 0x5".to_owned()))?;
        if header.e_type(endian) == elf::ET_CORE {
            let what = "a core dump, expected an executable, a library or an object file".to_owned();
            return Err(OpenError::Unsupported { path: path.to_owned(), what });
        }
        let place = format!("section header table, offset {:#x}", header.e_shoff(endian).into());
        // Linkers usually write this table last, so a file that was copied in part lacks it. The message says so.
        if data.len() as u64 <= header.e_shoff(endian).into() {
            let end = data.len();
            let problem = format!("the file ends at {end:#x}, before this table");
            return Err(OpenError::malformed(path, place, problem));
        }
        let headers = header.section_headers(endian, data).map_err(malformed(place))?;
        // If the name table is damaged, sections have no names, and `note_damage` counts them.
        let names = header.section_strings_index(endian, data).ok();
        let names = names.and_then(|names| headers.get(names.0)?.file_range(endian));
        let names = names.map_or(&[][..], |(offset, size)| bytes_of(data, offset, size));
        let sections = headers.iter().enumerate().map(|(index, row)| ElfSection {
            name: text_at(names, row.sh_name(endian)).unwrap_or_default(),
            index,
            kind: row.sh_type(endian).0,
            flags: row.sh_flags(endian).0,
            address: row.sh_addr(endian).into(),
            offset: row.sh_offset(endian).into(),
            size: row.sh_size(endian).into(),
            link: row.sh_link(endian) as usize,
            info: row.sh_info(endian) as usize,
            align: row.sh_addralign(endian).into(),
        });
        let place = format!("program header table, offset {:#x}", header.e_phoff(endian).into());
        let headers = header.program_headers(endian, data).map_err(malformed(place))?;
        let segments = headers.iter().map(|row| ElfSegment {
            kind: row.p_type(endian).0,
            address: row.p_vaddr(endian).into(),
            size: row.p_memsz(endian).into(),
            file_offset: row.p_offset(endian).into(),
            file_size: row.p_filesz(endian).into(),
            flags: row.p_flags(endian).0,
            align: row.p_align(endian).into(),
            // Only notes are read from these bytes. A segment outside the file has none.
            bytes: row.data(endian, data).unwrap_or_default(),
        });
        Ok(Self {
            data,
            endian,
            is_64,
            file_type: header.e_type(endian).0,
            machine: header.e_machine(endian).0,
            sections: sections.collect(),
            segments: segments.collect(),
        })
    }

    pub(in crate::open) fn is_big_endian(&self) -> bool {
        self.endian == Endianness::Big
    }

    /// True for little-endian MIPS64, where the fields of `r_info` have a different order.
    pub(in crate::open) fn is_mips64el(&self) -> bool {
        self.is_64 && !self.is_big_endian() && self.machine == elf::EM_MIPS.0
    }

    pub(in crate::open) fn is_relocatable(&self) -> bool {
        self.file_type == elf::ET_REL.0
    }

    /// Counts sections without a readable name, and relocation sections that [`Self::relocation_sections`] leaves out.
    pub(in crate::open) fn note_damage(&self, diagnostics: &mut OpenDiagnostics) {
        // `relocation_sections` takes a prefix of these sections, so the others are the ones after it.
        let read = self.relocation_sections().count();
        for section in
            self.sections.iter().filter(|section| self.relocation_rows(section).is_some()).skip(read)
        {
            diagnostics.note(OpenDiagnosticKind::BadRelocation, || {
                format!("section {} overlaps others", section.index)
            });
        }
        // Section 0 is reserved and has no name (System V gABI, special section indexes).
        for section in self.sections.iter().skip(1).filter(|section| section.name.is_empty()) {
            if section.kind != elf::SHT_NULL.0 {
                diagnostics.note(OpenDiagnosticKind::BadSectionName, || format!("section {}", section.index));
            }
        }
    }

    /// The first section with this name.
    pub(in crate::open) fn section(&self, name: &[u8]) -> Option<&ElfSection<'f>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The bytes of a section in the file, cut at the end of the file; none for `SHT_NOBITS`.
    pub(in crate::open) fn bytes(&self, section: &ElfSection<'f>) -> &'f [u8] {
        if section.kind == elf::SHT_NOBITS.0 || section.kind == elf::SHT_NULL.0 {
            return &[];
        }
        // A damaged header may give any offset and size. The sum saturates, and the slice is cut at the end of the file.
        let start = usize::try_from(section.offset).unwrap_or(usize::MAX).min(self.data.len());
        let end = usize::try_from(section.offset.saturating_add(section.size)).unwrap_or(usize::MAX);
        &self.data[start..end.min(self.data.len()).max(start)]
    }

    /// True if the file ends before the section does.
    pub(in crate::open) fn is_cut(&self, section: &ElfSection<'f>) -> bool {
        section.kind != elf::SHT_NOBITS.0 && (self.bytes(section).len() as u64) < section.size
    }

    /// The symbol table of this section type, `SHT_SYMTAB` or `SHT_DYNSYM`.
    pub(in crate::open) fn symbol_table(&self, kind: u32) -> Option<SymbolTable<'f>> {
        // A file has at most one section of each of these types (System V gABI, sections).
        let section = self.sections.iter().find(|section| section.kind == kind)?;
        let extended =
            |other: &&ElfSection<'_>| other.kind == elf::SHT_SYMTAB_SHNDX.0 && other.link == section.index;
        Some(self.symbol_table_at(section, self.sections.iter().find(extended)))
    }

    /// The symbol table in a section, with the extended section indices (`SHT_SYMTAB_SHNDX`) in another one.
    fn symbol_table_at(
        &self,
        section: &ElfSection<'f>,
        extended: Option<&ElfSection<'f>>,
    ) -> SymbolTable<'f> {
        let bytes = self.bytes(section);
        let table = if self.is_64 { HeaderRows::Elf64(rows(bytes)) } else { HeaderRows::Elf32(rows(bytes)) };
        let strings = self.sections.get(section.link).map_or(&[][..], |strings| self.bytes(strings));
        let extended = extended.map_or(&[][..], |other| rows(self.bytes(other)));
        SymbolTable { rows: table, strings, extended, endian: self.endian }
    }

    /// Each relocation section with its symbol table. Stops when the sections together have more bytes than the file, since
    /// they overlap then; `note_damage` counts the rest. Symbol tables and their extended indices are looked up in maps,
    /// because a search per relocation section would be quadratic.
    pub(in crate::open) fn relocation_sections(
        &self,
    ) -> impl Iterator<Item = (&ElfSection<'f>, RelocationRows<'f>, Option<SymbolTable<'f>>)> {
        let mut known: HashMap<usize, Option<SymbolTable<'f>>> = HashMap::default();
        let mut extended: HashMap<usize, &ElfSection<'f>> = HashMap::default();
        // Of several for one table the first counts, as in `symbol_table`.
        for section in self.sections.iter().filter(|section| section.kind == elf::SHT_SYMTAB_SHNDX.0) {
            extended.entry(section.link).or_insert(section);
        }
        let mut left = self.data.len();
        let relocations =
            self.sections.iter().filter_map(|section| Some((section, self.relocation_rows(section)?)));
        let within = relocations.map_while(move |(section, rows)| {
            // Sections that overlap would let a small file have any number of relocations.
            left = left.checked_sub(self.bytes(section).len())?;
            Some((section, rows))
        });
        within.map(move |(section, rows)| {
            let symbols = known.entry(section.link).or_insert_with(|| {
                // In a damaged file `sh_link` may name any section, and its bytes must not be read as symbols.
                let is_table = |table: &&ElfSection<'_>| {
                    matches!(elf::SectionType(table.kind), elf::SHT_SYMTAB | elf::SHT_DYNSYM)
                };
                let table = self.sections.get(section.link).filter(is_table)?;
                Some(self.symbol_table_at(table, extended.get(&table.index).copied()))
            });
            (section, rows, *symbols)
        })
    }

    /// The relocations in a section of type `SHT_RELA`, `SHT_REL` or `SHT_CREL`.
    fn relocation_rows(&self, section: &ElfSection<'f>) -> Option<RelocationRows<'f>> {
        let bytes = self.bytes(section);
        Some(match (elf::SectionType(section.kind), self.is_64) {
            (elf::SHT_RELA, true) => RelocationRows::Rela64(rows(bytes)),
            (elf::SHT_RELA, false) => RelocationRows::Rela32(rows(bytes)),
            (elf::SHT_REL, true) => RelocationRows::Rel64(rows(bytes)),
            (elf::SHT_REL, false) => RelocationRows::Rel32(rows(bytes)),
            (elf::SHT_CREL, _) => RelocationRows::Crel(bytes),
            _ => return None,
        })
    }

    /// The names of the versions that the file defines for its own symbols or needs of other files (`SHT_GNU_VERDEF`, `SHT_GNU_VERNEED`;
    /// LSB core, symbol versioning). In a separate debug file these sections have no bytes.
    pub(in crate::open) fn versions(&self) -> HashSet<&'f [u8]> {
        let mut versions = HashSet::default();
        // Any number of sections may have the same bytes, and any number of entries may have one long name.
        let (mut seen, mut left) = (Vec::new(), MAX_VERSION_BYTES);
        for section in &self.sections {
            // The places of the fields in an entry: its list of names, the next entry; in that list: the name, the next.
            let (list, next, name, next_name) = match elf::SectionType(section.kind) {
                elf::SHT_GNU_VERDEF => (12, 16, 0, 4),
                elf::SHT_GNU_VERNEED => (8, 12, 8, 12),
                _ => continue,
            };
            if seen.contains(&section.kind) {
                continue;
            }
            seen.push(section.kind);
            let bytes = self.bytes(section);
            let strings = self.sections.get(section.link).map_or(&[][..], |strings| self.bytes(strings));
            // Every list is at least as long as one of its names. A damaged file may chain them without end.
            let mut steps = bytes.len() / 8;
            let mut entry = 0_usize;
            while let (Some(first), Some(further)) =
                (self.word(bytes, entry.saturating_add(list)), self.word(bytes, entry.saturating_add(next)))
            {
                let mut at = entry.saturating_add(first as usize);
                while let (Some(text), Some(more)) = (
                    self.word(bytes, at.saturating_add(name)),
                    self.word(bytes, at.saturating_add(next_name)),
                ) {
                    let text = text_at(strings, text);
                    left = left.saturating_sub(text.map_or(0, <[u8]>::len));
                    if left == 0 {
                        return versions;
                    }
                    versions.extend(text);
                    steps = steps.saturating_sub(1);
                    at = at.saturating_add(more as usize);
                    if more == 0 || steps == 0 {
                        break;
                    }
                }
                steps = steps.saturating_sub(1);
                entry = entry.saturating_add(further as usize);
                if further == 0 || steps == 0 {
                    break;
                }
            }
        }
        versions
    }

    /// The 4-byte number at an offset of a section.
    fn word(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let word = *bytes.get(at..)?.first_chunk()?;
        Some(if self.is_big_endian() { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }

    /// Descriptor of the `NT_GNU_BUILD_ID` note; empty if there is none.
    pub(in crate::open) fn build_id(&self) -> &'f [u8] {
        let notes = self.sections.iter().filter(|section| section.kind == elf::SHT_NOTE.0);
        let mut found = notes.filter_map(|section| self.find_build_id(self.bytes(section), section.align));
        if let Some(id) = found.next() {
            return id;
        }
        // `llvm-strip --strip-sections` removes the section headers, and the note remains in its segment.
        let notes = self.segments.iter().filter(|segment| segment.kind == elf::PT_NOTE.0);
        let mut found = notes.filter_map(|segment| self.find_build_id(segment.bytes, segment.align));
        found.next().unwrap_or_default()
    }

    /// The content of `.debug_sup` (DWARF 5 7.3.6): whether this file is a supplementary file, the path of the supplementary
    /// file that it refers to (empty if it is one itself), and the checksum that both files have.
    pub(in crate::open) fn supplement(&self) -> Option<(bool, &'f [u8], &'f [u8])> {
        let bytes = self.bytes(self.section(b".debug_sup")?);
        let (version, bytes) = bytes.split_first_chunk()?;
        let version =
            if self.is_big_endian() { u16::from_be_bytes(*version) } else { u16::from_le_bytes(*version) };
        // DWARF 5 7.3.6 has version 5. Another version may have another layout.
        let (&is_supplementary, bytes) = bytes.split_first().filter(|_| version == 5)?;
        let length = bytes.iter().position(|&byte| byte == 0)?;
        let (name, bytes) = bytes.split_at(length);
        // The checksum's length is a LEB128 number. No producer writes a checksum of 128 bytes or more.
        let (&size, checksum) = bytes[1..].split_first().filter(|&(&size, _)| size < 0x80)?;
        let checksum = checksum.get(..usize::from(size)).filter(|checksum| !checksum.is_empty())?;
        Some((is_supplementary != 0, name, checksum))
    }

    fn find_build_id(&self, bytes: &'f [u8], align: u64) -> Option<&'f [u8]> {
        // The note header is the same in both classes. As in binutils, an alignment other than 8 counts as 4.
        let align = if align == 8 { 8 } else { 4 };
        let notes = NoteIterator::<FileHeader64<Endianness>>::new(self.endian, align, bytes).ok()?;
        notes
            // After a damaged note nothing shows where the next one begins.
            .map_while(Result::ok)
            .find(|note| note.name() == elf::ELF_NOTE_GNU && note.n_type(self.endian) == elf::NT_GNU_BUILD_ID)
            .map(|note| note.desc())
    }
}

/// The bytes at this file offset, cut at the end of the file.
fn bytes_of(data: &[u8], offset: u64, size: u64) -> &[u8] {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(data.len());
    data.get(place(offset)..place(offset.saturating_add(size))).unwrap_or_default()
}

/// The string at an offset of a string table.
fn text_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    text::until_zero(strings.get(offset as usize..)?)
}

/// All whole rows in the bytes.
fn rows<T: Pod>(bytes: &[u8]) -> &[T] {
    // A section that the end of the file cuts may end within a row.
    let whole = bytes.len() - bytes.len() % size_of::<T>().max(1);
    slice_from_all_bytes(&bytes[..whole]).unwrap_or_default()
}

#[derive(Clone, Copy)]
enum HeaderRows<'f> {
    Elf32(&'f [Sym32<Endianness>]),
    Elf64(&'f [Sym64<Endianness>]),
}

/// The section in which a symbol is defined (`st_shndx`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::open) enum SymbolPlace {
    Undefined,
    /// Absolute, common or processor-specific.
    Special,
    Section(usize),
}

/// One symbol, decoded.
#[derive(Clone, Copy)]
pub(in crate::open) struct RawSymbol {
    /// Offset of the name in the string table.
    pub(in crate::open) name: u32,
    /// `STT_*`.
    pub(in crate::open) kind: u8,
    /// `STB_*`.
    pub bind: u8,
    /// The visibility is `STV_DEFAULT`.
    pub(in crate::open) visible: bool,
    pub place: SymbolPlace,
    pub value: u64,
    pub size: u64,
}

/// One symbol table with its names.
#[derive(Clone, Copy)]
pub(in crate::open) struct SymbolTable<'f> {
    rows: HeaderRows<'f>,
    strings: &'f [u8],
    /// Section indices that do not fit into 16 bits (`SHT_SYMTAB_SHNDX`).
    extended: &'f [U32<Endianness>],
    endian: Endianness,
}

impl<'f> SymbolTable<'f> {
    pub(in crate::open) fn len(&self) -> usize {
        match self.rows {
            HeaderRows::Elf32(rows) => rows.len(),
            HeaderRows::Elf64(rows) => rows.len(),
        }
    }

    /// The symbol with this index.
    pub(in crate::open) fn get(&self, index: usize) -> Option<RawSymbol> {
        match self.rows {
            HeaderRows::Elf32(rows) => rows.get(index).map(|row| self.decode(index, row)),
            HeaderRows::Elf64(rows) => rows.get(index).map(|row| self.decode(index, row)),
        }
    }

    fn decode<S: Sym<Endian = Endianness>>(&self, index: usize, row: &S) -> RawSymbol {
        let place = match row.st_shndx(self.endian) {
            elf::SHN_UNDEF => SymbolPlace::Undefined,
            elf::SHN_XINDEX => match self.extended.get(index) {
                Some(section) => SymbolPlace::Section(section.get(self.endian) as usize),
                // No file has this section, so the symbol is counted as damaged.
                None => SymbolPlace::Section(usize::MAX),
            },
            special if special.0 >= elf::SHN_LORESERVE => SymbolPlace::Special,
            section => SymbolPlace::Section(usize::from(section.0)),
        };
        RawSymbol {
            name: row.st_name(self.endian),
            kind: row.st_type().0,
            bind: row.st_bind().0,
            visible: row.st_visibility() == elf::STV_DEFAULT,
            place,
            value: row.st_value(self.endian).into(),
            size: row.st_size(self.endian).into(),
        }
    }

    /// The size of the string table in bytes.
    pub(in crate::open) fn names_len(&self) -> usize {
        self.strings.len()
    }

    /// The string table from this offset on; empty if the offset is past its end.
    pub(in crate::open) fn names_from(&self, offset: u32) -> &'f [u8] {
        self.strings.get(offset as usize..).unwrap_or_default()
    }

    /// The name at an offset of the string table, cut at [`text::MAX_TEXT`] bytes.
    pub(in crate::open) fn name(&self, offset: u32) -> Option<&'f [u8]> {
        text_at(self.strings, offset)
    }
}

/// The rows of one relocation section, of any encoding.
#[derive(Clone, Copy)]
pub(in crate::open) enum RelocationRows<'f> {
    Rel32(&'f [Rel32<Endianness>]),
    Rel64(&'f [Rel64<Endianness>]),
    Rela32(&'f [Rela32<Endianness>]),
    Rela64(&'f [Rela64<Endianness>]),
    Crel(&'f [u8]),
}
