//! The executable sections of a program, which distinguish a live address from a tombstone.

use crate::model::{AddressRange, ImageAddr};
use crate::open::{Image, Restored, SymbolKind};
use crate::program::names::relation::may_be_symbol_of;

/// The executable sections of an image. An address outside of them is a tombstone.
#[derive(Default)]
pub(crate) struct CodeSections {
    /// Sorted and disjoint.
    pub(crate) ranges: Vec<AddressRange>,
    /// True if address 0 is never a tombstone.
    pub(crate) zero_is_code: bool,
    /// Names and sizes of the symbols at address 0, if there is code at 0. There, 0 may be an address or a tombstone.
    pub(crate) at_zero: Vec<(Vec<u8>, u64)>,
    /// The places in the debug sections at which `open` restored an erased address.
    pub(crate) restored: Restored,
}

impl CodeSections {
    pub(crate) fn new(image: &Image<'_>) -> CodeSections {
        let mut ranges: Vec<AddressRange> = image
            .sections
            .iter()
            .filter(|s| s.executable)
            .map(|s| s.range)
            .filter(|r| r.start < r.end)
            .collect();
        // `section` looks only at the last range that begins at or before an address, so the ranges must be disjoint.
        // Sections may overlap in a damaged file.
        ranges.sort();
        let mut merged: Vec<AddressRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                // Sections that only touch stay apart, since a range is cut at the end of the section in which it
                // begins.
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        // In a program without code at 0, an address 0 is outside of all sections, and no symbol need decide.
        let at_zero = match merged.first() {
            Some(first) if first.start == ImageAddr(0) => {
                let symbols = image.symbols.iter().filter(|s| s.address == 0 && !s.name.is_empty());
                let code = symbols.filter(|s| s.kind != SymbolKind::Data);
                code.map(|symbol| (symbol.name.to_vec(), symbol.size)).collect()
            }
            _ => Vec::new(),
        };
        let (zero_is_code, restored) = (image.zero_is_code, image.restored.clone());
        CodeSections { ranges: merged, zero_is_code, at_zero, restored }
    }

    /// True if a function with this name and length may really be at address 0, which linkers also write as a tombstone. A
    /// symbol at 0 must fit the function, unless there is no symbol at 0.
    pub(crate) fn believes_zero(&self, name: &[u8], len: u64) -> bool {
        self.zero_is_code
            || self.at_zero.is_empty()
            || self.at_zero.iter().any(|(symbol, size)| may_be_symbol_of(symbol, *size, name, len))
    }

    /// True if `address` is in an executable section.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.section(ImageAddr(address)).is_some()
    }

    /// The executable section that contains `address`.
    pub(crate) fn section(&self, address: ImageAddr) -> Option<AddressRange> {
        let after = self.ranges.partition_point(|r| r.start <= address);
        let range = *self.ranges.get(after.checked_sub(1)?)?;
        (address < range.end).then_some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_at_address_zero_tells_a_function_from_a_tombstone() {
        let believes = |symbol: &str, size: u64, name: &str, len: u64| {
            let at_zero = vec![(symbol.as_bytes().to_vec(), size)];
            let ranges = vec![AddressRange::of(ImageAddr(0), 64)];
            let code = |zero_is_code| CodeSections {
                ranges: ranges.clone(),
                zero_is_code,
                at_zero: at_zero.clone(),
                restored: Restored::default(),
            };
            assert!(code(true).believes_zero(name.as_bytes(), len));
            code(false).believes_zero(name.as_bytes(), len)
        };
        assert!(believes("main", 8, "main", 16));
        assert!(believes("_ZNK1W2upEi", 8, "_ZNK1W2upEi", 16));
        assert!(believes("_ZNK1W2upEi.cold", 0, "_ZNK1W2upEi", 16));
        assert!(!believes("_ZNK1W2upEi", 16, "_ZNK1W4downEi", 16));
        // Functions without a linkage name.
        assert!(believes("_ZNK1W2upEi", 16, "up", 16));
        assert!(believes("_ZNK1W2upEi", 0, "up", 16));
        assert!(believes("_ZN1WD2Ev", 16, "~W", 16));
        assert!(believes("_Z4pickIiEvT_", 16, "pick<int>", 16));
        assert!(believes("_ZplRK1WS1_", 16, "operator+", 16));
        assert!(!believes("_ZNK1W2upEi", 12, "up", 16), "another length");
        assert!(!believes("_ZNK1W2upEi", 16, "down", 16), "another name");
        assert!(!believes("setup", 16, "up", 16), "a plain name is whole");
        assert!(!believes("_ZplRK1WS1_", 0, "operator+", 16), "nothing but the length could tell");
    }
}
