//! Reads one Mach-O file into an [`Image`]: sections and symbols at image addresses, and DWARF sections.
//!
//! A linked program has no DWARF. `dsymutil` writes it into a companion file with the same load commands, in which code
//! sections have their addresses but no contents. In an object file, sections already have consecutive addresses, so only
//! relocations against symbols change its debug sections.

pub(super) mod bundle;
pub(super) mod fat;
mod relocate;

use std::path::Path;

use object::elf;
use object::endian::Endianness;
use object::macho::{self, MachHeader32, MachHeader64};
use object::read::ReadRef;
use object::read::macho::{LoadCommandVariant, MachHeader, Nlist, Section as _, Segment as _};

use super::decompress::{self, Compression};
use super::error::OpenError;
use super::files::Files;
use super::image::{
    Arch, Binding, CodeSection, DebugSection, DebugSections, Format, Image, ImageKind, LoadedSegment,
    Restored, Symbol, SymbolKind, VariableSymbol,
};
use super::relocations::KeptRelocations;
use crate::diagnostics::opening::{OpenDiagnosticKind, OpenDiagnostics};
use crate::model::{AddressRange, ImageAddr};
use crate::policy::linker::Linker;
use crate::toolchain::assemblers::is_section_label;
use crate::toolchain::itanium_abi::is_vtable;
use crate::toolchain::linkers::is_macho_header;
use crate::util::hash::HashSet;
use crate::util::text::{self, shown};
use relocate::Relocations;

/// True if the data begins with the magic of a thin Mach-O file.
pub(super) fn is_macho(data: &[u8]) -> bool {
    let Some(magic) = data.first_chunk().map(|magic| u32::from_be_bytes(*magic)) else { return false };
    matches!(magic, macho::MH_MAGIC | macho::MH_CIGAM | macho::MH_MAGIC_64 | macho::MH_CIGAM_64)
}

/// Reads a thin Mach-O file. Opens no other file. The flag is true if the program has a debug map: its symbol table names
/// the object files that hold its debug information (`N_OSO`).
///
/// # Errors
/// A load command or table is damaged, the file is a core dump, or a compressed section is damaged or too large.
pub(super) fn read<'f>(
    files: &'f Files,
    path: &Path,
    data: &'f [u8],
) -> Result<(Image<'f>, bool), OpenError> {
    match data.first_chunk().map(|magic| u32::from_be_bytes(*magic)) {
        Some(macho::MH_MAGIC_64 | macho::MH_CIGAM_64) => {
            MachReader::<MachHeader64<Endianness>>::parse(path, data, 8)?.image(files)
        }
        _ => MachReader::<MachHeader32<Endianness>>::parse(path, data, 4)?.image(files),
    }
}

/// The `LC_UUID` of a thin file; empty if there is none or the file is damaged.
pub(super) fn uuid(data: &[u8]) -> &[u8] {
    fn find<Mach: MachHeader<Endian = Endianness>>(data: &[u8]) -> Option<&[u8]> {
        let header = Mach::parse(data, 0).ok()?;
        let commands = header.load_commands(header.endian().ok()?, data, 0).ok()?;
        let mut found = commands.map_while(Result::ok).filter_map(|command| command.uuid().ok().flatten());
        found.next().map(|command| &command.uuid[..])
    }
    // `parse` refuses the magic of the other class.
    find::<MachHeader64<Endianness>>(data)
        .or_else(|| find::<MachHeader32<Endianness>>(data))
        .unwrap_or_default()
}

/// The variables of a thin file; none if it is damaged, which was reported when it was opened.
pub(super) fn variables<'f>(path: &Path, data: &'f [u8]) -> Vec<VariableSymbol<'f>> {
    let found = match data.first_chunk().map(|magic| u32::from_be_bytes(*magic)) {
        Some(macho::MH_MAGIC_64 | macho::MH_CIGAM_64) => {
            MachReader::<MachHeader64<Endianness>>::parse(path, data, 8).map(MachReader::variables)
        }
        _ => MachReader::<MachHeader32<Endianness>>::parse(path, data, 4).map(MachReader::variables),
    };
    found.unwrap_or_default()
}

struct MachOSection<'f, S> {
    header: &'f S,
    /// The section's bytes in the file, cut at the end of the file.
    bytes: &'f [u8],
    cut: bool,
}

