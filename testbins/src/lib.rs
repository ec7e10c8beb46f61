//! Test programs, the answers they must give, and the oracles that check them.
//!
//! The programs are in `built/`, made from `cases/` by the directives that [`cases`] reads. [`expected`] holds what
//! `llvm-symbolizer` 22 answers, [`oracle`] asks the `addr2line` crate, [`compare`] applies the named rules by which
//! our answers may differ. Nothing here uses the converter: an oracle that shares code with it proves nothing.

pub mod compare;
pub mod expected;
pub mod expressions;
pub mod objects;
pub mod oracle;
pub mod program;

pub use foldsym_testkit::{cases, stacks};
use std::path::PathBuf;

/// The folder of this crate: `cases/`, `built/` and `expected/` are in it.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
