//! Numbers the names, files, origins and call edges of all units in one space each.
//!
//! Units are taken in the order of the file, so that the numbers do not depend on threads. A string is
//! looked up by its place in the mapped file first, and by its content only once a place.

use std::borrow::Cow;

use foldsym_format::names::MAX_NAME;
use hashbrown::HashTable;

use crate::model::{
    Edge, EdgeId, FileId, NONE16, NameId, Origin, OriginId, Program, SlotKey, Unit, UnitId, UnitMap, UnitName,
};
use crate::open::{DebugSection, DebugSections, Image};
use crate::read::units::queue::Take;
use crate::util::budget::{Allowance, TooMuch};
use crate::util::hash::{HashMap, HashSet, hash_of};
use crate::util::numbers::{NumberedMap, Numbers};
use crate::util::text::{MAX_TEXT, TOGETHER, base_name, is_same_path, soon, until_zero_within};

/// The program's tables while they grow.
pub(crate) struct Merged<'f> {
    pub(crate) program: Program<'f>,
    /// Prefixes of stored paths to replace: (old, new), the first that fits.
    remap_path: Vec<(Vec<u8>, Vec<u8>)>,
    names: HashTable<NameId>,
    /// By name: to grow the table no name is read again.
    hashes: Vec<u64>,
    /// By the place and the length of a name in the program's files.
    places: HashMap<(usize, usize), NameId>,
    /// By the place of a name whose length units do not know.
    begun: NumberedMap<usize, NameId>,
    files: HashMap<Vec<u8>, FileId>,
    /// By name: its first origin. Most names have one, and units name the same ones in the same order: what is near
    /// each other here is near in memory.
    first_origins: Vec<Option<OriginId>>,
    /// The others.
    origins: HashMap<Origin, OriginId>,
    /// By unit: the names of its origins, where that was asked.
    names_of_units: HashMap<UnitId, HashSet<NameId>>,
    edges: Numbers,
    /// Names and paths that are longer than a file holds, each once.
    pub(crate) cut_names: u64,
    /// Names and paths of units for which there was no room.
    pub(crate) without_room: u64,
    /// Bytes that are left for names and for paths of units.
    name_room: u64,
    path_room: u64,
    /// What may be kept, and what is: bytes of memory, see [`crate::util::budget`].
    allowance: Allowance,
    kept: u64,
    too_much: Option<TooMuch>,
    /// Units of which nothing is kept.
    empty_units: u64,
}

/// Bytes of memory for each name, origin, edge and path, with the places in the tables that find it.
const PER_NAME: u64 = 96;
const PER_ORIGIN: u64 = 64;
const PER_EDGE: u64 = 32;
const PER_PATH: u64 = 80;

/// Bytes of what the names and the paths of units are read from: they have together at most a multiple of it. A name is a
/// few bytes of an entry, and any number of them may be the ends of one long string.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sizes {
    /// The sections of strings that units share.
    pub(crate) strings: u64,
    /// `.debug_line`: a path is made of a file, its directory and the unit's.
    pub(crate) lines: u64,
    /// `.debug_info`.
    pub(crate) entries: u64,
}

impl Sizes {
    /// Those of a program and of the package of its split units.
    pub(crate) fn of(image: &Image<'_>, package: Option<&DebugSections<'_>>) -> Sizes {
        use DebugSection::{Info, Line, LineStr, Str};
        let sections = [Some(&image.debug), image.supplementary.as_ref(), package];
        let bytes = |ids: &[DebugSection]| {
            let each = sections
                .iter()
                .flatten()
                .flat_map(|sections| ids.iter().map(|&id| sections.get(id).len() as u64));
            each.sum()
        };
        Sizes { strings: bytes(&[Str, LineStr]), lines: bytes(&[Line]), entries: bytes(&[Info]) }
    }
}

/// Bytes of entries for each name and origin, and for each edge, that tables have room for from the start: half of the
/// names that RocksDB has, and all of its edges. To grow a table from nothing costs as much again.
const NAME_ENTRIES: u64 = 1 << 11;
const EDGE_ENTRIES: u64 = 1 << 8;
/// Nor more than this, whatever the sections claim: a table of numbers with it fits a cache.
const RESERVED: u64 = 200_000;

/// Linkers let strings share their ends, or write one twice.
const STRING_COPIES: u64 = 4;
/// An entry of a file table has two bytes at least, and a path is seldom longer than 128.
const LINE_COPIES: u64 = 64;
/// Bytes in any program; and what is kept of a name or path that there is no room for.
const ROOM_FLOOR: u64 = 1 << 20;
const SHORT: usize = 128;

