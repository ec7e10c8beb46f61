//! Reads the name table: a sorted list of byte strings, compressed, with random access.
//!
//! Long because the parts of the table are read by one another.
//!
//! # The idea
//! Names of one program repeat each other twice over. Neighbours of the sorted list begin alike, so
//! a name stores how much of its predecessor it keeps (front coding), starting afresh every
//! [`Names::block_len`] names. What is left, the *suffix*, repeats pieces of suffixes elsewhere
//! (`N7rocksdb25BlockBasedTable...`), so it is spelled in *tokens*. A token is a *leaf*, a range of
//! the byte pool (ranges may overlap: a token inside another costs no bytes), or a *rule*, two or
//! more tokens in a row. Suffixes write tokens in a canonical prefix code, so that common ones are
//! short; the first six bits of a code decide its length, so that a reader finds it by one load. Rules write tokens at a fixed
//! width, so that any symbol of a rule is found at once.
//!
//! # Data
//! Header, tokens, rule bodies, block index, byte pool, blocks: all in one blob, defined
//! in `schema/names.md`. A block leads with a row for each name, (bytes kept, bits of the suffix). The
//! rows alone say which earlier names of the block still give bytes to the wanted one, and how many,
//! so the other suffixes are never touched.
//!
//! # Why it ends
//! A block has at most 16 names. Each code takes at least one bit of its suffix. A leaf has at least
//! one byte; a rule has at least two symbols, so its first one either emits a byte or goes one rule
//! deeper, which [`MAX_DEPTH`] bounds. A name ends at [`MAX_NAME`] bytes. Hence in a damaged table a
//! name costs at most a step for each row and `MAX_DEPTH + 2` for each byte, and `MAX_DEPTH + 2` more
//! if it fails. The answer is then `None` or a wrong name.
//!
//! Nothing is allocated; opening builds no more than a table of the 20 code lengths and the 64 fronts.

use crate::bits::{self, MAX_WIDTH, mask, read, u8_at, u32_at};
use crate::error::{FormatError, What};
use crate::steps;
use core::cmp::Ordering;

/// The longest name, in bytes. The writer cuts longer ones.
pub const MAX_NAME: usize = 65_535;
/// The deepest nesting of rules.
pub const MAX_DEPTH: usize = 16;
/// The longest code of a token, in bits.
pub const MAX_CODE: usize = 20;
/// The most names in a block.
pub const MAX_BLOCK: usize = 16;
/// Bytes of the header.
pub const HEADER_LEN: usize = 44;
/// Byte offset of the numbers of codes, the last field of the header: a byte for each length.
pub const CODES: usize = 23;
/// How many bits of a code decide its length.
pub const FRONT_BITS: usize = 6;
/// Zero bytes at the end.
pub const NAMES_TAIL: usize = CHUNK;
/// A leaf of up to this many bytes is copied at once.
const CHUNK: usize = 32;
/// As many bytes as any leaf has.
const WIDE_CHUNK: usize = 128;

/// The prefix code of the tokens, ready for decoding.
#[derive(Clone, Copy)]
struct Codes {
    /// For each value of a code's first [`FRONT_BITS`] bits: 32 less the length of such a code. All of them have one length.
    shifts: [u8; 1 << FRONT_BITS],
    /// For each such number, what to add to the code (wrapping) to get the token.
    base: [u32; 32],
}

/// In place of the shift of a length, for what begins no code: no length has this one.
const NO_CODE: u8 = (u32::BITS - MAX_CODE as u32 - 1) as u8;

impl Default for Codes {
    fn default() -> Self {
        Codes { shifts: [NO_CODE; 1 << FRONT_BITS], base: [0; 32] }
    }
}

