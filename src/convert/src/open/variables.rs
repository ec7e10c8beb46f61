//! The symbols of global variables, of which the image keeps none but vtables.

use super::image::{Format, Image, VariableSymbol};
use super::{elf, macho};
/// The variables of a program, by address. What is damaged was reported when the image was made.
pub(crate) fn variables<'f>(image: &Image<'f>) -> Vec<VariableSymbol<'f>> {
    let mut found = Vec::new();
    // The file with the debug information comes last, and counts more.
    for data in image.files_read.iter().rev() {
        match image.format {
            Format::Elf => elf::add_variables(image, data, &mut found),
            Format::MachO => found.extend(macho::variables(&image.path, data)),
        }
    }
    by_address(found)
}

/// Orders variables by address, one for each: that of the largest size, and of these the last, as llvm-symbolizer takes them.
fn by_address(mut found: Vec<VariableSymbol<'_>>) -> Vec<VariableSymbol<'_>> {
    // Stable: of equal symbols the last stays last.
    found.sort_by_key(|symbol| (symbol.address, symbol.size));
    found.dedup_by(|later, kept| {
        let is_same = later.address == kept.address;
        if is_same {
            std::mem::swap(later, kept);
        }
        is_same
    });
    found
}
