//! Sorts: byte strings by bytes, and items into buckets.
//!
//! Names share long prefixes (`_ZN7rocksdb...`) and lie all over memory. So comparing two of them costs two cache misses
//! and a long scan, and a comparison sort compares each name about twenty times. Here each round copies 8 bytes of every
//! string next to its id and sorts by these copies. Only strings that agree in them go to the next round, 8 bytes deeper.
//! So each byte of a string is read once at most.

use rayon::prelude::*;

/// A string in one round: the 8 bytes at the round's depth, big-endian, so that integers compare as
/// the bytes do; padded with 0 past the end of the string.
#[derive(Clone, Copy)]
struct SortKey {
    bytes: u64,
    /// Bytes of the string from the round's depth on; 9 for any number above 8. If two strings have equal `bytes` and
    /// the first has fewer left, it is a prefix of the second, which has 0 bytes where the first is padded.
    left: u8,
    id: u32,
}

const LONGER: u8 = 9;

fn keyed(string: &[u8], depth: usize, id: u32) -> SortKey {
    let rest = &string[depth..];
    match rest.first_chunk::<8>() {
        Some(bytes) if rest.len() > 8 => SortKey { bytes: u64::from_be_bytes(*bytes), left: LONGER, id },
        _ => {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            SortKey { bytes: u64::from_be_bytes(bytes), left: rest.len() as u8, id }
        }
    }
}

/// Sorts ids by their strings, and ids of equal strings by their numbers.
pub(super) fn sort_by_bytes<'s>(ids: &mut [u32], string: impl Fn(u32) -> &'s [u8] + Sync) {
    let mut all: Vec<SortKey> = ids.iter().map(|&id| keyed(string(id), 0, id)).collect();
    // With the id no two items are equal, so that an unstable sort has one result.
    all.sort_unstable_by_key(|item| (item.bytes, item.left, item.id));
    sort_deeper(&mut all, 0, FORKS, &string);
    for (id, item) in ids.iter_mut().zip(&all) {
        *id = item.id;
    }
}

/// The runs of a round are sorted in parallel if they have more strings than this together.
const PARALLEL: usize = 4096;
/// The rounds that may sort in parallel. Each is a level of recursion, which would otherwise be as deep as the strings are long.
const FORKS: u32 = 8;

/// Sorts the runs that agree in all bytes up to `depth + 8`; `items` is sorted up to there.
fn sort_deeper<'s>(
    items: &mut [SortKey],
    depth: usize,
    forks: u32,
    string: &(impl Fn(u32) -> &'s [u8] + Sync),
) {
    let mut runs = Vec::new();
    split(items, depth, &mut runs);
    if forks > 0 && runs.iter().map(|(run, _)| run.len()).sum::<usize>() > PARALLEL {
        runs.into_par_iter().for_each(|(run, depth)| {
            deepen(run, depth, string);
            sort_deeper(run, depth, forks - 1, string);
        });
        return;
    }
    // A list in place of recursion: names of a hostile file may agree in 65,535 bytes, which are 8,192 rounds.
    while let Some((run, depth)) = runs.pop() {
        deepen(run, depth, string);
        split(run, depth, &mut runs);
    }
}

/// Finds the runs of more than one string that the bytes up to `depth + 8` do not order.
fn split<'i>(items: &'i mut [SortKey], depth: usize, runs: &mut Vec<(&'i mut [SortKey], usize)>) {
    for run in items.chunk_by_mut(|a, b| a.bytes == b.bytes && a.left == b.left) {
        // Strings that end within these 8 bytes and agree in them are equal, and are in the order of their ids already.
        if run[0].left == LONGER && run.len() > 1 {
            runs.push((run, depth + 8));
        }
    }
}

/// Caches and sorts by the bytes from `depth` on.
fn deepen<'s>(run: &mut [SortKey], depth: usize, string: &impl Fn(u32) -> &'s [u8]) {
    for item in run.iter_mut() {
        *item = keyed(string(item.id), depth, item.id);
    }
    run.sort_unstable_by_key(|item| (item.bytes, item.left, item.id));
}

/// Items grouped by bucket: bucket `b` is `items[starts[b]..starts[b + 1]]`. The items of a bucket keep their order.
pub(super) struct Buckets<T> {
    pub(super) starts: Vec<u32>,
    pub(super) items: Vec<T>,
}

impl<T: Copy + Default> Buckets<T> {
    /// Puts each item into its bucket.
    pub(super) fn of(count: usize, items: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        Self::by(count, items, |item| item.0, |item| item)
    }

    /// Puts an item into a bucket for each of `sources`: `bucket` gives the bucket, `item` both. Few instructions are needed for the bucket
    /// alone, which is asked for twice.
    pub(super) fn by<S>(
        count: usize,
        sources: impl Iterator<Item = S> + Clone,
        bucket: impl Fn(&S) -> u32,
        item: impl Fn(S) -> (u32, T),
    ) -> Self {
        let mut starts = vec![0u32; count + 1];
        for source in sources.clone() {
            starts[bucket(&source) as usize + 1] += 1;
        }
        for bucket in 0..count {
            starts[bucket + 1] += starts[bucket];
        }
        let mut next = starts.clone();
        let mut placed = vec![T::default(); starts[count] as usize];
        for (bucket, item) in sources.map(item) {
            let at = &mut next[bucket as usize];
            placed[*at as usize] = item;
            *at += 1;
        }
        Buckets { starts, items: placed }
    }

    pub(super) fn bucket(&self, bucket: usize) -> &[T] {
        &self.items[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }

    pub(super) fn bucket_mut(&mut self, bucket: usize) -> &mut [T] {
        &mut self.items[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn items_of_a_bucket_keep_their_order() {
        let of = Buckets::of(4, [(2, 'a'), (0, 'b'), (2, 'c')].into_iter());
        assert_eq!((&of.starts[..], &of.items[..]), (&[0, 1, 1, 3, 3][..], &['b', 'a', 'c'][..]));
        let by = Buckets::by(4, 5..9u32, |source| source % 2, |source| (source % 2, source));
        assert_eq!([by.bucket(0), by.bucket(1), by.bucket(2)], [&[6, 8][..], &[5, 7], &[]]);
    }

    proptest! {
        #[test]
        fn sorts_as_slices_compare(strings in prop::collection::vec(
            prop::collection::vec(prop_oneof![Just(0u8), Just(b'a'), Just(255)], 0..40), 0..200)
        ) {
            let mut ids: Vec<u32> = (0..strings.len() as u32).collect();
            let mut expected = ids.clone();
            expected.sort_by_key(|&id| (&strings[id as usize], id));
            sort_by_bytes(&mut ids, |id| &strings[id as usize]);
            prop_assert_eq!(ids, expected);
        }
    }
}
