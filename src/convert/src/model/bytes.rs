//! How much memory units take: what [`crate::util::budget`] charges them with.

use super::{Unit, UnitMap};

impl Unit<'_> {
    /// True for a unit of which only the offset is known: it has no name, no code, and nothing that others refer to.
    pub(crate) fn is_empty(&self) -> bool {
        self.file_name.is_empty()
            && !self.partial
            && self.bytes() == size_of::<Self>() as u64
            && self.class_places.is_empty()
            && self.described.is_none()
            && self.locations.is_none()
    }

    /// Bytes of memory that the unit takes, but for names and paths, of which several units may have the same, and for what
    /// a second look gives.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = [
            size_of_val(&self.names[..]),
            size_of_val(&self.files[..]),
            size_of_val(&self.origins[..]),
            size_of_val(&self.edges[..]),
            size_of_val(&self.scopes[..]),
            size_of_val(&self.lost[..]),
            size_of_val(&self.lost_ranges[..]),
            size_of_val(&self.rows[..]),
            size_of_val(&self.pieces[..]),
            size_of_val(&self.functions[..]),
            size_of_val(&self.calls[..]),
            size_of_val(&self.listed[..]),
            size_of_val(&self.callees[..]),
            size_of_val(&self.erased[..]),
            size_of_val(&self.codeless[..]),
            size_of_val(&self.bare[..]),
            size_of_val(&self.unclaimed[..]),
            size_of_val(&self.class_places.tables[..]),
            size_of_val(&self.class_places.dynamic[..]),
            size_of_val(&self.classes[..]),
            size_of_val(&self.vtables[..]),
        ];
        (size_of::<Self>() + lists.iter().sum::<usize>()) as u64
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
