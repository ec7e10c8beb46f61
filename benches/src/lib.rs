//! Shared by the measuring programs: the floor (a bare walk over DWARF), the system's account of the cost of a process, hostile
//! programs and reports of any size, and stacks of a fleet.
//!
//! Nothing here names foldsym's own crates. `benches/compare` links this library too.

pub mod floor;
pub mod process;
pub mod reports;
pub mod shapes;
pub mod stacks;
