//! What a name reveals: whether two names are of one function, which unit a name belongs to, which tool made it.

pub(crate) mod itanium;
pub(crate) mod relation;
pub(crate) mod toolchain;
pub(crate) mod variants;
