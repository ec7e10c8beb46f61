//! Tools that the tests of several crates share.
//!
//! [`writer`] makes `.fsym` files from the text of the format alone, `dwarf` makes programs, [`cases`] and [`stacks`] read the
//! directives and the recorded stacks of the test programs. `checks` (feature `checks`) says what must hold of any program and
//! any file; `models` (feature `models`) compares the encoder with a model of its input.

pub mod cases;
#[cfg(feature = "checks")]
pub mod checks;
#[cfg(feature = "dwarf")]
pub mod dwarf;
#[cfg(feature = "models")]
pub mod models;
pub mod stacks;
pub mod writer;
