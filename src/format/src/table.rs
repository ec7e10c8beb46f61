//! Decodes a section of packed records into rows of signed integers (schema, section 4).
//!
//! Records are in blocks. A column of a block stores the difference of each value from a base. So any record takes a byte and a
//! word of the block header for each column, and no record before it is decoded.

use crate::bits::{self, MAX_WIDTH, TAIL, u8_at, u16_at, u32_at};
use crate::error::{FormatError, What};

/// Byte offset of `count`.
pub const COUNT: usize = 0;
/// Byte offset of `columns`.
pub const COLUMNS: usize = 4;
/// Byte offset of `block_log2`.
pub const BLOCK_LOG2: usize = 5;
/// Byte offset of the reserved field.
pub const RESERVED: usize = 6;
/// Byte offset of the first block header.
pub const HEADERS: usize = 8;
/// Bytes of a word of a block header.
pub const WORD: usize = 8;
/// The most columns: a word of a block header has a byte for each.
pub const MAX_COLUMNS: u8 = WORD as u8;
/// The largest log2 of the records in a block.
pub const MAX_BLOCK_LOG2: u8 = 12;
/// Bits of word 0 that hold the offset of the block's records, from bit 0.
pub const OFFSET_BITS: u32 = 48;
/// Lowest bit of the bits of one record in word 0.
pub const RECORD_BITS_SHIFT: u32 = 48;
/// Word of a block header whose bytes are the widths of the columns.
pub const WIDTHS: usize = 1;
/// Word of a block header with the base of the first column; those of the others follow.
pub const BASES: usize = 2;

/// A block header's word 0, from the offset of the block's records and the bits of one record.
pub const fn pack_block(offset: u64, record_bits: u32) -> u64 {
    (offset & bits::mask(OFFSET_BITS)) | ((record_bits as u64) << RECORD_BITS_SHIFT)
}

/// A table of packed records, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Table<'d> {
    data: &'d [u8],
    /// The block headers.
    words: &'d [[u8; WORD]],
    count: u32,
    /// Log2 of the records in a block, and that number less 1.
    block_log2: u32,
    index_mask: u32,
    /// Words of a block header.
    stride: u32,
}

/// The header of a block, with as many columns as a caller needs.
struct BlockHeader<'d> {
    /// Where the records are, and the bits of one.
    word: u64,
    /// A byte for each column of the table, 0 where it has none.
    widths: &'d [u8; WORD],
    bases: &'d [[u8; WORD]],
}

/// The bit where record `index` of a block begins, by the block's word 0.
#[inline(always)]
const fn first_bit(word: u64, index: u32) -> u64 {
    let start = (word & bits::mask(OFFSET_BITS)).wrapping_shl(3);
    start.wrapping_add((word >> RECORD_BITS_SHIFT).wrapping_mul(index as u64))
}

/// The byte that holds a bit. Sections are slices: past the end of all slices, any byte will do.
#[inline(always)]
fn byte_of(bit: u64) -> usize {
    usize::try_from(bit >> 3).unwrap_or(usize::MAX)
}

#[cold]
fn truncated(bit: u64) -> FormatError {
    FormatError::new(What::Truncated, bit >> 3)
}

impl<'d> Table<'d> {
    /// A table without records.
    pub const EMPTY: Self =
        Self { data: &[], words: &[], count: 0, block_log2: 0, index_mask: 0, stride: BASES as u32 };

    /// Opens a table of exactly this many columns: checks its first 8 bytes and that all block headers lie
    /// in the section. Takes constant time; the headers themselves are not read.
    ///
    /// # Errors
    /// Another number of columns, a field out of range, or a section too short for its headers.
    pub fn open(data: &'d [u8], columns: u8) -> Result<Self, FormatError> {
        Self::with_head(data, data, columns)
    }

