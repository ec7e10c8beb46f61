//! Errors of opening a file. Each names the file, the place in it and what was expected.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be opened.
///
/// Messages begin with the path and name the section or file offset. The only error type of another crate in it is
/// [`std::io::Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A system call failed.
    #[error("{}: cannot {action}: {error}", path.display())]
    Io { path: PathBuf, action: &'static str, error: io::Error },

    /// The path is a directory, FIFO, socket or device.
    #[error("{}: is a {found}, expected a regular file", path.display())]
    NotRegular { path: PathBuf, found: &'static str },

    /// The file has no known format.
    #[error("{}: {found}, expected an ELF or Mach-O file", path.display())]
    NotAnObject { path: PathBuf, found: String },

    /// The format is known, but this kind of file cannot be converted.
    #[error("{}: {what}", path.display())]
    Unsupported { path: PathBuf, what: String },

    /// A table or section contradicts the format or the size of the file.
    #[error("{}: {place}: {problem}", path.display())]
    Malformed { path: PathBuf, place: String, problem: String },

    /// A size in the file is larger than the limit.
    #[error("{}: {place}: {claimed} bytes claimed, at most {allowed} allowed", path.display())]
    TooLarge { path: PathBuf, place: String, claimed: u64, allowed: u64 },

    /// The separate debug file that the user gave belongs to another build. The text names both builds.
    #[error("{problem}")]
    WrongDebugFile { problem: String },

    /// The program has another architecture than the user asked for.
    #[error("{}: a program for {found}, expected one for {wanted}", path.display())]
    OtherArch { path: PathBuf, found: String, wanted: String },

    /// The user asked for an architecture that has no such name.
    #[error("{}: unknown architecture {wanted}; the program is for {found}", path.display())]
    UnknownArch { path: PathBuf, found: String, wanted: String },

    /// A fat file of several architectures, and the user named none of them.
    #[error("{}: {}; it has: {}", path.display(), match wanted {
        Some(arch) => format!("no architecture {arch}"),
        None => "several architectures, choose one with --arch".to_owned(),
    }, listed(available))]
    ChooseArch { path: PathBuf, wanted: Option<String>, available: Vec<String> },

    /// A container of device programs, and the user named no target, or a target that does not select exactly one of them.
    #[error("{}: {}; it has: {}", path.display(), match wanted {
        Some(target) => format!("no single device program for {target}"),
        None => "several device programs, choose one with --target".to_owned(),
    }, listed(available))]
    ChooseTarget { path: PathBuf, wanted: Option<String>, available: Vec<String> },
}

impl OpenError {
    /// True if another option would help (exit code 2 of the command), false if the input is bad.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::ChooseArch { .. } | Self::ChooseTarget { .. })
    }

    pub(super) fn malformed(path: &Path, place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), place: place.into(), problem: problem.into() }
    }
}

/// The first of these names, and the number of the others, so that the error stays one short line.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 32;
    let (shown, rest) = names.split_at(names.len().min(SHOWN));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    format!("{}{more}", shown.join(", "))
}
