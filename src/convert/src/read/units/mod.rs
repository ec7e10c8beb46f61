//! Which unit is where, and which thread reads it when.

pub(crate) mod done;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod split;
pub(crate) mod supply;
pub(crate) mod task;
