//! Hash maps and sets whose collisions the input cannot choose.
//!
//! The author of a file chooses the names, addresses and offsets in it. If the hash function were the same in every process, the
//! author could compute a million names with one hash, and each insertion would compare the new name with all the others. So
//! every table of the conversion is keyed with random numbers that each process draws anew, and the crate has no
//! dependency on a hash function without a key. The key must not show in the output: no hash map is iterated where the
//! order of its entries could reach the file or the report.

use std::hash::{BuildHasher, Hash, Hasher as _};
use std::sync::LazyLock;

use foldhash::SharedSeed;
use foldhash::fast::{FoldHasher, SeedableRandomState};

/// A map with keyed hashes.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, Keyed>;

/// A set with keyed hashes.
pub(crate) type HashSet<K> = std::collections::HashSet<K, Keyed>;

/// Makes hashers with the key of the process.
#[derive(Clone, Copy, Default)]
pub(crate) struct Keyed;

/// The key of the process: random numbers of the operating system, by way of the standard library, and those that `foldhash` draws.
static KEY: LazyLock<SeedableRandomState> = LazyLock::new(|| {
    let drawn = std::hash::RandomState::new().hash_one(0_u8);
    SeedableRandomState::with_seed(drawn, SharedSeed::global_random())
});

impl BuildHasher for Keyed {
    type Hasher = FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> FoldHasher<'static> {
        KEY.build_hasher()
    }
}

/// The hash of a name, or of other bytes.
#[inline]
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    // Not `Hash` of the slice, which adds the length: these hashes are compared only with each other.
    let mut hasher = Keyed.build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// The hash of an item.
#[inline]
pub(crate) fn hash<T: Hash>(item: &T) -> u64 {
    Keyed.hash_one(item)
}

/// Records the only value of a key; `None` if it has several.
pub(crate) fn keep_only<K: Eq + Hash, V: Copy + PartialEq>(
    map: &mut HashMap<K, Option<V>>,
    key: K,
    value: V,
) {
    let known = map.entry(key).or_insert(Some(value));
    *known = known.filter(|known| *known == value);
}
