//! Writes one block of up to 32 rows, and the directory of a record with many blocks (schema, section 5).

use super::bits::{BitWriter, put_varint, width_of};
use foldsym_format::records::{file_code, line_code, rows as records};
use foldsym_format::varint::zigzag;

/// The widest line code. A cell holds the difference of two lines of 32 bits, so two cells may differ by nearly 2^33.
const LINE_BITS: u32 = 33;
/// The widest low or high part of a line code, and the widest low part of an offset.
const PART_BITS: u32 = records::MAX_WIDE_WIDTH as u32;

/// The most zeros of a high part that are written at once.
const HIGH_STEP: u32 = 32;

/// A row as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// Units from the start of the piece.
    pub(super) offset: u32,
    pub(super) scope: u32,
    /// Line minus the line of the scope's origin; `None` if no line is known.
    pub(super) line: Option<i64>,
    /// 0: the origin's; 1: unknown; else 2 + file.
    pub(super) file: u32,
    pub(super) column: u16,
}

/// The least and the largest of some values.
#[derive(Clone, Copy)]
struct Span {
    least: u64,
    most: u64,
}

impl Span {
    const EMPTY: Span = Span { least: u64::MAX, most: 0 };

    fn add(&mut self, value: u64) {
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
    }

    /// How the values are stored: relative to the least one.
    fn stored(self) -> StoredSpan {
        StoredSpan { width: width_of(self.most - self.least), base: self.least }
    }
}

/// How values are stored: bits for each, which hold what is to be added to the base.
#[derive(Clone, Copy)]
struct StoredSpan {
    width: u32,
    base: u64,
}

/// The width of the low parts with which low and high parts of `rows` offsets up to `last` take the fewest bits, among the
/// widths whose high parts take no more than [`records::MAX_HIGH_BITS`].
fn low_width(last: u32, rows: usize) -> u32 {
    // One more bit saves half of the zeros of the high parts and costs a bit per row. So the first width at which it saves no more
    // than it costs is the best one.
    let rows = rows as u64;
    let shortest = |width: &u32| {
        let zeros = u64::from(last >> width);
        rows + zeros <= records::MAX_HIGH_BITS.into() && zeros.div_ceil(2) <= rows
    };
    (0..PART_BITS).find(shortest).unwrap_or(PART_BITS)
}

/// The widths of the parts of line codes.
struct LineWidths {
    low: u32,
    high: u32,
}

/// The widths of low and high parts with which the line codes take the fewest bits; neither is above [`PART_BITS`]. Every
/// row has a low part. Only rows with a longer code have a high part, and one bit per row tells which rows these are.
fn line_widths(codes: &[u64]) -> LineWidths {
    // How many codes have each width.
    let mut counts = [0u32; LINE_BITS as usize + 1];
    codes.iter().for_each(|&code| counts[width_of(code) as usize] += 1);
    let rows = codes.len() as u32;
    let widest = counts.iter().rposition(|&count| count > 0).unwrap_or(0) as u32;
    // Without high parts, unless the low parts would be too wide.
    let (mut best, mut least) =
        (LineWidths { low: widest, high: 0 }, if widest > PART_BITS { u32::MAX } else { rows * widest });
    let mut wider = 0;
    for width in (0..widest).rev() {
        wider += counts[width as usize + 1];
        let bits = rows * width + rows + wider * (widest - width);
        if bits < least && width.max(widest - width) <= PART_BITS {
            (best, least) = (LineWidths { low: width, high: widest - width }, bits);
        }
    }
    best
}

/// The fields before a block's packed columns.
#[derive(Default)]
struct Head {
    low_width: u32,
    scope_width: u32,
    line_width: u32,
    more_width: u32,
    scope_base: u64,
    line_base: i64,
    files: Option<StoredSpan>,
    columns: Option<StoredSpan>,
    back: Option<u64>,
}

impl Head {
    fn put(&self, out: &mut Vec<u8>) {
        let widths = [self.low_width, self.scope_width, self.line_width, self.more_width];
        let base = zigzag(self.line_base);
        let bases = [
            Some(self.scope_base),
            self.files.map(|files| files.base),
            self.columns.map(|columns| columns.base),
        ];
        let wide = base > records::MAX_LINE_BASE
            || widths.iter().any(|&width| width > records::WIDTH_MASK)
            || bases.into_iter().flatten().any(|base| base >> records::BASE_BITS != 0);
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(self.files.is_some(), records::FILES)
            | flag(self.columns.is_some(), records::COLUMNS)
            | flag(self.back.is_some(), records::SHARED)
            | flag(wide, records::WIDE)
            | flag(self.scope_base != 0, records::SCOPES);
        let mut word = if flags == 0 { 0 } else { records::EXTENDED };
        if !wide {
            word |= self.low_width << records::LOW_WIDTH_SHIFT
                | self.scope_width << records::SCOPE_WIDTH_SHIFT
                | self.line_width << records::LINE_WIDTH_SHIFT
                | self.more_width << records::MORE_WIDTH_SHIFT
                | (base as u32) << records::LINE_BASE_SHIFT;
        }
        out.extend_from_slice(&word.to_le_bytes());
        if flags != 0 {
            out.push(flags);
        }
        if wide {
            out.extend(widths.map(|width| width as u8));
            put_varint(out, base);
        }
        let put_base = |base: u64, out: &mut Vec<u8>| match wide {
            true => put_varint(out, base),
            false => out.extend_from_slice(&(base as u16).to_le_bytes()),
        };
        if self.scope_base != 0 {
            put_base(self.scope_base, out);
        }
        for StoredSpan { width, base } in [self.files, self.columns].into_iter().flatten() {
            out.push(width as u8);
            put_base(base, out);
        }
        if let Some(back) = self.back {
            put_varint(out, back);
        }
    }
}

