//! Turns sorted names into the compressed name table that `foldsym_format::names` reads.
//!
//! # The idea
//! Three steps. `lex` front-codes the names and cuts what is left into words. `train` finds a grammar
//! for them. This module makes the table small and quick to read: symbols that do not pay for their
//! place are spelled out, short or often visited ones become leaves (ranges of one byte pool, the
//! inner ones inside the outer ones), the rest become rules; the suffixes are written in a prefix code
//! by frequency, and tokens are numbered in the order of their codes, so that no table has to map one
//! to the other and the frequent ones lie together.
//!
//! # Data
//! A *symbol* is what `train` numbers: a byte, a word or a pair. A *token* is a symbol that the file has,
//! numbered as in the file. Lists of symbols by falling size have every symbol before its parts, so
//! that one walk over such a list settles what a symbol's users decide about it.
//!
//! # Why it ends, and why it is the same each time
//! Every step is one pass over the symbols or the suffixes, or a sort. If the format has no room for the
//! tokens (more than 2^20 codes), the bar for a symbol doubles until it has; bytes alone always fit. Nothing depends
//! on hash seeds, threads or addresses: the same names give the same bytes.
//!
//! The layout is `schema/names.md`.

mod code;
mod lex;
mod train;

use foldsym_format::bits::TAIL;
use foldsym_format::names::{HEADER_LEN, MAX_BLOCK, MAX_CODE, MAX_NAME};
use lex::END;
use train::{Bodies, Grammar, MIN_USES};

/// Names in a block: larger saves heads, smaller saves steps.
const BLOCK: usize = 16;
/// A symbol of at most this many bytes is always a leaf: its rule would be no smaller.
const SHORT_LEAF: u32 = 8;
/// The longest leaf, the longest rule and the largest start that an entry of the token table can say.
const MAX_LEAF: u32 = 128;
const MAX_BODY: u32 = 129;
const MAX_START: usize = (1 << 24) - 1;

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
    let tokens = (0..)
        .find_map(|doublings| Tokens::choose(&grammar, MIN_USES << doublings))
        .expect("with bytes alone it fits");
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

