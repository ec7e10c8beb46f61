//! Finds the row at an offset in a row record, or lists all of its rows (schema, section 5).
//!
//! To find the row of an offset, a binary search over the directory of blocks finds the block, and the block
//! the row. Nothing else of the record is touched, so a lookup does not get slower with the length of a
//! function.

use core::hint::select_unpredictable;

use foldsym_format::bits;
use foldsym_format::records::rows as layout;
use foldsym_format::{SectionId, What, steps, varint};

use crate::error::Error;
use crate::high::High;
use crate::row::{Row, Spot};
use crate::row_block::{Block, early, wrong};

/// The rows of a piece or member.
#[derive(Clone, Copy)]
pub struct Rows<'d> {
    data: &'d [u8],
    len: u32,
    start_width: u8,
    place_width: u8,
    unit_log2: u8,
    /// Bit where the directory of blocks begins.
    directory: u64,
    first_block: usize,
}

impl<'d> Rows<'d> {
    #[inline(always)]
    pub(crate) fn open(data: &'d [u8], offset: u64, unit_log2: u8) -> Result<Self, Error> {
        let at = usize::try_from(offset).map_err(|_| early(offset))?;
        let (head, next) = varint::read(data, at).ok_or_else(|| early(offset))?;
        let len = u32::try_from(head >> layout::HEAD_SHIFT).map_err(|_| wrong(What::Length, at))?;
        let many = head & layout::HEAD_MANY != 0;
        // The bit follows from the number, and both are used here, so they must agree.
        if len == 0 || many != (len > layout::BLOCK_ROWS) {
            return Err(wrong(What::Length, at));
        }
        let mut rows =
            Self { data, len, start_width: 0, place_width: 0, unit_log2, directory: 0, first_block: next };
        if many {
            let widths =
                data.get(next..).and_then(|rest| rest.first_chunk::<2>()).ok_or_else(|| early(offset))?;
            [rows.start_width, rows.place_width] = *widths;
            if widths.iter().any(|&width| width > layout::MAX_DIRECTORY_WIDTH) {
                return Err(wrong(What::Width, next));
            }
            let directory = next.wrapping_add(2);
            rows.directory = (directory as u64).wrapping_shl(3);
            let len =
                u64::from(rows.block_count().wrapping_sub(1)).wrapping_mul(rows.entry_bits()).div_ceil(8);
            let end = (directory as u64).wrapping_add(len);
            rows.first_block = usize::try_from(end).map_err(|_| early(offset))?;
        }
        Ok(rows)
    }

