//! Reads a Parquet file of stacks and writes one of answers, a batch of rows at a time.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use foldsym_symbolize::Symbolizer;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::{TableError, TableOptions, schema_of, symbolize_batch};

/// Rows that are answered at a time.
pub(crate) const ROWS: usize = 16 << 10;

/// Bytes of encoded rows that wait for the end of their row group. A row group of 64 MB is large enough for any reader.
const ROW_GROUP: usize = 64 << 20;

/// Counts of what was done.
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
    let mut writer = Writer::new(output, schema)?;
    let mut done = Done::default();
    for batch in reader.build()? {
        let batch = batch?;
        let before = done.rows as usize;
        writer.write_rows(0..batch.num_rows(), |part| {
            let start = before + part.start;
            let answered = symbolize_batch(symbolizer, &batch.slice(part.start, part.len()), options);
            // The row number in the error counts from the first row of the part.
            answered.map_err(|error| match error {
                TableError::Row { row, what } => TableError::Row { row: start + row, what },
                error => error,
            })
        })?;
        done.rows += batch.num_rows() as u64;
    }
    writer.close()?;
    Ok(done)
}

/// Writes a Parquet file.
pub(crate) struct Writer<W: Write + Send>(ArrowWriter<W>);

impl<W: Write + Send> Writer<W> {
    pub(crate) fn new(output: W, schema: SchemaRef) -> Result<Self, TableError> {
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        Ok(Self(ArrowWriter::try_new(output, schema, Some(properties)).map_err(TableError::Write)?))
    }

    /// Answers rows and writes them. Answers that are too large for one batch are made in halves, the first half first.
    pub(crate) fn write_rows(
        &mut self,
        rows: Range<usize>,
        answer: impl Fn(Range<usize>) -> Result<RecordBatch, TableError>,
    ) -> Result<(), TableError> {
        let mut parts: Vec<_> = std::iter::once(rows).collect();
        while let Some(part) = parts.pop() {
            match answer(part.clone()) {
                Ok(answered) => self.write(&answered)?,
                Err(TableError::TooLarge { .. }) if part.len() > 1 => {
                    let middle = part.start + part.len() / 2;
                    // The first half is pushed last, so it is written first: the rows keep their order.
                    parts.extend([middle..part.end, part.start..middle]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<(), TableError> {
        self.0.write(rows).map_err(TableError::Write)?;
        // By default `ArrowWriter` ends a row group by its number of rows alone, and keeps the group in memory until then.
        if self.0.in_progress_size() > ROW_GROUP {
            self.0.flush().map_err(TableError::Write)?;
        }
        Ok(())
    }

    pub(crate) fn close(self) -> Result<(), TableError> {
        self.0.close().map_err(TableError::Write)?;
        Ok(())
    }
}
