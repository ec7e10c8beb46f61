//! Turns sorted names into the compressed name table that `foldsym_format::names` reads.
//!
//! # The idea
//! Three steps, each named by its module. `lex` front-codes the names and cuts what is left into
//! words. `train` finds a grammar for the words. This module then makes the table small: symbols that do not
//! pay for themselves are spelled out, short symbols become leaves (ranges of one byte pool, the
//! inner ones inside the outer ones), the rest become rules; the suffixes are written in a prefix
//! code by frequency, and tokens are numbered in the order of their codes, so that no table has to
//! map one to the other.
//!
//! # What it costs
//! All steps are linear in the names except for sorting tokens by size and count. Nothing depends on
//! hash seeds, threads or addresses: the same names give the same bytes.
//!
//! The layout is `schema/names.md`.

mod code;
mod lex;
mod train;

use foldsym_format::names::{HEADER_LEN, MAX_BLOCK, MAX_CODE, MAX_NAME, TAIL_LEN};
use lex::END;
use train::{Bodies, Grammar, MIN_USES};

/// Names in a block: larger saves heads, smaller saves steps.
const BLOCK: usize = 16;
/// Tokens of at most this many bytes are leaves: the reader copies 16 bytes at a time.
const MAX_LEAF: u32 = 16;

/// Encodes `names`, which must be sorted by bytes and distinct, as a name table.
///
/// Name `i` gets id `i`. Names longer than [`MAX_NAME`] are cut there.
///
/// # Panics
/// With more than 2^32 - 1 names, or a table of 4 GiB or more.
#[must_use]
pub fn encode(names: &[&[u8]]) -> Vec<u8> {
    debug_assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "names are sorted and distinct");
    let names: Vec<&[u8]> = names.iter().map(|name| &name[..name.len().min(MAX_NAME)]).collect();
    let lexed = lex::lex(&names, BLOCK);
    let grammar = train::train(&lexed);
    let tokens = Tokens::choose(&grammar, &lexed.words);
    write(&lexed.keeps, &tokens)
}

