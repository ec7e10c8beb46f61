//! Opens a test program for the oracles: code sections, symbols, and DWARF sections, relocated where the file is `ET_REL`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use object::{
    File, Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationFlags, RelocationKind, RelocationTarget,
    SectionIndex, SectionKind, SymbolKind,
};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A section with code. In `ET_REL` its address is synthetic, see [`Program::open`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSection {
    pub index: usize,
    pub name: String,
    pub address: u64,
    pub size: u64,
}

/// What a symbol is to the rules of naming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `STT_FUNC`, `STT_GNU_IFUNC`; any symbol in a code section of Mach-O.
    Function,
    /// `STT_NOTYPE` in a code section.
    Label,
}

/// A symbol in a code section, at an image address.
#[derive(Debug, Clone)]
pub struct Symbol {
    pub address: u64,
    pub size: u64,
    pub kind: Kind,
    pub name: String,
}

/// One architecture of one test program.
#[derive(Debug)]
pub struct Program {
    bytes: Vec<u8>,
    pub code: Vec<CodeSection>,
    /// By address, then by name.
    pub symbols: Vec<Symbol>,
    pub relocatable: bool,
    bases: HashMap<usize, u64>,
}

/// The file with the DWARF: the one inside a dSYM bundle, else `path` itself.
pub fn dwarf_file(path: &Path) -> PathBuf {
    let inside = std::fs::read_dir(path.join("Contents/Resources/DWARF"));
    match inside.ok().and_then(|mut entries| entries.next()?.ok()) {
        Some(entry) => entry.path(),
        None => path.to_owned(),
    }
}

/// The architectures of a fat Mach-O file as llvm-symbolizer names them; empty for any other file.
pub fn architectures(path: &Path) -> Result<Vec<String>, Error> {
    let bytes = std::fs::read(dwarf_file(path))?;
    Ok(fat_slices(&bytes)?.into_iter().map(|(name, _)| name).collect())
}

fn fat_slices(bytes: &[u8]) -> Result<Vec<(String, std::ops::Range<usize>)>, Error> {
    use object::read::macho::FatArch;
    if !bytes.starts_with(&0xcafe_babe_u32.to_be_bytes()) {
        return Ok(Vec::new());
    }
    let fat = object::read::macho::MachOFatFile32::parse(bytes)?;
    let mut slices = Vec::new();
    for arch in fat.arches() {
        let name = match arch.architecture() {
            object::Architecture::Aarch64 => "arm64",
            object::Architecture::X86_64 => "x86_64",
            other => return Err(format!("no name for {other:?} in a fat file").into()),
        };
        let (offset, size) = arch.file_range();
        slices.push((name.to_owned(), offset as usize..(offset + size) as usize));
    }
    Ok(slices)
}

impl Program {
    /// Reads `path`, or one architecture of it.
    ///
    /// The code sections of an `ET_REL` file, which all begin at 0, are laid one after another from 0x1000 on, in
    /// section order and by their alignment. Only these files are relocated.
    ///
    /// # Errors
    /// An unreadable or unknown file, or one without the architecture.
    pub fn open(path: &Path, arch: Option<&str>) -> Result<Program, Error> {
        let mut bytes = std::fs::read(dwarf_file(path))?;
        if let Some(arch) = arch {
            let slices = fat_slices(&bytes)?;
            let (_, range) = slices.iter().find(|(name, _)| name == arch).ok_or("no such architecture")?;
            bytes = bytes[range.clone()].to_vec();
        }
        let file = File::parse(&*bytes)?;
        // Mach-O objects have real addresses for their sections already.
        let relocatable =
            file.kind() == ObjectKind::Relocatable && file.format() == object::BinaryFormat::Elf;
        let (mut code, mut bases, mut next) = (Vec::new(), HashMap::new(), 0x1000);
        for section in file.sections() {
            if !is_code(&section) || section.size() == 0 {
                continue;
            }
            let mut address = section.address();
            if relocatable {
                address = u64::next_multiple_of(next, section.align().max(1));
                next = address + section.size();
                bases.insert(section.index().0, address);
            }
            let name = section.name().unwrap_or("").to_owned();
            code.push(CodeSection { index: section.index().0, name, address, size: section.size() });
        }
        let symbols = read_symbols(&file, &code, &bases);
        Ok(Program { code, symbols, relocatable, bases, bytes })
    }

