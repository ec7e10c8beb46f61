//! Parses the text of an address into a place of the program.

use std::cell::Cell;

use foldsym_lookup::ImageAddr;
use foldsym_symbolize::{ReportedAddress, number};

use crate::io::failure::quoted;

/// A loaded section of the program.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) start: u64,
    pub(crate) size: u64,
}

/// How addresses are read: the load bias, and the sections that `SECTION:OFFSET` may name.
#[derive(Default)]
pub(crate) struct Space {
    pub(crate) base: u64,
    pub(crate) sections: Vec<Section>,
    /// A number without `0x` was read.
    pub(crate) has_decimal: Cell<bool>,
}

impl Space {
    /// Reads a number or `SECTION:OFFSET`, of the program that is the only module.
    ///
    /// # Errors
    /// The fault of the text, for the user.
    pub(crate) fn parse(&self, text: &str) -> Result<ReportedAddress, String> {
        self.parse_in(text, text)
    }

    /// As [`Self::parse`], of a text that is a part of a word. Messages quote the word as it was given.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub(crate) fn parse_in(&self, word: &str, text: &str) -> Result<ReportedAddress, String> {
        if let Some(given) = number(text) {
            // A hexadecimal number has an `x` as its second character.
            if text.as_bytes().get(1).is_none_or(u8::is_ascii_digit) {
                self.has_decimal.set(true);
            }
            return Ok(ReportedAddress::Memory(given));
        }
        // A section's name may hold colons; an offset cannot.
        let (name, offset) = text.rsplit_once(':').ok_or_else(|| no_address(word, text))?;
        let offset = number(offset).ok_or_else(|| {
            format!(
                "{} is not an offset: expected 0x and hexadecimal digits, or decimal digits",
                quoted(offset)
            )
        })?;
        let mut named = self.sections.iter().enumerate().filter(|(_, section)| section.name == name);
        let (section, _) =
            named.next().ok_or_else(|| format!("no section {} is loaded from this file", quoted(name)))?;
        // ELF allows several sections of one name, and an object file with section groups has many.
        if named.next().is_some() {
            return Err(format!("several sections are named {}: give an address", quoted(name)));
        }
        Ok(ReportedAddress::Section { module: 0, section, offset })
    }

    /// The link-time address of a place; `None` past the end of its section.
    pub(crate) fn image(&self, place: ReportedAddress) -> Option<ImageAddr> {
        match place {
            ReportedAddress::Memory(address) => Some(ImageAddr(address.wrapping_sub(self.base))),
            ReportedAddress::Section { section, offset, .. } => {
                // The load bias does not count: the section's start is a link-time address.
                let section = self.sections.get(section).filter(|section| offset < section.size)?;
                Some(ImageAddr(section.start.wrapping_add(offset)))
            }
            _ => None,
        }
    }
}

/// Reads hexadecimal digits without `0x` and without a sign.
pub(crate) fn hex(digits: &str) -> Option<u64> {
    // `from_str_radix` takes a plus sign.
    u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

fn no_address(word: &str, text: &str) -> String {
    let expected = "expected 0x and hexadecimal digits, decimal digits, or SECTION:OFFSET";
    // Other tools print addresses without `0x`.
    let is_hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hint = if is_hex { " (hexadecimal digits without 0x)" } else { "" };
    format!("{} is not an address{hint}: {expected}", quoted(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_bias() {
        let section = |name: &str, start, size| Section { name: name.into(), start, size };
        let sections = vec![
            section(".text", 0x100, 0x40),
            section("a:b", 0x200, 8),
            section("two", 0, 1),
            section("two", 1, 1),
        ];
        let space = Space { base: 0x1000, sections, ..Space::default() };
        let image = |text: &str| space.parse(text).map(|place| space.image(place));
        assert_eq!(space.parse("0x1010"), Ok(ReportedAddress::Memory(0x1010)));
        assert_eq!(image("0x1010"), Ok(Some(ImageAddr(0x10))));
        // Below the link-time address: the bias wraps.
        assert_eq!(image("0xfff"), Ok(Some(ImageAddr(u64::MAX))));
        assert_eq!(
            space.parse(".text:64"),
            Ok(ReportedAddress::Section { module: 0, section: 0, offset: 64 })
        );
        assert_eq!(image(".text:0x3f"), Ok(Some(ImageAddr(0x13f))));
        assert_eq!(image(".text:64"), Ok(None));
        assert_eq!(image("a:b:1"), Ok(Some(ImageAddr(0x201))));
        for wrong in ["", ":", ".text:", ".data:0", "two:0", ".text:x", "-1"] {
            assert!(space.parse(wrong).is_err(), "{wrong}");
        }
    }
}
