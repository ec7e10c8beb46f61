//! Numbers the names, files, origins and call edges of all units in one space each.
//!
//! Units are taken in the order of the file, so that the numbers do not depend on threads. A string is
//! looked up by its place in the mapped file first. Its content is hashed once for each place.

pub(crate) mod names;
pub(crate) mod spill;
pub(crate) mod units;

use std::borrow::Cow;

use foldsym_format::names::MAX_NAME;

use crate::merge::names::{Names, shortened};
use crate::merge::spill::{Spill, UnitLists};
use crate::merge::units::{Records, Units};
use crate::model::{
    Edge, EdgeId, FileId, LocalTables, NONE16, NameId, Origin, OriginId, SlotKey, Unit, UnitCode, UnitMap,
    UnitName, UnitTraces,
};
use crate::open::{DebugSection, DebugSections, Files, Image};
use crate::read::units::queue::Take;
use crate::util::budget::{Allowance, TooMuch};
use crate::util::fit::fit;
use crate::util::hash::HashMap;
use crate::util::numbers::{NumberedMap, Numbers};
use crate::util::text::{MAX_TEXT, TOGETHER, soon, until_zero_within};

/// What units are once their ids are those of the program: five values that live for different times.
pub(crate) struct Merged<'f> {
    /// Grows until functions are placed.
    pub(crate) names: Names<'f>,
    pub(crate) units: Units<'f>,
    pub(crate) records: Records<'f>,
    /// One for each unit: `recover` adds to them.
    pub(crate) code: Vec<UnitCode<'f>>,
    /// One for each unit: `recover` uses them up.
    pub(crate) traces: Vec<UnitTraces>,
    /// Units of which nothing is kept.
    pub(crate) empty_units: u64,
}

impl<'f> Merged<'f> {
    /// The lists that may move to the scratch file.
    fn lists(&mut self) -> UnitLists<'_, 'f> {
        let Merged { units, records, code, .. } = self;
        UnitLists { code, records: &mut records.units, maps: &mut units.maps }
    }
}

/// Takes units while they are read.
pub(crate) struct Merging<'f> {
    merged: Merged<'f>,
    /// Prefixes of stored paths to replace: (old, new), the first that fits.
    remap_path: Vec<(Vec<u8>, Vec<u8>)>,
    /// By the place and the length of a name in the program's files.
    places: HashMap<(usize, usize), NameId>,
    /// By the place of a name whose length units do not know.
    begun: NumberedMap<usize, NameId>,
    files: HashMap<Vec<u8>, FileId>,
    edges: Numbers,
    room: Room,
    too_much: Option<TooMuch>,
    spill: Spill<'f>,
}

/// What names and paths may still take, and what the program does.
struct Room {
    /// Bytes that are left for names and for paths of units.
    names: u64,
    paths: u64,
    /// What may be kept, and what is: bytes of memory, see [`crate::util::budget`].
    allowance: Allowance,
    kept: u64,
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
pub(crate) const STRING_COPIES: u64 = 4;
/// An entry of a file table has two bytes at least, and a path is seldom longer than 128.
pub(crate) const LINE_COPIES: u64 = 64;
/// Bytes in any program; and what is kept of a name or path that there is no room for.
const ROOM_FLOOR: u64 = 1 << 20;
const SHORT: usize = 128;

impl<'f> Merging<'f> {
    /// For a program of these files, of which all but `.dwo` files are mapped by now.
    pub(crate) fn new(remap_path: Vec<(Vec<u8>, Vec<u8>)>, sizes: Sizes, files: &'f Files) -> Self {
        let room = |each: u64| (sizes.entries / each).min(RESERVED) as usize;
        let edges = room(EDGE_ENTRIES);
        let mut units = Units::default();
        units.edges.reserve(edges);
        Merging {
            merged: Merged {
                names: Names::with_capacity(room(NAME_ENTRIES)),
                units,
                records: Records::default(),
                code: Vec::new(),
                traces: Vec::new(),
                empty_units: 0,
            },
            remap_path,
            places: HashMap::default(),
            begun: NumberedMap::default(),
            files: HashMap::default(),
            edges: Numbers::with_capacity(edges),
            room: Room {
                names: sizes.strings.saturating_mul(STRING_COPIES).saturating_add(ROOM_FLOOR),
                paths: sizes.lines.saturating_mul(LINE_COPIES).saturating_add(ROOM_FLOOR),
                allowance: files.allowance(),
                kept: 0,
            },
            too_much: None,
            spill: Spill::new(files.scratch()),
        }
    }

