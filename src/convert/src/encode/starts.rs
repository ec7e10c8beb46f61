//! Writes STARTS: buckets of addresses, an index of their first pieces, and the low parts of the starts (schema,
//! section 3).

use super::bits::{BitWriter, width_of};
use foldsym_format::bits::{TAIL, mask};
use foldsym_format::starts as layout;

/// Pieces of a bucket, on average. With more of them the index is smaller and the low parts are wider: of 8, 16 and 32, 8
/// gives the smallest section for RocksDB and the kernel, and a lookup takes as many instructions with each.
const PIECES_OF_BUCKET: u64 = 8;

/// Low parts of nearly a byte are one, which is found with half the instructions.
const NEARLY_A_BYTE: std::ops::RangeInclusive<u32> = 7..=9;

/// A bucket's number has 32 bits, also where low parts of 9 bits become a byte.
const MAX_BUCKET: u64 = 1 << 31;

/// The section; `starts` rise, and the last piece ends at `end`.
pub(super) fn encode(starts: &[u64], end: u64) -> Vec<u8> {
    let (first, last) = (starts.first().copied().unwrap_or(0), starts.last().copied().unwrap_or(0));
    let most = (starts.len() as u64 / PIECES_OF_BUCKET).max(1);
    let few = |width: u32| (last >> width) - (first >> width) < most && last >> width < MAX_BUCKET;
    // Of what stands at one address each has a bit at least: `verify` reads no more of them than the section has bits.
    let least = u32::from(starts.windows(2).any(|pair| pair[0] == pair[1]));
    let low_width = (least..u64::BITS).find(|&width| few(width)).unwrap_or(0);
    let low_width = if NEARLY_A_BYTE.contains(&low_width) { 8 } else { low_width };
    let first_bucket = first >> low_width;
    let buckets = (last >> low_width) - first_bucket + 1;
    let index_width = width_of(starts.len() as u64);
    let mut out = Vec::with_capacity(layout::INDEX + 8 * starts.len());
    out.extend_from_slice(&(starts.len() as u32).to_le_bytes());
    out.extend_from_slice(&[low_width as u8, index_width as u8, 0, 0]);
    out.extend_from_slice(&end.to_le_bytes());
    out.extend_from_slice(&(buckets as u32).to_le_bytes());
    out.extend_from_slice(&(first_bucket as u32).to_le_bytes());
    let mut bits = BitWriter::new(&mut out);
    let mut below = 0;
    for bucket in 0..=buckets {
        let before = |&&start: &&u64| (start >> low_width) - first_bucket < bucket;
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
