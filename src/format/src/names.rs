//! Reads the name table: a sorted list of byte strings, compressed, with random access.
//!
//! # The idea
//! Names of one program repeat each other twice over. Neighbours of the sorted list begin alike, so
//! a name stores how much of its predecessor it keeps (front coding), starting afresh every
//! [`Names::block_len`] names. What is left, the *suffix*, repeats pieces of suffixes elsewhere
//! (`N7rocksdb25BlockBasedTable...`), so it is spelled in *tokens*. A token is a *leaf*, a range of
//! the byte pool (ranges may overlap: a token inside another costs no bytes), or a *rule*, two or
//! more tokens in a row. Suffixes write tokens in a canonical prefix code, so that common ones are
//! short; rules write them at a fixed width, so that any symbol of a rule is found at once.
//!
//! # Data
//! Header, token table, rule bodies, block index, byte pool, blocks: all in one blob, bit-packed,
//! defined in `schema/names.md`. A block is a row of `(shared prefix, bits of the suffix)` pairs,
//! then the suffixes. The pairs alone say which earlier names of the block still contribute bytes to
//! the wanted one, and how many, so the other suffixes are never touched.
//!
//! # Why it ends
//! A block has at most 32 names. Each code takes at least one bit of its suffix. A leaf has at least
//! one byte and a rule at least two symbols, so a walk that has emitted `n` bytes has visited fewer
//! than `n` rules beyond the at most [`MAX_DEPTH`] it is inside of; a name ends at [`MAX_NAME`]
//! bytes. A rule that contains itself runs into `MAX_DEPTH`. Hence a damaged table costs at most
//! about twice `MAX_NAME` steps for a name and then answers `None` or a wrong name.
//!
//! Nothing is allocated, nothing is built on opening beyond a table of 20 code lengths.

/// The longest name, in bytes. The writer cuts longer ones.
pub const MAX_NAME: usize = 65_535;
/// The deepest nesting of rules.
pub const MAX_DEPTH: usize = 24;
/// The longest code of a token, in bits.
pub const MAX_CODE: usize = 20;
/// The most names in a block.
pub const MAX_BLOCK: usize = 32;
/// Bytes before the code lengths.
pub const HEADER_LEN: usize = 28;
/// Zero bytes at the end, so that wide reads of real data stay inside the blob.
pub const TAIL_LEN: usize = 16;

/// Why a blob is not a name table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamesError {
    /// The blob ends before the parts its header announces: bytes needed, bytes there.
    Truncated { needed: u64, have: u64 },
    /// A header field has a value outside its documented range: byte offset of the field.
    Field { at: u32 },
    /// The code lengths announce more codes than fit, or more than there are tokens.
    Codes,
}

impl core::fmt::Display for NamesError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            NamesError::Truncated { needed, have } => write!(f, "name table of {have} bytes needs {needed}"),
            NamesError::Field { at } => write!(f, "name table: header field at {at} is out of range"),
            NamesError::Codes => write!(f, "name table: code lengths do not form a code"),
        }
    }
}

impl core::error::Error for NamesError {}

/// One length of the prefix code, ready for decoding.
#[derive(Clone, Copy)]
struct CodeTable {
    /// For each length, the first left-justified value of `bits` bits that is beyond its codes.
    limit: [u32; MAX_CODE],
    /// For each length, what to add to the code (wrapping) to get the token.
    base: [u32; MAX_CODE],
    /// The longest code.
    bits: u32,
}

/// A name table, borrowed from the file.
#[derive(Clone, Copy)]
pub struct Names<'d> {
    tokens: &'d [u8],
    bodies: &'d [u8],
    index: &'d [u8],
    /// The byte pool and all that follows it: leaves are copied 16 bytes at a time.
    pool: &'d [u8],
    blocks: &'d [u8],
    codes: CodeTable,
    len: u32,
    token_count: u32,
    block_log2: u32,
    symbol_bits: u32,
    start_bits: u32,
    length_bits: u32,
    index_bits: u32,
}

/// The part of one block that a name needs.
struct Row {
    /// Bit positions of the suffixes in the blocks, up to one past the wanted name's.
    start: [u64; MAX_BLOCK + 1],
    /// Bytes each name keeps of the one before.
    keep: [u32; MAX_BLOCK],
    /// Position of the wanted name in the block.
    at: usize,
}

/// What walking a name found.
enum Walk {
    /// All of it was visited.
    Whole,
    /// The visitor had enough.
    Stopped,
}

