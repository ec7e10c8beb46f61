//! Answers of the engine, as text, and as lines of a command.

pub(crate) mod address;
pub(crate) mod address_map;
pub(crate) mod block;
pub(crate) mod open;
pub(crate) mod process;
pub(crate) mod session;
pub(crate) mod signature;
pub(crate) mod stopped;
pub(crate) mod text;
pub(crate) mod variable;