impl<'f> Merged<'f> {
    pub(crate) fn new(remap_path: Vec<(Vec<u8>, Vec<u8>)>, sizes: Sizes, allowance: Allowance) -> Self {
        let room = |each: u64| (sizes.entries / each).min(RESERVED) as usize;
        let (names, edges) = (room(NAME_ENTRIES), room(EDGE_ENTRIES));
        let program = Program {
            names: Vec::with_capacity(names),
            origins: Vec::with_capacity(names),
            edges: Vec::with_capacity(edges),
            ..Program::default()
        };
        Merged {
            program,
            remap_path,
            names: HashTable::with_capacity(names),
            hashes: Vec::with_capacity(names),
            places: HashMap::default(),
            begun: NumberedMap::default(),
            files: HashMap::default(),
            first_origins: Vec::with_capacity(names),
            origins: HashMap::default(),
            names_of_units: HashMap::default(),
            edges: Numbers::with_capacity(edges),
            cut_names: 0,
            without_room: 0,
            name_room: sizes.strings.saturating_mul(STRING_COPIES).saturating_add(ROOM_FLOOR),
            path_room: sizes.lines.saturating_mul(LINE_COPIES).saturating_add(ROOM_FLOOR),
            allowance,
            kept: 0,
            too_much: None,
            empty_units: 0,
        }
    }

    /// The units so far.
    pub(crate) fn units(&self) -> &[Unit<'f>] {
        &self.program.units
    }

    /// Units that hold nothing.
    pub(crate) fn empty_units(&self) -> u64 {
        self.empty_units
    }

    /// The unit with which the program takes more memory than its bytes allow.
    ///
    /// # Errors
    /// There is one: units from it on were not taken.
    pub(crate) fn is_within(&self) -> Result<(), TooMuch> {
        self.too_much.map_or(Ok(()), Err)
    }

    /// Bytes of memory that names, origins, edges and paths take.
    fn tables_bytes(&self) -> u64 {
        let program = &self.program;
        let each = [
            (program.names.len(), PER_NAME),
            (program.origins.len(), PER_ORIGIN),
            (program.edges.len(), PER_EDGE),
            (program.files.len(), PER_PATH),
        ];
        each.iter().map(|&(count, bytes)| count as u64 * bytes).sum()
    }

    /// The id of a name that borrows from the program's files.
    pub(crate) fn name(&mut self, name: &'f [u8]) -> NameId {
        self.intern(Cow::Borrowed(name))
    }

    /// The same for a name that many units refer to at one place.
    fn shared_name(&mut self, name: &'f [u8]) -> NameId {
        let place = (name.as_ptr() as usize, name.len());
        if let Some(&id) = self.places.get(&place) {
            return id;
        }
        let id = self.unit_name(Cow::Borrowed(name));
        self.places.insert(place, id);
        id
    }

    /// The same for a name whose end is not known yet. What is looked at counts, whether or not the name is new.
    fn begun_name(&mut self, bytes: &'f [u8]) -> NameId {
        let place = bytes.as_ptr() as usize;
        if let Some(id) = self.begun.get(&place) {
            return id;
        }
        let most = self.name_room.saturating_add(SHORT as u64).min(MAX_TEXT as u64) as usize;
        let name = until_zero_within(bytes, most).unwrap_or_default();
        self.without_room += u64::from(most < MAX_TEXT && name.len() == most);
        self.name_room -= name.len().saturating_sub(SHORT) as u64;
        let id = self.intern(Cow::Borrowed(name));
        self.begun.insert(place, id);
        id
    }

