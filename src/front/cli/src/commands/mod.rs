//! The commands, a file or a folder each.

#[cfg(not(feature = "convert"))]
mod absent;
pub(crate) mod blocks;
#[cfg(feature = "convert")]
pub(crate) mod cfi;
pub(crate) mod completions;
#[cfg(feature = "convert")]
pub(crate) mod convert;
pub(crate) mod dump;
#[cfg(feature = "convert")]
pub(crate) mod export;
pub(crate) mod filter;
pub(crate) mod find;
pub(crate) mod info;
pub(crate) mod lookup;
pub(crate) mod man;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod shims;
pub(crate) mod stack;
pub(crate) mod store;
pub(crate) mod symbolize;
#[cfg(feature = "convert")]
pub(crate) mod symbolizer;
pub(crate) mod tool;
pub(crate) mod verify;
pub(crate) mod wave;

#[cfg(not(feature = "convert"))]
pub(crate) use absent::{cfi, convert, export, symbolizer};