    /// How many rows there are; at least 1.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub const fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(crate) const fn block_count(&self) -> u32 {
        self.len.div_ceil(layout::BLOCK_ROWS)
    }

    #[inline(always)]
    fn entry_bits(&self) -> u64 {
        u64::from(self.start_width).wrapping_add(self.place_width.into())
    }

    /// Where an entry of the directory begins.
    #[inline(always)]
    fn entry_bit(&self, entry: u32) -> u64 {
        self.directory.wrapping_add(self.entry_bits().wrapping_mul(entry.into()))
    }

    /// The start of a block, in units, and where it begins in the section.
    #[inline(always)]
    fn directory_entry(&self, block: u32) -> Result<(u64, usize), Error> {
        // Start and place of block 0 are 0, so the directory leaves it out.
        let Some(entry) = block.checked_sub(1) else { return Ok((0, self.first_block)) };
        let bit = self.entry_bit(entry);
        let start_width = u32::from(self.start_width);
        if cfg!(not(feature = "small")) && self.entry_bits() <= bits::MAX_WIDTH.into() {
            // Nearly always: one load has both.
            let both = bits::read(self.data, bit, self.entry_bits() as u32).ok_or_else(|| early(bit >> 3))?;
            let place = both.wrapping_shr(start_width) as usize;
            return Ok((both & bits::mask(start_width), self.first_block.wrapping_add(place)));
        }
        let start = bits::read(self.data, bit, start_width);
        let place = bits::read(self.data, bit.wrapping_add(start_width.into()), self.place_width.into());
        let (start, place) = start.zip(place).ok_or_else(|| early(bit >> 3))?;
        // At most 32 bits; on a 32-bit target the sum may wrap and then reads some other byte.
        Ok((start, self.first_block.wrapping_add(place as usize)))
    }

    /// The start of a block that is not the first, in units.
    #[inline(always)]
    fn start_of(&self, block: u32) -> Result<u64, Error> {
        let bit = self.entry_bit(block.wrapping_sub(1));
        bits::read(self.data, bit, self.start_width.into()).ok_or_else(|| early(bit >> 3))
    }

    /// How many rows a block has.
    #[inline(always)]
    fn rows_of(&self, block: u32) -> u32 {
        self.len.wrapping_sub(block.wrapping_mul(layout::BLOCK_ROWS)).min(layout::BLOCK_ROWS)
    }

    #[inline(always)]
    fn block(&self, block: u32) -> Result<Block, Error> {
        let (start, place) = self.directory_entry(block)?;
        let mut found = Block::NONE;
        found.read(self.data, place, self.rows_of(block), start)?;
        Ok(found)
    }

    /// Finds the row that holds at `offset` bytes from the start of the piece: the last one whose own
    /// offset is at most that.
    ///
    /// Takes log2 of the number of blocks plus at most 5 steps.
    ///
    /// # Errors
    /// Damage only: the first row has offset 0.
    pub fn find(&self, offset: u64) -> Result<Row, Error> {
        let (block, high, index) = self.locate(offset)?;
        let start = block.offset(self.data, &high, index)?;
        block.row(self.data, index, start.wrapping_shl(self.unit_log2.into()))
    }

    /// The number of the block whose rows hold at an offset in units.
    #[inline(always)]
    fn block_of(&self, target: u64) -> Result<u32, Error> {
        let mut block = 0u32;
        let mut blocks = self.block_count();
        while blocks > 1 {
            steps::step();
            // `half` is at least 1 here, so `middle` is never block 0, which has no entry. The number of turns depends only on `blocks`.
            let half = blocks >> 1;
            let middle = block.wrapping_add(half);
            block = select_unpredictable(self.start_of(middle)? <= target, middle, block);
            blocks = blocks.wrapping_sub(half);
        }
        Ok(block)
    }

    /// The block and number of the row that holds at `offset`.
    fn locate(&self, offset: u64) -> Result<(Block, High, u32), Error> {
        // Rows start at multiples of the unit, so all offsets inside a unit have one row.
        let target = offset.wrapping_shr(self.unit_log2.into());
        let found = self.block(self.block_of(target)?)?;
        let high = found.high(self.data)?;
        let index = found.find(self.data, &high, target.wrapping_sub(found.start))?;
        Ok((found, high, index))
    }

    /// Checks bits that no row contains: those between the end of each block's last column and the next byte.
    pub(crate) fn verify_padding(&self) -> Result<(), Error> {
        for block in 0..self.block_count() {
            let (start, place) = self.directory_entry(block)?;
            let rows = self.rows_of(block);
            let mut block = Block::NONE;
            let shared = block.parse(self.data, place, rows, start)?;
            // If another block has the offsets, this block ends where its own would begin.
            let len = match shared {
                Some(_) => 0,
                // `len` is `None` if the last row's bit is past the word. To read that row is then an error.
                None => block.high(self.data)?.len(rows.wrapping_sub(1)).unwrap_or(0),
            };
            let end = block.high.wrapping_add(len.into());
            let padding = (end.wrapping_neg() & 7) as u32;
            if bits::read(self.data, end, padding).is_none_or(|padding| padding != 0) {
                return Err(Error::new(SectionId::ROWS, What::Reserved, end >> 3));
            }
        }
        Ok(())
    }

    /// All rows, in order. Ends after the first damaged one.
    pub const fn iter(&self) -> RowIter<'d> {
        RowIter { rows: *self, next: 0, block: None }
    }
}

impl<'d> IntoIterator for Rows<'d> {
    type Item = Result<Row, Error>;
    type IntoIter = RowIter<'d>;

