//! The units whose compilers may have merged functions, and the units of the functions at an address.

use crate::model::{Function, Member, UnitId};
use crate::place::claim::Claim;
use crate::place::placing::Placing;

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
