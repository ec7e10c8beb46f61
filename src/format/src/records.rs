//! Bit positions and codes of the row and scope records (spec, sections 5 and 6).

/// Row records.
pub mod rows {
    /// Rows of a block, all but a record's last.
    pub const BLOCK_ROWS: u32 = 64;
    /// Bit of the head: the record has a directory of blocks.
    pub const HEAD_MANY: u64 = 1;
    /// The head shifted by this is the number of rows.
    pub const HEAD_SHIFT: u32 = 1;
    /// The widest start or place in the directory.
    pub const MAX_DIRECTORY_WIDTH: u8 = 32;
    /// Lowest bit of the width of the offsets' low parts in a block's first word.
    pub const LOW_WIDTH_SHIFT: u32 = 0;
    /// Lowest bit of the scope width.
    pub const SCOPE_WIDTH_SHIFT: u32 = 4;
    /// Lowest bit of the width of the lines' low parts.
    pub const LINE_WIDTH_SHIFT: u32 = 8;
    /// Lowest bit of the width of the high parts of those lines that have one.
    pub const MORE_WIDTH_SHIFT: u32 = 12;
    /// One of the four widths, shifted down.
    pub const WIDTH_MASK: u32 = 0xf;
    /// Bit of the first word: a byte of the flags below follows.
    pub const EXTENDED: u32 = 1 << 16;
    /// Lowest bit of the base of the lines, zigzag; it takes the rest.
    pub const LINE_BASE_SHIFT: u32 = 17;
    /// The largest base of the lines, zigzag, that the first word holds.
    pub const MAX_LINE_BASE: u64 = (1 << (32 - LINE_BASE_SHIFT)) - 1;
    /// Flag: some rows of the block have files of their own.
    pub const FILES: u8 = 1 << 0;
    /// Flag: the block has a column column.
    pub const COLUMNS: u8 = 1 << 1;
    /// Flag: the offsets are those of an earlier block.
    pub const SHARED: u8 = 1 << 2;
    /// Flag: widths and the base of the lines are too large for the first word, and follow.
    pub const WIDE: u8 = 1 << 3;
    /// Flag: a base of the scopes follows.
    pub const SCOPES: u8 = 1 << 4;
    /// All flags.
    pub const FLAGS: u8 = FILES | COLUMNS | SHARED | WIDE | SCOPES;
    /// The largest width that follows.
    pub const MAX_WIDE_WIDTH: u8 = 31;
    /// The widest file or column.
    pub const MAX_EXTENDED_WIDTH: u8 = 32;
    /// The most bits that the offsets' high parts take.
    pub const MAX_HIGH_BITS: u32 = 192;
}

/// Scope records.
pub mod scopes {
    /// Nodes of a block, all but a record's last.
    pub const BLOCK_NODES: u32 = 64;
    /// The widest place in the directory.
    pub const MAX_DIRECTORY_WIDTH: u8 = 32;
    /// Lowest bit of the parent width in a block's first word.
    pub const PARENT_WIDTH_SHIFT: u32 = 0;
    /// Lowest bit of the edge width.
    pub const EDGE_WIDTH_SHIFT: u32 = 5;
    /// One of the two widths, shifted down.
    pub const WIDTH_MASK: u16 = 0x1f;
    /// Bits of the first word that are in use.
    pub const USED_BITS: u16 = 0x3ff;
}

/// How rows and edges code a file.
pub mod file_code {
    /// The file of the origin that the line belongs to.
    pub const ORIGIN: u64 = 0;
    /// No file is known.
    pub const UNKNOWN: u64 = 1;
    /// `FIRST + file` is that file.
    pub const FIRST: u64 = 2;
}

/// How a row codes its line.
pub mod line_code {
    /// Line 0: none known.
    pub const NONE: u64 = 0;
    /// `FIRST + n` is the origin's line plus the block's base plus n.
    pub const FIRST: u64 = 1;
}
