//! A Parquet file of stacks to one of answers, a batch of rows at a time.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use foldsym_symbolize::Symbolizer;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::{TableError, TableOptions, schema_of, symbolize_batch};

/// Rows that are answered at a time.
const ROWS: usize = 16 << 10;

/// Bytes of encoded rows that wait for the end of their row group. A row group of 64 MB is large enough for any reader.
const ROW_GROUP: usize = 64 << 20;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// Rows, a stack each.
    pub rows: u64,
}

/// Answers the stacks of a Parquet file: writes its columns and the answers to `output`. A row of an error counts from the start of
/// the file.
///
/// # Errors
/// The input is no Parquet file, lacks a column, or the output cannot be written.
pub fn symbolize_file(
    symbolizer: &Symbolizer,
    input: &Path,
    output: impl Write + Send,
) -> Result<Done, TableError> {
    let options = TableOptions { threads: 0, ..TableOptions::default() };
    let file =
        File::open(input).map_err(|error| TableError::Io { path: input.display().to_string(), error })?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(ROWS);
    let schema = schema_of(reader.schema(), options);
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut writer = ArrowWriter::try_new(output, schema, Some(properties)).map_err(TableError::Write)?;
    let mut done = Done::default();
    for batch in reader.build()? {
        let batch = batch?;
        // Answers too large for one batch are made in halves, the first half first.
        let mut parts = vec![batch];
        while let Some(part) = parts.pop() {
            let rows = part.num_rows();
            match symbolize_batch(symbolizer, &part, options) {
                Ok(answered) => {
                    writer.write(&answered).map_err(TableError::Write)?;
                    done.rows += rows as u64;
                }
                Err(TableError::TooLarge { .. }) if rows > 1 => {
                    parts.extend([part.slice(rows / 2, rows - rows / 2), part.slice(0, rows / 2)]);
                }
                Err(TableError::Row { row, what }) => {
                    return Err(TableError::Row { row: row + done.rows as usize, what });
                }
                Err(error) => return Err(error),
            }
        }
        if writer.in_progress_size() > ROW_GROUP {
            writer.flush().map_err(TableError::Write)?;
        }
    }
    writer.close().map_err(TableError::Write)?;
    Ok(done)
}
