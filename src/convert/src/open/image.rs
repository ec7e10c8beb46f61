//! One program or object file as plain data: its code sections, symbols and debug sections.

use super::files::Files;
use super::relocations::{KeptRelocations, KeptSection};
use crate::diagnostics::opening::OpenDiagnostic;
use crate::model::{AddressRange, ImageAddr};
use crate::policy::linker::Linker;
use crate::util::hash::HashSet;

/// ELF's number of AMD's GPUs.
const EM_AMDGPU: u16 = 224;

/// The container of an [`Image`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Elf,
    MachO,
}

/// The kind of an image. It decides whether addresses are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageKind {
    /// `ET_EXEC`, or a Mach-O executable that is not position-independent: addresses are final.
    Executable,
    /// `ET_DYN`, or any other linked Mach-O file: addresses are link-time.
    Dynamic,
    /// An object file. In `ET_REL`, `open` gives sections consecutive synthetic addresses in section order. In Mach-O, sections have
    /// such addresses in the file. The debug sections are relocated to these addresses.
    Relocatable,
    /// A Mach-O dSYM companion file, or an ELF file without code (`objcopy --only-keep-debug`).
    DebugOnly,
}

/// The processor of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arch {
    /// ELF `e_machine`, or the ELF number of the same processor for Mach-O.
    pub machine: u16,
    /// `x86_64`, `aarch64`, `arm`, `i386`, `ppc64`, `s390x`, `mips`, `riscv64`, `amdgcn`, ...; else `unknown`.
    pub name: &'static str,
    /// Size of an address in bytes: 4 or 8.
    pub address_size: u8,
    /// True if the file's integers are big-endian.
    pub big_endian: bool,
}

/// One loaded section.
#[derive(Clone, Debug)]
pub(crate) struct CodeSection {
    pub name: String,
    /// The section's index in the file, which symbols refer to.
    pub index: usize,
    pub range: AddressRange,
    /// True if it holds code. Sections without code are listed too, to resolve `SECTION:OFFSET` and to recognise tombstones.
    pub executable: bool,
}

/// A part of the file that the loader maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadedSegment {
    /// First image address.
    pub start: u64,
    /// Size in memory.
    pub len: u64,
    /// File offset. In a fat file it counts from the start of the slice.
    pub file_offset: u64,
    pub file_len: u64,
    pub executable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    /// `STT_FUNC`, or a Mach-O symbol in an executable section.
    Function,
    /// `STT_GNU_IFUNC`: its address is the resolver's, which chooses a function of this name at start-up.
    Indirect,
    /// `STT_NOTYPE` in an executable section: a label of assembly code.
    Label,
    /// `STT_OBJECT`: kept only for vtables (`_ZTV...`).
    Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    Local,
    Global,
    Weak,
}

/// One defined symbol. Section, file, undefined, absolute, TLS and mapping symbols (`$x`, `$d`, `$a`, `$t`) are not kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'f> {
    /// The name in the file, without a version suffix (`@GLIBC_2.2.5`); on Mach-O also without the leading `_`.
    pub name: &'f [u8],
    /// Image address (the Thumb bit cleared).
    pub address: u64,
    /// Size in bytes; 0 if the file gives none.
    pub size: u64,
    pub kind: SymbolKind,
    pub binding: Binding,
    /// Index into [`Image::sections`].
    pub section: u32,
    /// For local symbols, the preceding `STT_FILE` symbol: index into [`Image::symbol_files`]. Linkers make hidden symbols local; GNU ld lists
    /// these after the symbols of all files, so of such a symbol it may be that of another object. See [`Symbol::own_file`].
    pub file: Option<u32>,
    /// That is the file of the symbol's object: the symbol was local there, or another file follows in the table.
    pub is_of_file: bool,
    /// True if only `.dynsym` has the symbol.
    pub dynamic: bool,
    /// The visibility is not `STV_DEFAULT`, or the symbol is `N_PEXT`. If such a symbol is local, it may have been global in
    /// its object file: the linker makes hidden symbols local. So it may remain although a tool had removed the local
    /// symbols of the object files.
    pub hidden: bool,
}

impl Symbol<'_> {
    /// The preceding `STT_FILE` symbol, if it is that of the symbol's object.
    pub(crate) fn own_file(&self) -> Option<u32> {
        self.file.filter(|_| self.is_of_file)
    }
}

/// A place in an executable section at which, by the symbol table, data or code begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodeMark {
    /// Image address.
    pub address: u64,
    pub kind: MarkKind,
}

/// What begins at a [`CodeMark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MarkKind {
    /// `STT_OBJECT` with a size.
    Object,
    /// Data, by a mapping symbol (`$d`). This includes constants inside a function (literal pools).
    Data,
    /// Code, by a mapping symbol (`$a`, `$x`, C-SKY's `$t`).
    Code,
    /// Thumb code of ARM, by a mapping symbol (`$t`).
    Thumb,
}

