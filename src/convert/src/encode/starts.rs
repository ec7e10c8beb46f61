//! Writes STARTS: buckets of addresses, an index of their first pieces, and the low parts of the starts (schema,
//! section 3).

use super::bits::{BitWriter, width_of};
use foldsym_format::bits::{MAX_WIDTH, TAIL, mask};
use foldsym_format::starts as layout;

/// How starts are divided into buckets.
pub(super) struct StartBuckets {
    /// The most starts that a bucket has on average.
    starts: u64,
    /// The number of bits by which low parts are wider than a bucket.
    wider: u32,
}

/// For pieces. Measured with random code addresses: the piece begins and ends less than 8 buckets away for 96 % of RocksDB's
/// addresses and all of the kernel's. The bucket has at most 4 pieces, few enough to compare at once, for 65 % of RocksDB's and 10 %
/// of the kernel's (pieces are denser where the kernel has code than over its whole address range). With 8 starts and no wider
/// low parts the section is a fifth smaller (0.2 and 0.5 % of the file), and a lookup of RocksDB takes 4 % longer.
pub(super) const PIECES: StartBuckets = StartBuckets { starts: 4, wider: 3 };
/// For basic blocks, which are small and adjacent: most addresses have their block's start in their own bucket.
pub(super) const BLOCKS: StartBuckets = StartBuckets { starts: 8, wider: 0 };

/// Low parts of 7 to 9 bits become whole bytes, unless they are wider than a bucket: a reader gets a byte with half the instructions.
const NEARLY_A_BYTE: std::ops::RangeInclusive<u32> = 7..=9;

/// A bucket's number has 32 bits. If low parts of 9 bits become bytes, there are twice as many buckets, hence half of 2^32.
const MAX_BUCKET: u64 = 1 << 31;

/// The section. `starts` are in rising order, and the last piece ends at `end`.
pub(super) fn encode(starts: &[u64], end: u64, buckets: &StartBuckets) -> Vec<u8> {
    let (first, last) = (starts.first().copied().unwrap_or(0), starts.last().copied().unwrap_or(0));
    let most = (starts.len() as u64 / buckets.starts).max(1);
    // The narrowest buckets that are not too many: a reader compares fewer starts in a narrow one.
    let few = |width: u32| (last >> width) - (first >> width) < most && last >> width < MAX_BUCKET;
    // If two starts are equal, low parts have at least one bit: `verify` reads no more starts than the section has bits.
    let least = u32::from(starts.windows(2).any(|pair| pair[0] == pair[1]));
    let bucket_width = (least..u64::BITS).find(|&width| few(width)).unwrap_or(0);
    let bucket_width =
        if buckets.wider == 0 && NEARLY_A_BYTE.contains(&bucket_width) { 8 } else { bucket_width };
    let low_width = (bucket_width + buckets.wider).min(MAX_WIDTH);
    let first_bucket = first >> bucket_width;
    let buckets = (last >> bucket_width) - first_bucket + 1;
    let index_width = width_of(starts.len() as u64);
    let mut out = Vec::with_capacity(layout::INDEX + 8 * starts.len());
    out.extend_from_slice(&(starts.len() as u32).to_le_bytes());
    out.extend_from_slice(&[low_width as u8, index_width as u8, bucket_width as u8, 0]);
    out.extend_from_slice(&end.to_le_bytes());
    out.extend_from_slice(&(buckets as u32).to_le_bytes());
    out.extend_from_slice(&(first_bucket as u32).to_le_bytes());
    let mut bits = BitWriter::new(&mut out);
    let mut below = 0;
    for bucket in 0..=buckets {
        let before = |&&start: &&u64| (start >> bucket_width) - first_bucket < bucket;
        // One pass over the starts for all buckets, since both rise.
        below += starts[below..].iter().take_while(before).count();
        bits.put(below as u64, index_width);
    }
    bits.finish();
    let mut bits = BitWriter::new(&mut out);
    starts.iter().for_each(|start| bits.put(start & mask(low_width), low_width));
    bits.finish();
    out.resize(out.len() + TAIL, 0);
    out
}
