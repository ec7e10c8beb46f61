//! Parquet files that no writer would make.
#![cfg(feature = "parquet")]

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, ListArray, RecordBatch, StringArray};
use foldsym_symbolize::{MAX_FRAMES, Symbolizer};
use foldsym_table::{TableError, TableOptions, symbolize_file};
use parquet::arrow::ArrowWriter;

/// A file with a row for each of these numbers of frames.
fn file(rows: &[usize]) -> tempfile::NamedTempFile {
    let frames = rows.iter().map(|count| Some((0..*count).map(|_| Some(1i64))));
    let frames: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(frames));
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["0123456789abcdef"; rows.len()]));
    let batch = RecordBatch::try_from_iter([("module_id", ids), ("frames", frames)]).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = ArrowWriter::try_new(file.reopen().unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

fn answer(file: &tempfile::NamedTempFile) -> Result<u64, TableError> {
    let symbolizer = Symbolizer::builder().build().unwrap();
    symbolize_file(&symbolizer, file.path(), std::io::sink(), TableOptions::default()).map(|done| done.rows)
}

/// A few bytes may have a row of 30 million frames.
#[test]
fn a_row_has_as_many_frames_as_a_stack() {
    assert_eq!(answer(&file(&[10, 0, MAX_FRAMES])).unwrap(), 3);
    let long = answer(&file(&[MAX_FRAMES + 1])).unwrap_err();
    assert!(matches!(&long, TableError::Column { column, .. } if column.starts_with("frames")), "{long}");
    let among_others = answer(&file(&[1, MAX_FRAMES + 1, 1])).unwrap_err();
    assert!(matches!(among_others, TableError::Row { row: 1, .. }), "{among_others}");
    // The average is small here.
    let mut rows = vec![0; 300];
    rows[7] = 9 << 20;
    let hidden = answer(&file(&rows)).unwrap_err();
    assert!(matches!(&hidden, TableError::Column { what, .. } if what.contains("than a file")), "{hidden}");
}

/// The library that reads Parquet panics at some of these.
#[test]
fn damage_is_an_error() {
    let good = file(&[3, 0, 7, 1]);
    let bytes = std::fs::read(good.path()).unwrap();
    // The footer is where lengths and counts are.
    let end = bytes.len() - 8;
    let start = end.saturating_sub(u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize);
    let mut refused = 0;
    for at in start..end {
        for value in [0xff, 0x00, bytes[at] ^ 1] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), changed).unwrap();
            refused += usize::from(answer(&file).is_err());
        }
    }
    assert!(refused > 100, "{refused}");
}
