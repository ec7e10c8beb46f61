//! Where the sections of a file are in the image's address space.

use crate::open::image::CodeSection;

/// Where the sections of a file are in the image's address space.
pub(super) struct Layout {
    /// Loaded sections, by address, then index.
    pub(crate) sections: Vec<CodeSection>,
    /// For each section of the file its position in `sections`, or `u32::MAX`.
    pub(crate) position: Vec<u32>,
    /// For each section of the file what to add to the value of a symbol in it: the synthetic address in `ET_REL`,
    /// 0 in a linked file, whose symbols hold addresses already.
    pub(crate) bias: Vec<u64>,
}
