//! The units of a program after `merge`, with the ids that their local ids have in the whole program. No later step
//! changes them.

use std::sync::OnceLock;

use crate::merge::names::Names;
use crate::model::{Edge, LocalOrigin, NameId, OriginId, SlotKey, UnitHead, UnitId, UnitMap, UnitRecords};
use crate::util::hash::HashSet;
use crate::util::text::base_name;

/// The heads of units, and the program's ids for their local ids, in the order of the file.
#[derive(Default)]
pub(crate) struct Units<'f> {
    pub(crate) heads: Vec<UnitHead<'f>>,
    /// One for each unit.
    pub(crate) maps: Vec<UnitMap<'f>>,
    /// The inlined calls of all units.
    pub(crate) edges: Vec<Edge>,
    /// By unit: the names of its origins; computed at first use.
    described: Vec<OnceLock<HashSet<NameId>>>,
}

/// The units' records of calls, of codeless functions, and of classes.
#[derive(Default)]
pub(crate) struct Records<'f> {
    /// One for each unit.
    pub(crate) units: Vec<UnitRecords<'f>>,
    /// Calls through slots that a table lists (`.debug_vcall`).
    pub(crate) slots: Vec<SlotKey>,
}

/// A function as one unit defines it: the unit, and its origin there.
#[derive(Clone, Copy)]
pub(crate) struct Definition {
    pub(crate) unit: UnitId,
    pub(crate) origin: OriginId,
}

impl<'f> Units<'f> {
    pub(super) fn add(&mut self, head: UnitHead<'f>, map: UnitMap<'f>) {
        self.heads.push(head);
        self.maps.push(map);
        self.described.push(OnceLock::new());
    }

    /// The number of units.
    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    /// True if Go compiled all units, and there are some.
    pub(crate) fn are_of_go(&self) -> bool {
        !self.heads.is_empty() && self.heads.iter().all(|head| head.merges_nothing)
    }

    /// The program's id of a unit's origin.
    pub(crate) fn origin_of(&self, unit: UnitId, local: LocalOrigin) -> OriginId {
        self.maps[unit.index()].origins[local.index()]
    }

    /// True if this unit has an origin of this name: a function of its own, or one that it inlines or calls.
    pub(crate) fn describes(&self, names: &Names<'_>, unit: UnitId, name: NameId) -> bool {
        let of_unit = || {
            let origins = self.maps[unit.index()].origins.iter();
            origins.map(|origin| names.of_origin(*origin)).collect()
        };
        // Collected at the first use: the sets of all units together would take as much memory as all their origins.
        self.described[unit.index()].get_or_init(of_unit).contains(&name)
    }

    /// As [`Names::are_apart`], for functions whose units both have lines at one address (lld and mold leave a discarded copy none).
    /// Functions declared in the source files of their units are apart if those are different files of one name.
    pub(crate) fn are_apart_there(&self, names: &Names<'_>, one: Definition, other: Definition) -> bool {
        let in_source = |Definition { unit, origin }: Definition| {
            let name = names.origin(origin).file.map(|file| base_name(names.file(file)));
            name.is_some_and(|name| *name == *self.heads[unit.index()].file_name)
        };
        names.are_apart(one.origin, other.origin)
            || (names.have_other_paths(one.origin, other.origin) && in_source(one) && in_source(other))
    }
}
