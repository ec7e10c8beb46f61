//! Turns ids of names and files into text, once each: decoding and demangling cost more than a lookup.

use foldsym_lookup::{FileId, NameId, SymbolFile};
use rustc_hash::FxHashMap;

use crate::demangle::demangle;
use crate::open::{file_bytes, name_bytes};

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
    /// What stands for a name that is not known.
    none: Name,
}

impl<'f> Names<'f> {
    pub(crate) fn new(file: &SymbolFile<'f>, demangle: bool) -> Self {
        Self { file: *file, demangle, names: FxHashMap::default(), files: FxHashMap::default(), kept: 0, none: Name::default() }
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
    pub(crate) fn file(&mut self, id: Option<FileId>) -> &[u8] {
        let Some(id) = id else { return b"" };
        self.bound();
        let (file, kept) = (&self.file, &mut self.kept);
        self.files.entry(id.0).or_insert_with(|| {
            let path = file_bytes(file, id).into_boxed_slice();
            *kept += path.len() + 32;
            path
        })
    }

    fn name(&mut self, id: Option<NameId>) -> &Name {
        let Some(id) = id else { return &self.none };
        self.bound();
        let (file, kept, wanted) = (&self.file, &mut self.kept, self.demangle);
        self.names.entry(id.0).or_insert_with(|| {
            let linkage = name_bytes(file, id).into_boxed_slice();
            let readable = if wanted { demangle(&linkage).map(String::into_boxed_str) } else { None };
            *kept += linkage.len() + readable.as_ref().map_or(0, |text| text.len()) + 64;
            Name { linkage, readable }
        })
    }

    fn bound(&mut self) {
        if self.kept > MAX_KEPT {
            self.names.clear();
            self.files.clear();
            self.kept = 0;
        }
    }
}
