//! Writes one block of up to 64 rows, and the directory of a record with many blocks (schema, section 5).

use super::bits::{BitWriter, put_varint, width_of};
use foldsym_format::records::{file_code, line_code, rows as records};
use foldsym_format::varint::zigzag;

/// Widest line that the header of a block can express.
const LINE_BITS: u32 = records::WIDTH_MASK as u32;
/// Widest low part of an offset that it can express.
const LOW_BITS: u32 = records::WIDTH_MASK as u32;

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
/// shortest together.
fn low_width(last: u32, rows: usize) -> u32 {
    let bits = |width: u32| rows as u64 * u64::from(width) + u64::from(last >> width);
    (0..=LOW_BITS).min_by_key(|&width| bits(width)).unwrap_or(0)
}

/// Appends a block. With `back`, its offsets are those of the block that many bytes before it.
/// Returns how many lines are too far from the least to be stored, so that their rows have none.
pub(super) fn put_block(cells: &[Cell], columns: bool, back: Option<u64>, out: &mut Vec<u8>) -> u64 {
    let start = cells[0].offset;
    let low_width = low_width(cells[cells.len() - 1].offset - start, cells.len() - 1);
    let (scope_base, scope_width) = range(cells.iter().map(|cell| u64::from(cell.scope)));
    let own_files =
        || cells.iter().map(|cell| u64::from(cell.file)).filter(|&file| file != file_code::ORIGIN);
    let has_files = own_files().next().is_some();
    let (file_base, file_width) = if has_files { range(own_files()) } else { (0, 0) };
    let (column_base, column_width) =
        if columns { range(cells.iter().map(|cell| u64::from(cell.column))) } else { (0, 0) };
    let (least, most) = cells
        .iter()
        .filter_map(|cell| cell.line)
        .fold((i64::MAX, i64::MIN), |(least, most), line| (least.min(line), most.max(line)));
    let (line_base, line_width) = match most.checked_sub(least) {
        Some(span) if span >= 0 => (least, width_of(span as u64 + line_code::FIRST).min(LINE_BITS)),
        _ => (0, 0),
    };

    let has_columns = column_base != 0 || column_width != 0;
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let extension = flag(has_files, records::FILES)
        | flag(has_columns, records::COLUMNS)
        | flag(back.is_some(), records::SHARED);
    let widths = low_width << records::LOW_WIDTH_SHIFT
        | scope_width << records::SCOPE_WIDTH_SHIFT
        | line_width << records::LINE_WIDTH_SHIFT;
    let word = widths as u16 | if extension != 0 { records::EXTENDED } else { 0 };
    out.extend_from_slice(&word.to_le_bytes());
    if extension != 0 {
        out.push(extension);
    }
    put_varint(out, scope_base);
    put_varint(out, zigzag(line_base));
    if has_files {
        out.push(file_width as u8);
        put_varint(out, file_base);
    }
    if has_columns {
        out.push(column_width as u8);
        put_varint(out, column_base);
    }
    if let Some(back) = back {
        put_varint(out, back);
    }

    let mut far_lines = 0;
    let mut bits = BitWriter::new(out);
    if back.is_none() {
        let low = (1 << low_width) - 1;
        cells[1..].iter().for_each(|cell| bits.put(u64::from(cell.offset - start) & low, low_width));
    }
    cells.iter().for_each(|cell| bits.put(u64::from(cell.scope) - scope_base, scope_width));
    for cell in cells {
        let stored = cell.line.map_or(line_code::NONE, |line| (line - line_base) as u64 + line_code::FIRST);
        let fits = stored >> line_width == 0;
        far_lines += u64::from(!fits);
        bits.put(if fits { stored } else { line_code::NONE }, line_width);
    }
    if has_columns {
        cells.iter().for_each(|cell| bits.put(u64::from(cell.column) - column_base, column_width));
    }
    if has_files {
        let differs = |cell: &Cell| u64::from(cell.file) != file_code::ORIGIN;
        cells.iter().for_each(|cell| bits.put(differs(cell).into(), 1));
        own_files().for_each(|file| bits.put(file - file_base, file_width));
    }
    if back.is_none() {
        put_high(&cells[1..], start, low_width, &mut bits);
    }
    bits.finish();
    far_lines
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
