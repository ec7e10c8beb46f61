//! Writes a `.fsym` as a GSYM file (versions 1 and 2) or as a Breakpad symbol file, for tools that read these.
//!
//! Both formats keep less than a `.fsym`. Neither has columns or the certainty of an answer. A GSYM reader that does not read
//! merged functions sees only the first function of a group. In a Breakpad file a group has one name, and the mark `m` says
//! that other functions have the same code.
//!
//! The input is read through `foldsym-lookup`, so that a damaged file gives an error. So does a file that refers to the same rows and names
//! so often that the output would be out of proportion to it. The output is made in memory and then written.
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
    /// Ranges of code with a function. A range that several functions share counts once.
    pub ranges: u64,
    /// Functions at these ranges. Each member of a group counts.
    pub functions: u64,
    /// Functions that share a range with others, except the first one of each range.
    pub merged: u64,
    /// Calls that were written with their callee.
    pub calls: u64,
    /// Rows of call frame information that Breakpad's format cannot express: the rule for a register is a DWARF expression, or the format
    /// has no names for the processor's registers.
    pub frame_rows_left_out: u64,
    /// Ranges of code whose functions have no name. GSYM has no record without one, so they were left out.
    pub unnamed_left_out: u64,
    /// The build id is longer than version 1 of GSYM can hold, and was left out.
    pub build_id_left_out: bool,
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The `.fsym` is damaged in a place that was read.
    #[error("the .fsym is damaged: {0}")]
    Damaged(foldsym_lookup::Error),
    /// The `.fsym` refers to the same rows and names again and again, as only a hostile one does.
    #[error(
        "the code up to {address:#x} has more than {most} functions, rows, inlined calls and bytes of names: the .fsym repeats itself"
    )]
    Repeats {
        /// Image address of the range that was read last.
        address: u64,
        /// How many a file of this size may have.
        most: u64,
    },
    /// The program is too large for the format.
    #[error("{what}: {found}, at most {most} in this format")]
    TooLarge {
        /// The things of which there are too many.
        what: &'static str,
        /// Their number.
        found: u64,
        /// The largest number that the format allows.
        most: u64,
    },
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Write(io::Error),
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        ExportError::Write(error)
    }
}

impl From<foldsym_lookup::Error> for ExportError {
    fn from(error: foldsym_lookup::Error) -> Self {
        ExportError::Damaged(error)
    }
}

fn at_most(found: u64, most: u64, what: &'static str) -> Result<u64, ExportError> {
    if found > most { Err(ExportError::TooLarge { what, found, most }) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_for_a_format_is_told_with_the_limit() {
        assert_eq!(at_most(7, 7, "functions").unwrap(), 7);
        let error = at_most(1 << 32, u32::MAX.into(), "bytes of strings").unwrap_err();
        assert_eq!(error.to_string(), "bytes of strings: 4294967296, at most 4294967295 in this format");
    }
}
