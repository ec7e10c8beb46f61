//! Unsigned LEB128 (DWARF 5 7.6) and zigzag, both ways.

use crate::bits;

/// The most bytes that one varint takes.
pub const MAX_LEN: usize = 10;

/// Reads the varint at byte `at`: its value and the offset after it. `None` if the bytes end first or the value does not fit 64 bits.
///
/// ```
/// use foldsym_format::varint::read;
/// assert_eq!(read(&[0xe5, 0x8e, 0x26], 0), Some((624485, 3)));
/// assert_eq!(read(&[0x80], 0), None);
/// ```
#[inline(always)]
pub fn read(data: &[u8], at: usize) -> Option<(u64, usize)> {
    // Numbers of up to 8 bytes, if 8 bytes can be read, are decoded without a branch on the length: cut the word after the first byte
    // without the continuation bit, then close the gaps of the continuation bits.
    if let Some(word) = bits::word(data, at) {
        let ends = !word & 0x8080_8080_8080_8080;
        if ends != 0 {
            let through = ends ^ ends.wrapping_sub(1);
            let word = word & through & 0x7f7f_7f7f_7f7f_7f7f;
            let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
            let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
            let word = (word & 0x0000_0000_0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4);
            let len = (ends.trailing_zeros() as usize).wrapping_add(1) >> 3;
            return Some((word, at.wrapping_add(len)));
        }
    }
    read_slow(data, at)
}

#[cold]
fn read_slow(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut shift = 0u32;
    for (used, &byte) in data.get(at..)?.iter().take(MAX_LEN).enumerate() {
        let part = u64::from(byte & 0x7f);
        // Nine bytes have 63 bits, so the tenth has room for one.
        if shift == 63 && part > 1 {
            return None;
        }
        value |= part.wrapping_shl(shift);
        if byte < 0x80 {
            return Some((value, at.wrapping_add(used).wrapping_add(1)));
        }
        shift = shift.wrapping_add(7);
    }
    None
}

/// Writes a varint to the start of `out` and returns how many bytes it takes.
///
/// ```
/// use foldsym_format::varint::{MAX_LEN, write};
/// let mut out = [0; MAX_LEN];
/// let len = write(624485, &mut out);
/// assert_eq!(&out[..len], [0xe5, 0x8e, 0x26]);
/// ```
pub fn write(mut value: u64, out: &mut [u8; MAX_LEN]) -> usize {
    let mut len = 0usize;
    for byte in out.iter_mut() {
        len = len.wrapping_add(1);
        let low = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 {
            *byte = low;
            break;
        }
        *byte = low | 0x80;
    }
    len
}

/// Maps a signed integer to an unsigned one that is small for small absolute values: 0, -1, 1, -2 to 0, 1, 2, 3.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned()
}

/// The inverse of [`zigzag`].
///
/// ```
/// use foldsym_format::varint::{unzigzag, zigzag};
/// assert_eq!([0, 1, 2, 3].map(unzigzag), [0, -1, 1, -2]);
/// assert_eq!(unzigzag(zigzag(i64::MIN)), i64::MIN);
/// ```
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ (value & 1).cast_signed().wrapping_neg()
}
