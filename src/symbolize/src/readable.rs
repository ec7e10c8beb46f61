//! Names that come from elsewhere than a symbol file, as they are shown: each is demangled once.

use std::borrow::Borrow;
use std::collections::HashMap;

use crate::symbolizer::Symbolizer;

/// When more bytes than this are kept, all are dropped.
const MAX_KEPT: usize = 4 << 20;

/// Longer names have no readable one.
const LONGEST: usize = 16 << 10;

/// Bytes that a kept name takes beside its text.
const ROOM: usize = 96;

/// The readable names of mangled ones, those of a crash report for example. It keeps at most 4 MiB of them.
pub struct ReadableNames {
    demangle: bool,
    // Names are a stranger's, so the hashes have a key.
    known: HashMap<Box<str>, Option<Box<str>>>,
    bytes: usize,
}

impl ReadableNames {
    /// An empty value. Names are demangled if the engine demangles those of its files.
    pub fn new(symbolizer: &Symbolizer) -> Self {
        Self::with(symbolizer.demangle)
    }

    pub(crate) fn with(demangle: bool) -> Self {
        Self { demangle, known: HashMap::new(), bytes: 0 }
    }

    /// The bytes that are kept.
    pub(crate) fn size(&self) -> usize {
        self.bytes
    }

    pub(crate) fn clear(&mut self) {
        (self.known, self.bytes) = (HashMap::new(), 0);
    }

    /// A name as it is shown: demangled, if names are and it is mangled.
    pub fn of<'n>(&'n mut self, name: &'n str) -> &'n str {
        // Names of all schemes begin so; the others need no place.
        if !self.demangle || !name.starts_with('_') || name.len() > LONGEST {
            return name;
        }
        if !self.known.contains_key(name) {
            let readable = foldsym_demangle::demangle(name.as_bytes()).map(String::into_boxed_str);
            let bytes = name.len() + readable.as_ref().map_or(0, |text| text.len()) + ROOM;
            if self.bytes.saturating_add(bytes) > MAX_KEPT {
                self.clear();
            }
            self.bytes += bytes;
            self.known.insert(name.into(), readable);
        }
        self.known.get(name).and_then(Option::as_ref).map_or(name, Borrow::borrow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_demangled_once_and_kept_within_a_bound() {
        let mut names = ReadableNames::with(true);
        assert_eq!(names.of("_ZN3geo4areaEv"), "geo::area()");
        assert_eq!(names.of("_ZN3geo4areaEv"), "geo::area()");
        assert_eq!(names.of("main"), "main");
        assert_eq!(names.of("_start"), "_start");
        assert_eq!(names.known.len(), 2, "a name that is not mangled takes no place");
        assert_eq!(ReadableNames::with(false).of("_ZN3geo4areaEv"), "_ZN3geo4areaEv");
        for number in 0..100_000 {
            names.of(&format!("_ZN3geo{number:0>10}Ev"));
            assert!(names.size() <= MAX_KEPT);
        }
        let long = format!("_Z{}", "x".repeat(MAX_KEPT));
        assert!(names.of(&long) == long && names.size() <= MAX_KEPT);
    }
}
