//! Data structures and small algorithms that do not depend on symbols or debug information.

pub(crate) mod budget;
pub(crate) mod covering;
pub(crate) mod fit;
pub(crate) mod hash;
pub(crate) mod leb;
pub(crate) mod numbers;
pub(crate) mod output;
pub(crate) mod pages;
pub(crate) mod paint;
pub(crate) mod pair;
pub(crate) mod reuse;
pub(crate) mod scratch;
pub(crate) mod spill;
pub(crate) mod text;
