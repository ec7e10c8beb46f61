//! The limits of reading one unit. [`crate::util::budget`] explains the numbers.

use crate::open::{DebugSection, DebugSections};

/// While headers, roots or classes are read, pages are released after this many units.
pub(crate) const UNITS_BETWEEN: usize = 32;

/// The same while functions are read, when less is kept in memory. RocksDB has 343 units.
pub(crate) const FUNCTION_UNITS_BETWEEN: usize = 256;

/// The most attributes of an abbreviation. Some forms take no bytes, so a tiny entry could have any number of attributes.
pub(crate) const MAX_ATTRIBUTES: usize = 256;

/// The most functions, and the most sequences, at one address that are compared with each other. Without this limit a hostile
/// file could make the comparison take time quadratic in its size.
pub(crate) const MAX_FOLDED: usize = 1024;

/// A unit may have this many rows per row of its line program before [`Limits::of_others`] counts. A row of the program
/// mostly belongs to one function, and inlined ranges may split it into a few.
pub(crate) const OWN_ROWS: usize = 8;

/// The limits of one unit.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Entries of range lists, and rows past [`OWN_ROWS`]. Other units may have the same lists.
    pub(crate) of_others: u64,
    /// Bytes of memory. If a unit needs more, reading stops and the program is refused.
    pub(crate) kept: u64,
}

/// Any number of DIEs may name the same long range list. All units together may have this many times the entries of all lists.
const LIST_COPIES: u64 = 4;

/// The most entries of range lists in sections of these lengths. An entry of `.debug_ranges` has at least two addresses of 4
/// bytes. An entry of `.debug_rnglists` has at least a kind and one byte.
pub(crate) fn held(ranges: usize, range_lists: usize) -> u64 {
    (ranges / 8 + range_lists / 2) as u64
}

/// The most entries of range lists in the sections of a file.
pub(crate) fn held_by_lists(sections: &DebugSections<'_>) -> u64 {
    held(sections.get(DebugSection::Ranges).len(), sections.get(DebugSection::RngLists).len())
}

/// The most entries of range lists that all units together may have.
pub(crate) fn allowed_entries(held: u64) -> u64 {
    held.saturating_mul(LIST_COPIES)
}
