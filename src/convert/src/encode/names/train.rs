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
const BARS: [u32; 10] = [1000, 300, 200, 100, 30, 15, 8, 5, 3, 3];
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

    let mut pairs = Vec::new();
    let mut table = PairTable::default();
    for bar in BARS {
        round(&mut sequence, bar, &mut table, &mut pairs, &mut sizes, &mut depths);
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
    for &(left, right) in &pairs {
        bodies.push(&[left, right]);
    }
    sequence.truncate(suffixes_end);
    Grammar { bodies, sizes, suffixes: sequence }
}

/// Counts of pairs, by open addressing. Slot 0 stands for "no pair" and counts nothing.
#[derive(Default)]
struct PairTable {
    keys: Vec<u64>,
    counts: Vec<u32>,
    symbols: Vec<u32>,
}

impl PairTable {
    fn reset(&mut self, positions: usize) {
        let size = (positions * 2).next_power_of_two().max(64);
        for column in [&mut self.counts, &mut self.symbols] {
            column.clear();
            column.resize(size, 0);
        }
        self.keys.clear();
        self.keys.resize(size, u64::MAX);
    }

    /// The slot of a pair, counted once more.
    fn count(&mut self, left: u32, right: u32) -> u32 {
        let key = u64::from(left) << 32 | u64::from(right);
        let mask = self.keys.len() - 1;
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            if at != 0 {
                if self.keys[at] == key {
                    break;
                }
                if self.keys[at] == u64::MAX {
                    self.keys[at] = key;
                    break;
                }
            }
            at = (at + 1) & mask;
        }
        self.counts[at] += 1;
        at as u32
    }
}

/// Replaces the pairs that occur at least `bar` times.
fn round(
    sequence: &mut Vec<u32>,
    bar: u32,
    table: &mut PairTable,
    pairs: &mut Vec<(u32, u32)>,
    sizes: &mut Vec<u32>,
    depths: &mut Vec<u8>,
) {
    table.reset(sequence.len());
    let slots: Vec<u32> = sequence
        .windows(2)
        .map(|w| if w[0] == END || w[1] == END { 0 } else { table.count(w[0], w[1]) })
        .chain([0, 0])
        .collect();
    let strength = |table: &PairTable, at: usize| {
        let count = table.counts[slots[at] as usize];
        if count >= bar { count } else { 0 }
    };
    let (mut from, mut to) = (0, 0);
    while from < sequence.len() {
        let here = strength(table, from);
        if here > 0 && here >= strength(table, from + 1) {
            let (left, right) = (sequence[from], sequence[from + 1]);
            let slot = slots[from] as usize;
            if table.symbols[slot] == 0 {
                let depth = depths[left as usize].max(depths[right as usize]) + 1;
                if depth == WORD_DEPTH || usize::from(depth) >= MAX_DEPTH {
                    table.counts[slot] = 0;
                    continue;
                }
                table.symbols[slot] = sizes.len() as u32;
                pairs.push((left, right));
                sizes.push(sizes[left as usize] + sizes[right as usize]);
                depths.push(depth);
            }
            sequence[to] = table.symbols[slot];
            from += 2;
        } else {
            sequence[to] = sequence[from];
            from += 1;
        }
        to += 1;
    }
    sequence.truncate(to);
}