/// The debug sections that `read` knows, by DWARF's names without `.debug_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DebugSection {
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
    pub(crate) fn all() -> impl Iterator<Item = (&'static [u8], DebugSection)> {
        DEBUG_SECTION_NAMES.iter().copied()
    }

    /// The section with this name without prefix and suffix, such as `info` for `.debug_info.dwo`.
    pub(super) fn from_base_name(name: &[u8]) -> Option<Self> {
        DEBUG_SECTION_NAMES.iter().find(|(known, _)| *known == name).map(|(_, id)| *id)
    }

    /// The section with this name without prefix and suffix, such as `info` for `.debug_info`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::from_base_name(name.as_bytes())
    }

    /// DWARF's name without prefix and suffix, such as `info` for `.debug_info.dwo`.
    pub(crate) fn base_name(self) -> &'static str {
        let found = DEBUG_SECTION_NAMES.iter().find(|(_, id)| *id == self);
        found.and_then(|(name, _)| std::str::from_utf8(name).ok()).unwrap_or("?")
    }

    /// As [`Self::from_base_name`], for a name that the file cut to this length (Mach-O).
    pub(super) fn from_cut_name(name: &[u8], length: usize) -> Option<Self> {
        // All names stay distinct with 7 bytes, which is what `__zdebug_` leaves of 16.
        let cut = |known: &'static [u8]| &known[..known.len().min(length)];
        DEBUG_SECTION_NAMES.iter().find(|(known, _)| cut(known) == name).map(|(_, id)| *id)
    }
}

/// The bytes of each debug section, uncompressed and relocated; empty if the file does not have the section.
#[derive(Clone, Default)]
pub(crate) struct DebugSections<'f> {
    sections: [&'f [u8]; DebugSection::Vcall as usize + 1],
}

impl<'f> DebugSections<'f> {
    /// The bytes of one section; empty if absent.
    pub(crate) fn get(&self, id: DebugSection) -> &'f [u8] {
        self.sections[id as usize]
    }

    /// Sets one section's bytes.
    pub(crate) fn set(&mut self, id: DebugSection, bytes: &'f [u8]) {
        self.sections[id as usize] = bytes;
    }
}

/// The offsets in debug sections at which `open` replaced a tombstone by the address in a kept relocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restored {
    /// Sorted offsets, by section.
    places: Vec<(DebugSection, Vec<u64>)>,
}

impl Restored {
    pub(super) fn set(&mut self, section: DebugSection, mut places: Vec<u64>) {
        // `any` uses binary search, and kept relocations need not be in the order of their offsets.
        places.sort_unstable();
        self.places.push((section, places));
    }

    /// True if no address was restored.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// True if an address was restored at an offset in `start..end` of a section.
    pub(crate) fn any(&self, section: DebugSection, start: u64, end: u64) -> bool {
        self.places.iter().filter(|(id, _)| *id == section).any(|(_, places)| {
            let first = places.partition_point(|&place| place < start);
            places.get(first).is_some_and(|&place| place < end)
        })
    }
}

/// One section of the basic-block address map (`SHT_LLVM_BB_ADDR_MAP`), uncompressed; relocated in `ET_REL`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockMapSection<'f> {
    pub bytes: &'f [u8],
    /// True for `SHT_LLVM_BB_ADDR_MAP_V0`, whose records have no version.
    pub without_version: bool,
    /// The section's index in its file.
    pub index: usize,
}

