//! Converts a built program's debug information into a `.fsym` file.
//!
//! [`convert`] reads a program and writes a file, [`convert_bytes`] takes the program from memory and writes to anything,
//! [`verify_against`] compares a file with its program. None of them prints; the [`Report`] shows what was read, decided and
//! lost. There is no network access, and only the program and the files that its debug information names are opened.
//!
//! ```
//! use std::path::Path;
//! use foldsym_convert::{DebugInfo, NoProgress, Options, convert_bytes};
//!
//! let program = std::fs::read("../../testbins/built/demo.elf")?;
//! let mut symbols = Vec::new();
//! let report =
//!     convert_bytes(Path::new("demo.elf"), &program, &mut symbols, &Options::default(), &NoProgress)?;
//! assert_eq!(report.debug_info(), DebugInfo::Full);
//! assert!(report.warnings().is_empty());
//!
//! let file = foldsym_lookup::SymbolFile::open(&symbols)?;
//! assert_eq!(file.build_id(), report.build_id);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules are the steps in order. `open` finds and maps files, `read` decodes DWARF one unit at a time, `merge`
//! gives equal names of several units one id, `recover` finds the code of erased functions, `place` decides who owns
//! each range of code, `keys` finds which folded function a call or an object runs, and `encode` writes the file.
//! `pipeline` calls them. Only `open` names the `object` crate. Only `read`, and `verify::by_addr2line` for the
//! second reader, name `gimli`.

#![warn(missing_docs)]

mod diagnostics;
// The public modules with hidden documentation are for the command and the tests of this workspace: they change with
// the code.
#[doc(hidden)]
pub mod encode;
mod error;
mod identity;
mod keys;
mod merge;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod open;
mod options;
mod pipeline;
mod place;
mod program;
mod read;
mod recover;
pub mod report;
mod util;
mod verify;

pub use diagnostics::{Cap, Diagnostics, Kind, Seen};
pub use encode::{Demangle, EncodeError, EncodeStats};
pub use error::ConvertError;
pub use identity::{Identity, identify};
pub use open::{DevicePlace, OpenDiagnostic, OpenDiagnosticKind, OpenError};
pub use options::{MAX_THREADS, NoProgress, Options, Progress};
pub use pipeline::{convert, convert_bytes, convert_to};
pub use report::{Counts, DebugInfo, Decided, Report, Step, Steps, Warning, WarningKind};
pub use util::budget::TooMuch;
#[doc(hidden)]
pub use util::output::{output_file, replaceable, write_whole};
pub use verify::{Mismatches, verify_against, verify_by_addr2line};
