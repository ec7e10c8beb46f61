//! What a conversion read, in numbers.

use serde::{Deserialize, Serialize};

use crate::model::{UnitCode, UnitHead};

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// Compile units.
    pub units: u64,
    /// Subprograms with code, including subprograms that the linker folded or removed.
    pub functions: u64,
    /// Rows of line tables.
    pub rows: u64,
    /// Inlined subroutines.
    pub inlines: u64,
    /// Units whose `.dwo` is missing.
    pub partial_units: u64,
}

impl Counts {
    pub(crate) fn of(heads: &[UnitHead<'_>], code: &[UnitCode<'_>]) -> Counts {
        let mut counts = Counts { units: heads.len() as u64, ..Counts::default() };
        counts.partial_units = heads.iter().filter(|unit| unit.partial).count() as u64;
        for unit in code {
            counts.functions += unit.functions.len() as u64;
            counts.rows += unit.rows.len() as u64;
            counts.inlines += unit.scopes.len() as u64;
        }
        counts
    }
}
