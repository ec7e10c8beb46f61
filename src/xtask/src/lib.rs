//! What the chores and the oracles share: how they start other programs, and the list of the oracles' tasks.

pub mod sh;
mod task;

use std::path::Path;
use std::process::Command;

pub use task::{ORACLES, Task};

/// The build id of an ELF file, as hexadecimal digits.
///
/// # Errors
/// `llvm-readelf` is missing or fails, or the file has no build id.
pub fn build_id(file: &Path) -> Result<String, String> {
    let notes = sh::output(Command::new(sh::llvm("llvm-readelf")?).arg("--notes").arg(file))?;
    let id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: "));
    id.map(str::to_owned).ok_or_else(|| format!("{}: no build id", file.display()))
}