/// The least and the largest value of each column of a block.
struct Spans {
    scope: Span,
    /// Only of the rows whose file is not the origin's; [`Span::EMPTY`] if there are none.
    file: Span,
    column: Span,
    least_line: i64,
}

impl Spans {
    fn of(cells: &[Cell]) -> Spans {
        let none = Span::EMPTY;
        let mut spans = Spans { scope: none, file: none, column: none, least_line: i64::MAX };
        for cell in cells {
            spans.scope.add(cell.scope.into());
            spans.column.add(cell.column.into());
            if u64::from(cell.file) != file_code::ORIGIN {
                spans.file.add(cell.file.into());
            }
            spans.least_line = spans.least_line.min(cell.line.unwrap_or(i64::MAX));
        }
        spans
    }
}

/// Appends a block of at most [`records::BLOCK_ROWS`] cells. With `back`, it stores no offsets: a reader takes those of the block
/// that begins `back` bytes before it.
pub(super) fn put_block(cells: &[Cell], columns: bool, back: Option<u64>, out: &mut Vec<u8>) {
    let start = cells[0].offset;
    let low_width = low_width(cells[cells.len() - 1].offset - start, cells.len() - 1);
    let spans = Spans::of(cells);
    let StoredSpan { width: scope_width, base: scope_base } = spans.scope.stored();
    // Most rows have the file of their origin. These take a flag each, and if a block has no others, nothing.
    let files = (spans.file.least <= spans.file.most).then(|| spans.file.stored());
    // A block whose rows all have column 0 stores none: assembly code, and units built with `-gno-column-info`.
    let columns =
        columns.then(|| spans.column.stored()).filter(|columns| columns.base != 0 || columns.width != 0);
    // If no row has a line, any base will do.
    let line_base = if spans.least_line == i64::MAX { 0 } else { spans.least_line };
    let mut codes = [line_code::NONE; records::BLOCK_ROWS as usize];
    let codes = &mut codes[..cells.len()];
    for (code, cell) in codes.iter_mut().zip(cells) {
        if let Some(line) = cell.line {
            *code = (line - line_base) as u64 + line_code::FIRST;
        }
    }
    let LineWidths { low: line_width, high: more_width } = line_widths(codes);
    Head { low_width, scope_width, line_width, more_width, scope_base, line_base, files, columns, back }
        .put(out);

    let mut bits = BitWriter::new(out);
    let changes = |pair: &[Cell]| pair[0].scope != pair[1].scope;
    // Neighbours mostly have one scope. A bit for each row, and a scope only where it changes, make the scopes of the
    // kernel's file a fifth smaller.
    if scope_width > 0 {
        bits.put_flags(cells.windows(2).map(changes));
    }
    if more_width > 0 {
        bits.put_flags(codes.iter().map(|code| code >> line_width != 0));
    }
    if files.is_some() {
        bits.put_flags(cells.iter().map(|cell| u64::from(cell.file) != file_code::ORIGIN));
    }
    if back.is_none() && low_width > 0 {
        let low = (1 << low_width) - 1;
        cells[1..].iter().for_each(|cell| bits.put(u64::from(cell.offset - start) & low, low_width));
    }
    let low = (1 << line_width) - 1;
    codes.iter().for_each(|code| bits.put(code & low, line_width));
    if scope_width > 0 {
        let mut put = |cell: &Cell| bits.put(u64::from(cell.scope) - scope_base, scope_width);
        put(&cells[0]);
        cells.windows(2).filter(|pair| changes(pair)).for_each(|pair| put(&pair[1]));
    }
    if more_width > 0 {
        let more = codes.iter().map(|code| code >> line_width);
        more.filter(|&more| more != 0).for_each(|more| bits.put(more, more_width));
    }
    if let Some(StoredSpan { width, base }) = columns {
        cells.iter().for_each(|cell| bits.put(u64::from(cell.column) - base, width));
    }
    if let Some(StoredSpan { width, base }) = files {
        let own = cells.iter().map(|cell| u64::from(cell.file)).filter(|&file| file != file_code::ORIGIN);
        own.for_each(|file| bits.put(file - base, width));
    }
    if back.is_none() {
        put_high(&cells[1..], start, low_width, &mut bits);
    }
    bits.finish();
}

/// Appends the high parts of the offsets. For each row, the difference from the row before is coded as that many 0 bits and a 1.
fn put_high(cells: &[Cell], start: u32, low_width: u32, bits: &mut BitWriter<'_>) {
    let mut before = 0;
    for cell in cells {
        let high = (cell.offset - start) >> low_width;
        // With the width from `low_width` the difference is at most 63.
        for _ in 0..(high - before) / HIGH_STEP {
            bits.put(0, HIGH_STEP);
        }
        let zeros = (high - before) % HIGH_STEP;
        bits.put(1 << zeros, zeros + 1);
        before = high;
    }
}

/// Appends the directory of a record: for each block the offset of its first row, from `starts`, and the block's place relative to
/// the first block. Both are 0 for the first block, which is left out.
pub(super) fn put_directory(starts: impl Iterator<Item = u32> + Clone, places: &[u64], out: &mut Vec<u8>) {
    let blocks = starts.zip(places.iter().copied());
    let (start, place) = blocks.clone().last().unwrap_or((0, 0));
    let (start_width, place_width) = (width_of(u64::from(start)), width_of(place));
    out.extend_from_slice(&[start_width as u8, place_width as u8]);
    let mut bits = BitWriter::new(out);
    for (start, place) in blocks.skip(1) {
        bits.put(u64::from(start), start_width);
        bits.put(place, place_width);
    }
    bits.finish();
}