impl Tokens {
    /// Picks the symbols with at least `min_uses` uses; `None` if the format has no room for them all.
    fn choose(grammar: &Grammar, min_uses: u32) -> Option<Tokens> {
        let symbols = grammar.bodies.len();
        // Parents before parts: a symbol is longer than its parts, or is a word spelled by one pair,
        // whose number is higher.
        let by_size = falling_sizes(&grammar.sizes);
        let kept = keep_useful(grammar, &by_size, min_uses);
        let (bodies, suffixes) = spell_out(grammar, &kept);

        let mut counts = vec![0u32; symbols];
        for &symbol in suffixes.iter().filter(|&&s| s != END) {
            counts[symbol as usize] += 1;
        }
        let Leaves { pool, starts, used } = lay_pool(grammar, &bodies, &by_size, &counts);
        if counts.iter().filter(|&&count| count > 0).count() > 1 << MAX_CODE || pool.len() > MAX_START {
            return None;
        }
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
            let start = starts[symbol as usize];
            if start != END {
                out.entries.push(Entry { rule: false, start, length: grammar.sizes[symbol as usize] });
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
        (out.bodies.len() <= MAX_START && out.entries.len() <= MAX_START).then_some(out)
    }
}

/// Symbols by falling size, then rising number.
fn falling_sizes(sizes: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
    order.sort_by_key(|&s| std::cmp::Reverse(sizes[s as usize]));
    order
}

/// Which symbols are used often enough, once those that are not are spelled out in their users.
fn keep_useful(grammar: &Grammar, by_size: &[u32], min_uses: u32) -> Vec<bool> {
    let mut uses = vec![0u32; grammar.bodies.len()];
    for &symbol in grammar.suffixes.iter().filter(|&&s| s != END) {
        uses[symbol as usize] += 1;
    }
    let mut kept = vec![false; uses.len()];
    for &symbol in by_size {
        let body = grammar.bodies.get(symbol);
        let count = uses[symbol as usize];
        kept[symbol as usize] = body.is_empty() || (count >= min_uses && body.len() > 1);
        let times = if kept[symbol as usize] { 1.min(count) } else { count };
        for &part in body {
            uses[part as usize] += times;
        }
    }
    // Nor may a body grow longer than an entry can say: parts first.
    let mut lengths = vec![1u32; kept.len()];
    for &symbol in by_size.iter().rev() {
        let body = grammar.bodies.get(symbol);
        let spelled = |kept: &[bool]| -> u32 {
            body.iter().map(|&part| if kept[part as usize] { 1 } else { lengths[part as usize] }).sum()
        };
        let mut length = spelled(&kept);
        if length > MAX_BODY {
            body.iter().for_each(|&part| kept[part as usize] |= grammar.bodies.get(part).len() > 1);
            length = spelled(&kept);
        }
        lengths[symbol as usize] = length;
    }
    kept
}

/// Spells out the symbols that are not kept, in suffixes and bodies.
fn spell_out(grammar: &Grammar, kept: &[bool]) -> (Bodies, Vec<u32>) {
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

/// Which symbols become leaves, and what they cost.
struct Leaves {
    pool: Vec<u8>,
    /// For each symbol its place in the pool, [`END`] for none.
    starts: Vec<u32>,
    /// Which symbols the file needs at all.
    used: Vec<bool>,
}

/// Chooses the leaves and lays them into one pool, so that the parts of a leaf lie inside it.
///
/// A symbol is a leaf if it is short, or if it is visited often enough for its bytes: a rule saves
/// space and costs a step for each of its symbols.
fn lay_pool(grammar: &Grammar, bodies: &Bodies, by_size: &[u32], counts: &[u32]) -> Leaves {
    let mut used: Vec<bool> = counts.iter().map(|&count| count > 0).collect();
    // How often each symbol is come upon when every suffix is read once.
    let mut visits = counts.to_vec();
    let mut inside = vec![false; counts.len()];
    let mut outermost = Vec::new();
    let mut stack = Vec::new();
    for &symbol in by_size {
        let (i, body) = (symbol as usize, bodies.get(symbol));
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

    // The most visited first, so that they share cache lines.
    outermost.sort_by_key(|&s| std::cmp::Reverse(visits[s as usize]));
    let mut leaves = Leaves { pool: Vec::new(), starts: vec![END; counts.len()], used };
    for symbol in outermost {
        stack.push(symbol);
        while let Some(symbol) = stack.pop() {
            let start = &mut leaves.starts[symbol as usize];
            if *start == END {
                *start = leaves.pool.len() as u32;
            }
            let body = bodies.get(symbol);
            if body.is_empty() {
                leaves.pool.push(symbol as u8);
            }
            stack.extend(body.iter().rev());
        }
    }
    leaves
}

/// Writes fields from the least significant bit of each byte on, and codes from the most significant.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// Appends a field of `width` <= 56 bits, as `foldsym_format::bits::read` reads it.
    fn field(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 56 && value >> width == 0);
        self.pending |= value << self.count;
        self.count += width;
        while self.count >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    /// Fills the last byte of fields with zeros.
    fn end_fields(&mut self) {
        if self.count > 0 {
            self.field(0, 8 - self.count);
        }
    }

    /// Appends a code of `width` <= 56 bits. Fields and codes do not share a byte.
    fn code(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 56 && value >> width == 0);
        self.pending = self.pending << width | value;
        self.count += width;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.pending >> self.count) as u8);
        }
        self.pending &= (1 << self.count) - 1;
    }

    /// Fills the last byte of codes with zeros.
    fn end_codes(&mut self) {
        if self.count > 0 {
            self.code(0, 8 - self.count);
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
    let index_bits = width(offsets.last().copied().unwrap_or(0).into());
    let code_bits = tokens.code_lengths.iter().copied().max().unwrap_or(0);

    let mut out = Vec::with_capacity(blocks.len() * 2);
    let counts = [keeps.len(), tokens.entries.len(), tokens.bodies.len(), tokens.pool.len(), blocks.len()];
    for count in counts {
        out.extend_from_slice(&narrow(count).to_le_bytes());
    }
    out.push(BLOCK.ilog2() as u8);
    out.extend([symbol_bits as u8, index_bits as u8, code_bits]);
    debug_assert_eq!(out.len(), HEADER_LEN);
    for length in 1..=code_bits {
        let count = tokens.code_lengths.iter().filter(|&&l| l == length).count();
        out.extend_from_slice(&narrow(count).to_le_bytes());
    }
    for entry in &tokens.entries {
        let length = entry.length - if entry.rule { 2 } else { 1 };
        debug_assert!(length < 128 && entry.start < 1 << 24);
        out.extend_from_slice(&(u32::from(entry.rule) | length << 1 | entry.start << 8).to_le_bytes());
    }
    let mut bits = BitWriter { bytes: out, ..BitWriter::default() };
    for &token in &tokens.bodies {
        bits.field(token.into(), symbol_bits);
    }
    bits.end_fields();
    for &offset in &offsets {
        bits.field(offset.into(), index_bits);
    }
    bits.end_fields();
    let mut out = bits.bytes;
    out.extend_from_slice(&tokens.pool);
    out.extend_from_slice(&blocks);
    out.resize(out.len() + TAIL, 0);
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
        let rows = Rows::plan(keeps, &sizes[..keeps.len()]);
        rows.write(keeps, &sizes, &mut bits);
        bits.end_fields();
        let used = start.len() - suffixes.len();
        for &token in start[..used].iter().filter(|&&t| t != END) {
            bits.code(codes[token as usize].into(), tokens.code_lengths[token as usize].into());
        }
        bits.end_codes();
    }
    (bits.bytes, offsets)
}

