//! Turns the words of the suffixes into a grammar: symbols for what repeats.
//!
//! # The idea
//! Re-Pair replaces the most frequent pair of neighbours by a new symbol, again and again. One pair at a time is slow, so
//! a round here replaces every pair that is frequent enough for this round, where it beats the pair that overlaps it on
//! its right, and goes on to the right as long as that holds: a phrase of many words is found in one round. Bars fall
//! from round to round: frequent pairs must be made first, since rare ones would cut them apart.
//!
//! A round changes few of the pairs, so all are counted once and then only the *fresh* ones, those next to a new
//! symbol. Most of these occur once or twice and will never be replaced, since a pair of old symbols only gets rarer:
//! a small array of counters, by hash, tells them beforehand, and only the others get a number and a count.
//!
//! # Data
//! One sequence of places: all suffixes, then the spelling of each word, each ended by [`END`]. Symbols below 256 are
//! bytes, then come words, then pairs. A place knows its symbol and the number of the pair that it makes with the next.
//!
//! # Why it ends
//! A fixed number of rounds, each linear in a sequence that never grows. How deep symbols nest is not bounded here:
//! those that are too deep for the format are spelled out later.

use super::keys::{KeyTable, hash};
use super::lex::{END, Lexed};
use super::pair_place::PairPlace;

/// A symbol must save this many others to pay for its own place in the tables, or it is spelled out. A pair saves one
/// with each use.
pub(super) const MIN_SAVED: u32 = 5;
/// Bars of the rounds: a pair must occur this often to become a symbol.
const BARS: [u32; 3] = [100, 16, MIN_SAVED];
/// A phrase grows by no more symbols in a round: where one symbol repeats, it is phrases of one length, for the next
/// round to join, that serve runs of any length.
const MOST_JOINED: u32 = 16;

/// What a symbol stands for, and the suffixes written in symbols.
pub(super) struct Grammar {
    /// For each symbol the symbols it stands for; empty for a byte (0..256).
    pub(super) bodies: Bodies,
    /// Bytes that each symbol stands for.
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
pub(super) fn train(lexed: Lexed<'_>, names: usize) -> Grammar {
    let words = lexed.words.len();
    let mut text = TrainText::new(lexed);
    for bar in BARS {
        text.count_fresh();
        text.replace(bar);
    }

    let mut symbols: Vec<u32> = text.places.iter().map(|place| place.symbol).collect();
    let mut lists = symbols.split(|&symbol| symbol == END);
    let suffixes_len = lists.by_ref().take(names).map(|suffix| suffix.len() + 1).sum();
    let mut bodies = Bodies::default();
    (0..256).for_each(|_| bodies.push(&[]));
    lists.take(words).for_each(|spelling| bodies.push(spelling));
    text.made.iter().for_each(|pair| bodies.push(pair));
    symbols.truncate(suffixes_len);
    Grammar { bodies, sizes: text.sizes, suffixes: symbols }
}

/// What is known of a pair.
#[derive(Clone, Copy, Default)]
struct Pair {
    /// How often it occurs; where it was replaced, it still counts.
    count: u32,
    /// The symbol that it became, 0 for none.
    symbol: u32,
}

/// The pairs that were counted.
struct Pairs {
    /// By number; the first one stands for "no pair".
    list: Vec<Pair>,
    keys: KeyTable,
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs { list: vec![Pair::default()], keys: KeyTable::default() }
    }
}

impl Pairs {
    /// The number of a pair that is counted once more.
    #[inline(always)]
    fn count(&mut self, left: u32, right: u32) -> u32 {
        let number = self.number(left, right);
        self.list[number as usize].count += 1;
        number
    }

    /// The number of a pair, which may be a new one.
    #[inline(always)]
    fn number(&mut self, left: u32, right: u32) -> u32 {
        let number = self.keys.number(key(left, right));
        if number as usize == self.list.len() {
            self.list.push(Pair::default());
        }
        number
    }
}

/// The text that is replaced bit by bit, and its grammar so far.
struct TrainText {
    places: Vec<PairPlace>,
    pairs: Pairs,
    /// The places whose pairs are fresh.
    fresh: Vec<u32>,
    /// By the front of a hash, how many fresh pairs have it; at most 255.
    seen: Vec<u8>,
    /// Bits of a hash behind that front.
    seen_shift: u32,
    /// The pairs that became symbols, in order, after bytes and words.
    made: Vec<[u32; 2]>,
    /// Bytes that each symbol stands for.
    sizes: Vec<u32>,
}

impl TrainText {
    /// The text as it was cut, all its pairs counted.
    fn new(lexed: Lexed<'_>) -> TrainText {
        let mut sizes = vec![1; 256];
        sizes.extend(lexed.words.iter().map(|word| word.len() as u32));
        // Smaller than a cache, but large enough that few pairs share a counter.
        let seen_bits = (lexed.places.len() / 4).checked_ilog2().unwrap_or(0).clamp(10, 20);
        let (mut places, mut pairs) = (lexed.places, Pairs::default());
        let mut right = END;
        for place in places.iter_mut().rev() {
            if place.symbol.max(right) != END {
                place.pair = pairs.count(place.symbol, right);
            }
            right = place.symbol;
        }
        let (seen, seen_shift) = (vec![0; 1 << seen_bits], u32::BITS - seen_bits);
        TrainText { places, pairs, fresh: Vec::new(), seen, seen_shift, made: Vec::new(), sizes }
    }

    /// Replaces the pairs that occur at least `bar` times.
    fn replace(&mut self, bar: u32) {
        let (mut from, mut to) = (0, 0);
        // Whether the symbol before is new.
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
            // From pair to pair, until one is too rare or the next beats it.
            loop {
                from += 1;
                let count = self.pairs.list[place.pair as usize].count;
                if count < bar || joined == MOST_JOINED {
                    break;
                }
                let next = self.places[from];
                if count < self.pairs.list[next.pair as usize].count {
                    break;
                }
                let pair = if joined > 0 { self.pairs.number(place.symbol, next.symbol) } else { place.pair };
                place = PairPlace { symbol: self.symbol(pair, place.symbol, next.symbol), pair: next.pair };
                joined += 1;
            }
            let new = joined > 0;
            if (new || after_new) && to > 0 {
                self.renew(to - 1, place.symbol);
            }
            self.places[to] = place;
            to += 1;
            after_new = new;
        }
        self.places.truncate(to);
    }

    /// Takes note that a place makes another pair now, with `right`.
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
            self.fresh.push(at as u32);
        }
    }

    /// Counts the fresh pairs, but for those that are too rare.
    fn count_fresh(&mut self) {
        for at in std::mem::take(&mut self.fresh) {
            let at = at as usize;
            let (left, right) = (self.places[at], self.places[at + 1].symbol);
            let seen = self.seen[(left.pair >> self.seen_shift) as usize];
            self.places[at].pair =
                if u32::from(seen) < MIN_SAVED { 0 } else { self.pairs.count(left.symbol, right) };
        }
        self.seen.fill(0);
    }

    /// The symbol that stands for a pair.
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
