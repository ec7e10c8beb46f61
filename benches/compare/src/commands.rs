//! The tools that are started by their commands.

use std::path::PathBuf;

/// Where the tools are that are commands, not crates.
pub(crate) struct Commands {
    pub(crate) foldsym: PathBuf,
    pub(crate) gsymutil: Option<PathBuf>,
}
