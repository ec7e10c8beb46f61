//! What the fuzz targets share: the checks, and the inputs that they begin with.
//!
//! Each target has an invariant of its own; a check panics where it is broken. `README.md` lists them.

pub mod c_interface;
pub mod edits;
pub mod reports;
pub mod seeds;

pub mod round_trip;

pub use foldsym_testkit::checks::{convert, fsym};
pub use foldsym_testkit::dwarf as build;
