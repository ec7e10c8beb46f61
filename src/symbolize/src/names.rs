//! Turns ids of names and files into shared text, once each: decoding and demangling cost more than a lookup.

use std::sync::Arc;

use foldsym_lookup::{FileId, NameId, SymbolFile};
use rustc_hash::FxHashMap;

/// When so many bytes of names of one file are kept, they are dropped: many answers need bounded memory.
const MAX_KEPT: usize = 64 << 20;

/// Names of one file.
#[derive(Default)]
pub(crate) struct Names {
    /// Linkage name and readable name.
    names: FxHashMap<u32, (Arc<str>, Arc<str>)>,
    files: FxHashMap<u32, Arc<str>>,
    kept: usize,
    empty: Option<Arc<str>>,
}

impl Names {
    pub(crate) fn empty(&mut self) -> Arc<str> {
        self.empty.get_or_insert_with(|| Arc::from("")).clone()
    }

    /// Linkage name and readable name; empty ones where there is none. `None` where the table of names is damaged.
    pub(crate) fn name(
        &mut self,
        file: &SymbolFile<'_>,
        id: Option<NameId>,
        demangled: bool,
    ) -> Option<(Arc<str>, Arc<str>)> {
        let Some(id) = id else {
            let empty = self.empty();
            return Some((empty.clone(), empty));
        };
        if let Some(known) = self.names.get(&id.0) {
            return Some(known.clone());
        }
        let bytes = bytes(file.names(), id.0)?;
        let linkage: Arc<str> = text(&bytes);
        let readable = if demangled { demangle(&bytes).map(Arc::from) } else { None };
        let readable = readable.unwrap_or_else(|| linkage.clone());
        self.keep(linkage.len() + readable.len());
        self.names.insert(id.0, (linkage.clone(), readable.clone()));
        Some((linkage, readable))
    }

    /// A path; an empty one where there is none. `None` where the table of paths is damaged.
    pub(crate) fn path(&mut self, file: &SymbolFile<'_>, id: Option<FileId>) -> Option<Arc<str>> {
        let Some(id) = id else { return Some(self.empty()) };
        if let Some(known) = self.files.get(&id.0) {
            return Some(known.clone());
        }
        let path = text(&bytes(file.files(), id.0)?);
        self.keep(path.len());
        self.files.insert(id.0, path.clone());
        Some(path)
    }

    fn keep(&mut self, len: usize) {
        self.kept += len + 64;
        if self.kept > MAX_KEPT {
            self.names.clear();
            self.files.clear();
            self.kept = 0;
        }
    }
}

fn bytes(names: &foldsym_lookup::Names<'_>, id: u32) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    names.visit(id, |piece| name.extend_from_slice(piece))?;
    Some(name)
}

fn text(bytes: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(bytes).into()
}

/// The readable spelling of a linkage name. The one place that names a demangler.
fn demangle(name: &[u8]) -> Option<String> {
    foldsym_demangle::demangle(name)
}
