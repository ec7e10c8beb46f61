//! What is described and has no code of its own.

use super::{DieOffset, Instance, LocalOrigin};

/// A subprogram that is described and has no code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codeless {
    pub die: DieOffset,
    pub origin: LocalOrigin,
    pub instance: Instance,
    /// Other units mean the same function by its name (`DW_AT_external`).
    pub external: bool,
}