    fn into_iter(self) -> RowIter<'d> {
        self.iter()
    }
}

/// Where a block of a row record is, and where its rows hold.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// How many rows it has.
    rows: u32,
    /// Where it begins in the section.
    at: usize,
    /// Offset of its row 0, in units.
    start: u64,
    /// Offset of row 0 of the next block. The last block holds up to the end of the piece, with which callers compare an address first.
    end: u64,
}

impl Place {
    /// Finds the block whose rows hold at an offset in units, in the record at `record`; has memory bring it.
    #[inline(always)]
    pub(crate) fn of(data: &[u8], record: u64, target: u64) -> Result<Self, Error> {
        // Tier 1 of the C interface has a bar on code, not on instructions.
        let found = if cfg!(feature = "small") { None } else { Self::in_sound(data, record, target) };
        let found = match found {
            Some(found) => found,
            None => Self::in_any(data, record, target)?,
        };
        // A block of RocksDB has 73 bytes (`schema/why.md`): two cache lines, or three if it begins late in one.
        bits::touch(data, found.at as u64, 0..2);
        Ok(found)
    }

    /// As [`Place::of`], for a record whose head has at most two bytes and whose entries of the directory fit in a word: nearly all. `None`
    /// for any other record, and for damage.
    #[inline(always)]
    fn in_sound(data: &[u8], record: u64, target: u64) -> Option<Self> {
        let at = usize::try_from(record).ok()?;
        let word = bits::word(data, at)?;
        // Both of the head's first two bytes have the continuation bit of a varint.
        if word & 0x8080 == 0x8080 {
            return None;
        }
        let two = (word >> 7) & 1;
        let head = (word & 0x7f) | ((word >> 1) & 0x3f80 & two.wrapping_neg());
        let rows = (head >> layout::HEAD_SHIFT) as u32;
        let next = at.wrapping_add(1).wrapping_add(two as usize);
        if head & layout::HEAD_MANY == 0 {
            let one = Self { rows, at: next, start: 0, end: u64::MAX };
            return (rows.wrapping_sub(1) < layout::BLOCK_ROWS).then_some(one);
        }
        let widths = word.wrapping_shr(8).wrapping_shr((two as u32).wrapping_shl(3));
        let (start_width, place_width) = (widths as u32 & 0xff, (widths >> 8) as u32 & 0xff);
        let entry_bits = start_width.wrapping_add(place_width);
        // One comparison for both widths: it sends a few that the format allows the long way.
        if (start_width | place_width) > layout::MAX_DIRECTORY_WIDTH.into()
            || entry_bits > bits::MAX_WIDTH
            || rows <= layout::BLOCK_ROWS
        {
            return None;
        }
        let directory = (next as u64).wrapping_add(2).wrapping_shl(3);
        let entry_bits = u64::from(entry_bits);
        let bit_of =
            |block: u32| directory.wrapping_add(entry_bits.wrapping_mul(block.wrapping_sub(1).into()));
        let blocks = rows.wrapping_add(layout::BLOCK_ROWS.wrapping_sub(1)).wrapping_div(layout::BLOCK_ROWS);
        let (mut block, mut left) = (0u32, blocks);
        let (mut start, mut end) = (0, u64::MAX);
        while left > 1 {
            steps::step();
            // `half` is at least 1 here, so `middle` is never block 0, which has no entry. The number of turns depends only on `blocks`.
            let half = left >> 1;
            let middle = block.wrapping_add(half);
            let first = bits::read(data, bit_of(middle), start_width)?;
            // The last `middle` that is not at or before the target is the block after the one that is found.
            let is_before = first <= target;
            block = select_unpredictable(is_before, middle, block);
            start = select_unpredictable(is_before, first, start);
            end = select_unpredictable(is_before, end, first);
            left = left.wrapping_sub(half);
        }
        // The directory ends at a byte boundary, where the first block begins.
        let first_block = bit_of(blocks).wrapping_add(7) >> 3;
        let place = match block {
            0 => 0,
            _ => bits::read(data, bit_of(block).wrapping_add(start_width.into()), place_width)?,
        };
        let at = usize::try_from(first_block.wrapping_add(place)).ok()?;
        let before = block.wrapping_mul(layout::BLOCK_ROWS);
        Some(Self { rows: rows.wrapping_sub(before).min(layout::BLOCK_ROWS), at, start, end })
    }

