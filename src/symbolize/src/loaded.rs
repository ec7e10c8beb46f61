//! The data that a worker keeps of a file: its mapping, and names in the forms of the output.

use std::sync::Arc;

use foldsym_store::SymbolMap;

use crate::names::{Form, Kept};
use crate::objects::Objects;

/// A file, and the data that is kept of it.
pub(crate) struct Loaded {
    pub(crate) map: Arc<SymbolMap>,
    /// The half-open ranges of the program's sections, by address.
    sections: Vec<(u64, u64)>,
    pub(crate) names: NamesOfFile,
    pub(crate) objects: Objects,
}

impl Loaded {
    pub(crate) fn new(map: Arc<SymbolMap>, demangle: bool) -> Self {
        let range = |start: u64, len: u64| (start, start.saturating_add(len));
        let sections = map.file().records().program_sections();
        let mut sections: Vec<(u64, u64)> =
            sections.map(|section| range(section.start.0, section.len)).collect();
        sections.sort_unstable();
        Self { map, sections, names: NamesOfFile::new(demangle), objects: Objects::default() }
    }

    /// The bytes that would be free without it. A file that the engine keeps open is counted there.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let is_alone = Arc::strong_count(&self.map) == 1;
        self.names.size() as u64 + if is_alone { self.map.bytes().len() as u64 } else { 0 }
    }

    /// True if an address is in no section of the program; false for every address if the file lists no sections.
    pub(crate) fn is_outside(&self, image: u64) -> bool {
        let before = &self.sections[..self.sections.partition_point(|&(start, _)| start <= image)];
        // All sections that begin before the address are checked, not only the last one: sections may overlap.
        !self.sections.is_empty() && !before.iter().any(|&(_, end)| image < end)
    }
}

/// The names of a file in each form. A form that is not used stays empty.
pub(crate) struct NamesOfFile {
    pub(crate) plain: Kept<Box<[u8]>>,
    pub(crate) json: Kept<Box<[u8]>>,
    pub(crate) shared: Kept<Arc<str>>,
}

impl NamesOfFile {
    pub(crate) fn new(demangle: bool) -> Self {
        Self {
            plain: Kept::new(demangle, Form::Plain),
            json: Kept::new(demangle, Form::Json),
            shared: Kept::shared(demangle),
        }
    }

    /// The bytes of the names in all forms.
    pub(crate) fn size(&self) -> usize {
        self.plain.size() + self.json.size() + self.shared.size()
    }

    pub(crate) fn clear(&mut self) {
        self.plain.clear();
        self.json.clear();
        self.shared.clear();
    }

    pub(crate) fn of(&mut self, form: Form) -> &mut Kept<Box<[u8]>> {
        match form {
            Form::Plain => &mut self.plain,
            Form::Json => &mut self.json,
        }
    }
}