/// The final tokens: numbered as in the file.
struct Tokens {
    /// For each token where it starts (in the pool or the bodies) and how long it is.
    entries: Vec<Entry>,
    /// Bodies of the rules, as tokens.
    bodies: Vec<u32>,
    pool: Vec<u8>,
    /// Length of each token's code, rising; tokens without one (used by rules only) are last.
    code_lengths: Vec<u8>,
    /// The suffixes as tokens, each ended by [`END`].
    suffixes: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Entry {
    rule: bool,
    start: u32,
    length: u32,
}

/// The longest rule body; longer ones would widen every entry of the token table.
const MAX_BODY: usize = MAX_LEAF as usize + 1;

impl Tokens {
    fn choose(grammar: &Grammar, _words: &[&[u8]]) -> Tokens {
        let symbols = grammar.bodies.len();
        // Parents before children: what a symbol stands for is longer than any part of it.
        let by_size = falling_sizes(&grammar.sizes);
        let kept = keep_useful(grammar, &by_size);
        let (bodies, suffixes, kept) = spell_out(grammar, &by_size, kept);

        let mut counts = vec![0u32; symbols];
        for &symbol in suffixes.iter().filter(|&&s| s != END) {
            counts[symbol as usize] += 1;
        }
        let (pool, pool_starts, used) = lay_pool(grammar, &bodies, &by_size, &kept, &counts);
        let lengths = code::code_lengths(&counts);

        // Tokens in the order of their codes, then those without one, by size.
        let mut order: Vec<u32> = by_size.iter().copied().filter(|&s| used[s as usize]).collect();
        order.sort_by_key(|&s| match lengths[s as usize] {
            0 => u8::MAX,
            length => length,
        });
        let mut token_of = vec![END; symbols];
        for (token, &symbol) in order.iter().enumerate() {
            token_of[symbol as usize] = token as u32;
        }
        let mut out = Tokens {
            entries: Vec::with_capacity(order.len()),
            bodies: Vec::new(),
            pool,
            code_lengths: order.iter().map(|&s| lengths[s as usize]).collect(),
            suffixes,
        };
        for &symbol in &order {
            let size = grammar.sizes[symbol as usize];
            if size <= MAX_LEAF {
                out.entries.push(Entry { rule: false, start: pool_starts[symbol as usize], length: size });
            } else {
                let body = bodies.get(symbol);
                let start = out.bodies.len() as u32;
                out.entries.push(Entry { rule: true, start, length: body.len() as u32 });
                out.bodies.extend(body.iter().map(|&s| token_of[s as usize]));
            }
        }
        for symbol in out.suffixes.iter_mut().filter(|s| **s != END) {
            *symbol = token_of[*symbol as usize];
        }
        out
    }
}

/// Symbols by falling size, then rising number: counting sort.
fn falling_sizes(sizes: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
    order.sort_by_key(|&s| std::cmp::Reverse(sizes[s as usize]));
    order
}

/// Which symbols are used often enough, once those that are not are spelled out in their users.
fn keep_useful(grammar: &Grammar, by_size: &[u32]) -> Vec<bool> {
    let mut uses = vec![0u32; grammar.bodies.len()];
    for &symbol in grammar.suffixes.iter().filter(|&&s| s != END) {
        uses[symbol as usize] += 1;
    }
    let mut kept = vec![false; uses.len()];
    for &symbol in by_size {
        let body = grammar.bodies.get(symbol);
        let count = uses[symbol as usize];
        kept[symbol as usize] = body.is_empty() || (count >= MIN_USES && body.len() > 1);
        let times = if kept[symbol as usize] { 1.min(count) } else { count };
        for &part in body {
            uses[part as usize] += times;
        }
    }
    kept
}

/// Spells out the symbols that are not kept, in suffixes and bodies.
fn spell_out(grammar: &Grammar, by_size: &[u32], kept: Vec<bool>) -> (Bodies, Vec<u32>, Vec<bool>) {
    let mut stack = Vec::new();
    let mut spell = |symbol: u32, out: &mut Vec<u32>| {
        stack.push(symbol);
        while let Some(symbol) = stack.pop() {
            if symbol == END || kept[symbol as usize] {
                out.push(symbol);
            } else {
                stack.extend(grammar.bodies.get(symbol).iter().rev());
            }
        }
    };
    let _ = by_size;
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
    (bodies, suffixes, kept)
}

/// Lays the leaves into one pool, largest first, so that the parts of a leaf lie inside it.
/// Gives the pool, where each leaf starts, and which symbols the file needs at all.
fn lay_pool(
    grammar: &Grammar,
    bodies: &Bodies,
    by_size: &[u32],
    kept: &[bool],
    counts: &[u32],
) -> (Vec<u8>, Vec<u32>, Vec<bool>) {
    let mut pool = Vec::new();
    let mut starts = vec![END; kept.len()];
    // A leaf's parts need no token of their own unless a suffix or a rule names them.
    let mut used: Vec<bool> = counts.iter().map(|&count| count > 0).collect();
    let mut stack = Vec::new();
    for &symbol in by_size {
        if !used[symbol as usize] {
            continue;
        }
        if grammar.sizes[symbol as usize] > MAX_LEAF {
            for &part in bodies.get(symbol) {
                used[part as usize] = true;
            }
            continue;
        }
        if starts[symbol as usize] != END {
            continue;
        }
        let mut at = pool.len() as u32;
        stack.push(symbol);
        while let Some(symbol) = stack.pop() {
            // Parts already placed keep their place; their bytes are still needed here.
            if starts[symbol as usize] == END {
                starts[symbol as usize] = at;
            }
            let body = bodies.get(symbol);
            if body.is_empty() {
                pool.push(symbol as u8);
                at += 1;
            } else {
                stack.extend(body.iter().rev());
            }
        }
    }
    (pool, starts, used)
}

/// Writes bits, most significant first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// Appends the low `width` bits of `value`; `width` <= 56.
    fn put(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 56 && value >> width == 0);
        self.pending = self.pending << width | value;
        self.count += width;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.pending >> self.count) as u8);
        }
    }

    /// Fills the last byte with zeros.
    fn align(&mut self) {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
    }
}

/// Bits that `value` needs.
fn width(value: u64) -> u32 {
    64 - value.leading_zeros()
}

fn narrow(size: usize) -> u32 {
    u32::try_from(size).expect("a name table is smaller than 4 GiB")
}

