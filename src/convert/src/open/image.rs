//! One object file as plain data: its code sections, symbols and debug sections.

use super::diagnostics::OpenDiagnostic;
use super::files::Files;
use super::relocations::{KeptRelocations, KeptSection};

/// The container of an [`Image`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Elf,
    MachO,
}

/// What the image is, which decides whether its addresses are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// `ET_EXEC`, or a Mach-O executable: addresses are final.
    Executable,
    /// `ET_DYN`, a Mach-O dylib or position-independent executable: addresses are link-time.
    Dynamic,
    /// `ET_REL` or a Mach-O object: sections got consecutive synthetic addresses in section order,
    /// and the debug sections were relocated to them.
    Relocatable,
    /// A Mach-O dSYM companion or an ELF file with debug sections alone.
    DebugOnly,
}

/// The processor, by the field's own number and a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arch {
    /// ELF `e_machine`, or the ELF number of the same processor for Mach-O.
    pub machine: u16,
    /// `x86_64`, `aarch64`, `arm`, `i386`, `ppc64`, `s390x`, `mips`, `riscv64`, `amdgcn`, ...; `unknown` else.
    pub name: &'static str,
    /// Size of an address in bytes: 4 or 8.
    pub address_size: u8,
    /// True where the file's integers are big-endian.
    pub big_endian: bool,
}

/// Half-open range of image addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressRange {
    pub start: u64,
    pub end: u64,
}

/// One section that is loaded, at its image address.
#[derive(Clone, Debug)]
pub struct CodeSection {
    pub name: String,
    /// The section's index in the file, as symbols name it.
    pub index: usize,
    pub range: AddressRange,
    /// False for a section of another kind: all loaded sections are listed, so that `SECTION:OFFSET`
    /// and tombstones can be judged.
    pub executable: bool,
}

/// A part of the file that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedSegment {
    /// First image address.
    pub start: u64,
    /// Bytes of memory.
    pub len: u64,
    /// From the start of the program, which in a fat file is that of its slice.
    pub file_offset: u64,
    pub file_len: u64,
    pub executable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// `STT_FUNC`, or a Mach-O symbol in an executable section.
    Function,
    /// `STT_GNU_IFUNC`: its address is that of the code which chooses a function of this name at start-up.
    Indirect,
    /// `STT_NOTYPE` in an executable section: a label of assembly code.
    Label,
    /// `STT_OBJECT`: kept only for names that later steps ask for (`_ZTV...`).
    Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    Local,
    Global,
    Weak,
}

/// One defined symbol. Section, file, undefined, absolute, TLS and mapping symbols (`$x`, `$d`, `$a`,
/// `$t`) are left out.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'f> {
    /// As the file spells it, a version suffix of `.dynsym` cut; on Mach-O without the leading `_`.
    pub name: &'f [u8],
    /// Image address (the Thumb bit cleared).
    pub address: u64,
    /// Bytes; 0 where the file gives none.
    pub size: u64,
    pub kind: SymbolKind,
    pub binding: Binding,
    /// Index into [`Image::sections`].
    pub section: u32,
    /// The preceding `STT_FILE` symbol, for symbols that were local in their object: index into [`Image::symbol_files`].
    pub file: Option<u32>,
    /// From `.dynsym`, where `.symtab` does not hold it.
    pub dynamic: bool,
    /// Other modules cannot see it by its visibility (`STV_HIDDEN`, `STV_INTERNAL`, `N_PEXT`): if it is local, it may be the
    /// linker that made it so, and tools that drop the local symbols of objects before that leave it.
    pub hidden: bool,
}

/// Where something else than a function begins in an executable section, as far as the symbol table says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodeMark {
    /// Image address.
    pub address: u64,
    pub kind: MarkKind,
}

/// What begins at a [`CodeMark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// `STT_OBJECT` with a size.
    Object,
    /// Data, by a mapping symbol (`$d`): also the constants of a function.
    Data,
    /// Code, by a mapping symbol (`$a`, `$x`, C-SKY's `$t`).
    Code,
    /// T32 code of ARM, by a mapping symbol (`$t`).
    Thumb,
}

/// The debug sections that `read` knows, by DWARF's names without dot and suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DebugSection {
    Abbrev,
    Addr,
    Aranges,
    CuIndex,
    Frame,
    Info,
    Line,
    LineStr,
    Loc,
    LocLists,
    Ranges,
    RngLists,
    Str,
    StrOffsets,
    TuIndex,
    Types,
    Dcall,
    Vcall,
}

