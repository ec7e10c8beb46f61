//! The wire format of protobuf, as far as it is asked before anything is decoded: which fields there are, and what they take in memory.

use std::mem::size_of;

use super::profile;

/// Fields of the wire format: number, and what a submessage or a string has.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

/// What a field has.
pub(super) enum Field<'b> {
    Varint,
    Bytes(&'b [u8]),
    /// It goes beyond the end.
    Cut,
}

impl<'b> Iterator for Fields<'b> {
    type Item = Option<(u64, Field<'b>)>;

    /// `Some(None)` for what is no field of this format; then it ends.
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut read = || -> Option<(u64, Field<'b>)> {
            let (tag, rest) = varint(self.0)?;
            self.0 = rest;
            match tag & 7 {
                0 => {
                    self.0 = varint(rest)?.1;
                    Some((tag >> 3, Field::Varint))
                }
                2 => {
                    let (len, rest) = varint(rest)?;
                    match usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len)) {
                        Some((bytes, rest)) => {
                            self.0 = rest;
                            Some((tag >> 3, Field::Bytes(bytes)))
                        }
                        None => {
                            self.0 = &[];
                            Some((tag >> 3, Field::Cut))
                        }
                    }
                }
                _ => None,
            }
        };
        let found = read();
        if found.is_none() {
            self.0 = &[];
        }
        Some(found)
    }
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

/// Bytes of memory that the records of a profile take, once they are decoded: at most, and within a factor of 4.
pub(super) fn memory(bytes: &[u8]) -> u64 {
    let mut total = 0u64;
    for field in Fields(bytes) {
        let Some((number, Field::Bytes(body))) = field else { continue };
        let (own, nested) = match number {
            1 | 11 => (size_of::<profile::ValueType>(), 0),
            2 => (size_of::<profile::Sample>(), size_of::<profile::Label>()),
            3 => (size_of::<profile::Mapping>(), 0),
            4 => (size_of::<profile::Location>(), size_of::<profile::LineRecord>()),
            5 => (size_of::<profile::Function>(), 0),
            6 => (size_of::<String>() + body.len(), 0),
            13 => (body.len() * size_of::<i64>(), 0),
            _ => (0, 0),
        };
        // A list of records has up to twice the room that it needs.
        total += 2 * (own as u64 + if nested > 0 { lists(body, number, nested) } else { 0 });
    }
    total
}

/// Bytes of the lists in a sample or a location, whose nested records are of a size.
fn lists(body: &[u8], number: u64, nested: usize) -> u64 {
    let is_nested = |field| if number == 2 { field == 3 } else { field == 4 };
    let one = |field| match field {
        Some((field, Field::Bytes(_))) if is_nested(field) => nested,
        // Numbers that are packed have at least a byte each.
        Some((1 | 2, Field::Bytes(packed))) => packed.len() * size_of::<u64>(),
        Some((1 | 2, Field::Varint)) => size_of::<u64>(),
        _ => 0,
    };
    // The smallest list that is not empty has room for four, and a record has two lists.
    let numbers = if number == 2 && body.len() > 2 { 10 } else { 8 };
    let room = if body.is_empty() { 0 } else { numbers * size_of::<u64>() };
    (Fields(body).map(one).sum::<usize>() + room) as u64
}
