//! The bounds on the search for functions that jump to others: code size, comparisons, and units.

use crate::model::{Function, Member, UnitId};
use crate::place::claim::Claim;
use crate::place::placing::Placing;

/// The largest code in bytes that only jumps to another function, or calls it and returns, including prologue and
/// epilogue.
pub(crate) const MAX_THUNK: u64 = 512;

/// Units compared with the names of functions that jump, and functions compared with one name, all together.
pub(crate) const MAX_STEPS: u64 = 1 << 24;

/// Functions at one address that a name is compared with.
pub(crate) const MAX_COMPARED: usize = 256;

/// True for a unit whose compiler is not known to record the callee that the source names.
pub(crate) fn may_merge(placing: &Placing<'_, '_>, unit: UnitId) -> bool {
    placing.recovered.units.heads[unit.index()].may_merge()
}

/// The units of the functions that have a range.
pub(crate) fn units_of<'a>(
    claim: &'a Claim,
    functions: &'a [Function],
) -> impl Iterator<Item = UnitId> + use<'a> {
    let source = |member: &Member| functions[member.function.index()].source;
    claim.members.iter().filter_map(source).map(|source| source.unit)
}
