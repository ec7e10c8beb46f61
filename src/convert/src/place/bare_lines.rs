//! Code that the line table has and no DIE describes, as `-g1` leaves all code.

use crate::model::{AddressRange, BareLines, ImageAddr, UnitId};
use crate::place::placing::Placing;
use crate::recover::recovered::UnitView;
use crate::util::covering::LatestEnds;

/// Code that has lines and no DIE, and the unit that has the lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UnitLines {
    range: AddressRange,
    unit: UnitId,
}

/// All code that has lines and no DIE.
pub(crate) struct BareLinesOfAll {
    /// By start.
    lines: Vec<UnitLines>,
    ends: LatestEnds,
}

/// All code that has lines and no DIE.
pub(crate) fn lines(placing: &Placing<'_, '_>) -> BareLinesOfAll {
    let of_unit = |(id, unit): (UnitId, UnitView<'_, '_>)| {
        let range = move |lines: &BareLines| UnitLines { range: lines.range(), unit: id };
        unit.traces.bare.iter().map(range).collect::<Vec<_>>()
    };
    let mut lines: Vec<_> = placing.recovered.numbered().flat_map(of_unit).collect();
    // By end and unit too: if folded functions of two units have one range, the answer must not depend on the sort.
    lines.sort_unstable();
    // Ranges of several units may overlap, so the last range that begins below an address need not cover it.
    let ends = LatestEnds::new(lines.iter().map(|lines| lines.range.end.0));
    BareLinesOfAll { lines, ends }
}

impl BareLinesOfAll {
    /// The unit that has lines for an address: of several ranges there, that of the last one.
    pub(crate) fn unit_at(&self, address: ImageAddr) -> Option<UnitId> {
        let count = self.lines.partition_point(|lines| lines.range.start <= address);
        let found = self.ends.last_after(count, address.0, |at| self.lines[at].range.end.0)?;
        Some(self.lines[found].unit)
    }
}
