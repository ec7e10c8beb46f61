//! What the fuzz targets share: the checks, and the inputs that they begin with.
//!
//! Each target has an invariant of its own; a check panics where it is broken. `README.md` lists them.

// Parts that are written for tests of other crates, and used here as they are.
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod c_interface;
pub mod convert;
pub mod edits;
pub mod fsym;
pub mod reports;
pub mod seeds;

/// Names under which the borrowed modules know the converter's.
mod encode {
    pub use foldsym_convert::encode::*;
}
mod model {
    pub use foldsym_convert::model::*;
}

pub mod round_trip;

#[path = "../../tests/hostile/build.rs"]
pub mod build;
