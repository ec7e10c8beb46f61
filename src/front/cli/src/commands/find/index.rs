//! Finds the functions of matching names in the section NAME_INDEX (schema, section 8).
//!
//! The `fst` crate trusts its bytes: damaged ones make it panic, and hostile ones can make a walk visit exponentially many paths. So its
//! own checksum is checked first, a panic is caught and reported as damage, and a walk has a budget of steps far above the need of any
//! sound index.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use foldsym_format::varint;
use foldsym_lookup::{FunctionId, SectionId, SymbolFile};
use fst::automaton::Automaton;
use fst::{IntoStreamer, Streamer};
use rustc_hash::FxHashSet;

use super::keys::Keys;

/// Most steps of a walk, for each byte of the map, and at least: a sound index takes at most the bytes of all its keys, which share their
/// beginnings and ends.
const STEPS_A_BYTE: u64 = 1 << 10;
const MIN_STEPS: u64 = 1 << 22;

/// The section, cut into its parts.
pub(crate) struct NameIndex<'f> {
    map: &'f [u8],
    lists: &'f [u8],
    functions: u32,
}

impl<'f> NameIndex<'f> {
    /// `None` if the file has no index. An index that cannot be cut into its parts has an empty map, which counts as damage.
    pub(crate) fn of(file: &SymbolFile<'f>) -> Option<Self> {
        let section = file.records().section_bytes(SectionId::NAME_INDEX)?;
        let cut = || {
            let (len, rest) = section.split_first_chunk()?;
            rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
        };
        let (map, lists) = cut().unwrap_or((&[], &[]));
        Some(Self { map, lists, functions: file.records().function_count() })
    }

    /// An index of these parts.
    #[cfg(test)]
    pub(super) fn of_parts(map: &'f [u8], lists: &'f [u8], functions: u32) -> Self {
        Self { map, lists, functions }
    }

    /// The functions of matching names, in the order of the names, each once.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn find(&self, wanted: &Keys) -> Result<Vec<FunctionId>, &'static str> {
        const DAMAGED: &str = "damaged: the name index cannot be read";
        // The default hook would print the panic, which is reported here as damage.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        // Everything that the closure changes is its own and dropped with the panic.
        let walked = catch_unwind(AssertUnwindSafe(|| self.values(wanted)));
        std::panic::set_hook(hook);
        let values = walked.ok().flatten().ok_or(DAMAGED)?;
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        // Lists do not overlap: together they have no more functions than bytes.
        let mut left = self.lists.len() as u64;
        for value in values {
            // `index << 1 | many` (`schema/README.md`, section 8).
            let many = value & 1 != 0;
            let value = value >> 1;
            let list = if many { self.list(value, &mut left).ok_or(DAMAGED)? } else { vec![value] };
            for function in list {
                let function =
                    u32::try_from(function).ok().filter(|id| *id < self.functions).ok_or(DAMAGED)?;
                // The linkage name and the readable name of a function are two keys, so it may be found twice.
                if seen.insert(function) {
                    found.push(FunctionId(function));
                }
            }
        }
        Ok(found)
    }

    /// Checks that every value is a function or a list of functions.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn verify(&self) -> Result<(), &'static str> {
        self.find(&Keys::Prefix(Vec::new())).map(drop)
    }

    /// The values of matching keys, each once; `None` for damage.
    fn values(&self, wanted: &Keys) -> Option<Vec<u64>> {
        let map = fst::Map::new(self.map).ok()?;
        map.as_fst().verify().ok()?;
        match wanted {
            Keys::Prefix(prefix) => self.walk(&map, &Prefix(prefix)),
            Keys::Regex(regex) => self.walk(&map, regex.as_ref()),
        }
    }

    fn walk(&self, map: &fst::Map<&[u8]>, automaton: &impl Automaton) -> Option<Vec<u64>> {
        let left = Cell::new((map.as_fst().size() as u64).saturating_mul(STEPS_A_BYTE).max(MIN_STEPS));
        // Each value is a function or a list, and each list has a byte at least.
        let most = self.functions as usize + self.lists.len();
        let mut stream = map.search(Bounded { automaton, left: &left }).into_stream();
        let (mut values, mut seen) = (Vec::new(), FxHashSet::default());
        // Nodes are shared: a small map may have any number of keys.
        while let Some((_, value)) = stream.next() {
            if seen.insert(value) {
                if values.len() >= most {
                    return None;
                }
                values.push(value);
            }
        }
        (left.get() > 0).then_some(values)
    }

    /// A list of functions, at its offset in the table after the map; subtracts its length from the budget `left`.
    fn list(&self, offset: u64, left: &mut u64) -> Option<Vec<u64>> {
        let (count, mut at) = varint::read(self.lists, usize::try_from(offset).ok()?)?;
        // The budget is checked before memory is reserved: a damaged count may be any number.
        *left = left.checked_sub(count)?;
        let mut list = Vec::with_capacity(usize::try_from(count).ok()?);
        for _ in 0..count {
            let (function, next) = varint::read(self.lists, at)?;
            list.push(function);
            at = next;
        }
        Some(list)
    }
}

