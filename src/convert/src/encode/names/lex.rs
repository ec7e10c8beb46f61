//! Turns sorted names into front-coded suffixes made of words.
//!
//! A word is a unit that mangling schemes and programmers repeat: a length with its identifier (`7rocksdb`), a substitution
//! of a C++ name (`S1_`), a run of letters with the underscores before it, a number, or any other byte. Tokens are made of
//! whole words, so the choice of words affects the size, but never correctness. A suffix begins at a word, too. If it began at
//! the first differing byte, `Slice` would become `lice` after a name with `Scan`, and `ice` after a name with `Slab`.
//!
//! The table spells each word once, as *subwords*: `BlockBuilder` as `Block` and `Builder`. A subword is a word, too, and is
//! spelled in bytes.

use super::blocks::narrow;
use super::distinct::KeyTable;
use super::pair_place::PairPlace;
use crate::util::text::{TOGETHER, soon};

/// Ends a suffix in a sequence of symbols.
pub(super) const END: u32 = u32::MAX;

/// The words of all suffixes.
pub(super) struct Lexed {
    /// The symbols of the suffixes and then of each word's spelling, each ended by [`END`]. Below 256 they are bytes;
    /// `256 + i` is word `i`.
    pub(super) symbols: SymbolParts,
    /// For each name, how many bytes it keeps of the name before.
    pub(super) keeps: Vec<u32>,
    /// The lengths of the distinct words of more than a byte, in order of first use.
    pub(super) word_lens: Vec<u8>,
}

/// Symbols in the order in which they were appended, in parts: a list that grows takes three times its memory while it moves.
#[derive(Default)]
pub(super) struct SymbolParts {
    /// All but the last have [`PART`] symbols.
    parts: Vec<Vec<u32>>,
}

/// Symbols of a part: 256 KiB.
const PART: usize = 1 << 16;

impl SymbolParts {
    #[inline(always)]
    fn push(&mut self, symbol: u32) {
        match self.parts.last_mut() {
            Some(part) if part.len() < PART => part.push(symbol),
            _ => self.add_part(symbol),
        }
    }

    #[cold]
    fn add_part(&mut self, symbol: u32) {
        // The first part of few names grows as it is filled.
        let mut part = if self.parts.is_empty() { Vec::new() } else { Vec::with_capacity(PART) };
        part.push(symbol);
        self.parts.push(part);
    }

    /// The places of the symbols, whose pairs are not known yet.
    pub(super) fn into_places(self) -> Vec<PairPlace> {
        let mut places = Vec::with_capacity(self.parts.iter().map(Vec::len).sum());
        for part in self.parts {
            places.extend(part.into_iter().map(PairPlace::of));
        }
        places
    }
}

/// Cuts names, of which there are `count`, into suffixes and words. Every `block`-th name keeps nothing of the name before.
pub(super) fn lex<'n>(count: usize, name: impl Fn(usize) -> &'n [u8], block: usize) -> Lexed {
    let mut symbols = SymbolParts::default();
    let mut keeps = Vec::with_capacity(count);
    let mut words = WordTable::default();
    // Ends and symbols of the words of the name before. The words that the next name keeps are not cut again.
    let mut cuts: Vec<(u32, u32)> = Vec::new();
    let mut before: &[u8] = &[];
    for i in 0..count {
        if i % TOGETHER == 0 {
            soon((i + TOGETHER..count.min(i + 2 * TOGETHER)).map(&name));
        }
        let name = name(i);
        let shared = shared_prefix(before, name);
        // A word that ends where the names begin to differ may be longer in this name.
        while cuts.last().is_some_and(|cut| cut.0 as usize >= shared) {
            cuts.pop();
        }
        let head = i % block == 0;
        // A head keeps nothing of the name before. Words that the two share are not cut again, but are written again.
        if head {
            cuts.iter().for_each(|cut| symbols.push(cut.1));
        }
        let mut keep = cuts.last().map_or(0, |cut| cut.0 as usize);
        let mut at = keep;
        while at < name.len() {
            let end = word_end(name, at);
            let symbol = words.symbol(name, at, end);
            cuts.push((end as u32, symbol));
            if end <= shared && !head {
                keep = end;
            } else {
                symbols.push(symbol);
            }
            at = end;
        }
        symbols.push(END);
        keeps.push(if head { 0 } else { keep as u32 });
        before = name;
    }
    words.spell(&mut symbols);
    Lexed { symbols, keeps, word_lens: words.lens() }
}

