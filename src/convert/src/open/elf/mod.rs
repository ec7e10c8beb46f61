//! Reads one ELF file into an [`Image`]: sections at image addresses, symbols and debug sections.

mod action;
mod layout;
mod others;
mod relocate;
mod restore;
mod sections;
mod symbols;
mod variables;

use std::path::Path;

use object::elf;

use super::compressed::map_program;
pub(super) use super::elf_tables::{ElfSection, Tables};
use super::error::OpenError;
use super::files::Files;
use super::image::{
    Arch, CodeSection, DebugSections, Format, Image, ImageKind, LoadedSegment, Restored, VariableSymbol,
};
use super::magic::not_an_object;
use super::relocations::KeptRelocations;
use crate::diagnostics::opening::{OpenDiagnosticKind, OpenDiagnostics};
use crate::model::{AddressRange, ImageAddr};
use crate::policy::linker::Linker;
use crate::util::text::{self, shown};
use layout::Layout;
use sections::{Contents, DebugLayout};
pub(super) use symbols::exported_parts;

/// The largest section alignment that synthetic addresses respect. It is above any page size in use.
const MAX_ALIGN: u64 = 1 << 32;

/// Section names are cut to this many bytes if all of them together are too long.
const SHORT_NAME: usize = 64;

/// An ELF file's references to other files, and its embedded symbols.
#[derive(Default)]
pub(super) struct Links<'f> {
    /// File name and CRC-32 of `.gnu_debuglink`.
    pub debuglink: Option<(&'f [u8], u32)>,
    /// Path and build id of `.gnu_debugaltlink`, or path and checksum of `.debug_sup`.
    pub altlink: Option<(&'f [u8], &'f [u8])>,
    /// The xz stream of `.gnu_debugdata`.
    pub minidebug: Option<&'f [u8]>,
    /// True if the file has a `.symtab`.
    pub symtab: bool,
    /// True if the file has tables of versions, also without their bytes.
    pub has_versions: bool,
}

/// Reads an ELF file. Opens no other file.
///
/// # Errors
/// The header or a table is damaged, the file is a core dump, or a compressed section is damaged or too large.
pub(super) fn read<'f>(
    files: &'f Files,
    path: &Path,
    data: &'f [u8],
) -> Result<(Image<'f>, Links<'f>), OpenError> {
    let tables = Tables::parse(path, data)?;
    let mut diagnostics = OpenDiagnostics::default();
    tables.note_damage(&mut diagnostics);
    let layout = layout(path, &tables, &mut diagnostics)?;

    let contents = Contents { files, path, tables: &tables };
    let mut debug_layout = DebugLayout::find(&contents, false, &mut diagnostics)?;
    if !debug_layout.has_units() {
        // A `.dwo` that the user names as the program has its units only in the sections with the suffix.
        let split = DebugLayout::find(&contents, true, &mut diagnostics)?;
        if split.has_units() {
            debug_layout = split;
        }
    }
    let symbol_table = tables.symbol_table(elf::SHT_SYMTAB.0);
    let mut debug = debug_layout.load(&contents, &layout, true, &mut diagnostics)?;
    let block_maps = sections::block_maps(&contents, &layout, &mut diagnostics);
    let call_graphs = sections::call_graphs(&contents, &layout, &mut diagnostics);

    let descriptors = symbols::Descriptors::read(&contents, &layout, &mut diagnostics)?;
    let symbols::SymbolTables { symbols, files: symbol_files, marks, versions } =
        symbols::read(&tables, &layout, &descriptors, &mut diagnostics);
    let relocations =
        if tables.is_relocatable() { KeptRelocations::default() } else { KeptRelocations::find(&tables) };
    let linker = Linker::of(|name| tables.section(name).map(|section| tables.bytes(section)));
    let restored = match linker.may_fold() {
        // A linker that folds nothing writes tombstones only for functions that it removed, so there is nothing to restore.
        // The search would cost time: a Linux kernel has ten million kept relocations.
        false => Restored::default(),
        true => restore::restore(files, &tables, &layout, &relocations, &mut debug, path)?,
    };
    let links = Links {
        debuglink: contents.debuglink(),
        altlink: contents.altlink(),
        minidebug: tables.section(b".gnu_debugdata").map(|section| tables.bytes(section)),
        symtab: symbol_table.is_some(),
        has_versions: [&b".gnu.version_d"[..], b".gnu.version_r"]
            .iter()
            .any(|name| tables.section(name).is_some()),
    };
    // In the order of `Layout::sections`, which is that of addresses: `Machine` finds a section by binary search.
    let contents_of = |executable: bool| {
        let sections = layout.sections.iter().filter(|section| section.executable == executable);
        sections
            .filter_map(|section| {
                Some((section.range.start.0, tables.bytes(tables.sections.get(section.index)?)))
            })
            .collect()
    };
    let (code, contents) = (contents_of(true), contents_of(false));
    let kind = kind(&tables, &debug);
    let image = Image {
        path: path.to_owned(),
        debug_path: None,
        format: Format::Elf,
        kind,
        arch: arch(&tables),
        image_base: image_base(&tables, &layout),
        build_id: tables.build_id(),
        debug_link: links.debuglink,
        sections: layout.sections,
        segments: if kind == ImageKind::DebugOnly { Vec::new() } else { segments(&tables) },
        code,
        data: contents,
        loader: if tables.is_relocatable() {
            KeptRelocations::default()
        } else {
            KeptRelocations::for_loader(&tables)
        },
        symbols,
        versions,
        own_symbols: Vec::new(),
        code_marks: marks,
        files_read: vec![data],
        symbol_files,
        linker,
        debug,
        supplementary: None,
        block_maps,
        call_graphs,
        relocations,
        restored,
        zero_is_code: tables.is_relocatable() && !relocate::has_erased(&tables),
        diagnostics: diagnostics.into_vec(),
        files: None,
    };
    Ok((image, links))
}