/// `width` bits at bit position `at`, most significant first; `None` past the end. `width` <= 56.
#[inline(always)]
fn bits(data: &[u8], at: u64, width: u32) -> Option<u64> {
    let from = usize::try_from(at >> 3).ok()?;
    let window: &[u8; 8] = data.get(from..)?.first_chunk()?;
    let word = u64::from_be_bytes(*window) << (at & 7);
    // Two shifts, so that a width of 0 gives 0.
    Some((word >> 1) >> (63 - width))
}

impl<'d> Names<'d> {
    /// Opens a name table and checks its header: sizes, widths and code lengths. Constant time.
    ///
    /// # Errors
    /// [`NamesError`] says which check failed. What lies behind the header is checked when read.
    pub fn open(blob: &'d [u8]) -> Result<Self, NamesError> {
        let have = blob.len() as u64;
        let head: &[u8; HEADER_LEN] =
            blob.first_chunk().ok_or(NamesError::Truncated { needed: HEADER_LEN as u64, have })?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let small = |at: usize, max: u8| -> Result<u32, NamesError> {
            if head[at] <= max { Ok(head[at].into()) } else { Err(NamesError::Field { at: at as u32 }) }
        };
        let (len, token_count, symbols, pool_len, blocks_len) =
            (word(0), word(4), word(8), word(12), word(16));
        let block_log2 = small(20, MAX_BLOCK.ilog2() as u8)?;
        let symbol_bits = small(21, 24)?;
        let start_bits = small(22, 32)?;
        let length_bits = small(23, 16)?;
        let index_bits = small(24, 32)?;
        let code_bits = small(25, MAX_CODE as u8)?;

        // Sizes in 64 bits cannot overflow: counts are 32 bits and widths at most 49.
        let packed = |n: u32, width: u32| (u64::from(n) * u64::from(width)).div_ceil(8);
        let block_count = len.div_ceil(1 << block_log2);
        let mut end = HEADER_LEN as u64;
        let mut part = |size: u64| -> Result<(usize, usize), NamesError> {
            let from = end;
            end += size;
            if end > have {
                return Err(NamesError::Truncated { needed: end, have });
            }
            Ok((from as usize, end as usize))
        };
        let counts = part(u64::from(code_bits) * 4)?;
        let tokens = part(packed(token_count, 1 + start_bits + length_bits))?;
        let bodies = part(packed(symbols, symbol_bits))?;
        let index = part(packed(block_count, index_bits))?;
        let pool = part(pool_len.into())?;
        let blocks = part(blocks_len.into())?;
        part(TAIL_LEN as u64)?;
        // Every part may be read up to the end of the blob: wide reads need no second path.
        let from = |(start, _): (usize, usize)| blob.get(start..).unwrap_or(&[]);
        Ok(Names {
            codes: CodeTable::new(blob.get(counts.0..counts.1).unwrap_or(&[]), code_bits, token_count)?,
            tokens: from(tokens),
            bodies: from(bodies),
            index: from(index),
            pool: from(pool),
            blocks: from(blocks),
            len,
            token_count,
            block_log2,
            symbol_bits,
            start_bits,
            length_bits,
            index_bits,
        })
    }

    /// The number of names; ids are `0..len`.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Names in a block: the most suffixes that one name can be made of.
    #[must_use]
    pub fn block_len(&self) -> u32 {
        1 << self.block_log2
    }

