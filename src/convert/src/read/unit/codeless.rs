//! Keeps the subprograms without code: functions whose address the linker erased, and functions that gcc merged into others.

use crate::model::{Calls, Codeless, DieOffset, Instance, LocalOrigin, Lost, UnitErased};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::unit::addresses::DeadRange;
use crate::read::unit::origins::SubprogramIdentity;
use crate::read::unit::roles::Role;
use crate::read::unit::walk::{OpenKind, UnitEntries, Walk};

impl<'f, E: Endianity> Walk<'_, 'f, E> {
    /// Keeps the identity of a function that gcc's unit defines without code.
    pub(crate) fn codeless(
        &mut self,
        entries: &mut UnitEntries<'_, 'f, E>,
        mut entry: Entry<Role>,
    ) -> gimli::Result<Option<OpenKind>> {
        if !self.out.head.keeps_callees {
            return entries.skip(&entry).map(|()| Some(OpenKind::Without));
        }
        let (place, mut identity) = (self.ids.origins.place(entry.offset), SubprogramIdentity::default());
        let die = DieOffset(self.unit_offset + entry.offset.0 as u64);
        while let Some(attribute) = entries.attribute(&mut entry)? {
            self.ids.origins.take(place, &mut identity, &attribute, &mut self.ids.diagnostics);
        }
        let (origin, instance) = self.ids.origins.finish(place, identity, &mut self.ids.diagnostics);
        let external = self.ids.origins.tables.is_external(origin);
        self.out.records.codeless.push(Codeless { die, origin, instance, external });
        Ok(Some(OpenKind::Without))
    }

    /// Keeps a range of a function whose address was erased.
    pub(crate) fn erased(
        &mut self,
        die: DieOffset,
        (origin, instance): (LocalOrigin, Instance),
        dead: DeadRange,
        removed: bool,
        lost: Lost,
        calls: Calls,
    ) {
        let external = self.ids.origins.tables.is_external(origin);
        let DeadRange { len: size, part } = dead;
        let erased = UnitErased { die, origin, instance, size, part, external, removed, lost, calls };
        self.out.records.erased.push(erased);
    }
}
