//! Turns what was typed for an address into an address of the image.

use std::cell::Cell;

use foldsym_lookup::ImageAddr;
use foldsym_symbolize::number;

use crate::io::failure::quoted;

/// An address as it was given, and where that is in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// What the answer repeats.
    pub(crate) given: u64,
    /// `None` where no image address belongs to it: past the end of the section.
    pub(crate) image: Option<ImageAddr>,
}

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
    /// Reads a number or `SECTION:OFFSET`.
    ///
    /// # Errors
    /// What is wrong with the text, for the user.
    pub(crate) fn parse(&self, text: &str) -> Result<Address, String> {
        self.parse_below(text, |section| section.size)
    }

    /// As [`Space::parse`], of a return address: a call may be the last instruction of a section.
    pub(crate) fn parse_return(&self, text: &str) -> Result<Address, String> {
        self.parse_below(text, |section| section.size.saturating_add(1))
    }

    fn parse_below(&self, text: &str, end: impl Fn(&Section) -> u64) -> Result<Address, String> {
        // A section's name may hold colons; an offset cannot.
        let Some((name, offset)) = text.rsplit_once(':') else {
            let given = number(text).ok_or_else(|| no_address(text))?;
            if text.as_bytes().get(1).is_none_or(u8::is_ascii_digit) {
                self.has_decimal.set(true);
            }
            return Ok(Address { given, image: Some(ImageAddr(given.wrapping_sub(self.base))) });
        };
        let offset = number(offset).ok_or_else(|| {
            format!(
                "{} is not an offset: expected 0x and hexadecimal digits, or decimal digits",
                quoted(offset)
            )
        })?;
        let mut named = self.sections.iter().filter(|section| section.name == name);
        let section =
            named.next().ok_or_else(|| format!("no section {} is loaded from this file", quoted(name)))?;
        if named.next().is_some() {
            return Err(format!("several sections are named {}: give an address", quoted(name)));
        }
        // Section addresses are the file's own, so no load bias is in them.
        let given = section.start.wrapping_add(offset);
        Ok(Address { given, image: (offset < end(section)).then_some(ImageAddr(given)) })
    }
}

fn no_address(text: &str) -> String {
    let expected = "expected 0x and hexadecimal digits, decimal digits, or SECTION:OFFSET";
    let is_hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hint = if is_hex { " (hexadecimal digits without 0x)" } else { "" };
    format!("{} is not an address{hint}: {expected}", quoted(text))
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
        assert_eq!(space.parse("0x1010"), Ok(Address { given: 0x1010, image: Some(ImageAddr(0x10)) }));
        // Below where it was linked to: the bias wraps.
        let below = Some(ImageAddr(u64::MAX));
        assert_eq!(space.parse("0xfff"), Ok(Address { given: 0xfff, image: below }));
        assert_eq!(space.parse(".text:0x3f"), Ok(Address { given: 0x13f, image: Some(ImageAddr(0x13f)) }));
        assert_eq!(space.parse(".text:64"), Ok(Address { given: 0x140, image: None }));
        let end = Ok(Address { given: 0x140, image: Some(ImageAddr(0x140)) });
        assert_eq!(space.parse_return(".text:64"), end);
        assert_eq!(space.parse_return(".text:65"), Ok(Address { given: 0x141, image: None }));
        assert_eq!(space.parse("a:b:1"), Ok(Address { given: 0x201, image: Some(ImageAddr(0x201)) }));
        for wrong in ["", ":", ".text:", ".data:0", "two:0", ".text:x", "-1"] {
            assert!(space.parse(wrong).is_err(), "{wrong}");
        }
    }
}
