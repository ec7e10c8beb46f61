//! Functions whose address the linker erased, and where they were found.

use crate::model::How;

/// An erased function: its unit and its place in [`crate::model::UnitRecords::erased`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Erased {
    pub(crate) unit: usize,
    pub(crate) index: usize,
}

/// Where an erased function was found.
pub(crate) struct FoundAt {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) how: How,
    /// Index into [`crate::model::UnitTraces::unclaimed`] of its own rows.
    pub(crate) sequence: Option<usize>,
}
