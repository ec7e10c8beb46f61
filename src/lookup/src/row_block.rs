//! Finds the row at an offset in a block of up to 32 rows (schema, section 5).
//!
//! The high part of the offset leads to the few rows that share it, and their low parts to the one. Its line is
//! one load, and a second in the few rows with a long one; its scope is that of the run that it is in, which a
//! count of the set bits before it numbers.

use foldsym_format::bits::{self, u8_at, u16_at, u32_at};
use foldsym_format::records::{file_code, line_code, rows as layout};
use foldsym_format::{SectionId, What, varint};

use crate::error::Error;
use crate::high::{self, High};
use crate::row::{FileCode, Row, Spot};

/// A packed column of a block.
#[derive(Clone, Copy)]
struct Packed {
    bit: u64,
    width: u32,
}

impl Packed {
    const ABSENT: Self = Self { bit: 0, width: 0 };

    #[inline(always)]
    fn get(&self, data: &[u8], index: u32) -> Result<u64, Error> {
        let bit = self.bit.wrapping_add(u64::from(self.width).wrapping_mul(index.into()));
        bits::read(data, bit, self.width).ok_or_else(|| early(bit >> 3))
    }
}

/// A packed column of values that are a u32 in every file, above a base.
#[derive(Clone, Copy)]
struct Based {
    packed: Packed,
    base: u64,
}

impl Based {
    const ABSENT: Self = Self { packed: Packed::ABSENT, base: 0 };

    #[inline(always)]
    fn get(&self, data: &[u8], index: u32) -> Result<u32, Error> {
        let value = self.base.wrapping_add(self.packed.get(data, index)?);
        u32::try_from(value).map_err(|_| Error::new(SectionId::ROWS, What::Width, self.packed.bit >> 3))
    }
}

/// A block with the places of its columns.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) rows: u32,
    /// Offset of row 0, in units.
    pub(crate) start: u64,
    /// Low parts of the offsets of rows 1.. minus `start`, the first at index 0.
    low: Packed,
    /// Bit where their high parts begin.
    pub(crate) high: u64,
    /// For each row but the first a bit: whether its scope is another than that of the row before.
    changes: u32,
    /// The scopes of row 0 and of those rows.
    scopes: Based,
    /// The low parts of the line codes.
    lines: Packed,
    /// For each row a bit: whether its line code has a high part.
    more: u32,
    /// Those parts.
    parts: Packed,
    line_base: i64,
    columns: Based,
    /// For each row a bit: whether it has a file of its own.
    differs: u32,
    /// The files of those rows.
    files: Based,
}

#[cold]
pub(crate) fn early(offset: u64) -> Error {
    Error::new(SectionId::ROWS, What::Truncated, offset)
}

#[cold]
pub(crate) fn wrong(what: What, at: usize) -> Error {
    Error::new(SectionId::ROWS, what, at as u64)
}

/// The widths of offsets, scopes, lines and their high parts, in the order of the format.
#[inline(always)]
const fn widths(word: u32) -> [u32; 4] {
    // Written out: as a `map` over the shifts it is a loop in the machine code.
    [
        word.wrapping_shr(layout::LOW_WIDTH_SHIFT) & layout::WIDTH_MASK,
        word.wrapping_shr(layout::SCOPE_WIDTH_SHIFT) & layout::WIDTH_MASK,
        word.wrapping_shr(layout::LINE_WIDTH_SHIFT) & layout::WIDTH_MASK,
        word.wrapping_shr(layout::MORE_WIDTH_SHIFT) & layout::WIDTH_MASK,
    ]
}

/// The fields that many blocks have after their first word, except the flags.
struct Extension {
    widths: [u32; 4],
    line_base: u64,
    scope_base: u64,
    files: Based,
    columns: Based,
    back: Option<u64>,
    /// Where it ends.
    end: usize,
}

impl Extension {
    /// The fields of a block that has only its first word.
    #[inline(always)]
    const fn of(word: u32, end: usize) -> Self {
        Self {
            widths: widths(word),
            line_base: word.wrapping_shr(layout::LINE_BASE_SHIFT) as u64,
            scope_base: 0,
            files: Based::ABSENT,
            columns: Based::ABSENT,
            back: None,
            end,
        }
    }

