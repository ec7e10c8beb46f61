//! The units with the recovered functions: the result of `recover` and the input of `place`.

use rayon::prelude::*;

use crate::merge::units::{Records, Units};
use crate::model::{
    EdgeId, FileId, InlineCounts, LocalCallee, LocalEdge, LocalOrigin, OriginId, UnitCode, UnitHead, UnitId,
    UnitMap, UnitRecords, UnitTraces,
};
use crate::util::hash::HashSet;

/// The units of a program, and the code of all functions with known addresses.
pub(crate) struct Recovered<'u, 'f> {
    pub(crate) units: &'u Units<'f>,
    pub(crate) records: &'u Records<'f>,
    /// One for each unit.
    pub(crate) code: Vec<UnitCode<'f>>,
    /// One for each unit.
    pub(crate) traces: Vec<UnitTraces>,
    /// By unit: callees whose description does not show which instance of a template was called.
    pub(crate) doubtful_callees: HashSet<(UnitId, LocalCallee)>,
    pub(crate) inlines: InlineCounts,
}

/// One unit: views of all its parts.
#[derive(Clone, Copy)]
pub(crate) struct UnitView<'r, 'f> {
    pub(crate) head: &'r UnitHead<'f>,
    pub(crate) map: &'r UnitMap<'f>,
    pub(crate) records: &'r UnitRecords<'f>,
    pub(crate) code: &'r UnitCode<'f>,
    pub(crate) traces: &'r UnitTraces,
}

impl UnitView<'_, '_> {
    /// The program's id of a unit's origin.
    pub(crate) fn origin_of(&self, local: LocalOrigin) -> OriginId {
        self.map.origins[local.index()]
    }

    /// The program's id of a unit's edge.
    pub(crate) fn edge_of(&self, local: LocalEdge) -> EdgeId {
        self.map.edges[local.index()]
    }

    /// The program's id of a unit's file; `None` if no row covers the code.
    pub(crate) fn file_of(&self, local: u16) -> Option<FileId> {
        self.map.files.get(usize::from(local)).copied()
    }
}

impl<'u, 'f> Recovered<'u, 'f> {
    pub(super) fn new(
        units: &'u Units<'f>,
        records: &'u Records<'f>,
        code: Vec<UnitCode<'f>>,
        traces: Vec<UnitTraces>,
    ) -> Recovered<'u, 'f> {
        let (doubtful_callees, inlines) = (HashSet::default(), InlineCounts::default());
        Recovered { units, records, code, traces, doubtful_callees, inlines }
    }

    pub(crate) fn unit(&self, unit: UnitId) -> UnitView<'_, 'f> {
        let index = unit.index();
        UnitView {
            head: &self.units.heads[index],
            map: &self.units.maps[index],
            records: &self.records.units[index],
            code: &self.code[index],
            traces: &self.traces[index],
        }
    }

    /// All units, in the order of the file.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = UnitView<'_, 'f>> + Clone {
        self.numbered().map(|(_, unit)| unit)
    }

    /// The same with their ids.
    pub(crate) fn numbered(&self) -> impl ExactSizeIterator<Item = (UnitId, UnitView<'_, 'f>)> + Clone {
        (0..self.code.len() as u32).map(|number| self.with_id(UnitId::new(number)))
    }

    /// The same for parallel iteration.
    pub(crate) fn par_numbered(&self) -> impl IndexedParallelIterator<Item = (UnitId, UnitView<'_, 'f>)> {
        (0..self.code.len() as u32).into_par_iter().map(|number| self.with_id(UnitId::new(number)))
    }

    fn with_id(&self, unit: UnitId) -> (UnitId, UnitView<'_, 'f>) {
        (unit, self.unit(unit))
    }
}
