//! A row record to the row at an offset, or to all of its rows (spec, section 5).
//!
//! To find the row of an offset, a binary search over the directory of blocks finds the block and one
//! over the packed offsets of the block the row; then scope, line and file are three more loads. Nothing
//! else of the record is touched, so a lookup does not get slower with the length of a function.

use core::hint::select_unpredictable;

use foldsym_format::bits::{self, u8_at, u16_at};
use foldsym_format::records::{file_code, line_code, rows as layout};
use foldsym_format::{SectionId, What, varint};

use crate::error::Error;
use crate::ids::FileId;

/// Where the file of a row or call is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCode {
    /// It is the file of the origin that the row or call is in.
    Origin,
    /// It is not known.
    Unknown,
    /// It is this file.
    File(FileId),
}

impl FileCode {
    #[inline(always)]
    pub(crate) fn new(code: u64) -> Option<Self> {
        match code {
            file_code::ORIGIN => Some(Self::Origin),
            file_code::UNKNOWN => Some(Self::Unknown),
            _ => Some(Self::File(FileId(u32::try_from(code.wrapping_sub(file_code::FIRST)).ok()?))),
        }
    }
}

/// From an offset on, up to the next row, code belongs to this scope and line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Bytes from the start of the piece.
    pub offset: u64,
    /// Node of the function's inline tree, 0: the function itself.
    pub scope: u32,
    /// The line, relative to the line of the declaration of the scope's origin; `None`: no line is known.
    pub line: Option<i64>,
    /// The file.
    pub file: FileCode,
    /// The column, 0: unknown or not kept.
    pub column: u32,
}

impl Row {
    /// What is known where there are no rows: the function.
    pub(crate) const NONE: Self =
        Self { offset: 0, scope: 0, line: None, file: FileCode::Unknown, column: 0 };
}

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

/// A packed column of a block.
#[derive(Clone, Copy)]
struct Packed {
    bit: u64,
    width: u32,
    base: u64,
}

impl Packed {
    const ABSENT: Self = Self { bit: 0, width: 0, base: 0 };

    #[inline(always)]
    fn get(&self, data: &[u8], index: u32) -> Result<u64, Error> {
        let bit = self.bit.wrapping_add(u64::from(self.width).wrapping_mul(index.into()));
        match bits::read(data, bit, self.width) {
            Some(stored) => Ok(self.base.wrapping_add(stored)),
            None => Err(early(bit >> 3)),
        }
    }
}

/// A block with the places of its columns.
#[derive(Clone, Copy)]
struct Block {
    rows: u32,
    /// Offset of row 0, in units.
    start: u64,
    /// Offsets of rows 1.. minus `start`, the first at index 0.
    offsets: Packed,
    scopes: Packed,
    lines: Packed,
    line_base: i64,
    files: Packed,
    columns: Packed,
}

#[cold]
fn early(offset: u64) -> Error {
    Error::new(SectionId::ROWS, What::Truncated, offset)
}

#[cold]
fn wrong(what: What, at: usize) -> Error {
    Error::new(SectionId::ROWS, what, at as u64)
}

#[inline(always)]
fn widths(word: u16) -> [u32; 3] {
    [layout::OFFSET_WIDTH_SHIFT, layout::SCOPE_WIDTH_SHIFT, layout::LINE_WIDTH_SHIFT]
        .map(|shift| u32::from(word.wrapping_shr(shift) & layout::WIDTH_MASK))
}