    /// Reads the fields at `at`, after the first word. Their first byte has the flags.
    #[inline(always)]
    fn read(data: &[u8], at: usize, word: u32) -> Result<(u8, Self), Error> {
        // The tail of the section leaves 8 bytes at each byte of a record.
        let next = bits::word(data, at).ok_or_else(|| early(at as u64))?;
        let flags = next as u8;
        if flags & !(layout::FILES | layout::SCOPES) != 0 {
            return Ok((flags, Self::read_rare(data, at, word, flags)?));
        }
        // All of it is in the one word, wherever it begins.
        let scope_bits = if flags & layout::SCOPES != 0 { layout::BASE_BITS } else { 0 };
        let file_bits = if flags & layout::FILES != 0 { layout::BASE_BITS.wrapping_add(8) } else { 0 };
        let file = next.wrapping_shr(scope_bits.wrapping_add(8)) & bits::mask(file_bits);
        let mut extension = Self::of(
            word,
            at.wrapping_add(1).wrapping_add((scope_bits.wrapping_add(file_bits) >> 3) as usize),
        );
        extension.scope_base = next.wrapping_shr(8) & bits::mask(scope_bits);
        extension.files =
            Based { packed: Packed { bit: 0, width: file as u32 & 0xff }, base: file.wrapping_shr(8) };
        if extension.files.packed.width > layout::MAX_EXTENDED_WIDTH.into() {
            return Err(wrong(What::Width, at));
        }
        Ok((flags, extension))
    }

    /// Reads what follows the flags at `at` where few blocks have such.
    #[cold]
    #[inline(never)]
    fn read_rare(data: &[u8], at: usize, word: u32, flags: u8) -> Result<Self, Error> {
        let mut at = at.wrapping_add(1);
        let mut extension = Self::of(word, at);
        let byte = |at: &mut usize, max: u8| {
            let value = u8_at(data, *at).ok_or_else(|| early(*at as u64))?;
            if value > max {
                return Err(wrong(What::Width, *at));
            }
            *at = at.wrapping_add(1);
            Ok(value)
        };
        let number = |at: &mut usize| {
            let (value, next) = varint::read(data, *at).ok_or_else(|| early(*at as u64))?;
            *at = next;
            Ok::<u64, Error>(value)
        };
        if flags & !layout::FLAGS != 0 {
            return Err(wrong(What::Reserved, at.wrapping_sub(1)));
        }
        let has = |flag: u8| flags & flag != 0;
        let base = |at: &mut usize| {
            if has(layout::WIDE) {
                return number(at);
            }
            let value = u16_at(data, *at).ok_or_else(|| early(*at as u64))?;
            *at = at.wrapping_add(2);
            Ok(value.into())
        };
        let column = |at: &mut usize| {
            let width = byte(at, layout::MAX_EXTENDED_WIDTH)?;
            Ok::<Based, Error>(Based { packed: Packed { bit: 0, width: width.into() }, base: base(at)? })
        };
        if has(layout::WIDE) {
            // The extension has these fields, so those of the first word must be 0 (schema, section 5).
            if word != layout::EXTENDED {
                return Err(wrong(What::Reserved, at.wrapping_sub(1)));
            }
            for width in &mut extension.widths {
                *width = byte(&mut at, layout::MAX_WIDE_WIDTH)?.into();
            }
            extension.line_base = number(&mut at)?;
        }
        if has(layout::SCOPES) {
            extension.scope_base = base(&mut at)?;
        }
        if has(layout::FILES) {
            extension.files = column(&mut at)?;
        }
        if has(layout::COLUMNS) {
            extension.columns = column(&mut at)?;
            // A column of width 0 is not read again: each row has the base.
            if extension.columns.base > u32::MAX.into() {
                return Err(wrong(What::Width, at));
            }
        }
        if has(layout::SHARED) {
            extension.back = Some(number(&mut at)?);
        }
        extension.end = at;
        Ok(extension)
    }
}

