//! What the reading of a unit needs, and the walk over its entries.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{ClassPlaces, Unit, UnitClasses, UnitHead};
use crate::read::code::CodeSections;
use crate::read::limits::Limits;
use crate::read::options::ReadOptions;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::call_tables::CallTables;
use crate::read::space::Space;
use crate::read::unit;
use crate::read::unit::memory::Memory;
use crate::read::unit::source::UnitSource;
use crate::read::units::supply::Supply;
use crate::util::budget::Allowance;

/// What the reading of every unit needs.
#[derive(Clone, Copy)]
pub(crate) struct UnitTask<'a, 'f, E: Endianity> {
    pub(crate) space: &'a Space<'f, E>,
    pub(crate) code: &'a CodeSections,
    pub(crate) options: ReadOptions,
    pub(crate) supply: &'a Supply<'a, 'f, E>,
    pub(crate) tables: &'a CallTables,
    pub(crate) walk: UnitWalk<'a>,
    /// Of the thread: nobody waits for it.
    pub(crate) memory: &'a Mutex<Memory>,
    /// What a unit may have of what others have as well.
    pub(crate) limit: u64,
    /// What the program may take.
    pub(crate) allowance: Allowance,
}

/// What is read of a unit.
#[derive(Clone, Copy)]
pub(crate) enum UnitWalk<'a> {
    /// All, but classes only as [`ReadOptions::classes`] says.
    Functions,
    /// Only the classes, of these units; by offset.
    Classes(&'a [UnitClasses<'a>]),
    /// Only the classes, of the one unit that is read.
    ClassesAt(&'a ClassPlaces),
}

impl<'f, E: Endianity> UnitTask<'_, 'f, E> {
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Walks a unit. Returns what it has of what others may have as well, too.
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
                // gcc does not say which of its classes matter, and a `.dwo` does not live as long as its classes.
                let main = source.space.main.dwarf.file_type == gimli::DwarfFileType::Main;
                if self.options.classes && main && unit.records.class_places.is_of_tables() {
                    let places = std::mem::take(&mut unit.records.class_places);
                    let mut counted = Diagnostics::default();
                    let mut described = unit::classes(source, &places, &mut memory, &mut counted);
                    described.skipped = counted.only(Kind::SkippedClasses);
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
            // The unit is none of those.
            UnitWalk::Classes(_) => (Unit::default(), 0),
        }
    }
}

/// A unit of which nothing but its place is known.
pub(crate) fn empty<'f>(offset: u64) -> Unit<'f> {
    Unit { head: UnitHead { offset, ..UnitHead::default() }, ..Unit::default() }
}
