//! The inputs of the encoder, other than the program.

/// The readable form of a mangled name; `None` for a name that is not mangled.
pub(crate) type Demangle = fn(&[u8]) -> Option<String>;

/// What goes into the file.
#[derive(Clone, Debug, Default)]
pub struct EncodeOptions {
    /// Keep the columns of rows and calls.
    pub columns: bool,
    /// Write the index for searching by name.
    pub name_index: bool,
    /// Adds demangled names to that index.
    pub demangle: Option<Demangle>,
}

/// Facts about the whole program that the file records.
#[derive(Clone, Debug, Default)]
pub struct ImageInfo {
    pub build_id: Vec<u8>,
    /// ELF `e_machine`.
    pub machine: u16,
    /// Bytes of an address: 4 or 8.
    pub address_size: u8,
    pub big_endian: bool,
    /// The program is an object file; its addresses are synthetic, and `sections` lists those of the sections.
    pub relocatable: bool,
    pub mach_o: bool,
    /// Demangled names replaced the program's linkage names.
    pub readable_names: bool,
    /// Lowest address of a loadable segment.
    pub image_base: u64,
    pub sections: Vec<LoadedSection>,
    /// The parts of the program's file that are loaded, and their addresses.
    pub segments: Vec<ProgramSegment>,
    /// The loader may place the program at any address.
    pub position_independent: bool,
}

/// A section of the program that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSection {
    pub name: Vec<u8>,
    pub start: u64,
    pub size: u64,
    pub executable: bool,
}

/// A part of the program's file that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramSegment {
    pub start: u64,
    /// Bytes of memory.
    pub len: u64,
    pub file_offset: u64,
    pub file_len: u64,
    pub executable: bool,
}