/// Adds the variables of one of the files that an image is made of.
pub(super) fn add_variables<'f>(image: &Image<'f>, data: &'f [u8], found: &mut Vec<VariableSymbol<'f>>) {
    let Ok(tables) = Tables::parse(&image.path, data) else { return };
    if let Ok(layout) = layout(&image.path, &tables, &mut OpenDiagnostics::default()) {
        variables::add(image, &tables, &layout, found);
    }
}

/// What a file holds of a build, by its tables alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Empty where there is none.
    pub build_id: Vec<u8>,
    /// The bytes of code. A separate debug file has none.
    pub code: bool,
    /// Debug information.
    pub units: bool,
    /// Name, address and size of the sections of code, also where their bytes are in another file. A build id does not change where a
    /// program is rewritten after it was linked, and a linker takes any build id that it is given.
    pub layout: Vec<(Vec<u8>, u64, u64)>,
    /// The name in the debug link.
    pub debug_link: Option<Vec<u8>>,
}

/// Says what an ELF file holds of its build.
///
/// # Errors
/// The file cannot be read, is no ELF file, or its tables are damaged.
pub fn holdings(path: &Path) -> Result<Holdings, OpenError> {
    let files = Files::default();
    let data = map_program(&files, path)?;
    let build_id = build_id(path, data)?.to_vec();
    let tables = Tables::parse(path, data)?;
    // A separate debug file has section headers of code too, of type `SHT_NOBITS`.
    let mut there =
        tables.sections.iter().filter(|section| section.kind != elf::SHT_NOBITS.0 && section.size > 0);
    let code = there.clone().any(|section| section.is_loaded() && section.flags & elf::SHF_EXECINSTR.0 != 0);
    let units = there.any(|section| matches!(section.name, b".debug_info" | b".zdebug_info"));
    // The headers alone count here, so a program and its debug file have the same layout.
    let of_code = tables
        .sections
        .iter()
        .filter(|section| section.is_loaded() && section.flags & elf::SHF_EXECINSTR.0 != 0);
    let layout = of_code.map(|section| (section.name.to_vec(), section.address, section.size)).collect();
    let contents = Contents { files: &files, path, tables: &tables };
    let debug_link = contents.debuglink().map(|(name, _)| name.to_vec());
    Ok(Holdings { build_id, code, units, layout, debug_link })
}

/// Whether the debug link of a program leads to this file, wherever it is: by its name and checksum. This reads the whole file.
pub fn is_linked(program: &Path, debug_file: &Path) -> bool {
    let files = Files::default();
    let linked = || {
        let data = map_program(&files, program).ok()?;
        let tables = Tables::parse(program, data).ok()?;
        let (name, checksum) = Contents { files: &files, path: program, tables: &tables }.debuglink()?;
        let is_named = debug_file.file_name().is_some_and(|own| own.as_encoded_bytes() == name);
        Some(is_named && crc32fast::hash(map_program(&files, debug_file).ok()?) == checksum)
    };
    linked().unwrap_or(false)
}

/// The build id of an ELF file; empty where it has none.
///
/// # Errors
/// The header or a table is damaged.
pub(super) fn build_id<'f>(path: &Path, data: &'f [u8]) -> Result<&'f [u8], OpenError> {
    if !data.starts_with(&elf::ELFMAG) {
        return Err(not_an_object(path, data));
    }
    Ok(Tables::parse(path, data)?.build_id())
}