    /// The id of a unit's name, as long as there is room for names.
    fn unit_name(&mut self, mut name: Cow<'f, [u8]>) -> NameId {
        let before = self.program.names.len();
        if name.len() > SHORT
            && name.len() as u64 - SHORT as u64 > self.name_room
            && self.name_of(&name).is_none()
        {
            self.without_room += 1;
            name = match name {
                Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..SHORT]),
                Cow::Owned(bytes) => Cow::Owned(bytes[..SHORT].to_vec()),
            };
        }
        let len = name.len();
        let id = self.intern(name);
        if self.program.names.len() > before {
            self.name_room -= len.saturating_sub(SHORT) as u64;
        }
        id
    }

    /// Ends the merging: frees what only units need.
    pub(crate) fn end_units(&mut self) {
        self.places = HashMap::default();
        self.begun = NumberedMap::default();
        self.files = HashMap::default();
        self.edges = Numbers::default();
    }

    /// Ends the resolving: frees what neither keys nor the file are made from.
    pub(crate) fn end(&mut self) {
        self.first_origins = Vec::new();
        self.origins = HashMap::default();
        self.names_of_units = HashMap::default();
        self.program.units.iter_mut().for_each(Unit::forget_what_is_resolved);
    }

    /// Ends the search for keys: frees what they alone are found with.
    pub(crate) fn end_keys(&mut self) {
        self.names = HashTable::new();
        self.hashes = Vec::new();
        self.program.units.iter_mut().for_each(Unit::forget_what_keys_are_of);
    }

    pub(crate) fn intern(&mut self, mut name: Cow<'f, [u8]>) -> NameId {
        let is_cut = name.len() > MAX_NAME;
        if is_cut {
            name = match name {
                Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..MAX_NAME]),
                Cow::Owned(bytes) => Cow::Owned(bytes[..MAX_NAME].to_vec()),
            };
        }
        let hash = hash_of(&name);
        if let Some(id) = self.name_with(hash, &name) {
            return id;
        }
        self.cut_names += u64::from(is_cut);
        let id = NameId(self.program.names.len() as u32);
        self.program.names.push(name);
        self.hashes.push(hash);
        self.names.insert_unique(hash, id, |id| self.hashes[id.index()]);
        id
    }

    fn name_with(&self, hash: u64, name: &[u8]) -> Option<NameId> {
        let is_it = |id: &NameId| self.hashes[id.index()] == hash && self.name_bytes(*id) == name;
        self.names.find(hash, is_it).copied()
    }

    pub(crate) fn origin(&mut self, origin: Origin) -> OriginId {
        let name = origin.name.index();
        let new = OriginId(self.program.origins.len() as u32);
        if self.first_origins.len() <= name {
            self.first_origins.resize(self.program.names.len(), None);
        }
        let id = match self.first_origins[name] {
            Some(first) if self.program.origins[first.index()] == origin => return first,
            Some(_) => *self.origins.entry(origin).or_insert(new),
            None => *self.first_origins[name].insert(new),
        };
        if id == new {
            self.program.origins.push(origin);
        }
        id
    }

    fn file(&mut self, path: Vec<u8>) -> FileId {
        let mut path = remapped(path, &self.remap_path);
        let is_cut = path.len() > MAX_NAME;
        path.truncate(MAX_NAME);
        if let Some(&id) = self.files.get(&path) {
            return id;
        }
        if path.len() > SHORT {
            match self.path_room.checked_sub((path.len() - SHORT) as u64) {
                Some(left) => self.path_room = left,
                None => {
                    self.without_room += 1;
                    path.truncate(SHORT);
                    if let Some(&id) = self.files.get(&path) {
                        return id;
                    }
                }
            }
        }
        self.cut_names += u64::from(is_cut);
        let id = FileId(self.program.files.len() as u32);
        self.program.files.push(path.clone());
        self.files.insert(path, id);
        id
    }

    fn edge(&mut self, edge: Edge) -> EdgeId {
        EdgeId(self.edges.number(&mut self.program.edges, edge))
    }

    /// True where a unit of the program has an origin of this name.
    pub(crate) fn is_described(&self, name: NameId) -> bool {
        self.first_origins.get(name.index()).is_some_and(Option::is_some)
    }

    /// True where this unit has an origin of this name: a function of its own, or one that it inlines or calls.
    pub(crate) fn describes(&mut self, unit: UnitId, name: NameId) -> bool {
        let program = &self.program;
        let names = self.names_of_units.entry(unit).or_insert_with(|| {
            let origins = &program.maps[unit.index()].origins;
            origins.iter().map(|origin| program.origins[origin.index()].name).collect()
        });
        names.contains(&name)
    }

    /// The id of a name that something of the program has already.
    pub(crate) fn name_of(&self, name: &[u8]) -> Option<NameId> {
        self.name_with(hash_of(name), name)
    }

    /// True where two functions of one name are declared in different places, as far as names of files tell: units may
    /// spell the path of one file differently, and need not say where.
    pub(crate) fn are_apart(&self, one: OriginId, other: OriginId) -> bool {
        differ(&self.program, one, other, |one, other| base_name(one) == base_name(other))
    }

    /// The same, for functions whose units both have lines at one address: a copy that a linker discarded has none. Those
    /// that are declared in the source files of their units are apart if those are different files of one name.
    pub(crate) fn are_apart_there(&self, one: (usize, OriginId), other: (usize, OriginId)) -> bool {
        let in_source = |(unit, origin): (usize, OriginId)| {
            let file = self.program.origins[origin.index()].file;
            let name = file.map(|file| base_name(&self.program.files[file.index()]));
            name.is_some_and(|name| *name == *self.program.units[unit].file_name)
        };
        self.are_apart(one.1, other.1)
            || (are_apart(&self.program, one.1, other.1) && in_source(one) && in_source(other))
    }

    pub(crate) fn name_bytes(&self, id: NameId) -> &[u8] {
        &self.program.names[id.index()]
    }
}

