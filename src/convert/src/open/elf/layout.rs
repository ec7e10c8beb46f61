//! The image address of each section of an ELF file.

use crate::open::image::CodeSection;

/// The image address of each section of a file.
pub(super) struct Layout {
    /// Loaded sections, by address, then index.
    pub(crate) sections: Vec<CodeSection>,
    /// For each section of the file its position in `sections`; `u32::MAX` if it is not loaded.
    pub(crate) position: Vec<u32>,
    /// For each section of the file the number to add to the value of a symbol in it. In `ET_REL` this is the section's
    /// synthetic address. In a linked file it is 0, since symbols there hold addresses already.
    pub(crate) bias: Vec<u64>,
}