    /// All units, merged. Frees what only merging takes.
    ///
    /// # Errors
    /// The unit with which the program takes more memory than its bytes allow: units from it on were not taken.
    pub(crate) fn finish(mut self) -> Result<Merged<'f>, TooMuch> {
        self.spill.rest(self.merged.lists());
        self.too_much.map_or(Ok(self.merged), Err)
    }

    /// Bytes of memory that names, origins, edges and paths take.
    fn tables_bytes(&self) -> u64 {
        let Merged { names, units, .. } = &self.merged;
        let each = [
            (names.len(), PER_NAME),
            (names.origin_count(), PER_ORIGIN),
            (units.edges.len(), PER_EDGE),
            (names.files.len(), PER_PATH),
        ];
        each.iter().map(|&(count, bytes)| count as u64 * bytes).sum()
    }

    /// The id of a name that many units refer to at one place.
    fn shared_name(&mut self, name: &'f [u8]) -> NameId {
        // By its place: units refer to names by offsets in `.debug_str`, so most names are found without reading a byte of
        // them.
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
        let most = self.room.names.saturating_add(SHORT as u64).min(MAX_TEXT as u64) as usize;
        // Only as far as there is room: a hostile file may refer to each byte of one long string as a name.
        let name = until_zero_within(bytes, most).unwrap_or_default();
        let names = &mut self.merged.names;
        names.names_without_room +=
            u64::from(most < MAX_TEXT && name.len() == most && bytes.get(most) != Some(&0));
        // The text has at most `room.names` bytes more than `SHORT`, so this does not fall below 0.
        self.room.names -= name.len().saturating_sub(SHORT) as u64;
        let id = names.intern(Cow::Borrowed(name));
        self.begun.insert(place, id);
        id
    }

    /// The id of a unit's name, as long as there is room for names.
    fn unit_name(&mut self, mut name: Cow<'f, [u8]>) -> NameId {
        let names = &mut self.merged.names;
        let before = names.len();
        if name.len() > SHORT
            && name.len() as u64 - SHORT as u64 > self.room.names
            && names.find(&name).is_none()
        {
            names.names_without_room += 1;
            name = shortened(name, SHORT);
        }
        let len = name.len();
        let id = names.intern(name);
        if names.len() > before {
            self.room.names -= len.saturating_sub(SHORT) as u64;
        }
        id
    }

    fn file(&mut self, path: Vec<u8>) -> FileId {
        let mut path = remapped(path, &self.remap_path);
        let is_cut = path.len() > MAX_NAME;
        path.truncate(MAX_NAME);
        // Looked up before it is charged: a known path takes no more room.
        if let Some(&id) = self.files.get(&path) {
            return id;
        }
        let names = &mut self.merged.names;
        // The limit is for bytes past [`SHORT`]: paths of the usual length never reach it.
        if path.len() > SHORT {
            match self.room.paths.checked_sub((path.len() - SHORT) as u64) {
                Some(left) => self.room.paths = left,
                None => {
                    names.paths_without_room += 1;
                    path.truncate(SHORT);
                    if let Some(&id) = self.files.get(&path) {
                        return id;
                    }
                }
            }
        }
        names.cut += u64::from(is_cut);
        let id = FileId::new(names.files.len() as u32);
        names.files.push(path.clone());
        self.files.insert(path, id);
        id
    }

    fn edge(&mut self, edge: Edge) -> EdgeId {
        EdgeId(self.edges.number(&mut self.merged.units.edges, edge))
    }

