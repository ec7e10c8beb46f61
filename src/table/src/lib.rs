//! Symbolizes the stacks in the rows of an Arrow table and adds a column with their frames, and on request columns with their signatures. The Python wheel and the command both call
//! it, so that they have the same schema. `schema/table.md` describes the columns.
//!
//! The crate reads columns by name, gives a whole batch to the engine ([`foldsym_symbolize::Batch`]), and writes the text of each
//! distinct name once. The engine finds and opens the files.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod fields;
mod input;
mod output;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "reports")]
mod reports;
mod signatures;
mod text_columns;
mod texts;

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use foldsym_symbolize::{Modules, Rules, StackFrame, Symbolizer};

pub use fields::{FIELDS, SymbolFields};
pub use output::symbols_field;
#[cfg(feature = "parquet")]
pub use parquet_file::{Done, symbolize_file};
#[cfg(feature = "reports")]
pub use reports::{ReportFile, report_schema, symbolize_report};
pub use signatures::SIGNATURE;

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
        /// The expectation, and what was found.
        what: String,
    },
    /// The value is not allowed in its column.
    #[error("row {row}: {what}")]
    Row {
        /// Its number in its batch, from 0.
        row: usize,
        /// The fault.
        what: String,
    },
    /// A batch's answers do not fit columns with offsets of 32 bits.
    #[error("the batch has {total} {what}, more than {}: give fewer rows at a time", i32::MAX)]
    TooLarge {
        /// The thing of which there is too much.
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

/// How a column holds texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// As dictionaries: each distinct text once.
    Dictionary,
    /// As plain text, a copy for each value. Spark before 4.3 reads no other.
    Plain,
    /// As views of 16 bytes into one copy of each distinct text.
    View,
}

/// How a table is answered, and how names are written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TableOptions<'r> {
    /// How names are written.
    pub text: TextKind,
    /// Threads that share the rows of a batch; 0 for one a core. Neither answers nor errors depend on it.
    pub threads: usize,
    /// Which fields the answers have.
    pub fields: SymbolFields,
    /// The rules of the columns of signatures; without them there are none. The engine must list candidates.
    pub signature: Option<&'r Arc<Rules>>,
}

impl Default for TableOptions<'_> {
    fn default() -> Self {
        Self { text: TextKind::Dictionary, threads: 1, fields: SymbolFields::ALL, signature: None }
    }
}

/// Whether a column of the stacks makes room for one of the answers.
fn is_replaced(column: &str, options: TableOptions<'_>) -> bool {
    column == SYMBOLS || options.signature.is_some() && SIGNATURE.contains(&column)
}

/// The columns of an answered table: those of the stacks, and [`SYMBOLS`] and with [`TableOptions::signature`] those of [`SIGNATURE`] in
/// place of columns of these names.
pub fn schema_of(stacks: &Schema, options: TableOptions<'_>) -> SchemaRef {
    let mut fields: Vec<_> =
        stacks.fields().iter().filter(|field| !is_replaced(field.name(), options)).cloned().collect();
    fields.push(Arc::new(symbols_field(options)));
    fields.extend(signatures::fields(options));
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

/// The columns that are read.
pub const COLUMNS: [&str; 6] = ["frames", "kinds", "modules", "module_id", "module_name", "base"];

/// Checks the values of the [`COLUMNS`] of a batch that another library made: offsets, keys of dictionaries, UTF-8. The C data interface
/// does not give the sizes of buffers, so this cannot detect a last offset beyond its data.
///
/// # Errors
/// A column is damaged.
pub fn validate(stacks: &RecordBatch) -> Result<(), TableError> {
    COLUMNS.iter().try_for_each(|column| validate_column(stacks, column))
}

/// The same for each column, whether it is read or not: [`concat()`] copies them all.
///
/// # Errors
/// A column is damaged.
pub fn validate_all(stacks: &RecordBatch) -> Result<(), TableError> {
    stacks.schema().fields().iter().try_for_each(|field| validate_column(stacks, field.name()))
}

fn validate_column(stacks: &RecordBatch, column: &str) -> Result<(), TableError> {
    let Some(array) = stacks.column_by_name(column) else { return Ok(()) };
    let damaged =
        |error| TableError::Column { column: column.to_owned(), what: format!("is damaged: {error}") };
    array.to_data().validate_full().map_err(damaged)
}

/// Answers the stacks of a batch, a row each: gives its columns, [`SYMBOLS`], and with [`TableOptions::signature`] those of [`SIGNATURE`].
///
/// # Errors
/// A column is missing or has another type, or has a value that is not allowed; the engine lists no candidates, which signatures need.
pub fn symbolize_batch(
    symbolizer: &Symbolizer,
    stacks: &RecordBatch,
    options: TableOptions<'_>,
) -> Result<RecordBatch, TableError> {
    let read = input::Columns::of(stacks)?;
    let made =
        answers(symbolizer, read.rows(), |rows| Ok((input::Stacks::read(&read, rows)?, &[][..])), options)?;
    let mut columns: Vec<_> = stacks
        .schema()
        .fields()
        .iter()
        .zip(stacks.columns())
        .filter(|(field, _)| !is_replaced(field.name(), options))
        .map(|(_, column)| column.clone())
        .collect();
    columns.extend(made);
    Ok(RecordBatch::try_new(schema_of(&stacks.schema(), options), columns)?)
}

/// Rows that are worth a thread.
const ROWS_A_THREAD: usize = 256;

/// A stack that is in no table.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'a> {
    /// The modules of its process.
    pub modules: &'a Modules,
    /// Its frames, innermost first.
    pub frames: &'a [StackFrame],
    /// Names that its report has, by frame, functions that are inlined first: they stand where no function is known.
    pub names: &'a [GivenFunction<'a>],
}