/// The length of the longest common prefix of `a` and `b`.
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let (mut wide_a, mut wide_b) = (a[..most].chunks_exact(8), b[..most].chunks_exact(8));
    let mut at = 0;
    for (x, y) in wide_a.by_ref().zip(wide_b.by_ref()) {
        // Little-endian on any machine: the lowest bit that differs is then in the first byte that differs.
        let differ = u64::from_le_bytes(x.try_into().unwrap()) ^ u64::from_le_bytes(y.try_into().unwrap());
        if differ != 0 {
            return at + differ.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + wide_a.remainder().iter().zip(wide_b.remainder()).take_while(|(x, y)| x == y).count()
}

const DIGIT: u8 = 1;
const LETTER: u8 = 2;
const FIRST: u8 = 4;
const UNDERSCORE: u8 = 8;

/// What each byte can be part of: a number, a run of letters, underscores, or the beginning of an identifier.
static CLASS: [u8; 256] = {
    // Bytes from 0x80 on belong to identifiers in UTF-8, which C++, Rust and Swift allow.
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        class[byte] = if b.is_ascii_digit() {
            DIGIT
        } else if b.is_ascii_alphabetic() || b >= 0x80 {
            LETTER | FIRST
        } else if b == b'_' {
            FIRST | UNDERSCORE
        } else if matches!(b, b'$' | b'.') {
            FIRST
        } else {
            0
        };
        byte += 1;
    }
    class
};

/// The most bytes of a word. A longer identifier is cut into several words.
const MAX_WORD: usize = 96;

/// The end of the word of `name` that begins at `at`.
fn word_end(name: &[u8], at: usize) -> usize {
    let rest = &name[at..];
    let rest = &rest[..rest.len().min(MAX_WORD)];
    let begins =
        |from: usize, class: u8| rest.get(from).is_some_and(|&byte| CLASS[usize::from(byte)] & class != 0);
    if begins(0, DIGIT) {
        let mut length = 0;
        let mut digits = 0;
        // No identifier of a four-digit length fits a word ([`MAX_WORD`]), so further digits are a word of their own.
        while digits < 3 && begins(digits, DIGIT) {
            length = length * 10 + usize::from(rest[digits] - b'0');
            digits += 1;
        }
        // `12BlockBuilder`, as C++ and Rust mangle; the identifier does not begin with a digit.
        let identifier =
            length >= 2 && rest[0] != b'0' && begins(digits, FIRST) && digits + length <= rest.len();
        return at + if identifier { digits + length } else { digits };
    }
    let mut end = 0;
    while begins(end, UNDERSCORE) {
        end += 1;
    }
    if !begins(end, LETTER) {
        return at + end.max(1);
    }
    while begins(end, LETTER) {
        end += 1;
    }
    at + substitution(rest, end)
}

/// The end of a word that is a run of letters up to `end`. `S1_` and `T_` are words of their own, so a run ends before them.
///
/// They are a `<substitution>` and a `<template-param>` of the Itanium C++ ABI, 5.1.10 and 5.1.5.
fn substitution(rest: &[u8], end: usize) -> usize {
    let begin = match rest[..end] {
        [.., b'S' | b'T'] => end - 1,
        [.., b'S', b'A'..=b'Z'] => end - 2,
        _ => return end,
    };
    let digits = rest[begin + 1..].iter().take(2);
    let digits = digits.take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()).count();
    match rest.get(begin + 1 + digits) {
        Some(b'_') if begin == 0 => digits + 2,
        Some(b'_') => begin,
        _ => end,
    }
}

/// The distinct words, and their numbers by content. The words are copied: the names lie all over the program's files.
#[derive(Default)]
struct WordTable {
    /// The words, end to end.
    bytes: Vec<u8>,
    /// The end of each in `bytes`. The bytes of all names together are below 2^32, and so are those of the words.
    ends: Vec<u32>,
    /// By [`short_key`] or [`long_key`].
    keys: KeyTable,
}

impl WordTable {
    /// The symbol of the word `name[at..end]`; a word of one byte is its own symbol.
    fn symbol(&mut self, name: &[u8], at: usize, end: usize) -> u32 {
        let word = &name[at..end];
        if let [byte] = *word {
            return byte.into();
        }
        // The name goes on behind most words, so `short_key` can load 8 bytes at once and mask those that follow the word.
        let short = word.len() < 8;
        let mut key = if short { short_key(&name[at..], word.len()) } else { long_key(word) };
        loop {
            let number = self.keys.number(key) as usize;
            if number > self.ends.len() {
                self.bytes.extend_from_slice(word);
                self.ends.push(narrow(self.bytes.len()));
                return 255 + number as u32;
            }
            if short || self.word(number - 1) == word {
                return 255 + number as u32;
            }
            // Another word has the same hash.
            key = key.wrapping_add(1) | LONG;
        }
    }

