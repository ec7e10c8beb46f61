//! Turns the counts of tokens into a prefix code in which the first [`FRONT_BITS`] bits of a code decide its length.
//!
//! A reader then finds the length of a code by one load. Codes are as short as Huffman's but for a few hundred bytes of a large program, since 64
//! fronts share the tokens nearly as well as single codes do.
//!
//! # The idea
//! Tokens are in the order of their counts, so all codes follow from how many there are of each length. They are counted in *items*: an item
//! is a code of up to [`FRONT_BITS`] bits, or all codes that begin with one front. A first plan gives each item the length that its middle token
//! deserves, with a factor for all lengths that uses up the fronts. Then fronts move from one length to another as long as that saves bits.

use foldsym_format::names::{FRONT_BITS, MAX_CODE};

/// A code: its bits, and their number. Length 0 means no code.
#[derive(Clone, Copy, Default)]
pub(super) struct Code {
    pub(super) bits: u32,
    pub(super) length: u8,
}

/// How many items there are of each length, from 1 on.
pub(super) type Items = [u8; MAX_CODE];

/// Fronts of all codes.
const FRONTS: u32 = 1 << FRONT_BITS;
/// A plan is nearly always the best after four turns, and no bytes of a program may cost more than this.
const MAX_TURNS: usize = 50;

/// Fronts of an item of codes of this length.
const fn fronts_of(length: usize) -> u32 {
    1 << FRONT_BITS.saturating_sub(length)
}

/// Codes of an item.
const fn codes_of(length: usize) -> usize {
    1 << length.saturating_sub(FRONT_BITS)
}

/// The code of each token: the first tokens have the shortest codes.
pub(super) fn codes(items: &Items) -> impl Iterator<Item = Code> + use<'_> {
    let mut front = 0;
    (1..).zip(items).flat_map(move |(length, &count)| {
        let first = front >> FRONT_BITS.saturating_sub(length) << length.saturating_sub(FRONT_BITS);
        front += u32::from(count) * fronts_of(length);
        let codes = usize::from(count) * codes_of(length);
        (first..).take(codes).map(move |bits| Code { bits, length: length as u8 })
    })
}

/// Plans the codes of tokens that occur so many times, in falling order.
pub(super) fn plan(counts: &[u32]) -> Items {
    assert!(counts.len() <= (FRONTS as usize) * codes_of(MAX_CODE), "more tokens than codes");
    let mut items = first_plan(counts);
    let sums: Vec<u64> = std::iter::once(0)
        .chain(counts.iter().scan(0, |sum, &count| {
            *sum += u64::from(count);
            Some(*sum)
        }))
        .collect();
    let mut best = bits_of(&items, &sums).expect("the first plan has all tokens");
    for _ in 0..MAX_TURNS {
        let Some((bits, better)) = moved(&items, &sums).filter(|&(bits, _)| bits < best) else { break };
        (best, items) = (bits, better);
    }
    // Items that no token needs are left out.
    let mut left = counts.len();
    let mut used = [0; MAX_CODE];
    for (used, (length, &items)) in used.iter_mut().zip((1..).zip(&items)) {
        let needed = items.min(left.div_ceil(codes_of(length)) as u32);
        *used = needed as u8;
        left = left.saturating_sub(needed as usize * codes_of(length));
    }
    used
}

/// Items of each length, of all fronts.
type CodePlan = [u32; MAX_CODE];

fn first_plan(counts: &[u32]) -> CodePlan {
    let most = counts.first().copied().unwrap_or(0);
    // With the largest weight, all codes have the greatest length. That fits.
    let (mut low, mut high) = (1, u64::from(most.max(1)) << MAX_CODE);
    while low < high {
        let middle = low.midpoint(high);
        match by_weight(counts, middle) {
            Some(_) => high = middle,
            None => low = middle + 1,
        }
    }
    by_weight(counts, high).expect("the greatest length has room for all")
}

