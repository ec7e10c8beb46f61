//! The commands, a file or a folder each.

pub(crate) mod blocks;
pub(crate) mod cfi;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod dump;
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
pub(crate) mod symbolizer;
pub(crate) mod verify;
pub(crate) mod wave;