/// A name table, borrowed from the file. The default has no names.
#[derive(Clone, Copy, Default)]
pub struct Names<'d> {
    tokens: &'d [[u8; 4]],
    bodies: &'d [u8],
    index: &'d [u8],
    /// The byte pool and all that follows it: leaves are copied [`CHUNK`] bytes at a time.
    pool: &'d [u8],
    blocks: &'d [u8],
    codes: Codes,
    len: u32,
    block_log2: u32,
    symbol_bits: u32,
    index_bits: u32,
}

/// The result of walking a name.
enum Walk {
    /// All of it was visited: so many bytes.
    Whole(u32),
    /// The visitor had enough.
    Stopped,
}

/// The front of a block, up to the wanted name.
struct Front {
    /// For each name, how many bytes of the one before it keeps, and where its suffix ends: bits from the block's first suffix.
    rows: [(u32, u32); MAX_BLOCK],
    /// The names that give bytes to the wanted one, a bit each.
    parts: u32,
    /// The bit where the block's suffixes begin.
    suffixes: u64,
}

impl<'d> Names<'d> {
    /// Opens a name table and checks its header: sizes, widths and code lengths. Constant time.
    ///
    /// Data after the header is checked on access.
    ///
    /// # Errors
    /// `Truncated` with the bytes that are needed, `Width` or `Reserved` with the offset of the header
    /// field, `Value` with the code length that has more codes than fit.
    pub fn open(blob: &'d [u8]) -> Result<Self, FormatError> {
        let mut names = Names::default();
        names.open_with_head(blob, blob)?;
        Ok(names)
    }

