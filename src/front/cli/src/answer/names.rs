//! Turns ids of names and files into text, once each: decoding and demangling cost more than a lookup.

use foldsym_demangle::demangle;
use foldsym_lookup::{Error, FileId, NameId, SectionId, SymbolFile, What};
use rustc_hash::FxHashMap;

use crate::answer::open::{name_bytes, path_bytes};
use crate::io::json;

/// When so many bytes are kept, all are dropped: a long stream of answers needs bounded memory.
const MAX_KEPT: usize = 256 << 20;

/// Bytes that an answer may have, and as many for each byte of the file: a name takes a few bytes of it and has
/// up to 64 KiB, and any number of frames may have it.
const MAX_TEXT: usize = 64 << 20;
const TEXT_A_BYTE: usize = 64;

/// How names are kept: as the printer puts them, so that quoting too is done once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Plain,
    /// As JSON strings, with their quotes.
    Json,
}

impl Form {
    fn keep(self, text: Vec<u8>) -> Box<[u8]> {
        match self {
            Form::Plain => text.into_boxed_slice(),
            Form::Json => {
                let mut quoted = Vec::with_capacity(text.len() + 2);
                json::string(&mut quoted, &text);
                quoted.into_boxed_slice()
            }
        }
    }
}

/// The text of a name.
struct Name {
    linkage: Box<[u8]>,
    /// The readable spelling, where that is wanted and differs.
    readable: Option<Box<[u8]>>,
}

/// Names and files of one `.fsym`, as they are printed.
pub(crate) struct Names<'f> {
    file: SymbolFile<'f>,
    demangle: bool,
    form: Form,
    names: FxHashMap<u32, Name>,
    files: FxHashMap<u32, Box<[u8]>>,
    kept: usize,
    damaged: Option<Error>,
    /// Where the text of an answer must end.
    end: usize,
    /// What stands for a name that is not known.
    none: Name,
}

impl<'f> Names<'f> {
    pub(crate) fn new(file: &SymbolFile<'f>, demangle: bool, form: Form) -> Self {
        Self {
            file: *file,
            demangle,
            form,
            names: FxHashMap::default(),
            files: FxHashMap::default(),
            kept: 0,
            damaged: None,
            end: usize::MAX,
            none: Name { linkage: form.keep(Vec::new()), readable: None },
        }
    }

    /// Begins the text of an answer, which stands at this place.
    pub(crate) fn begin(&mut self, start: usize) {
        let most = self.file.bytes().len().saturating_mul(TEXT_A_BYTE).saturating_add(MAX_TEXT);
        self.end = start.saturating_add(most);
    }

    /// Whether there is room for more names behind what ends here; else the file is damaged.
    pub(crate) fn has_room(&mut self, at: usize) -> bool {
        if at > self.end {
            self.damaged = Some(Error { section: SectionId::NAMES, what: What::Length, offset: 0 });
        }
        at <= self.end
    }

    /// The name as it is shown; an empty one where there is none.
    pub(crate) fn function(&mut self, id: Option<NameId>) -> &[u8] {
        let name = self.name(id);
        name.readable.as_deref().unwrap_or(&name.linkage)
    }

    /// The name as the symbol table or the compiler spells it; an empty one where there is none.
    pub(crate) fn linkage(&mut self, id: Option<NameId>) -> &[u8] {
        &self.name(id).linkage
    }

    /// The path; an empty one where there is none.
    pub(crate) fn path(&mut self, id: Option<FileId>) -> &[u8] {
        let Some(id) = id else { return &self.none.linkage };
        self.bound();
        let (file, kept, damaged, form) = (&self.file, &mut self.kept, &mut self.damaged, self.form);
        self.files.entry(id.0).or_insert_with(|| {
            let path = path_bytes(file, id).unwrap_or_else(|| note(damaged, SectionId::FILES, id.0));
            let path = form.keep(path);
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
        let (file, kept, damaged) = (&self.file, &mut self.kept, &mut self.damaged);
        let (wanted, form) = (self.demangle, self.form);
        self.names.entry(id.0).or_insert_with(|| {
            let linkage = name_bytes(file, id).unwrap_or_else(|| note(damaged, SectionId::NAMES, id.0));
            let readable = if wanted { demangle(&linkage) } else { None };
            let readable = readable.map(|text| form.keep(text.into_bytes()));
            let linkage = form.keep(linkage);
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
