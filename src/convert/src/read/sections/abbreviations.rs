//! Reads abbreviation tables (DWARF 5 7.5.3), and keeps only the place of each declaration.
//!
//! Compilers write a table of some hundred abbreviations for each unit. One pass checks the table by the rules of `gimli` and
//! stores the places; the memory is used again for the next unit. A declaration is decoded when the first entry has its
//! code.

use std::collections::BTreeMap;

use gimli::{AttributeSpecification, DwAt, DwForm, DwTag, Reader as _};

use crate::read::limits::MAX_ATTRIBUTES;
use crate::read::sections::bytes::Bytes;
use crate::util::reuse;

/// The places of the declarations of a table.
#[derive(Default)]
pub(crate) struct AbbreviationTable {
    /// For each code from 1 on, the start and end of its declaration in `.debug_abbrev`.
    dense: Vec<(usize, usize)>,
    /// The same for codes that are not consecutive.
    sparse: BTreeMap<u64, (usize, usize)>,
}

impl AbbreviationTable {
    /// Reads the table at `offset` of a section. The previous content is dropped.
    ///
    /// # Errors
    /// As in `gimli`: the section ends inside the table, or the table is damaged.
    pub(crate) fn read(&mut self, section: &[u8], offset: usize) -> gimli::Result<()> {
        reuse::clear(&mut self.dense);
        self.sparse.clear();
        let mut input = Input::at(section, offset)?;
        while let Some(code) = input.code()? {
            let at = input.at;
            let place = (at, at + input.declaration()?.len());
            let next = self.dense.len() as u64 + 1;
            // `dense` may reach a code that came earlier, out of order, and is in `sparse` already. As in gimli, a code
            // that is declared twice makes the table invalid.
            let known = if code == next && !self.sparse.contains_key(&code) {
                self.dense.push(place);
                false
            } else {
                code < next || self.sparse.insert(code, place).is_some()
            };
            if known {
                return Err(gimli::Error::DuplicateAbbreviationCode(code));
            }
        }
        Ok(())
    }
}

/// The abbreviations of a unit.
#[derive(Clone, Copy)]
pub(crate) struct Abbreviations<'a, 'f> {
    /// `.debug_abbrev`
    pub(crate) section: &'f [u8],
    pub(crate) table: &'a AbbreviationTable,
}

impl<'f> Abbreviations<'_, 'f> {
    /// The declaration of a code.
    ///
    /// # Errors
    /// The table does not have this code.
    pub(crate) fn get(self, code: u64) -> gimli::Result<Declaration<'f>> {
        let AbbreviationTable { dense, sparse } = self.table;
        // Code 0 is that of null entries (DWARF 5 7.5.2) and becomes an index that no table has.
        let index = usize::try_from(code).unwrap_or(0).wrapping_sub(1);
        let found = dense.get(index).or_else(|| sparse.get(&code));
        let bytes = found.and_then(|&(start, end)| self.section.get(start..end));
        bytes.map(Declaration).ok_or(gimli::Error::InvalidAbbreviationCode(code))
    }
}

/// Searches a code in the table at `offset`, and reads the table only up to its declaration. `None` if it is not found.
pub(crate) fn find(section: &[u8], offset: usize, wanted: u64) -> Option<Declaration<'_>> {
    let mut input = Input::at(section, offset).ok()?;
    while let Some(code) = input.code().ok()? {
        let declaration = input.declaration().ok()?;
        if code == wanted {
            return Some(Declaration(declaration));
        }
    }
    None
}

/// The bytes of a declaration, after its code. The table was read without an error.
#[derive(Clone, Copy)]
pub(crate) struct Declaration<'f>(&'f [u8]);

impl<'f> Declaration<'f> {
    /// The bytes of the declaration.
    pub(crate) fn bytes(self) -> &'f [u8] {
        self.0
    }

    /// Its attributes, in order.
    pub(crate) fn attributes(self) -> impl Iterator<Item = AttributeSpecification> + use<'f> {
        let mut input = Input { bytes: self.0, at: 0 };
        // `AbbreviationTable::read` or `find` has passed over the whole declaration, so no part of it is cut off.
        let _ = input.head();
        std::iter::from_fn(move || input.attribute().ok()?)
    }

    /// The decoded declaration; `None` if it has more than [`MAX_ATTRIBUTES`] attributes.
    pub(crate) fn read(self) -> Option<Abbreviation> {
        let (tag, has_children) = Input { bytes: self.0, at: 0 }.head().ok()?;
        let attributes: Vec<_> = self.attributes().take(MAX_ATTRIBUTES + 1).collect();
        (attributes.len() <= MAX_ATTRIBUTES).then_some(Abbreviation { tag, has_children, attributes })
    }
}

