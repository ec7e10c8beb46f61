//! Labels that assemblers make, which name no function. The mapping symbols of a processor's ELF ABI (`$x`, `$d`) are read
//! in `open/elf/symbols.rs`, by processor.

/// A local label of an ELF file.
const LOCAL: &[u8] = b".L";

/// A label `ltmpN` at the start of each section of a Mach-O file.
const SECTION_START: &[u8] = b"ltmp";

/// True for a local label.
pub(crate) fn is_local_label(name: &[u8]) -> bool {
    name.starts_with(LOCAL)
}

/// True for the label at the start of a section of a Mach-O file.
pub(crate) fn is_section_label(name: &[u8]) -> bool {
    name.starts_with(SECTION_START)
}
