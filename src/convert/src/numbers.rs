//! Numbers distinct items in the order in which they come.

use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// The numbers of the items of a list, by content. The table has numbers alone: one of a hundred thousand items fits a
/// cache, which it would not with a copy of each.
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
        let hash = FxBuildHasher.hash_one(&item);
        let entry = self.table.entry(
            hash,
            |&number| list[number as usize] == item,
            |&number| FxBuildHasher.hash_one(&list[number as usize]),
        );
        let new = list.len() as u32;
        let number = *entry.or_insert(new).get();
        if number == new {
            list.push(item);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

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
}
