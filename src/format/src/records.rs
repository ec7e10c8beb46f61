//! Bit positions and codes of the records of rows, scopes and basic blocks (schema, sections 5, 6 and 9).

/// Row records.
pub mod rows {
    /// Rows of a block, all but a record's last.
    // With 64 rows a file is about 1 % smaller, and a lookup takes 4 to 6 % longer (`schema/why.md`).
    pub const BLOCK_ROWS: u32 = 32;
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
    /// Lowest bit of the width of the lines' high parts, for lines that have one.
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
    /// Flag: a width or a base does not fit its field in the first word, and is in the extension.
    pub const WIDE: u8 = 1 << 3;
    /// Flag: a base of the scopes follows.
    pub const SCOPES: u8 = 1 << 4;
    /// All flags.
    pub const FLAGS: u8 = FILES | COLUMNS | SHARED | WIDE | SCOPES;
    /// The largest width that follows.
    pub const MAX_WIDE_WIDTH: u8 = 31;
    /// The widest file or column.
    pub const MAX_EXTENDED_WIDTH: u8 = 32;
    /// Bits of the base of scopes, files or columns in a block that is not wide.
    // The width is fixed, so that in a file without columns one load of 8 bytes has the flags and the bases of nearly every block.
    pub const BASE_BITS: u32 = 16;
    /// The most bits that the offsets' high parts take.
    // One word: a reader finds a row's bit in it with a fixed number of operations.
    pub const MAX_HIGH_BITS: u32 = 64;
}

