//! The high parts of a block's offsets (schema, section 5): up to 64 bits, a 1 for each row, a 0 for each
//! step of the high part.
//!
//! They answer two questions. Which rows have a given high part: those whose bits are between two zeros. Which high part a
//! given row has: the number of zeros before its bit. Both are *select*, the position of the n-th such bit. It takes the
//! same few steps for every n: sums of the set bits in the bytes of the word give the byte, and sums of the set bits in that
//! byte give the bit.

use foldsym_format::records::rows as layout;

const _: () = assert!(layout::MAX_HIGH_BITS == u64::BITS);

/// A 1 in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const TOPS: u64 = 0x8080_8080_8080_8080;

/// The 64 bits from bit `bit` of the section on; `None` past the end. The section's tail leaves 9 bytes at each byte of a record.
#[inline(always)]
pub(crate) fn window(data: &[u8], bit: u64) -> Option<u64> {
    let at = usize::try_from(bit >> 3).ok()?;
    // By both ends, as in `bits::word`.
    let [first @ .., last] = data.get(at..at.wrapping_add(9))?.first_chunk::<9>()?;
    let shift = (bit & 7) as u32;
    // In two shifts, since `shift` may be 0.
    let next = u64::from(*last).wrapping_shl(1).wrapping_shl(63u32.wrapping_sub(shift));
    Some(u64::from_le_bytes(*first).wrapping_shr(shift) | next)
}

/// The high parts of a block, and whatever follows them.
#[derive(Clone, Copy)]
pub(crate) struct High(u64);

impl High {
    /// The high parts of a block of one row.
    pub(crate) const EMPTY: Self = Self(0);

    /// The high parts that begin at bit `bit`; `None` past the end. These 64 bits may not hold all high parts of the
    /// block: a caller that reads every row must check that.
    #[inline(always)]
    pub(crate) fn read(data: &[u8], bit: u64) -> Option<Self> {
        window(data, bit).map(Self)
    }

    /// The rows whose high part is `part`: how many are before them, and how many they are. Counts what
    /// follows the last row too.
    #[inline(always)]
    pub(crate) fn rows_of(&self, part: u64) -> (u32, u32) {
        let zeros = !self.0;
        // They begin after the zero that ends the part before, and end at the next zero.
        let Some(before) = part.checked_sub(1) else { return (0, zeros.trailing_zeros()) };
        let Some(found) = select(zeros, before) else { return (u32::MAX, 0) };
        // In two shifts, since all bits may be before them.
        let behind = zeros.wrapping_shr(found) >> 1;
        (found.wrapping_add(1).wrapping_sub(part as u32), behind.trailing_zeros())
    }

    /// The high part of a row, counted from 0 among the rows that have one.
    #[inline(always)]
    pub(crate) fn part_of(&self, row: u32) -> Option<u64> {
        Some(select(self.0, row.into())?.wrapping_sub(row).into())
    }

    /// The bits up to that of the last of `rows` rows.
    pub(crate) fn len(&self, rows: u32) -> Option<u32> {
        let Some(last) = rows.checked_sub(1) else { return Some(0) };
        Some(select(self.0, last.into())?.wrapping_add(1))
    }
}

/// The position of the set bit that has `rank` set bits before it; `None` if there are fewer.
#[inline(always)]
fn select(word: u64, rank: u64) -> Option<u32> {
    let sums = byte_sums(word);
    if rank >= count(sums) {
        return None;
    }
    let byte = first_above(sums, rank);
    let rank = rank.wrapping_sub(sums.wrapping_shl(8).wrapping_shr(byte) & 0xff);
    // Bit i of that byte to byte i, there as 0 or 1.
    let spread = (word.wrapping_shr(byte) & 0xff).wrapping_mul(ONES) & 0x8040_2010_0804_0201;
    let spread = (spread.wrapping_add(!TOPS) & TOPS) >> 7;
    Some(byte.wrapping_add(first_above(spread.wrapping_mul(ONES), rank) >> 3))
}

/// For each byte, the number of set bits in it and in the bytes below it.
#[inline(always)]
const fn byte_sums(word: u64) -> u64 {
    let pairs = word.wrapping_sub((word >> 1) & 0x5555_5555_5555_5555);
    let nibbles = (pairs & 0x3333_3333_3333_3333).wrapping_add((pairs >> 2) & 0x3333_3333_3333_3333);
    let bytes = nibbles.wrapping_add(nibbles >> 4) & 0x0f0f_0f0f_0f0f_0f0f;
    bytes.wrapping_mul(ONES)
}

/// The set bits of the whole word.
#[inline(always)]
const fn count(sums: u64) -> u64 {
    sums >> 56
}

/// Where the first of the rising bytes of `sums` begins that is more than `rank`; there is one. All are less
/// than 128, so no byte borrows.
#[inline(always)]
const fn first_above(sums: u64, rank: u64) -> u32 {
    let not_above = (rank.wrapping_mul(ONES) | TOPS).wrapping_sub(sums);
    (!not_above & TOPS).trailing_zeros() & 56
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::{vec, vec::Vec};

    /// Rows with these high parts, with ones before the first bit and zeros or ones after the last.
    fn check(parts: &[u64], bit: u64, behind: bool) {
        let rows = parts.len() as u32;
        let bits: Vec<usize> = parts.iter().zip(0..).map(|(&part, row)| part as usize + row).collect();
        let len = bits.last().map_or(0, |&last| last + 1);
        let mut data = vec![0u8; bit as usize / 8 + 40];
        let mut set = |at: usize| data[at / 8] |= 1 << (at % 8);
        (0..bit as usize).for_each(&mut set);
        bits.iter().for_each(|&at| set(bit as usize + at));
        if behind {
            (bit as usize + len..bit as usize + 100).for_each(&mut set);
        }
        // First with whole words, then with no more than a section has after its last record.
        let end = (bit as usize + len).div_ceil(8) + 8;
        for data in [&data[..], &data[..end.min(data.len())]] {
            let high = High::read(data, bit).unwrap();
            assert_eq!(high.len(rows), Some(len as u32));
            for (row, &part) in parts.iter().enumerate() {
                assert_eq!(high.part_of(row as u32), Some(part));
            }
            for part in 0..parts.last().map_or(0, |last| last + 5) {
                let (before, count) = high.rows_of(part);
                let below = parts.iter().filter(|&&other| other < part).count() as u32;
                let equal = parts.iter().filter(|&&other| other == part).count() as u32;
                assert_eq!(before.min(rows), below, "{parts:?} {part}");
                assert_eq!(count.min(rows - below), equal, "{parts:?} {part}");
            }
            assert_eq!(high.rows_of(u64::MAX).0, u32::MAX);
        }
    }

    #[test]
    fn every_row_and_every_part() {
        for bit in [0, 1, 7, 8, 13] {
            for behind in [false, true] {
                check(&[0], bit, behind);
                check(&[63], bit, behind);
                check(&[0; 31], bit, behind);
                check(&(0..31).collect::<Vec<_>>(), bit, behind);
                check(&(0..22).map(|row| row * 2).collect::<Vec<_>>(), bit, behind);
                check(&(0..31).map(|row| row / 10 * 11).collect::<Vec<_>>(), bit, behind);
            }
        }
    }

    #[test]
    fn too_long_or_not_there() {
        let mut data = [0; 48];
        assert!(High::read(&data, 49 * 8).is_none());
        // The first row's bit may be in the last place, not after it.
        data[8] = 1;
        assert_eq!(High::read(&data, 0).unwrap().len(1), None);
        assert_eq!(High::read(&data, 1).unwrap().len(1), Some(64));
    }
}
