//! Writes one block of up to 64 rows, and the directory of a record with many blocks (schema, section 5).

use super::bits::{BitWriter, put_varint, width_of};
use foldsym_format::records::{line_code, rows as records};
use foldsym_format::varint::zigzag;

/// Widest line that the header of a block can express.
const LINE_BITS: u32 = records::WIDTH_MASK as u32;

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
fn range(cells: &[Cell], column: impl Fn(&Cell) -> u64) -> (u64, u32) {
    let (least, most) = cells.iter().map(column).fold((u64::MAX, 0), |(a, b), v| (a.min(v), b.max(v)));
    (least, width_of(most - least))
}

/// Appends a block. With `back`, its offsets are those of the block that many bytes before it.
/// Returns how many lines are too far from the least to be stored, so that their rows have none.
pub(super) fn put_block(cells: &[Cell], columns: bool, back: Option<u64>, out: &mut Vec<u8>) -> u64 {
    let start = cells[0].offset;
    let offset_width = width_of(u64::from(cells[cells.len() - 1].offset - start));
    let (scope_base, scope_width) = range(cells, |cell| u64::from(cell.scope));
    let (file_base, file_width) = range(cells, |cell| u64::from(cell.file));
    let (column_base, column_width) =
        if columns { range(cells, |cell| u64::from(cell.column)) } else { (0, 0) };
    let (least, most) = cells
        .iter()
        .filter_map(|cell| cell.line)
        .fold((i64::MAX, i64::MIN), |(least, most), line| (least.min(line), most.max(line)));
    let (line_base, line_width) = match most.checked_sub(least) {
        Some(span) if span >= 0 => (least, width_of(span as u64 + line_code::FIRST).min(LINE_BITS)),
        _ => (0, 0),
    };

    let has_files = file_base != 0 || file_width != 0;
    let has_columns = column_base != 0 || column_width != 0;
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let extension = flag(has_files, records::FILES)
        | flag(has_columns, records::COLUMNS)
        | flag(back.is_some(), records::SHARED);
    let widths = offset_width << records::OFFSET_WIDTH_SHIFT
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
        cells[1..].iter().for_each(|cell| bits.put(u64::from(cell.offset - start), offset_width));
    }
    cells.iter().for_each(|cell| bits.put(u64::from(cell.scope) - scope_base, scope_width));
    for cell in cells {
        let stored = cell.line.map_or(line_code::NONE, |line| (line - line_base) as u64 + line_code::FIRST);
        let fits = stored >> line_width == 0;
        far_lines += u64::from(!fits);
        bits.put(if fits { stored } else { line_code::NONE }, line_width);
    }
    if has_files {
        cells.iter().for_each(|cell| bits.put(u64::from(cell.file) - file_base, file_width));
    }
    if has_columns {
        cells.iter().for_each(|cell| bits.put(u64::from(cell.column) - column_base, column_width));
    }
    bits.finish();
    far_lines
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
