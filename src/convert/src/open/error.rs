//! What can go wrong while a file is opened: each error names the file, the place and what was expected.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be opened.
///
/// Messages begin with the path and name the section or file offset. Nothing of another crate's error types shows,
/// except [`std::io::Error`] as a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: io::Error },

    /// A directory, FIFO, socket or device stands where a file was expected.
    #[error("{}: is a {found}, expected a regular file", path.display())]
    NotRegular { path: PathBuf, found: &'static str },

    /// The file is of no known format.
    #[error("{}: {found}, expected an ELF or Mach-O file", path.display())]
    NotAnObject { path: PathBuf, found: String },

    /// A known format, of a kind that holds no program.
    #[error("{}: {what}", path.display())]
    Unsupported { path: PathBuf, what: String },

    /// A table or section contradicts the file or the format.
    #[error("{}: {place}: {problem}", path.display())]
    Malformed { path: PathBuf, place: String, problem: String },

    /// A size is larger than what is allowed.
    #[error("{}: {place}: {claimed} bytes claimed, at most {allowed} allowed", path.display())]
    TooLarge { path: PathBuf, place: String, claimed: u64, allowed: u64 },

    /// The separate debug file that was given is of another build. The words name both.
    #[error("{problem}")]
    WrongDebugFile { problem: String },

    /// A program of one architecture, and another was asked for.
    #[error("{}: a program for {found}, expected one for {wanted}", path.display())]
    OtherArch { path: PathBuf, found: String, wanted: String },

    /// A fat file, and the architecture to take was not given or is not in it.
    #[error("{}: {}; it has: {}", path.display(), match wanted {
        Some(arch) => format!("no architecture {arch}"),
        None => "several architectures, choose one with --arch".to_owned(),
    }, listed(available))]
    ChooseArch { path: PathBuf, wanted: Option<String>, available: Vec<String> },

    /// A container of device programs, and the target to take was not given or does not mean one of them.
    #[error("{}: {}; it has: {}", path.display(), match wanted {
        Some(target) => format!("no single device program for {target}"),
        None => "several device programs, choose one with --target".to_owned(),
    }, listed(available))]
    ChooseTarget { path: PathBuf, wanted: Option<String>, available: Vec<String> },
}

impl OpenError {
    /// True where another command line would help (the command line's exit code 2), false where the input is bad.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::ChooseArch { .. } | Self::ChooseTarget { .. })
    }

    pub(super) fn other_arch(path: &Path, found: &str, wanted: &str) -> Self {
        Self::OtherArch { path: path.to_owned(), found: found.to_owned(), wanted: wanted.to_owned() }
    }

    pub(super) fn malformed(path: &Path, place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), place: place.into(), problem: problem.into() }
    }
}

/// The first of these names: an error is one line that can be read.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 32;
    let (shown, rest) = names.split_at(names.len().min(SHOWN));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    format!("{}{more}", shown.join(", "))
}
