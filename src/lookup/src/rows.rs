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

    /// Where the block is whose rows hold at an offset in units; has memory bring it.
    #[inline(always)]
    pub(crate) fn seek(&self, target: u64) -> Result<Place, Error> {
        let number = self.block_of(target)?;
        let (start, at) = self.directory_entry(number)?;
        // A block of RocksDB has 73 bytes (`schema/why.md`): two cache lines, or three if it begins late in one.
        bits::touch(self.data, at as u64, 0..3);
        Ok(Place { number, start, at })
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

/// Where a block of a row record is.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    number: u32,
    /// Offset of its row 0, in units.
    start: u64,
    /// Where it begins in the section.
    at: usize,
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
    pub(crate) fn enter(&mut self, rows: &Rows<'_>, place: Place) -> Result<(), Error> {
        self.leave();
        self.block.read(rows.data, place.at, rows.rows_of(place.number), place.start)?;
        self.high = self.block.high(rows.data)?;
        let next = place.number.wrapping_add(1);
        // The last block holds up to the end of the piece, with which a cursor compares the address first.
        self.end = if next < rows.block_count() { rows.start_of(next)? } else { u64::MAX };
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
    let rows = Rows::open(data, rows, unit_log2)?;
    let target = offset.wrapping_shr(unit_log2.into());
    let found = rows.block(rows.block_of(target)?)?;
    let high = found.high(data)?;
    found.spot(data, found.find(data, &high, target.wrapping_sub(found.start))?)
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
