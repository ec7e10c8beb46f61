//! Basic blocks of the machine code, as the compiler's address map has them.

use super::ImageAddr;

/// A basic block of the machine code, as the compiler laid it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub start: ImageAddr,
    /// Bytes; 0 for a block without instructions.
    pub size: u32,
    /// The compiler's number of the block, unique in its function.
    pub id: u32,
    /// Bits of [`foldsym_format::records::basic_blocks`].
    pub flags: u8,
}

/// The basic blocks of one function that are contiguous: all of them, or one basic-block section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRange {
    /// Index range into [`BlockMap::blocks`]; empty, at their end, if `shared` is given.
    pub blocks: std::ops::Range<u32>,
    /// Index of the range with the function's entry; its own index for that range.
    pub entry: u32,
    /// The next range of the same function, in the order of the map.
    pub next: Option<u32>,
    /// It is one block inside another function's range: the linker folded this function's section into that one.
    pub shared: Option<SharedBlock>,
}

/// A block of a function that lies in another function's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBlock {
    /// Index of the block there.
    pub block: u32,
    /// This function's number of it.
    pub id: u32,
    /// Its flags in this function: whether control continues after it may differ.
    pub flags: u8,
}

/// The basic-block address map of the program.
#[derive(Clone, Debug, Default)]
pub struct BlockMap {
    /// By address, disjoint, none empty; then the shared ranges.
    pub ranges: Vec<BlockRange>,
    /// By address, in the order of the ranges; blocks of one range touch or leave gaps, and never overlap.
    pub blocks: Vec<Block>,
    pub counts: BlockCounts,
}

/// The input of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Bytes of the sections.
    pub bytes: u64,
    /// Functions with blocks that were kept.
    pub functions: u64,
    /// Calls whose ends the map lists. They are not kept, since call sites give return addresses.
    pub call_ends: u64,
    /// Functions with numbers of a profile, which are not kept.
    pub profiles: u64,
    /// Hashes of blocks, which are not kept.
    pub hashes: u64,
}
