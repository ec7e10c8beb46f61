//! Reads protobuf's wire format without decoding it: the number of each field, and its value or bytes.

/// Fields of a message; what is left of them is public, so that the bytes of one field can be copied.
pub(crate) struct Fields<'b>(pub(crate) &'b [u8]);

/// The content of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field<'b> {
    Varint(u64),
    /// A number of 64 or 32 bits.
    Fixed,
    /// A submessage, a string, or a packed list.
    Bytes(&'b [u8]),
    /// It extends beyond the end: the bytes that are there.
    Cut(&'b [u8]),
}

impl<'b> Iterator for Fields<'b> {
    type Item = Option<(u64, Field<'b>)>;

    /// `Some(None)` for a malformed field or a group, which nothing uses; then the iterator ends.
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut read = || -> Option<(u64, Field<'b>)> {
            let (tag, rest) = varint(self.0)?;
            let (number, fixed) = (tag >> 3, |size: usize| match rest.split_at_checked(size) {
                Some((_, rest)) => (Field::Fixed, rest),
                None => (Field::Cut(rest), &[][..]),
            });
            let (field, rest) = match tag & 7 {
                0 => {
                    let (value, rest) = varint(rest)?;
                    (Field::Varint(value), rest)
                }
                1 => fixed(8),
                2 => {
                    let (len, rest) = varint(rest)?;
                    match usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len)) {
                        Some((bytes, rest)) => (Field::Bytes(bytes), rest),
                        None => (Field::Cut(rest), &[][..]),
                    }
                }
                5 => fixed(4),
                _ => return None,
            };
            self.0 = rest;
            Some((number, field))
        };
        let found = read();
        if found.is_none() {
            self.0 = &[];
        }
        Some(found)
    }
}

/// Reads a number of at most 64 bits, and what comes after it.
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    // 64 bits take at most 10 bytes of 7 bits, so the shift is at most 63.
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}
