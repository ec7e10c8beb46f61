//! `foldsym symbolize -o OUT.parquet`: answers the stacks of a Parquet file, or of crash reports, in a Parquet file, which gets its
//! name when it is whole.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use foldsym_convert::internal::{replaceable, write_whole};
use foldsym_reports::{Options, Reader};
use foldsym_symbolize::{Rules, Symbolizer};
use foldsym_table::{ReportFile, TableError, TableOptions, symbolize_file};

use super::report_bytes::read_report;
use crate::args::{Answering, SignatureShown, Symbolize};
use crate::io::failure::{Failure, complain, exit};

/// The first bytes of a Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// Answers the stacks of a Parquet file.
pub(super) fn run(args: &Symbolize, input: &Path, output: &Path) -> Result<u8, Failure> {
    may_be_written(output)?;
    let rules = rules(args)?;
    // Candidates are part of the table, as they are of JSON.
    let answering =
        Answering { json: true, no_demangle: args.no_demangle, check: true, ..Answering::default() };
    let symbolizer = crate::answer::open::symbolizer(&answering, &args.sources)?;
    let result = into_file(output, |file| {
        symbolize_file(&symbolizer, input, file, options_of(rules.as_ref())).map(drop)
    })?;
    result.map_err(|error| match error {
        TableError::Write(error) => unwritable(output, error),
        // The message of the others does not name the file.
        TableError::Io { error, .. } => Failure::input(input, error),
        error => Failure::input(input, error),
    })?;
    crate::answer::open::tell_unused(&symbolizer);
    Ok(0)
}

/// The rules of the columns of signatures, if they are wanted.
fn rules(args: &Symbolize) -> Result<Option<Arc<Rules>>, Failure> {
    match args.signatures.signature {
        None => Ok(None),
        Some(SignatureShown::Also) => crate::answer::signature::rules(&args.signatures).map(Some),
        Some(SignatureShown::Only) => {
            Err(Failure::usage("--signature=only: a table has its frames too; give --signature"))
        }
    }
}

fn options_of(rules: Option<&Arc<Rules>>) -> TableOptions<'_> {
    let mut options = TableOptions::default();
    (options.threads, options.signature) = (0, rules);
    options
}

/// Answers the threads of reports, a row each.
pub(super) fn reports(
    args: &Symbolize,
    output: &Path,
    symbolizer: &Symbolizer,
    options: &Options,
) -> Result<u8, Failure> {
    may_be_written(output)?;
    let rules = rules(args)?;
    let reader = Reader::new(symbolizer);
    let mut failed = 0;
    let result = into_file(output, |file| {
        let mut table =
            ReportFile::new(file, options_of(rules.as_ref())).map_err(|error| unwritable(output, error))?;
        for path in &args.inputs {
            let written = read_report(path, &reader, options, |mut opened| {
                let added = table.add(symbolizer, &path.to_string_lossy(), &mut opened);
                Ok(added.map(|()| opened.report().warnings.clone()))
            });
            let added = match written {
                Ok(added) => added,
                Err(message) => {
                    failed += 1;
                    complain(&format!("{}: {message}", path.display()));
                    continue;
                }
            };
            let warnings = added.map_err(|error| match error {
                TableError::Write(error) => unwritable(output, error),
                error => Failure::input(path, error),
            })?;
            for warning in &warnings {
                complain(&format!("{}: {warning}", path.display()));
            }
        }
        if failed == args.inputs.len() {
            // Each failure was already reported.
            return Err(Failure { message: String::new(), code: exit::BAD_INPUT });
        }
        table.finish().map_err(|error| unwritable(output, error))
    })?;
    result?;
    crate::answer::open::tell_unused(symbolizer);
    Ok(if failed > 0 { exit::SOME_FAILED } else { 0 })
}

fn unwritable(output: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::input(output, format!("cannot write: {error}"))
}

/// Checked before the work, which may take long.
fn may_be_written(output: &Path) -> Result<(), Failure> {
    if output == Path::new("-") {
        return Ok(());
    }
    replaceable(output, MAGIC, "Parquet file").map_err(|error| unwritable(output, error))
}

/// Has a table written to standard output or to a file, which gets its name only if all rows are in it. The outer error is of the file, the
/// inner one the table's.
fn into_file<E>(
    output: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), E>,
) -> Result<Result<(), E>, Failure> {
    if output == Path::new("-") {
        return Ok(write(&mut io::stdout()));
    }
    let mut result = Ok(());
    let written = write_whole(output, |file| {
        result = write(file);
        result.as_ref().map_err(|_| io::Error::other("not answered")).copied()
    });
    if result.is_ok() {
        written.map_err(|error| unwritable(output, error))?;
    }
    Ok(result)
}