/// A decoded abbreviation.
pub(crate) struct Abbreviation {
    pub(crate) tag: DwTag,
    pub(crate) has_children: bool,
    pub(crate) attributes: Vec<AttributeSpecification>,
}

impl Abbreviation {
    pub(crate) fn has(&self, name: DwAt) -> bool {
        self.attributes.iter().any(|spec| spec.name() == name)
    }
}

/// The form whose value is in the declaration instead of the entry.
const IMPLICIT: u8 = gimli::DW_FORM_implicit_const.0 as u8;

/// The value 1 in each of 8 bytes; in the bytes of names; in the bytes of forms.
const IN_ALL: u64 = u64::MAX / 0xff;
const IN_NAMES: u64 = u64::MAX / 0xffff;
const IN_FORMS: u64 = IN_NAMES << 8;

/// A place in `.debug_abbrev`.
#[derive(Clone, Copy)]
struct Input<'f> {
    bytes: &'f [u8],
    at: usize,
}

impl<'f> Input<'f> {
    fn at(bytes: &'f [u8], at: usize) -> gimli::Result<Input<'f>> {
        let input = Input { bytes, at };
        if at > bytes.len() { Err(input.ended()) } else { Ok(input) }
    }

    /// The next code of a table; `None` at its end. The 0 at the end of the section may be missing.
    fn code(&mut self) -> gimli::Result<Option<u64>> {
        let code = match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
            (None, _) => return Ok(None),
            (Some(&code @ ..0x80), _) => {
                self.at += 1;
                code.into()
            }
            (Some(&low), Some(&high @ ..0x80)) => {
                self.at += 2;
                u64::from(low & 0x7f) | u64::from(high) << 7
            }
            _ => self.by_gimli(|input| input.read_uleb128())?,
        };
        Ok(Some(code).filter(|&code| code != 0))
    }

    /// The tag, and whether entries have children.
    #[inline]
    fn head(&mut self) -> gimli::Result<(DwTag, bool)> {
        let tag = self.number()?;
        if tag == 0 {
            return Err(gimli::Error::AbbreviationTagZero);
        }
        match gimli::DwChildren(self.byte()?) {
            gimli::DW_CHILDREN_no => Ok((DwTag(tag), false)),
            gimli::DW_CHILDREN_yes => Ok((DwTag(tag), true)),
            other => Err(gimli::Error::InvalidAbbreviationChildren(other)),
        }
    }

