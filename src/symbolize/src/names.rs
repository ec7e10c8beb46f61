//! Turns ids of names and files into text, once each: decoding and demangling cost more than a lookup.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use foldsym_lookup::{Error, FileId, NameId, SectionId, SymbolFile, What};

use crate::quote::string;
use crate::unknown::Unknown;

/// When so many bytes of one file's names are kept, all are dropped: many answers need bounded memory.
const MAX_KEPT: usize = 64 << 20;

/// Bytes that an answer may have, and as many for each byte of the file: a name takes a few bytes of it and has
/// up to 64 KiB, and any number of frames may have it.
const MAX_TEXT: usize = 64 << 20;
const TEXT_A_BYTE: usize = 64;

/// How names are kept: as the printer puts them, so that quoting too is done once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As they are.
    Plain,
    /// As JSON strings, with their quotes.
    Json,
}

/// How text is kept.
type Keep<T> = fn(Vec<u8>) -> T;

/// Names and paths of one file that were asked for.
pub struct Kept<T> {
    demangle: bool,
    keep: Keep<T>,
    names: Slots<Name<T>>,
    files: Slots<T>,
    size: usize,
    /// What stands for a name that is not known.
    none: Name<T>,
}

/// Values by id: an index for each id up to the largest that was asked for, which a file with so many names has the bytes for.
struct Slots<V> {
    /// 1 + the place in `values`; 0 where there is none.
    index: Vec<u32>,
    values: Vec<V>,
}

impl<V> Slots<V> {
    const fn new() -> Self {
        Self { index: Vec::new(), values: Vec::new() }
    }

    /// Where the value of an id is.
    fn place(&self, id: u32) -> Option<usize> {
        (*self.index.get(id as usize)? as usize).checked_sub(1)
    }

    fn insert(&mut self, id: u32, value: V) -> usize {
        let id = id as usize;
        if id >= self.index.len() {
            self.index.resize(id + 1, 0);
        }
        self.values.push(value);
        self.index[id] = self.values.len() as u32;
        self.values.len() - 1
    }

    fn clear(&mut self) {
        self.index.clear();
        self.values.clear();
    }
}

/// The text of a name.
struct Name<T> {
    linkage: T,
    /// The readable spelling, where that is wanted and differs.
    readable: Option<T>,
}

impl Kept<Box<[u8]>> {
    /// None yet. `demangle` says whether readable names are wanted.
    pub fn new(demangle: bool, form: Form) -> Self {
        Self::with(
            demangle,
            match form {
                Form::Plain => Vec::into_boxed_slice,
                Form::Json => |text| {
                    let mut quoted = Vec::with_capacity(text.len() + 2);
                    string(&mut quoted, &text);
                    quoted.into_boxed_slice()
                },
            },
        )
    }
}

impl Kept<Arc<str>> {
    /// As shared text. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub(crate) fn shared(demangle: bool) -> Self {
        Self::with(demangle, |text| String::from_utf8_lossy(&text).into())
    }
}

impl<T> Kept<T> {
    fn with(demangle: bool, keep: Keep<T>) -> Self {
        let none = Name { linkage: keep(Vec::new()), readable: None };
        Self { demangle, keep, names: Slots::new(), files: Slots::new(), size: 0, none }
    }

    /// The names of a file, which must be the same at each call. `path` is what messages call the file.
    pub fn of<'a>(&'a mut self, file: &'a SymbolFile<'a>, path: &'a Path) -> Names<'a, T> {
        Names { kept: self, file: Some(file), path, damaged: None, end: usize::MAX }
    }

    /// For an answer without a file: every name is empty.
    pub(crate) fn none(&mut self) -> Names<'_, T> {
        Names { kept: self, file: None, path: Path::new(""), damaged: None, end: usize::MAX }
    }

    fn clear(&mut self) {
        self.names.clear();
        self.files.clear();
        self.size = 0;
    }
}

/// Names and paths of one file, as they are printed.
pub struct Names<'a, T = Box<[u8]>> {
    kept: &'a mut Kept<T>,
    file: Option<&'a SymbolFile<'a>>,
    path: &'a Path,
    damaged: Option<Error>,
    /// Where the text of an answer must end.
    end: usize,
}

