//! Numbers distinct items in the order in which they come, and maps items to values by their numbers.
//!
//! A table holds only the numbers, 4 bytes each, and the items are in a list. So a table of a hundred thousand items fits a
//! cache, and items that come one after the other are next to each other in memory.

use std::hash::Hash;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::util::hash::hash;

/// The numbers of the items of a list, by content.
#[derive(Default)]
pub(crate) struct Numbers {
    table: HashTable<u32>,
}

impl Numbers {
    /// A table with room for so many items.
    pub(crate) fn with_capacity(items: usize) -> Self {
        Numbers { table: HashTable::with_capacity(items) }
    }

    /// The number of an item, which is its index in the list. A new item is appended. The list must not be changed in any other
    /// way.
    pub(crate) fn number<T: Hash + Eq>(&mut self, list: &mut Vec<T>, item: T) -> u32 {
        let entry = self.table.entry(
            hash(&item),
            |&number| list[number as usize] == item,
            |&number| hash(&list[number as usize]),
        );
        let new = list.len() as u32;
        let number = *entry.or_insert(new).get();
        if number == new {
            list.push(item);
        }
        number
    }

    /// Removes all items. Keeps the memory and returns true, unless the table is far larger than its items needed.
    pub(crate) fn empty(&mut self) -> bool {
        let keeps = self.table.capacity() <= KEPT.max(self.table.len().saturating_mul(KEPT_TIMES));
        if keeps {
            self.table.clear();
        } else {
            *self = Numbers::default();
        }
        keeps
    }
}

/// An emptied table may keep this many slots, however few it used.
pub(crate) const KEPT: usize = 1 << 12;
/// A larger table may keep this many slots for each one that it used: emptying a table costs time for each slot.
pub(crate) const KEPT_TIMES: usize = 16;

/// Values by key.
pub(crate) struct NumberedMap<K, V> {
    numbers: Numbers,
    entries: Vec<(K, V)>,
}

impl<K, V> Default for NumberedMap<K, V> {
    fn default() -> Self {
        NumberedMap { numbers: Numbers::default(), entries: Vec::new() }
    }
}

impl<K: Hash + Eq, V: Copy> NumberedMap<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let is_it = |&number: &u32| self.entries[number as usize].0 == *key;
        let number = *self.numbers.table.find(hash(key), is_it)?;
        Some(self.entries[number as usize].1)
    }

    /// Gives a key a value, unless it has one.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        let entries = &mut self.entries;
        let entry = self.numbers.table.entry(
            hash(&key),
            |&number| entries[number as usize].0 == key,
            |&number| hash(&entries[number as usize].0),
        );
        if let Entry::Vacant(entry) = entry {
            entry.insert(entries.len() as u32);
            entries.push((key, value));
        }
    }

    /// Removes all entries; keeps memory as [`Numbers::empty`] does.
    pub(crate) fn empty(&mut self) {
        if self.numbers.empty() {
            self.entries.clear();
        } else {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NumberedMap, Numbers};

    #[test]
    fn an_item_is_numbered_once_while_the_table_grows() {
        let (mut numbers, mut list) = (Numbers::default(), Vec::new());
        for round in 0..2 {
            for item in 0..5000u64 {
                assert_eq!(u64::from(numbers.number(&mut list, item * 3)), item, "round {round}");
            }
        }
        assert_eq!(list.len(), 5000);
        assert_eq!(list[4999], 3 * 4999);
    }

    #[test]
    fn a_key_keeps_its_first_value_until_all_are_forgotten() {
        let mut map = NumberedMap::default();
        for key in 0..5000u32 {
            map.insert(key, key + 1);
            map.insert(key, 0);
        }
        assert!((0..5000).all(|key| map.get(&key) == Some(key + 1)));
        assert_eq!(map.get(&5000), None);
        map.empty();
        assert_eq!(map.get(&7), None);
        map.insert(7, 1);
        assert_eq!(map.get(&7), Some(1));
    }
}
