//! Reads the functions that gcc's unit defines without code, because gcc merged them into others.

use crate::model::Codeless;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::origins::SubprogramIdentity;
use crate::read::unit::roles::Role;
use crate::read::unit::walked_unit::{UnitEntries, WalkedUnit};

/// Reads the identity of a function without code.
pub(crate) fn codeless<'f, E: Endianity>(
    unit: &WalkedUnit<'_, 'f, E>,
    ids: &mut Numbering<'_, 'f, E>,
    entries: &mut UnitEntries<'_, 'f, E>,
    mut entry: Entry<Role>,
) -> gimli::Result<Codeless> {
    let (place, mut identity) = (ids.origins.place(entry.offset), SubprogramIdentity::default());
    let die = unit.die(entry.offset);
    while let Some(attribute) = entries.attribute(&mut entry)? {
        ids.origins.take(place, &mut identity, &attribute, &mut ids.diagnostics);
    }
    let (origin, instance) = ids.origins.finish(place, identity, &mut ids.diagnostics);
    let external = ids.origins.tables.is_external(origin);
    Ok(Codeless { die, origin, instance, external })
}