    /// The file's bytes. In `ET_REL` the section headers have the synthetic addresses, for a reader that cannot be given the section of an
    /// address; and `.debug_aranges` is removed, which llvm-symbolizer trusts but does not relocate.
    pub fn placed_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = self.bytes.clone();
        if !self.relocatable {
            return Ok(bytes);
        }
        let file = File::parse(&*self.bytes)?;
        let (is_64, little) = (file.is_64(), file.is_little_endian());
        let read = |at: usize, len: usize| number(&self.bytes[at..at + len], little);
        // e_shoff, e_shentsize, and sh_addr in an entry; sh_size is two words after sh_addr.
        let (table, entry, field, word) = match is_64 {
            true => (read(0x28, 8), read(0x3a, 2), 0x10, 8),
            false => (read(0x20, 4), read(0x2e, 2), 0x0c, 4),
        };
        for (index, address) in &self.bases {
            let at = table as usize + index * entry as usize + field;
            put(&mut bytes[at..at + word], *address, little);
        }
        if let Some(section) = file.section_by_name(".debug_aranges") {
            let at = (table + section.index().0 as u64 * entry) as usize + 2 * word + field;
            put(&mut bytes[at..at + word], 0, little);
        }
        Ok(bytes)
    }

    /// The DWARF of the program: decompressed, and relocated if it is `ET_REL`.
    pub fn dwarf(&self) -> Result<Sections, Error> {
        let file = File::parse(&*self.bytes)?;
        let load = |id: gimli::SectionId| -> Result<Vec<u8>, Error> {
            let Some(section) = file.section_by_name(id.name()) else { return Ok(Vec::new()) };
            let mut data = section.uncompressed_data()?.into_owned();
            if self.relocatable {
                self.relocate(&file, &section, &mut data);
            }
            Ok(data)
        };
        let sections = gimli::DwarfSections::load(load)?;
        let endian =
            if file.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
        Ok(Sections { sections, endian })
    }

    fn relocate(&self, file: &File<'_>, section: &object::Section<'_, '_>, data: &mut [u8]) {
        let little = file.is_little_endian();
        for (offset, relocation) in section.relocations() {
            let target = match relocation.target() {
                RelocationTarget::Symbol(index) => file.symbol_by_index(index).map_or(0, |symbol| {
                    let base = symbol.section_index().and_then(|SectionIndex(n)| self.bases.get(&n));
                    symbol.address().wrapping_add(base.copied().unwrap_or(0))
                }),
                RelocationTarget::Section(SectionIndex(n)) => self.bases.get(&n).copied().unwrap_or(0),
                _ => 0,
            };
            let value = target.wrapping_add_signed(relocation.addend());
            let Some(place) = data.get_mut(offset as usize..) else { continue };
            if let RelocationFlags::Elf { r_type } = relocation.flags()
                && file.architecture() == object::Architecture::Riscv64
                && riscv(place, r_type.0, value)
            {
                continue;
            }
            let size = usize::from(relocation.size() / 8);
            if relocation.kind() == RelocationKind::Absolute && size <= place.len() {
                let place = &mut place[..size];
                let implicit = if relocation.has_implicit_addend() { number(place, little) } else { 0 };
                put(place, value.wrapping_add(implicit), little);
            }
        }
    }
}

/// The relocations that linker relaxation leaves in the debug sections of RISC-V objects: differences in two halves.
fn riscv(place: &mut [u8], r_type: u32, value: u64) -> bool {
    // (size, sign): R_RISCV_ADD8.. are 33..=36, SUB8.. 37..=40, SET8/16/32 54..=56.
    let (size, old_sign, sign): (usize, u64, i64) = match r_type {
        33..=36 => (1 << (r_type - 33), 1, 1),
        37..=40 => (1 << (r_type - 37), 1, -1),
        54..=56 => (1 << (r_type - 54), 0, 1),
        // R_RISCV_RELAX only marks a place.
        _ => return r_type == 51,
    };
    if size <= place.len() {
        let old = number(&place[..size], true) * old_sign;
        put(&mut place[..size], old.wrapping_add_signed(sign.wrapping_mul(value as i64)), true);
    }
    true
}

fn number(bytes: &[u8], little: bool) -> u64 {
    let fold = |n: u64, byte: &u8| n << 8 | u64::from(*byte);
    if little { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) }
}

fn put(place: &mut [u8], value: u64, little: bool) {
    let len = place.len();
    for (at, byte) in place.iter_mut().enumerate() {
        let shift = 8 * if little { at } else { len - 1 - at };
        *byte = (value >> shift) as u8;
    }
}

/// Code by its flags: in a file of debug info only, code sections have no bytes and another type.
fn is_code(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        object::SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & object::elf::SHF_EXECINSTR.0 != 0,
        _ => section.kind() == SectionKind::Text,
    }
}