impl<T: Deref<Target: AsRef<[u8]>>> Names<'_, T> {
    /// Begins the text of an answer, which stands at this place of its buffer.
    pub fn begin(&mut self, start: usize) {
        let bytes = self.file.map_or(0, |file| file.bytes().len());
        self.end = start.saturating_add(bytes.saturating_mul(TEXT_A_BYTE).saturating_add(MAX_TEXT));
    }

    /// Whether there is room for more names behind what ends here; else the file is damaged.
    pub fn has_room(&mut self, at: usize) -> bool {
        if at > self.end {
            self.damaged = Some(Error { section: SectionId::NAMES, what: What::Length, offset: 0 });
        }
        at <= self.end
    }

    /// The name as it is shown; an empty one where there is none.
    pub fn function(&mut self, id: Option<NameId>) -> &T::Target {
        self.both(id).1
    }

    /// The name as the symbol table or the compiler spells it; an empty one where there is none.
    pub fn linkage(&mut self, id: Option<NameId>) -> &T::Target {
        self.both(id).0
    }

    /// The name as it is spelled in the file and as it is shown.
    pub(crate) fn both(&mut self, id: Option<NameId>) -> (&T, &T) {
        let name = self.name(id);
        (&name.linkage, name.readable.as_ref().unwrap_or(&name.linkage))
    }

    /// The path; an empty one where there is none.
    pub fn path(&mut self, id: Option<FileId>) -> &T::Target {
        self.kept_path(id)
    }

    /// The path as it is kept.
    pub(crate) fn kept_path(&mut self, id: Option<FileId>) -> &T {
        let (Some(id), Some(file)) = (id, self.file) else { return &self.kept.none.linkage };
        let place = match self.kept.files.place(id.0) {
            Some(place) => place,
            None => {
                let Some(path) = bytes(file.files(), id.0) else {
                    self.damaged =
                        Some(Error { section: SectionId::FILES, what: What::Name, offset: id.0.into() });
                    return &self.kept.none.linkage;
                };
                self.bound();
                let path = (self.kept.keep)(path);
                self.kept.size += path.deref().as_ref().len() + 64;
                self.kept.files.insert(id.0, path)
            }
        };
        &self.kept.files.values[place]
    }

    /// Whether a name was damaged since the last call; such a name reads as empty. Printers ask once an
    /// answer, not once a name.
    #[inline]
    pub fn take_damage(&mut self) -> Option<Unknown> {
        self.take_error().map(|error| damage(self.path, error))
    }

    /// The same as the reader says it, without the file's path.
    #[inline]
    pub fn take_error(&mut self) -> Option<Error> {
        let damaged = self.damaged.take()?;
        // So that the next answer with this name is told of the damage as well.
        self.kept.clear();
        Some(damaged)
    }

    fn name(&mut self, id: Option<NameId>) -> &Name<T> {
        let (Some(id), Some(file)) = (id, self.file) else { return &self.kept.none };
        let place = match self.kept.names.place(id.0) {
            Some(place) => place,
            None => {
                let Some(linkage) = bytes(file.names(), id.0) else {
                    self.damaged =
                        Some(Error { section: SectionId::NAMES, what: What::Name, offset: id.0.into() });
                    return &self.kept.none;
                };
                self.bound();
                let keep = self.kept.keep;
                let readable = if self.kept.demangle { foldsym_demangle::demangle(&linkage) } else { None };
                let readable = readable.map(|text| keep(text.into_bytes()));
                let linkage = keep(linkage);
                let len = readable.as_ref().map_or(0, |text| text.deref().as_ref().len());
                self.kept.size += linkage.deref().as_ref().len() + len + 64;
                self.kept.names.insert(id.0, Name { linkage, readable })
            }
        };
        &self.kept.names.values[place]
    }

    fn bound(&mut self) {
        if self.kept.size > MAX_KEPT {
            self.kept.clear();
        }
    }
}

/// The reason of an answer that is missing since the file is damaged.
pub(crate) fn damage(path: &Path, error: Error) -> Unknown {
    Unknown::Damaged(format!("{}: damaged: {error}", path.display()).into())
}

fn bytes(names: &foldsym_lookup::Names<'_>, id: u32) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    names.visit(id, |piece| name.extend_from_slice(piece))?;
    Some(name)
}
