//! Turns the words of the suffixes into a grammar: repeated sequences become symbols.
//!
//! # The idea
//! Re-Pair replaces the most frequent pair of neighbours by a new symbol, again and again. One pair at a time is slow, so a
//! round here replaces every pair that occurs often enough for this round and no less often than the pair that overlaps it
//! on the right. The new symbol then forms a pair with the next symbol, which the round replaces by the same test, and so
//! on: one round finds a phrase of many words. The required count falls from round to round: if rare pairs were replaced
//! first, they would cut frequent ones apart.
//!
//! All pairs are counted once. A round changes few of them, so after it only the *fresh* pairs are counted, which contain a
//! new symbol. Most fresh pairs occur once or twice and will never be replaced, since a pair of old symbols only gets rarer.
//! A small array of counters, indexed by hash, finds these in advance, so that only the others get a number and a count.
//!
//! # Data
//! One sequence of places: all suffixes, then the spelling of each word, each ended by [`END`]. Symbols below 256 are
//! bytes, then come words, then pairs. A place has its symbol and the number of the pair that it forms with the next one.
//!
//! # Why it ends
//! There is a fixed number of rounds, each linear in a sequence that never grows. This module does not bound how deep symbols
//! nest: its caller spells out a symbol that is too deep for the format.

use super::distinct::{KeyTable, hash};
use super::lex::{END, Lexed};
use super::pair_place::PairPlace;

/// A symbol that saves fewer symbols than this is spelled out, since its own place in the tables costs as much. A pair saves
/// one symbol with each use.
pub(super) const MIN_SAVED: u32 = 5;
/// For each round how often a pair must occur to become a symbol.
const BARS: [u32; 3] = [100, 16, MIN_SAVED];
/// The most symbols that a phrase gains in a round. So a long run of one symbol becomes phrases of one length, which the next
/// round joins, and runs of different lengths share them.
const MOST_JOINED: u32 = 16;

/// The expansion of each symbol, and the suffixes written in symbols.
pub(super) struct Grammar {
    /// For each symbol the symbols that it expands to; empty for a byte (0..256).
    pub(super) bodies: Bodies,
    /// For each symbol the number of bytes that it expands to.
    pub(super) sizes: Vec<u32>,
    /// The suffixes, each ended by [`END`].
    pub(super) suffixes: Vec<u32>,
}

/// Many short lists of symbols, end to end.
#[derive(Default)]
pub(super) struct Bodies {
    symbols: Vec<u32>,
    starts: Vec<u32>,
}

impl Bodies {
    pub(super) fn push(&mut self, body: &[u32]) {
        self.starts.push(self.symbols.len() as u32);
        self.symbols.extend_from_slice(body);
    }

    pub(super) fn get(&self, symbol: u32) -> &[u32] {
        let i = symbol as usize;
        let end = self.starts.get(i + 1).map_or(self.symbols.len(), |&end| end as usize);
        &self.symbols[self.starts[i] as usize..end]
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }
}

/// Builds the grammar of the suffixes, of which there are `names`.
pub(super) fn train(lexed: Lexed, names: usize) -> Grammar {
    let words = lexed.word_lens.len();
    let mut text = TrainText::new(lexed);
    for bar in BARS {
        text.count_fresh();
        text.replace(bar);
    }

    let TrainText { places, pairs, fresh, seen, made, sizes, .. } = text;
    // Freed before further lists are made.
    drop((pairs, fresh, seen));
    let mut symbols: Vec<u32> = places.into_iter().map(|place| place.symbol).collect();
    let mut lists = symbols.split(|&symbol| symbol == END);
    let suffixes_len = lists.by_ref().take(names).map(|suffix| suffix.len() + 1).sum();
    let mut bodies = Bodies::default();
    (0..256).for_each(|_| bodies.push(&[]));
    lists.take(words).for_each(|spelling| bodies.push(spelling));
    made.iter().for_each(|pair| bodies.push(pair));
    symbols.truncate(suffixes_len);
    symbols.shrink_to_fit();
    Grammar { bodies, sizes, suffixes: symbols }
}

/// How often a pair occurs, and its symbol.
#[derive(Clone, Copy, Default)]
struct Pair {
    /// How often it occurs, including the places where it was replaced.
    count: u32,
    /// The symbol that it became, 0 for none.
    symbol: u32,
}

/// The pairs that were counted.
struct Pairs {
    /// By number; number 0 means "no pair".
    list: Vec<Pair>,
    keys: KeyTable,
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs { list: vec![Pair::default()], keys: KeyTable::default() }
    }
}

impl Pairs {
    /// Counts a pair once more and returns its number.
    #[inline(always)]
    fn count(&mut self, left: u32, right: u32) -> u32 {
        let number = self.number(left, right);
        self.list[number as usize].count += 1;
        number
    }

    /// The number of a pair; a new pair gets the next one.
    #[inline(always)]
    fn number(&mut self, left: u32, right: u32) -> u32 {
        let number = self.keys.number(key(left, right));
        if number as usize == self.list.len() {
            self.list.push(Pair::default());
        }
        number
    }
}

/// Places of the sequence, a bit each. After the first round a half of all places is in it.
struct PlaceSet {
    bits: Vec<u64>,
}

impl PlaceSet {
    fn new(places: usize) -> PlaceSet {
        PlaceSet { bits: vec![0; places.div_ceil(64)] }
    }

    #[inline(always)]
    fn add(&mut self, place: usize) {
        self.bits[place / 64] |= 1 << (place % 64);
    }

