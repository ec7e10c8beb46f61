//! Turns sorted names into the compressed name table that `foldsym_format::names` reads.
//!
//! # The idea
//! There are three steps. `lex` front-codes the names and cuts the suffixes into words. `train` finds a grammar for the words.
//! This module makes the table small and quick to read. It spells out symbols that do not pay for their place, or that are too
//! long or too deep for a rule. Symbols that are short or often visited become leaves: ranges of one byte pool, in which inner
//! leaves are inside outer ones. The others become rules. The suffixes are written in a prefix code, in which
//! frequent symbols have short codes. Tokens are numbered in the order of their codes, so that no table maps codes to
//! tokens, and frequent tokens share cache lines.
//!
//! # Data
//! A *symbol* is a byte, a word or a pair, numbered by `train`. A *token* is a symbol that the file has, numbered as in the file.
//! In a list of symbols by falling size every symbol precedes its parts. So one walk over the list visits all users of a
//! symbol before the symbol itself.
//!
//! # Why it ends, and why it is the same each time
//! Every step is one pass over the symbols or the suffixes, or a sort. If the format has no room for the tokens (more than 2^20
//! codes), the savings that a symbol must make are doubled until there is room; bytes alone always fit. Nothing depends on
//! hash seeds, threads or addresses: the same names give the same bytes.
//!
//! The layout is `schema/names.md`.

mod blocks;
mod code;
mod distinct;
mod lex;
mod pair_place;
mod train;

use super::bits::{BitWriter, width_of};
use blocks::{BLOCK, narrow, write_blocks};
use code::{Code, Items};
use foldsym_format::names::{HEADER_LEN, MAX_CODE, MAX_DEPTH, MAX_NAME, NAMES_TAIL};
use lex::END;
use std::cmp::Reverse;
use train::{Bodies, Grammar, MIN_SAVED};

/// A symbol of at most this many bytes is always a leaf: its rule would be no smaller.
const SHORT_LEAF: u32 = 8;
/// The longest leaf, the longest rule and the largest start that an entry of the token table can hold.
const MAX_LEAF: u32 = 128;
const MAX_BODY: u32 = 129;
const MAX_START: usize = (1 << 24) - 1;

/// Encodes `names`, which must be sorted by bytes and distinct, as a name table.
///
/// Name `i` gets id `i`. Names longer than [`MAX_NAME`] are cut there.
///
/// # Panics
/// There are more than 2^32 - 1 names, or the table has 4 GiB or more.
#[must_use]
pub fn encode(names: &[&[u8]]) -> Vec<u8> {
    encode_list(names.len(), |i| names[i], &|| ())
}

/// As [`encode`], for `count` names. Calls `texts_done` when it does not read the texts any more: the rest takes the most memory.
pub(super) fn encode_list<'n>(
    count: usize,
    name: impl Fn(usize) -> &'n [u8],
    texts_done: &dyn Fn(),
) -> Vec<u8> {
    debug_assert!((1..count).all(|i| name(i - 1) < name(i)), "names are sorted and distinct");
    let stored = |i| {
        let name = name(i);
        &name[..name.len().min(MAX_NAME)]
    };
    let mut lexed = lex::lex(count, stored, BLOCK);
    texts_done();
    let keeps = std::mem::take(&mut lexed.keeps);
    let grammar = train::train(lexed, keeps.len());
    let tokens = (0..)
        .find_map(|doublings| Tokens::choose(&grammar, MIN_SAVED << doublings))
        .expect("with bytes alone it fits");
    write(&keeps, &tokens)
}

/// The final tokens: numbered as in the file.
struct Tokens {
    /// For each token its start (in the pool or the bodies) and its length.
    entries: Vec<NameEntry>,
    /// Bodies of the rules, as tokens.
    bodies: Vec<u32>,
    pool: Vec<u8>,
    /// For each symbol its code; the tokens are in the order of their codes.
    codes: Vec<Code>,
    /// How many codes there are of each length.
    items: Items,
    /// The suffixes as symbols, each ended by [`END`].
    suffixes: Vec<u32>,
}

