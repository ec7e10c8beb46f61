//! What a name reveals: whether two names are of one function, and which unit a name belongs to.

pub(crate) mod itanium;
pub(crate) mod relation;
mod skip;
pub(crate) mod variants;
