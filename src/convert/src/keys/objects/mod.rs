//! Objects: which function of a group runs on one, by the table of virtual functions that the object points to.

pub(crate) mod classes;
pub(crate) mod dispatch;
pub(crate) mod hierarchy;
pub(crate) mod members;
pub(crate) mod overriders;
pub(crate) mod vtables;
pub(crate) mod wanted;