    /// The ids in the whole program of what a unit's own ids count in.
    fn ids_of(&mut self, tables: LocalTables<'f>) -> UnitMap<'f> {
        let mut names = Vec::with_capacity(tables.names.len());
        let mut local = tables.names;
        for some in local.chunks_mut(TOGETHER) {
            let new = some.iter().filter_map(|name| match name {
                UnitName::Begins(bytes) if self.begun.get(&(bytes.as_ptr() as usize)).is_none() => {
                    Some(*bytes)
                }
                _ => None,
            });
            // Names that are read for the first time are prefetched together, since each is a cache miss.
            soon(new);
            names.extend(some.iter_mut().map(|name| match name {
                UnitName::Begins(bytes) => self.begun_name(bytes),
                UnitName::Text(bytes) => self.shared_name(bytes),
            }));
        }
        let files: Vec<FileId> = tables.files.into_iter().map(|path| self.file(path)).collect();
        let file = |local: u16| (local != NONE16).then(|| files[usize::from(local)]);
        let local = tables.origins.into_iter().map(|origin| Origin {
            name: names[origin.name as usize],
            file: file(origin.file),
            line: origin.line,
        });
        let mut origins: Vec<OriginId> = local.map(|origin| self.merged.names.add_origin(origin)).collect();
        let local = tables.edges.into_iter().map(|edge| Edge {
            caller: origins[edge.caller.index()],
            callee: origins[edge.callee.index()],
            file: file(edge.file),
            line: edge.line,
            column: edge.column,
        });
        let mut edges: Vec<EdgeId> = local.map(|edge| self.edge(edge)).collect();
        // They were collected in place: an id is a third of an origin, a fifth of an edge.
        fit(&mut origins);
        fit(&mut edges);
        UnitMap { files, origins: origins.into(), edges: edges.into() }
    }
}

/// Merges the unit's tables. The unit keeps its other lists; its [`UnitMap`] translates their ids.
impl<'f> Take<'f> for Merging<'f> {
    fn take_slots(&mut self, slots: &[SlotKey]) {
        self.merged.records.slots.extend_from_slice(slots);
    }

    fn take(&mut self, mut unit: Unit<'f>) {
        // For example a partial unit of dwz, which has neither a name nor code: later steps would visit it in vain.
        if unit.is_empty() {
            self.merged.empty_units += 1;
            return;
        }
        let tables = std::mem::take(&mut unit.tables);
        // A `.dwo` is part of the input, and is mapped only while its unit is read.
        self.room.allowance = self.room.allowance.and(tables.brings);
        // `Sizes` does not have the strings of `.dwo` files, so a split unit brings the room for its names along.
        let own = tables.strings.saturating_mul(STRING_COPIES);
        self.room.names = self.room.names.saturating_add(own);
        let map = self.ids_of(tables);
        self.room.kept += unit.bytes() + map.bytes();
        let Unit { stopped_at, head, code, traces, records, .. } = unit;
        let is_due = self.spill.is_due(&code, &records, &map);
        let offset = head.offset;
        self.merged.units.add(head, map);
        self.merged.code.push(code);
        self.merged.traces.push(traces);
        self.merged.records.units.push(records);
        if is_due {
            self.spill.units(self.merged.lists());
        }
        let (kept, allowed) = (self.room.kept + self.tables_bytes(), self.room.allowance.kept());
        // A unit in which the reader stopped may take less memory by now: the message has the larger number.
        let kept = kept.max(stopped_at.unwrap_or(0));
        if kept > allowed || stopped_at.is_some() {
            let input = self.room.allowance.input();
            // The first unit in file order, so that the error is the same for any number of threads.
            self.too_much.get_or_insert(TooMuch { unit: offset, kept, allowed, input });
        }
    }

    fn is_full(&self) -> bool {
        self.too_much.is_some()
    }
}

/// The path with the first prefix that fits replaced. A prefix ends at a component.
pub(crate) fn remapped(path: Vec<u8>, remap_path: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
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
