//! Facts about the program that several steps need: its symbols, its names, its machine code. No file here keeps a
//! state of a step.

pub(crate) mod machine;
pub(crate) mod names;
pub(crate) mod symbols;