    /// As [`Place::of`], for any record.
    #[cold]
    #[inline(never)]
    fn in_any(data: &[u8], record: u64, target: u64) -> Result<Self, Error> {
        // The unit only scales the offsets of whole rows.
        let rows = Rows::open(data, record, 0)?;
        let number = rows.block_of(target)?;
        let (start, at) = rows.directory_entry(number)?;
        let next = number.wrapping_add(1);
        let end = if next < rows.block_count() { rows.start_of(next)? } else { u64::MAX };
        Ok(Self { rows: rows.rows_of(number), at, start, end })
    }
}

/// A block of rows with the range of offsets in which it holds, in units.
#[derive(Clone, Copy)]
pub(crate) struct NearBlock {
    block: Block,
    high: High,
    /// Offset of the next block.
    end: u64,
}

impl NearBlock {
    /// Holds nowhere.
    pub(crate) const NONE: Self = Self { block: Block::NONE, high: High::EMPTY, end: 0 };

    /// Holds nowhere from now on.
    #[inline(always)]
    pub(crate) const fn leave(&mut self) {
        self.end = 0;
    }

    /// Moves to a block of a row record. Where that fails, it holds nowhere.
    #[inline(always)]
    pub(crate) fn enter(&mut self, data: &[u8], place: Place) -> Result<(), Error> {
        self.leave();
        self.block.read(data, place.at, place.rows, place.start)?;
        self.high = self.block.high(data)?;
        self.end = place.end;
        Ok(())
    }

    /// Whether the row of an offset is in it.
    #[inline(always)]
    pub(crate) fn holds(&self, target: u64) -> bool {
        (self.block.start..self.end).contains(&target)
    }

    /// The row at an offset.
    #[inline(always)]
    pub(crate) fn spot(&self, data: &[u8], target: u64) -> Result<Spot, Error> {
        let index = self.block.find(data, &self.high, target.wrapping_sub(self.block.start))?;
        self.block.spot(data, index)
    }
}

/// The content of the row that covers `offset` in the record at `rows`. Does not find the start of the row: that would double the time.
#[inline(never)] // a function of its own keeps its values in registers
pub(crate) fn find_spot(data: &[u8], rows: u64, unit_log2: u8, offset: u64) -> Result<Spot, Error> {
    let target = offset.wrapping_shr(unit_log2.into());
    let place = Place::of(data, rows, target)?;
    let mut found = Block::NONE;
    found.read(data, place.at, place.rows, place.start)?;
    let high = found.high(data)?;
    found.spot(data, found.find(data, &high, target.wrapping_sub(place.start))?)
}

/// The rows of a record in order; see [`Rows::iter`].
#[derive(Clone)]
pub struct RowIter<'d> {
    rows: Rows<'d>,
    next: u32,
    block: Option<(Block, High)>,
}

impl Iterator for RowIter<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next;
        if row >= self.rows.len {
            return None;
        }
        self.next = row.wrapping_add(1);
        // The number of rows of a block is a power of two.
        let index = row & layout::BLOCK_ROWS.wrapping_sub(1);
        let mut read = || {
            let (block, high) = match self.block {
                Some(block) if index != 0 => block,
                _ => {
                    let block = self.rows.block(row.wrapping_div(layout::BLOCK_ROWS))?;
                    *self.block.insert((block, block.high(self.rows.data)?))
                }
            };
            let offset = block.offset(self.rows.data, &high, index)?;
            block.row(self.rows.data, index, offset.wrapping_shl(self.rows.unit_log2.into()))
        };
        let read = read();
        if read.is_err() {
            self.next = self.rows.len;
        }
        Some(read)
    }
}
