//! Turns the bytes of one section into records: abbreviations, entries, lines, call tables, the call graph, basic blocks,
//! packages.

pub(crate) mod abbreviations;
pub(crate) mod basic_blocks;
pub(crate) mod bytes;
pub(crate) mod call_graph;
pub(crate) mod call_tables;
pub(crate) mod emitted;
pub(crate) mod entries;
pub(crate) mod line;
mod line_machine;
pub(crate) mod line_parts;
pub(crate) mod package;
