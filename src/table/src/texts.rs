//! The texts of a batch, each once.

use std::sync::Arc;

use foldhash::HashMap;

/// A text of the batch.
pub(crate) type Text = i32;

/// The texts of a batch, each once.
#[derive(Default)]
pub(crate) struct Texts {
    pub(crate) all: Vec<Arc<str>>,
    by_text: HashMap<Arc<str>, Text>,
}

impl Texts {
    pub(crate) fn of(&mut self, text: &str) -> Text {
        if let Some(&known) = self.by_text.get(text) {
            return known;
        }
        let text: Arc<str> = text.into();
        // The list and the map share one copy of the text.
        self.all.push(text.clone());
        let number = self.all.len() as Text - 1;
        self.by_text.insert(text, number);
        number
    }

    /// The numbers here of another's texts.
    pub(crate) fn take(&mut self, other: &Texts) -> Vec<Text> {
        other.all.iter().map(|text| self.of(text)).collect()
    }

    /// `None` for an empty text.
    pub(crate) fn of_bytes(&mut self, bytes: &[u8]) -> Option<Text> {
        // Names may be any bytes, but a column of text must be UTF-8.
        (!bytes.is_empty()).then(|| self.of(&String::from_utf8_lossy(bytes)))
    }
}