    /// Word `i`.
    fn word(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start as usize..self.ends[i] as usize]
    }

    fn lens(&self) -> Vec<u8> {
        (0..self.ends.len()).map(|i| self.word(i).len() as u8).collect()
    }

    /// Appends the spelling of each word, then of the subwords that are new words.
    fn spell(&mut self, symbols: &mut SymbolParts) {
        let whole = self.ends.len();
        let mut copy = [0; MAX_WORD];
        let mut next = 0;
        while next < self.ends.len() {
            let word = self.word(next);
            let word = &mut copy[..word.len()];
            word.copy_from_slice(self.word(next));
            let word = &*word;
            // Only words of names are cut further. A subword is spelled in bytes, so the loop ends after one level.
            let mut end = if next < whole { subword_end(word, 0) } else { word.len() };
            if end == word.len() {
                word.iter().for_each(|&byte| symbols.push(byte.into()));
            } else {
                let mut at = 0;
                while at < word.len() {
                    symbols.push(self.symbol(word, at, end));
                    at = end;
                    end = subword_end(word, at);
                }
            }
            symbols.push(END);
            next += 1;
        }
    }
}

/// Set in the keys of long words: such a key is a hash, which several words may have.
const LONG: u64 = 1 << 63;

/// The first `length` < 8 bytes of `bytes`, and the length: no other word has this key.
fn short_key(bytes: &[u8], length: usize) -> u64 {
    let bits = match bytes.first_chunk() {
        Some(&chunk) => u64::from_le_bytes(chunk) & ((1 << (8 * length)) - 1),
        None => bytes[..length].iter().rev().fold(0, |key, &byte| key << 8 | u64::from(byte)),
    };
    bits | (length as u64) << 56
}

/// A hash of a word of 8 bytes or more.
fn long_key(word: &[u8]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix =
        |state: u64, chunk: &[u8; 8]| (state.rotate_left(5) ^ u64::from_le_bytes(*chunk)).wrapping_mul(MIX);
    let (chunks, _) = word.as_chunks::<8>();
    let last = word.last_chunk().expect("8 bytes");
    mix(chunks.iter().fold(word.len() as u64, mix), last) | LONG
}

/// The end of the subword of `word` that begins at `at`: capitals and underscores, then small letters.
fn subword_end(word: &[u8], at: usize) -> usize {
    let lead = word[at..].iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
    let low = word[at + lead..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    (at + lead + low).max(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts into which `cut` divides `text`.
    fn parts(text: &str, cut: fn(&[u8], usize) -> usize) -> Vec<&str> {
        let mut at = 0;
        let mut parts = Vec::new();
        while at < text.len() {
            let end = cut(text.as_bytes(), at);
            parts.push(&text[at..end]);
            at = end;
        }
        parts
    }

    #[test]
    fn words_are_what_mangling_and_programmers_repeat() {
        let name = "_ZNK7rocksdb5SliceERKNS1_IcSA_EEPT_ISt4lessE";
        let words =
            ["_ZNK", "7rocksdb", "5Slice", "ERKN", "S1_", "Ic", "SA_", "EEP", "T_", "ISt", "4less", "E"];
        assert_eq!(parts(name, word_end), words);
        assert_eq!(parts("__x64_sys_read.cold", word_end), ["__x", "64", "_sys", "_read", ".", "cold"]);
        // A length that goes past the end of the name, or without an identifier after it.
        assert_eq!(parts("90to/12/0x1f", word_end), ["90", "to", "/", "12", "/", "0", "x", "1", "f"]);
        assert_eq!(parts("BASS_T9", word_end), ["BAS", "S_", "T", "9"]);
    }

    #[test]
    fn symbols_of_several_parts_keep_their_order() {
        let mut symbols = SymbolParts::default();
        let count = 2 * PART as u32 + 1;
        (0..count).for_each(|symbol| symbols.push(symbol));
        assert_eq!(symbols.parts.iter().map(Vec::len).collect::<Vec<_>>(), [PART, PART, 1]);
        assert!(symbols.into_places().iter().map(|place| place.symbol).eq(0..count));
    }

    #[test]
    fn subwords_are_the_words_of_an_identifier() {
        assert_eq!(parts("14BlockBuilder_v2", subword_end), ["1", "4", "Block", "Builder", "_v", "2"]);
        assert_eq!(parts("DBImpl__x", subword_end), ["DBImpl", "__x"]);
    }

    #[test]
    fn two_words_of_one_hash_are_two_words() {
        // The second 8 bytes of each word cancel the difference of the first 8 in the hash.
        let after =
            |first: u64| (24u64.rotate_left(5) ^ first).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(5);
        let word = |first: u64| [first, after(first), 7].map(u64::to_le_bytes).concat();
        let (a, b) = (word(1), word(2));
        assert!(a != b && long_key(&a) == long_key(&b));
        let mut words = WordTable::default();
        assert_eq!([&a, &b, &a, &b].map(|word| words.symbol(word, 0, 24)), [256, 257, 256, 257]);
        assert_eq!([words.word(0), words.word(1)], [&a[..], &b[..]]);
        assert_eq!(words.lens(), [24, 24]);
    }
}