impl Block {
    /// One without rows.
    pub(crate) const NONE: Self = Self {
        rows: 0,
        start: 0,
        low: Packed::ABSENT,
        high: 0,
        changes: 0,
        scopes: Based::ABSENT,
        lines: Packed::ABSENT,
        more: 0,
        parts: Packed::ABSENT,
        line_base: 0,
        columns: Based::ABSENT,
        differs: 0,
        files: Based::ABSENT,
    };

    /// Reads the block at `place`, of 1 to 32 rows, into `self`. After an error the content of `self` is unspecified.
    #[inline(always)]
    pub(crate) fn read(&mut self, data: &[u8], place: usize, rows: u32, start: u64) -> Result<(), Error> {
        // Tier 1 of the C interface has a bar on code, not on instructions.
        if cfg!(not(feature = "small")) && self.read_plain(data, place, rows, start).is_some() {
            return Ok(());
        }
        self.read_any(data, place, rows, start)
    }

    /// Reads a block that has no extension, or one with bases of scopes and files alone: most blocks. Two loads have all that a block
    /// without files needs. `None` for any other block, and past the end.
    #[inline(always)]
    fn read_plain(&mut self, data: &[u8], place: usize, rows: u32, start: u64) -> Option<()> {
        const FLAGS_SHIFT: u32 = u32::BITS;
        const SCOPE_BASE_SHIFT: u32 = FLAGS_SHIFT + u8::BITS;
        const FILES_BITS: u32 = u8::BITS + layout::BASE_BITS;
        // The tail of the section leaves 8 bytes at each byte of a record.
        let word = bits::word(data, place)?;
        // Both are 0 or 1: as factors and masks they replace branches that no processor can predict.
        let extended = word.wrapping_shr(layout::EXTENDED.trailing_zeros()) & 1;
        let flags = word.wrapping_shr(FLAGS_SHIFT) & 0xff & extended.wrapping_neg();
        if flags & !u64::from(layout::SCOPES | layout::FILES) != 0 {
            return None;
        }
        let based = flags.wrapping_shr(layout::SCOPES.trailing_zeros());
        let [low_width, scope_width, line_width, more_width] = widths(word as u32);
        let scope_base =
            word.wrapping_shr(SCOPE_BASE_SHIFT) & bits::mask(layout::BASE_BITS) & based.wrapping_neg();
        let head = extended.wrapping_mul(8).wrapping_add(based.wrapping_mul(layout::BASE_BITS.into()));
        let mut bit = (place as u64).wrapping_mul(8).wrapping_add(head).wrapping_add(u32::BITS.into());
        let mut files = Based::ABSENT;
        if flags & u64::from(layout::FILES) != 0 {
            let word = bits::read(data, bit, FILES_BITS)?;
            files = Based { packed: Packed { bit: 0, width: word as u32 & 0xff }, base: word >> 8 };
            bit = bit.wrapping_add(FILES_BITS.into());
            if files.packed.width > layout::MAX_EXTENDED_WIDTH.into() {
                return None;
            }
        }
        // Bitmaps of 31 and 32 rows are in one word.
        let bitmaps = high::window(data, bit)?;
        let after_first = rows.wrapping_sub(1);
        let changes_len = if scope_width == 0 { 0 } else { after_first };
        let more_len = if more_width == 0 { 0 } else { rows };
        let changes = (bitmaps & bits::mask(changes_len)) as u32;
        let more = (bitmaps.wrapping_shr(changes_len) & bits::mask(more_len)) as u32;
        let after = |bit: u64, width: u32, count: u32| bit.wrapping_add(width.wrapping_mul(count).into());
        let mut low = bit.wrapping_add(changes_len.into()).wrapping_add(more_len.into());
        self.differs = 0;
        if flags & u64::from(layout::FILES) != 0 {
            self.differs = bitmap(data, low, rows).ok()?;
            low = low.wrapping_add(rows.into());
        }
        let lines = after(low, low_width, after_first);
        let scopes = after(lines, line_width, rows);
        let parts = after(scopes, scope_width, changes.count_ones().wrapping_add(1));
        files.packed.bit = after(parts, more_width, more.count_ones());
        self.high = after(files.packed.bit, files.packed.width, self.differs.count_ones());
        (self.rows, self.start, self.changes, self.more) = (rows, start, changes, more);
        self.low = Packed { bit: low, width: low_width };
        self.lines = Packed { bit: lines, width: line_width };
        self.line_base = varint::unzigzag((word as u32).wrapping_shr(layout::LINE_BASE_SHIFT).into());
        self.scopes = Based { packed: Packed { bit: scopes, width: scope_width }, base: scope_base };
        self.parts = Packed { bit: parts, width: more_width };
        (self.columns, self.files) = (Based::ABSENT, files);
        Some(())
    }