#[derive(Clone, Copy)]
struct NameEntry {
    rule: bool,
    start: u32,
    length: u32,
}

impl Tokens {
    /// Picks the symbols that save at least `min_saved` others; `None` if the format has no room for them all.
    fn choose(grammar: &Grammar, min_saved: u32) -> Option<Tokens> {
        // Every symbol before its parts: a symbol is longer than its parts, or it is a word that one pair spells, and the pair
        // has a higher number.
        let all: Vec<u32> = (0..grammar.sizes.len() as u32).collect();
        let longest = grammar.sizes.iter().copied().max().unwrap_or(0);
        let by_size = sorted(&all, |symbol| longest - grammar.sizes[symbol as usize]);
        let kept = keep_useful(grammar, &by_size, min_saved);
        let (bodies, suffixes) = spell_out(grammar, &kept);

        let mut counts = vec![0u32; all.len()];
        for &symbol in &suffixes {
            // `END` gets no code: a reader finds the end of a suffix by the stored length of its codes.
            if let Some(count) = counts.get_mut(symbol as usize) {
                *count += 1;
            }
        }
        let Leaves { pool, starts, used } = lay_pool(grammar, &bodies, &by_size, &counts);
        if counts.iter().filter(|&&count| count > 0).count() > 1 << MAX_CODE || pool.len() > MAX_START {
            return None;
        }

        // Tokens in the order of their codes, the most frequent first; then tokens without a code, by size.
        let mut tokens: Vec<u32> = by_size.into_iter().filter(|&s| used[s as usize]).collect();
        tokens.sort_by_key(|&symbol| Reverse(counts[symbol as usize]));
        let falling: Vec<u32> =
            tokens.iter().map(|&symbol| counts[symbol as usize]).take_while(|&count| count > 0).collect();
        let items = code::plan(&falling);
        let mut codes = vec![Code::default(); all.len()];
        for (&symbol, code) in tokens.iter().zip(code::codes(&items)).take(falling.len()) {
            codes[symbol as usize] = code;
        }
        let mut token_of = vec![END; all.len()];
        for (token, &symbol) in (0..).zip(&tokens) {
            token_of[symbol as usize] = token;
        }
        let mut out = Tokens {
            entries: Vec::with_capacity(tokens.len()),
            bodies: Vec::new(),
            pool,
            codes,
            items,
            suffixes,
        };
        for &symbol in &tokens {
            let start = starts[symbol as usize];
            if start != END {
                out.entries.push(NameEntry { rule: false, start, length: grammar.sizes[symbol as usize] });
            } else {
                let body = bodies.get(symbol);
                let start = out.bodies.len() as u32;
                out.entries.push(NameEntry { rule: true, start, length: body.len() as u32 });
                out.bodies.extend(body.iter().map(|&s| token_of[s as usize]));
            }
        }
        (out.bodies.len() <= MAX_START && out.entries.len() <= MAX_START).then_some(out)
    }
}

/// Sorts symbols by their keys, which are small; symbols with equal keys keep their order.
fn sorted(symbols: &[u32], key: impl Fn(u32) -> u32) -> Vec<u32> {
    let most = symbols.iter().map(|&symbol| key(symbol)).max().unwrap_or(0);
    let mut ends = vec![0u32; most as usize + 1];
    symbols.iter().for_each(|&symbol| ends[key(symbol) as usize] += 1);
    let mut end = 0;
    for count in &mut ends {
        end += *count;
        *count = end;
    }
    let mut out = vec![0; symbols.len()];
    // Backwards, since each key's places are filled from their end: so symbols of one key keep their order.
    for &symbol in symbols.iter().rev() {
        let end = &mut ends[key(symbol) as usize];
        *end -= 1;
        out[*end as usize] = symbol;
    }
    out
}

