//! Writes one block of up to 64 rows, and the directory of a record with many blocks (schema, section 5).

use super::bits::{BitWriter, put_varint, width_of};
use foldsym_format::records::{file_code, line_code, rows as records};
use foldsym_format::varint::zigzag;

/// Widest line, in low and high part together.
const LINE_BITS: u32 = records::MAX_WIDE_WIDTH as u32;
/// Widest low part of an offset.
const LOW_BITS: u32 = records::MAX_WIDE_WIDTH as u32;

/// Most zeros of the high parts that are written at once.
const HIGH_STEP: u32 = 32;

/// A row as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// Units from the start of the piece; less than 2^31.
    pub(super) offset: u32,
    pub(super) scope: u32,
    /// Line minus that of the scope's origin; `None` where none is known.
    pub(super) line: Option<i64>,
    /// 0: the origin's; 1: unknown; else 2 + file.
    pub(super) file: u32,
    pub(super) column: u16,
}

/// The smallest value of a column, and the bits that the others need above it.
fn range(column: impl Iterator<Item = u64>) -> (u64, u32) {
    let (least, most) = column.fold((u64::MAX, 0), |(a, b), v| (a.min(v), b.max(v)));
    (least, width_of(most - least))
}

/// The smallest width of the low parts of `rows` offsets up to `last` for which low and high parts are
/// shortest together, of those for which the high ones are no longer than they may be.
fn low_width(last: u32, rows: usize) -> u32 {
    let high = |width: u32| rows as u64 + u64::from(last >> width);
    let bits = |width: u32| rows as u64 * u64::from(width) + high(width);
    let fits = |width: &u32| high(*width) <= records::MAX_HIGH_BITS.into();
    (0..=LOW_BITS).filter(fits).min_by_key(|&width| bits(width)).unwrap_or(LOW_BITS)
}

/// The widths of low and high parts for which line codes take the least bits. Low parts stand for all
/// rows, high parts for those that have one, with a bit for each row that says so.
fn line_widths(codes: impl Iterator<Item = u64> + Clone) -> (u32, u32) {
    // How many codes have each width.
    let mut counts = [0u32; LINE_BITS as usize + 1];
    codes.clone().for_each(|code| counts[width_of(code) as usize] += 1);
    let rows = counts.iter().sum::<u32>();
    let widest = counts.iter().rposition(|&count| count > 0).unwrap_or(0) as u32;
    let (mut best, mut least) = ((widest, 0), rows * widest);
    let mut wider = 0;
    for width in (0..widest).rev() {
        wider += counts[width as usize + 1];
        let bits = rows * width + rows + wider * (widest - width);
        if bits < least {
            (best, least) = ((width, widest - width), bits);
        }
    }
    best
}

/// What stands before a block's packed columns.
#[derive(Default)]
struct Head {
    low_width: u32,
    scope_width: u32,
    line_width: u32,
    more_width: u32,
    scope_base: u64,
    line_base: i64,
    /// Width and base.
    files: Option<(u32, u64)>,
    columns: Option<(u32, u64)>,
    back: Option<u64>,
}

impl Head {
    fn put(&self, out: &mut Vec<u8>) {
        let widths = [self.low_width, self.scope_width, self.line_width, self.more_width];
        let base = zigzag(self.line_base);
        let bases =
            [Some(self.scope_base), self.files.map(|file| file.1), self.columns.map(|column| column.1)];
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
        for (width, base) in [self.files, self.columns].into_iter().flatten() {
            out.push(width as u8);
            put_base(base, out);
        }
        if let Some(back) = self.back {
            put_varint(out, back);
        }
    }
}

