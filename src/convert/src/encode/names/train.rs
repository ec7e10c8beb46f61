//! Turns the words of the suffixes into a grammar: symbols for what repeats.
//!
//! # The idea
//! Re-Pair replaces the most frequent pair of neighbours by a new symbol, again and again. One pair at
//! a time is slow, so a round here counts all pairs and replaces every one that is frequent enough for
//! this round, where it beats the pair that overlaps it on its right. Bars fall from round to round:
//! frequent pairs must be made first, since rare ones would cut them apart.
//!
//! # Data
//! One sequence of symbols: all suffixes, then the spelling of each word that is used more than
//! once, each ended by [`END`]. Symbols below 256 are bytes, then come words, then pairs. A word used
//! once is spelled in the suffix itself. Counts live in one open-addressing table keyed by the pair; each
//! position remembers its slot, so that the second pass does not search again.
//!
//! # Why it ends
//! A fixed number of rounds, each linear in a sequence that never grows. Nesting is bounded because
//! a pair deeper than the format allows is never made.

use super::lex::{END, Lexed};
use foldsym_format::names::MAX_DEPTH;

/// Bars of the rounds: a pair must occur this often to become a symbol.
const BARS: [u32; 8] = [300, 60, 15, 6, 4, 3, 3, 3];
/// A symbol must save its own place in the tables: fewer uses than this and it is spelled out.
pub(super) const MIN_USES: u32 = 3;

/// The depth that a word is taken to have, before its spelling is known: pairs of bytes stay below it.
const WORD_DEPTH: u8 = MAX_DEPTH as u8 / 2;

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

/// Builds the grammar of the suffixes.
pub(super) fn train(lexed: &Lexed<'_>) -> Grammar {
    let mut sizes = vec![1u32; 256];
    let mut depths = vec![0u8; 256];
    let mut symbol_of_word = vec![END; lexed.words.len()];
    for (i, word) in lexed.words.iter().enumerate() {
        if word.len() == 1 {
            symbol_of_word[i] = u32::from(word[0]);
        } else if lexed.uses[i] >= 2 {
            symbol_of_word[i] = sizes.len() as u32;
            sizes.push(word.len() as u32);
            depths.push(WORD_DEPTH);
        }
    }
    let word_symbols = sizes.len();
    let mut sequence = Vec::with_capacity(lexed.sequence.len() * 3 / 2);
    for &word in &lexed.sequence {
        if word == END {
            sequence.push(END);
            continue;
        }
        match symbol_of_word[word as usize] {
            END => sequence.extend(lexed.words[word as usize].iter().map(|&b| u32::from(b))),
            symbol => sequence.push(symbol),
        }
    }
    for (i, word) in lexed.words.iter().enumerate() {
        if symbol_of_word[i] != END && word.len() > 1 {
            sequence.extend(word.iter().map(|&b| u32::from(b)));
            sequence.push(END);
        }
    }

    let mut made = Vec::new();
    let mut pairs = Pairs::default();
    for bar in BARS {
        round(&mut sequence, bar, &mut pairs, &mut made, &mut sizes, &mut depths);
    }

    let suffixes_end = {
        let mut left = lexed.keeps.len();
        let end = sequence.iter().position(|&s| {
            left -= usize::from(s == END && left > 0);
            left == 0
        });
        end.map_or(0, |end| end + 1)
    };
    let mut bodies = Bodies::default();
    for _ in 0..256 {
        bodies.push(&[]);
    }
    for spelling in sequence[suffixes_end..].split(|&s| s == END).take(word_symbols - 256) {
        bodies.push(spelling);
    }
    for &(left, right) in &made {
        bodies.push(&[left, right]);
    }
    sequence.truncate(suffixes_end);
    Grammar { bodies, sizes, suffixes: sequence }
}

/// A pair of neighbours, in one round.
#[derive(Clone, Copy)]
struct Pair {
    key: u64,
    count: u32,
    /// The symbol it became, 0 for none.
    symbol: u32,
}

