//! Counts the memory that the records of a profile will take, before anything is decoded.

use std::mem::size_of;
use std::sync::Arc;

use super::profile;
use crate::names::MAX_TEXT as MAX_NAME_TEXT;
use crate::wire::{Field, Fields};

/// The most bytes that the allocator adds to a list or a text.
const HEAP: u64 = 16;

/// Bytes of a list that grew by one record at a time: it has room for at least four, and for a power of two.
fn room(count: u64, size: usize) -> u64 {
    if count == 0 { 0 } else { count.max(4).next_power_of_two() * size as u64 + HEAP }
}

/// The number of values in a packed list: the last byte of each has its high bit clear.
fn packed(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte & 0x80 == 0).count() as u64
}

/// Bytes of memory that the records of a profile take when decoded, with the tables that find locations, mappings and functions by their ids. `None`
/// if a record has a truncated field, or a field of a kind that profiles do not have.
pub(super) fn memory(bytes: &[u8]) -> Option<u64> {
    let (mut total, mut comments) = (0u64, 0u64);
    // The number of records of each kind.
    let mut counts = [0u64; 7];
    for field in Fields(bytes) {
        match field? {
            (13, Field::Varint(_)) => comments += 1,
            (13, Field::Bytes(body)) => comments += packed(body),
            (number @ 1..=6, Field::Bytes(body)) => {
                counts[number as usize] += 1;
                total += match number {
                    2 => lists(body, 3, size_of::<profile::Label>())?,
                    4 => lists(body, 4, size_of::<profile::LineRecord>())?,
                    // A string is shared then, and each has two counts.
                    6 if body.len() > MAX_NAME_TEXT => body.len() as u64 + MAX_NAME_TEXT as u64 + 8 * HEAP,
                    6 if !body.is_empty() => body.len() as u64 + 2 * HEAP,
                    _ => 0,
                };
            }
            (_, Field::Varint(_) | Field::Bytes(_)) => {}
            (_, Field::Cut(_) | Field::Fixed) => return None,
        }
    }
    let sizes = [
        0,
        size_of::<profile::ValueType>(),
        size_of::<profile::Sample>(),
        size_of::<profile::Mapping>(),
        size_of::<profile::Location>(),
        size_of::<profile::Function>(),
        // The list of the strings that are shared is made of the decoded list.
        size_of::<String>() + size_of::<Arc<str>>(),
    ];
    total += room(comments, size_of::<i64>());
    total += counts.iter().zip(sizes).map(|(&count, size)| room(count, size)).sum::<u64>();
    // Tables are at most seven eighths full, and have a byte for each place.
    let table = |count: u64| room(count + count / 7, size_of::<(u64, usize)>() + 1);
    Some(total + table(counts[3]) + table(counts[4]) + table(counts[5]))
}

/// Bytes of the lists in a sample or a location: its nested records, given by their field number and size, and the values of fields 1 and
/// 2.
fn lists(body: &[u8], nested: u64, size: usize) -> Option<u64> {
    let mut counts = [0u64; 2];
    let mut records = 0;
    for field in Fields(body) {
        match field? {
            (number, Field::Bytes(_)) if number == nested => records += 1,
            (number @ 1..=2, Field::Bytes(body)) => counts[number as usize - 1] += packed(body),
            (number @ 1..=2, Field::Varint(_)) => counts[number as usize - 1] += 1,
            (_, Field::Varint(_) | Field::Bytes(_)) => {}
            (_, Field::Cut(_) | Field::Fixed) => return None,
        }
    }
    // The values of a location are in its record itself.
    let numbers = |count| if nested == 3 { room(count, size_of::<u64>()) } else { 0 };
    Some(room(records, size) + numbers(counts[0]) + numbers(counts[1]))
}