    /// Calls `visit` with the bytes of name `id`, piece by piece in order.
    ///
    /// `None`: there is no such name, or the table is damaged there (some pieces may have been
    /// visited). Pieces are borrowed from the file.
    pub fn visit(&self, id: u32, mut visit: impl FnMut(&'d [u8])) -> Option<()> {
        self.walk(id, |from, len| {
            visit(self.pool.get(from..)?.get(..len)?);
            Some(true)
        })?;
        Some(())
    }

    /// Writes name `id` to `out` and returns its whole length, which may be more than fits.
    ///
    /// Only the first `out.len()` bytes are written. `None`: there is no such name, or the table is
    /// damaged there; then `out` holds anything.
    #[inline]
    pub fn write(&self, id: u32, out: &mut [u8]) -> Option<usize> {
        let mut at = 0;
        self.walk(id, |from, len| {
            let source = self.pool.get(from..)?;
            match (source.first_chunk::<16>(), out.get_mut(at..).and_then(|o| o.first_chunk_mut::<16>())) {
                // One unconditional 16-byte copy; what is too much is overwritten by the next piece.
                (Some(wide), Some(place)) if len <= 16 => *place = *wide,
                _ => {
                    if let Some(place) = out.get_mut(at..) {
                        let fits = len.min(place.len());
                        place[..fits].copy_from_slice(source.get(..fits)?);
                    }
                }
            }
            at += len;
            Some(true)
        })?;
        Some(at)
    }

    /// Compares name `id` with `other`, as byte strings: `Less` if the name comes first.
    ///
    /// `None` as in [`Names::write`]. Stops at the first difference.
    pub fn compare(&self, id: u32, other: &[u8]) -> Option<core::cmp::Ordering> {
        use core::cmp::Ordering;
        let mut rest = other;
        let mut found = Ordering::Equal;
        let walk = self.walk(id, |from, len| {
            let piece = self.pool.get(from..)?.get(..len)?;
            let shared = len.min(rest.len());
            let (head, tail) = rest.split_at(shared);
            found = piece[..shared].cmp(head);
            if found == Ordering::Equal && len > shared {
                found = Ordering::Greater;
            }
            rest = tail;
            Some(found == Ordering::Equal)
        })?;
        Some(match walk {
            Walk::Stopped => found,
            Walk::Whole if rest.is_empty() => Ordering::Equal,
            Walk::Whole => Ordering::Less,
        })
    }

    /// The first id whose name is not less than `name`; `len` if there is none.
    ///
    /// Costs about `log2(len)` partly decoded names. A name that cannot be decoded counts as less.
    #[must_use]
    pub fn lower_bound(&self, name: &[u8]) -> u32 {
        // First over block heads, which decode fastest, then inside the one block.
        let heads = self.len.div_ceil(self.block_len());
        let less = |id: u32| self.compare(id, name).is_none_or(core::cmp::Ordering::is_lt);
        let head = partition(0, heads, |block| less(block << self.block_log2));
        let end = u64::from(head) << self.block_log2;
        let end = u32::try_from(end).unwrap_or(self.len).min(self.len);
        match head.checked_sub(1) {
            None => 0,
            Some(block) => partition((block << self.block_log2) + 1, end, less),
        }
    }

    /// The id of `name`, or where it would stand.
    ///
    /// # Errors
    /// The id of the first greater name (`len` if none) where `name` is not in the table.
    pub fn find(&self, name: &[u8]) -> Result<u32, u32> {
        let id = self.lower_bound(name);
        if self.compare(id, name) == Some(core::cmp::Ordering::Equal) { Ok(id) } else { Err(id) }
    }

    /// Reads the front of the block of `id`: what each name up to `id` keeps and where its suffix is.
    #[inline]
    fn row(&self, id: u32) -> Option<Row> {
        if id >= self.len {
            return None;
        }
        let block = id >> self.block_log2;
        let first = block << self.block_log2;
        let names = self.block_len().min(self.len - first);
        let offset = bits(self.index, u64::from(block) * u64::from(self.index_bits), self.index_bits)?;
        let mut at = offset * 8;
        let widths = bits(self.blocks, at, 16)?;
        let (keep_bits, size_bits) = ((widths >> 8 & 31) as u32, (widths & 31) as u32);
        let pair_bits = keep_bits + size_bits;
        at += 16;
        let mut row = Row {
            start: [0; MAX_BLOCK + 1],
            keep: [0; MAX_BLOCK],
            at: (id - first) as usize & (MAX_BLOCK - 1),
        };
        let mut start = at + u64::from(names) * u64::from(pair_bits);
        let mut least = 0;
        for i in 0..=row.at {
            let pair = bits(self.blocks, at, pair_bits)?;
            at += u64::from(pair_bits);
            let keep = (pair >> size_bits) as u32;
            // The first name keeps nothing; its place holds what all the others keep at least.
            if i == 0 {
                least = keep;
            } else {
                row.keep[i] = least + keep;
            }
            row.start[i] = start;
            start += pair & ((1 << size_bits) - 1);
        }
        row.start[row.at + 1] = start;
        Some(row)
    }

    /// Walks over the leaves of name `id` in order: `leaf(start in the pool, bytes)`, which says
    /// whether to go on, or `None` for damage.
    #[inline(always)]
    fn walk(&self, id: u32, mut leaf: impl FnMut(usize, usize) -> Option<bool>) -> Option<Walk> {
        let row = self.row(id)?;
        // Backwards: name i contributes its bytes from `keep[i]` up to the least that a later one keeps.
        let mut until = [0u32; MAX_BLOCK];
        let mut least = u32::MAX;
        for i in (0..=row.at).rev() {
            until[i] = least;
            least = least.min(row.keep[i]);
        }
        for i in 0..=row.at {
            if until[i] <= row.keep[i] {
                continue;
            }
            let last = i == row.at;
            let wanted = if last { MAX_NAME as u32 } else { until[i] };
            let mut left = wanted.checked_sub(row.keep[i])? as usize;
            let (mut at, end) = (row.start[i], row.start[i + 1]);
            while at < end && left > 0 {
                let (token, length) = self.codes.decode(self.blocks, at)?;
                at += u64::from(length);
                if !self.expand(token, &mut left, &mut leaf)? {
                    return Some(Walk::Stopped);
                }
            }
            // A suffix must hold the bytes that later names keep of it, and end on a code.
            if (last && at != end) || (!last && left > 0) {
                return None;
            }
        }
        Some(Walk::Whole)
    }

    /// Walks over the leaves of one token, up to `left` bytes; `Some(false)`: stopped by `leaf`.
    #[inline(always)]
    fn expand(
        &self,
        token: u32,
        left: &mut usize,
        leaf: &mut impl FnMut(usize, usize) -> Option<bool>,
    ) -> Option<bool> {
        // Symbols still to do, outermost first: (position in the bodies, count).
        let mut stack = [(0u32, 0u32); MAX_DEPTH];
        let mut depth = 0;
        let mut token = token;
        loop {
            if token >= self.token_count {
                return None;
            }
            let width = 1 + self.start_bits + self.length_bits;
            let entry = bits(self.tokens, u64::from(token) * u64::from(width), width)?;
            let length = (entry & ((1 << self.length_bits) - 1)) as u32;
            let start = (entry >> self.length_bits & ((1 << self.start_bits) - 1)) as u32;
            if entry >> (self.length_bits + self.start_bits) == 0 {
                let size = (length as usize + 1).min(*left);
                *left -= size;
                if !leaf(start as usize, size)? {
                    return Some(false);
                }
                if *left == 0 {
                    return Some(true);
                }
            } else {
                *stack.get_mut(depth)? = (start, length + 2);
                depth += 1;
            }
            // The next symbol of the innermost rule that has one.
            loop {
                let Some(top) = depth.checked_sub(1) else { return Some(true) };
                let (position, count) = stack.get_mut(top)?;
                if *count == 0 {
                    depth = top;
                    continue;
                }
                token =
                    bits(self.bodies, u64::from(*position) * u64::from(self.symbol_bits), self.symbol_bits)?
                        as u32;
                *position = position.wrapping_add(1);
                *count -= 1;
                break;
            }
        }
    }
}

impl CodeTable {
    fn new(counts: &[u8], bits: u32, token_count: u32) -> Result<Self, NamesError> {
        let mut table = CodeTable { limit: [u32::MAX; MAX_CODE], base: [0; MAX_CODE], bits };
        let (mut code, mut token) = (0u32, 0u32);
        for (i, count) in counts.chunks_exact(4).enumerate().take(MAX_CODE) {
            let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]);
            let length = i as u32 + 1;
            code <<= 1;
            table.base[i] = token.wrapping_sub(code);
            // Neither sum can overflow: a length has room for 2^20 codes.
            if count > (1 << length) - code || count > token_count - token {
                return Err(NamesError::Codes);
            }
            code += count;
            token += count;
            table.limit[i] = code << (bits - length);
        }
        Ok(table)
    }

    /// The token whose code stands at bit `at`, and the length of the code.
    #[inline(always)]
    fn decode(&self, data: &[u8], at: u64) -> Option<(u32, u32)> {
        let word = bits(data, at, self.bits)? as u32;
        // Limits rise with the length, so counting those passed gives it without a branch a length.
        let shorter: u32 = self.limit.iter().map(|&limit| u32::from(word >= limit)).sum();
        let rest = self.bits.checked_sub(shorter + 1)?;
        let base = *self.base.get(shorter as usize)?;
        Some(((word >> rest).wrapping_add(base), shorter + 1))
    }
}

/// The first of `from..to` for which `before` does not hold, where it holds for a front part only.
fn partition(mut from: u32, mut to: u32, before: impl Fn(u32) -> bool) -> u32 {
    while from < to {
        let middle = from + (to - from) / 2;
        if before(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}
