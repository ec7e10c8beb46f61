//! Turns ids of names and files into text, and keeps the text: decoding and demangling take longer than a lookup.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use foldsym_lookup::{Error, FileId, NameId, SectionId, SymbolFile, What};
use foldsym_store::{BuildId, DebugId};

use crate::quote::string;
use crate::readable::ReadableNames;
use crate::texts::{Sure, Texts};
use crate::unknown::Unknown;

/// When more bytes than this are kept of one file's names, all are dropped. So memory is bounded, however many answers there are.
const MAX_KEPT: usize = 64 << 20;

// Most bytes of an answer's text, in addition to an amount for each byte of the file. In a hostile file a name of 64 KiB may take a few
// bytes, and any number of frames may have it.
const MAX_TEXT: usize = 64 << 20;
const TEXT_A_BYTE: usize = 64;

/// The form in which names are kept: that of the output, so that each name is also quoted only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The bytes of the name.
    Plain,
    /// As JSON strings, with their quotes.
    Json,
}

/// Turns the bytes of a text into the form in which it is kept.
type Keep<T> = fn(Vec<u8>) -> T;

/// The names and paths of one file that were needed so far.
pub struct Kept<T> {
    demangle: bool,
    keep: Keep<T>,
    names: Slots<Name<T>>,
    files: Slots<T>,
    /// Names and paths as the file spells them, for signatures.
    raw: (Slots<Arc<str>>, Slots<Arc<str>>),
    size: usize,
    /// Names that reports have for frames in the file.
    given: ReadableNames,
    /// The text of an unknown name.
    none: Name<T>,
}

/// Values by id. `index` has an element for each id up to the largest that was needed; a file with that many names has about as many bytes.
struct Slots<V> {
    /// 1 + the place in `values`; 0 for no value.
    index: Vec<u32>,
    values: Vec<V>,
}

impl<V> Slots<V> {
    const fn new() -> Self {
        Self { index: Vec::new(), values: Vec::new() }
    }

    /// The index of an id's value in `values`.
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
    /// The demangled name, if it is wanted and there is one.
    readable: Option<T>,
}

impl Kept<Box<[u8]>> {
    /// An empty value. `demangle`: names are shown demangled.
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
    /// An empty value that keeps shared text. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub(crate) fn shared(demangle: bool) -> Self {
        Self::with(demangle, |text| String::from_utf8_lossy(&text).into())
    }
}

impl<T> Kept<T> {
    fn with(demangle: bool, keep: Keep<T>) -> Self {
        let none = Name { linkage: keep(Vec::new()), readable: None };
        let given = ReadableNames::with(demangle);
        let raw = (Slots::new(), Slots::new());
        Self { demangle, keep, names: Slots::new(), files: Slots::new(), raw, size: 0, given, none }
    }

    /// The names of a file, which must be the same file at each call. Messages about damage have `path`.
    pub fn of<'a>(&'a mut self, file: &'a SymbolFile<'a>, path: &'a Path) -> Names<'a, T> {
        Names { kept: self, file: Some(file), path, damaged: None, end: usize::MAX, texts: None }
    }

    /// The names for an answer without a file: every name is empty.
    pub(crate) fn none(&mut self) -> Names<'_, T> {
        Names { kept: self, file: None, path: Path::new(""), damaged: None, end: usize::MAX, texts: None }
    }

    /// The bytes of the names.
    pub(crate) fn size(&self) -> usize {
        self.size + self.given.size()
    }

    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.files.clear();
        self.raw.0.clear();
        self.raw.1.clear();
        self.given.clear();
        self.size = 0;
    }
}

/// The names and paths of one file, in the form of the output.
pub struct Names<'a, T = Box<[u8]>> {
    kept: &'a mut Kept<T>,
    file: Option<&'a SymbolFile<'a>>,
    path: &'a Path,
    damaged: Option<Error>,
    /// The position in the output at which the text of an answer must end.
    end: usize,
    /// The texts of earlier answers, and the number of the file in them.
    texts: Option<(&'a mut Texts, usize)>,
}

impl<'a, T> Names<'a, T> {
    /// The same, with the texts of earlier answers.
    pub(crate) fn with_texts(self, texts: &'a mut Texts, file: usize) -> Self {
        Self { texts: Some((texts, file)), ..self }
    }

    /// The text of an earlier answer for a link-time address.
    pub(crate) fn text(&self, address: u64) -> Option<&[u8]> {
        let (texts, file) = self.texts.as_ref()?;
        texts.text(*file, address)
    }

    /// Keeps the text of an answer, unless a name in it is damaged.
    pub(crate) fn keep_text(&mut self, address: u64, text: &[u8], sure: Sure) {
        // A damaged name reads as empty, so a kept text with such a name would hide the damage from later answers.
        if let (Some((texts, file)), None) = (&mut self.texts, &self.damaged) {
            texts.insert(*file, address, text, sure);
        }
    }
}

