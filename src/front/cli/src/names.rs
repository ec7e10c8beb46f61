//! Turns ids of names and files into text, once each: decoding and demangling cost more than a lookup.

use foldsym_lookup::{Error, FileId, NameId, SectionId, SymbolFile, What};
use rustc_hash::FxHashMap;

use crate::demangle::demangle;
use crate::open::{name_bytes, path_bytes};

/// When so many bytes are kept, all are dropped: a long stream of answers needs bounded memory.
const MAX_KEPT: usize = 256 << 20;

/// The text of a name.
#[derive(Default)]
struct Name {
    linkage: Box<[u8]>,
    /// The readable spelling, where that is wanted and differs.
    readable: Option<Box<str>>,
}

/// Names and files of one `.fsym`, as they are printed.
pub(crate) struct Names<'f> {
    file: SymbolFile<'f>,
    demangle: bool,
    names: FxHashMap<u32, Name>,
    files: FxHashMap<u32, Box<[u8]>>,
    kept: usize,
    damaged: Option<Error>,
    /// What stands for a name that is not known.
    none: Name,
}

impl<'f> Names<'f> {
    pub(crate) fn new(file: &SymbolFile<'f>, demangle: bool) -> Self {
        Self { file: *file, demangle, names: FxHashMap::default(), files: FxHashMap::default(), kept: 0, damaged: None, none: Name::default() }
    }

    /// The name as it is shown; empty where there is none.
    pub(crate) fn function(&mut self, id: Option<NameId>) -> &[u8] {
        let name = self.name(id);
        name.readable.as_deref().map_or(&name.linkage, str::as_bytes)
    }

    /// The name as the symbol table or the compiler spells it; empty where there is none.
    pub(crate) fn linkage(&mut self, id: Option<NameId>) -> &[u8] {
        &self.name(id).linkage
    }

    /// The path; empty where there is none.
    pub(crate) fn path(&mut self, id: Option<FileId>) -> &[u8] {
        let Some(id) = id else { return b"" };
        self.bound();
        let (file, kept, damaged) = (&self.file, &mut self.kept, &mut self.damaged);
        self.files.entry(id.0).or_insert_with(|| {
            let path = path_bytes(file, id).unwrap_or_else(|| note(damaged, SectionId::FILES, id.0)).into_boxed_slice();
            *kept += path.len() + 32;
            path
        })
    }

    /// Whether a name was damaged since the last call; such a name reads as empty. Printers ask once an
    /// answer, not once a name.
    pub(crate) fn take_damage(&mut self) -> Option<Error> {
        let damaged = self.damaged.take()?;
        // So that the next answer with this name is told of the damage as well.
        self.clear();
        Some(damaged)
    }

    fn name(&mut self, id: Option<NameId>) -> &Name {
        let Some(id) = id else { return &self.none };
        self.bound();
        let (file, kept, damaged, wanted) = (&self.file, &mut self.kept, &mut self.damaged, self.demangle);
        self.names.entry(id.0).or_insert_with(|| {
            let linkage = name_bytes(file, id).unwrap_or_else(|| note(damaged, SectionId::NAMES, id.0)).into_boxed_slice();
            let readable = if wanted { demangle(&linkage).map(String::into_boxed_str) } else { None };
            *kept += linkage.len() + readable.as_ref().map_or(0, |text| text.len()) + 64;
            Name { linkage, readable }
        })
    }

    fn bound(&mut self) {
        if self.kept > MAX_KEPT {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.names.clear();
        self.files.clear();
        self.kept = 0;
    }
}

fn note(damaged: &mut Option<Error>, section: SectionId, id: u32) -> Vec<u8> {
    *damaged = Some(Error { section, what: What::Name, offset: id.into() });
    Vec::new()
}
