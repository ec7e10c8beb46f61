//! The words of vtables and type information at run time: the words of the file, and the loader's values for relocated ones.

use crate::model::{AddressRange, ImageAddr};
use crate::open::{Image, RelocationSymbol};
use crate::program::machine::{EM_AARCH64, EM_X86_64};
use crate::util::hash::HashMap;

const R_X86_64_64: u32 = 1;
const R_X86_64_RELATIVE: u32 = 8;
const R_AARCH64_ABS64: u32 = 257;
const R_AARCH64_RELATIVE: u32 = 1027;

/// A word of a table or of type information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'f> {
    /// Signed: tables contain small negative numbers besides addresses.
    Number(i64),
    /// The address of the function of this name, in whichever module.
    Named(&'f [u8]),
    /// A number plus the address of an object of this name. The last is the sum, if the program itself has the object.
    Object(&'f [u8], i64, Option<ImageAddr>),
    /// The loader writes a value that is not known.
    Unknown,
}

/// The program's data with what the loader writes into it.
pub(crate) struct Words<'i, 'f> {
    image: &'i Image<'f>,
    written: HashMap<ImageAddr, Word<'f>>,
}

/// The address that the number in a word is.
pub(crate) fn address_of(number: i64) -> ImageAddr {
    ImageAddr(number.cast_unsigned())
}

/// The word that the loader makes of a symbol's address and a number.
fn named<'f>(symbol: &RelocationSymbol<'f>, addend: i64) -> Word<'f> {
    match (symbol.is_function, addend) {
        (true, 0) => Word::Named(symbol.name),
        // An address inside a function is no method.
        (true, _) => Word::Unknown,
        (false, _) => {
            let value = symbol.address.map(|address| ImageAddr(address.wrapping_add_signed(addend)));
            Word::Object(symbol.name, addend, value)
        }
    }
}

impl<'i, 'f> Words<'i, 'f> {
    /// Reads the relocations in these ranges, which are sorted.
    pub(crate) fn new(image: &'i Image<'f>, tables: &[AddressRange]) -> Self {
        let mut written = HashMap::default();
        let (relative, absolute) = match image.arch.machine {
            EM_X86_64 => (R_X86_64_RELATIVE, R_X86_64_64),
            EM_AARCH64 => (R_AARCH64_RELATIVE, R_AARCH64_ABS64),
            // No relocation has this type, so each word that the loader writes is unknown and gives no key.
            _ => (u32::MAX, u32::MAX),
        };
        for section in image.loader.sections() {
            // Relocations are mostly in the order of their places: the next one is before the same table as the last, or in it.
            let mut after = 0;
            section.iter().for_each(|relocation| {
                let place = ImageAddr(relocation.section_off);
                let is_next = |after: usize| {
                    after.checked_sub(1).is_none_or(|before| tables[before].start <= place)
                        && tables.get(after).is_none_or(|table| place < table.start)
                };
                if !is_next(after) {
                    after = tables.partition_point(|table| table.start <= place);
                }
                let inside = after.checked_sub(1).is_some_and(|before| place < tables[before].end);
                if !inside {
                    return;
                }
                let word = match relocation.kind {
                    // x86-64 and AArch64 use `SHT_RELA`. Without addends the value would be in the word itself.
                    kind if kind == relative && section.has_addend => Word::Number(relocation.addend),
                    kind if kind == absolute && section.has_addend => {
                        let symbol = section.symbol(relocation.symbol);
                        symbol.map_or(Word::Unknown, |symbol| named(&symbol, relocation.addend))
                    }
                    _ => Word::Unknown,
                };
                // On some processors two relocations of one place add up.
                written.entry(place).and_modify(|known| *known = Word::Unknown).or_insert(word);
            });
        }
        Words { image, written }
    }

    /// A word in these ranges; `None` if the file does not have it.
    pub(crate) fn at(&self, address: ImageAddr) -> Option<Word<'f>> {
        if let Some(&word) = self.written.get(&address) {
            return Some(word);
        }
        let after = self.image.data.partition_point(|&(start, _)| ImageAddr(start) <= address);
        let (start, bytes) = *self.image.data.get(after.checked_sub(1)?)?;
        let from = usize::try_from(address - ImageAddr(start)).ok()?;
        let big = self.image.arch.big_endian;
        let number = if self.image.arch.address_size == 4 {
            let word: [u8; 4] = bytes.get(from..from.checked_add(4)?)?.try_into().ok()?;
            i64::from(if big { i32::from_be_bytes(word) } else { i32::from_le_bytes(word) })
        } else {
            let word: [u8; 8] = bytes.get(from..from.checked_add(8)?)?.try_into().ok()?;
            if big { i64::from_be_bytes(word) } else { i64::from_le_bytes(word) }
        };
        Some(Word::Number(number))
    }
}