impl<T: Deref<Target: AsRef<[u8]>>> Names<'_, T> {
    /// Begins the text of an answer at this position of the output.
    pub fn begin(&mut self, start: usize) {
        let bytes = self.file.map_or(0, |file| file.records().bytes().len());
        self.end = start.saturating_add(bytes.saturating_mul(TEXT_A_BYTE).saturating_add(MAX_TEXT));
    }

    /// True if the text of the answer, which ends at `at` so far, may get more names. If not, the file counts as damaged.
    pub fn has_room(&mut self, at: usize) -> bool {
        if at > self.end {
            self.damaged = Some(Error { section: SectionId::NAMES, what: What::Length, offset: 0 });
        }
        at <= self.end
    }

    /// The name as it is shown; empty for `None`.
    pub fn function(&mut self, id: Option<NameId>) -> &T::Target {
        self.both(id).1
    }

    /// The name as the symbol table or the compiler spells it; empty for `None`.
    pub fn linkage(&mut self, id: Option<NameId>) -> &T::Target {
        self.both(id).0
    }

    /// The name as the file spells it, and as it is shown.
    pub(crate) fn both(&mut self, id: Option<NameId>) -> (&T, &T) {
        let name = self.name(id);
        (&name.linkage, name.readable.as_ref().unwrap_or(&name.linkage))
    }

    /// A name that comes from elsewhere than the file, as it is shown: demangled, if names are and it is mangled.
    pub fn shown<'n>(&'n mut self, name: &'n str) -> &'n str {
        self.kept.given.of(name)
    }

    /// The path; empty for `None`.
    pub fn path(&mut self, id: Option<FileId>) -> &T::Target {
        self.kept_path(id)
    }

    /// The path as it is kept.
    pub(crate) fn kept_path(&mut self, id: Option<FileId>) -> &T {
        let (Some(id), Some(file)) = (id, self.file) else { return &self.kept.none.linkage };
        let place = match self.kept.files.place(id.0) {
            Some(place) => place,
            None => {
                let path = match bytes(file.records().files(), SectionId::FILES, id.0) {
                    Ok(path) => path,
                    Err(damage) => {
                        self.damaged = Some(damage);
                        return &self.kept.none.linkage;
                    }
                };
                // Called before the insertion: afterwards it could drop the text that is about to be returned.
                self.bound();
                let path = (self.kept.keep)(path);
                self.kept.size += path.deref().as_ref().len() + 64;
                self.kept.files.insert(id.0, path)
            }
        };
        &self.kept.files.values[place]
    }

    /// The build id and the debug id of the file; `None` without a file or a build id.
    pub(crate) fn ids(&self) -> Option<(BuildId, DebugId)> {
        let file = self.file?;
        let id = BuildId::new(file.build_id()).ok()?;
        let debug = DebugId::of_file(&id, file);
        Some((id, debug))
    }

    /// The name as the file spells it, whatever the form of the output; empty for `None`. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub(crate) fn raw(&mut self, id: Option<NameId>) -> Arc<str> {
        self.raw_text(id.map(|id| id.0), false)
    }

    /// As [`Names::raw`], of a path.
    pub(crate) fn raw_path(&mut self, id: Option<FileId>) -> Arc<str> {
        self.raw_text(id.map(|id| id.0), true)
    }

    fn raw_text(&mut self, id: Option<u32>, is_path: bool) -> Arc<str> {
        let (Some(id), Some(file)) = (id, self.file) else { return Arc::default() };
        let kept = if is_path { &self.kept.raw.1 } else { &self.kept.raw.0 };
        if let Some(place) = kept.place(id) {
            return kept.values[place].clone();
        }
        let read = match is_path {
            true => bytes(file.records().files(), SectionId::FILES, id),
            false => bytes(file.records().names(), SectionId::NAMES, id),
        };
        let text: Arc<str> = match read {
            Ok(text) => String::from_utf8_lossy(&text).into(),
            Err(damage) => {
                self.damaged = Some(damage);
                return Arc::default();
            }
        };
        self.bound();
        self.kept.size += text.len() + 64;
        let kept = if is_path { &mut self.kept.raw.1 } else { &mut self.kept.raw.0 };
        kept.insert(id, text.clone());
        text
    }

    /// The damage of a name since the last call, if any; such a name reads as empty. A printer calls this once for each
    /// answer, not for each name.
    #[inline]
    pub fn take_damage(&mut self) -> Option<Unknown> {
        self.take_error().map(|error| damage(self.path, error))
    }

    /// The same as an error of the reader, without the file's path.
    #[inline]
    pub fn take_error(&mut self) -> Option<Error> {
        let damaged = self.damaged.take()?;
        // So that the next answer with this name reports the damage, too.
        self.kept.clear();
        Some(damaged)
    }

    fn name(&mut self, id: Option<NameId>) -> &Name<T> {
        let (Some(id), Some(file)) = (id, self.file) else { return &self.kept.none };
        let place = match self.kept.names.place(id.0) {
            Some(place) => place,
            None => {
                let linkage = match bytes(file.records().names(), SectionId::NAMES, id.0) {
                    Ok(linkage) => linkage,
                    Err(damage) => {
                        self.damaged = Some(damage);
                        return &self.kept.none;
                    }
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

/// The reason for a missing answer if the file is damaged.
pub(crate) fn damage(path: &Path, error: Error) -> Unknown {
    Unknown::Damaged(format!("{}: damaged: {error}", path.display()).into())
}

/// The bytes of a name or a path, which is in this section.
///
/// # Errors
/// It cannot be decoded.
pub(crate) fn bytes(
    texts: &foldsym_lookup::records::Names<'_>,
    section: SectionId,
    id: u32,
) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let damaged = Error { section, what: What::Name, offset: id.into() };
    texts.visit(id, |piece| text.extend_from_slice(piece)).ok_or(damaged)?;
    Ok(text)
}
