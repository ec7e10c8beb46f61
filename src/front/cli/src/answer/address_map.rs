//! Keeps values by ranges of addresses that do not overlap: a new range replaces the parts of others at its addresses.

use std::collections::BTreeMap;

/// Values by address.
pub(crate) struct AddressMap<V> {
    /// By their first address; they do not overlap.
    parts: BTreeMap<u64, RangePart<V>>,
}

/// A part of a range that no later range replaced.
#[derive(Clone, Copy)]
struct RangePart<V> {
    /// The last address, not the one after it, which may need more than 64 bits.
    last: u64,
    /// The first address of the whole range.
    start: u64,
    value: V,
}

impl<V> Default for AddressMap<V> {
    fn default() -> Self {
        Self { parts: BTreeMap::new() }
    }
}

impl<V: Copy> AddressMap<V> {
    /// Adds a range, up to the last address if it would go past it. A range of no bytes is left out.
    pub(crate) fn add(&mut self, start: u64, size: u64, value: V) {
        let Some(more) = size.checked_sub(1) else { return };
        let last = start.saturating_add(more);
        // Of parts that do not overlap, the last that begins before the range is the only one that may extend into it.
        if let Some((_, before)) = self.parts.range_mut(..start).next_back()
            && before.last >= start
        {
            let cut = *before;
            before.last = start - 1;
            self.keep_after(last, cut);
        }
        while let Some((&first, &inside)) = self.parts.range(start..=last).next() {
            self.parts.remove(&first);
            self.keep_after(last, inside);
        }
        self.parts.insert(start, RangePart { last, start, value });
    }

    /// Keeps the bytes of a part that are after `last`.
    fn keep_after(&mut self, last: u64, part: RangePart<V>) {
        if part.last > last {
            self.parts.insert(last + 1, part);
        }
    }

    /// The value at an address, and how many bytes after the start of its whole range the address is.
    pub(crate) fn find(&self, address: u64) -> Option<(u64, V)> {
        let (_, part) = self.parts.range(..=address).next_back()?;
        (address <= part.last).then_some((address - part.start, part.value))
    }

    /// The parts by address: first and last address, the start of the whole range, and the value.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u64, u64, u64, V)> {
        self.parts.iter().map(|(&first, part)| (first, part.last, part.start, part.value))
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }
}
