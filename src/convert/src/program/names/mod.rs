//! What names say: of one function or of several, of which unit, made by which tool.

pub(crate) mod itanium;
pub(crate) mod relation;
pub(crate) mod toolchain;
pub(crate) mod variants;
