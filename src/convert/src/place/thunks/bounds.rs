//! What is looked at to find functions that jump to others: how long they are, how many are compared, and of which units.

use crate::model::{Function, Member, UnitId};
use crate::place::candidate::Candidate;
use crate::place::placing::Placing;

/// Bytes of a function that only jumps to another, or calls it and returns, with what each function begins and ends with.
pub(crate) const MAX_THUNK: u64 = 512;

/// Units that are asked for the names of functions that jump, and functions that a name is compared with.
pub(crate) const MAX_STEPS: u64 = 1 << 24;

/// Functions at one address that a name is compared with.
pub(crate) const MAX_COMPARED: usize = 256;

/// True for a unit whose compiler is not known to say who was called.
pub(crate) fn may_merge(placing: &Placing<'_, '_>, unit: UnitId) -> bool {
    placing.recovered.units.heads[unit.index()].may_merge()
}

/// The units of the functions that have a range.
pub(crate) fn units_of<'a>(
    candidate: &'a Candidate,
    functions: &'a [Function],
) -> impl Iterator<Item = UnitId> + use<'a> {
    let source = |member: &Member| functions[member.function.index()].source;
    candidate.members.iter().filter_map(source).map(|source| source.unit)
}
