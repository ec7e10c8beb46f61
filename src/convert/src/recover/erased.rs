//! Functions whose address the linker erased, and the addresses at which they were found.

use crate::model::{AddressRange, How, UnitId};

/// An erased function: its unit and its index in [`crate::model::UnitRecords::erased`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Erased {
    pub(crate) unit: UnitId,
    pub(crate) index: usize,
}

/// The code of a recovered function.
pub(crate) struct FoundAt {
    pub(crate) range: AddressRange,
    pub(crate) how: How,
    /// Index into [`crate::model::UnitTraces::unclaimed`] of its line sequence.
    pub(crate) sequence: Option<usize>,
}
