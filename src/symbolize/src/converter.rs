//! How another process may convert the programs that an engine finds: a server bounds the memory of a conversion so.

use std::fmt;
use std::path::Path;

/// Makes the symbol files of the programs that an engine finds, in place of the engine itself. See
/// [`Symbolizer::convert_by`](crate::Symbolizer::convert_by).
pub trait Converter: fmt::Debug + Send + Sync {
    /// Writes the symbol file of a program to `output`, with columns and with calls of other modules. `debug_file` has the program's debug
    /// information, where that is known to be another file.
    ///
    /// # Errors
    /// Nothing usable was written.
    fn convert(&self, program: &Path, debug_file: Option<&Path>, output: &Path) -> Result<(), NotConverted>;
}

/// Why a [`Converter`] has made no symbol file, in words for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotConverted {
    /// It cannot begin now. Another attempt may succeed at once.
    Busy(String),
    /// The program needs more than a conversion may have.
    Bounded(String),
    /// The program cannot be converted.
    Failed(String),
}

impl fmt::Display for NotConverted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Busy(text) | Self::Bounded(text) | Self::Failed(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for NotConverted {}
