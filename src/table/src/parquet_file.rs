//! A Parquet file of stacks to one of answers, a batch of rows at a time.

use std::fs::File;
use std::path::Path;

use foldsym_symbolize::Symbolizer;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::{TableError, TableOptions, schema_of, symbolize_batch};

/// Rows that are in memory at a time.
const ROWS: usize = 16 << 10;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// Rows, a stack each.
    pub rows: u64,
}

/// Answers the stacks of a Parquet file: writes its columns and the answers to `output`, which the caller puts into place.
///
/// # Errors
/// The input is no Parquet file, lacks a column, or the output cannot be written.
pub fn symbolize_file(symbolizer: &Symbolizer, input: &Path, output: File) -> Result<Done, TableError> {
    let options = TableOptions::default();
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
        done.rows += batch.num_rows() as u64;
        let answered = symbolize_batch(symbolizer, &batch, options)?;
        writer.write(&answered).map_err(TableError::Write)?;
    }
    writer.close().map_err(TableError::Write)?;
    Ok(done)
}
