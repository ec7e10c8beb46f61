//! Turns symbol counts into the lengths of a prefix code, at most [`MAX_CODE`] bits each, and lengths into the code.

use foldsym_format::names::MAX_CODE;
use std::cmp::Reverse;

/// A code: its bits, and their number. Length 0 means no code.
#[derive(Clone, Copy, Default)]
pub(super) struct Code {
    pub(super) bits: u32,
    pub(super) length: u8,
}

/// The canonical code of each symbol. `tokens` are in the order of their lengths; symbols without a code are last.
pub(super) fn canonical(tokens: &[u32], lengths: &[u8]) -> Vec<Code> {
    let mut codes = vec![Code::default(); lengths.len()];
    let (mut bits, mut before) = (0, 0);
    for &symbol in tokens {
        let length = lengths[symbol as usize];
        if length == 0 {
            break;
        }
        // Codes of one length are consecutive numbers, so the file stores only how many codes each length has.
        bits <<= length - before;
        codes[symbol as usize] = Code { bits, length };
        bits += 1;
        before = length;
    }
    codes
}

/// The length of each symbol's code; 0 where the count is 0. A single symbol gets one bit.
pub(super) fn code_lengths(counts: &[u32]) -> Vec<u8> {
    let mut order: Vec<u32> = (0..counts.len() as u32).filter(|&s| counts[s as usize] > 0).collect();
    assert!(order.len() <= 1 << MAX_CODE, "more tokens than codes");
    order.sort_unstable_by_key(|&s| (counts[s as usize], Reverse(s)));
    let mut lengths = vec![0u8; counts.len()];
    let depths = huffman_depths(&order, counts);
    for (&symbol, depth) in order.iter().zip(limit(depths)) {
        lengths[symbol as usize] = depth;
    }
    lengths
}

/// Depths of Huffman's tree over symbols in rising order of count, by the two-queue method.
fn huffman_depths(order: &[u32], counts: &[u32]) -> Vec<u32> {
    let leaves = order.len();
    if leaves < 2 {
        return vec![1; leaves];
    }
    let mut weights: Vec<u64> = order.iter().map(|&s| u64::from(counts[s as usize])).collect();
    let mut parents = vec![0usize; 2 * leaves - 1];
    let (mut leaf, mut inner) = (0, leaves);
    for node in leaves..2 * leaves - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            // Of equal weights the leaf first: then the deepest leaf is as high as it can be, and `limit` has less to
            // cut.
            let take_leaf = leaf < leaves && (inner >= node || weights[leaf] <= weights[inner]);
            let child = if take_leaf { &mut leaf } else { &mut inner };
            weight += weights[*child];
            parents[*child] = node;
            *child += 1;
        }
        weights.push(weight);
    }
    let mut depths = vec![0u32; 2 * leaves - 1];
    // A parent is made after its children and has a higher number. The root is the last node, at depth 0.
    for node in (0..2 * leaves - 2).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    depths.truncate(leaves);
    depths
}

/// Cuts depths, which are in falling order, to [`MAX_CODE`], and lengthens others until the lengths form a prefix code again.
fn limit(depths: Vec<u32>) -> Vec<u8> {
    let most = MAX_CODE as u32;
    let mut lengths: Vec<u32> = depths.into_iter().map(|d| d.min(most)).collect();
    let mut used: u64 = lengths.iter().map(|&l| 1u64 << (most - l)).sum();
    // The longest codes below the limit cost the least to lengthen: they come first.
    while used > 1 << most {
        let i = lengths.iter().position(|&l| l < most).expect("2^MAX_CODE codes fit");
        lengths[i] += 1;
        used -= 1 << (most - lengths[i]);
    }
    lengths.into_iter().map(|l| l as u8).collect()
}