/// The widths of the rows that lead a block.
struct Rows {
    /// What every name but the first keeps at least.
    least: u32,
    keep_bits: u32,
    size_bits: u32,
    /// How much wider the fields of the first row are.
    more_least: u32,
    more_size: u32,
}

impl Rows {
    /// The most that the first row's fields can be wider: 3 bits each.
    const MOST_MORE: u32 = 7;

    fn plan(keeps: &[u32], sizes: &[u64]) -> Rows {
        let least = keeps[1..].iter().copied().min().unwrap_or(0);
        let spread = keeps[1..].iter().map(|keep| keep - least).max().unwrap_or(0);
        let longest = sizes[1..].iter().copied().max().unwrap_or(0);
        let (least_bits, first_bits) = (width(least.into()), width(sizes[0]));
        let keep_bits = width(spread.into()).max(least_bits.saturating_sub(Self::MOST_MORE));
        let size_bits = width(longest).max(first_bits.saturating_sub(Self::MOST_MORE));
        Rows {
            least,
            keep_bits,
            size_bits,
            more_least: least_bits.saturating_sub(keep_bits),
            more_size: first_bits.saturating_sub(size_bits),
        }
    }

    fn write(&self, keeps: &[u32], sizes: &[u64], bits: &mut BitWriter) {
        bits.field(self.keep_bits.into(), 5);
        bits.field(self.more_least.into(), 3);
        bits.field(self.size_bits.into(), 5);
        bits.field(self.more_size.into(), 3);
        bits.field(self.least.into(), self.keep_bits + self.more_least);
        bits.field(sizes[0], self.size_bits + self.more_size);
        for (&keep, &size) in keeps.iter().zip(sizes).skip(1) {
            bits.field((keep - self.least).into(), self.keep_bits);
            bits.field(size, self.size_bits);
        }
    }
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
