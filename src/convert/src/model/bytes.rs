//! The memory that units take, as charged to [`crate::util::budget`].

use super::{ClassUnit, Row, Scope, Unit, UnitCode, UnitMap, UnitRecords, UnitTraces};

impl Unit<'_> {
    /// True for a unit of which only the offset is known: it has no name and no code, and no other unit refers to it.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.file_name.is_empty()
            && !self.head.partial
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
            size_of_val(&self.records.calls[..]),
            size_of_val(&self.records.listed[..]),
            size_of_val(&self.records.callees[..]),
            size_of_val(&self.records.erased[..]),
            size_of_val(&self.records.codeless[..]),
            size_of_val(&self.traces.bare[..]),
            size_of_val(&self.traces.unclaimed[..]),
            size_of_val(&self.records.class_places.tables[..]),
            size_of_val(&self.records.class_places.dynamic[..]),
        ];
        (size_of::<Self>() + lists.iter().sum::<usize>()) as u64 + self.code.bytes()
    }
}

impl UnitCode<'_> {
    /// Bytes of memory that its lists take.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = self.scopes.len() * size_of::<Scope>()
            + self.rows.len() * size_of::<Row>()
            + size_of_val(&self.pieces[..])
            + size_of_val(&self.functions[..]);
        lists as u64
    }
}

/// A unit's lists do not grow any more, and a list has room for up to as many elements again.
impl UnitCode<'_> {
    pub(crate) fn shrink_to_fit(&mut self) {
        self.rows.own_mut().shrink_to_fit();
        self.scopes.own_mut().shrink_to_fit();
        self.pieces.shrink_to_fit();
        self.functions.shrink_to_fit();
    }
}

impl UnitRecords<'_> {
    pub(crate) fn shrink_to_fit(&mut self) {
        self.calls.shrink_to_fit();
        self.callees.shrink_to_fit();
        self.erased.shrink_to_fit();
        self.codeless.shrink_to_fit();
    }
}

impl UnitTraces {
    pub(crate) fn shrink_to_fit(&mut self) {
        self.lost.shrink_to_fit();
        self.lost_ranges.shrink_to_fit();
    }
}

impl UnitMap {
    /// Bytes of memory that the map takes.
    pub(crate) fn bytes(&self) -> u64 {
        let lists =
            size_of_val(&self.files[..]) + size_of_val(&self.origins[..]) + size_of_val(&self.edges[..]);
        (size_of::<Self>() + lists) as u64
    }
}

impl ClassUnit<'_> {
    /// Bytes of memory that the classes take, with the places of their names.
    pub(crate) fn bytes(&self) -> u64 {
        let lists =
            size_of_val(&self.names[..]) + size_of_val(&self.classes[..]) + size_of_val(&self.vtables[..]);
        (size_of::<Self>() + lists) as u64
    }
}
