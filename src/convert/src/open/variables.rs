//! The symbols of global variables, of which the image keeps none but vtables.

use super::image::{Format, Image, VariableSymbol};
use super::{elf, macho};
/// The variables of a program, by address. What is damaged was reported when the image was made.
pub(crate) fn variables<'f>(image: &Image<'f>) -> Vec<VariableSymbol<'f>> {
    let mut found = Vec::new();
    match image.format {
        // The file with the debug information comes last, and counts more.
        Format::Elf => {
            image.files_read.iter().rev().for_each(|data| elf::add_variables(image, data, &mut found));
        }
        // A size follows from the next symbol, so one table decides: a stripped program has fewer symbols than its dSYM.
        Format::MachO => {
            let mut tables = image.files_read.iter().map(|data| macho::variables(&image.path, data));
            found = tables.find(|found| !found.is_empty()).unwrap_or_default();
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