/// DWARF's names without prefix and suffix.
const DEBUG_SECTION_NAMES: [(&[u8], DebugSection); DebugSection::Vcall as usize + 1] = [
    (b"abbrev", DebugSection::Abbrev),
    (b"addr", DebugSection::Addr),
    (b"aranges", DebugSection::Aranges),
    (b"cu_index", DebugSection::CuIndex),
    (b"frame", DebugSection::Frame),
    (b"info", DebugSection::Info),
    (b"line", DebugSection::Line),
    (b"line_str", DebugSection::LineStr),
    (b"loc", DebugSection::Loc),
    (b"loclists", DebugSection::LocLists),
    (b"ranges", DebugSection::Ranges),
    (b"rnglists", DebugSection::RngLists),
    (b"str", DebugSection::Str),
    (b"str_offsets", DebugSection::StrOffsets),
    (b"tu_index", DebugSection::TuIndex),
    (b"types", DebugSection::Types),
    (b"dcall", DebugSection::Dcall),
    (b"vcall", DebugSection::Vcall),
];

impl DebugSection {
    /// All sections, with their names.
    pub(super) fn all() -> impl Iterator<Item = (&'static [u8], DebugSection)> {
        DEBUG_SECTION_NAMES.iter().copied()
    }

    /// The section of a name without prefix and suffix, as `info` of `.debug_info.dwo`.
    pub(super) fn from_base_name(name: &[u8]) -> Option<Self> {
        DEBUG_SECTION_NAMES.iter().find(|(known, _)| *known == name).map(|(_, id)| *id)
    }

    /// The section of DWARF's name without prefix and suffix, as `info` of `.debug_info`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::from_base_name(name.as_bytes())
    }

    /// DWARF's name without prefix and suffix, as `info` of `.debug_info.dwo`.
    pub(crate) fn base_name(self) -> &'static str {
        let found = DEBUG_SECTION_NAMES.iter().find(|(_, id)| *id == self);
        found.and_then(|(name, _)| std::str::from_utf8(name).ok()).unwrap_or("?")
    }

    /// As [`Self::from_base_name`], for names cut to a length.
    pub(super) fn from_cut_name(name: &[u8], length: usize) -> Option<Self> {
        let cut = |known: &'static [u8]| &known[..known.len().min(length)];
        DEBUG_SECTION_NAMES.iter().find(|(known, _)| cut(known) == name).map(|(_, id)| *id)
    }
}

/// The bytes of each debug section, uncompressed and relocated; empty where the file has none.
#[derive(Clone, Default)]
pub struct DebugSections<'f> {
    sections: [&'f [u8]; DebugSection::Vcall as usize + 1],
}

impl<'f> DebugSections<'f> {
    /// The bytes of one section; empty where absent.
    pub fn get(&self, id: DebugSection) -> &'f [u8] {
        self.sections[id as usize]
    }

    /// Sets one section's bytes.
    pub fn set(&mut self, id: DebugSection, bytes: &'f [u8]) {
        self.sections[id as usize] = bytes;
    }
}

/// What is known of the linker that made a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linker {
    /// The file does not say.
    #[default]
    Unknown,
    /// The file does not say, and Go's tools built it: with Go's own linker, which folds nothing, or with another one.
    PerhapsOfGo,
    /// It can fold functions that are identical: lld and mold leave their names.
    MayFold,
    /// It can fold functions, and those that are local to a file leave no symbol behind: gold.
    MayFoldAndForget,
    /// It cannot: compilers left their names, and none of these linkers did.
    NeverFolds,
}

impl Linker {
    /// What is known of the linker once all units are read. Where Go calls another linker, that may fold the functions of other
    /// compilers; it gets all of Go's functions in one section, and folding works on whole sections.
    pub fn with_units(self, all_of_go: bool) -> Linker {
        match self {
            Linker::PerhapsOfGo if all_of_go => Linker::NeverFolds,
            Linker::PerhapsOfGo => Linker::Unknown,
            known => known,
        }
    }

    /// True for a linker that is known to fold functions, if it is asked to.
    pub fn is_folding(self) -> bool {
        matches!(self, Linker::MayFold | Linker::MayFoldAndForget)
    }
}

/// Where addresses were put back into debug sections, from relocations that the linker kept.
#[derive(Clone, Debug, Default)]
pub struct Restored {
    /// Sorted offsets, by section.
    places: Vec<(DebugSection, Vec<u64>)>,
}

impl Restored {
    pub(super) fn set(&mut self, section: DebugSection, mut places: Vec<u64>) {
        places.sort_unstable();
        self.places.push((section, places));
    }

    /// True where none was.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// True where one was, at an offset from `start` to before `end` in a section.
    pub fn any(&self, section: DebugSection, start: u64, end: u64) -> bool {
        self.places.iter().filter(|(id, _)| *id == section).any(|(_, places)| {
            let first = places.partition_point(|&place| place < start);
            places.get(first).is_some_and(|&place| place < end)
        })
    }
}

