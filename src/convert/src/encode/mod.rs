//! Plans all sizes, then writes the file.

pub mod names;
