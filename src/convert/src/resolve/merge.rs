//! Numbers the names, files, origins and call edges of all units in one space each.
//!
//! Units are taken in the order of the file, so that the numbers do not depend on threads. A string is
//! looked up by its place in the mapped file first, and by its content only once a place.

use std::borrow::Cow;

use foldsym_format::names::MAX_NAME;
use rustc_hash::FxHashMap;

use crate::model::{Edge, EdgeId, FileId, NONE16, NameId, Origin, OriginId, Program, Unit, UnitMap};

/// The program's tables while they grow.
pub(super) struct Merged<'f> {
    pub(super) program: Program<'f>,
    names: FxHashMap<Cow<'f, [u8]>, NameId>,
    origins: FxHashMap<Origin, OriginId>,
    /// Names that are longer than a file holds.
    pub(super) cut_names: u64,
}

impl<'f> Merged<'f> {
    /// The id of a name that borrows from the program's files.
    pub(super) fn name(&mut self, name: &'f [u8]) -> NameId {
        self.intern(Cow::Borrowed(name))
    }

    pub(super) fn intern(&mut self, mut name: Cow<'f, [u8]>) -> NameId {
        if name.len() > MAX_NAME {
            self.cut_names += 1;
            name = match name {
                Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..MAX_NAME]),
                Cow::Owned(bytes) => Cow::Owned(bytes[..MAX_NAME].to_vec()),
            };
        }
        if let Some(&id) = self.names.get(name.as_ref()) {
            return id;
        }
        let id = NameId(self.program.names.len() as u32);
        self.program.names.push(name.clone());
        self.names.insert(name, id);
        id
    }

    pub(super) fn origin(&mut self, origin: Origin) -> OriginId {
        *self.origins.entry(origin).or_insert_with(|| {
            self.program.origins.push(origin);
            OriginId((self.program.origins.len() - 1) as u32)
        })
    }

    /// The id of a name that something of the program has already.
    pub(super) fn name_of(&self, name: &[u8]) -> Option<NameId> {
        self.names.get(name).copied()
    }

    pub(super) fn name_bytes(&self, id: NameId) -> &[u8] {
        &self.program.names[id.index()]
    }
}

/// Merges the units' tables. The units keep their rows and scopes; [`UnitMap`] translates their ids.
pub(super) fn merge<'f>(units: Vec<Unit<'f>>, remap_path: &[(Vec<u8>, Vec<u8>)]) -> Merged<'f> {
    let mut merged = Merged {
        program: Program::default(),
        names: FxHashMap::default(),
        origins: FxHashMap::default(),
        cut_names: 0,
    };
    let mut files: FxHashMap<Vec<u8>, FileId> = FxHashMap::default();
    let mut edges: FxHashMap<Edge, EdgeId> = FxHashMap::default();
    let mut places: FxHashMap<(usize, usize), NameId> = FxHashMap::default();
    let mut maps = Vec::with_capacity(units.len());
    let mut kept = Vec::with_capacity(units.len());
    for mut unit in units {
        let names: Vec<NameId> = std::mem::take(&mut unit.names)
            .into_iter()
            .map(|name| match name {
                Cow::Borrowed(bytes) => *places
                    .entry((bytes.as_ptr() as usize, bytes.len()))
                    .or_insert_with(|| merged.intern(Cow::Borrowed(bytes))),
                owned => merged.intern(owned),
            })
            .collect();
        let mut map = UnitMap::default();
        for path in std::mem::take(&mut unit.files) {
            let mut path = remapped(path, remap_path);
            merged.cut_names += u64::from(path.len() > MAX_NAME);
            path.truncate(MAX_NAME);
            let id = match files.get(&path) {
                Some(&id) => id,
                None => {
                    let id = FileId(merged.program.files.len() as u32);
                    merged.program.files.push(path.clone());
                    files.insert(path, id);
                    id
                }
            };
            map.files.push(id);
        }
        let file = |local: u16| (local != NONE16).then(|| map.files[usize::from(local)]);
        for origin in std::mem::take(&mut unit.origins) {
            let origin =
                Origin { name: names[origin.name as usize], file: file(origin.file), line: origin.line };
            map.origins.push(merged.origin(origin));
        }
        for edge in std::mem::take(&mut unit.edges) {
            let edge = Edge {
                caller: map.origins[edge.caller.index()],
                callee: map.origins[edge.callee.index()],
                file: file(edge.file),
                line: edge.line,
                column: edge.column,
            };
            let next = EdgeId(edges.len() as u32);
            let id = *edges.entry(edge).or_insert(next);
            if id == next {
                merged.program.edges.push(edge);
            }
            map.edges.push(id);
        }
        maps.push(map);
        kept.push(unit);
    }
    merged.program.units = kept;
    merged.program.maps = maps;
    merged
}

/// The path with the first prefix that fits replaced. A prefix ends at a component.
fn remapped(path: Vec<u8>, remap_path: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    for (old, new) in remap_path {
        if let Some(rest) = path.strip_prefix(old.as_slice())
            && (rest.is_empty() || rest[0] == b'/' || old.ends_with(b"/"))
        {
            return [new.as_slice(), rest].concat();
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::remapped;

    #[test]
    fn a_prefix_ends_at_a_component() {
        let map = [(b"/build".to_vec(), b"/src".to_vec())];
        assert_eq!(remapped(b"/build/a.c".to_vec(), &map), b"/src/a.c");
        assert_eq!(remapped(b"/buildbot/a.c".to_vec(), &map), b"/buildbot/a.c");
    }
}