/// Matches what begins so. The state is how much of the prefix was seen; `None`: something else was.
struct Prefix<'p>(&'p [u8]);

impl Automaton for Prefix<'_> {
    type State = Option<usize>;

    fn start(&self) -> Self::State {
        Some(0)
    }

    fn is_match(&self, seen: &Self::State) -> bool {
        *seen == Some(self.0.len())
    }

    fn can_match(&self, seen: &Self::State) -> bool {
        seen.is_some()
    }

    fn will_always_match(&self, seen: &Self::State) -> bool {
        self.is_match(seen)
    }

    fn accept(&self, seen: &Self::State, byte: u8) -> Self::State {
        let seen = (*seen)?;
        match self.0.get(seen) {
            None => Some(seen),
            Some(expected) => (*expected == byte).then_some(seen + 1),
        }
    }
}

/// An automaton that gives up after a number of steps.
struct Bounded<'a, A> {
    automaton: &'a A,
    left: &'a Cell<u64>,
}

impl<A: Automaton> Automaton for Bounded<'_, A> {
    type State = A::State;

    fn start(&self) -> A::State {
        self.automaton.start()
    }

    fn is_match(&self, state: &A::State) -> bool {
        self.left.get() > 0 && self.automaton.is_match(state)
    }

    fn can_match(&self, state: &A::State) -> bool {
        self.left.get() > 0 && self.automaton.can_match(state)
    }

    fn accept(&self, state: &A::State, byte: u8) -> A::State {
        // The walk calls `accept` once for each transition, also on paths that lead to no key.
        self.left.set(self.left.get().saturating_sub(1));
        self.automaton.accept(state, byte)
    }
}

#[cfg(test)]
mod tests {
    use super::super::regex::Regex;
    use super::*;

    fn index(map: &[u8]) -> NameIndex<'_> {
        NameIndex { map, lists: &[2, 1, 4], functions: 5 }
    }

    fn map() -> Vec<u8> {
        let mut builder = fst::MapBuilder::memory();
        for (name, value) in [("aa", 0), ("ab", 3 << 1), ("b", 1), ("ba", 3 << 1)] {
            builder.insert(name, value).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn prefix_and_regex() {
        let map = map();
        let find =
            |wanted| index(&map).find(&wanted).map(|found| found.iter().map(|id| id.0).collect::<Vec<u32>>());
        assert_eq!(find(Keys::Prefix(b"ab".to_vec())), Ok(vec![3]));
        assert_eq!(find(Keys::Prefix(b"b".to_vec())), Ok(vec![1, 4, 3]));
        assert_eq!(find(Keys::Prefix(b"c".to_vec())), Ok(vec![]));
        assert_eq!(find(Keys::Prefix(b"a".to_vec())), Ok(vec![0, 3]));
        assert_eq!(find(Keys::Prefix(b"".to_vec())), Ok(vec![0, 3, 1, 4]));
        assert_eq!(find(Keys::Regex(Box::new(Regex::new("a$").unwrap()))), Ok(vec![0, 3]));
    }

    /// A map of 20 nodes that has 2^20 keys, each with a value of its own.
    #[test]
    fn more_values_than_functions_and_lists_are_damage() {
        let mut builder = fst::MapBuilder::memory();
        for key in 0..1_u32 << 20 {
            let name: Vec<u8> = (0..20).rev().map(|bit| b'a' + (key >> bit & 1) as u8).collect();
            builder.insert(name, u64::from(key) << 1).unwrap();
        }
        let map = builder.into_inner().unwrap();
        assert!(map.len() < 1000);
        let wanted = Keys::Prefix(b"a".to_vec());
        assert!(NameIndex { map: &map, lists: &[], functions: 1 << 19 }.find(&wanted).is_ok());
        let index = NameIndex { map: &map, lists: &[], functions: 5 };
        assert_eq!(index.walk(&fst::Map::new(&map[..]).unwrap(), &Prefix(b"a")), None);
        assert!(index.find(&wanted).is_err() && index.verify().is_err());
        assert!(index.find(&Keys::Prefix(vec![b'a'; 20])).is_ok());
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        let good = map();
        for at in 0..good.len() {
            for bit in [1, 0x80] {
                let mut bad = good.clone();
                bad[at] ^= bit;
                assert!(index(&bad).find(&Keys::Prefix(b"a".to_vec())).is_err(), "byte {at}");
            }
            assert!(index(&good[..at]).find(&Keys::Prefix(Vec::new())).is_err());
        }
        // Values that point outside.
        let outside = NameIndex { map: &good, lists: &[200], functions: 5 };
        assert!(outside.find(&Keys::Prefix(b"b".to_vec())).is_err());
        let few = NameIndex { map: &good, lists: &[], functions: 2 };
        assert!(few.find(&Keys::Prefix(b"ab".to_vec())).is_err());
    }
}
