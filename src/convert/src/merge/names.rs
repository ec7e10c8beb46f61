//! The names, source files and origins of the whole program, each with an id. Nothing is removed, so an id stays
//! valid.

use std::borrow::Cow;

use foldsym_format::names::MAX_NAME;
use hashbrown::HashTable;

use crate::model::{FileId, Function, NameId, Origin, OriginId};
use crate::util::fit::fit;
use crate::util::hash::{HashMap, hash_of};
use crate::util::text::{base_name, is_same_path};

/// Finds the id of a name by its bytes. The texts are stored outside.
#[derive(Default)]
pub(crate) struct NameIndex {
    table: HashTable<NameId>,
    /// The hash of each name: growing the table reads no name again.
    hashes: Vec<u64>,
}

impl NameIndex {
    /// The id of a name among `texts`, the texts that the index was built from.
    pub(crate) fn find(&self, texts: &[Cow<'_, [u8]>], name: &[u8]) -> Option<NameId> {
        self.find_hashed(texts, hash_of(name), name)
    }

    fn find_hashed(&self, texts: &[Cow<'_, [u8]>], hash: u64, name: &[u8]) -> Option<NameId> {
        // The hash first: a text is in a mapped file, and to read it costs a cache miss or a page.
        let is_it = |id: &NameId| self.hashes[id.index()] == hash && *texts[id.index()] == *name;
        self.table.find(hash, is_it).copied()
    }

    /// The id of a name; adds it to `texts` if it is new.
    pub(crate) fn intern<'f>(&mut self, texts: &mut Vec<Cow<'f, [u8]>>, name: Cow<'f, [u8]>) -> NameId {
        let hash = hash_of(&name);
        if let Some(id) = self.find_hashed(texts, hash, &name) {
            return id;
        }
        let id = NameId::new(texts.len() as u32);
        texts.push(name);
        self.add(hash, id);
        id
    }

    fn add(&mut self, hash: u64, id: NameId) {
        self.hashes.push(hash);
        self.table.insert_unique(hash, id, |id| self.hashes[id.index()]);
    }
}

/// The names, files and origins of the program.
#[derive(Default)]
pub(crate) struct Names<'f> {
    pub(super) texts: Vec<Cow<'f, [u8]>>,
    index: NameIndex,
    pub(super) files: Vec<Vec<u8>>,
    origins: Vec<Origin>,
    /// By name: its first origin. Most names have one, and units name the same ones in the same order: neighbours
    /// here are near in memory.
    first_origins: Vec<Option<OriginId>>,
    /// Further origins of names that have several.
    other_origins: HashMap<Origin, OriginId>,
    /// Names and paths longer than the file format allows, each counted once.
    pub(crate) cut: u64,
    /// Names of units that were cut, because names have too many times the bytes of the program's strings.
    pub(crate) names_without_room: u64,
    /// Paths that were cut, because paths have too many times the bytes of the program's line tables.
    pub(crate) paths_without_room: u64,
}

/// The part of [`Names`] that is stored, and the index that finds a name in it.
pub(crate) struct NameTables<'f> {
    pub(crate) texts: Vec<Cow<'f, [u8]>>,
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) index: NameIndex,
}

