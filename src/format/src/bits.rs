//! Reads integers at any bit offset, by one unaligned load of 8 bytes.
//!
//! Whatever is read this way is followed by at least 8 bytes of its section (the zero tail), so one load
//! reaches any field of up to [`MAX_WIDTH`] bits without a case for the end.

use core::hint::{black_box, select_unpredictable};
use core::ops::Range;

use crate::steps;

/// The widest field: 64 bits less the 7 by which a field may be off a byte boundary, less one.
pub const MAX_WIDTH: u32 = 56;

/// Zero bytes that end every section of packed fields.
pub const TAIL: usize = 8;

/// The low `width` bits set; none for 0, all but the highest for 63.
///
/// ```
/// assert_eq!(foldsym_format::bits::mask(5), 0b11111);
/// ```
#[inline(always)]
pub const fn mask(width: u32) -> u64 {
    // A damaged width may be 64 or more. Then the shift wraps and the mask is a wrong one, without a panic.
    1u64.wrapping_shl(width).wrapping_sub(1)
}

/// [`mask`] of each width up to [`MAX_WIDTH`], and 0 for wider ones: one load takes the place of the operations. It has a place for each
/// byte, so that no width is compared with its length.
#[allow(clippy::indexing_slicing)] // by the compiler alone, which refuses a place outside
static MASKS: [u64; 256] = {
    let mut masks = [0; 256];
    let mut width = 0;
    while width <= MAX_WIDTH {
        masks[width as usize] = mask(width);
        width = width.wrapping_add(1);
    }
    masks
};

/// As [`mask`], for a width that the bytes of a file decide; 0 for one above [`MAX_WIDTH`], which is damage.
#[inline(always)]
pub fn mask_of(width: u8) -> u64 {
    // A table of masks is more than tier 1 of the C interface may have.
    if cfg!(feature = "small") {
        return mask(width.into());
    }
    MASKS.get(usize::from(width)).copied().unwrap_or_default()
}

/// Reads the 8 bytes at byte `at` as a little-endian integer; `None` where fewer are left.
#[inline(always)]
pub fn word(data: &[u8], at: usize) -> Option<u64> {
    // By both ends: where `at` is known to be small, one comparison is left.
    let bytes = data.get(at..at.wrapping_add(8))?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// Reads `width` bits (at most [`MAX_WIDTH`]) that begin at bit `bit`, counted from the least significant
/// bit of the first byte. `None` where fewer than 8 bytes are left at that byte.
///
/// ```
/// use foldsym_format::bits::read;
/// let data = [0b1010_0000, 0b0000_0001, 0, 0, 0, 0, 0, 0];
/// assert_eq!(read(&data, 5, 4), Some(0b1101));
/// assert_eq!(read(&data, 8, 4), None);
/// ```
#[inline(always)]
pub fn read(data: &[u8], bit: u64, width: u32) -> Option<u64> {
    let at = usize::try_from(bit >> 3).ok()?;
    let word = word(data, at)?;
    Some((word >> (bit & 7)) & mask_of(width as u8))
}

/// Fields that [`count_up_to`] reads at once.
const AT_ONCE: u32 = 4;

/// Counts the fields that are at most `limit`, among `count` ascending, adjacent fields of `width` bits (at most [`MAX_WIDTH`])
/// that start at bit `first`. Takes log2 of `count` plus 1 steps; none for up to four narrow fields.
///
/// # Errors
/// The bit of a field that is not there.
#[cfg_attr(feature = "small", inline(never))]
#[cfg_attr(not(feature = "small"), inline(always))]
pub fn count_up_to(data: &[u8], first: u64, width: u32, count: u32, limit: u64) -> Result<u32, u64> {
    let bit_of = |nth: u32| first.wrapping_add(u64::from(width).wrapping_mul(nth.into()));
    if count <= AT_ONCE && width <= MAX_WIDTH.wrapping_div(AT_ONCE) {
        // All are read at once, without a branch on how many.
        // `AT_ONCE` fields of at most 14 bits fit the 56 bits of one load.
        let at = usize::try_from(first >> 3).map_err(|_| first)?;
        let stored = word(data, at).ok_or(first)?.wrapping_shr((first & 7) as u32);
        // The load may reach past the last field, into bits of another part of the section. Set, they are above any limit but the largest,
        // and with that one all fields count.
        let mut stored = stored | u64::MAX.wrapping_shl(width.wrapping_mul(count));
        let mut found = 0u32;
        for _ in 0..AT_ONCE {
            found = found.wrapping_add((stored & mask(width) <= limit).into());
            stored = stored.wrapping_shr(width);
        }
        return Ok(found.min(count));
    }
    let (mut found, mut left) = (0u32, count);
    while left > 0 {
        steps::step();
        // `half` is rounded up, so it is at least 1 and the loop ends. It is at most `left`, so the field is in the range.
        let half = left.div_ceil(2);
        let bit = bit_of(found.wrapping_add(half).wrapping_sub(1));
        let stored = read(data, bit, width).ok_or(bit)?;
        // The result depends on the address, so a processor cannot predict it. A conditional move is cheaper than a mispredicted branch.
        found = select_unpredictable(stored <= limit, found.wrapping_add(half), found);
        left = left.wrapping_sub(half);
    }
    Ok(found)
}

/// Bytes of a cache line of most processors.
const LINE: u64 = 64;

/// Loads a byte of each of these cache lines, counted from byte `at`, so that the processor brings the lines that a later read needs
/// while the reader still waits for other memory. Lines past the end are skipped. With the feature `small` it does nothing.
#[inline(always)]
pub fn touch(data: &[u8], at: u64, lines: Range<u64>) {
    if cfg!(feature = "small") {
        return;
    }
    for line in lines {
        let place = usize::try_from(at.wrapping_add(line.wrapping_mul(LINE)));
        if let Some(&byte) = place.ok().and_then(|place| data.get(place)) {
            // Nothing uses the byte: without this the compiler would drop the load.
            black_box(byte);
        }
    }
}

/// Reads the byte at `at`.
#[inline(always)]
pub fn u8_at(data: &[u8], at: usize) -> Option<u8> {
    data.get(at).copied()
}

/// Reads the little-endian `u16` at byte `at`.
#[inline(always)]
pub fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*data.get(at..)?.first_chunk()?))
}

/// Reads the little-endian `u32` at byte `at`.
#[inline(always)]
pub fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?))
}
