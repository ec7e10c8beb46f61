//! The command `foldsym`: parses the command line and hands it to the module of the command.

#![cfg_attr(
    not(feature = "convert"),
    allow(dead_code, reason = "commands that convert have their options all the same")
)]

mod answer;
mod args;
mod commands;
mod io;

use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser;
use commands::tool::Tool;
use commands::{
    blocks, cfi, completions, convert, dump, export, filter, find, info, lookup, man, shims, stack, store,
    symbolize, verify, wave,
};
use io::failure::Failure;
use io::limits;

/// One thread of a conversion frees memory that another allocated. With the C library's allocator they would wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The stack that a command may need. The first thread has the stack that the shell sets, which may be smaller.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    limits::install();
    if limits::stack_limit() >= STACK as u64 {
        return run();
    }
    match std::thread::Builder::new().stack_size(STACK).spawn(run) {
        // The panic was already printed.
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(PANICKED)),
        // A system that has no more threads: with the stack that there is.
        Err(_) => run(),
    }
}

/// The exit code of a program that panics.
const PANICKED: u8 = 101;

fn run() -> ExitCode {
    // This comes before the parser: the arguments are those of another tool.
    if let Some(result) = shims::called_as_tool() {
        return exit_code(result);
    }
    #[cfg(not(feature = "serve"))]
    // clap does not know the command, and its message would not say why.
    if std::env::args_os().nth(1).is_some_and(|command| command == "serve") {
        let what = "this build lacks the feature `serve`: build foldsym with --features serve";
        return exit_code(Err(Failure::usage(what)));
    }
    #[cfg(not(feature = "parquet"))]
    // The same for the options of a command.
    if let Some(option) = parquet_option(std::env::args_os()) {
        let what = format!(
            "symbolize {option}: this build lacks the feature `parquet`: build foldsym with --features parquet"
        );
        return exit_code(Err(Failure::usage(what)));
    }
    // Usage errors, `--help` and `--version` end here, with the exit codes of the contract (2, 0, 0).
    exit_code(perform(&Cli::parse().command))
}

/// The option of `symbolize` that reads or writes Parquet, if the command line has one.
#[cfg(not(feature = "parquet"))]
fn parquet_option(args: impl Iterator<Item = std::ffi::OsString>) -> Option<&'static str> {
    let mut args = args.skip(1);
    args.next().filter(|command| command == "symbolize")?;
    let named = |arg: std::ffi::OsString| {
        let bytes = arg.as_encoded_bytes();
        let is = |option: &str| {
            bytes.strip_prefix(option.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'=')
        };
        ["--parquet", "--output", "-o"].into_iter().find(|option| is(option))
    };
    // What follows `--` is the name of a report.
    args.take_while(|arg| arg != "--").find_map(named)
}

/// Runs a command. Each is a function of its own in the machine code too (`inline(never)`): the frame of a function with all of
/// them in it takes 2.4 MB of stack, and every page of it is touched as the function begins.
#[inline(never)]
fn perform(command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Convert(args) => convert::run(args),
        Command::Import(args) => convert::import(args),
        Command::Lookup(args) => lookup::run(args),
        Command::Stack(args) => stack::run(args),
        Command::Filter(args) => filter::run(args),
        Command::Symbolize(args) => symbolize::run(args),
        Command::Find(args) => find::run(args),
        Command::Info(args) => info::run(args),
        Command::Dump(args) => dump::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Completions { shell } => completions::run(*shell),
        Command::Man { folder } => man::run(folder),
        Command::Blocks(args) => blocks::run(args),
        Command::Cfi(args) => cfi::run(args),
        Command::Wave(args) => wave::run(args),
        Command::Store(args) => store::run(args),
        Command::Export(args) => export::run(args),
        Command::LlvmSymbolizer(passed) => shims::run(Tool::Symbolizer, &passed.args),
        Command::LlvmAddr2line(passed) => shims::run(Tool::LlvmAddr2line, &passed.args),
        Command::Addr2line(passed) => shims::run(Tool::GnuAddr2line, &passed.args),
        Command::Shims(args) => shims::make(args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::run(args),
    }
}

fn exit_code(result: Result<u8, Failure>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code)
        }
    }
}