    /// As [`Names::open`], in place, for a table whose header the caller has already loaded: reads nothing from `blob`.
    ///
    /// # Errors
    /// As [`Names::open`]; the content of `self` is then unspecified.
    pub fn open_with_head(&mut self, head: &[u8], blob: &'d [u8]) -> Result<(), FormatError> {
        let head = head.get(..HEADER_LEN).ok_or(FormatError::new(What::Truncated, HEADER_LEN as u64))?;
        let small = |at: usize, max: u8| -> Result<u32, FormatError> {
            let value = u8_at(head, at).unwrap_or(u8::MAX);
            if value <= max { Ok(value.into()) } else { Err(FormatError::new(What::Width, at as u64)) }
        };
        let count = |at: usize| u32_at(head, at).unwrap_or(0);
        let (len, token_count, symbols) = (count(0), count(4), count(8));
        let (pool_len, blocks_len) = (count(12), count(16));
        let block_log2 = small(20, MAX_BLOCK.ilog2() as u8)?;
        let symbol_bits = small(21, 24)?;
        let index_bits = small(22, 32)?;

        // No sum can wrap: counts have 32 bits and widths at most 32.
        let packed = |n: u32, width: u32| u64::from(n).wrapping_mul(width.into()).div_ceil(8);
        let block_count = len.div_ceil(1u32.wrapping_shl(block_log2));
        let mut end = HEADER_LEN as u64;
        // Every part may be read up to the end of the blob: wide reads need no second path.
        let mut part = |size: u64| -> Result<&'d [u8], FormatError> {
            let from = usize::try_from(end).ok().and_then(|from| blob.get(from..));
            end = end.wrapping_add(size);
            match from {
                Some(from) if end <= blob.len() as u64 => Ok(from),
                _ => Err(FormatError::new(What::Truncated, end)),
            }
        };
        let tokens =
            part(packed(token_count, 32))?.as_chunks::<4>().0.get(..token_count as usize).unwrap_or_default();
        let bodies = part(packed(symbols, symbol_bits))?;
        let index = part(packed(block_count, index_bits))?;
        let pool = part(pool_len.into())?;
        let blocks = part(blocks_len.into())?;
        part(NAMES_TAIL as u64)?;
        let codes = head.get(CODES..).unwrap_or_default();
        self.codes.read(codes)?;
        if codes.last() != Some(&0) {
            return Err(FormatError::new(What::Reserved, HEADER_LEN.wrapping_sub(1) as u64));
        }
        (self.tokens, self.bodies, self.index, self.pool, self.blocks) =
            (tokens, bodies, index, pool, blocks);
        (self.len, self.block_log2, self.symbol_bits, self.index_bits) =
            (len, block_log2, symbol_bits, index_bits);
        Ok(())
    }

    /// The number of names; ids are `0..len`.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Names in a block: the most suffixes that one name can consist of.
    #[must_use]
    pub fn block_len(&self) -> u32 {
        1u32.wrapping_shl(self.block_log2)
    }

    /// Calls `visit` with the bytes of name `id`, piece by piece in order.
    ///
    /// `None`: there is no such name, or the table is damaged there (some pieces may have been
    /// visited). Pieces are borrowed from the file.
    #[inline]
    pub fn visit(&self, id: u32, mut visit: impl FnMut(&'d [u8])) -> Option<()> {
        self.walk(id, |at, entry, until| {
            visit(entry.bytes(self.pool, at, until)?);
            Some(true)
        })?;
        Some(())
    }

    /// Writes name `id` to `out` and returns its whole length, which may be more than fits.
    ///
    /// The content of `out` after the name is unspecified. `None` if there is no such name, or the table is damaged there; then all of
    /// `out` is unspecified.
    ///
    /// ```
    /// # fn show(names: &foldsym_format::names::Names<'_>) -> Option<()> {
    /// let mut buffer = [0; 64];
    /// let length = names.write(3, &mut buffer)?;
    /// let (name, cut) = (&buffer[..length.min(64)], length > 64);
    /// # let _ = (name, cut); Some(()) }
    /// ```
    #[inline]
    pub fn write(&self, id: u32, out: &mut [u8]) -> Option<usize> {
        let walk = self.walk(id, |at, entry, until| {
            let (from, start) = (at as usize, entry.start() as usize);
            if !entry.is_short() {
                if cfg!(not(feature = "small"))
                    && let Some(wide) = self.pool.get(start..start.wrapping_add(WIDE_CHUNK))
                    && let Some(place) = out.get_mut(from..from.wrapping_add(WIDE_CHUNK))
                    && let (Some(wide), Some(place)) = (wide.first_chunk(), place.first_chunk_mut())
                {
                    *place = *wide as [u8; WIDE_CHUNK];
                    return Some(true);
                }
                copy_some(out, self.pool, at, entry, until)?;
                return Some(true);
            }
            // By both ends, as in `bits::word`. The pool is followed by so many bytes.
            let wide = self.pool.get(start..start.wrapping_add(CHUNK))?.first_chunk::<CHUNK>()?;
            match out.get_mut(from..from.wrapping_add(CHUNK)).and_then(|out| out.first_chunk_mut()) {
                // One copy of a fixed size. What comes next overwrites the excess.
                Some(place) => *place = *wide,
                None => copy_some(out, self.pool, at, entry, until)?,
            }
            Some(true)
        })?;
        match walk {
            Walk::Whole(len) => Some(len as usize),
            Walk::Stopped => None,
        }
    }

    /// Has memory bring the block of name `id`, which will be read soon: see [`bits::touch`].
    #[inline]
    pub fn touch(&self, id: u32) {
        let position = u64::from(id.wrapping_shr(self.block_log2)).wrapping_mul(self.index_bits.into());
        if let Some(at) = read(self.index, position, self.index_bits) {
            bits::touch(self.blocks, at, 0..2);
        }
    }

    /// Compares name `id` with `other`, as byte strings: `Less` if the name comes first.
    ///
    /// `None` as in [`Names::write`]. Stops at the first difference.
    pub fn compare(&self, id: u32, other: &[u8]) -> Option<Ordering> {
        let mut rest = other;
        let mut found = Ordering::Equal;
        let walk = self.walk(id, |at, entry, until| {
            let piece = entry.bytes(self.pool, at, until)?;
            let len = piece.len();
            let (head, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            // A piece that continues past the end of `other` compares as greater.
            found = piece.cmp(head);
            rest = tail;
            Some(found == Ordering::Equal)
        })?;
        Some(match walk {
            Walk::Stopped => found,
            Walk::Whole(_) if rest.is_empty() => Ordering::Equal,
            Walk::Whole(_) => Ordering::Less,
        })
    }

    /// The first id whose name is not less than `name`; `len` if there is none.
    ///
    /// Decodes parts of about `log2(len)` names. A name that cannot be decoded counts as less.
    #[must_use]
    pub fn lower_bound(&self, name: &[u8]) -> u32 {
        let less = |id: u32| self.compare(id, name).is_none_or(Ordering::is_lt);
        // First over the heads of blocks, which decode fastest, then inside the one block.
        let heads = self.len.div_ceil(self.block_len());
        let head = partition(0, heads, |block| less(block.wrapping_shl(self.block_log2)));
        match head.checked_sub(1) {
            None => 0,
            Some(block) => {
                let first = block.wrapping_shl(self.block_log2);
                let end = first.saturating_add(self.block_len()).min(self.len);
                partition(first.saturating_add(1), end, less)
            }
        }
    }

    /// The id of `name`, or the id at which it would be inserted.
    ///
    /// # Errors
    /// The id of the first greater name (`len` if none) where `name` is not in the table.
    pub fn find(&self, name: &[u8]) -> Result<u32, u32> {
        let id = self.lower_bound(name);
        if self.compare(id, name) == Some(Ordering::Equal) { Ok(id) } else { Err(id) }
    }

    /// Reads the front of the block of name `id` into `front`, which is all 0.
    #[inline(always)]
    fn front(&self, id: u32, front: &mut Front) -> Option<()> {
        if id >= self.len {
            return None;
        }
        let block = id.wrapping_shr(self.block_log2);
        let first = block.wrapping_shl(self.block_log2);
        let names = self.block_len().min(self.len.wrapping_sub(first));
        let position = u64::from(block).wrapping_mul(self.index_bits.into());
        let at = read(self.index, position, self.index_bits)?.wrapping_mul(8);
        let widths = read(self.blocks, at, 16)?;
        let field = |at: u32, width: u32| (widths.wrapping_shr(at) & mask(width)) as u32;
        let (keep_bits, size_bits) = (field(0, 5), field(8, 5));
        // The first row is wider, since the first suffix is a whole name. It keeps no prefix, so its field has instead the smallest prefix
        // that all the others keep.
        let least_bits = keep_bits.wrapping_add(field(5, 3));
        let first_bits = least_bits.wrapping_add(size_bits).wrapping_add(field(13, 3));
        let row_bits = keep_bits.wrapping_add(size_bits);
        let mut bit = at.wrapping_add(16);
        let row_total = u64::from(names.wrapping_sub(1))
            .wrapping_mul(row_bits.into())
            .wrapping_add(first_bits.into())
            .div_ceil(8)
            .wrapping_mul(8);
        front.suffixes = bit.wrapping_add(row_total);
        let row = read(self.blocks, bit, first_bits)?;
        bit = bit.wrapping_add(first_bits.into());
        let least = (row & mask(least_bits)) as u32;
        let mut end = row.wrapping_shr(least_bits) as u32;
        let wanted = id.wrapping_sub(first) as usize;
        let [(_, first_end), rest @ ..] = &mut front.rows;
        *first_end = end;
        // Several rows are loaded at once.
        let (keep_mask, size_mask) = (mask(keep_bits) as u32, mask(size_bits) as u32);
        let (mut loaded, mut left) = (0u64, 0u32);
        for (keep, row_end) in rest.get_mut(..wanted)? {
            steps::step();
            if left < row_bits {
                let at = usize::try_from(bit >> 3).ok()?;
                (loaded, left) = (bits::word(self.blocks, at)? >> (bit & 7), MAX_WIDTH);
            }
            *keep = least.wrapping_add(loaded as u32 & keep_mask);
            end = end.wrapping_add(loaded.wrapping_shr(keep_bits) as u32 & size_mask);
            *row_end = end;
            loaded = loaded.wrapping_shr(row_bits);
            left = left.wrapping_sub(row_bits);
            bit = bit.wrapping_add(row_bits.into());
        }
        // Backwards: a name gives its bytes from what it keeps up to the least that a later one keeps.
        let (mut until, mut parts) = (u32::MAX, 0u32);
        for &(keep, _) in front.rows.get(..=wanted)?.iter().rev() {
            // At most 16 names, so no bit is lost.
            parts = parts.wrapping_shl(1) | u32::from(keep < until);
            until = until.min(keep);
        }
        front.parts = parts;
        Some(())
    }

    /// Walks over the leaves of name `id` in order. `leaf` says whether to go on, or `None` for damage.
    #[inline(always)]
    fn walk(&self, id: u32, mut leaf: impl FnMut(u32, Token, u32) -> Option<bool>) -> Option<Walk> {
        let mut front = Front { rows: [(0, 0); MAX_BLOCK], parts: 0, suffixes: 0 };
        self.front(id, &mut front)?;
        // The rest of each rule around the innermost: (place of its next symbol, symbols).
        let mut stack = [(0u32, 0u32); MAX_DEPTH];
        let mut parts = front.parts;
        // A part begins with the bytes that its name keeps, and those end where the part before it ends.
        let mut at = 0u32;
        while parts != 0 {
            let part = parts.trailing_zeros() as usize;
            parts &= parts.wrapping_sub(1);
            // No name is longer: what damaged rows keep is no bound.
            let until = match parts {
                0 => MAX_NAME as u32,
                _ => front.rows.get(parts.trailing_zeros() as usize)?.0.min(MAX_NAME as u32),
            };
            let start = match part.checked_sub(1) {
                None => 0,
                Some(before) => front.rows.get(before)?.1,
            };
            let mut bit = front.suffixes.wrapping_add(start.into());
            let end = front.suffixes.wrapping_add(front.rows.get(part)?.1.into());
            let full = loop {
                if bit >= end {
                    break at >= until;
                }
                steps::step();
                let (token, shift) = self.codes.decode(self.blocks, bit)?;
                bit = bit.wrapping_add(u32::BITS.into()).wrapping_sub(shift.into());
                let entry = self.token(token)?;
                if entry.is_short() {
                    if !leaf(at, entry, until)? {
                        return Some(Walk::Stopped);
                    }
                    at = entry.end(at);
                } else {
                    at = match self.expand(entry, &mut stack, (at, until), &mut leaf)? {
                        Some(at) => at,
                        None => return Some(Walk::Stopped),
                    };
                }
                if at >= until {
                    break true;
                }
            };
            // The last suffix ends on a code; the others hold the bytes that are kept of them.
            if if parts == 0 { bit != end } else { !full } {
                return None;
            }
            at = at.min(until);
        }
        Some(Walk::Whole(at))
    }

    #[inline(always)]
    fn token(&self, token: u32) -> Option<Token> {
        self.tokens.get(token as usize).map(|&entry| Token(u32::from_le_bytes(entry)))
    }

    /// Walks over the leaves of a rule, or of a token that is a long leaf, of bytes from `at` up to `until`, and gives the byte where they end; `Some(None)`: stopped by `leaf`.
    #[inline(always)]
    fn expand(
        &self,
        token: Token,
        stack: &mut [(u32, u32); MAX_DEPTH],
        (mut at, until): (u32, u32),
        leaf: &mut impl FnMut(u32, Token, u32) -> Option<bool>,
    ) -> Option<Option<u32>> {
        if !token.is_rule() {
            return Some(if leaf(at, token, until)? { Some(token.end(at)) } else { None });
        }
        let mut depth = 0usize;
        let (mut next, mut count) = (token.start(), token.length().wrapping_add(2));
        let symbol_mask = mask(self.symbol_bits) as u32;
        loop {
            steps::step();
            let bit = u64::from(next).wrapping_mul(self.symbol_bits.into());
            let word = bits::word(self.bodies, usize::try_from(bit >> 3).ok()?)?;
            let symbol = word.wrapping_shr((bit & 7) as u32) as u32 & symbol_mask;
            next = next.wrapping_add(1);
            count = count.wrapping_sub(1);
            let entry = self.token(symbol)?;
            let go_on = if entry.is_short() {
                leaf(at, entry, until)?
            } else if entry.is_rule() {
                // A rule at the end of another takes its place.
                if count > 0 {
                    *stack.get_mut(depth)? = (next, count);
                    depth = depth.wrapping_add(1);
                }
                (next, count) = (entry.start(), entry.length().wrapping_add(2));
                continue;
            } else {
                leaf(at, entry, until)?
            };
            if !go_on {
                return Some(None);
            }
            at = entry.end(at);
            if at >= until {
                return Some(Some(at));
            }
            if count == 0 {
                let Some(outer) = depth.checked_sub(1) else { return Some(Some(at)) };
                depth = outer;
                (next, count) = *stack.get(depth)?;
            }
        }
    }
}

/// An entry of the tokens (schema, `names.md`, section 2).
#[derive(Clone, Copy)]
struct Token(u32);

impl Token {
    #[inline(always)]
    const fn is_rule(self) -> bool {
        self.0.cast_signed() < 0
    }

    /// Where it starts: in the pool, or a rule in the bodies.
    #[inline(always)]
    const fn start(self) -> u32 {
        self.0 & 0xff_ffff
    }

    /// Symbols of a rule minus 2.
    #[inline(always)]
    const fn length(self) -> u32 {
        self.0.wrapping_shr(24) & 127
    }

    /// The byte after a leaf that begins at byte `at` of a name.
    #[inline(always)]
    const fn end(self, at: u32) -> u32 {
        at.wrapping_add(self.0.wrapping_shr(24)).wrapping_add(1)
    }

    /// The bytes of a leaf that begins at byte `at` of a name, up to byte `until` of the name.
    #[inline(always)]
    fn bytes(self, pool: &[u8], at: u32, until: u32) -> Option<&[u8]> {
        let len = self.end(at).min(until).wrapping_sub(at);
        pool.get(self.start() as usize..)?.get(..len as usize)
    }

    /// A leaf that is one copy.
    #[inline(always)]
    const fn is_short(self) -> bool {
        self.0 < (CHUNK as u32) << 24
    }
}

impl Codes {
    /// Reads how many codes there are of each length from 1 to [`MAX_CODE`].
    fn read(&mut self, counts: &[u8]) -> Result<(), FormatError> {
        let (mut token, mut front) = (0u32, 0u32);
        *self = Codes::default();
        if let Some(base) = self.base.get_mut(usize::from(NO_CODE)) {
            // A token that no table has.
            *base = 1 << 31;
        }
        for (length, &count) in (1..=MAX_CODE as u32).zip(counts) {
            // Of a short code, all fronts that begin with it; of longer ones, all that begin with a front.
            let (short, long) =
                ((FRONT_BITS as u32).saturating_sub(length), length.saturating_sub(FRONT_BITS as u32));
            let shift = u32::BITS.wrapping_sub(length);
            let end = front.wrapping_add(u32::from(count).wrapping_shl(short));
            let fronts = self.shifts.get_mut(front as usize..end as usize);
            fronts.ok_or(FormatError::new(What::Value, length.into()))?.fill(shift as u8);
            if let Some(base) = self.base.get_mut(shift as usize) {
                *base = token.wrapping_sub(front.wrapping_shr(short).wrapping_shl(long));
            }
            // At most 64 fronts with 2^14 codes each: nothing wraps.
            token = token.wrapping_add(u32::from(count).wrapping_shl(long));
            front = end;
        }
        Ok(())
    }

    /// The token whose code begins at bit `bit`, counted from the most significant of the first byte, and 32 less
    /// the length of the code.
    #[inline(always)]
    fn decode(&self, data: &[u8], bit: u64) -> Option<(u32, u32)> {
        let at = usize::try_from(bit >> 3).ok()?;
        let window = data.get(at..at.wrapping_add(4))?.first_chunk::<4>()?;
        // At most 7 bits are shifted out, so at least 25 are left-justified: enough for any code.
        let word = u32::from_be_bytes(*window).wrapping_shl((bit & 7) as u32);
        let front = word.wrapping_shr(u32::BITS.wrapping_sub(FRONT_BITS as u32));
        let shift = u32::from(*self.shifts.get(front as usize)? & 31);
        Some((word.wrapping_shr(shift).wrapping_add(*self.base.get(shift as usize)?), shift))
    }
}

/// Copies a leaf, as much as fits. Apart, so that what copies the usual leaf keeps its registers.
#[cold]
#[inline(never)]
fn copy_some(out: &mut [u8], pool: &[u8], at: u32, entry: Token, until: u32) -> Option<()> {
    let place = out.get_mut(at as usize..).unwrap_or_default();
    // Not `copy_from_slice`, whose panic for lengths that differ stays in small builds.
    for (to, from) in place.iter_mut().zip(entry.bytes(pool, at, until)?) {
        *to = *from;
    }
    Some(())
}

/// The first of `from..to` for which `before` is false, if it is true for an initial part only.
fn partition(mut from: u32, mut to: u32, before: impl Fn(u32) -> bool) -> u32 {
    while from < to {
        steps::step();
        let middle = from.midpoint(to);
        if before(middle) {
            from = middle.wrapping_add(1);
        } else {
            to = middle;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    /// The token and length of the code that a word of [`MAX_CODE`] bits begins with, from the text of the format.
    fn slow(counts: &[u8], word: u32) -> Option<(u32, u32)> {
        let (mut front, mut token) = (0, 0);
        for (length, &count) in (1..).zip(counts) {
            for _ in 0..count {
                // Codes of one front, or of a short code: the fronts that begin with it.
                for code in 0..1u32 << (length.max(6) - 6) {
                    let first = (front << (MAX_CODE - 6)) | (code << (MAX_CODE as u32 - length.max(6)));
                    if word >> (MAX_CODE as u32 - length) == first >> (MAX_CODE as u32 - length) {
                        return Some((token, length));
                    }
                    token += 1;
                }
                front += 1 << (6 - length.min(6));
            }
        }
        None
    }

    #[test]
    fn the_front_of_a_code_decides_its_length() {
        let lists: [&[u8]; 7] = [
            &[],
            &[2],
            &[1],
            &[0, 1, 2, 0, 5, 0, 0, 3],
            &[0, 0, 0, 0, 0, 0, 1, 1, 5, 6, 5, 7, 8, 12, 10, 8, 1],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            &[1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2],
        ];
        let mut refused = 0;
        for counts in lists {
            let mut codes = Codes::default();
            codes.read(counts).unwrap();
            for word in (0..1u32 << MAX_CODE).step_by(1009) {
                let data = [(word << 12).to_be_bytes(), [0xff; 4]].concat();
                // A token that no table has is damage as well.
                let found = codes.decode(&data, 0).filter(|&(token, _)| token < 1 << 31);
                let found = found.map(|(token, shift)| (token, 32 - shift));
                assert_eq!(found, slow(counts, word), "{counts:?} {word:#x}");
                refused += u32::from(found.is_none());
            }
        }
        assert!(refused > 1000);
        assert!(Codes::default().read(&[0, 0, 0, 0, 0, 60, 5]).is_err());
    }
}
