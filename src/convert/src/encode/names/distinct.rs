//! Numbers distinct keys in the order in which they are first seen.
//!
//! Frequent keys are seen early, so they are close to each other in memory. [`crate::util::numbers`] does the same for items of
//! any type. This table takes integers only: a lookup needs about 24 instructions less, and there are about two lookups for
//! each word of the names.

use crate::util::hash::hash as keyed;

/// Keys and their numbers, which begin at 1.
pub(super) struct KeyTable {
    /// By number, less 1.
    keys: Vec<u64>,
    /// Numbers by the hashes of their keys, with open addressing. 0 is a free slot; at least half of the slots are free.
    slots: Vec<u32>,
    /// An odd number that the process draws. The upper bits of a product with it are the hash, so that nobody can choose words that all begin
    /// at one slot.
    multiplier: u64,
    /// How many lower bits of the product do not count.
    shift: u32,
}

impl Default for KeyTable {
    fn default() -> KeyTable {
        KeyTable {
            keys: Vec::new(),
            slots: vec![0; 1 << FIRST_SLOTS_LOG2],
            multiplier: keyed(&0_u64) | 1,
            shift: u64::BITS - FIRST_SLOTS_LOG2,
        }
    }
}

const FIRST_SLOTS_LOG2: u32 = 10;

impl KeyTable {
    /// The number of `key`; a new key gets the next number.
    #[inline(always)]
    pub(super) fn number(&mut self, key: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = self.slot(key);
        while let Some(&number @ 1..) = self.slots.get(at) {
            if self.keys[number as usize - 1] == key {
                return number;
            }
            at = (at + 1) & mask;
        }
        self.add(key)
    }

    /// The slot at which the search for a key begins.
    #[inline(always)]
    fn slot(&self, key: u64) -> usize {
        (key.wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    #[inline(never)]
    fn add(&mut self, key: u64) -> u32 {
        self.keys.push(key);
        let number = self.keys.len() as u32;
        if self.keys.len() * 2 > self.slots.len() {
            // A half of the slots is free before, and seven eighths after: growth is rare, and the search always meets a free
            // slot.
            self.slots = vec![0; self.slots.len() * 4];
            self.shift -= 2;
            (1..number).for_each(|number| self.place(number));
        }
        self.place(number);
        number
    }

    /// Puts a number into the slot of its key.
    fn place(&mut self, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = self.slot(self.keys[number as usize - 1]);
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = number;
    }
}

/// A hash of `key`. The more significant a bit of it is, the more bits of the key it depends on.
#[inline(always)]
pub(super) fn hash(key: u64) -> u32 {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::KeyTable;

    #[test]
    fn a_key_is_numbered_once_while_the_table_grows() {
        // With this factor the slot is the upper bits of the key.
        let mut keys = KeyTable { multiplier: 1, ..KeyTable::default() };
        for round in 0..2 {
            for key in 0..5000u64 {
                // Seven keys have the same slot.
                assert_eq!(u64::from(keys.number((key / 7) << 50 | (key % 7))), key + 1, "round {round}");
            }
        }
    }
}
