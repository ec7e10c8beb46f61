//! Calls that lead into folded code: whom each calls, by what compilers and linkers recorded of it.

pub(crate) mod call_tables;
pub(crate) mod folded_parts;
pub(crate) mod indirect;
pub(crate) mod overrides;
pub(crate) mod pairs;
pub(crate) mod relocations;
pub(crate) mod rewrites;
pub(crate) mod structors;
pub(crate) mod subsequence;
pub(crate) mod thunks;
