//! Decodes a section of packed records into rows of signed integers (schema, section 4).
//!
//! Records are in blocks. A column of a block stores the difference of each value from a line
//! (`base + slope x index`). So any record takes one word of block header and one multiplication a column, and
//! no record before it is decoded.

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
/// The most columns.
pub const MAX_COLUMNS: u8 = 8;
/// The largest log2 of the records in a block.
pub const MAX_BLOCK_LOG2: u8 = 12;
/// Bits of word 0 that hold the offset of the block's records, from bit 0.
pub const OFFSET_BITS: u32 = 48;
/// Lowest bit of the bits of one record in word 0.
pub const RECORD_BITS_SHIFT: u32 = 48;
/// Bits of a column's word that hold the width, from bit 0.
pub const WIDTH_BITS: u32 = 6;
/// Lowest bit of the slope in a column's word.
pub const SLOPE_SHIFT: u32 = 6;
/// Bits of the slope.
pub const SLOPE_BITS: u32 = 10;
/// Lowest bit of the base in a column's word; it takes the rest, signed.
pub const BASE_SHIFT: u32 = 16;

/// A block header's word for a column.
///
/// ```
/// use foldsym_format::table::Column;
/// let column = Column { width: 9, slope: 3, base: -40 };
/// assert_eq!(Column::unpack(column.pack()), column);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Column {
    /// Bits of the column in a record, at most [`MAX_WIDTH`].
    pub width: u32,
    /// The slope of the line: its increase per record.
    pub slope: u32,
    /// Where the line starts; 48 bits signed.
    pub base: i64,
}

impl Column {
    /// Reads the word.
    #[inline(always)]
    pub const fn unpack(word: u64) -> Self {
        Self {
            width: (word & bits::mask(WIDTH_BITS)) as u32,
            slope: ((word >> SLOPE_SHIFT) & bits::mask(SLOPE_BITS)) as u32,
            // The shift of a signed integer keeps the sign.
            base: word.cast_signed() >> BASE_SHIFT,
        }
    }

    /// The word; fields must be in their ranges.
    pub const fn pack(self) -> u64 {
        (self.width as u64) | ((self.slope as u64) << SLOPE_SHIFT) | (self.base.cast_unsigned() << BASE_SHIFT)
    }

