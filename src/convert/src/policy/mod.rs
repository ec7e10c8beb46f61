//! What compilers and linkers do with functions, as tables: what is particular to a tool is a row here, with a test.

pub(crate) mod linker;
pub(crate) mod order;
