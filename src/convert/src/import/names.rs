//! Numbers the names, files, origins and inlined calls of an imported program, in the whole program and in its units.

use std::borrow::Cow;

use super::symbols::SymTables;
use crate::diagnostics::{Diagnostics, Kind};
use crate::merge::remapped;
use crate::model::{Edge, EdgeId, FileId, LocalEdge, NameId, Origin, OriginId, Program};
use crate::util::hash::HashMap;

/// From this number on there are no files: it stands for an unknown file in what `foldsym export` writes.
const NO_FILE: u32 = i32::MAX as u32;

/// The tables of the program that numbers refer to.
pub(super) struct ImportedNames<'f, 's> {
    symbols: &'s SymTables<'f>,
    remap_path: Vec<(Vec<u8>, Vec<u8>)>,
    names: Vec<Cow<'f, [u8]>>,
    name_ids: HashMap<&'f [u8], NameId>,
    files: Vec<Vec<u8>>,
    file_ids: HashMap<Vec<u8>, FileId>,
    /// By the number of a FILE record.
    file_numbers: HashMap<u32, Option<FileId>>,
    /// By the number of an INLINE_ORIGIN record.
    inline_origins: HashMap<u32, OriginId>,
    origins: Vec<Origin>,
    origin_ids: HashMap<Origin, OriginId>,
    edges: Vec<Edge>,
    edge_ids: HashMap<Edge, EdgeId>,
    pub(super) diagnostics: Diagnostics,
}

impl<'f, 's> ImportedNames<'f, 's> {
    pub(super) fn new(symbols: &'s SymTables<'f>, remap_path: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        ImportedNames {
            symbols,
            remap_path,
            names: Vec::new(),
            name_ids: HashMap::default(),
            files: Vec::new(),
            file_ids: HashMap::default(),
            file_numbers: HashMap::default(),
            inline_origins: HashMap::default(),
            origins: Vec::new(),
            origin_ids: HashMap::default(),
            edges: Vec::new(),
            edge_ids: HashMap::default(),
            diagnostics: Diagnostics::default(),
        }
    }

    pub(super) fn name(&mut self, name: &'f [u8]) -> NameId {
        *self.name_ids.entry(name).or_insert_with(|| {
            self.names.push(Cow::Borrowed(name));
            NameId::new(self.names.len() as u32 - 1)
        })
    }

    /// The file of a FILE record; `None` if there is no such record.
    pub(super) fn file(&mut self, number: u32) -> Option<FileId> {
        if number >= NO_FILE {
            return None;
        }
        if let Some(&known) = self.file_numbers.get(&number) {
            return known;
        }
        let path = self.symbols.files.get(&number).filter(|path| !path.is_empty());
        let path = path.map(|path| remapped(path.to_vec(), &self.remap_path));
        let id = path.map(|path| {
            if let Some(&id) = self.file_ids.get(&path) {
                return id;
            }
            let id = FileId::new(self.files.len() as u32);
            self.files.push(path.clone());
            self.file_ids.insert(path, id);
            id
        });
        if id.is_none() {
            self.diagnostics.add(Kind::BadFileIndex, 0, || format!("FILE {number} has no record"));
        }
        self.file_numbers.insert(number, id);
        id
    }

    /// A function of this name.
    pub(super) fn origin(&mut self, name: &'f [u8], file: Option<FileId>) -> OriginId {
        let origin = Origin { name: self.name(name), file, line: 0 };
        *self.origin_ids.entry(origin).or_insert_with(|| {
            self.origins.push(origin);
            OriginId(self.origins.len() as u32 - 1)
        })
    }

    /// The function of an INLINE_ORIGIN record. Without such a record it has no name.
    pub(super) fn inline_origin(&mut self, number: u32) -> OriginId {
        if let Some(&known) = self.inline_origins.get(&number) {
            return known;
        }
        let (name, file) = self.symbols.origins.get(&number).copied().unwrap_or_default();
        let name = own_name(name);
        if name.is_empty() {
            self.diagnostics.add(Kind::Nameless, 0, || format!("INLINE_ORIGIN {number} has no name"));
        }
        let file = file.and_then(|file| self.file(file));
        let origin = self.origin(name, file);
        self.inline_origins.insert(number, origin);
        origin
    }

    /// The file in which the function is, if its INLINE_ORIGIN record has the old form.
    pub(super) fn file_of(&self, origin: OriginId) -> Option<FileId> {
        self.origins[origin.index()].file
    }

    pub(super) fn edge(&mut self, edge: Edge) -> EdgeId {
        *self.edge_ids.entry(edge).or_insert_with(|| {
            self.edges.push(edge);
            EdgeId(self.edges.len() as u32 - 1)
        })
    }

    pub(super) fn callee(&self, edge: EdgeId) -> OriginId {
        self.edges[edge.index()].callee
    }

    /// Moves the tables to the program.
    pub(super) fn finish(self, program: &mut Program<'f>) -> Diagnostics {
        (program.names, program.files) = (self.names, self.files);
        (program.origins, program.edges) = (self.origins, self.edges);
        self.diagnostics
    }
}

/// The name of a function, or nothing where the text says that there is none: dump_syms writes these.
pub(super) fn own_name(name: &[u8]) -> &[u8] {
    let is_made_up = name == b"<name omitted>"
        || name.starts_with(b"<unknown in ") && name.ends_with(b">")
        // `<.plt ELF section in libx.so>`: the start of a section without a symbol.
        || name.starts_with(b"<.") && name.ends_with(b">") && memchr::memmem::find(name, b" ELF section in ").is_some();
    if is_made_up { b"" } else { name }
}

/// Ids of the whole program and the ids that they have in one unit.
pub(super) struct Numbered<T> {
    pub(super) all: Vec<T>,
    known: HashMap<T, u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { all: Vec::new(), known: HashMap::default() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Numbered<T> {
    pub(super) fn number(&mut self, id: T) -> u32 {
        *self.known.entry(id).or_insert_with(|| {
            self.all.push(id);
            self.all.len() as u32 - 1
        })
    }

    /// The number, unless `most` others have one already.
    pub(super) fn number_below(&mut self, id: T, most: usize) -> Option<u32> {
        match self.known.get(&id) {
            Some(&known) => Some(known),
            None => (self.all.len() < most).then(|| self.number(id)),
        }
    }
}

impl Numbered<EdgeId> {
    pub(super) fn local(&mut self, edge: EdgeId) -> LocalEdge {
        LocalEdge(self.number(edge))
    }
}