/// Appends a block. With `back`, its offsets are those of the block that many bytes before it.
/// Returns how many lines are too far from the least to be stored, so that their rows have none.
pub(super) fn put_block(cells: &[Cell], columns: bool, back: Option<u64>, out: &mut Vec<u8>) -> u64 {
    let start = cells[0].offset;
    let low_width = low_width(cells[cells.len() - 1].offset - start, cells.len() - 1);
    let (scope_base, scope_width) = range(cells.iter().map(|cell| u64::from(cell.scope)));
    let own_files =
        || cells.iter().map(|cell| u64::from(cell.file)).filter(|&file| file != file_code::ORIGIN);
    let files = own_files().next().map(|_| range(own_files()));
    let columns = columns.then(|| range(cells.iter().map(|cell| u64::from(cell.column))));
    let columns = columns.filter(|&(base, width)| base != 0 || width != 0);
    let line_base = cells.iter().filter_map(|cell| cell.line).min().unwrap_or(0);
    // 0 for a line that is too far too.
    let code = |cell: &Cell| match cell.line.map(|line| (line - line_base) as u64 + line_code::FIRST) {
        Some(code) if code >> LINE_BITS == 0 => code,
        _ => line_code::NONE,
    };
    let (line_width, more_width) = line_widths(cells.iter().map(code));
    let swapped = |(base, width)| (width, base);
    Head {
        low_width,
        scope_width,
        line_width,
        more_width,
        scope_base,
        line_base,
        files: files.map(swapped),
        columns: columns.map(swapped),
        back,
    }
    .put(out);

    let mut bits = BitWriter::new(out);
    let changes = |pair: &[Cell]| pair[0].scope != pair[1].scope;
    if scope_width > 0 {
        cells.windows(2).for_each(|pair| bits.put(changes(pair).into(), 1));
    }
    let more = |cell: &Cell| code(cell) >> line_width;
    if more_width > 0 {
        cells.iter().for_each(|cell| bits.put((more(cell) != 0).into(), 1));
    }
    if files.is_some() {
        let differs = |cell: &Cell| u64::from(cell.file) != file_code::ORIGIN;
        cells.iter().for_each(|cell| bits.put(differs(cell).into(), 1));
    }
    if back.is_none() {
        let low = (1 << low_width) - 1;
        cells[1..].iter().for_each(|cell| bits.put(u64::from(cell.offset - start) & low, low_width));
    }
    let low = (1 << line_width) - 1;
    cells.iter().for_each(|cell| bits.put(code(cell) & low, line_width));
    if scope_width > 0 {
        let mut put = |cell: &Cell| bits.put(u64::from(cell.scope) - scope_base, scope_width);
        put(&cells[0]);
        cells.windows(2).filter(|pair| changes(pair)).for_each(|pair| put(&pair[1]));
    }
    cells.iter().map(more).filter(|&more| more != 0).for_each(|more| bits.put(more, more_width));
    if let Some((base, width)) = columns {
        cells.iter().for_each(|cell| bits.put(u64::from(cell.column) - base, width));
    }
    if let Some((base, width)) = files {
        own_files().for_each(|file| bits.put(file - base, width));
    }
    if back.is_none() {
        put_high(&cells[1..], start, low_width, &mut bits);
    }
    bits.finish();
    cells.iter().filter(|cell| cell.line.is_some() && code(cell) == line_code::NONE).count() as u64
}

/// Appends the high parts of the offsets: for each row as many 0 as it is above the one before, then a 1.
fn put_high(cells: &[Cell], start: u32, low_width: u32, bits: &mut BitWriter<'_>) {
    let mut before = 0;
    for cell in cells {
        let high = (cell.offset - start) >> low_width;
        // At the width that was chosen a step is at most 127.
        for _ in 0..(high - before) / HIGH_STEP {
            bits.put(0, HIGH_STEP);
        }
        let zeros = (high - before) % HIGH_STEP;
        bits.put(1 << zeros, zeros + 1);
        before = high;
    }
}

/// Appends the directory of a record: for each block the offset of its first row, and its place counted
/// from the first block. The first block, of which both are 0, is left out.
pub(super) fn put_directory(blocks: impl Iterator<Item = (u32, u64)> + Clone, out: &mut Vec<u8>) {
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
