//! Reads a Parquet file of stacks and writes one of answers, a batch of rows at a time.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use foldsym_symbolize::{MAX_FRAMES, Symbolizer};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;

use crate::{TableError, TableOptions, schema_of, symbolize_batch};

/// Rows that are answered at a time.
pub(crate) const ROWS: usize = 16 << 10;

/// Bytes of encoded rows that wait for the end of their row group. A row group of 64 MB is large enough for any reader.
const ROW_GROUP: usize = 64 << 20;

/// Values that a column of a row group may have beyond one a row, for each byte of the file and for any file: the library decodes a whole
/// row at once. Stacks that repeat take a fraction of a byte a frame.
const VALUES_A_BYTE: u64 = 64;
const FREE_VALUES: u64 = 8 << 20;

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
    options: TableOptions<'_>,
) -> Result<Done, TableError> {
    let file =
        File::open(input).map_err(|error| TableError::Io { path: input.display().to_string(), error })?;
    // A file that cannot be measured has the least.
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let reader = read(|| ParquetRecordBatchReaderBuilder::try_new(file))?.with_batch_size(ROWS);
    check_rows(reader.metadata(), bytes)?;
    let schema = schema_of(reader.schema(), options);
    let mut writer = Writer::new(output, schema)?;
    let mut done = Done::default();
    let mut batches = read(|| reader.build())?;
    while let Some(batch) = read(|| batches.next().transpose())? {
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

/// Reads a part of the file. The library panics at some damaged files; such a file is an error like others.
fn read<T, E: Into<TableError>>(read: impl FnOnce() -> Result<T, E>) -> Result<T, TableError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(Into::into),
        Err(_) => Err(ParquetError::General("damaged: the Parquet reader failed at it".to_owned()).into()),
    }
}

/// Refuses a file whose rows have more values than stacks have: the library makes a row of 30 million frames out of a thousand bytes.
fn check_rows(metadata: &ParquetMetaData, bytes: u64) -> Result<(), TableError> {
    for (index, group) in metadata.row_groups().iter().enumerate() {
        let rows = group.num_rows().max(1);
        for column in group.columns() {
            // The values may all be in one row. An empty row counts as one value.
            let most = bytes.saturating_mul(VALUES_A_BYTE).saturating_add(FREE_VALUES);
            let beyond = column.num_values().saturating_sub(group.num_rows());
            if u64::try_from(beyond).is_ok_and(|beyond| beyond > most) {
                let (values, column) = (column.num_values(), column.column_path().string());
                let what = format!(
                    "row group {index} has {values} values: more than a file of {bytes} bytes may have, {most}"
                );
                return Err(TableError::Column { column, what });
            }
            // If each row has as many values as it may have, so many there are.
            if column.num_values() / rows > MAX_FRAMES as i64 {
                let (values, column) = (column.num_values(), column.column_path().string());
                let what = format!(
                    "row group {index} has {values} values in {rows} rows: more than {MAX_FRAMES} a row"
                );
                return Err(TableError::Column { column, what });
            }
        }
    }
    Ok(())
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
