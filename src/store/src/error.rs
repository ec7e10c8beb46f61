//! The errors of a store. Each has the path of the file, and says what was expected.

use std::io;
use std::path::{Path, PathBuf};

use foldsym_lookup::What;

use crate::id::{BuildId, IdError};

/// Why a store could not open or publish a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder is not a store, or is a store with another layout.
    #[error("{}: not a symbol store: expected a file `format` that says `fsym-store 1`, found {found}", path.display())]
    NotAStore {
        /// The folder.
        path: PathBuf,
        /// What was found instead.
        found: String,
    },
    /// Other users may change the folder.
    #[error("{}: not trusted: {why}", path.display())]
    Untrusted {
        /// The folder.
        path: PathBuf,
        /// Who may change it, and the remedy.
        why: &'static str,
    },
    /// A folder, a link or a device is at the path of a file.
    #[error("{}: expected a regular file, found {found}", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// The value that was found.
        found: &'static str,
    },
    /// A file or a device is at the path of a folder.
    #[error("{}: {found}, expected a folder", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
        /// The value that was found.
        found: &'static str,
    },
    /// The file belongs to another program.
    #[error("{}: holds build id {found}, expected {expected}", path.display())]
    WrongId {
        /// The file.
        path: PathBuf,
        /// The id that was requested.
        expected: String,
        /// The id inside, or that it has none.
        found: String,
    },
    /// The file does not begin as a `.fsym` does.
    #[error("{}: not a .fsym file", path.display())]
    NotASymbolFile {
        /// The file.
        path: PathBuf,
    },
    /// The file is a `.fsym` of another version of the format.
    #[error("{}: {problem}", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Both versions, and what to do.
        problem: String,
    },
    /// The file is damaged.
    #[error("{}: damaged: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The place of the damage, and what was expected there.
        problem: String,
    },
    /// The store has a file with other bytes for this identity.
    #[error(
        "{}: already published with other bytes ({there} bytes there, {new} new): one build id must mean one content; \
         replace it, or convert with the same options and version", path.display()
    )]
    Differs {
        /// The file that is published.
        path: PathBuf,
        /// Its bytes.
        there: u64,
        /// Bytes of the file that was to be published.
        new: u64,
    },
    /// Several programs of the store have this debug id: those without a build id whose code begins alike.
    #[error("several programs have this id {id}: {}; ask for one of them by its own id", programs.join(", "))]
    Several {
        /// The debug id.
        id: String,
        /// The name and the id of each.
        programs: Vec<String>,
    },
    /// The file has no identity under which it could be published.
    #[error("{}: has no build id: convert the program through the store, which derives one from its contents", path.display())]
    NoId {
        /// The file.
        path: PathBuf,
    },
    /// A text or some bytes are not an identity.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The name of a pin cannot be the name of a file.
    #[error(
        "{name:?} cannot name a pin: expected 1 to 255 bytes without `/`, `\\` and control characters, not `.` or `..`"
    )]
    PinName {
        /// The name.
        name: String,
    },
    /// The operating system returned an error.
    #[error("{}: cannot {doing}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The verb of what failed.
        doing: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// A remote store refused, or could not be reached.
    #[error("{location}: {problem}")]
    Remote {
        /// The address of the store or of the object.
        location: String,
        /// Its message, or the problem in words.
        problem: String,
    },
}

impl StoreError {
    /// True if there is a file that must not be used: it is damaged, belongs to another program, or is not a regular file.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::NotASymbolFile { .. }
                | Self::OtherVersion { .. }
                | Self::Damaged { .. }
                | Self::WrongId { .. }
                | Self::NotAFile { .. }
        )
    }

    pub(crate) fn io(path: &Path, doing: &'static str, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), doing, error }
    }

    pub(crate) fn damaged(path: &Path, problem: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), problem: problem.to_string() }
    }

    /// Why the bytes of a file could not be opened.
    pub(crate) fn unreadable(path: &Path, error: foldsym_lookup::Error) -> Self {
        match error.what {
            What::Magic => Self::NotASymbolFile { path: path.to_owned() },
            What::Version => Self::OtherVersion { path: path.to_owned(), problem: error.to_string() },
            _ => Self::damaged(path, error),
        }
    }

    pub(crate) fn wrong_id(path: &Path, expected: &BuildId, found: &[u8]) -> Self {
        let found = match BuildId::new(found) {
            Ok(id) => id.to_string(),
            Err(_) if found.is_empty() => "none".to_owned(),
            Err(error) => error.to_string(),
        };
        Self::WrongId { path: path.to_owned(), expected: expected.to_string(), found }
    }
}
