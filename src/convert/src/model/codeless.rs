//! Described functions without code.

use super::{DieOffset, Instance, LocalOrigin};

/// A subprogram that is described and has no code: the compiler merged it with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Codeless {
    pub die: DieOffset,
    pub origin: LocalOrigin,
    pub instance: Instance,
    /// Other units mean the same function by its name (`DW_AT_external`).
    pub external: bool,
}
