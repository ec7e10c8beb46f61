//! Stacks in the rows of an Arrow table to frames in one more column. The Python wheel and the command both call this: one schema, one code
//! path. `schema/table.md` says what each column is.
//!
//! The crate reads columns by name, gives a batch to the engine at once ([`foldsym_symbolize::Batch`]), and writes the text of a name once
//! for each distinct name. It opens no files but those that the engine finds.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod input;
mod output;
#[cfg(feature = "parquet")]
mod parquet_file;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use foldsym_symbolize::{Batch, Symbolizer};

pub use output::symbols_field;
#[cfg(feature = "parquet")]
pub use parquet_file::{Done, symbolize_file};

/// Version of the columns; it is in the metadata of each table that is written, under [`VERSION_KEY`].
pub const VERSION: &str = "1";

/// Where a table's metadata say the version of the columns.
pub const VERSION_KEY: &str = "foldsym.table";

/// The column that is added.
pub const SYMBOLS: &str = "symbols";

/// Why a table cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A column that is needed is missing, or has another type.
    #[error("column {column:?}: {what}")]
    Column {
        /// Its name.
        column: String,
        /// What was expected, and what is there.
        what: String,
    },
    /// A value is none of those that its column may have.
    #[error("row {row}: {what}")]
    Row {
        /// Its number in its batch, from 0.
        row: usize,
        /// What is wrong.
        what: String,
    },
    /// A batch's answers do not fit columns with offsets of 32 bits.
    #[error("the batch has {total} {what}, more than {}: give fewer rows at a time", i32::MAX)]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        total: usize,
    },
    /// The library that holds columns refused something.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A Parquet file cannot be read.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The Parquet file of answers cannot be written.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Write(parquet::errors::ParquetError),
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        error: std::io::Error,
    },
}

/// How names are written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TableOptions {
    /// As dictionaries: each distinct name once. Otherwise as plain text, which Spark needs.
    pub dictionaries: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { dictionaries: true }
    }
}

/// The columns of an answered table: those of the stacks, and [`SYMBOLS`] in place of a column of that name.
pub fn schema_of(stacks: &Schema, options: TableOptions) -> SchemaRef {
    let mut fields: Vec<_> =
        stacks.fields().iter().filter(|field| field.name() != SYMBOLS).cloned().collect();
    fields.push(Arc::new(symbols_field(options)));
    let mut metadata = stacks.metadata().clone();
    metadata.insert(VERSION_KEY.to_owned(), VERSION.to_owned());
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// One batch of several.
///
/// # Errors
/// They are not of this schema, or too large for one.
pub fn concat(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch, TableError> {
    Ok(arrow_select::concat::concat_batches(schema, batches)?)
}

/// Answers the stacks of a batch, a row each: gives its columns and [`SYMBOLS`].
///
/// # Errors
/// A column is missing or has another type, or a value is none that it may have.
pub fn symbolize_batch(
    symbolizer: &Symbolizer,
    stacks: &RecordBatch,
    options: TableOptions,
) -> Result<RecordBatch, TableError> {
    let read = input::Stacks::read(stacks)?;
    let mut out = output::Symbols::default();
    let mut batch = Batch::new();
    let queries = read.queries();
    symbolizer.worker().answer_batch(&queries, &mut batch, |number, file, answer, names| {
        out.answer(number, file, answer, names);
    });
    let column = out.column(&read, &batch, options)?;
    let mut columns: Vec<_> = stacks
        .schema()
        .fields()
        .iter()
        .zip(stacks.columns())
        .filter(|(field, _)| field.name() != SYMBOLS)
        .map(|(_, column)| column.clone())
        .collect();
    columns.push(column);
    Ok(RecordBatch::try_new(schema_of(&stacks.schema(), options), columns)?)
}