/// Decides for each symbol whether it is kept. A symbol that is not kept is spelled out where it is used, and its parts are then
/// counted as used there.
fn keep_useful(grammar: &Grammar, by_size: &[u32], min_saved: u32) -> Vec<bool> {
    let mut uses = vec![0u32; grammar.bodies.len()];
    for &symbol in &grammar.suffixes {
        if let Some(uses) = uses.get_mut(symbol as usize) {
            *uses += 1;
        }
    }
    let mut kept = vec![false; uses.len()];
    for &symbol in by_size {
        let body = grammar.bodies.get(symbol);
        let count = uses[symbol as usize];
        // Each use saves the symbols of the body but one. For a long word one or two uses would be enough then, but do not pay for
        // its bytes.
        let saved = u64::from(count) * body.len().saturating_sub(1) as u64;
        kept[symbol as usize] = body.is_empty() || (count > min_saved / 2 && saved >= min_saved.into());
        let times = if kept[symbol as usize] { 1.min(count) } else { count };
        for &part in body {
            uses[part as usize] += times;
        }
    }
    // Now every symbol after its parts. A symbol is spelled out if its body is longer than an entry can hold, or if its rules nest
    // deeper than a reader follows them.
    let mut lengths = vec![1u32; kept.len()];
    let mut depths = vec![0u8; kept.len()];
    for &symbol in by_size.iter().rev() {
        let body = grammar.bodies.get(symbol);
        if body.is_empty() {
            continue;
        }
        let (mut length, mut depth) = (0u32, 0);
        for &part in body {
            length = length.saturating_add(if kept[part as usize] { 1 } else { lengths[part as usize] });
            depth = depth.max(depths[part as usize]);
        }
        let symbol = symbol as usize;
        kept[symbol] &= length <= MAX_BODY && usize::from(depth) + 1 < MAX_DEPTH;
        lengths[symbol] = length;
        depths[symbol] = depth + u8::from(kept[symbol]);
    }
    kept
}

/// Spells out the symbols that are not kept, in suffixes and bodies.
fn spell_out(grammar: &Grammar, kept: &[bool]) -> (Bodies, Vec<u32>) {
    let mut stack = Vec::new();
    let mut spell = |symbol: u32, out: &mut Vec<u32>| {
        // `END` is not a symbol, and stays.
        let stays = |symbol: u32| kept.get(symbol as usize).is_none_or(|&kept| kept);
        if stays(symbol) {
            return out.push(symbol);
        }
        stack.push(symbol);
        while let Some(symbol) = stack.pop() {
            if stays(symbol) {
                out.push(symbol);
            } else {
                stack.extend(grammar.bodies.get(symbol).iter().rev());
            }
        }
    };
    let mut suffixes = Vec::with_capacity(grammar.suffixes.len());
    for &symbol in &grammar.suffixes {
        spell(symbol, &mut suffixes);
    }
    let mut bodies = Bodies::default();
    let mut body = Vec::new();
    for symbol in 0..grammar.bodies.len() as u32 {
        body.clear();
        if kept[symbol as usize] {
            for &part in grammar.bodies.get(symbol) {
                spell(part, &mut body);
            }
        }
        bodies.push(&body);
    }
    (bodies, suffixes)
}

/// The symbols that become leaves, and their bytes.
struct Leaves {
    pool: Vec<u8>,
    /// For each symbol its offset in the pool, or [`END`].
    starts: Vec<u32>,
    /// For each symbol, true if the file needs it.
    used: Vec<bool>,
}

