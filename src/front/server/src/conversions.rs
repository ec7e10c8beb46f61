//! Converts the programs that requests need, one at a time, each in a process of its own with a bound on its memory.
//!
//! The converter has budgets by the size of its input, and takes what the program needs. In this process that would be memory that nobody
//! counts, and a program that is too large would end the server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use foldsym_symbolize::{Converter, NotConverted};

use crate::memory::Memory;

/// The command that converts, and its memory. One program is converted at a time.
#[derive(Debug)]
pub(crate) struct Conversions {
    command: PathBuf,
    memory: Memory,
}

impl Conversions {
    /// `command` is that of foldsym. A conversion waits so long for another one.
    pub(crate) fn new(command: PathBuf, bytes: usize, wait: Duration) -> Self {
        Self { command, memory: Memory::new(bytes, wait) }
    }
}

impl Converter for Conversions {
    fn convert(&self, program: &Path, debug_file: Option<&Path>, output: &Path) -> Result<(), NotConverted> {
        let shown = program.display();
        let bytes = self.memory.bytes();
        let mut held = self.memory.nothing();
        let mut patience = self.memory.wait();
        if !held.wait_for(bytes, &mut patience, &|| true) {
            return Err(NotConverted::Busy(format!("{shown}: waits for the conversion of another program")));
        }
        let failed = |error: std::io::Error| {
            NotConverted::Busy(format!("{shown}: cannot start {}: {error}", self.command.display()))
        };
        let mut command = Command::new(&self.command);
        command.args(["convert", "--columns", "--imports", "--quiet", "--memory", &bytes.to_string()]);
        // The stack of each thread counts as memory.
        command.args(["--threads", "2"]);
        // An absolute path is no option, and no list of inputs.
        command.arg("-o").arg(output).arg(std::path::absolute(program).map_err(failed)?);
        if let Some(file) = debug_file {
            command.arg("--debug-file").arg(file);
        }
        // The allocator would reserve more memory than it uses, which counts as used where it may be written.
        command.env("MIMALLOC_ARENA_EAGER_COMMIT", "0").env("MIMALLOC_EAGER_COMMIT", "0");
        let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
        let ran = ran.map_err(failed)?;
        if ran.status.success() {
            return Ok(());
        }
        if ran.status.code().is_none() {
            return Err(NotConverted::Bounded(format!(
                "{shown}: its conversion ended before it was done; it may have {bytes} bytes of memory: convert it into a store, or \
                 raise --memory"
            )));
        }
        let said = String::from_utf8_lossy(&ran.stderr);
        let last = said.lines().last().unwrap_or_default();
        let last = last.split_once(": ").map_or(last, |(_, message)| message);
        Err(NotConverted::Failed(if last.is_empty() {
            format!("{shown}: not converted")
        } else {
            last.to_owned()
        }))
    }
}