impl<'d> Rows<'d> {
    #[inline(always)]
    pub(crate) fn open(data: &'d [u8], offset: u64, unit_log2: u8) -> Result<Self, Error> {
        let at = usize::try_from(offset).map_err(|_| early(offset))?;
        let (head, next) = varint::read(data, at).ok_or_else(|| early(offset))?;
        let len = u32::try_from(head >> layout::HEAD_SHIFT).map_err(|_| wrong(What::Length, at))?;
        let many = head & layout::HEAD_MANY != 0;
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
    const fn block_count(&self) -> u32 {
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
        let Some(entry) = block.checked_sub(1) else { return Ok((0, self.first_block)) };
        let bit = self.entry_bit(entry);
        let start_width = u32::from(self.start_width);
        let start = bits::read(self.data, bit, start_width);
        let place = bits::read(self.data, bit.wrapping_add(start_width.into()), self.place_width.into());
        let (start, place) = start.zip(place).ok_or_else(|| early(bit >> 3))?;
        // At most 32 bits; on a 32-bit target the sum may wrap and then reads some other byte.
        Ok((start, self.first_block.wrapping_add(place as usize)))
    }

    #[inline(always)]
    fn block(&self, block: u32) -> Result<Block, Error> {
        let (start, place) = self.directory_entry(block)?;
        let rows = self.len.wrapping_sub(block.wrapping_mul(layout::BLOCK_ROWS)).min(layout::BLOCK_ROWS);
        Block::read(self.data, place, rows, start)
    }

    /// Finds the row that holds at `offset` bytes from the start of the piece: the last one whose own
    /// offset is at most that.
    ///
    /// Takes log2 of the number of blocks plus at most 6 steps.
    ///
    /// # Errors
    /// Damage only: the first row has offset 0.
    #[inline(always)]
    pub fn find(&self, offset: u64) -> Result<Row, Error> {
        let target = offset.wrapping_shr(self.unit_log2.into());
        let mut block = 0u32;
        let mut blocks = self.block_count();
        while blocks > 1 {
            let half = blocks >> 1;
            let middle = block.wrapping_add(half);
            // The directory begins with block 1.
            let entry = self.entry_bit(middle.wrapping_sub(1));
            let start =
                bits::read(self.data, entry, self.start_width.into()).ok_or_else(|| early(entry >> 3))?;
            block = select_unpredictable(start <= target, middle, block);
            blocks = blocks.wrapping_sub(half);
        }
        let found = self.block(block)?;
        let index = found.find(self.data, target.wrapping_sub(found.start))?;
        found.row(self.data, index, self.unit_log2)
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

impl Block {
    #[inline(always)]
    fn read(data: &[u8], place: usize, rows: u32, start: u64) -> Result<Self, Error> {
        let word = u16_at(data, place).ok_or_else(|| early(place as u64))?;
        let [offset_width, scope_width, line_width] = widths(word);
        let mut at = place.wrapping_add(2);
        let mut flags = 0;
        if word & layout::EXTENDED != 0 {
            flags = u8_at(data, at).ok_or_else(|| early(at as u64))?;
            if flags & !(layout::FILES | layout::COLUMNS | layout::SHARED) != 0 {
                return Err(wrong(What::Reserved, at));
            }
            at = at.wrapping_add(1);
        }
        let number = |at: &mut usize| {
            let (value, next) = varint::read(data, *at).ok_or_else(|| early(*at as u64))?;
            *at = next;
            Ok::<u64, Error>(value)
        };
        let scope_base = number(&mut at)?;
        let line_base = varint::unzigzag(number(&mut at)?);
        let mut files = Packed::ABSENT;
        let mut columns = Packed::ABSENT;
        let mut back = None;
        if flags != 0 {
            let column = |at: &mut usize| {
                let width = u8_at(data, *at).ok_or_else(|| early(*at as u64))?;
                if width > layout::MAX_EXTENDED_WIDTH {
                    return Err(wrong(What::Width, *at));
                }
                *at = at.wrapping_add(1);
                Ok(Packed { bit: 0, width: width.into(), base: number(at)? })
            };
            if flags & layout::FILES != 0 {
                files = column(&mut at)?;
            }
            if flags & layout::COLUMNS != 0 {
                columns = column(&mut at)?;
            }
            if flags & layout::SHARED != 0 {
                back = Some(number(&mut at)?);
            }
        }
        let mut bit = (at as u64).wrapping_shl(3);
        let mut take = |width: u32, count: u32| {
            let first = bit;
            bit = bit.wrapping_add(u64::from(width).wrapping_mul(count.into()));
            first
        };
        let offsets = match back {
            None => take(offset_width, rows.wrapping_sub(1)),
            Some(back) => shared_offsets(data, place, back, offset_width)?,
        };
        let scopes = take(scope_width, rows);
        let lines = take(line_width, rows);
        files.bit = take(files.width, rows);
        columns.bit = take(columns.width, rows);
        Ok(Self {
            rows,
            start,
            offsets: Packed { bit: offsets, width: offset_width, base: 0 },
            scopes: Packed { bit: scopes, width: scope_width, base: scope_base },
            lines: Packed { bit: lines, width: line_width, base: 0 },
            line_base,
            files,
            columns,
        })
    }

    /// The number of the last row whose offset is at most `target`, relative to row 0.
    #[inline(always)]
    fn find(&self, data: &[u8], target: u64) -> Result<u32, Error> {
        let mut row = 0u32;
        let mut left = self.rows;
        while left > 1 {
            let half = left >> 1;
            let middle = row.wrapping_add(half);
            let offset = self.offsets.get(data, middle.wrapping_sub(1))?;
            row = select_unpredictable(offset <= target, middle, row);
            left = left.wrapping_sub(half);
        }
        Ok(row)
    }

    #[inline(always)]
    fn row(&self, data: &[u8], index: u32, unit_log2: u8) -> Result<Row, Error> {
        let offset = match index.checked_sub(1) {
            None => self.start,
            Some(stored) => self.start.wrapping_add(self.offsets.get(data, stored)?),
        };
        let bad = |column: &Packed| wrong(What::Value, usize::try_from(column.bit >> 3).unwrap_or(0));
        let line = match self.lines.get(data, index)? {
            line_code::NONE => None,
            line => Some(self.line_base.wrapping_add(line.wrapping_sub(line_code::FIRST).cast_signed())),
        };
        Ok(Row {
            offset: offset.wrapping_shl(unit_log2.into()),
            scope: u32::try_from(self.scopes.get(data, index)?).map_err(|_| bad(&self.scopes))?,
            line,
            file: FileCode::new(self.files.get(data, index)?).ok_or_else(|| bad(&self.files))?,
            column: u32::try_from(self.columns.get(data, index)?).map_err(|_| bad(&self.columns))?,
        })
    }
}

/// The bit where the offsets of the block that starts `back` bytes before `place` begin.
#[cold]
fn shared_offsets(data: &[u8], place: usize, back: u64, offset_width: u32) -> Result<u64, Error> {
    let bad = wrong(What::Length, place);
    let place = usize::try_from(back).ok().and_then(|back| place.checked_sub(back)).ok_or(bad)?;
    let word = u16_at(data, place).ok_or(bad)?;
    let [width, ..] = widths(word);
    let mut at = place.wrapping_add(2);
    let mut flags = 0;
    if word & layout::EXTENDED != 0 {
        flags = u8_at(data, at).ok_or(bad)?;
        at = at.wrapping_add(1);
    }
    // Its own must stand in it: else a chain of blocks would have to be followed.
    if width != offset_width || flags & layout::SHARED != 0 || back == 0 {
        return Err(bad);
    }
    let skip = |at: usize| varint::read(data, at).map(|(_, next)| next).ok_or(bad);
    at = skip(skip(at)?)?;
    for flag in [layout::FILES, layout::COLUMNS] {
        if flags & flag != 0 {
            at = skip(at.wrapping_add(1))?;
        }
    }
    Ok((at as u64).wrapping_shl(3))
}

/// The row of the record at `rows` that holds at `offset`: [`Rows::open`] and [`Rows::find`] at once.
#[inline(never)] // a function of its own keeps its values in registers
pub(crate) fn find_row(data: &[u8], rows: u64, unit_log2: u8, offset: u64) -> Result<Row, Error> {
    Rows::open(data, rows, unit_log2)?.find(offset)
}

/// The rows of a record in order; see [`Rows::iter`].
#[derive(Clone)]
pub struct RowIter<'d> {
    rows: Rows<'d>,
    next: u32,
    block: Option<Block>,
}

impl Iterator for RowIter<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next;
        if row >= self.rows.len {
            return None;
        }
        self.next = row.wrapping_add(1);
        let index = row & layout::BLOCK_ROWS.wrapping_sub(1);
        let mut read = || {
            let block = match self.block {
                Some(block) if index != 0 => block,
                _ => *self.block.insert(self.rows.block(row.wrapping_div(layout::BLOCK_ROWS))?),
            };
            block.row(self.rows.data, index, self.rows.unit_log2)
        };
        let read = read();
        if read.is_err() {
            self.next = self.rows.len;
        }
        Some(read)
    }
}