/// The section BLOCKS: basic blocks.
pub mod basic_blocks {
    /// Byte offset of the number of blocks, a `u32`.
    pub const COUNT: usize = 0;
    /// Byte offset of the number of kinds, a `u32`.
    pub const KINDS: usize = 4;
    /// Byte offset of the bits of a kind, a `u32`.
    pub const KIND_BITS: usize = 8;
    /// Byte offset of the places of the groups, a `u32` each; the kinds follow.
    pub const PLACES: usize = 12;
    /// Bytes of a place.
    pub const PLACE_LEN: usize = 4;
    /// Lowest bit of the gap in a kind; the flags are below.
    pub const GAP_SHIFT: u32 = 8;
    /// Flag: ends with a return.
    pub const RETURN: u8 = 1 << 0;
    /// Flag: ends with a tail call.
    pub const TAIL_CALL: u8 = 1 << 1;
    /// Flag: where exceptions land.
    pub const EH_PAD: u8 = 1 << 2;
    /// Flag: execution can run on into the next block.
    pub const FALL_THROUGH: u8 = 1 << 3;
    /// Flag: ends with a jump through a register or memory.
    pub const INDIRECT_BRANCH: u8 = 1 << 4;
    /// All flags.
    pub const ALL_FLAGS: u8 = (1 << 5) - 1;
    /// Blocks of a group, all but the last one's.
    // As many as the word at `STORED` has bits.
    pub const GROUP_BLOCKS: u32 = 64;
    /// Byte offset in a group of the number that is added to stored ids, a `u32`.
    pub const ID_BASE: usize = 0;
    /// Byte offset of the range of its first block, a `u32`.
    pub const RANGE: usize = 4;
    /// Byte offset of the bits of a stored id, a `u8`.
    pub const ID_WIDTH: usize = 8;
    /// Byte offset of the bits of a stored range, a `u8`.
    pub const RANGE_WIDTH: usize = 9;
    /// Byte offset of the bits of a stored kind, a `u8`.
    pub const KIND_WIDTH: usize = 10;
    /// Byte offset of a zero byte.
    pub const RESERVED: usize = 11;
    /// Byte offset of the bits of blocks that have a record, a `u64`.
    pub const STORED: usize = 12;
    /// Byte offset of the records.
    pub const PACKED: usize = 20;
    /// The largest width of a stored id or kind.
    pub const MAX_WIDTH: u8 = 32;
    /// The largest width of a stored range.
    // From one block to the next the range rises by at most one, so the last of 64 blocks is at most 63 ranges after the first.
    pub const MAX_RANGE_WIDTH: u8 = 6;
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

/// The data that the expressions of a unit refer to.
pub mod locations {
    /// An entry by its offset in the unit: its expressions.
    pub const BY_UNIT: u8 = 0;
    /// An entry by its offset in `.debug_info`: its expressions.
    pub const BY_SECTION: u8 = 1;
    /// A base type by its offset in the unit: `encoding + 256 x bytes`.
    pub const BASE_TYPE: u8 = 2;
    /// An entry of `.debug_addr` by its index: the address.
    pub const ADDRESS: u8 = 3;
    /// Operations of the extensions have the codes of `DW_OP_LLVM_user`.
    pub const USER_CODES: u8 = 0;
    /// They have those of 2020.
    pub const FIRST_CODES: u8 = 1;
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

/// Numbers of UNWIND.
pub mod unwind {
    /// Byte offset of how many bytes the starts have.
    pub const STARTS_LEN: usize = 0;
    /// Byte offset of how many bytes the table of runs has.
    pub const RUNS_LEN: usize = 4;
    /// Byte offset of how many bytes the table of rules has.
    pub const RULES_LEN: usize = 8;
    /// Byte offset of how many rules all sequences have.
    pub const SEQUENCES: usize = 12;
    /// Byte offset of how many bytes the records of saved registers have.
    pub const SAVES_LEN: usize = 16;
    /// Byte offset of the bits of a rule in a sequence.
    pub const RULE_WIDTH: usize = 20;
    /// Byte offset of the bits of a group of a delta.
    pub const GROUP: usize = 21;
    /// Byte offset of log2 of the unit of deltas.
    pub const UNIT_LOG2: usize = 22;
    /// Byte offset of the reserved byte.
    pub const RESERVED: usize = 23;
    /// Bytes of the head.
    pub const HEAD: usize = 24;
    /// Bits of the number of rows of a run, less one.
    pub const COUNT_BITS: u32 = 5;
    /// Rows of a run.
    pub const MAX_ROWS: usize = 32;
    /// Columns of the table of runs: first rule of its sequence, bit of its deltas.
    pub const RUN_COLUMNS: u8 = 2;
    /// Columns of the table of rules: base, offset, saves.
    pub const RULE_COLUMNS: u8 = 3;
    /// Base of rule 0: there is no entry.
    pub const NO_ENTRY: i64 = 0;
    /// Base of a rule whose frame address nothing says.
    pub const UNKNOWN: i64 = 1;
    /// Base of a rule whose frame address an expression gives; offset is its place in the records.
    pub const BY_EXPRESSION: i64 = 2;
    /// Base of register 0.
    pub const FIRST_REGISTER: i64 = 3;
    /// Registers are below it.
    pub const MAX_REGISTER: u64 = 1 << 32;
    /// Offsets of the frame address are less in size.
    pub const MAX_OFFSET: u64 = 1 << 46;
    /// The most registers of a record: many rules may refer to one record, and a check of the section reads it for each of them.
    pub const MAX_SAVES: u64 = 256;
    /// Bits of the kind below a register.
    pub const KIND_BITS: u32 = 3;
    /// The register's value is lost.
    pub const UNDEFINED: u64 = 0;
    /// The register was not changed.
    pub const SAME: u64 = 1;
    /// It is in memory, at this offset from the frame address.
    pub const OFFSET: u64 = 2;
    /// It is the frame address plus this offset.
    pub const VALUE_OFFSET: u64 = 3;
    /// It is in another register.
    pub const REGISTER: u64 = 4;
    /// It is in memory where an expression says.
    pub const EXPRESSION: u64 = 5;
    /// It is what an expression gives.
    pub const VALUE_EXPRESSION: u64 = 6;
}
