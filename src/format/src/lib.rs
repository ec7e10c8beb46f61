//! The `.fsym` file: what writer and reader share, as `schema/README.md` defines it.
//!
//! No allocation, no unsafe code, no panic: every read is bounds-checked, and returns `None` or a [`FormatError`] if the bytes end early.
//! This crate does not know what an answer is (that is `lookup`) or how to choose widths and blocks (that is `encode`). It defines the
//! numbers of the layout once, for both. A test compares them with `schema/format.toml`.

#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

pub mod bits;
pub mod certainty;
pub mod checksum;
pub mod debug_info;
pub mod error;
pub mod features;
pub mod header;
pub mod names;
pub mod records;
pub mod sections;
pub mod starts;
pub mod steps;
pub mod table;
pub mod varint;
mod version;

pub use certainty::Reason;
pub use debug_info::DebugInfo;
pub use error::{FormatError, What};
pub use header::{DirectoryEntry, Header};
pub use sections::SectionId;
pub use starts::Starts;
pub use table::Table;
