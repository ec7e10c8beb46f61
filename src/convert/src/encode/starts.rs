//! Writes STARTS: buckets of addresses, an index of their first pieces, and the low parts of the starts (schema,
//! section 3).

use super::bits::{BitWriter, width_of};
use foldsym_format::bits::{TAIL, mask};
use foldsym_format::starts as layout;

/// Pieces of a bucket, on average. With more of them the index is smaller and the low parts are wider: of 8, 16 and 32, 8
/// gives the smallest section for RocksDB and the kernel, and a lookup takes as many instructions with each.
const PIECES_OF_BUCKET: u64 = 8;

/// The section; `starts` rise, and the last piece ends at `end`.
pub(super) fn encode(starts: &[u64], end: u64) -> Vec<u8> {
    let last = starts.last().copied().unwrap_or(0);
    let most = (starts.len() as u64 / PIECES_OF_BUCKET).max(1);
    let low_width = (0..u64::BITS).find(|&width| last >> width < most).unwrap_or(0);
    let buckets = (last >> low_width) + 1;
    let index_width = width_of(starts.len() as u64);
    let mut out = Vec::with_capacity(layout::INDEX + 8 * starts.len());
    out.extend_from_slice(&(starts.len() as u32).to_le_bytes());
    out.extend_from_slice(&[low_width as u8, index_width as u8, 0, 0]);
    out.extend_from_slice(&end.to_le_bytes());
    out.extend_from_slice(&(buckets as u32).to_le_bytes());
    let mut bits = BitWriter::new(&mut out);
    let mut first = 0;
    for bucket in 0..=buckets {
        first += starts[first..].iter().take_while(|&&start| start >> low_width < bucket).count();
        bits.put(first as u64, index_width);
    }
    bits.finish();
    let mut bits = BitWriter::new(&mut out);
    starts.iter().for_each(|start| bits.put(start & mask(low_width), low_width));
    bits.finish();
    out.resize(out.len() + TAIL, 0);
    out
}
