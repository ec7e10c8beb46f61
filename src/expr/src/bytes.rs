//! Reads numbers at a position in borrowed bytes, never outside of them.

/// The most bytes of a LEB128 number. A padded number may be longer than the 10 bytes that 64 bits need. Without a bound, a hostile
/// file could have many entries that refer to one long run of padding, and each would cost the whole run.
const MAX_LEB128: usize = 32;

/// Reads forwards; `None` at the end of the bytes. Nothing is consumed then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'e> {
    all: &'e [u8],
    at: usize,
    big_endian: bool,
}

impl<'e> Bytes<'e> {
    pub(crate) fn new(all: &'e [u8], big_endian: bool) -> Self {
        Bytes { all, at: 0, big_endian }
    }

    /// Bytes from the start to the next one that is read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Continues at `at`; `None` past the end.
    pub(crate) fn seek(&mut self, at: usize) -> Option<()> {
        (at <= self.all.len()).then(|| self.at = at)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.all.len()
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'e [u8]> {
        // An operand may give any length, so the sum may overflow.
        let end = self.at.checked_add(len)?;
        let taken = self.all.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// All bytes that are left.
    pub(crate) fn rest(&self) -> &'e [u8] {
        self.all.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// An unsigned number of 1 to 8 bytes.
    pub(crate) fn number(&mut self, len: usize) -> Option<u64> {
        // A CIE of version 4 gives the size of an address (DWARF 5 6.4.1). A damaged one may give any size.
        if len > 8 {
            return None;
        }
        Some(number(self.take(len)?, self.big_endian))
    }

    /// A signed number of 1 to 8 bytes.
    pub(crate) fn signed(&mut self, len: usize) -> Option<i64> {
        self.number(len).map(|bits| sign_extend(bits, u32::try_from(len).unwrap_or(8).saturating_mul(8)))
    }

    /// DWARF 5 7.6. `None` also if the number has more than 64 bits, or more than [`MAX_LEB128`] bytes.
    pub(crate) fn uleb(&mut self) -> Option<u64> {
        // A copy reads ahead, so that a number that is cut off consumes nothing.
        let (mut ahead, mut value) = (*self, 0u64);
        let mut shift = 0u32;
        for _ in 0..MAX_LEB128 {
            let byte = ahead.u8()?;
            let low = u64::from(byte & 0x7f);
            // Padding with zero bytes is legal; a bit above the 64th is not.
            if shift < 64 {
                let part = low.wrapping_shl(shift);
                if part.wrapping_shr(shift) != low {
                    return None;
                }
                value |= part;
            } else if low != 0 {
                return None;
            }
            if byte & 0x80 == 0 {
                *self = ahead;
                return Some(value);
            }
            // From 64 on `shift` is not used.
            shift = shift.saturating_add(7);
        }
        None
    }

    /// DWARF 5 7.6. Bits above the 64th are not kept. `None` also if the number has more than [`MAX_LEB128`] bytes.
    pub(crate) fn sleb(&mut self) -> Option<i64> {
        let (mut ahead, mut value) = (*self, 0u64);
        let mut shift = 0u32;
        for _ in 0..MAX_LEB128 {
            let byte = ahead.u8()?;
            // If the number fits 64 bits, bytes after the tenth hold only copies of its sign.
            if shift < 64 {
                value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            }
            shift = shift.saturating_add(7);
            if byte & 0x80 == 0 {
                *self = ahead;
                // After ten bytes bit 63 has been read, so there is nothing to extend.
                return Some(if shift < 64 { sign_extend(value, shift) } else { value.cast_signed() });
            }
        }
        None
    }

    /// The text up to the next zero, at most this many bytes; consumes the zero as well.
    pub(crate) fn text(&mut self, most: usize) -> Option<&'e [u8]> {
        let rest = self.all.get(self.at..)?;
        // One byte more, for the zero that ends a text of `most` bytes.
        let len = rest.iter().take(most.saturating_add(1)).position(|byte| *byte == 0)?;
        let text = self.take(len)?;
        self.u8()?;
        Some(text)
    }
}

/// Up to 8 bytes as an unsigned number.
pub(crate) fn number(bytes: &[u8], big_endian: bool) -> u64 {
    let join = |value: u64, byte: &u8| value.wrapping_shl(8) | u64::from(*byte);
    if big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
}

/// The low `bits` bits (1 to 64) as a signed number.
pub(crate) fn sign_extend(value: u64, bits: u32) -> i64 {
    // A width of 0 would shift by 64, which wraps to 0.
    let unused = 64u32.saturating_sub(bits).min(63);
    value.wrapping_shl(unused).cast_signed().wrapping_shr(unused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_kind() {
        let mut bytes = Bytes::new(&[0x80, 0x01, 0x7f, 0xff, 0xfe, 1, 2, 3, 4], false);
        assert_eq!((bytes.uleb(), bytes.sleb()), (Some(128), Some(-1)));
        assert_eq!((bytes.signed(2), bytes.number(2), bytes.position()), (Some(-257), Some(0x201), 7));
        assert_eq!((bytes.number(4), bytes.number(9), bytes.number(2)), (None, None, Some(0x403)));
        assert!(bytes.is_empty());
        assert_eq!(Bytes::new(&[1, 2], true).number(2), Some(0x102));
        assert_eq!(sign_extend(0x80, 8), -128);
        assert_eq!(sign_extend(u64::MAX, 64), -1);
    }

    #[test]
    fn numbers_that_end_too_late() {
        let long = [0x80; 20];
        assert_eq!(Bytes::new(&long, false).uleb(), None);
        assert_eq!(
            Bytes::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], false).uleb(),
            None
        );
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0x80, 0];
        assert_eq!(Bytes::new(&most, false).uleb(), Some(u64::MAX));
        assert_eq!(
            Bytes::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f], false).sleb(),
            Some(i64::MIN)
        );
        assert_eq!(Bytes::new(b"ab", false).text(99), None);
        // Padding ends at the limit, however far it goes on.
        let padded = |len: usize| {
            let mut bytes = [0x80; 2 * MAX_LEB128];
            bytes[len - 1] = 0;
            let mut bytes = Bytes::new(&bytes, false);
            ({ bytes }.sleb(), bytes.uleb(), bytes.position())
        };
        assert_eq!(padded(MAX_LEB128), (Some(0), Some(0), MAX_LEB128));
        assert_eq!(padded(MAX_LEB128 + 1), (None, None, 0));
    }
}
