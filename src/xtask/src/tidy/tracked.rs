//! The input and output of the rules: a tracked file, and a finding.

/// A tracked file: its path from the root, with `/`, and its bytes.
pub(super) struct Tracked {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
}

impl Tracked {
    /// The content, if it is text: no zero byte, and UTF-8.
    pub(super) fn text(&self) -> Option<&str> {
        if self.bytes.contains(&0) { None } else { std::str::from_utf8(&self.bytes).ok() }
    }

    /// The part of the path that says in which crate it is, or what follows it.
    pub(super) fn below(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// One broken rule: where, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) message: String,
}

impl Finding {
    pub(super) fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}
