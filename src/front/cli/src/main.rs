//! The command `foldsym`: parses the command line and hands it to the module of the command.

mod address;
mod answer;
mod answer_json;
mod args;
mod blocks;
mod cfi;
mod completions;
mod convert;
mod dump;
mod failure;
mod find;
mod info;
mod input;
mod json;
mod lookup;
mod mapped;
mod names;
mod object;
mod open;
mod output;
mod progress;
mod regex;
mod resolver;
mod session;
mod stack;
mod stopped;
mod text;
mod verify;
mod wave;

use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser;

/// What one thread of a conversion makes another frees: the C library's allocator lets them wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Usage errors, `--help` and `--version` end here, with the exit codes of the contract (2, 0, 0).
    let cli = Cli::parse();
    let result = match &cli.command {
        Command::Convert(args) => convert::run(args),
        Command::Lookup(args) => lookup::run(args),
        Command::Stack(args) => stack::run(args),
        Command::Find(args) => find::run(args),
        Command::Info(args) => info::run(args),
        Command::Dump(args) => dump::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Completions { shell } => completions::run(*shell),
        Command::Blocks(args) => blocks::run(args),
        Command::Cfi(args) => cfi::run(args),
        Command::Wave(args) => wave::run(args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code)
        }
    }
}