struct MachReader<'a, 'f, Mach: MachHeader<Endian = Endianness>> {
    path: &'a Path,
    data: &'f [u8],
    endian: Endianness,
    header: &'f Mach,
    address_size: u8,
    /// In file order: the section with ordinal 1 is first.
    sections: Vec<MachOSection<'f, Mach::Section>>,
    text_base: Option<u64>,
    segments: Vec<LoadedSegment>,
    uuid: &'f [u8],
    symbols: &'f [Mach::Nlist],
    strings: &'f [u8],
    diagnostics: OpenDiagnostics,
}

impl<'a, 'f, Mach: MachHeader<Endian = Endianness>> MachReader<'a, 'f, Mach> {
    fn parse(path: &'a Path, data: &'f [u8], address_size: u8) -> Result<Self, OpenError> {
        let malformed = |place: &'static str| {
            move |error: object::read::Error| OpenError::malformed(path, place, error.to_string())
        };
        let header = Mach::parse(data, 0).map_err(malformed("Mach-O header, offset 0x0"))?;
        let endian = header.endian().map_err(malformed("Mach-O header, offset 0x0"))?;
        if header.filetype(endian) == macho::MH_CORE {
            let what = "a core dump, expected an executable, a library or an object file".to_owned();
            return Err(OpenError::Unsupported { path: path.to_owned(), what });
        }
        let mut reader = Self {
            path,
            data,
            endian,
            header,
            address_size,
            sections: Vec::new(),
            text_base: None,
            segments: Vec::new(),
            uuid: &[],
            symbols: &[],
            strings: &[],
            diagnostics: OpenDiagnostics::default(),
        };
        let commands =
            header.load_commands(endian, data, 0).map_err(malformed("load commands, offset 0x20"))?;
        for command in commands {
            let command = command.map_err(malformed("load commands, offset 0x20"))?;
            if let Some((segment, rest)) =
                Mach::Segment::from_command(command).map_err(malformed("segment command"))?
            {
                reader.segment(segment, rest).map_err(malformed("segment command"))?;
                continue;
            }
            match command.variant() {
                Ok(LoadCommandVariant::Uuid(command)) => reader.uuid = &command.uuid,
                Ok(LoadCommandVariant::Symtab(command)) => reader.symtab(command),
                _ => {}
            }
        }
        Ok(reader)
    }

    fn segment(&mut self, segment: &'f Mach::Segment, rest: &'f [u8]) -> object::read::Result<()> {
        if segment.name() == b"__TEXT" && self.text_base.is_none() {
            self.text_base = Some(segment.vmaddr(self.endian).into());
        }
        // `__PAGEZERO` has no access rights and is not a part of the program.
        if segment.initprot(self.endian).0 != 0 {
            self.segments.push(LoadedSegment {
                start: segment.vmaddr(self.endian).into(),
                len: segment.vmsize(self.endian).into(),
                file_offset: segment.fileoff(self.endian).into(),
                file_len: segment.filesize(self.endian).into(),
                executable: segment.initprot(self.endian).0 & macho::VM_PROT_EXECUTE.0 != 0,
            });
        }
        let headers = segment.sections(self.endian, rest)?;
        // `section_offsets` restores file offsets above 4 GiB, of which a section header has only the low 32 bits.
        for entry in segment.section_offsets(self.endian, headers) {
            let (header, file_offset) = entry?;
            // Zero-filled sections (`S_ZEROFILL`) have no bytes in the file.
            let (offset, size) = header.file_range(self.endian, file_offset).unwrap_or((0, 0));
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.data.len());
            let end = usize::try_from(offset.saturating_add(size)).unwrap_or(usize::MAX).min(self.data.len());
            let bytes = &self.data[start..end.max(start)];
            self.sections.push(MachOSection { header, bytes, cut: (bytes.len() as u64) < size });
        }
        Ok(())
    }

    fn symtab(&mut self, command: &macho::SymtabCommand<Endianness>) {
        let (offset, count) = (command.symoff.get(self.endian), command.nsyms.get(self.endian));
        match self.data.read_slice_at(offset.into(), count as usize) {
            Ok(symbols) => self.symbols = symbols,
            Err(()) => {
                let first = || format!("symbol table, offset {offset:#x}, {count} symbols: outside the file");
                self.diagnostics.note(OpenDiagnosticKind::TruncatedSection, first);
            }
        }
        let start = u64::from(command.stroff.get(self.endian));
        let end = (start + u64::from(command.strsize.get(self.endian))).min(self.data.len() as u64);
        self.strings = self.data.read_bytes_at(start, end.saturating_sub(start)).unwrap_or_default();
    }

    fn image(mut self, files: &'f Files) -> Result<(Image<'f>, bool), OpenError> {
        let kind = match self.header.filetype(self.endian) {
            macho::MH_OBJECT => ImageKind::Relocatable,
            macho::MH_DSYM => ImageKind::DebugOnly,
            macho::MH_EXECUTE if self.header.flags(self.endian).0 & macho::MH_PIE.0 == 0 => {
                ImageKind::Executable
            }
            _ => ImageKind::Dynamic,
        };
        let (sections, position) = self.code_sections();
        let (symbols, has_debug_map) = self.symbols(&sections, &position);
        let debug = self.debug_sections(files, kind == ImageKind::Relocatable)?;
        let lowest = sections.first().map_or(0, |section| section.range.start.0);
        let code = self.code(&sections);
        let image = Image {
            files_read: vec![self.data],
            path: self.path.to_owned(),
            debug_path: None,
            format: Format::MachO,
            kind,
            arch: self.arch(),
            image_base: if kind == ImageKind::Relocatable { 0 } else { self.text_base.unwrap_or(lowest) },
            build_id: self.uuid,
            debug_link: None,
            sections,
            // The loader maps no object file, and the file offsets of a dSYM are not those of the program.
            segments: match kind {
                ImageKind::Executable | ImageKind::Dynamic => self.segments,
                ImageKind::Relocatable | ImageKind::DebugOnly => Vec::new(),
            },
            code,
            data: Vec::new(),
            loader: KeptRelocations::default(),
            symbols,
            versions: HashSet::default(),
            own_symbols: Vec::new(),
            code_marks: Vec::new(),
            symbol_files: Vec::new(),
            // `LC_BUILD_VERSION` may name the linker, but that decides nothing: both ld64 and ld64.lld can fold, and keep the symbols of
            // folded functions.
            linker: if kind == ImageKind::Relocatable { Linker::NotLinked } else { Linker::Apple },
            debug,
            supplementary: None,
            block_maps: Vec::new(),
            call_graphs: Vec::new(),
            relocations: KeptRelocations::default(),
            restored: Restored::default(),
            // In a linked file or its dSYM, an address 0 is a tombstone.
            zero_is_code: kind == ImageKind::Relocatable,
            diagnostics: self.diagnostics.into_vec(),
            files: None,
        };
        Ok((image, has_debug_map))
    }

    fn arch(&self) -> Arch {
        let (machine, name) = match self.header.cputype(self.endian) {
            macho::CPU_TYPE_X86_64 => (elf::EM_X86_64, "x86_64"),
            macho::CPU_TYPE_X86 => (elf::EM_386, "i386"),
            macho::CPU_TYPE_ARM64 | macho::CPU_TYPE_ARM64_32 => (elf::EM_AARCH64, "aarch64"),
            macho::CPU_TYPE_ARM => (elf::EM_ARM, "arm"),
            macho::CPU_TYPE_POWERPC => (elf::EM_PPC, "ppc"),
            macho::CPU_TYPE_POWERPC64 => (elf::EM_PPC64, "ppc64"),
            _ => (elf::EM_NONE, "unknown"),
        };
        let big_endian = self.endian == Endianness::Big;
        Arch { machine: machine.0, name, address_size: self.address_size, big_endian }
    }

    /// Loaded sections sorted by address, and for each section of the file (ordinal - 1) its position among them.
    fn code_sections(&mut self) -> (Vec<CodeSection>, Vec<u32>) {
        // Mach-O loader.h: a section has only instructions, or some.
        const CODE: u32 = macho::S_ATTR_PURE_INSTRUCTIONS.0 | macho::S_ATTR_SOME_INSTRUCTIONS.0;
        let mut sections = Vec::new();
        for (index, section) in self.sections.iter().enumerate() {
            let header = section.header;
            let segment = header.segment_name();
            // Object files have `__LD,__compact_unwind`, which the linker consumes. Neither segment has code.
            if matches!(segment, b"__DWARF" | b"__LD") {
                continue;
            }
            let start: u64 = header.addr(self.endian).into();
            let end = start.checked_add(header.size(self.endian).into()).unwrap_or_else(|| {
                let first = || format!("section {}", index + 1);
                self.diagnostics.note(OpenDiagnosticKind::SectionWraps, first);
                u64::MAX
            });
            sections.push(CodeSection {
                name: format!(
                    "{},{}",
                    String::from_utf8_lossy(segment),
                    String::from_utf8_lossy(header.name())
                ),
                index: index + 1,
                range: AddressRange::new(ImageAddr(start), ImageAddr(end)),
                executable: header.flags(self.endian).0 & CODE != 0,
            });
        }
        sections.sort_by_key(|section| (section.range.start, section.index));
        let mut position = vec![u32::MAX; self.sections.len()];
        for (at, section) in sections.iter().enumerate() {
            position[section.index - 1] = at as u32;
        }
        (sections, position)
    }

    /// The bytes of sections with instructions. A companion file has none: its code sections have only addresses and sizes.
    fn code(&self, sections: &[CodeSection]) -> Vec<(u64, &'f [u8])> {
        let executable = sections.iter().filter(|section| section.executable);
        let bytes = executable.map(|code| (code.range.start.0, self.sections[code.index - 1].bytes));
        bytes
            .filter(|(_, bytes)| self.header.filetype(self.endian) != macho::MH_DSYM && !bytes.is_empty())
            .collect()
    }

    fn symbols(&mut self, sections: &[CodeSection], position: &[u32]) -> (Vec<Symbol<'f>>, bool) {
        let mut symbols = Vec::new();
        let mut has_debug_map = false;
        let name_room = text::room(self.strings.len(), self.symbols.len());
        for (index, raw) in self.symbols.iter().enumerate() {
            has_debug_map |= raw.stab() == Some(macho::N_OSO);
            if !raw.is_definition() {
                continue;
            }
            // Ordinals count from 1 (Mach-O nlist.h). `NO_SECT` is 0, and wraps to a number that no section has.
            let ordinal = usize::from(raw.n_sect()).wrapping_sub(1);
            let name = || {
                let name = text::until_zero(self.strings.get(raw.n_strx(self.endian) as usize..)?)?;
                name_room.spend(name.len()).then_some(name)
            };
            let (false, Some(&position), Some(name)) = (name_room.is_short(), position.get(ordinal), name())
            else {
                let kind = match name_room.is_short() {
                    true => OpenDiagnosticKind::LongSymbolNames,
                    false => OpenDiagnosticKind::BadSymbol,
                };
                self.diagnostics.note(kind, || format!("symbol {index}"));
                continue;
            };
            // A section that `code_sections` leaves out has position `u32::MAX`.
            let Some(section) = sections.get(position as usize) else { continue };
            if is_section_label(name) {
                continue;
            }
            // Mach-O puts a `_` before every C name.
            let name = name.strip_prefix(b"_").unwrap_or(name);
            let kind = match name {
                [] => continue,
                // The symbol of the Mach-O header (`__mh_execute_header`): its section is the first one, its address before that.
                _ if is_macho_header(name) => continue,
                _ if section.executable => SymbolKind::Function,
                _ if is_vtable(name) => SymbolKind::Data,
                _ => continue,
            };
            let address: u64 = raw.n_value(self.endian).into();
            if !section.range.contains(ImageAddr(address)) {
                let first = || format!("{} at {address:#x}", shown(name));
                self.diagnostics.note(OpenDiagnosticKind::SymbolOutsideSection, first);
                continue;
            }
            let flags = raw.n_type();
            // `N_PEXT` is a private external symbol: visible to the static linker only, which makes it local.
            let binding = if !flags.is_ext() || flags.0 & macho::N_PEXT.0 != 0 {
                Binding::Local
            } else if raw.n_desc(self.endian).0 & macho::N_WEAK_DEF.0 != 0 {
                Binding::Weak
            } else {
                Binding::Global
            };
            symbols.push(Symbol {
                name,
                address,
                // `nlist` has no size. Later steps take the next symbol for the end.
                size: 0,
                kind,
                binding,
                section: position,
                file: None,
                is_of_file: false,
                dynamic: false,
                hidden: flags.0 & macho::N_PEXT.0 != 0,
            });
        }
        (symbols, has_debug_map)
    }

    /// The symbols in sections without instructions. `nlist` has no size: a variable ends where the next symbol of its section begins,
    /// as in `llvm-symbolizer`.
    fn variables(mut self) -> Vec<VariableSymbol<'f>> {
        let (sections, position) = self.code_sections();
        let name_room = text::room(self.strings.len(), self.symbols.len());
        let mut found: Vec<(u32, VariableSymbol<'f>)> = Vec::new();
        for raw in self.symbols.iter().filter(|raw| raw.is_definition()) {
            let ordinal = usize::from(raw.n_sect()).wrapping_sub(1);
            let place = position.get(ordinal).copied().unwrap_or(u32::MAX);
            let address = ImageAddr(raw.n_value(self.endian).into());
            let is_data = sections
                .get(place as usize)
                .is_some_and(|section| !section.executable && section.range.contains(address));
            let name = self.strings.get(raw.n_strx(self.endian) as usize..).and_then(text::until_zero);
            let Some(name) =
                name.filter(|name| is_data && !name_room.is_short() && name_room.spend(name.len()))
            else {
                continue;
            };
            // Mach-O puts a `_` before every C name.
            let own = name.strip_prefix(b"_").unwrap_or(name);
            if own.is_empty() || is_section_label(name) || is_macho_header(own) {
                continue;
            }
            let name = own;
            found.push((place, VariableSymbol { name, address, size: 0, file: None }));
        }
        // Stable: of symbols at one address the last stays last.
        found.sort_by_key(|(place, symbol)| (*place, symbol.address));
        let mut next: Option<(u32, ImageAddr, u64)> = None;
        for (place, symbol) in found.iter_mut().rev() {
            let end = match next {
                Some((same, address, size)) if same == *place && address == symbol.address => {
                    symbol.size = size;
                    continue;
                }
                Some((same, address, _)) if same == *place => address,
                _ => sections.get(*place as usize).map_or(symbol.address, |section| section.range.end),
            };
            symbol.size = end.0 - symbol.address.0;
            next = Some((*place, symbol.address, symbol.size));
        }
        found.into_iter().map(|(_, symbol)| symbol).collect()
    }

    fn debug_sections(
        &mut self,
        files: &'f Files,
        relocatable: bool,
    ) -> Result<DebugSections<'f>, OpenError> {
        let mut debug = DebugSections::default();
        for (index, section) in self.sections.iter().enumerate() {
            let name = section.header.name();
            let Some((id, z_name)) = debug_section_of(name) else { continue };
            let place = || format!("section {} {}", index + 1, shown(name));
            if section.cut {
                self.diagnostics.note(OpenDiagnosticKind::TruncatedSection, place);
            }
            let input = section.bytes;
            let length = input.len() as u64;
            let mut owned = None;
            if z_name && let Some(rest) = input.strip_prefix(b"ZLIB") {
                let malformed = |problem: String| OpenError::malformed(self.path, place(), problem);
                let (size, input) = rest
                    .split_first_chunk()
                    .ok_or_else(|| malformed("shorter than the header of a __zdebug section".to_owned()))?;
                // Big-endian in every file, as in ELF.
                let size = u64::from_be_bytes(*size);
                let mut bytes = files.reserve(self.path, &place(), size, length)?;
                decompress::append(Compression::Zlib, input, size, &mut bytes).map_err(malformed)?;
                owned = Some(bytes);
            }
            let header = section.header;
            let rows = match header.relocations(self.endian, self.data) {
                Ok(rows) => rows,
                Err(_) if relocatable => {
                    let first = || format!("{}, whose relocations are outside of the file", place());
                    self.diagnostics.note(OpenDiagnosticKind::UnrelocatedSection, first);
                    continue;
                }
                Err(_) => &[],
            };
            if relocatable && !rows.is_empty() {
                let mut bytes = match owned {
                    Some(bytes) => bytes,
                    None => {
                        let mut bytes = files.reserve(self.path, &place(), length, length)?;
                        bytes.extend_from_slice(input);
                        bytes
                    }
                };
                let value =
                    |index: u32| self.symbols.get(index as usize).map(|raw| raw.n_value(self.endian).into());
                let cpu = self.header.cputype(self.endian);
                let relocations = Relocations { rows, endian: self.endian, cpu, section: index + 1 };
                if !relocations.apply(&mut bytes, value, &mut self.diagnostics) {
                    let first = || format!("{}, of processor {}", place(), cpu.0);
                    self.diagnostics.note(OpenDiagnosticKind::UnrelocatedSection, first);
                    continue;
                }
                owned = Some(bytes);
            }
            debug.set(id, owned.map_or(input, |bytes| files.keep(bytes)));
        }
        Ok(debug)
    }
}

/// The debug section with this section name, which Mach-O cuts to 16 bytes (`__debug_str_offs`), and whether the name has
/// the old prefix for compressed sections (`__zdebug_`).
fn debug_section_of(name: &[u8]) -> Option<(DebugSection, bool)> {
    const NAME_SIZE: usize = 16;
    let (base, prefix_size, z_name) = match name.strip_prefix(b"__debug_") {
        Some(base) => (base, 8, false),
        None => (name.strip_prefix(b"__zdebug_")?, 9, true),
    };
    DebugSection::from_cut_name(base, NAME_SIZE - prefix_size).map(|id| (id, z_name))
}
