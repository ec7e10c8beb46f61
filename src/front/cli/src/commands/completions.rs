//! Prints the completion script of a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::io::failure::Failure;

/// Prints the script. It is built in memory first, since the generator panics if it cannot write.
#[inline(never)] // see `perform`
pub(crate) fn run(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "foldsym", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(0)
}
