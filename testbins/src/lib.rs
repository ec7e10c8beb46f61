//! Test programs and their oracles.