    /// Checks the declaration after a code, and returns its bytes.
    #[inline]
    fn declaration(&mut self) -> gimli::Result<&'f [u8]> {
        let start = self.at;
        self.head()?;
        loop {
            self.skip_plain();
            // Two frequent cases: the end of the list, and a short `DW_FORM_implicit_const`.
            match self.next() {
                Some([0, 0, _]) => {
                    self.at += 2;
                    break;
                }
                Some([1..0x80, IMPLICIT, ..0x80]) => self.at += 3,
                // Also for the last bytes of the section, of which `next` cannot give three.
                _ if self.attribute()?.is_none() => break,
                _ => {}
            }
        }
        Ok(&self.bytes[start..self.at])
    }

    /// Skips attributes of two bytes: name and form are below 128, and there is no value. Four at a time.
    #[inline]
    fn skip_plain(&mut self) {
        while let Some(four) = self.next() {
            let four = u64::from_le_bytes(four);
            // `other` has bit 7 set in each byte that is 0 or at least 128, and in each form that has a value. A borrow may
            // set further bits, but only above the first of these.
            let values = (four ^ (IN_FORMS * u64::from(IMPLICIT))) | (IN_NAMES * 0x7f);
            let other = (four | four.wrapping_sub(IN_ALL) | values.wrapping_sub(IN_ALL)) & (IN_ALL << 7);
            self.at += (other.trailing_zeros() / 16 * 2) as usize;
            if other != 0 {
                break;
            }
        }
    }

    /// The next `N` bytes.
    #[inline(always)]
    fn next<const N: usize>(&self) -> Option<[u8; N]> {
        self.bytes.get(self.at..)?.first_chunk().copied()
    }

    /// The next attribute of a declaration; `None` after the last one.
    #[inline(never)]
    fn attribute(&mut self) -> gimli::Result<Option<AttributeSpecification>> {
        let (name, form) = (self.number()?, self.number()?);
        // A name of 0 and a form of 0 together end the list (DWARF 5 7.5.3). One 0 alone is damage.
        if name == 0 || form == 0 {
            return match (name, form) {
                (0, 0) => Ok(None),
                (0, _) => Err(gimli::Error::AttributeNameZero),
                _ => Err(gimli::Error::AttributeFormZero),
            };
        }
        let form = DwForm(form);
        let value = match form {
            gimli::DW_FORM_implicit_const => Some(self.constant()?),
            _ => None,
        };
        Ok(Some(AttributeSpecification::new(DwAt(name), form, value)))
    }

    #[inline]
    fn byte(&mut self) -> gimli::Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.ended())?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads a tag, or the name or form of an attribute.
    #[inline]
    fn number(&mut self) -> gimli::Result<u16> {
        match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
            (Some(&byte @ ..0x80), _) => {
                self.at += 1;
                Ok(byte.into())
            }
            (Some(&low), Some(&high @ ..0x80)) => {
                self.at += 2;
                Ok(u16::from(low & 0x7f) | u16::from(high) << 7)
            }
            _ => self.by_gimli(|input| input.read_uleb128_u16()),
        }
    }

    #[inline]
    fn constant(&mut self) -> gimli::Result<i64> {
        match self.bytes.get(self.at) {
            Some(&byte @ ..0x80) => {
                self.at += 1;
                // Bit 6 is the sign.
                Ok(i64::from((byte << 1) as i8 >> 1))
            }
            _ => self.by_gimli(|input| input.read_sleb128()),
        }
    }

    #[cold]
    fn by_gimli<T>(
        &mut self,
        read: impl FnOnce(&mut Bytes<'_, gimli::LittleEndian>) -> gimli::Result<T>,
    ) -> gimli::Result<T> {
        // LEB128 numbers have no byte order.
        let mut input = Bytes::new(&self.bytes[self.at..], gimli::LittleEndian);
        let read = read(&mut input)?;
        self.at = self.bytes.len() - input.len();
        Ok(read)
    }

    #[cold]
    fn ended(&self) -> gimli::Error {
        gimli::Error::UnexpectedEof(Bytes::new(self.bytes, gimli::LittleEndian).offset_id())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tables with codes, tags and forms, and with rare or wrong parts: long numbers, zeros in wrong places, repeated codes.
    fn section() -> impl Strategy<Value = Vec<u8>> {
        let plain = prop::sample::select(&[1u8, 2, 3, 5, 0x0b, 0x13, 0x34, 0x49][..]);
        let byte = prop_oneof![8 => plain, 3 => Just(0u8), 1 => Just(IMPLICIT), 1 => any::<u8>()];
        let attribute = prop_oneof![
            8 => prop::collection::vec(prop::sample::select(&[1u8, 2, 3, 0x0b, 0x49][..]), 2),
            1 => Just(vec![0x3a, IMPLICIT, 0x41]),
            1 => Just(vec![0x3a, IMPLICIT, 0x80, 0x7f]),
            1 => Just(vec![0x81, 0x01, 0x18]),
            1 => Just(vec![0x88, 0x42, 0x81, 0x3e]),
            1 => prop::collection::vec(byte, 1..4),
        ];
        let code = prop_oneof![6 => Just(None), 1 => any::<u8>().prop_map(Some)];
        let declaration = (code, 0u8..3, prop::collection::vec(attribute, 0..12));
        prop::collection::vec(declaration, 0..6).prop_map(|declarations| {
            let mut out = Vec::new();
            for (next, (code, children, attributes)) in (1..).zip(declarations) {
                out.extend([code.unwrap_or(next), 0x34, children % 2]);
                out.extend(attributes.concat());
                out.extend([0, 0]);
            }
            out
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn a_table_says_what_gimlis_does(section in section(), cut in 0..200usize) {
            let section = &section[..cut.min(section.len())];
            let parsed = gimli::DebugAbbrev::new(section, gimli::LittleEndian)
                .abbreviations(gimli::DebugAbbrevOffset(0));
            let mut table = AbbreviationTable::default();
            // The next read must drop this content.
            table.read(&[9, 1, 0, 0, 0, 1, 1, 0, 0, 0], 0).unwrap();
            match (table.read(section, 0), parsed) {
                (Ok(()), Ok(parsed)) => {
                    for code in 0..0x200 {
                        let ours = Abbreviations { section, table: &table }.get(code).ok();
                        let ours = ours.and_then(Declaration::read);
                        let parsed = parsed.get(code);
                        prop_assert_eq!(ours.is_some(), parsed.is_some(), "{}", code);
                        if let (Some(ours), Some(parsed)) = (ours, parsed) {
                            prop_assert_eq!(ours.tag, parsed.tag());
                            prop_assert_eq!(ours.has_children, parsed.has_children());
                            prop_assert_eq!(&ours.attributes[..], parsed.attributes());
                            let found = find(section, 0, code).and_then(Declaration::read).unwrap();
                            prop_assert_eq!(&found.attributes[..], parsed.attributes());
                        }
                    }
                }
                // For a cut-off table, gimli reports the offset of the end of its input, and ours reports the start.
                (Err(gimli::Error::UnexpectedEof(_)), Err(gimli::Error::UnexpectedEof(_))) => {}
                (ours, parsed) => prop_assert_eq!(ours.err(), parsed.err()),
            }
        }
    }
}
