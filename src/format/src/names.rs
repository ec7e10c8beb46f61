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
//! Header, code counts, tokens, rule bodies, block index, byte pool, blocks: all in one blob, defined
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
//! Nothing is allocated; opening builds no more than a table of the 20 code lengths.

use crate::bits::{self, MAX_WIDTH, TAIL, mask, read, u8_at, u32_at};
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
/// Bytes before the code lengths.
pub const HEADER_LEN: usize = 24;
/// Byte offset of the longest code's bits, the last field of the header.
const CODE_BITS: usize = 23;
/// A leaf of up to this many bytes is copied at once.
const CHUNK: usize = 32;

/// Bytes of the header and the code counts of a name table, which is all that opening reads; only the header's bytes, if the table is
/// truncated there.
pub(crate) fn head_len(blob: &[u8]) -> usize {
    usize::from(u8_at(blob, CODE_BITS).unwrap_or(0)).saturating_mul(4).saturating_add(HEADER_LEN)
}

/// How many leading bits of a prefix code select its entry in [`Codes::from`].
const FRONT_BITS: u32 = 6;
/// Bits of a 32-bit word after a code of [`MAX_CODE`] bits.
const CODE_SHIFT: u32 = u32::BITS - MAX_CODE as u32;
/// Bits of such a code after its first [`FRONT_BITS`].
const FRONT_SHIFT: u32 = MAX_CODE as u32 - FRONT_BITS;

/// The prefix code of the tokens, ready for decoding.
#[derive(Clone, Copy)]
struct Codes {
    /// For each length, the first code that is longer, as one of [`MAX_CODE`] bits: what is less and is not a shorter one
    /// has this length. None is, for lengths that no code has from there on.
    limit: [u32; MAX_CODE],
    /// For each length, what to add to the code (wrapping) to get the token.
    base: [u32; MAX_CODE],
    /// For each value of a code's first [`FRONT_BITS`] bits: the shortest length that such a code may have, minus 1. The
    /// length is that one or the next.
    from: [u8; 1 << FRONT_BITS],
}

impl Default for Codes {
    fn default() -> Self {
        Codes { limit: [u32::MAX; MAX_CODE], base: [0; MAX_CODE], from: [0; 1 << FRONT_BITS] }
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
    /// All of it was visited.
    Whole,
    /// The visitor had enough.
    Stopped,
}

/// The front of a block, up to the wanted name.
struct Front {
    /// For each name, how many bytes of the one before it keeps.
    keep: [u32; MAX_BLOCK],
    /// Where each suffix starts, and the last one ends: bits from the block's first suffix.
    start: [u32; MAX_BLOCK + 1],
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