    /// The value of record `index` of the block, whose stored bits are `stored`.
    #[inline(always)]
    pub const fn value(self, index: u32, stored: u64) -> i64 {
        // 10 bits times 12 bits: the product does not wrap. The sum wraps only for a width above `MAX_WIDTH`, which is damage.
        let line = (self.slope as i64).wrapping_mul(index as i64);
        self.base.wrapping_add(line).wrapping_add(stored.cast_signed())
    }
}

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
    columns: u8,
    block_log2: u8,
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
    pub const EMPTY: Self = Self { data: &[], words: &[], count: 0, columns: 0, block_log2: 0 };

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
        let blocks = count.div_ceil(1u32.wrapping_shl(block_log2.into()));
        // There may be nearly 2^32 blocks of 9 words. On a 32-bit target the product may exceed a `usize`.
        let words = (blocks as usize).checked_mul(usize::from(columns).wrapping_add(1)).ok_or(early)?;
        let (all, _) = data.get(HEADERS..).ok_or(early)?.as_chunks::<WORD>();
        let words = all.get(..words).ok_or(early)?;
        let least = words.len().saturating_mul(WORD).saturating_add(HEADERS).saturating_add(TAIL);
        // With the tail, 8 bytes can be read at any record of a sound table.
        if data.len() < least {
            return Err(early);
        }
        Ok(Self { data, words, count, columns, block_log2 })
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
        self.columns
    }

    /// The table's bytes: the whole section.
    pub const fn bytes(&self) -> &'d [u8] {
        self.data
    }

    /// Words of a block header.
    #[inline(always)]
    fn stride(&self) -> usize {
        usize::from(self.columns).wrapping_add(1)
    }

    /// The words of a record's block, from its word 0 up to those of its first `columns` columns, and the record's index
    /// in the block. `None` if there is no such record.
    #[inline(always)]
    fn place(&self, record: u32, columns: usize) -> Option<(&'d [[u8; WORD]], u32)> {
        if record >= self.count {
            return None;
        }
        let block = record.wrapping_shr(self.block_log2.into()) as usize;
        let index = record & (1u32.wrapping_shl(self.block_log2.into()).wrapping_sub(1));
        // `record` is below `count`, and opening checked that the headers of all blocks are in the section: nothing wraps.
        let first = block.wrapping_mul(self.stride());
        Some((self.words.get(first..first.wrapping_add(columns).wrapping_add(1))?, index))
    }

    /// Has memory bring a record that will be read soon: see [`bits::touch`].
    #[inline(always)]
    pub fn touch(&self, record: u32) {
        if cfg!(not(feature = "small"))
            // Word 0 alone says where the record is.
            && let Some(([word], index)) = self.place(record, 0)
        {
            bits::touch(self.data, first_bit(u64::from_le_bytes(*word), index) >> 3, 0..1);
        }
    }

    /// Reads the first K columns of a record.
    ///
    /// # Errors
    /// An index past the end, or a block whose records lie outside the section.
    #[inline(always)]
    pub fn record<const K: usize>(&self, record: u32) -> Result<[i64; K], FormatError> {
        // The code would have the loop below once for each K and caller. Tier 1 of the C interface may have at most 32 KiB of code.
        if cfg!(feature = "small") {
            return self.any_record(record);
        }
        let Some((words, index)) = self.place(record, K) else { return Err(self.refused(record, K)) };
        let Some((word, columns)) = words.split_first() else { return Err(self.refused(record, K)) };
        let word = u64::from_le_bytes(*word);
        if word >> RECORD_BITS_SHIFT > MAX_WIDTH.into() {
            return self.any_record(record);
        }
        // Most records: one load has the whole of it.
        let bit = first_bit(word, index);
        let Some(loaded) = bits::word(self.data, byte_of(bit)) else { return Err(self.refused(record, K)) };
        let mut loaded = loaded >> (bit & 7);
        let mut out = [0; K];
        for (value, word) in out.iter_mut().zip(columns) {
            let column = Column::unpack(u64::from_le_bytes(*word));
            *value = column.value(index, loaded & bits::mask(column.width));
            // The widths of a damaged header may exceed the bits of a record. Then values are wrong: `verify` compares the sum.
            loaded = loaded.wrapping_shr(column.width);
        }
        Ok(out)
    }

    /// As [`Table::record`], of a record of any bits.
    #[cfg_attr(feature = "small", inline(always))]
    #[cfg_attr(not(feature = "small"), inline(never))]
    fn any_record<const K: usize>(&self, record: u32) -> Result<[i64; K], FormatError> {
        let mut out = [0; K];
        match self.fill(record, &mut out) {
            Some(()) => Ok(out),
            None => Err(self.refused(record, K)),
        }
    }

    /// Reads the first columns of a record of any bits.
    #[inline(never)]
    fn fill(&self, record: u32, out: &mut [i64]) -> Option<()> {
        let (words, index) = self.place(record, out.len())?;
        let (word, columns) = words.split_first()?;
        let mut bit = first_bit(u64::from_le_bytes(*word), index);
        for (value, word) in out.iter_mut().zip(columns) {
            let column = Column::unpack(u64::from_le_bytes(*word));
            *value = column.value(index, bits::read(self.data, bit, column.width)?);
            bit = bit.wrapping_add(column.width.into());
        }
        Some(())
    }

    /// Why the first `columns` columns of a record cannot be read.
    #[cold]
    #[inline(never)]
    fn refused(&self, record: u32, columns: usize) -> FormatError {
        if record >= self.count {
            return FormatError::new(What::NoRecord, record.into());
        }
        match self.place(record, columns) {
            Some(([word, ..], index)) => truncated(first_bit(u64::from_le_bytes(*word), index)),
            _ => FormatError::new(What::Truncated, self.data.len() as u64),
        }
    }

    /// Reads one column of a record.
    ///
    /// # Errors
    /// As [`Table::record`]; [`What::Columns`] for a column that the table does not have.
    #[cfg_attr(feature = "small", inline(never))]
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub fn value(&self, record: u32, column: usize) -> Result<i64, FormatError> {
        let all = usize::from(self.columns);
        let Some((words, index)) = self.place(record, all) else { return Err(self.refused(record, all)) };
        let header = words.split_first().zip(words.get(column.wrapping_add(1)));
        let Some(((word, columns), found)) = header else {
            return Err(FormatError::new(What::Columns, column as u64));
        };
        let found = Column::unpack(u64::from_le_bytes(*found));
        let word = u64::from_le_bytes(*word);
        let mut bit = first_bit(word, index);
        if column.wrapping_add(1) == usize::from(self.columns) {
            // The last column ends where the record does.
            bit = bit.wrapping_add(word >> RECORD_BITS_SHIFT).wrapping_sub(found.width.into());
        } else {
            for word in columns.iter().take(column) {
                bit = bit.wrapping_add(u64::from_le_bytes(*word) & bits::mask(WIDTH_BITS));
            }
        }
        match bits::read(self.data, bit, found.width) {
            Some(stored) => Ok(found.value(index, stored)),
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
        let stride = self.stride();
        let first = self.words.len().saturating_mul(WORD).saturating_add(HEADERS) as u64;
        let limit = self.data.len().saturating_sub(TAIL) as u64;
        let mut left = self.count;
        let mut end = first;
        for (block, header) in self.words.chunks_exact(stride).enumerate() {
            let at = block.wrapping_mul(stride).wrapping_mul(WORD).wrapping_add(HEADERS) as u64;
            let Some((&word, columns)) = header.split_first() else { continue };
            let word = u64::from_le_bytes(word);
            let mut sum = 0u64;
            // A lookup uses both the widths and their sum: it takes the last column by the sum, and the others by the widths.
            for &word in columns {
                let column = Column::unpack(u64::from_le_bytes(word));
                if column.width > MAX_WIDTH {
                    return Err(FormatError::new(What::Width, at));
                }
                sum = sum.wrapping_add(column.width.into());
            }
            if sum != word >> RECORD_BITS_SHIFT {
                return Err(FormatError::new(What::Width, at));
            }
            let offset = word & bits::mask(OFFSET_BITS);
            let records = left.min(1u32.wrapping_shl(self.block_log2.into()));
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
