//! Files that break one sentence of the specification about row records, with checksums that fit.

use super::{Contents, RawRow, reseal, rows_record};

/// The number of the section ROWS.
const ROWS: u32 = 6;

/// A file with one function of 128 units in one piece, and these rows. `change` gets the bytes of their record.
fn with_rows(rows: &[RawRow], share: bool, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut section = vec![0];
    let at = rows_record(&mut section, rows, share);
    let contents = Contents {
        block_log2: 2,
        names: vec![b"f".to_vec()],
        files: vec![b"/a.c".to_vec(), b"/b.c".to_vec()],
        origins: vec![[0, 1, 10, 0]],
        functions: vec![[0, 0, 0, 0, 0]],
        pieces: vec![[0x1000, 128, 0, 0, 0, at as i64, 0]],
        rows: section,
        scopes: vec![0],
        ..Contents::default()
    };
    let mut sections = contents.sections();
    let (_, bytes) = sections.iter_mut().find(|(id, _)| *id == ROWS).unwrap();
    // Behind the byte that no record has, before the tail.
    let end = bytes.len() - 8;
    change(&mut bytes[1..end]);
    let mut file = contents.assemble(&sections);
    assert!(reseal(&mut file));
    file
}

fn row(offset: u64, line: i64, file: u64) -> RawRow {
    RawRow { offset, scope: 0, line: Some(line), file, column: 0 }
}

/// What is broken, the file, and the same file unbroken.
pub fn row_records() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let last_bit = |bytes: &mut [u8]| *bytes.last_mut().unwrap() ^= 0x80;
    let one = [row(0, 1, 0)];
    let three = [row(0, 1, 0), row(2, 3, 0), row(5, 2, 0)];
    // Two blocks with the same offsets from their first row on; the codes of two files end the second.
    let file_at = |at| if at > 125 { at - 124 } else { 0 };
    let twice: Vec<RawRow> = (0..128).map(|at| row(at, 1 + (at % 3) as i64, file_at(at))).collect();
    // The base of the file codes is their only value: 3, a path.
    let other_file = [row(0, 1, 3)];
    let no_file = |bytes: &mut [u8]| {
        // Behind the head, the widths, the flags, the bases of scopes and lines, and the width of the codes.
        assert_eq!(bytes[7], 3);
        bytes[7] = 0;
    };
    let files = |rows: &[RawRow], share: bool, change: &dyn Fn(&mut [u8])| {
        (with_rows(rows, share, change), with_rows(rows, share, |_| {}))
    };
    let mut broken = Vec::new();
    for (what, (bad, good)) in [
        ("a bit after the columns of a block of one row", files(&one, false, &last_bit)),
        ("a bit after `high`", files(&three, false, &last_bit)),
        ("a bit after a block that shares its offsets", files(&twice, true, &last_bit)),
        ("a `differs` bit with file code 0", files(&other_file, false, &no_file)),
    ] {
        broken.push((what, bad, good));
    }
    broken
}