/// The id by which other files refer to this supplementary file: the checksum in its `.debug_sup`, else its build id.
///
/// # Errors
/// As [`build_id`].
pub(super) fn supplementary_id<'f>(path: &Path, data: &'f [u8]) -> Result<&'f [u8], OpenError> {
    if !data.starts_with(&elf::ELFMAG) {
        return build_id(path, data);
    }
    let tables = Tables::parse(path, data)?;
    let own = tables.supplement().filter(|(is_supplementary, ..)| *is_supplementary);
    Ok(own.map_or_else(|| tables.build_id(), |(.., checksum)| checksum))
}

/// The debug sections of a split DWARF file.
pub(super) struct Split<'f> {
    pub debug: DebugSections<'f>,
    pub arch: Arch,
    pub diagnostics: OpenDiagnostics,
}

/// Reads the `.dwo` sections of a `.dwo`, a `.dwp` or an object compiled with `-gsplit-dwarf=single`.
///
/// # Errors
/// As [`read`].
pub(super) fn read_split<'f>(files: &'f Files, path: &Path, data: &'f [u8]) -> Result<Split<'f>, OpenError> {
    let tables = Tables::parse(path, data)?;
    let mut diagnostics = OpenDiagnostics::default();
    tables.note_damage(&mut diagnostics);
    let layout = layout(path, &tables, &mut diagnostics)?;
    let contents = Contents { files, path, tables: &tables };
    let debug_layout = DebugLayout::find(&contents, true, &mut diagnostics)?;
    // Not in parallel: callers read many files in parallel, and rayon would start the next file on this thread while it waits.
    let debug = debug_layout.load(&contents, &layout, false, &mut diagnostics)?;
    Ok(Split { debug, arch: arch(&tables), diagnostics })
}

fn kind(tables: &Tables<'_>, debug: &DebugSections<'_>) -> ImageKind {
    let code = |section: &&ElfSection<'_>| section.is_loaded() && section.flags & elf::SHF_EXECINSTR.0 != 0;
    let mut code_sections = tables.sections.iter().filter(code).peekable();
    let no_code = code_sections.peek().is_none();
    if tables.is_relocatable() {
        return ImageKind::Relocatable;
    }
    // After `objcopy --only-keep-debug`, code sections have no contents. A dwz file has no code sections.
    // `all` is true without code sections too. Then only units make it a debug file: a library may have data alone.
    if code_sections.all(|section| section.kind == elf::SHT_NOBITS.0) && (debug.has_units() || !no_code) {
        return ImageKind::DebugOnly;
    }
    if tables.file_type == elf::ET_EXEC.0 { ImageKind::Executable } else { ImageKind::Dynamic }
}

/// The `PT_LOAD` segments. The caller does not use them for a separate debug file: its file offsets are not the program's.
fn segments(tables: &Tables<'_>) -> Vec<LoadedSegment> {
    let loaded = tables.segments.iter().filter(|segment| segment.kind == elf::PT_LOAD.0);
    let loaded = loaded.map(|segment| LoadedSegment {
        start: segment.address,
        len: segment.size,
        file_offset: segment.file_offset,
        file_len: segment.file_size,
        executable: segment.flags & elf::PF_X.0 != 0,
    });
    loaded.collect()
}

fn image_base(tables: &Tables<'_>, layout: &Layout) -> u64 {
    if tables.is_relocatable() {
        return 0;
    }
    let first_load = tables.segments.iter().find(|segment| segment.kind == elf::PT_LOAD.0);
    match (first_load, layout.sections.first()) {
        (Some(segment), _) => segment.address,
        (None, Some(section)) => section.range.start.0,
        (None, None) => 0,
    }
}

fn arch(tables: &Tables<'_>) -> Arch {
    let machine = elf::Machine(tables.machine);
    let name = match machine {
        elf::EM_X86_64 => "x86_64",
        elf::EM_386 | elf::EM_IAMCU => "i386",
        elf::EM_AARCH64 => "aarch64",
        elf::EM_ARM => "arm",
        elf::EM_PPC64 => "ppc64",
        elf::EM_PPC => "ppc",
        elf::EM_S390 if tables.is_64 => "s390x",
        elf::EM_S390 => "s390",
        elf::EM_MIPS if tables.is_64 => "mips64",
        elf::EM_MIPS => "mips",
        elf::EM_RISCV if tables.is_64 => "riscv64",
        elf::EM_RISCV => "riscv32",
        elf::EM_LOONGARCH if tables.is_64 => "loongarch64",
        elf::EM_LOONGARCH => "loongarch32",
        elf::EM_AMDGPU => "amdgcn",
        elf::EM_SPARC | elf::EM_SPARC32PLUS => "sparc",
        elf::EM_SPARCV9 => "sparc64",
        elf::EM_BPF => "bpf",
        elf::EM_HEXAGON => "hexagon",
        elf::EM_CUDA => "nvptx",
        elf::EM_68K => "m68k",
        elf::EM_ALPHA => "alpha",
        elf::EM_SH => "sh",
        elf::EM_PARISC if tables.is_64 => "hppa64",
        elf::EM_PARISC => "hppa",
        elf::EM_AVR => "avr",
        elf::EM_MSP430 => "msp430",
        elf::EM_XTENSA => "xtensa",
        elf::EM_CSKY => "csky",
        elf::EM_IA_64 => "ia64",
        _ => "unknown",
    };
    let address_size = if tables.is_64 { 8 } else { 4 };
    Arch { machine: tables.machine, name, address_size, big_endian: tables.is_big_endian() }
}

