//! Rules for the caller's registers at an address.

use foldsym_format::bits::{self, mask};
use foldsym_format::records::unwind as layout;
use foldsym_format::varint;

/// How the canonical frame address is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cfa<'d> {
    /// Nothing says.
    Unknown,
    /// A register plus an offset.
    Register {
        /// The register, by DWARF's number.
        register: u64,
        /// Bytes to add.
        offset: i64,
    },
    /// The value of an expression (DWARF 5 2.5).
    Expression(&'d [u8]),
}

/// Where a register of the caller is (DWARF 5 6.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule<'d> {
    /// Nowhere.
    Undefined,
    /// In itself.
    SameValue,
    /// In memory, at this offset from the canonical frame address.
    Offset(i64),
    /// It is the canonical frame address plus this offset.
    ValueOffset(i64),
    /// In another register.
    Register(u64),
    /// Where an expression says.
    Expression(&'d [u8]),
    /// It is what an expression says.
    ValueExpression(&'d [u8]),
}

/// The rules from an address up to another.
#[derive(Clone, Copy, Debug)]
pub struct Row<'d> {
    /// The first link-time address that it holds for.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// The canonical frame address.
    pub cfa: Cfa<'d>,
    /// The register that the return address counts as.
    pub return_register: u64,
    /// The frame was made by a signal: the caller was interrupted, and its address is no return address.
    pub signal: bool,
    pub(crate) saves: &'d [u8],
    pub(crate) at: usize,
    pub(crate) count: u64,
}

impl<'d> Row<'d> {
    /// The rules of registers, by number. A register without one was not changed, or need not be kept by the callee. Ends
    /// at a damaged one.
    pub const fn rules(&self) -> Rules<'d> {
        Rules { saves: self.saves, at: self.at, left: self.count }
    }
}

/// The rules of a row; see [`Row::rules`].
#[derive(Clone, Debug)]
pub struct Rules<'d> {
    saves: &'d [u8],
    at: usize,
    left: u64,
}

impl Rules<'_> {
    /// The read position, and how many are left; not 0 at the end if one is damaged.
    pub(crate) const fn rest(&self) -> (usize, u64) {
        (self.at, self.left)
    }
}

impl Rules<'_> {
    /// The next rule, if it is a register in memory; else nothing is consumed.
    #[inline(always)]
    pub(crate) fn next_saved(&mut self) -> Option<(u64, i64)> {
        let left = self.left.checked_sub(1)?;
        let (register, offset, at) = saved(self.saves, self.at)?;
        (self.left, self.at) = (left, at);
        Some((register, offset))
    }
}

impl<'d> Iterator for Rules<'d> {
    type Item = (u64, Rule<'d>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let left = self.left.checked_sub(1)?;
        let Some((register, rule, at)) = rule(self.saves, self.at) else {
            // `left` stays unchanged, so that [`Rules::rest`] shows the damage. At the end of the bytes every later read also fails.
            self.at = self.saves.len();
            return None;
        };
        (self.left, self.at) = (left, at);
        Some((register, rule))
    }
}

/// A length and that many bytes, and their end.
pub(crate) fn expression(data: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (len, at) = varint::read(data, at)?;
    let end = at.checked_add(usize::try_from(len).ok()?)?;
    Some((data.get(at..end)?, end))
}

/// A register in memory at a short offset from the frame's address, with that offset, and their end: nearly all rules. `None` for any
/// other.
#[inline(always)]
pub(crate) fn saved(data: &[u8], at: usize) -> Option<(u64, i64, usize)> {
    // Kind, and the bits that say that a number has another byte: a head of one byte, or of two.
    const SHORT: u64 = 0x80_87;
    const LONG: u64 = 0x80_80_87;
    let word = bits::word(data, at)?;
    if word & SHORT == layout::OFFSET {
        let offset = varint::unzigzag(word >> 8 & 0x7f);
        return Some((word >> layout::KIND_BITS & 0xf, offset, at.wrapping_add(2)));
    }
    if word & LONG == layout::OFFSET | 0x80 {
        // A byte has 7 bits of a number. The kind takes 3 bits of the first byte, so 4 bits of the register are in it and 7 in the
        // second byte.
        let register = (word >> layout::KIND_BITS & 0xf) | (word >> 4 & 0x7f0);
        return Some((register, varint::unzigzag(word >> 16 & 0x7f), at.wrapping_add(3)));
    }
    None
}

/// A register and its rule, and their end.
#[inline]
pub(crate) fn rule(data: &[u8], at: usize) -> Option<(u64, Rule<'_>, usize)> {
    if let Some((register, offset, end)) = saved(data, at) {
        return Some((register, Rule::Offset(offset), end));
    }
    any_rule(data, at)
}

/// As [`rule`], of any length and kind.
#[inline(never)]
fn any_rule(data: &[u8], at: usize) -> Option<(u64, Rule<'_>, usize)> {
    let (head, at) = varint::read(data, at)?;
    let register = head >> layout::KIND_BITS;
    let signed = || varint::read(data, at).map(|(value, at)| (varint::unzigzag(value), at));
    let (rule, at) = match head & mask(layout::KIND_BITS) {
        layout::UNDEFINED => (Rule::Undefined, at),
        layout::SAME => (Rule::SameValue, at),
        layout::OFFSET => signed().map(|(offset, at)| (Rule::Offset(offset), at))?,
        layout::VALUE_OFFSET => signed().map(|(offset, at)| (Rule::ValueOffset(offset), at))?,
        layout::REGISTER => varint::read(data, at).map(|(other, at)| (Rule::Register(other), at))?,
        layout::EXPRESSION => expression(data, at).map(|(bytes, at)| (Rule::Expression(bytes), at))?,
        layout::VALUE_EXPRESSION => {
            expression(data, at).map(|(bytes, at)| (Rule::ValueExpression(bytes), at))?
        }
        _ => return None,
    };
    Some((register, rule, at))
}
