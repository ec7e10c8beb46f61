//! Numbers distinct items in the order in which they come, and maps items to values by their numbers.
//!
//! The tables have numbers alone, 4 bytes each, and the items stand in lists: a table of a hundred thousand items fits a
//! cache, which it would not with a copy of each, and the items that come together are together.

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
    /// With room for so many items.
    pub(crate) fn with_capacity(items: usize) -> Self {
        Numbers { table: HashTable::with_capacity(items) }
    }

    /// The number of an item, which is its place in the list; one that is new is put at the end. All changes of the list
    /// go through here.
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

    /// Forgets all. Keeps the memory, and returns true, unless that is far more than was filled.
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

/// Places that an empty table may keep, however few were filled.
pub(crate) const KEPT: usize = 1 << 12;
/// And so many times those that were filled: emptying a table costs time for each of its places.
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

    /// Gives a key its value, unless it has one.
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

    /// Forgets all, as [`Numbers::empty`] does.
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
