//! What a unit may have and take; where the numbers come from says [`crate::util::budget`].

use crate::open::{DebugSection, DebugSections};

/// Units that are looked at between two times that the pages around them are given back.
pub(crate) const UNITS_BETWEEN: usize = 32;

/// The same while functions are read, of which less is kept. RocksDB has 343 units.
pub(crate) const FUNCTION_UNITS_BETWEEN: usize = 256;

/// Attributes that an abbreviation may have: some forms take no byte of an entry, and an entry takes one.
pub(crate) const MAX_ATTRIBUTES: usize = 256;

/// Functions and sequences at one address that are compared with each other: without a bound, a hostile file takes
/// the square of its size in time.
pub(crate) const MAX_FOLDED: usize = 1024;

/// Rows for each of its line program that are a unit's own: a row belongs to one function mostly, and may be parted by what
/// is inlined.
pub(crate) const OWN_ROWS: usize = 8;

/// What a unit may have.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Entries of range lists, and rows past [`OWN_ROWS`]: others may have them as well.
    pub(crate) of_others: u64,
    /// Bytes of memory. A unit that takes more is not read further: the program is refused for it.
    pub(crate) kept: u64,
}

/// Any number of DIEs may name one long list: units may have so many times what the lists hold.
const LIST_COPIES: u64 = 4;

/// Entries of range lists that sections of these lengths can hold at most: `.debug_ranges` two addresses of 4 bytes each,
/// `.debug_rnglists` a kind and a byte.
pub(crate) fn held(ranges: usize, range_lists: usize) -> u64 {
    (ranges / 8 + range_lists / 2) as u64
}

/// Entries of range lists that the sections of a file hold at most.
pub(crate) fn held_by_lists(sections: &DebugSections<'_>) -> u64 {
    held(sections.get(DebugSection::Ranges).len(), sections.get(DebugSection::RngLists).len())
}

/// Entries that units may have of them.
pub(crate) fn allowed_entries(held: u64) -> u64 {
    held.saturating_mul(LIST_COPIES)
}