/// A function at a frame, as a report names it.
#[derive(Clone, Copy, Debug)]
pub struct GivenFunction<'a> {
    /// The index of the frame in its stack.
    pub frame: usize,
    /// The function's name.
    pub function: &'a str,
    /// The source file; empty if it is not known.
    pub file: &'a str,
    /// The line; 0 if it is not known.
    pub line: u32,
}

/// Answers stacks: gives the column [`SYMBOLS`], and with [`TableOptions::signature`] those of [`SIGNATURE`], of as many rows.
///
/// # Errors
/// The answers are too large for one column; the engine lists no candidates, which signatures need.
pub fn symbolize_stacks(
    symbolizer: &Symbolizer,
    stacks: &[Stack<'_>],
    options: TableOptions<'_>,
) -> Result<Vec<ArrayRef>, TableError> {
    let read = |rows: std::ops::Range<usize>| {
        let stacks = &stacks[rows];
        Ok((input::Stacks::of(stacks), stacks))
    };
    answers(symbolizer, stacks.len(), read, options)
}

/// The columns of answers. Threads read and answer a part of the rows each; then the parts' names become one dictionary.
fn answers<'a>(
    symbolizer: &Symbolizer,
    rows: usize,
    read: impl Fn(std::ops::Range<usize>) -> Result<(input::Stacks, &'a [Stack<'a>]), TableError> + Sync,
    options: TableOptions<'_>,
) -> Result<Vec<ArrayRef>, TableError> {
    if options.signature.is_some() && !symbolizer.lists_candidates() {
        let what = "needs an engine that lists candidates".to_owned();
        return Err(TableError::Column { column: SIGNATURE[0].to_owned(), what });
    }
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = if options.threads == 0 { cores() } else { options.threads.min(MAX_THREADS) };
    let size = rows.div_ceil(threads).max(ROWS_A_THREAD);
    // A table without rows needs the column too, so there is at least one part.
    let ranges: Vec<_> = (0..rows.div_ceil(size).max(1))
        .map(|part| (part * size).min(rows)..((part + 1) * size).min(rows))
        .collect();
    let parts = in_parallel(ranges, |rows| -> Result<_, TableError> {
        let (stacks, named) = read(rows)?;
        Ok(output::Part::of(symbolizer, stacks, named, options))
    });
    // The first part with an error has the first row with one.
    let mut parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let values = output::Part::share_texts(&mut parts).values()?;
    let parts =
        in_parallel(parts, |mut part| (part.columns(options.fields), std::mem::take(&mut part.signatures)));
    let (parts, signed): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    output::fit_together(&parts, &values, options)?;
    signatures::fit_together(&signed, &values, options)?;
    let parts =
        in_parallel(parts.into_iter().zip(signed).collect(), |(part, signed)| -> Result<_, TableError> {
            let mut columns = vec![part.finish(&values, options)?];
            columns.extend(signed.finish(&values, options)?);
            Ok(columns)
        });
    let mut parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let columns = 0..parts.first().map_or(0, Vec::len);
    let whole = columns.map(|column| {
        let parts: Vec<&dyn Array> = parts.iter().map(|part| part[column].as_ref()).collect();
        Ok(arrow_select::concat::concat(&parts)?)
    });
    whole.collect()
}

/// More threads than this are not started: they would wait for each other.
const MAX_THREADS: usize = 1024;

/// Does the same with each part, in a thread of its own; the first in this one.
fn in_parallel<P: Send, R: Send>(parts: Vec<P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let mut parts = parts.into_iter();
        let first = parts.next();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let mut results: Vec<R> = first.map(work).into_iter().collect();
        for other in others {
            results.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    })
}