/// Gives a token of count c the least length for which c x 2^length is this weight; `None` if that takes too many fronts.
fn by_weight(counts: &[u32], weight: u64) -> Option<CodePlan> {
    let (mut plan, mut token, mut left, mut length) = ([0; MAX_CODE], 0, FRONTS, 1);
    while token < counts.len() {
        let count = |length| counts[(token + codes_of(length) / 2).min(counts.len() - 1)];
        while length < MAX_CODE && u64::from(count(length)) << length < weight {
            length += 1;
        }
        left = left.checked_sub(fronts_of(length))?;
        plan[length - 1] += 1;
        token += codes_of(length);
    }
    // Fronts without a code, for `moved` to use.
    plan[MAX_CODE - 1] += left;
    Some(plan)
}

/// The bits of all codes; `None` if some tokens have none.
fn bits_of(plan: &CodePlan, sums: &[u64]) -> Option<u64> {
    let (mut token, mut bits) = (0, 0);
    for (length, &items) in (1..).zip(plan) {
        let end = (token + items as usize * codes_of(length)).min(sums.len() - 1);
        bits += length as u64 * (sums[end] - sums[token]);
        token = end;
    }
    (token == sums.len() - 1).then_some(bits)
}

/// Moves fronts from items of one length to items of another.
fn give(plan: &CodePlan, from: usize, to: usize) -> Option<CodePlan> {
    let fronts = fronts_of(from).max(fronts_of(to));
    let mut given = *plan;
    given[from - 1] = given[from - 1].checked_sub(fronts / fronts_of(from))?;
    given[to - 1] += fronts / fronts_of(to);
    Some(given)
}

/// The best plan after one such move, or after two moves between neighboring lengths, with its bits.
fn moved(plan: &CodePlan, sums: &[u64]) -> Option<(u64, CodePlan)> {
    let lengths = 1..=MAX_CODE;
    let pairs = || lengths.clone().flat_map(|from| (1..=MAX_CODE).map(move |to| (from, to)));
    let near = || pairs().filter(|&(from, to)| from.abs_diff(to) == 1);
    let one = pairs().filter(|&(from, to)| from != to).filter_map(|(from, to)| give(plan, from, to));
    let two = near()
        .filter_map(|(from, to)| give(plan, from, to))
        .flat_map(|first| near().filter_map(move |(from, to)| give(&first, from, to)).collect::<Vec<_>>());
    // Of equal ones the first.
    one.chain(two).filter_map(|plan| Some((bits_of(&plan, sums)?, plan))).min_by_key(|&(bits, _)| bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_a_prefix_code_and_nearly_as_short_as_possible() {
        for counts in [
            vec![],
            vec![7],
            vec![5, 5, 1],
            vec![1000, 1, 1, 1, 1],
            vec![1; 64],
            vec![1; 65],
            vec![1; 1 << MAX_CODE],
            (1..30_000).map(|rank| 1_000_000 / rank).collect(),
            (0..28).rev().map(|power| 1 << power).collect(),
        ] {
            let items = plan(&counts);
            let codes: Vec<Code> = codes(&items).take(counts.len()).collect();
            assert_eq!(codes.len(), counts.len());
            // Each begins after all 20-bit words that begin with the code before it.
            let mut ends = codes.iter().map(|code| (code.bits + 1) << (MAX_CODE - usize::from(code.length)));
            for (end, code) in ends.clone().zip(&codes[codes.len().min(1)..]) {
                assert_eq!(end, code.bits << (MAX_CODE - usize::from(code.length)));
            }
            assert!(ends.next_back().unwrap_or(0) <= 1 << MAX_CODE);
            let total: f64 = counts.iter().map(|&count| f64::from(count)).sum();
            let least: f64 =
                counts.iter().map(|&count| f64::from(count) * (total / f64::from(count)).log2()).sum();
            let used: f64 = counts
                .iter()
                .zip(&codes)
                .map(|(&count, code)| f64::from(count) * f64::from(code.length))
                .sum();
            // Codes of whole bits, and a length for each front: less than a bit more for each.
            assert!(used <= least * 1.02 + total, "{used} {least} {items:?}");
        }
    }
}
