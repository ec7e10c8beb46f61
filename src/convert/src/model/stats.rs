//! What `encode` stored of a program, in numbers.

/// How many records of each kind the file holds, and how many things were left out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeStats {
    /// Ranges of code with one owner.
    pub pieces: u64,
    /// Functions.
    pub functions: u64,
    /// Groups of functions that share their code.
    pub groups: u64,
    /// Members of all groups.
    pub members: u64,
    /// Source identities of functions.
    pub origins: u64,
    /// Inlined calls in the source.
    pub edges: u64,
    /// Names.
    pub names: u64,
    /// Source files.
    pub files: u64,
    /// Rows of all pieces and members as they were read.
    pub rows_read: u64,
    /// Rows of distinct records.
    pub rows: u64,
    /// Blocks of distinct row records.
    pub row_blocks: u64,
    /// Distinct row records.
    pub row_records: u64,
    /// Pieces and members that use the record of an earlier one.
    pub row_records_shared: u64,
    /// Blocks that use the offsets of another block.
    pub row_blocks_shared: u64,
    /// Scopes of all functions as they were read.
    pub scopes_read: u64,
    /// Scopes of all functions after dropping and merging.
    pub scopes: u64,
    /// Distinct records of inline trees.
    pub scope_records: u64,
    /// Functions that use the record of an earlier one.
    pub scope_records_shared: u64,
    /// Locations of the object pointers of methods; all 0 without the option `--locations`.
    pub objects: ObjectCounts,
    /// What could not be stored as it was read.
    pub left_out: LeftOut,
}

/// Things that could not be stored as they were read. All 0 for programs that compilers make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Scopes deeper than 255; their rows get the ancestor at depth 255.
    pub scopes_too_deep: u64,
    /// Scopes whose edge does not begin at their parent's origin; their rows get the parent.
    pub scopes_foreign: u64,
    /// Rows with a scope that their function does not have; they get the function itself.
    pub rows_stray: u64,
    /// Keys and imports whose addresses the file cannot store: below the image base, or 2^47 or more above it.
    pub tables_outside: u64,
}

/// How many methods in groups have an object pointer that the file can locate, and how many do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectCounts {
    /// Methods with a location list.
    pub kept: u64,
    /// Methods whose object pointer has no known location: the debug information gives none, or the linker erased its addresses.
    pub lost: u64,
}