/// Writes the table: header, tokens, bodies, index, pool, blocks.
fn write(keeps: &[u32], tokens: &Tokens) -> Vec<u8> {
    let (blocks, offsets) = write_blocks(keeps, tokens);
    let symbol_bits = width((tokens.entries.len() as u64).saturating_sub(1));
    let start_bits = width(tokens.entries.iter().map(|e| e.start).max().unwrap_or(0).into());
    let stored_length = |entry: &Entry| u64::from(entry.length) - if entry.rule { 2 } else { 1 };
    let length_bits = width(tokens.entries.iter().map(stored_length).max().unwrap_or(0));
    let index_bits = width(offsets.last().copied().unwrap_or(0).into());
    let code_bits = tokens.code_lengths.iter().copied().max().unwrap_or(0);

    let mut out = Vec::with_capacity(blocks.len() * 2);
    let counts = [keeps.len(), tokens.entries.len(), tokens.bodies.len(), tokens.pool.len(), blocks.len()];
    for count in counts {
        out.extend_from_slice(&narrow(count).to_le_bytes());
    }
    out.push(BLOCK.ilog2() as u8);
    out.extend([symbol_bits, start_bits, length_bits, index_bits].map(|w| w as u8));
    out.extend([code_bits, 0, 0]);
    debug_assert_eq!(out.len(), HEADER_LEN);
    for length in 1..=code_bits {
        let count = tokens.code_lengths.iter().filter(|&&l| l == length).count();
        out.extend_from_slice(&narrow(count).to_le_bytes());
    }
    let mut bits = BitWriter { bytes: out, ..BitWriter::default() };
    for entry in &tokens.entries {
        bits.put(entry.rule.into(), 1);
        bits.put(entry.start.into(), start_bits);
        bits.put(stored_length(entry), length_bits);
    }
    bits.align();
    for &token in &tokens.bodies {
        bits.put(token.into(), symbol_bits);
    }
    bits.align();
    for &offset in &offsets {
        bits.put(offset.into(), index_bits);
    }
    bits.align();
    let mut out = bits.bytes;
    out.extend_from_slice(&tokens.pool);
    out.extend_from_slice(&blocks);
    out.resize(out.len() + TAIL_LEN, 0);
    narrow(out.len());
    out
}

/// The blocks, and where each starts.
fn write_blocks(keeps: &[u32], tokens: &Tokens) -> (Vec<u8>, Vec<u32>) {
    let codes = canonical(&tokens.code_lengths);
    let mut bits = BitWriter::default();
    let mut offsets = Vec::new();
    let mut suffixes = tokens.suffixes.as_slice();
    for keeps in keeps.chunks(BLOCK) {
        offsets.push(narrow(bits.bytes.len()));
        let mut sizes = [0u64; MAX_BLOCK];
        let start = suffixes;
        for size in &mut sizes[..keeps.len()] {
            let end = suffixes.iter().position(|&t| t == END).expect("a suffix a name");
            *size = suffixes[..end].iter().map(|&t| u64::from(tokens.code_lengths[t as usize])).sum();
            suffixes = &suffixes[end + 1..];
        }
        // The head keeps nothing: its place holds what all others keep at least.
        let least = keeps[1..].iter().copied().min().unwrap_or(0);
        let spread = keeps[1..].iter().map(|keep| keep - least).max().unwrap_or(0);
        let keep_bits = width(least.max(spread).into());
        let size_bits = width(sizes.into_iter().max().unwrap_or(0));
        bits.put(u64::from(keep_bits), 8);
        bits.put(u64::from(size_bits), 8);
        for (i, (&keep, &size)) in keeps.iter().zip(&sizes).enumerate() {
            bits.put(if i == 0 { least } else { keep - least }.into(), keep_bits);
            bits.put(size, size_bits);
        }
        let used = start.len() - suffixes.len();
        for &token in start[..used].iter().filter(|&&t| t != END) {
            bits.put(codes[token as usize].into(), tokens.code_lengths[token as usize].into());
        }
        bits.align();
    }
    (bits.bytes, offsets)
}

/// The canonical code for rising lengths; tokens of length 0 come last and have none.
fn canonical(lengths: &[u8]) -> Vec<u32> {
    let (mut code, mut before) = (0u32, 0u8);
    lengths
        .iter()
        .take_while(|&&length| length > 0)
        .map(|&length| {
            code <<= length - before;
            before = length;
            debug_assert!(usize::from(length) <= MAX_CODE);
            code += 1;
            code - 1
        })
        .collect()
}