    /// As [`Names::open`], in place, for a table whose header and code counts the caller has already loaded: reads nothing from `blob`.
    ///
    /// # Errors
    /// As [`Names::open`]; the content of `self` is then unspecified.
    pub fn open_with_head(&mut self, head: &[u8], blob: &'d [u8]) -> Result<(), FormatError> {
        let small = |at: usize, max: u8| -> Result<u32, FormatError> {
            let value = u8_at(head, at).ok_or(FormatError::new(What::Truncated, HEADER_LEN as u64))?;
            if value <= max { Ok(value.into()) } else { Err(FormatError::new(What::Width, at as u64)) }
        };
        let count = |at: usize| u32_at(head, at).ok_or(FormatError::new(What::Truncated, HEADER_LEN as u64));
        let (len, token_count, symbols) = (count(0)?, count(4)?, count(8)?);
        let (pool_len, blocks_len) = (count(12)?, count(16)?);
        let block_log2 = small(20, MAX_BLOCK.ilog2() as u8)?;
        let symbol_bits = small(21, 24)?;
        let index_bits = small(22, 32)?;
        let code_bits = small(CODE_BITS, MAX_CODE as u8)?;

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
        let counts_len = u64::from(code_bits).wrapping_mul(4);
        part(counts_len)?;
        let counts = head.get(HEADER_LEN..).and_then(|counts| counts.get(..counts_len as usize));
        let counts = counts.ok_or(FormatError::new(What::Truncated, HEADER_LEN as u64))?;
        let tokens =
            part(packed(token_count, 32))?.as_chunks::<4>().0.get(..token_count as usize).unwrap_or_default();
        let bodies = part(packed(symbols, symbol_bits))?;
        let index = part(packed(block_count, index_bits))?;
        let pool = part(pool_len.into())?;
        let blocks = part(blocks_len.into())?;
        part(TAIL as u64)?;
        self.codes.read(counts, code_bits, token_count)?;
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
        self.walk(id, |from, len| {
            visit(self.pool.get(from..)?.get(..len)?);
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
        let mut at = 0usize;
        self.walk(id, |from, len| {
            let source = self.pool.get(from..)?;
            let place = out.get_mut(at..).unwrap_or_default();
            match (source.first_chunk::<CHUNK>(), place.first_chunk_mut::<CHUNK>()) {
                // One copy of a fixed size; the next piece overwrites the excess.
                (Some(wide), Some(place)) if len <= CHUNK => *place = *wide,
                _ => copy_some(place, source, len)?,
            }
            at = at.wrapping_add(len);
            Some(true)
        })?;
        Some(at)
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
        let walk = self.walk(id, |from, len| {
            let piece = self.pool.get(from..)?.get(..len)?;
            let (head, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            // A piece that continues past the end of `other` compares as greater.
            found = piece.cmp(head);
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
        let mut start = row.wrapping_shr(least_bits) as u32;
        *front.start.get_mut(1)? = start;
        let wanted = id.wrapping_sub(first) as usize;
        let ends = front.start.get_mut(2..wanted.wrapping_add(2))?;
        // Several rows are loaded at once.
        let (mut loaded, mut left) = (0u64, 0u32);
        for (keep, end) in front.keep.get_mut(1..=wanted)?.iter_mut().zip(ends) {
            steps::step();
            if left < row_bits {
                (loaded, left) = (read(self.blocks, bit, MAX_WIDTH)?, MAX_WIDTH);
            }
            let row = loaded & mask(row_bits);
            loaded = loaded.wrapping_shr(row_bits);
            left = left.wrapping_sub(row_bits);
            bit = bit.wrapping_add(row_bits.into());
            *keep = least.wrapping_add((row & mask(keep_bits)) as u32);
            start = start.wrapping_add(row.wrapping_shr(keep_bits) as u32);
            *end = start;
        }
        // Backwards: a name gives its bytes from what it keeps up to the least that a later one keeps.
        let mut until = u32::MAX;
        for &keep in front.keep.get(..=wanted)?.iter().rev() {
            // At most 16 names, so no bit is lost.
            front.parts = front.parts.wrapping_shl(1) | u32::from(keep < until);
            until = until.min(keep);
        }
        Some(())
    }

    /// Walks over the leaves of name `id` in order: `leaf(start in the pool, bytes)` says whether to
    /// go on, or `None` for damage.
    #[inline(always)]
    fn walk(&self, id: u32, mut leaf: impl FnMut(usize, usize) -> Option<bool>) -> Option<Walk> {
        let mut front = Front { keep: [0; MAX_BLOCK], start: [0; MAX_BLOCK + 1], parts: 0, suffixes: 0 };
        self.front(id, &mut front)?;
        // The rest of each rule around the innermost: (place of its next symbol, symbols).
        let mut stack = [(0u32, 0u32); MAX_DEPTH];
        let mut parts = front.parts;
        while parts != 0 {
            let part = parts.trailing_zeros() as usize;
            parts &= parts.wrapping_sub(1);
            let until = match parts {
                0 => MAX_NAME as u32,
                _ => *front.keep.get(parts.trailing_zeros() as usize)?,
            };
            // No name is longer: what damaged rows keep is no bound.
            let mut left = until.min(MAX_NAME as u32).checked_sub(*front.keep.get(part)?)? as usize;
            let (mut at, end) = (*front.start.get(part)?, *front.start.get(part.wrapping_add(1))?);
            while at < end && left > 0 {
                steps::step();
                let (token, length) =
                    self.codes.decode(self.blocks, front.suffixes.wrapping_add(at.into()))?;
                at = at.wrapping_add(length);
                let (start, size, rule) = self.token(token)?;
                let go_on = if rule {
                    self.expand(start, size, &mut stack, &mut left, &mut leaf)?
                } else {
                    let size = size.wrapping_add(1).min(left);
                    left = left.wrapping_sub(size);
                    leaf(start, size)?
                };
                if !go_on {
                    return Some(Walk::Stopped);
                }
            }
            // The last suffix ends on a code; the others hold the bytes that are kept of them.
            if if parts == 0 { at != end } else { left > 0 } {
                return None;
            }
        }
        Some(Walk::Whole)
    }

    /// Where a token starts, its stored length, and whether it is a rule.
    #[inline(always)]
    fn token(&self, token: u32) -> Option<(usize, usize, bool)> {
        let entry = u32::from_le_bytes(*self.tokens.get(token as usize)?);
        Some((entry.wrapping_shr(8) as usize, (entry.wrapping_shr(1) & 127) as usize, entry & 1 != 0))
    }

    /// Walks over the leaves of a rule, up to `left` bytes; `Some(false)`: stopped by `leaf`.
    #[inline(always)]
    fn expand(
        &self,
        mut at: usize,
        length: usize,
        stack: &mut [(u32, u32); MAX_DEPTH],
        left: &mut usize,
        leaf: &mut impl FnMut(usize, usize) -> Option<bool>,
    ) -> Option<bool> {
        let mut depth = 0usize;
        let mut count = length.wrapping_add(2);
        loop {
            steps::step();
            let symbol =
                read(self.bodies, (at as u64).wrapping_mul(self.symbol_bits.into()), self.symbol_bits)?;
            at = at.wrapping_add(1);
            count = count.wrapping_sub(1);
            let (start, length, rule) = self.token(symbol as u32)?;
            if rule {
                // A rule at the end of another takes its place.
                if count > 0 {
                    *stack.get_mut(depth)? = (at as u32, count as u32);
                    depth = depth.wrapping_add(1);
                }
                at = start;
                count = length.wrapping_add(2);
                continue;
            }
            let size = length.wrapping_add(1).min(*left);
            *left = left.wrapping_sub(size);
            if !leaf(start, size)? {
                return Some(false);
            }
            if *left == 0 {
                return Some(true);
            }
            if count == 0 {
                let Some(outer) = depth.checked_sub(1) else { return Some(true) };
                depth = outer;
                let (outer_at, outer_count) = *stack.get(depth)?;
                (at, count) = (outer_at as usize, outer_count as usize);
            }
        }
    }
}

impl Codes {
    /// Reads how many codes there are of each length.
    fn read(&mut self, counts: &[u8], bits: u32, token_count: u32) -> Result<(), FormatError> {
        let (mut code, mut token) = (0u32, 0u32);
        // The fronts before this one have no longer codes.
        let mut front = 0usize;
        let lengths = self.limit.iter_mut().zip(&mut self.base).zip(counts.as_chunks::<4>().0).zip(1..=bits);
        for (((limit, base), count), length) in lengths {
            let count = u32::from_le_bytes(*count);
            // `code` stays at most 2^length and `token` at most `token_count`: nothing wraps.
            code = code.wrapping_shl(1);
            *base = token.wrapping_sub(code);
            let room = 1u32.wrapping_shl(length).wrapping_sub(code);
            if count > room || count > token_count.wrapping_sub(token) {
                return Err(FormatError::new(What::Value, length.into()));
            }
            code = code.wrapping_add(count);
            token = token.wrapping_add(count);
            *limit = code.wrapping_shl((MAX_CODE as u32).wrapping_sub(length));
            let end = limit.wrapping_add((1 << FRONT_SHIFT) - 1).wrapping_shr(FRONT_SHIFT) as usize;
            for from in self.from.get_mut(front..end).unwrap_or_default() {
                *from = length.wrapping_sub(1) as u8;
            }
            front = front.max(end);
        }
        // A front that begins no code has no length.
        for from in self.from.get_mut(front..).unwrap_or_default() {
            *from = bits as u8;
        }
        // A token that no table has.
        self.base.get_mut(bits as usize..).unwrap_or_default().fill(1 << 31);
        Ok(())
    }

    /// How many lengths are too short for the code that a word begins with.
    #[cold]
    #[inline(never)]
    fn shorter(&self, word: u32) -> usize {
        self.limit.iter().filter(|&&limit| word >= limit).count()
    }

    /// The token whose code begins at bit `bit`, counted from the most significant of the first byte, and
    /// the length of the code.
    #[inline(always)]
    fn decode(&self, data: &[u8], bit: u64) -> Option<(u32, u32)> {
        let window = data.get(usize::try_from(bit >> 3).ok()?..)?.first_chunk::<4>()?;
        // At most 7 bits are shifted out, so at least 25 are left-justified: enough for any code.
        let word = u32::from_be_bytes(*window).wrapping_shl((bit & 7) as u32);
        let front = *self.from.get(word.wrapping_shr(u32::BITS - FRONT_BITS) as usize)?;
        let word = word.wrapping_shr(CODE_SHIFT);
        // Nearly always, codes of one front have one length, or one of two consecutive lengths: they are distinguished without a branch.
        let mut shorter = usize::from(front);
        shorter = shorter.wrapping_add(usize::from(word >= *self.limit.get(shorter)?));
        if word >= *self.limit.get(shorter)? {
            shorter = self.shorter(word);
        }
        let base = *self.base.get(shorter)?;
        let length = (shorter as u32).wrapping_add(1);
        Some((word.wrapping_shr((MAX_CODE as u32).wrapping_sub(length)).wrapping_add(base), length))
    }
}

/// Copies the first `len` bytes of `source`, as many as fit. Apart, so that what copies the usual leaf keeps its
/// registers.
#[cold]
#[inline(never)]
fn copy_some(place: &mut [u8], source: &[u8], len: usize) -> Option<()> {
    let fits = len.min(place.len());
    // Not `copy_from_slice`, whose panic for lengths that differ stays in small builds.
    for (to, from) in place.get_mut(..fits)?.iter_mut().zip(source.get(..fits)?) {
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
    use std::vec::Vec;

    /// The token and length of the code that a word of [`MAX_CODE`] bits begins with, from the text of the format.
    fn slow(counts: &[u32], word: u32) -> Option<(u32, u32)> {
        let (mut code, mut token) = (0, 0);
        for (length, &count) in (1..).zip(counts) {
            code *= 2;
            let found = word >> (MAX_CODE as u32 - length);
            if found < code + count {
                return Some((token + found - code, length));
            }
            code += count;
            token += count;
        }
        None
    }

    #[test]
    fn codes_of_all_shapes_are_told_by_their_fronts() {
        let lists: [&[u32]; 9] = [
            &[],
            &[2],
            &[1],
            &[1; 20],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0, 0, 0, 0, 0, 0, 2, 8, 11, 69, 167, 446, 1073, 2265, 7785, 10356, 1180],
            &[0, 1, 2, 0, 5, 0, 0, 3],
            &[0, 0, 7, 1, 1, 1, 1, 1, 1, 1],
            &[1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2],
        ];
        let mut refused = 0;
        for counts in lists {
            let bytes: Vec<u8> = counts.iter().flat_map(|count| count.to_le_bytes()).collect();
            let tokens = counts.iter().sum();
            let mut codes = Codes::default();
            codes.read(&bytes, counts.len() as u32, tokens).unwrap();
            for word in (0..1u32 << MAX_CODE).step_by(if counts.len() < 20 { 7 } else { 1 }) {
                let data = [(word << 12).to_be_bytes(), [0xff; 4]].concat();
                // A token that the table does not have is damage as well.
                let found = codes.decode(&data, 0).filter(|&(token, _)| token < tokens);
                assert_eq!(found, slow(counts, word), "{counts:?} {word:#x}");
                refused += u32::from(found.is_none());
            }
        }
        assert!(refused > 1000);
    }
}