/// The distinct pairs of a round, in order of first sight. Pair 0 stands for "no pair".
///
/// Frequent pairs are seen early and so lie together; the hash table holds no more than their numbers.
#[derive(Default)]
struct Pairs {
    list: Vec<Pair>,
    /// Numbers of pairs by hash, 0 for none.
    slots: Vec<u32>,
    /// For each position of the sequence, the pair that ends there.
    ends: Vec<u32>,
}

impl Pairs {
    fn clear(&mut self) {
        self.list.clear();
        self.list.push(Pair { key: u64::MAX, count: 0, symbol: 0 });
        let size = self.slots.len().max(1024);
        self.slots.clear();
        self.slots.resize(size, 0);
    }

    /// Counts the pairs of a sequence.
    fn count_all(&mut self, sequence: &[u32]) {
        self.clear();
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        let mut left = END;
        ends.extend(sequence.iter().map(|&right| {
            let pair = u64::from(left) << 32 | u64::from(right);
            let none = left.max(right) == END;
            left = right;
            if none { 0 } else { self.count(pair) }
        }));
        ends.extend([0, 0]);
        self.ends = ends;
    }

    /// The number of a pair, counted once more.
    #[inline(always)]
    fn count(&mut self, key: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = place(key, mask);
        loop {
            let number = self.slots[at];
            if number == 0 {
                return self.add(key, at);
            }
            let pair = &mut self.list[number as usize];
            if pair.key == key {
                pair.count += 1;
                return number;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a pair, whose slot is free.
    #[inline(never)]
    fn add(&mut self, key: u64, slot: usize) -> u32 {
        let number = self.list.len() as u32;
        self.slots[slot] = number;
        self.list.push(Pair { key, count: 1, symbol: 0 });
        if self.list.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 4;
        self.slots.clear();
        self.slots.resize(size, 0);
        for (number, pair) in (0..).zip(&self.list).skip(1) {
            let mut at = place(pair.key, size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = number;
        }
    }
}

fn place(key: u64, mask: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask
}

/// Replaces the pairs that occur at least `bar` times.
fn round(
    sequence: &mut Vec<u32>,
    bar: u32,
    pairs: &mut Pairs,
    made: &mut Vec<(u32, u32)>,
    sizes: &mut Vec<u32>,
    depths: &mut Vec<u8>,
) {
    pairs.count_all(sequence);
    let Pairs { list, ends, .. } = pairs;
    // How often the pair that ends at a position occurs; 0 where that is too seldom.
    let strength = |list: &[Pair], end: u32| {
        let count = list[end as usize].count;
        if count >= bar { count } else { 0 }
    };
    let (mut from, mut to) = (0, 0);
    let mut here = strength(list, ends[1]);
    while let Some(&[end, next]) = ends[from + 1..].first_chunk() {
        let symbol = sequence[from];
        let next = strength(list, next);
        if here != 0 && here >= next {
            let pair = &mut list[end as usize];
            if pair.symbol != 0 || make(pair, made, sizes, depths) {
                sequence[to] = pair.symbol;
                to += 1;
                from += 2;
                here = ends.get(from + 1).map_or(0, |&end| strength(list, end));
                continue;
            }
        }
        sequence[to] = symbol;
        to += 1;
        from += 1;
        here = next;
    }
    sequence.truncate(to);
}

/// Makes a pair a symbol, unless that would nest too deep.
fn make(pair: &mut Pair, made: &mut Vec<(u32, u32)>, sizes: &mut Vec<u32>, depths: &mut Vec<u8>) -> bool {
    let (left, right) = ((pair.key >> 32) as u32, pair.key as u32);
    let depth = depths[left as usize].max(depths[right as usize]) + 1;
    if depth == WORD_DEPTH || usize::from(depth) >= MAX_DEPTH {
        pair.count = 0;
        return false;
    }
    pair.symbol = sizes.len() as u32;
    made.push((left, right));
    sizes.push(sizes[left as usize] + sizes[right as usize]);
    depths.push(depth);
    true
}
