//! What the measuring programs share: the floor (a bare walk over DWARF), and the system's account
//! of what a process cost.
//!
//! Nothing here names foldsym's own crates. `benches/compare` links this library too.

pub mod floor;
pub mod process;
