//! Converts a built program's debug information into a `.fsym` file.
//!
//! [`convert`] reads a program and writes a file, [`convert_bytes`] takes the program from memory and writes to anything,
//! [`verify_against`] compares a file with its program. None of them prints; the [`Report`] shows what was read, decided and
//! lost. There is no network access, and only the program and the files that its debug information names are opened.
//!
//! | name | what |
//! |---|---|
//! | [`convert`], [`convert_to`], [`convert_bytes`] | convert a program: to a file, to a writer, from its bytes |
//! | [`verify_against`] | compares a file with its program and returns the [`Mismatches`] |
//! | [`verify_sequences`] | counts wrong `DW_AT_LLVM_stmt_sequence` values of a program: a [`SequenceCheck`] |
//! | [`identify`] | reads the [`Identity`] by which a store names a program, without converting it |
//! | [`Options`], [`DevicePlace`], [`Progress`], [`NoProgress`] | what to convert and how, and who is told of the progress |
//! | [`Report`], and the module [`report`] | what was kept, decided and lost |
//! | [`ConvertError`], and the module [`error`] | why a program was not converted |
//!
//! ```
//! use std::path::Path;
//! use foldsym_convert::report::DebugInfo;
//! use foldsym_convert::{NoProgress, Options, convert_bytes};
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
//! `pipeline` calls them; `loaded` runs `keys` beside `encode`. With the feature `import`, `import` makes a program of a Breakpad
//! symbol file in place of the steps up to `place`. Only `open` names the `object` crate. Only `read`, and
//! `verify::by_addr2line` for the second reader, name `gimli`.

#![warn(missing_docs)]

mod convert;
mod diagnostics;
// `encode`, `model` and `open` have public items for the module `internal`. Their documentation is that of the code.
#[doc(hidden)]
mod encode;
pub mod error;
mod identity;
#[cfg(feature = "import")]
mod import;
#[doc(hidden)]
pub mod internal;
mod keys;
mod loaded;
mod members;
mod merge;
#[doc(hidden)]
mod model;
#[doc(hidden)]
mod open;
mod options;
mod pipeline;
mod place;
mod policy;
mod program;
mod read;
mod recover;
pub mod report;
mod toolchain;
mod util;
mod verify;

pub use convert::{convert, convert_bytes, convert_to};
pub use error::ConvertError;
// A store asks for the identity of a program before it converts the program.
pub use identity::{Identity, identify};
// The type of `Options::device`.
pub use open::DevicePlace;
pub use options::{Naming, NoProgress, Options, Progress};
pub use report::Report;
pub use verify::{Mismatches, SequenceCheck, SequenceCounts, SequenceUnit, verify_against, verify_sequences};
