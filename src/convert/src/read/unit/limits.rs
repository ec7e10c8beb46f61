//! What a unit may have and take; where the numbers come from says [`crate::budget`].

use super::super::Endianity;
use super::UnitReader;
use crate::open::{DebugSection, DebugSections};

/// What a unit may have.
#[derive(Clone, Copy)]
pub(in super::super) struct Limits {
    /// Entries of range lists, and rows past [`super::OWN_ROWS`]: others may have them as well.
    pub(in super::super) of_others: u64,
    /// Bytes of memory. A unit that takes more is not read further: the program is refused for it.
    pub(in super::super) kept: u64,
}

/// Any number of DIEs may name one long list: units may have so many times what the lists hold.
const LIST_COPIES: u64 = 4;

/// Entries of range lists that sections of these lengths can hold at most: `.debug_ranges` two addresses of 4 bytes each,
/// `.debug_rnglists` a kind and a byte.
pub(super) fn held(ranges: usize, range_lists: usize) -> u64 {
    (ranges / 8 + range_lists / 2) as u64
}

/// Entries of range lists that the sections of a file hold at most.
pub(in super::super) fn held_by_lists(sections: &DebugSections<'_>) -> u64 {
    held(sections.get(DebugSection::Ranges).len(), sections.get(DebugSection::RngLists).len())
}

/// Entries that units may have of them.
pub(in super::super) fn allowed_entries(held: u64) -> u64 {
    held.saturating_mul(LIST_COPIES)
}

impl<E: Endianity> UnitReader<'_, '_, E> {
    /// Bytes of memory that the unit takes so far.
    pub(super) fn kept(&self) -> u64 {
        let tables = &self.origins.tables;
        let named = size_of_val(&tables.names[..]) + size_of_val(&tables.origins[..]);
        self.out.bytes() + (named + size_of_val(&self.shared[..])) as u64
    }
}
