//! Which functions have the code of a range.

pub(crate) mod ties;