    /// As [`Table::open`], for a section whose first [`HEADERS`] bytes the caller has already loaded: reads nothing from `data`.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub fn with_head(head: &[u8], data: &'d [u8], columns: u8) -> Result<Self, FormatError> {
        let early = FormatError::new(What::Truncated, data.len() as u64);
        let wrong = |what, at: usize| FormatError::new(what, at as u64);
        let count = u32_at(head, COUNT).ok_or(early)?;
        if u8_at(head, COLUMNS) != Some(columns) || columns == 0 || columns > MAX_COLUMNS {
            return Err(wrong(What::Columns, COLUMNS));
        }
        let block_log2 = u8_at(head, BLOCK_LOG2).ok_or(early)?;
        if block_log2 > MAX_BLOCK_LOG2 {
            return Err(wrong(What::Value, BLOCK_LOG2));
        }
        if u16_at(head, RESERVED).ok_or(early)? != 0 {
            return Err(wrong(What::Reserved, RESERVED));
        }
        let block_log2 = u32::from(block_log2);
        let index_mask = 1u32.wrapping_shl(block_log2).wrapping_sub(1);
        let blocks = count.div_ceil(1u32.wrapping_shl(block_log2));
        let stride = u32::from(columns).wrapping_add(BASES as u32);
        // There may be nearly 2^32 blocks of 10 words. On a 32-bit target the product may exceed a `usize`.
        let words = (blocks as usize).checked_mul(stride as usize).ok_or(early)?;
        let (all, _) = data.get(HEADERS..).ok_or(early)?.as_chunks::<WORD>();
        let words = all.get(..words).ok_or(early)?;
        let least = words.len().saturating_mul(WORD).saturating_add(HEADERS).saturating_add(TAIL);
        // With the tail, 8 bytes can be read at any record of a sound table.
        if data.len() < least {
            return Err(early);
        }
        Ok(Self { data, words, count, block_log2, index_mask, stride })
    }

    /// Records of the table.
    #[inline]
    pub const fn len(&self) -> u32 {
        self.count
    }

    /// True if the table has no record.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Columns of the table.
    pub const fn columns(&self) -> u8 {
        self.stride.wrapping_sub(BASES as u32) as u8
    }

    /// The table's bytes: the whole section.
    pub const fn bytes(&self) -> &'d [u8] {
        self.data
    }

    /// The header of a record's block, up to its first `columns` columns, and the record's index in the block. `None` if there is
    /// no such record.
    #[inline(always)]
    fn place(&self, record: u32, columns: usize) -> Option<(BlockHeader<'d>, u32)> {
        if record >= self.count {
            return None;
        }
        let block = record.wrapping_shr(self.block_log2) as usize;
        let index = record & self.index_mask;
        // `record` is below `count`, and opening checked that the headers of all blocks are in the section: nothing wraps.
        let first = block.wrapping_mul(self.stride as usize);
        let words = self.words.get(first..first.wrapping_add(columns).wrapping_add(BASES))?;
        let ([word, widths], bases) = words.split_first_chunk()?;
        Some((BlockHeader { word: u64::from_le_bytes(*word), widths, bases }, index))
    }

    /// Has memory bring a record that will be read soon: see [`bits::touch`].
    #[inline(always)]
    pub fn touch(&self, record: u32) {
        if cfg!(not(feature = "small"))
            && let Some((header, index)) = self.place(record, 0)
        {
            bits::touch(self.data, first_bit(header.word, index) >> 3, 0..1);
        }
    }

    /// As [`Table::columns_of`], of a number that may have more than 32 bits: no table has such a record.
    #[inline(always)]
    pub fn columns_at<const K: usize>(&self, record: u64) -> Option<[i64; K]> {
        if record < self.count.into() { self.columns_of(record as u32) } else { None }
    }

    /// Reads the first K columns of a record.
    ///
    /// # Errors
    /// An index past the end, or a block whose records lie outside the section.
    #[inline(always)]
    pub fn record<const K: usize>(&self, record: u32) -> Result<[i64; K], FormatError> {
        match self.columns_of(record) {
            Some(columns) => Ok(columns),
            None => Err(self.refused(record.into(), K)),
        }
    }

    /// As [`Table::record`]; `None` for any error, which [`Table::refused`] then names. A result with the error costs a lookup
    /// more: its values share their bytes with it, and are taken apart and put together again.
    #[inline(always)]
    pub fn columns_of<const K: usize>(&self, record: u32) -> Option<[i64; K]> {
        let mut out = [0; K];
        // The code would have the loop below once for each K and caller. Tier 1 of the C interface may have at most 32 KiB of code.
        if cfg!(feature = "small") {
            self.fill(record, &mut out)?;
            return Some(out);
        }
        let (header, index) = self.place(record, K)?;
        // The bits of a whole record, of which the first columns are a part.
        if header.word >> RECORD_BITS_SHIFT > MAX_WIDTH.into() {
            let mut out = [0; K];
            self.fill(record, &mut out)?;
            return Some(out);
        }
        // Most records: one load has the columns.
        let bit = first_bit(header.word, index);
        let mut loaded = bits::word(self.data, byte_of(bit))? >> (bit & 7);
        for ((value, &width), base) in out.iter_mut().zip(header.widths).zip(header.bases) {
            let stored = (loaded & bits::mask_of(width)).cast_signed();
            // The sum wraps only in a damaged file.
            *value = i64::from_le_bytes(*base).wrapping_add(stored);
            // No width is above the sum of all, so nothing wraps.
            loaded = loaded.wrapping_shr(width.into());
        }
        Some(out)
    }

    /// Reads the first columns of a record of any bits.
    #[inline(never)]
    fn fill(&self, record: u32, out: &mut [i64]) -> Option<()> {
        let (header, index) = self.place(record, out.len())?;
        let mut bit = first_bit(header.word, index);
        for ((value, &width), base) in out.iter_mut().zip(header.widths).zip(header.bases) {
            *value = i64::from_le_bytes(*base)
                .wrapping_add(bits::read(self.data, bit, width.into())?.cast_signed());
            bit = bit.wrapping_add(width.into());
        }
        Some(())
    }

    /// Why the first `columns` columns of a record cannot be read.
    #[cold]
    #[inline(never)]
    pub fn refused(&self, record: u64, columns: usize) -> FormatError {
        if record >= self.count.into() {
            return FormatError::new(What::NoRecord, record);
        }
        match self.place(record as u32, columns) {
            Some((header, index)) => truncated(first_bit(header.word, index)),
            None => FormatError::new(What::Truncated, self.data.len() as u64),
        }
    }

    /// Reads one column of a record.
    ///
    /// # Errors
    /// As [`Table::record`]; [`What::Columns`] for a column that the table does not have.
    #[cfg_attr(feature = "small", inline(never))]
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub fn value(&self, record: u32, column: usize) -> Result<i64, FormatError> {
        let all = usize::from(self.columns());
        let Some((header, index)) = self.place(record, all) else {
            return Err(self.refused(record.into(), all));
        };
        let Some((&width, base)) = header.widths.get(column).zip(header.bases.get(column)) else {
            return Err(FormatError::new(What::Columns, column as u64));
        };
        let mut bit = first_bit(header.word, index);
        for &width in header.widths.iter().take(column) {
            bit = bit.wrapping_add(width.into());
        }
        match bits::read(self.data, bit, width.into()) {
            Some(stored) => Ok(i64::from_le_bytes(*base).wrapping_add(stored.cast_signed())),
            None => Err(truncated(bit)),
        }
    }

    /// Reads every block header and checks what [`Table::open`] does not: widths and their sum, that the records are between the headers
    /// and the tail, and that the tail is zero. Reads as many words as there are headers.
    ///
    /// # Errors
    /// The first header that breaks a rule.
    pub fn verify(&self) -> Result<(), FormatError> {
        if self.data.is_empty() {
            return Ok(());
        }
        let stride = self.stride as usize;
        let first = self.words.len().saturating_mul(WORD).saturating_add(HEADERS) as u64;
        let limit = self.data.len().saturating_sub(TAIL) as u64;
        let mut left = self.count;
        let mut end = first;
        for (block, header) in self.words.chunks_exact(stride).enumerate() {
            let at = block.wrapping_mul(stride).wrapping_mul(WORD).wrapping_add(HEADERS) as u64;
            let Some(([word, widths], bases)) = header.split_first_chunk() else { continue };
            let word = u64::from_le_bytes(*word);
            // A lookup uses both the widths and their sum.
            let mut sum = 0u64;
            for (column, &width) in widths.iter().enumerate() {
                let most = if column < bases.len() { MAX_WIDTH } else { 0 };
                if u32::from(width) > most {
                    return Err(FormatError::new(What::Width, at));
                }
                sum = sum.wrapping_add(width.into());
            }
            if sum != word >> RECORD_BITS_SHIFT {
                return Err(FormatError::new(What::Width, at));
            }
            let offset = word & bits::mask(OFFSET_BITS);
            let records = left.min(1u32.wrapping_shl(self.block_log2));
            left = left.wrapping_sub(records);
            let len = sum.wrapping_mul(records.into()).div_ceil(8);
            // They are adjacent without a gap, so that every byte belongs to one.
            if offset != end || offset.wrapping_add(len) > limit {
                return Err(FormatError::new(What::Length, at));
            }
            end = offset.wrapping_add(len);
            let used = sum.wrapping_mul(records.into());
            let padding = (used.wrapping_neg() & 7) as u32;
            let bit = offset.wrapping_shl(3).wrapping_add(used);
            if bits::read(self.data, bit, padding) != Some(0) {
                return Err(FormatError::new(What::Reserved, bit >> 3));
            }
        }
        if end != limit {
            return Err(FormatError::new(What::Length, end));
        }
        let tail = self.data.get(self.data.len().saturating_sub(TAIL)..).unwrap_or(&[]);
        if tail.iter().any(|&byte| byte != 0) {
            return Err(FormatError::new(What::Reserved, limit));
        }
        Ok(())
    }
}
