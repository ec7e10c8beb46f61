//! What compilers and linkers do with functions, as tables: a quirk of a tool is a row here, with a test.

pub(crate) mod order;
