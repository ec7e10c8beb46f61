//! What compilers, linkers, assemblers and libraries name things: the lists come first in each file, and support for a
//! new name is one more word in a list.
//!
//! | file | names of |
//! |---|---|
//! | `suffixes` | clones and parts of functions, versions of symbols: where names are cut |
//! | `functions` | start-up code, functions that compilers add, thunks |
//! | `itanium_abi` | vtables, virtual thunks and thread-local variables (Itanium C++ ABI) |
//! | `libraries` | functions of the C and C++ libraries |
//! | `linkers` | the linkers themselves, their stubs, and the symbols that mark bounds |
//! | `assemblers` | labels that are no functions |
//! | `producers` | the compilers themselves (`DW_AT_producer`) |
//!
//! One table tests all questions with a yes or no answer (`tests`), and `suffixes` has a table of its own. This folder
//! imports nothing of the crate, so that every step may ask it.

pub(crate) mod assemblers;
pub(crate) mod functions;
pub(crate) mod itanium_abi;
pub(crate) mod libraries;
pub(crate) mod linkers;
pub(crate) mod producers;
pub(crate) mod suffixes;
#[cfg(test)]
mod tests;
