//! What several steps ask about the program, without a state of their own: its symbols, its names, its machine code.

pub(crate) mod machine;
pub(crate) mod names;
pub(crate) mod symbols;
