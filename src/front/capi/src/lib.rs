//! Turns the reader into C functions (`include/foldsym.h`).
//!
//! Tier 1 (everything without the feature `std`) is async-signal-safe: it allocates nothing, takes no lock,
//! makes no syscall, and works on memory that the caller owns. Tier 2 (feature `std`, on by default) maps
//! files and allocates.
//!
//! It does not unwind or convert, and tier 1 does not demangle. `install.sh` builds the static library for C, and links
//! the dynamic one from it. The library for signal handlers, which has only tier 1, is the crate in `embedded/`.
//!
//! [`types`] has the structs and numbers as C sees them; `boundary` is the one module with unsafe code: it
//! turns pointers into references and calls `tier1` and `tier2`, which are plain Rust.

#![no_std]
#![deny(unsafe_code)]
#![warn(missing_docs)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::unwrap_used, clippy::expect_used)]

#[cfg(feature = "std")]
extern crate std;

#[allow(unsafe_code)] // C hands over pointers; each block has its proof
pub mod boundary;
#[cfg(feature = "std")]
mod texts;
mod tier1;
#[cfg(feature = "std")]
mod tier2;
pub mod types;