/// True where two functions of one name that the program has are declared in different places: two definitions, of which a
/// linker let one prevail (a strong one over a weak one). Units need not say where.
pub(crate) fn are_apart(program: &Program<'_>, one: OriginId, other: OriginId) -> bool {
    differ(program, one, other, is_same_path)
}

/// True where declarations are in lines that differ, or in files whose paths are not the same.
fn differ(
    program: &Program<'_>,
    one: OriginId,
    other: OriginId,
    is_same: impl Fn(&[u8], &[u8]) -> bool,
) -> bool {
    let [one, other] = [one, other].map(|origin| program.origins[origin.index()]);
    let (Some(file), Some(other_file)) = (one.file, other.file) else { return false };
    let path = |file: FileId| &program.files[file.index()];
    one.line > 0
        && other.line > 0
        && (one.line != other.line || (file != other_file && !is_same(path(file), path(other_file))))
}

/// Merges the unit's tables. The unit keeps its rows and scopes; its [`UnitMap`] translates their ids.
impl<'f> Take<'f> for Merged<'f> {
    fn take_slots(&mut self, slots: &[SlotKey]) {
        self.program.listed_slots.extend_from_slice(slots);
    }

    fn take(&mut self, mut unit: Unit<'f>) {
        if unit.is_empty() {
            self.empty_units += 1;
            return;
        }
        self.allowance = self.allowance.and(unit.brings);
        let own = unit.strings.saturating_mul(STRING_COPIES);
        self.name_room = self.name_room.saturating_add(own);
        let mut local = std::mem::take(&mut unit.names);
        let mut names = Vec::with_capacity(local.len());
        for some in local.chunks_mut(TOGETHER) {
            let new = some.iter().filter_map(|name| match name {
                UnitName::Begins(bytes) if self.begun.get(&(bytes.as_ptr() as usize)).is_none() => {
                    Some(*bytes)
                }
                _ => None,
            });
            soon(new);
            names.extend(some.iter_mut().map(|name| match name {
                UnitName::Begins(bytes) => self.begun_name(bytes),
                UnitName::Text(Cow::Borrowed(bytes)) => self.shared_name(bytes),
                UnitName::Text(Cow::Owned(owned)) => self.unit_name(Cow::Owned(std::mem::take(owned))),
            }));
        }
        let files: Vec<FileId> =
            std::mem::take(&mut unit.files).into_iter().map(|path| self.file(path)).collect();
        let file = |local: u16| (local != NONE16).then(|| files[usize::from(local)]);
        let local = std::mem::take(&mut unit.origins).into_iter().map(|origin| Origin {
            name: names[origin.name as usize],
            file: file(origin.file),
            line: origin.line,
        });
        let origins: Vec<OriginId> = local.map(|origin| self.origin(origin)).collect();
        let local = std::mem::take(&mut unit.edges).into_iter().map(|edge| Edge {
            caller: origins[edge.caller.index()],
            callee: origins[edge.callee.index()],
            file: file(edge.file),
            line: edge.line,
            column: edge.column,
        });
        let edges = local.map(|edge| self.edge(edge)).collect();
        let map = UnitMap { files, origins, edges };
        self.kept += unit.bytes() + map.bytes();
        self.program.maps.push(map);
        let (offset, stopped_at) = (unit.offset, unit.stopped_at);
        self.program.units.push(unit);
        let (kept, allowed) = (self.kept + self.tables_bytes(), self.allowance.kept());
        let kept = kept.max(stopped_at.unwrap_or(0));
        if kept > allowed || stopped_at.is_some() {
            let input = self.allowance.input();
            self.too_much.get_or_insert(TooMuch { unit: offset, kept, allowed, input });
        }
    }

    fn is_full(&self) -> bool {
        self.too_much.is_some()
    }
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