fn read_symbols(file: &File<'_>, code: &[CodeSection], bases: &HashMap<usize, u64>) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    // A stripped file keeps only what the dynamic linker needs.
    let dynamic = file.symbols().next().is_none().then(|| file.dynamic_symbols());
    for symbol in file.symbols().chain(dynamic.into_iter().flatten()) {
        let Some(SectionIndex(index)) = symbol.section_index() else { continue };
        let name = symbol.name().unwrap_or("");
        if name.is_empty() || !code.iter().any(|section| section.index == index) {
            continue;
        }
        // Mach-O puts an underscore before every name of a source; llvm-symbolizer takes it off again.
        let name = match file.format() {
            object::BinaryFormat::MachO => name.strip_prefix('_').unwrap_or(name),
            _ => name,
        };
        let kind = match (file.format(), symbol.kind()) {
            (_, SymbolKind::File | SymbolKind::Section) => continue,
            (object::BinaryFormat::MachO, _) | (_, SymbolKind::Text) => Kind::Function,
            _ => match symbol.flags() {
                object::SymbolFlags::Elf { st_info, .. }
                    if st_info.st_type() == object::elf::STT_GNU_IFUNC =>
                {
                    Kind::Function
                }
                _ => Kind::Label,
            },
        };
        let mut address = symbol.address().wrapping_add(bases.get(&index).copied().unwrap_or(0));
        if file.architecture() == object::Architecture::Arm && kind == Kind::Function {
            address &= !1; // the Thumb bit
        }
        symbols.push(Symbol { address, size: symbol.size(), kind, name: name.to_owned() });
    }
    symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    symbols
}

/// DWARF sections that own their bytes.
#[derive(Debug)]
pub struct Sections {
    sections: gimli::DwarfSections<Vec<u8>>,
    endian: gimli::RunTimeEndian,
}

/// What the oracles read DWARF through.
pub type Reader<'a> = gimli::EndianSlice<'a, gimli::RunTimeEndian>;

impl Sections {
    pub fn borrow(&self) -> gimli::Dwarf<Reader<'_>> {
        self.sections.borrow(|bytes| gimli::EndianSlice::new(bytes, self.endian))
    }
}

/// One contiguous range of a function that has a DIE.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    pub start: u64,
    pub end: u64,
    /// The DIE's linkage name, else its name; `None` if it has neither, origins included.
    pub name: Option<String>,
}

type Unit<'a> = gimli::Unit<Reader<'a>>;

/// The pieces of all `DW_TAG_subprogram` entries that have addresses in the program's code, by address, and the
/// addresses of all line rows.
///
/// # Errors
/// DWARF that gimli cannot read.
pub fn pieces_and_rows(program: &Program) -> Result<(Vec<Piece>, Vec<u64>), Error> {
    let sections = program.dwarf()?;
    let dwarf = sections.borrow();
    let (mut pieces, mut rows) = (Vec::new(), Vec::new());
    let in_code = |at: u64| program.code.iter().any(|s| (s.address..s.address + s.size).contains(&at));
    let mut units: Vec<(usize, Unit<'_>)> = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        units.push((header.offset().0, dwarf.unit(header)?));
    }
    for (start, unit) in &units {
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let mut ranges = dwarf.die_ranges(unit, entry)?;
            while let Some(range) = ranges.next()? {
                if range.begin < range.end && in_code(range.begin) {
                    let name = name_of(&dwarf, &units, start + entry.offset().0);
                    pieces.push(Piece { start: range.begin, end: range.end, name });
                }
            }
        }
        if let Some(program) = unit.line_program.clone() {
            let mut state = program.rows();
            while let Some((_, row)) = state.next_row()? {
                rows.extend(in_code(row.address()).then_some(row.address()));
            }
        }
    }
    pieces.sort();
    pieces.dedup();
    rows.sort_unstable();
    rows.dedup();
    Ok((pieces, rows))
}

/// The linkage name, else the name, of the entry at `offset` of `.debug_info` or of what it is an instance of.
fn name_of(dwarf: &gimli::Dwarf<Reader<'_>>, units: &[(usize, Unit<'_>)], offset: usize) -> Option<String> {
    let (mut offset, mut plain) = (offset, None);
    // Chains are short: instance, abstract origin, declaration. The bound is for cycles.
    for _ in 0..16 {
        let (start, unit) = &units[units.partition_point(|(start, _)| *start <= offset).checked_sub(1)?];
        let entry = unit.entry(gimli::UnitOffset(offset - start)).ok()?;
        let text = |attr| -> Option<String> {
            let text = dwarf.attr_string(unit, entry.attr_value(attr)?).ok()?;
            Some(text.to_string_lossy().into_owned())
        };
        if let Some(name) = text(gimli::DW_AT_linkage_name).or_else(|| text(gimli::DW_AT_MIPS_linkage_name)) {
            return Some(name);
        }
        plain = plain.or_else(|| text(gimli::DW_AT_name));
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
        offset = match origin.or_else(|| entry.attr_value(gimli::DW_AT_specification)) {
            Some(gimli::AttributeValue::UnitRef(local)) => start + local.0,
            Some(gimli::AttributeValue::DebugInfoRef(offset)) => offset.0,
            _ => return plain,
        };
    }
    plain
}