/// Chooses the leaves and lays them into one pool, so that the parts of a leaf lie inside it.
///
/// A symbol is a leaf if it is short, or if it is visited often enough for its bytes: a rule saves
/// space and costs a step for each of its symbols.
fn lay_pool(grammar: &Grammar, bodies: &Bodies, by_size: &[u32], counts: &[u32]) -> Leaves {
    let mut used: Vec<bool> = counts.iter().map(|&count| count > 0).collect();
    // How often a reader visits each symbol if it reads every suffix once.
    let mut visits = counts.to_vec();
    let mut inside = vec![false; counts.len()];
    let mut outermost = Vec::new();
    let mut stack = Vec::new();
    for &symbol in by_size {
        let (i, body) = (symbol as usize, bodies.get(symbol));
        // All users of a symbol come before it in `by_size`, so both flags are final here.
        if !used[i] || inside[i] {
            continue;
        }
        let size = grammar.sizes[i];
        let steps = body.len() as u64 * u64::from(visits[i]);
        if size > SHORT_LEAF && (size > MAX_LEAF || steps < u64::from(size)) {
            for &part in body {
                used[part as usize] = true;
                visits[part as usize] += visits[i];
            }
            continue;
        }
        outermost.push(symbol);
        stack.push(symbol);
        while let Some(symbol) = stack.pop() {
            for &part in bodies.get(symbol) {
                if !inside[part as usize] {
                    inside[part as usize] = true;
                    stack.push(part);
                }
            }
        }
    }

    // The most visited symbols come first, so that they share cache lines.
    outermost.sort_by_key(|&s| std::cmp::Reverse(visits[s as usize]));
    let mut leaves = Leaves { pool: Vec::new(), starts: vec![END; counts.len()], used };
    for symbol in outermost {
        stack.push(symbol);
        while let Some(symbol) = stack.pop() {
            let start = leaves.starts[symbol as usize];
            if start != END {
                let start = start as usize;
                // A leaf is one range of the pool, so a part that is in an earlier leaf is copied.
                leaves.pool.extend_from_within(start..start + grammar.sizes[symbol as usize] as usize);
                continue;
            }
            leaves.starts[symbol as usize] = leaves.pool.len() as u32;
            let body = bodies.get(symbol);
            if body.is_empty() {
                leaves.pool.push(symbol as u8);
            }
            stack.extend(body.iter().rev());
        }
    }
    leaves
}

/// Writes the table: header, tokens, bodies, index, pool, blocks.
fn write(keeps: &[u32], tokens: &Tokens) -> Vec<u8> {
    let (blocks, offsets) = write_blocks(keeps, &tokens.suffixes, &tokens.codes);
    let symbol_bits = width_of((tokens.entries.len() as u64).saturating_sub(1));
    let index_bits = width_of(offsets.last().copied().unwrap_or(0).into());

    let mut out = Vec::with_capacity(blocks.len() * 2);
    let counts = [keeps.len(), tokens.entries.len(), tokens.bodies.len(), tokens.pool.len(), blocks.len()];
    for count in counts {
        out.extend_from_slice(&narrow(count).to_le_bytes());
    }
    out.push(BLOCK.ilog2() as u8);
    out.extend([symbol_bits as u8, index_bits as u8]);
    out.extend(tokens.items);
    out.push(0);
    debug_assert_eq!(out.len(), HEADER_LEN);
    for entry in &tokens.entries {
        // A rule has at least 2 tokens and a leaf at least 1 byte: so 7 bits hold [`MAX_BODY`] and [`MAX_LEAF`].
        let length = entry.length - if entry.rule { 2 } else { 1 };
        debug_assert!(length < 128 && entry.start < 1 << 24);
        out.extend_from_slice(&(entry.start | length << 24 | u32::from(entry.rule) << 31).to_le_bytes());
    }
    let mut bits = BitWriter::new(&mut out);
    tokens.bodies.iter().for_each(|&token| bits.put(token.into(), symbol_bits));
    bits.finish();
    let mut bits = BitWriter::new(&mut out);
    offsets.iter().for_each(|&offset| bits.put(offset.into(), index_bits));
    bits.finish();
    out.extend_from_slice(&tokens.pool);
    out.extend_from_slice(&blocks);
    out.resize(out.len() + NAMES_TAIL, 0);
    // The offsets of the header and of the index have 32 bits.
    narrow(out.len());
    out
}
