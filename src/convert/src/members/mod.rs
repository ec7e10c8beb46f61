//! Which DIEs and symbols of a range are one function.

pub(crate) mod sequences;
pub(crate) mod ties;
