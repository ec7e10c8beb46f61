//! Child processes, and the work before and during their run.

use foldsym_benches::process::{self, Finished};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// This program, to be run again with a `worker-*` word.
pub(crate) fn this_program() -> Result<Command, String> {
    std::env::current_exe().map(Command::new).map_err(|error| error.to_string())
}

/// Reads the input through a small buffer, so that no tool pays for the disk.
pub(crate) fn warm(input: &Path) -> Result<u64, String> {
    let copied =
        std::fs::File::open(input).and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
    copied.map_err(|error| error.to_string())
}

/// Runs a child to a good end.
pub(crate) fn finish(command: &mut Command) -> Result<Finished, String> {
    let finished =
        process::run(command).map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if finished.success {
        return Ok(finished);
    }
    let text = String::from_utf8_lossy(&finished.stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("failed without a word");
    Err(last.trim().to_owned())
}

/// The same for a program that prints JSON.
pub(crate) fn json_of(command: &mut Command) -> Result<Value, String> {
    let finished = finish(command)?;
    serde_json::from_slice(&finished.stdout).map_err(|error| format!("the worker said no JSON: {error}"))
}

/// One changing line on a terminal, nothing elsewhere.
pub(crate) fn progress(text: &str) {
    if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        eprint!("\r\x1b[K{text}");
    }
}