impl<'f> Names<'f> {
    pub(crate) fn with_capacity(names: usize) -> Names<'f> {
        Names {
            texts: Vec::with_capacity(names),
            index: NameIndex { table: HashTable::with_capacity(names), hashes: Vec::with_capacity(names) },
            origins: Vec::with_capacity(names),
            first_origins: Vec::with_capacity(names),
            ..Names::default()
        }
    }

    /// Frees the tables that are needed only for adding.
    pub(crate) fn into_tables(self) -> NameTables<'f> {
        let Names { mut texts, mut index, files, mut origins, .. } = self;
        fit(&mut texts);
        fit(&mut index.hashes);
        fit(&mut origins);
        NameTables { texts, files, origins, index }
    }

    /// The number of names: ids are below it.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn text(&self, id: NameId) -> &[u8] {
        &self.texts[id.index()]
    }

    /// The id of a name, if anything in the program has it.
    pub(crate) fn find(&self, name: &[u8]) -> Option<NameId> {
        self.index.find(&self.texts, name)
    }

    /// The id of a name that borrows from the program's files.
    pub(crate) fn add(&mut self, name: &'f [u8]) -> NameId {
        self.intern(Cow::Borrowed(name))
    }

    /// The id of a name; stores it if it is new.
    pub(crate) fn intern(&mut self, mut name: Cow<'f, [u8]>) -> NameId {
        // Cut before it is looked up: names that differ only behind the limit are one in the file, too.
        let is_cut = name.len() > MAX_NAME;
        if is_cut {
            name = shortened(name, MAX_NAME);
        }
        let before = self.texts.len();
        let id = self.index.intern(&mut self.texts, name);
        self.cut += u64::from(is_cut && self.texts.len() > before);
        id
    }

    pub(crate) fn origin(&self, id: OriginId) -> Origin {
        self.origins[id.index()]
    }

    /// The name of an origin.
    pub(crate) fn of_origin(&self, id: OriginId) -> NameId {
        self.origins[id.index()].name
    }

    /// The name of a function: its symbol's, otherwise that of its origin.
    pub(crate) fn of_function(&self, function: &Function) -> NameId {
        function.symbol.unwrap_or(self.of_origin(function.origin))
    }

    pub(super) fn origin_count(&self) -> usize {
        self.origins.len()
    }

    /// The id of an origin; stores it if it is new.
    pub(crate) fn add_origin(&mut self, origin: Origin) -> OriginId {
        let name = origin.name.index();
        let new = OriginId(self.origins.len() as u32);
        if self.first_origins.len() <= name {
            // To the number of all names, not just up to this one, so that one resize serves many new names.
            self.first_origins.resize(self.texts.len(), None);
        }
        let id = match self.first_origins[name] {
            // The usual case needs no hash: most names have one origin.
            Some(first) if self.origins[first.index()] == origin => return first,
            Some(_) => *self.other_origins.entry(origin).or_insert(new),
            None => *self.first_origins[name].insert(new),
        };
        if id == new {
            self.origins.push(origin);
        }
        id
    }

    /// True if a unit of the program has an origin of this name.
    pub(crate) fn is_described(&self, name: NameId) -> bool {
        self.first_origins.get(name.index()).is_some_and(Option::is_some)
    }

    /// By path, the ids of all source files.
    pub(crate) fn files_by_path(&self) -> HashMap<Vec<u8>, FileId> {
        self.files.iter().cloned().zip((0..).map(FileId::new)).collect()
    }

    /// Adds a source file that is not in the list.
    pub(crate) fn add_file(&mut self, path: &[u8]) -> FileId {
        self.files.push(path.to_vec());
        FileId::new(self.files.len() as u32 - 1)
    }

    /// The path of a source file.
    pub(crate) fn file(&self, id: FileId) -> &[u8] {
        &self.files[id.index()]
    }

    /// True if two functions of one name are declared in different places, by the base names of their files: units
    /// may spell the path of one file differently, and need not give a place.
    pub(crate) fn are_apart(&self, one: OriginId, other: OriginId) -> bool {
        differ((&self.origins, &self.files), one, other, |one, other| base_name(one) == base_name(other))
    }

    /// The same by whole paths.
    pub(super) fn have_other_paths(&self, one: OriginId, other: OriginId) -> bool {
        differ((&self.origins, &self.files), one, other, is_same_path)
    }
}

/// The first bytes of a name.
pub(super) fn shortened(name: Cow<'_, [u8]>, len: usize) -> Cow<'_, [u8]> {
    match name {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..len]),
        Cow::Owned(bytes) => Cow::Owned(bytes[..len].to_vec()),
    }
}

/// True if two functions of one name are declared in different places: they are two definitions, of which the linker
/// chose one (a strong one over a weak one). Units need not give a place.
pub(crate) fn are_apart(origins: &[Origin], files: &[Vec<u8>], one: OriginId, other: OriginId) -> bool {
    differ((origins, files), one, other, is_same_path)
}

/// True if two declarations have different lines, or files with different paths.
fn differ(
    (origins, files): (&[Origin], &[Vec<u8>]),
    one: OriginId,
    other: OriginId,
    is_same: impl Fn(&[u8], &[u8]) -> bool,
) -> bool {
    let [one, other] = [one, other].map(|origin| origins[origin.index()]);
    // A declaration without file or line (clang at `-g1` writes neither) proves nothing.
    let (Some(file), Some(other_file)) = (one.file, other.file) else { return false };
    let path = |file: FileId| &files[file.index()];
    one.line > 0
        && other.line > 0
        && (one.line != other.line || (file != other_file && !is_same(path(file), path(other_file))))
}
