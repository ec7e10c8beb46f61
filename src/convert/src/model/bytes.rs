//! The memory that units take, as charged to [`crate::util::budget`].

use super::{ClassUnit, Unit, UnitCode, UnitMap, UnitRecords, UnitTraces};
use crate::util::fit::fit;

impl Unit<'_> {
    /// True for a unit of which only the offset is known: it has no name and no code, and no other unit refers to it.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.file_name.is_empty()
            && !self.head.partial
            // Every list is empty, since `bytes` counts their elements.
            && self.bytes() == size_of::<Self>() as u64
            && self.records.class_places.is_empty()
            && self.records.described.is_none()
            && self.code.locations.is_none()
    }

    /// Bytes of memory that the unit takes, without names and paths, which several units may share, and without
    /// records that are read later.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = [
            size_of_val(&self.tables.names[..]),
            size_of_val(&self.tables.files[..]),
            size_of_val(&self.tables.origins[..]),
            size_of_val(&self.tables.edges[..]),
            size_of_val(&self.traces.lost[..]),
            size_of_val(&self.traces.lost_ranges[..]),
            self.records.calls.bytes(),
            size_of_val(&self.records.listed[..]),
            self.records.callees.bytes(),
            self.records.erased.bytes(),
            size_of_val(&self.records.codeless[..]),
            size_of_val(&self.records.emitted[..]),
            size_of_val(&self.records.variables[..]),
            size_of_val(&self.traces.bare[..]),
            size_of_val(&self.traces.strays[..]),
            size_of_val(&self.traces.unclaimed[..]),
            size_of_val(&self.records.class_places.tables[..]),
            size_of_val(&self.records.class_places.dynamic[..]),
            size_of_val(&self.records.class_places.unnamed[..]),
        ];
        (size_of::<Self>() + lists.iter().sum::<usize>()) as u64 + self.code.bytes()
    }
}

impl UnitCode<'_> {
    /// Bytes of memory that its lists take.
    pub(crate) fn bytes(&self) -> u64 {
        (self.scopes.bytes() + self.rows.bytes() + self.pieces.bytes() + self.functions.bytes()) as u64
    }
}

/// A unit's lists do not grow any more, and a list has room for up to as many elements again.
impl UnitCode<'_> {
    pub(crate) fn fit(&mut self) {
        fit(self.rows.own_mut());
        fit(self.scopes.own_mut());
        fit(self.pieces.own_mut());
        fit(self.functions.own_mut());
    }
}

impl UnitRecords<'_> {
    pub(crate) fn fit(&mut self) {
        fit(self.calls.own_mut());
        fit(self.callees.own_mut());
        fit(self.erased.own_mut());
        fit(&mut self.codeless);
        fit(&mut self.emitted);
        fit(&mut self.variables);
    }
}

impl UnitTraces {
    pub(crate) fn fit(&mut self) {
        fit(&mut self.lost);
        fit(&mut self.lost_ranges);
    }
}

impl UnitMap<'_> {
    /// Bytes of memory that the map takes.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = size_of_val(&self.files[..]) + self.origins.bytes() + self.edges.bytes();
        (size_of::<Self>() + lists) as u64
    }
}

impl ClassUnit<'_> {
    /// As [`UnitCode::fit`].
    pub(crate) fn fit(&mut self) {
        fit(self.names.own_mut());
        fit(self.classes.own_mut());
        fit(self.bases.own_mut());
        fit(self.methods.own_mut());
        fit(self.vtables.own_mut());
    }

    /// Bytes of memory that the classes take, with the places of their names.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = self.names.bytes()
            + self.classes.bytes()
            + self.bases.bytes()
            + self.methods.bytes()
            + self.vtables.bytes();
        (size_of::<Self>() + lists) as u64
    }
}
