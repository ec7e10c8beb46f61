//! Identifies a function, and the ranges of its inlined code, while functions are compared.

use crate::model::{LocalFunc, OffsetRange, UnitId};
use crate::recover::recovered::UnitView;

/// A function: its unit, and its number there.
#[derive(Clone, Copy)]
pub(crate) struct FunctionAt {
    pub(crate) unit: UnitId,
    pub(crate) function: LocalFunc,
}

/// The ranges of each node except the first.
pub(crate) type Ranges = Vec<Vec<OffsetRange>>;

/// The file of a row in the whole program; 0 if no row covers the code.
pub(crate) fn file(unit: UnitView<'_, '_>, local: u16) -> u32 {
    unit.file_of(local).map_or(0, |file| file.number() + 1)
}