    /// Removes each place, in order, and calls `take` with it.
    fn take_all(&mut self, mut take: impl FnMut(usize)) {
        for (word, bits) in self.bits.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                take(word * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

/// The sequence of places during training, and the grammar so far.
struct TrainText {
    places: Vec<PairPlace>,
    pairs: Pairs,
    /// The places whose pairs are fresh.
    fresh: PlaceSet,
    /// By the high bits of a pair's hash, how many places have such a fresh pair; saturates at 255.
    seen: Vec<u8>,
    /// The number of low bits of a hash that `seen` ignores.
    seen_shift: u32,
    /// The pairs that became symbols, in order; their symbols follow those of bytes and words.
    made: Vec<[u32; 2]>,
    /// For each symbol the number of bytes that it expands to.
    sizes: Vec<u32>,
}

impl TrainText {
    /// The sequence as `lex` made it, with all its pairs counted.
    fn new(lexed: Lexed) -> TrainText {
        let mut sizes = vec![1; 256];
        sizes.extend(lexed.word_lens.into_iter().map(u32::from));
        let mut places = lexed.symbols.into_places();
        // The array fits a cache, and is large enough that few pairs share a counter.
        let seen_bits = (places.len() / 4).checked_ilog2().unwrap_or(0).clamp(10, 20);
        let mut pairs = Pairs::default();
        let mut right = END;
        for place in places.iter_mut().rev() {
            // [`END`] is the largest number: no pair reaches over the end of a suffix.
            if place.symbol.max(right) != END {
                place.pair = pairs.count(place.symbol, right);
            }
            right = place.symbol;
        }
        let (seen, seen_shift) = (vec![0; 1 << seen_bits], u32::BITS - seen_bits);
        let fresh = PlaceSet::new(places.len());
        TrainText { places, pairs, fresh, seen, seen_shift, made: Vec::new(), sizes }
    }

    /// Replaces the pairs that occur at least `bar` times.
    fn replace(&mut self, bar: u32) {
        let (mut from, mut to) = (0, 0);
        // True if the symbol before is new.
        let mut after_new = false;
        loop {
            if !after_new {
                let (places, pairs) = (self.places.as_mut_slice(), self.pairs.list.as_slice());
                while let Some(&place) = places.get(from)
                    && pairs[place.pair as usize].count < bar
                {
                    places[to] = place;
                    (from, to) = (from + 1, to + 1);
                }
            }
            let Some(&(mut place)) = self.places.get(from) else { break };
            // Symbols that were joined to the first.
            let mut joined = 0;
            // From pair to pair, until one is too rare, or the next one occurs more often.
            loop {
                from += 1;
                let count = self.pairs.list[place.pair as usize].count;
                if count < bar || joined == MOST_JOINED {
                    break;
                }
                // There is one: the last place is an [`END`], whose pair 0 occurs less often than any bar.
                let next = self.places[from];
                if count < self.pairs.list[next.pair as usize].count {
                    break;
                }
                let pair = if joined > 0 { self.pairs.number(place.symbol, next.symbol) } else { place.pair };
                place = PairPlace { symbol: self.symbol(pair, place.symbol, next.symbol), pair: next.pair };
                joined += 1;
            }
            let new = joined > 0;
            // The place before forms another pair now, since it or its neighbour has a new symbol.
            if (new || after_new) && to > 0 {
                self.renew(to - 1, place.symbol);
            }
            self.places[to] = place;
            to += 1;
            after_new = new;
        }
        self.places.truncate(to);
    }

    /// Notes that the place `at` forms a new pair now, with `right`.
    #[inline(always)]
    fn renew(&mut self, at: usize, right: u32) {
        let left = &mut self.places[at];
        if left.pair != 0 {
            self.pairs.list[left.pair as usize].count -= 1;
            left.pair = 0;
        }
        if left.symbol.max(right) != END {
            left.pair = hash(key(left.symbol, right));
            let seen = &mut self.seen[(left.pair >> self.seen_shift) as usize];
            *seen = seen.saturating_add(1);
            self.fresh.add(at);
        }
    }

    /// Counts the fresh pairs, except those that are too rare.
    fn count_fresh(&mut self) {
        let TrainText { places, pairs, fresh, seen, seen_shift, .. } = self;
        fresh.take_all(|at| {
            let (left, right) = (places[at], places[at + 1].symbol);
            // Several pairs may share a counter, so it may be too high but never too low: no pair that a later round
            // would replace is lost.
            let seen = seen[(left.pair >> *seen_shift) as usize];
            places[at].pair = if u32::from(seen) < MIN_SAVED { 0 } else { pairs.count(left.symbol, right) };
        });
        seen.fill(0);
    }

    /// The symbol of a pair, which is made if there is none.
    #[inline(always)]
    fn symbol(&mut self, pair: u32, left: u32, right: u32) -> u32 {
        let pair = &mut self.pairs.list[pair as usize];
        if pair.symbol == 0 {
            pair.symbol = self.sizes.len() as u32;
            self.made.push([left, right]);
            self.sizes.push(self.sizes[left as usize] + self.sizes[right as usize]);
        }
        pair.symbol
    }
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

#[cfg(test)]
mod tests {
    use super::PlaceSet;

    #[test]
    fn places_are_taken_in_order_and_once() {
        let mut places = PlaceSet::new(200);
        for place in [199, 0, 64, 63, 5, 64] {
            places.add(place);
        }
        let mut taken = Vec::new();
        places.take_all(|place| taken.push(place));
        assert_eq!(taken, [0, 5, 63, 64, 199]);
        places.take_all(|place| panic!("{place} is there still"));
    }
}
