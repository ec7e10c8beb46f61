//! Converts a built program's debug information into a `.fsym` file.
//!
//! The path of the data is the list of modules: `open` finds and maps files, `read` decodes DWARF one
//! unit at a time, `model` is what was read, `resolve` decides what is live and what was folded,
//! `encode` plans and writes the file. `pipeline` calls them in that order. Only `open` names the
//! `object` crate, only `read` names `gimli`.

mod budget;
pub mod demangle;
pub mod encode;
pub mod model;
mod numbers;
pub mod open;
mod output;
mod paint;
mod pair;
mod pipeline;
pub mod read;
mod readable;
pub mod report;
pub mod resolve;
mod text;
mod verify;

pub use output::{output_file, write_whole};
pub use pipeline::{ConvertError, MAX_THREADS, NoProgress, Options, Progress, convert};
pub use report::Report;
pub use verify::{Mismatches, verify_against};
