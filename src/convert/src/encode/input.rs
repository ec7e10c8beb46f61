//! What an encoder is given beside the program.

/// The readable form of a mangled name; `None` for a name that is not mangled.
pub type Demangle = fn(&[u8]) -> Option<String>;

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

/// What the file says of the program as a whole.
#[derive(Clone, Debug, Default)]
pub struct ImageInfo {
    pub build_id: Vec<u8>,
    /// ELF `e_machine`.
    pub machine: u16,
    /// Bytes of an address: 4 or 8.
    pub address_size: u8,
    pub big_endian: bool,
    /// Addresses are synthetic: those of the sections in the list below.
    pub relocatable: bool,
    pub mach_o: bool,
    /// The program's names are readable ones.
    pub readable_names: bool,
    /// Lowest address of a loadable segment.
    pub image_base: u64,
    pub sections: Vec<LoadedSection>,
    /// What of the program's file is loaded where.
    pub segments: Vec<ProgramSegment>,
    /// The program may be loaded at any address.
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
