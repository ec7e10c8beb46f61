//! Finds the bytes of each unit, and distributes the units over threads.

pub(crate) mod one_unit;
pub(crate) mod pool;
pub(crate) mod queue;
mod shared_rows;
pub(crate) mod split;
pub(crate) mod split_files;
pub(crate) mod task;
