//! The high parts of a block's offsets (spec, section 5): up to 128 bits, a 1 for each row, a 0 for each
//! step of the high part.
//!
//! Two questions are asked of them. Which rows have a given high part: those whose bits stand between two
//! zeros. Which high part a given row has: as many as there are zeros before its bit. Both are *select*,
//! the place of the n-th such bit, which takes the same few steps for every n: sums of the set bits in the
//! bytes of a word tell the byte, sums of the set bits in that byte tell the bit.

use core::hint::select_unpredictable;

use foldsym_format::bits::word;
use foldsym_format::records::rows as layout;

/// Words that hold the longest high parts.
const WORDS: usize = layout::MAX_HIGH_BITS as usize / 64;
/// Bytes that hold them at any bit offset, in whole words.
const WINDOW: usize = (WORDS + 1) * 8;

/// A 1 in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const TOPS: u64 = 0x8080_8080_8080_8080;

/// The high parts of a block, and whatever follows them.
#[derive(Clone, Copy)]
pub(crate) struct High {
    words: [u64; WORDS],
}

impl High {
    /// What a block of one row has.
    pub(crate) const EMPTY: Self = Self { words: [0; WORDS] };

    /// The high parts that begin at bit `bit`; `None` behind the end. Whether all that a block has are among them is for
    /// whoever reads all rows.
    #[inline(always)]
    pub(crate) fn read(data: &[u8], bit: u64) -> Option<Self> {
        let rest = usize::try_from(bit >> 3).ok().and_then(|at| data.get(at..))?;
        let shift = (bit & 7) as u32;
        Some(match rest.first_chunk::<WINDOW>() {
            Some(window) => Self::shifted(window, shift),
            None => Self::at_the_end(rest, shift),
        })
    }

    #[inline(always)]
    fn shifted(window: &[u8; WINDOW], shift: u32) -> Self {
        let at = |index: usize| word(window, index.wrapping_mul(8)).unwrap_or(0);
        let mut words = [0; WORDS];
        for (index, slot) in words.iter_mut().enumerate() {
            // In two shifts, since `shift` may be 0.
            let next = at(index.wrapping_add(1)).wrapping_shl(1).wrapping_shl(63u32.wrapping_sub(shift));
            *slot = at(index).wrapping_shr(shift) | next;
        }
        Self { words }
    }

    /// As above where fewer bytes are left than the longest ones need; zeros follow.
    #[cold]
    fn at_the_end(rest: &[u8], shift: u32) -> Self {
        let mut window = [0; WINDOW];
        for (slot, &byte) in window.iter_mut().zip(rest) {
            *slot = byte;
        }
        Self::shifted(&window, shift)
    }

    /// The rows whose high part is `part`: how many are before them, and how many they are. Counts what
    /// follows the last row too.
    #[inline(always)]
    pub(crate) fn rows_of(&self, part: u64) -> (u32, u32) {
        let zeros = self.words.map(|word| !word);
        // They begin behind the zero that ends the part before, and end at the next.
        let found = match select(&zeros, part.saturating_sub(1)) {
            Some(found) => found,
            None if part == 0 => Found { place: 0, behind: 0 },
            None => return (u32::MAX, 0),
        };
        let [first, ..] = zeros;
        let before = found.place.wrapping_add(1).wrapping_sub(part as u32);
        let before = select_unpredictable(part == 0, 0, before);
        (before, select_unpredictable(part == 0, first, found.behind).trailing_zeros())
    }

    /// The high part of a row, counted from 0 among those that have one.
    #[inline(always)]
    pub(crate) fn part_of(&self, row: u32) -> Option<u64> {
        Some(select(&self.words, row.into())?.place.wrapping_sub(row).into())
    }

    /// The bits up to that of the last of `rows` rows.
    pub(crate) fn len(&self, rows: u32) -> Option<u32> {
        let Some(last) = rows.checked_sub(1) else { return Some(0) };
        Some(select(&self.words, last.into())?.place.wrapping_add(1))
    }
}

/// A set bit.
struct Found {
    place: u32,
    /// The bits above it, at least all of the next 64 or up to the end.
    behind: u64,
}

/// The set bit that `rank` others are before; `None` where there are not so many.
#[inline(always)]
fn select(&[low, high]: &[u64; WORDS], rank: u64) -> Option<Found> {
    let (low_sums, high_sums) = (byte_sums(low), byte_sums(high));
    let in_low = count(low_sums);
    if rank >= count(high_sums).wrapping_add(in_low) {
        return None;
    }
    // Which word it is follows no pattern, so it is not worth a branch.
    let second = rank >= in_low;
    let pick = |low: u64, high: u64| select_unpredictable(second, high, low);
    let (word, next, sums) = (pick(low, high), pick(high, 0), pick(low_sums, high_sums));
    let (start, rank) = (pick(0, 64) as u32, rank.wrapping_sub(pick(0, in_low)));

    let byte = first_above(sums, rank);
    let rank = rank.wrapping_sub(sums.wrapping_shl(8).wrapping_shr(byte) & 0xff);
    // Bit i of that byte to byte i, there as 0 or 1.
    let spread = (word.wrapping_shr(byte) & 0xff).wrapping_mul(ONES) & 0x8040_2010_0804_0201;
    let spread = (spread.wrapping_add(!TOPS) & TOPS) >> 7;
    let bit = byte.wrapping_add(first_above(spread.wrapping_mul(ONES), rank) >> 3);
    // In two shifts, since the bit may be the word's last or first.
    let behind = word.wrapping_shr(bit) >> 1 | next.wrapping_shl(63u32.wrapping_sub(bit));
    Some(Found { place: start.wrapping_add(bit), behind })
}

/// For each byte the set bits in it and in those below it.
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

    /// Rows with these high parts, with ones before the first bit and zeros or ones behind the last.
    fn check(parts: &[u64], bit: u64, behind: bool) {
        let rows = parts.len() as u32;
        let bits: Vec<usize> = parts.iter().zip(0..).map(|(&part, row)| part as usize + row).collect();
        let len = bits.last().map_or(0, |&last| last + 1);
        let mut data = vec![0u8; bit as usize / 8 + 40];
        let mut set = |at: usize| data[at / 8] |= 1 << (at % 8);
        (0..bit as usize).for_each(&mut set);
        bits.iter().for_each(|&at| set(bit as usize + at));
        if behind {
            (bit as usize + len..bit as usize + 190).for_each(&mut set);
        }
        // With whole words at hand, and with no more than a section has behind its last record.
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
                check(&[127], bit, behind);
                check(&[0; 63], bit, behind);
                check(&(0..63).collect::<Vec<_>>(), bit, behind);
                check(&(0..43).map(|row| row * 2).collect::<Vec<_>>(), bit, behind);
                check(&(0..63).map(|row| row / 20 * 21).collect::<Vec<_>>(), bit, behind);
            }
        }
    }

    #[test]
    fn too_long_or_not_there() {
        let mut data = [0; 48];
        assert!(High::read(&data, 49 * 8).is_none());
        // The first row's bit may stand in the last place, not behind it.
        data[16] = 1;
        assert_eq!(High::read(&data, 0).unwrap().len(1), None);
        assert_eq!(High::read(&data, 1).unwrap().len(1), Some(128));
    }
}
