//! Why a program was not converted: [`ConvertError`], and the errors that it is made of.

use std::path::PathBuf;

pub use crate::encode::EncodeError;
pub use crate::open::OpenError;
pub use crate::util::budget::TooMuch;

/// Why a program was not converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A file could not be opened or is damaged. The message names it.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The program cannot be stored.
    #[error("{}: {error}", path.display())]
    Encode {
        /// The program.
        path: PathBuf,
        /// The limit that it exceeds.
        error: EncodeError,
    },
    /// The program's debug information needs more memory than its bytes allow: it was made to.
    #[error("{}: {error}", path.display())]
    TooMuch {
        /// The program.
        path: PathBuf,
        /// How much memory that is.
        error: TooMuch,
    },
    /// A Breakpad symbol file has lines that cannot be read.
    #[error("{}:{line}: {problem}", path.display())]
    Breakpad {
        /// The file.
        path: PathBuf,
        /// The line at which reading ended, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The output could not be written. [`convert`](crate::convert()) leaves no part of it;
    /// [`convert_to`](crate::convert_to) and [`convert_bytes`](crate::convert_bytes) may have written a part.
    #[error("{}: cannot write: {error}", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// [`Progress::is_cancelled`](crate::Progress::is_cancelled) said that nobody wants the result.
    #[error("{}: cancelled", path.display())]
    Cancelled {
        /// The program.
        path: PathBuf,
    },
    /// The threads could not be started.
    #[error("cannot start threads: {problem}")]
    Threads {
        /// The problem.
        problem: String,
    },
    /// The file to verify is not a readable `.fsym`.
    #[error("{}: {problem}", path.display())]
    Fsym {
        /// The file.
        path: PathBuf,
        /// The problem and its place.
        problem: String,
    },
}

impl ConvertError {
    /// True if other options would help (an architecture, a device target), false if the input is bad or the output
    /// cannot be written.
    pub fn is_usage(&self) -> bool {
        matches!(self, ConvertError::Open(error) if error.is_usage())
    }

    /// The error of the operating system, if one stopped the conversion. It says nothing about the program.
    pub fn system_error(&self) -> Option<&std::io::Error> {
        match self {
            ConvertError::Open(OpenError::Io { error, .. }) | ConvertError::Write { error, .. } => {
                Some(error)
            }
            _ => None,
        }
    }
}
