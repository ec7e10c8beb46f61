//! `foldsym symbolize --parquet`: a Parquet file of stacks to one of answers, which gets its name when it is whole.

use std::io;
use std::path::Path;

use foldsym_convert::{replaceable, write_whole};
use foldsym_table::{TableError, symbolize_file};

use crate::args::{Answering, Symbolize};
use crate::io::failure::Failure;

/// What a Parquet file begins with.
const MAGIC: &[u8] = b"PAR1";

pub(super) fn run(args: &Symbolize, input: &Path, output: &Path) -> Result<u8, Failure> {
    let unwritable = |error: io::Error| Failure::input(output, format!("cannot write: {error}"));
    let to_stdout = output == Path::new("-");
    // Before the work, which may take long.
    if !to_stdout {
        replaceable(output, MAGIC, "Parquet file").map_err(unwritable)?;
    }
    // Candidates are part of the table, as they are of JSON.
    let answering = Answering { json: true, no_demangle: args.no_demangle, ..Answering::default() };
    let symbolizer = crate::answer::open::symbolizer(&answering, &args.sources)?;
    let failed = |error| match error {
        TableError::Write(error) => Failure::input(output, format!("cannot write: {error}")),
        // The message of the others does not name the file.
        TableError::Io { error, .. } => Failure::input(input, error),
        error => Failure::input(input, error),
    };
    if to_stdout {
        symbolize_file(&symbolizer, input, io::stdout()).map_err(failed)?;
        return Ok(0);
    }
    let mut result = Ok(());
    let written = write_whole(output, |file| {
        result = symbolize_file(&symbolizer, input, file).map(drop);
        // The file gets its name only if all rows are in it.
        result.as_ref().map_err(|_| io::Error::other("not answered")).copied()
    });
    result.map_err(failed)?;
    written.map_err(unwritable)?;
    Ok(0)
}
