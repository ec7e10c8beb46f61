//! Objects: which function of a group runs on one, by the table of virtual functions that the object points to.

pub(crate) mod call_targets;
pub(crate) mod class_caps;
pub(crate) mod class_units;
pub(crate) mod classes;
pub(crate) mod declaration_order;
pub(crate) mod dispatch;
pub(crate) mod hierarchy;
pub(crate) mod meant_methods;
pub(crate) mod members;
pub(crate) mod method_symbols;
pub(crate) mod overriders;
pub(crate) mod slot_names;
pub(crate) mod table_types;
pub(crate) mod type_info;
pub(crate) mod unknown_tables;
pub(crate) mod virtual_calls;
mod vtables;