    /// Reads any block.
    #[cfg_attr(feature = "small", inline(always))]
    #[cfg_attr(not(feature = "small"), inline(never))]
    fn read_any(&mut self, data: &[u8], place: usize, rows: u32, start: u64) -> Result<(), Error> {
        match self.parse(data, place, rows, start)? {
            Some(back) => self.share(data, place, back),
            None => Ok(()),
        }
    }

    /// Reads the block but for the offsets that another has; says how far before it that is.
    #[cfg_attr(feature = "small", inline(never))]
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn parse(
        &mut self,
        data: &[u8],
        place: usize,
        rows: u32,
        start: u64,
    ) -> Result<Option<u64>, Error> {
        let word = u32_at(data, place).ok_or_else(|| early(place as u64))?;
        let at = place.wrapping_add(4);
        let (flags, extension) = match word & layout::EXTENDED {
            0 => (0, Extension::of(word, at)),
            _ => Extension::read(data, at, word)?,
        };
        let Extension { widths, line_base, scope_base, mut files, mut columns, back, end } = extension;
        let [low_width, scope_width, line_width, more_width] = widths;
        let mut bit = (end as u64).wrapping_shl(3);
        let mut take = |width: u32, count: u32| {
            let first = bit;
            bit = bit.wrapping_add(u64::from(width).wrapping_mul(count.into()));
            first
        };
        // `Rows::open` refuses a record without rows, so each block has one.
        let after_first = rows.wrapping_sub(1);
        let has = |set: bool, count: u32| if set { count } else { 0 };
        // Bitmaps come first in a block, since the numbers of their set bits give the places of the columns.
        let changes = has(scope_width != 0, after_first);
        let changes = bitmap(data, take(1, changes), changes)?;
        let more = has(more_width != 0, rows);
        let more = bitmap(data, take(1, more), more)?;
        let differs = has(flags & layout::FILES != 0, rows);
        let differs = bitmap(data, take(1, differs), differs)?;
        (self.rows, self.start) = (rows, start);
        (self.changes, self.more, self.differs) = (changes, more, differs);
        // A block that shares offsets stores no low parts: `share` replaces the place.
        self.low = Packed { bit: take(low_width, has(back.is_none(), after_first)), width: low_width };
        self.lines = Packed { bit: take(line_width, rows), width: line_width };
        self.line_base = varint::unzigzag(line_base);
        // One more than there are changes: row 0 has a scope too.
        let scopes = take(scope_width, changes.count_ones().wrapping_add(1));
        self.scopes = Based { packed: Packed { bit: scopes, width: scope_width }, base: scope_base };
        self.parts = Packed { bit: take(more_width, more.count_ones()), width: more_width };
        columns.packed.bit = take(columns.packed.width, has(flags & layout::COLUMNS != 0, rows));
        files.packed.bit = take(files.packed.width, differs.count_ones());
        (self.columns, self.files) = (columns, files);
        self.high = take(0, 0);
        Ok(back)
    }

    /// Takes the offsets of the block that starts `back` bytes before `place`, the place of this one.
    #[cold]
    fn share(&mut self, data: &[u8], place: usize, back: u64) -> Result<(), Error> {
        let bad = wrong(What::Length, place);
        let at = usize::try_from(back).ok().and_then(|back| place.checked_sub(back)).ok_or(bad)?;
        let mut source = Self::NONE;
        // Both blocks have the same number of rows (schema, section 5). A block does not store it.
        let further = source.parse(data, at, self.rows, 0)?;
        // That block must have its own offsets: else the reader would have to follow a chain of blocks.
        if source.low.width != self.low.width || further.is_some() {
            return Err(bad);
        }
        (self.low, self.high) = (source.low, source.high);
        Ok(())
    }

