//! Everything that reading a unit needs, and the choice of what to read from it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::diagnostics::Diagnostics;
use crate::model::{ClassPlaces, Unit, UnitClasses, UnitHead};
use crate::read::code::CodeSections;
use crate::read::limits::Limits;
use crate::read::options::ReadOptions;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::call_tables::CallTables;
use crate::read::space::Space;
use crate::read::types;
use crate::read::unit;
use crate::read::unit::memory::Memory;
use crate::read::unit::source::UnitSource;
use crate::read::units::split_files::Supply;
use crate::util::budget::Allowance;

/// Everything that reading a unit needs, except the unit.
#[derive(Clone, Copy)]
pub(crate) struct UnitTask<'a, 'f, E: Endianity> {
    pub(crate) space: &'a Space<'f, E>,
    pub(crate) code: &'a CodeSections,
    pub(crate) options: ReadOptions,
    pub(crate) supply: &'a Supply<'a, 'f, E>,
    pub(crate) tables: &'a CallTables,
    pub(crate) walk: UnitWalk<'a>,
    /// The tables of this thread, so locking never waits.
    pub(crate) memory: &'a Mutex<Memory>,
    /// The most shared items of a unit: see [`Limits::of_others`].
    pub(crate) limit: u64,
    /// The memory that the program may use.
    pub(crate) allowance: Allowance,
}

/// What is read from a unit.
#[derive(Clone, Copy)]
pub(crate) enum UnitWalk<'a> {
    /// Everything, but classes only as [`ReadOptions::classes`] says.
    Functions,
    /// Only the classes of these units, which are sorted by offset.
    Classes(&'a [UnitClasses<'a>]),
    /// Only these classes of the current unit.
    ClassesAt(&'a ClassPlaces),
    /// Only the types of the functions of the units at these offsets, which are sorted.
    Types(&'a [u64]),
}

impl<'f, E: Endianity> UnitTask<'_, 'f, E> {
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a unit. Also returns the number of its shared items.
    pub(crate) fn walk<'d>(
        &self,
        source: &UnitSource<'_, 'd, E>,
        diagnostics: &mut Diagnostics,
    ) -> (Unit<'d>, u64)
    where
        'f: 'd,
    {
        let mut memory = self.memory();
        let limits = Limits { of_others: self.limit, kept: self.allowance.kept() };
        match self.walk {
            UnitWalk::Functions => {
                let (mut unit, shared) =
                    unit::read(source, self.code, self.options, &mut memory, limits, diagnostics);
                // gcc does not say which classes have a vtable in this unit, and a `.dwo` is unmapped before classes are used.
                let main = source.space.main.dwarf.file_type == gimli::DwarfFileType::Main;
                if self.options.classes && main && unit.records.class_places.is_of_tables() {
                    let places = std::mem::take(&mut unit.records.class_places);
                    let mut counted = Diagnostics::default();
                    let mut described = unit::classes(source, &places, &mut memory, &mut counted);
                    // The walk has counted the other damage of the unit. This part counts only if the classes are used,
                    // which is not known yet.
                    described.skipped = counted.of_classes();
                    described.fit();
                    unit.records.described = Some(Box::new(described));
                }
                (unit, shared)
            }
            UnitWalk::ClassesAt(places) => {
                let described = unit::classes(source, places, &mut memory, diagnostics);
                let mut unit = empty(described.offset);
                unit.records.described = Some(Box::new(described));
                (unit, 0)
            }
            UnitWalk::Types(_) => {
                let types = types::types(source, diagnostics);
                let mut unit = empty(types.offset);
                unit.records.types = Some(Box::new(types));
                (unit, 0)
            }
            // Not reached: `one_unit::read` turns this into `ClassesAt`, or does not read the unit.
            UnitWalk::Classes(_) => (Unit::default(), 0),
        }
    }
}

/// A unit of which only the offset is known.
pub(crate) fn empty<'f>(offset: u64) -> Unit<'f> {
    Unit { head: UnitHead { offset, ..UnitHead::default() }, ..Unit::default() }
}
