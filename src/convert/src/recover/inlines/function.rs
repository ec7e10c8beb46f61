//! The names of a function and of its inlined code's places while they are compared.

use crate::recover::recovered::UnitView;

/// A function: its unit, and its index there.
pub(crate) type FunctionAt = (usize, usize);

/// The ranges of each node except the first, as offsets from the start of the function.
pub(crate) type Ranges = Vec<Vec<(u32, u32)>>;

/// The file of a row in the whole program; 0 if no row covers the code.
pub(crate) fn file(unit: UnitView<'_, '_>, local: u16) -> u32 {
    unit.file_of(local).map_or(0, |file| file.0 + 1)
}
