//! Decodes LEB128 numbers (DWARF 5 7.6), including padded ones.
//!
//! A number may have more bytes than it needs: BOLT writes every abbreviation code that it patches in four bytes, and
//! assemblers write a difference of two labels in a fixed length.

/// The most bytes of one number. A padded number may be longer than the 10 bytes that 64 bits need. Without a bound, a hostile
/// file could start many numbers inside one long run of padding, and each would cost the whole run.
const MAX_LEN: usize = 32;

/// Why a number cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The bytes end before the number does.
    Cut,
    /// It has more than 64 bits, or more than [`MAX_LEN`] bytes.
    TooLarge,
}

/// The unsigned number at the start of the bytes, and its length.
pub(crate) fn unsigned(bytes: &[u8]) -> Result<(u64, usize), Problem> {
    let (mut value, mut shift) = (0u64, 0u32);
    for (index, &byte) in bytes.iter().take(MAX_LEN).enumerate() {
        let low = u64::from(byte & 0x7f);
        // From bit 64 on there is only padding: `checked_shl` gives `None` there, and 0 is the only value that passes the next
        // check.
        let part = low.checked_shl(shift).unwrap_or(0);
        // Bits were lost: the number has more than 64. Padding is 0 and fits wherever it is.
        if part.checked_shr(shift).unwrap_or(0) != low {
            return Err(Problem::TooLarge);
        }
        value |= part;
        if byte < 0x80 {
            return Ok((value, index + 1));
        }
        shift += 7;
    }
    Err(if bytes.len() < MAX_LEN { Problem::Cut } else { Problem::TooLarge })
}

/// The signed number at the start of the bytes, and its length.
pub(crate) fn signed(bytes: &[u8]) -> Result<(i64, usize), Problem> {
    let (mut value, mut shift) = (0u64, 0u32);
    for (index, &byte) in bytes.iter().take(MAX_LEN).enumerate() {
        let low = u64::from(byte & 0x7f);
        match shift {
            0..63 => value |= low << shift,
            // From bit 63 on all bits are the sign.
            63 if matches!(low, 0 | 0x7f) => value |= low << 63,
            64.. if low == (value.cast_signed() >> 63) as u64 & 0x7f => {}
            _ => return Err(Problem::TooLarge),
        }
        shift += 7;
        if byte < 0x80 {
            // Extends the sign from the highest bit of the last byte (DWARF 5 7.6); with 64 bits or more it is in its place
            // already.
            let unused = 64u32.saturating_sub(shift);
            return Ok(((value << unused).cast_signed() >> unused, index + 1));
        }
    }
    Err(if bytes.len() < MAX_LEN { Problem::Cut } else { Problem::TooLarge })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_does_not_change_a_number() {
        assert_eq!(unsigned(&[0x81, 0x80, 0x80, 0x00, 0x55]), Ok((1, 4)));
        assert_eq!(unsigned(&[0xe5, 0x8e, 0x26]), Ok((624485, 3)));
        assert_eq!(signed(&[0x83, 0x80, 0x80, 0x00]), Ok((3, 4)));
        assert_eq!(signed(&[0xfe, 0xff, 0xff, 0x7f]), Ok((-2, 4)));
        assert_eq!(
            (signed(&[0x7e]), signed(&[0x3f]), signed(&[0x40])),
            (Ok((-2, 1)), Ok((63, 1)), Ok((-64, 1)))
        );
        let padded = |first: u8, fill: u8, last: u8, len: usize| {
            let mut bytes = vec![fill; len];
            (bytes[0], bytes[len - 1]) = (first, last);
            bytes
        };
        for len in 2..=MAX_LEN {
            assert_eq!(unsigned(&padded(0x85, 0x80, 0, len)), Ok((5, len)));
            assert_eq!(signed(&padded(0x85, 0x80, 0, len)), Ok((5, len)));
            assert_eq!(signed(&padded(0xfb, 0xff, 0x7f, len)), Ok((-5, len)));
        }
    }

    #[test]
    fn the_largest_numbers_fit_and_larger_ones_are_refused() {
        let mut bytes = [0xff; 10];
        bytes[9] = 1;
        assert_eq!(unsigned(&bytes), Ok((u64::MAX, 10)));
        bytes[9] = 3;
        assert_eq!(unsigned(&bytes), Err(Problem::TooLarge));
        bytes[9] = 0x7f;
        assert_eq!(signed(&bytes), Ok((-1, 10)));
        bytes[9] = 0;
        assert_eq!(signed(&bytes), Ok((i64::MAX, 10)));
        bytes[9] = 1;
        assert_eq!(signed(&bytes), Err(Problem::TooLarge));
        for problem in [unsigned(&[0x80; 40]).map(drop), signed(&[0x80; 40]).map(drop)] {
            assert_eq!(problem, Err(Problem::TooLarge));
        }
        for problem in [unsigned(&[0x80; 3]).map(drop), signed(&[]).map(drop)] {
            assert_eq!(problem, Err(Problem::Cut));
        }
    }
}