/// One opened program or object file: everything that later steps need from it. DWARF is not decoded yet.
#[derive(Clone)]
pub(crate) struct Image<'f> {
    /// The path that the caller gave, for messages. For a dSYM bundle it is the file in the bundle.
    pub path: std::path::PathBuf,
    /// The separate file that `debug` comes from; `None` if that is the program itself.
    pub debug_path: Option<std::path::PathBuf>,
    pub format: Format,
    pub kind: ImageKind,
    pub arch: Arch,
    /// Address of the first `PT_LOAD` segment, or of `__TEXT` on Mach-O; 0 for object files. The gABI orders segments by
    /// address, so the first is the lowest. Linux kernels do not keep to it: their per-CPU segment at address 0 comes later.
    pub image_base: u64,
    /// `NT_GNU_BUILD_ID`, or the Mach-O UUID; empty if there is none.
    pub build_id: &'f [u8],
    /// Loaded sections, by address, then index.
    pub sections: Vec<CodeSection>,
    /// The segments that the loader maps, in file order. Empty for object files and for separate debug files.
    pub segments: Vec<LoadedSegment>,
    /// File name and CRC-32 of `.gnu_debuglink`.
    pub debug_link: Option<(&'f [u8], u32)>,
    /// The bytes of executable sections, by address: (start, bytes). In a separate debug file or a dSYM they are missing.
    pub code: Vec<(u64, &'f [u8])>,
    /// The bytes of the other loaded sections, in the same form.
    pub data: Vec<(u64, &'f [u8])>,
    /// The relocations that the loader applies. Their offsets are addresses.
    pub loader: KeptRelocations<'f>,
    /// The symbols of `.symtab`, then those that only `.dynsym` has; in table order.
    pub symbols: Vec<Symbol<'f>>,
    /// The names of the versions that the file's tables have for symbols.
    pub versions: HashSet<&'f [u8]>,
    /// Of a program without a `.symtab` whose symbols were joined with those of another file: address and name of its own, in table
    /// order. Otherwise empty.
    pub own_symbols: Vec<(u64, &'f [u8])>,
    /// Where data and code begin in executable sections, in table order.
    pub code_marks: Vec<CodeMark>,
    /// The bytes of the ELF or Mach-O files that this is made of, the one with the debug information first:
    /// [`variables`](super::variables) reads their symbol tables again. Empty for other formats.
    pub files_read: Vec<&'f [u8]>,
    /// Names of `STT_FILE` symbols.
    pub symbol_files: Vec<&'f [u8]>,
    pub linker: Linker,
    /// The debug sections of the program or of its separate debug file. In a `.dwo`, the sections ending in `.dwo`.
    pub debug: DebugSections<'f>,
    /// The debug sections of the supplementary file (`.gnu_debugaltlink`, `.debug_sup`), if it was found.
    pub supplementary: Option<DebugSections<'f>>,
    /// In section order. An object file has one for each text section; the linker joins them into one.
    pub block_maps: Vec<BlockMapSection<'f>>,
    /// The sections of the call graph (`SHT_LLVM_CALL_GRAPH`), uncompressed, in section order; relocated in `ET_REL`.
    pub call_graphs: Vec<&'f [u8]>,
    /// Relocations that the linker kept (`--emit-relocs`), from the program and its separate debug file.
    pub relocations: KeptRelocations<'f>,
    /// The places in `debug` where the address from a kept relocation replaced a tombstone.
    pub restored: Restored,
    /// True if an address 0 in `debug` is never a tombstone: true for object files in which no linker erased addresses.
    pub zero_is_code: bool,
    /// What was skipped or repaired.
    pub diagnostics: Vec<OpenDiagnostic>,
    /// The owner of the mapped bytes. A step that reads many of them calls [`Files::was_read`], which releases pages.
    pub(crate) files: Option<&'f Files>,
}

impl<'f> Image<'f> {
    /// True for a program that the linker should have given a build id. A device program has none: its host program contains
    /// it, so it can be found without one.
    pub(crate) fn is_linked(&self) -> bool {
        self.kind != ImageKind::Relocatable && self.arch.machine != EM_AMDGPU
    }

    /// Releases the pages of all mapped files, before a step that reads other pages.
    pub(crate) fn release_pages(&self) {
        if let Some(files) = self.files {
            files.release_all();
            files.scratch().release();
        }
    }

    /// The kept relocation sections that apply to the section with this name (`.debug_addr`, `.text`). There are none in
    /// a program linked without `--emit-relocs`, and none for `ET_REL`, where `open` applies the relocations.
    #[cfg(test)]
    pub(crate) fn kept_relocations(&self, section: &str) -> impl Iterator<Item = &KeptSection<'f>> {
        self.relocations.sections().iter().filter(move |kept| kept.target_name == section.as_bytes())
    }

    /// The kept relocation sections that apply to executable sections, each with the image address of its section.
    pub(crate) fn kept_code_relocations(&self) -> impl Iterator<Item = (ImageAddr, &KeptSection<'f>)> {
        self.relocations.sections().iter().filter_map(|kept| {
            let section = self.sections.iter().find(|section| section.index == kept.target_index)?;
            // The relocations of a separate debug file are in the same list, and it may number its sections differently.
            (section.executable && section.name.as_bytes() == kept.target_name)
                .then_some((section.range.start, kept))
        })
    }

    /// The loaded section that holds an image address, by its position in [`Image::sections`].
    pub(crate) fn section_at(&self, image_addr: ImageAddr) -> Option<usize> {
        let after = self.sections.partition_point(|section| section.range.start <= image_addr);
        // Sections of size 0 may begin between the start of that section and the address.
        // At most 8: a hostile file may have thousands of sections of size 0 at one address, and every lookup would read them.
        (0..after).rev().take(8).find(|&position| image_addr < self.sections[position].range.end)
    }
}

impl DebugSections<'_> {
    /// True if there is a `.debug_info` or a `.debug_types`.
    pub(crate) fn has_units(&self) -> bool {
        !self.get(DebugSection::Info).is_empty() || !self.get(DebugSection::Types).is_empty()
    }
}

/// The symbol of a variable.
pub(crate) struct VariableSymbol<'f> {
    pub(crate) name: &'f [u8],
    pub(crate) address: ImageAddr,
    pub(crate) size: u64,
    /// The `STT_FILE` symbol before it, if it is local.
    pub(crate) file: Option<&'f [u8]>,
}