/// One section of the basic-block address map (`SHT_LLVM_BB_ADDR_MAP`), uncompressed; relocated in `ET_REL`.
#[derive(Clone, Copy, Debug)]
pub struct BlockMapSection<'f> {
    pub bytes: &'f [u8],
    /// Of the first type number, whose records have no version (`SHT_LLVM_BB_ADDR_MAP_V0`).
    pub without_version: bool,
    /// The section's index in its file.
    pub index: usize,
}

/// One object file, opened: everything later steps need of it but the decoding.
#[derive(Clone)]
pub struct Image<'f> {
    /// The path as given, for messages; for a dSYM bundle the file in it.
    pub path: std::path::PathBuf,
    /// The separate file that `debug` comes from, where it is not the program itself.
    pub debug_path: Option<std::path::PathBuf>,
    pub format: Format,
    pub kind: ImageKind,
    pub arch: Arch,
    /// Address of the first loadable segment (`__TEXT` on Mach-O), which the gABI makes the lowest one; kernels have
    /// their per-CPU segment, at address 0, later. 0 for `ET_REL`.
    pub image_base: u64,
    /// `NT_GNU_BUILD_ID`, or the Mach-O UUID; empty where there is none.
    pub build_id: &'f [u8],
    /// Loaded sections, by address, then index.
    pub sections: Vec<CodeSection>,
    /// What of the file is loaded where, in the order of the file; none of a relocatable file and of one with debug information alone.
    pub segments: Vec<LoadedSegment>,
    /// The bytes of executable sections, by address: (start, bytes). None for what a separate debug file or a dSYM leaves
    /// out.
    pub code: Vec<(u64, &'f [u8])>,
    /// Those of the other loaded sections, alike.
    pub data: Vec<(u64, &'f [u8])>,
    /// What the loader does to them: relocations by address.
    pub loader: KeptRelocations<'f>,
    /// `.symtab`, then what only `.dynsym` has; in table order.
    pub symbols: Vec<Symbol<'f>>,
    /// Where data and code begin in executable sections, in table order.
    pub code_marks: Vec<CodeMark>,
    /// Names of `STT_FILE` symbols.
    pub symbol_files: Vec<&'f [u8]>,
    /// What made the program.
    pub linker: Linker,
    /// The debug sections of the program itself (in a `.dwo`: those ending in `.dwo`).
    pub debug: DebugSections<'f>,
    /// dwz supplementary file (`.gnu_debugaltlink`, `.debug_sup`), where there is one and it was found.
    pub supplementary: Option<DebugSections<'f>>,
    /// In section order; the linker makes one of all, in `ET_REL` each text section has its own.
    pub block_maps: Vec<BlockMapSection<'f>>,
    /// Relocations that the linker kept (`--emit-relocs`), of the program and its separate debug file.
    pub relocations: KeptRelocations<'f>,
    /// Where `debug` has addresses of those relocations instead of the linker's tombstones.
    pub restored: Restored,
    /// An address 0 in `debug` is always that of code: no linker has erased one.
    pub zero_is_code: bool,
    /// What was skipped or repaired.
    pub diagnostics: Vec<OpenDiagnostic>,
    /// The owner of the mapped bytes. A step that reads many of them calls [`Files::was_read`], which gives pages back.
    pub(crate) files: Option<&'f Files>,
}

impl<'f> Image<'f> {
    /// Gives back the pages of all mapped files, before a step that reads others.
    pub(crate) fn release_pages(&self) {
        if let Some(files) = self.files {
            files.release_all();
            files.scratch().release();
        }
    }

    /// The kept relocation sections that apply to the section of this name (`.debug_addr`, `.text`); none in a program
    /// linked without `--emit-relocs`, and none for `ET_REL`, where they are applied already.
    pub fn kept_relocations(&self, section: &str) -> impl Iterator<Item = &KeptSection<'f>> {
        self.relocations.sections().iter().filter(move |kept| kept.target_name == section.as_bytes())
    }

    /// The kept relocation sections that apply to executable sections, each with the image address of its section.
    pub fn kept_code_relocations(&self) -> impl Iterator<Item = (u64, &KeptSection<'f>)> {
        self.relocations.sections().iter().filter_map(|kept| {
            let section = self.sections.iter().find(|section| section.index == kept.target_index)?;
            (section.executable && section.name.as_bytes() == kept.target_name)
                .then_some((section.range.start, kept))
        })
    }

    /// The loaded section that holds an image address, by its position in [`Image::sections`].
    pub fn section_at(&self, image_addr: u64) -> Option<usize> {
        let after = self.sections.partition_point(|section| section.range.start <= image_addr);
        // Sections of size 0 may stand between the address and the section that holds it.
        (0..after).rev().take(8).find(|&position| image_addr < self.sections[position].range.end)
    }
}

impl DebugSections<'_> {
    /// True where there are units to read.
    pub fn has_units(&self) -> bool {
        !self.get(DebugSection::Info).is_empty() || !self.get(DebugSection::Types).is_empty()
    }
}
