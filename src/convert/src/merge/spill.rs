//! Moves the lists of a large program's units to the scratch file, since they take most of its memory.

use crate::model::{ClassUnit, UnitCode, UnitMap, UnitRecords};
use crate::util::scratch::{ScratchFile, ScratchPart};

/// Which units have their lists in the scratch file: those before `first`.
pub(super) struct Spill<'f> {
    scratch: &'f ScratchFile,
    first: usize,
    /// Bytes of the lists of the units from `first` on.
    in_memory: usize,
    /// The scratch file cannot be written to.
    failed: bool,
}

impl<'f> Spill<'f> {
    pub(super) fn new(scratch: &'f ScratchFile) -> Spill<'f> {
        Spill { scratch, first: 0, in_memory: 0, failed: false }
    }

    /// Counts the lists of a unit, and says whether there are enough for [`Spill::units`].
    pub(super) fn is_due(
        &mut self,
        code: &UnitCode<'_>,
        records: &UnitRecords<'_>,
        map: &UnitMap<'_>,
    ) -> bool {
        self.in_memory += code.bytes_in_memory() + records.all_in_memory() + map.bytes_in_memory();
        self.scratch.is_wanted(self.in_memory) && !self.failed
    }

    /// Moves the lists of those of all units whose lists are in memory. If the scratch file cannot be written to, they stay.
    pub(super) fn units(&mut self, UnitLists { code, records, maps }: UnitLists<'_, 'f>) {
        let first = self.first;
        self.first = code.len();
        self.in_memory = 0;
        let new =
            UnitLists { code: &mut code[first..], records: &mut records[first..], maps: &mut maps[first..] };
        // After one failure no further part is tried: each try would write zeros until the disk is full again.
        self.failed = !new.spill(self.scratch);
    }

    /// The same for the last units, if earlier units have theirs in the scratch file.
    pub(super) fn rest(mut self, all: UnitLists<'_, 'f>) {
        if self.in_memory > 0 && self.scratch.is_used() && !self.failed {
            self.units(all);
        }
    }
}

/// Moves the code that `recover` added to units, if the units have theirs in the scratch file.
pub(crate) fn recovered<'f>(scratch: &'f ScratchFile, code: &mut [UnitCode<'f>]) {
    if scratch.is_used() {
        // If the disk is full, it stays in memory.
        UnitLists { code, records: &mut [], maps: &mut [] }.spill(scratch);
    }
}

/// Units whose lists are moved.
pub(super) struct UnitLists<'l, 'f> {
    pub(super) code: &'l mut [UnitCode<'f>],
    pub(super) records: &'l mut [UnitRecords<'f>],
    pub(super) maps: &'l mut [UnitMap<'f>],
}

impl<'f> UnitLists<'_, 'f> {
    /// False if the scratch file cannot be written to.
    fn spill(self, scratch: &'f ScratchFile) -> bool {
        let code = self.code.iter().map(UnitCode::bytes_in_memory);
        let others = self
            .records
            .iter()
            .map(UnitRecords::all_in_memory)
            .chain(self.maps.iter().map(UnitMap::bytes_in_memory));
        let bytes = code.chain(others).sum();
        if bytes == 0 {
            return true;
        }
        let Ok(mut part) = scratch.part(bytes) else { return false };
        self.code.iter_mut().for_each(|unit| unit.spill(&mut part, scratch));
        for unit in self.records {
            unit.spill(&mut part, scratch);
            unit.described.iter_mut().for_each(|classes| classes.spill(&mut part, scratch));
        }
        self.maps.iter_mut().for_each(|unit| unit.spill(&mut part, scratch));
        true
    }
}

/// For each type: the lists that move to the scratch file, and the bytes of those that are in memory.
macro_rules! spilled {
    ($($unit:ident: $($list:ident),+;)+) => {$(
        impl<'f> $unit<'f> {
            fn bytes_in_memory(&self) -> usize {
                0 $(+ ScratchPart::bytes_of(self.$list.own()))+
            }

            fn spill(&mut self, part: &mut ScratchPart<'f>, scratch: &'f ScratchFile) {
                $(self.$list.spill(part, scratch);)+
            }
        }
    )+};
}

spilled! {
    UnitCode: functions, pieces, scopes, rows;
    UnitRecords: calls, callees, erased;
    UnitMap: origins, edges;
    ClassUnit: names, classes, bases, methods, vtables;
}

impl UnitRecords<'_> {
    /// The bytes of its lists and of its classes that are in memory.
    fn all_in_memory(&self) -> usize {
        self.bytes_in_memory() + self.described.as_ref().map_or(0, |classes| classes.bytes_in_memory())
    }
}
