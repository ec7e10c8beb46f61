//! Writes a `.fsym` as a GSYM file (versions 1 and 2) or as a Breakpad symbol file, for tools that read these.
//!
//! Both formats keep less than a `.fsym`. Neither has columns. A reader of GSYM that does not ask for merged functions sees
//! the first function of a group alone; Breakpad's `m` says that other functions have the same code, and names one. Neither
//! says how sure an answer is.
//!
//! The input is read through `foldsym-lookup`, so that a damaged file gives an error; the output is made in memory and then
//! written in one piece.
//!
//! ```
//! use foldsym_exchange::{GsymVersion, write_gsym};
//! use foldsym_lookup::SymbolFile;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("demo.fsym");
//! # let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testbins/built/demo.elf");
//! # let options = foldsym_convert::Options::default();
//! # foldsym_convert::convert(program.as_ref(), &path, &options, &foldsym_convert::NoProgress)?;
//! let bytes = std::fs::read(&path)?;
//! let mut gsym = Vec::new();
//! let summary = write_gsym(&SymbolFile::open(&bytes)?, GsymVersion::V1, &mut gsym)?;
//! assert!(summary.functions > 10);
//! assert_eq!(gsym[..4], *b"MYSG");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod breakpad;
mod code;
mod gsym;
mod stack_cfi;

use std::io;

pub use breakpad::{BreakpadModule, write_breakpad};
pub use gsym::{GsymVersion, write_gsym};

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Ranges of code that have a function, and count as one where several functions share them.
    pub ranges: u64,
    /// Functions at these ranges: a function that is a member of a group counts too.
    pub functions: u64,
    /// Functions whose code another function has as well, the first one of each range left out.
    pub merged: u64,
    /// Calls whose callee was written.
    pub calls: u64,
    /// Rows of call frame information that Breakpad has no words for: registers found by an expression of DWARF, or a processor whose
    /// registers it does not name.
    pub frame_rows_left_out: u64,
    /// The build id is longer than version 1 of GSYM can hold, and was left out.
    pub build_id_left_out: bool,
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The `.fsym` is damaged at a place that was read.
    #[error("the .fsym is damaged: {0}")]
    Damaged(foldsym_lookup::Error),
    /// The format cannot hold so much.
    #[error("{what}: {found}, at most {most} in this format")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much the format can hold.
        most: u64,
    },
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

impl From<foldsym_lookup::Error> for ExportError {
    fn from(error: foldsym_lookup::Error) -> Self {
        ExportError::Damaged(error)
    }
}

fn at_most(found: u64, most: u64, what: &'static str) -> Result<u64, ExportError> {
    if found > most { Err(ExportError::TooLarge { what, found, most }) } else { Ok(found) }
}
