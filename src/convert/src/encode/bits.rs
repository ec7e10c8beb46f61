//! Appends varints and bit-packed integers to a byte vector, least significant bit first.

/// Appends `value` as unsigned LEB128 (DWARF 5 7.6).
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes that [`put_varint`] appends.
pub(super) fn varint_len(value: u64) -> usize {
    // The number 0 takes a byte, too.
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Bits that hold every value up to `largest`.
pub(super) fn width_of(largest: u64) -> u32 {
    64 - largest.leading_zeros()
}

/// Appends packed integers to a byte vector. The first one begins at a byte boundary, and [`BitWriter::finish`] pads the last
/// byte with zeros.
pub(super) struct BitWriter<'o> {
    out: &'o mut Vec<u8>,
    word: u64,
    used: u32,
}

impl<'o> BitWriter<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        BitWriter { out, word: 0, used: 0 }
    }

    /// Appends the low `width` bits of `value`, whose other bits are 0. `width` is at most 63.
    #[inline]
    pub(super) fn put(&mut self, value: u64, width: u32) {
        debug_assert!(width < 64 && value >> width == 0, "{value} does not fit in {width} bits");
        self.word |= value << self.used;
        let total = self.used + width;
        if total < 64 {
            self.used = total;
            return;
        }
        self.out.extend_from_slice(&self.word.to_le_bytes());
        // The sum reaches 64 only with bits in the word, so the shift is less than 64.
        self.word = value >> (64 - self.used);
        self.used = total - 64;
    }

    /// Appends a bit for each flag, of which there are at most 64.
    pub(super) fn put_flags(&mut self, flags: impl Iterator<Item = bool>) {
        let (mut word, mut count) = (0, 0);
        for flag in flags {
            debug_assert!(count < 64, "too many flags");
            word |= u64::from(flag) << count;
            count += 1;
        }
        // `put` takes at most 63 bits.
        let half = count / 2;
        self.put(word & ((1 << half) - 1), half);
        self.put(word >> half, count - half);
    }

    pub(super) fn finish(self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.word.to_le_bytes()[..bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_have_the_length_that_is_planned() {
        for value in [0, 1, 127, 128, 16383, 16384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out.len(), varint_len(value), "{value}");
        }
    }

    #[test]
    fn bits_cross_words() {
        let mut out = vec![0xee];
        let mut bits = BitWriter::new(&mut out);
        for _ in 0..9 {
            bits.put(0b101_0101, 7);
        }
        bits.put(0b11, 2);
        bits.put(0, 0);
        bits.finish();
        let mut expected = 0u128;
        for i in 0..9 {
            expected |= 0b101_0101 << (7 * i);
        }
        expected |= 0b11 << 63;
        assert_eq!(out[0], 0xee);
        assert_eq!(&out[1..], &expected.to_le_bytes()[..9]);
    }
}