/// The `.eh_frame` sections of an `ET_REL` file at their synthetic addresses, relocated.
///
/// # Errors
/// As [`read`].
pub(super) fn eh_frames<'f>(
    files: &'f Files,
    path: &Path,
    data: &'f [u8],
) -> Result<Vec<(u64, &'f [u8])>, OpenError> {
    let tables = Tables::parse(path, data)?;
    let mut diagnostics = OpenDiagnostics::default();
    let layout = layout(path, &tables, &mut diagnostics)?;
    let relocator = relocate::Relocator::new(&tables, &layout.bias);
    let mut found = Vec::new();
    for section in tables.sections.iter().filter(|section| section.name == b".eh_frame") {
        let input = tables.bytes(section);
        let size = input.len() as u64;
        let mut bytes = files.reserve(path, ".eh_frame", size, size)?;
        bytes.extend_from_slice(input);
        // A relocation that was not applied is in `diagnostics`, which is checked below.
        let _ = relocator.apply(section.index, &mut bytes, &mut diagnostics);
        found.push((layout.bias[section.index], files.keep(bytes)));
    }
    match diagnostics.into_vec().into_iter().next() {
        None => Ok(found),
        // With a wrong relocation an unwind row would be wrong, or would belong to another function.
        Some(noted) => Err(OpenError::malformed(path, "section .eh_frame".to_owned(), noted.to_string())),
    }
}

/// Gives each loaded section its image address.
///
/// In a linked file sections have addresses. In `ET_REL` they get consecutive, aligned addresses from 0 on, in section
/// order, so that no two functions share an address. `llvm-symbolizer` instead leaves every section at 0, so its answer
/// for one address can mix several sections. For a file with one code section both give the same answers.
fn layout(path: &Path, tables: &Tables<'_>, diagnostics: &mut OpenDiagnostics) -> Result<Layout, OpenError> {
    let highest = if tables.is_64 { u64::MAX } else { 1 << 32 };
    let mut sections = Vec::new();
    let mut bias = vec![0; tables.sections.len()];
    let mut next = 0u64;
    // A hostile file can give the same long name to many sections.
    let name_room = text::room(tables.data.len(), tables.sections.len());
    for section in tables.sections.iter().filter(|section| section.is_loaded()) {
        let mut start = section.address;
        if tables.is_relocatable() {
            let align = section.align.clamp(1, MAX_ALIGN);
            // The gABI allows 0, 1 and powers of two. Anything else is damage, and counts as no alignment.
            let align = if align.is_power_of_two() { align } else { 1 };
            let placed = next.checked_next_multiple_of(align);
            let end = placed.and_then(|start| start.checked_add(section.size)).filter(|&end| end <= highest);
            let (Some(placed), Some(end)) = (placed, end) else {
                let place = format!("section {} {}", section.index, shown(section.name));
                return Err(OpenError::malformed(path, place, "sections do not fit into one address space"));
            };
            (start, next) = (placed, end);
            bias[section.index] = placed;
        }
        let end = start.checked_add(section.size).filter(|&end| end <= highest).unwrap_or_else(|| {
            diagnostics.note(OpenDiagnosticKind::SectionWraps, || shown(section.name));
            highest
        });
        let mut name = section.name;
        if !name_room.spend(name.len()) && name.len() > SHORT_NAME {
            name = &name[..SHORT_NAME];
            let first = || format!("section {} {}...", section.index, shown(name));
            diagnostics.note(OpenDiagnosticKind::LongSectionName, first);
        }
        sections.push(CodeSection {
            name: String::from_utf8_lossy(name).into_owned(),
            index: section.index,
            range: AddressRange::new(ImageAddr(start), ImageAddr(end)),
            executable: section.flags & elf::SHF_EXECINSTR.0 != 0,
        });
    }
    // By index too: an empty section has the address of the section after it, and the order must not depend on the sort.
    sections.sort_by_key(|section| (section.range.start, section.index));
    let mut position = vec![u32::MAX; tables.sections.len()];
    for (at, section) in sections.iter().enumerate() {
        position[section.index] = at as u32;
    }
    Ok(Layout { sections, position, bias })
}
