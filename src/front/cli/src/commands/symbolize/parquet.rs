//! `foldsym symbolize --parquet`: a Parquet file of stacks to one of answers, which gets its name when it is whole.

use std::path::Path;

use foldsym_table::{TableError, symbolize_file};

use crate::args::{Answering, Symbolize};
use crate::io::failure::Failure;

pub(super) fn run(args: &Symbolize, input: &Path, output: &Path) -> Result<u8, Failure> {
    // Candidates are part of the table, as they are of JSON.
    let answering = Answering { json: true, no_demangle: args.no_demangle, ..Answering::default() };
    let symbolizer = crate::answer::open::symbolizer(&answering, &args.sources)?;
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut made = tempfile::Builder::new();
    made.prefix(".foldsym-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a plain `open` asks for; the process's mask takes its bits away.
        made.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let made = made.tempfile_in(folder).map_err(|error| Failure::input(output, error))?;
    let file = made.reopen().map_err(|error| Failure::input(output, error))?;
    symbolize_file(&symbolizer, input, file).map_err(|error| match error {
        TableError::Write(error) => Failure::input(output, error),
        // The message of the others does not name the file.
        TableError::Io { error, .. } => Failure::input(input, error),
        error => Failure::input(input, error),
    })?;
    made.persist(output).map_err(|error| Failure::input(output, error.error))?;
    Ok(0)
}
