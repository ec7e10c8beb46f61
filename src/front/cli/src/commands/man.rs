//! `foldsym man`: writes a manual page for each command.

use std::path::Path;

use clap::CommandFactory;

use crate::args::Cli;
use crate::io::failure::Failure;

/// Writes `foldsym.1`, and `foldsym-COMMAND.1` for each command and each command of a command.
pub(crate) fn run(folder: &Path) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::input(folder, error))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .map_err(|error| Failure::input(folder, format!("cannot write: {error}")))?;
    Ok(0)
}
