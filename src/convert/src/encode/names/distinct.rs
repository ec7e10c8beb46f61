//! Numbers distinct keys in the order in which they are first seen.
//!
//! Frequent keys are seen early, so they are close to each other in memory. [`crate::util::numbers`] does the same for items of
//! any type. This table takes integers only: a lookup needs about 24 instructions less, and there are about two lookups for
//! each word of the names.

/// Keys and their numbers, which begin at 1.
#[derive(Default)]
pub(super) struct KeyTable {
    /// By number, less 1.
    keys: Vec<u64>,
    /// Numbers by [`hash`] of their keys, with open addressing. 0 is a free slot; at least half of the slots are free.
    slots: Vec<u32>,
}

impl KeyTable {
    /// The number of `key`; a new key gets the next number.
    #[inline(always)]
    pub(super) fn number(&mut self, key: u64) -> u32 {
        // Without slots the mask is all ones, and `get` finds no slot at any place: the first key is added.
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash(key) as usize & mask;
        while let Some(&number @ 1..) = self.slots.get(at) {
            if self.keys[number as usize - 1] == key {
                return number;
            }
            at = (at + 1) & mask;
        }
        self.add(key)
    }

    #[inline(never)]
    fn add(&mut self, key: u64) -> u32 {
        self.keys.push(key);
        let number = self.keys.len() as u32;
        if self.keys.len() * 2 > self.slots.len() {
            // A half of the slots is free before, and seven eighths after: growth is rare, and the search always meets a free
            // slot.
            self.slots = vec![0; (self.slots.len() * 4).max(1024)];
            (1..number).for_each(|number| self.place(number));
        }
        self.place(number);
        number
    }

    /// Puts a number into the slot of its key.
    fn place(&mut self, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash(self.keys[number as usize - 1]) as usize & mask;
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
        let mut keys = KeyTable::default();
        for round in 0..2 {
            for key in 0..5000u64 {
                // Seven keys have the same slot.
                assert_eq!(u64::from(keys.number(((key % 7) << 60) | (key / 7))), key + 1, "round {round}");
            }
        }
    }
}
