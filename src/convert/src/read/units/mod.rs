//! Which unit is where, and which thread reads it when.

pub(crate) mod memory;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod shared;
pub(crate) mod space;
pub(crate) mod split;
pub(crate) mod task;
