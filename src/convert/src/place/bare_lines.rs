//! Code that the line table has and no DIE describes, as `-g1` leaves all code.

use crate::model::{AddressRange, BareLines, ImageAddr, UnitId};
use crate::place::limits::MAX_LINES_BEFORE;
use crate::place::placing::Placing;
use crate::recover::recovered::UnitView;

/// Code that has lines and no DIE, and the unit that has the lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnitLines {
    range: AddressRange,
    unit: UnitId,
}

/// All code that has lines and no DIE, by start.
pub(crate) fn lines(placing: &Placing<'_, '_>) -> Vec<UnitLines> {
    let of_unit = |(id, unit): (UnitId, UnitView<'_, '_>)| {
        let range = move |lines: &BareLines| UnitLines { range: lines.range(), unit: id };
        unit.traces.bare.iter().map(range).collect::<Vec<_>>()
    };
    let mut lines: Vec<_> = placing.recovered.numbered().flat_map(of_unit).collect();
    lines.sort_unstable();
    lines
}

/// The unit that has lines for an address. Few lines overlap: the last range that begins at or before an address
/// mostly holds it.
pub(crate) fn unit_of_lines(lines: &[UnitLines], address: ImageAddr) -> Option<UnitId> {
    let after = lines.partition_point(|lines| lines.range.start <= address);
    let mut before = lines[..after].iter().rev().take(MAX_LINES_BEFORE);
    before.find(|lines| address < lines.range.end).map(|lines| lines.unit)
}