    /// The high parts of its offsets.
    #[inline(always)]
    pub(crate) fn high(&self, data: &[u8]) -> Result<High, Error> {
        match self.rows {
            // The one row is at the start of the block and stores no offset.
            1 => Ok(High::EMPTY),
            _ => High::read(data, self.high).ok_or_else(|| early(self.high >> 3)),
        }
    }

    /// The number of the last row whose offset is at most `target`, relative to row 0.
    #[inline(always)]
    pub(crate) fn find(&self, data: &[u8], high: &High, target: u64) -> Result<u32, Error> {
        let rows = self.rows.wrapping_sub(1);
        let (before, equal) = high.rows_of(target.wrapping_shr(self.low.width));
        // `rows_of` also counts bits that follow the last row's, so both numbers are limited to the rows of the block.
        let row = before.min(rows);
        let Packed { bit, width } = self.low;
        let bit = bit.wrapping_add(u64::from(width).wrapping_mul(row.into()));
        // Mostly few rows share a high part.
        let equal = equal.min(rows.wrapping_sub(row));
        match bits::count_up_to(data, bit, width, equal, target & bits::mask(width)) {
            Ok(count) => Ok(row.wrapping_add(count)),
            Err(bit) => Err(early(bit >> 3)),
        }
    }

    /// Offset of a row, in units.
    #[inline(always)]
    pub(crate) fn offset(&self, data: &[u8], high: &High, index: u32) -> Result<u64, Error> {
        // Row 0 stores no offset, so row i has the stored offset i - 1.
        let Some(stored) = index.checked_sub(1) else { return Ok(self.start) };
        let part = high.part_of(stored).ok_or_else(|| early(self.high >> 3))?;
        let offset = part.wrapping_shl(self.low.width) | self.low.get(data, stored)?;
        Ok(self.start.wrapping_add(offset))
    }

    /// The row's scope, line, file and column, without its start.
    #[inline(always)]
    pub(crate) fn spot(&self, data: &[u8], index: u32) -> Result<Spot, Error> {
        let mut code = self.lines.get(data, index)?;
        if self.more.wrapping_shr(index) & 1 != 0 {
            let part = self.parts.get(data, ones_below(self.more, index))?;
            // Both widths are at most 31, so the code has at most 62 bits.
            code |= part.wrapping_shl(self.lines.width);
        }
        let line = match code {
            line_code::NONE => None,
            line => Some(self.line_base.wrapping_add(line.wrapping_sub(line_code::FIRST).cast_signed())),
        };
        // 0: the origin's, where the bit of the row is not set.
        let mut file = 0;
        if self.differs.wrapping_shr(index) & 1 != 0 {
            file = self.files.get(data, ones_below(self.differs, index))?;
            // The bit would mean the same.
            if u64::from(file) == file_code::ORIGIN {
                return Err(wrong(What::Value, usize::try_from(self.files.packed.bit >> 3).unwrap_or(0)));
            }
        }
        Ok(Spot {
            scope: self.scopes.get(data, ones_below(self.changes, index))?,
            line,
            file,
            column: match self.columns.packed.width {
                // All rows have the base, which is 0 in a block without columns. Nothing has to be read.
                0 => self.columns.base as u32,
                _ => self.columns.get(data, index)?,
            },
        })
    }

    /// Row `index`, which begins `offset` bytes from the start of the piece.
    #[inline(always)]
    pub(crate) fn row(&self, data: &[u8], index: u32, offset: u64) -> Result<Row, Error> {
        let Spot { scope, line, file, column } = self.spot(data, index)?;
        Ok(Row { offset, scope, line, file: FileCode::new(file), column })
    }
}

/// The set bits below bit `index`.
#[inline(always)]
const fn ones_below(bitmap: u32, index: u32) -> u32 {
    (bitmap & 1u32.wrapping_shl(index).wrapping_sub(1)).count_ones()
}

/// A bit for each of up to 32 rows.
#[inline(always)]
fn bitmap(data: &[u8], bit: u64, rows: u32) -> Result<u32, Error> {
    match bits::read(data, bit, rows) {
        Some(bitmap) => Ok(bitmap as u32),
        None => Err(early(bit >> 3)),
    }
}
