//! Copies the names in `.dwo` files, so that the files can be unmapped. The program has one copy of each name.
//!
//! Units that inline the same headers have the same names. A copy per unit would need more memory than everything else that
//! is kept of a unit. One copy per program needs as much memory as the merged `.debug_str` of a program that is not split.

use std::sync::{Mutex, PoisonError};

use crate::model::UnitName;
use crate::open::Files;
use crate::util::hash::{HashMap, hash_of};

/// The number of parts with a lock each, so that threads seldom wait for each other.
const SHARDS: usize = 64;

/// The names of all units so far.
pub(crate) struct NamePool<'f> {
    files: &'f Files,
    /// Names by hash. If two names have the same hash, the second one is copied for each unit.
    shards: [Mutex<HashMap<u64, &'f [u8]>>; SHARDS],
}

impl<'f> NamePool<'f> {
    pub(crate) fn new(files: &'f Files) -> NamePool<'f> {
        NamePool { files, shards: std::array::from_fn(|_| Mutex::default()) }
    }

    /// The same names in the same order, as copies that live as long as the program.
    pub(crate) fn keep(&self, names: &[UnitName<'_>]) -> Vec<UnitName<'f>> {
        let names: Vec<&[u8]> = names.iter().map(UnitName::bytes).collect();
        // All names are searched first, so that the new ones share one buffer. A buffer for each would cost more than a
        // short name.
        let found: Vec<(u64, Option<&'f [u8]>)> = names
            .iter()
            .map(|name| {
                let hash = hash_of(name);
                (hash, self.with(hash, |shard| shard.get(&hash).copied().filter(|kept| kept == name)))
            })
            .collect();
        let new = names.iter().zip(&found).filter(|(_, (_, kept))| kept.is_none());
        let mut buffer = Vec::with_capacity(new.clone().map(|(name, _)| name.len()).sum());
        new.for_each(|(name, _)| buffer.extend_from_slice(name));
        let mut rest = self.files.keep(buffer);
        let mut kept = Vec::with_capacity(names.len());
        for (name, (hash, old)) in names.iter().zip(found) {
            let bytes = old.unwrap_or_else(|| {
                let (own, later) = rest.split_at(name.len());
                rest = later;
                // Another thread may have copied the same name meanwhile. Then both copies stay, which is rare.
                self.with(hash, |shard| {
                    shard.entry(hash).or_insert(own);
                });
                own
            });
            kept.push(UnitName::from(bytes));
        }
        kept
    }

    fn with<T>(&self, hash: u64, work: impl FnOnce(&mut HashMap<u64, &'f [u8]>) -> T) -> T {
        // Any bits of the hash would do, since the map of a shard hashes it again.
        let shard = &self.shards[(hash >> 32) as usize % SHARDS];
        work(&mut shard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once() {
        let files = Files::new();
        let pool = NamePool::new(&files);
        let names =
            |list: &[&'static str]| list.iter().map(|n| UnitName::from(n.as_bytes())).collect::<Vec<_>>();
        let first = pool.keep(&names(&["main", "", "_Z1fv"]));
        let second = pool.keep(&names(&["_Z1fv", "_Z1gv", "main"]));
        assert_eq!(first, names(&["main", "", "_Z1fv"]));
        assert_eq!(second, names(&["_Z1fv", "_Z1gv", "main"]));
        assert_eq!(first[0].bytes().as_ptr(), second[2].bytes().as_ptr());
        assert_eq!(first[2].bytes().as_ptr(), second[0].bytes().as_ptr());
    }
}
