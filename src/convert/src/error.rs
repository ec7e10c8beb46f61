//! Why a program was not converted.

use std::path::PathBuf;

use crate::encode::EncodeError;
use crate::open::OpenError;
use crate::util::budget::TooMuch;

/// Why a program was not converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A file could not be opened or is damaged. The message names it.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The program cannot be stored.
    #[error("{}: {source}", path.display())]
    Encode {
        /// The program.
        path: PathBuf,
        /// What does not fit.
        source: EncodeError,
    },
    /// What is read of the program takes more memory than its bytes allow: it was made to.
    #[error("{}: {source}", path.display())]
    TooMuch {
        /// The program.
        path: PathBuf,
        /// How much that is.
        source: TooMuch,
    },
    /// The output could not be written; nothing is left of it.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The threads could not be started.
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The file to verify is not a readable `.fsym`.
    #[error("{}: {problem}", path.display())]
    Fsym {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
    },
}

impl ConvertError {
    /// True where other options would help (which architecture, which device program), false where the input is bad or the
    /// output cannot be written.
    pub fn is_usage(&self) -> bool {
        matches!(self, ConvertError::Open(error) if error.is_usage())
    }
}
