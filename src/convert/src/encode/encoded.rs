//! A file that is ready to be written, and what it holds.

use foldsym_format::Header;

use super::locations::ObjectCounts;
use super::section::Section;

/// What the file holds, and what was left out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeStats {
    pub pieces: u64,
    pub functions: u64,
    pub groups: u64,
    pub members: u64,
    pub origins: u64,
    pub edges: u64,
    pub names: u64,
    pub files: u64,
    /// Rows of all pieces and members as they were read, and what is stored: distinct records.
    pub rows_read: u64,
    pub rows: u64,
    pub row_blocks: u64,
    pub row_records: u64,
    /// Pieces and members whose record is an earlier one's.
    pub row_records_shared: u64,
    /// Blocks that use another's offsets.
    pub row_blocks_shared: u64,
    /// Scopes of all functions as they were read; after dropping and merging; in distinct records.
    pub scopes_read: u64,
    pub scopes: u64,
    pub scope_records: u64,
    pub scope_records_shared: u64,
    /// Where the pointers to the objects of methods are, if that was asked for.
    pub objects: ObjectCounts,
    pub left_out: LeftOut,
}

/// What could not be stored as it was read. All 0 for programs that compilers make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Scopes deeper than 255; their rows count as those of the ancestor there.
    pub scopes_too_deep: u64,
    /// Scopes whose call is not one of their parent's origin; their rows count as the parent's.
    pub scopes_foreign: u64,
    /// Rows with a scope that their function does not have; they count as the function's own.
    pub rows_stray: u64,
    /// Keys of tables of virtual functions that are below the image base.
    pub tables_outside: u64,
}

/// A file that is ready to be written.
#[derive(Clone, Debug)]
pub struct Encoded {
    pub(super) header: Header,
    /// In the order of the file.
    pub sections: Vec<Section>,
    pub stats: EncodeStats,
}
