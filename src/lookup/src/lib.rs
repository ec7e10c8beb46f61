//! Reads a `.fsym`: bytes in, frames out.
