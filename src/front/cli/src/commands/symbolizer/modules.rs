//! Opens the module of a request, once, and has the engine answer for it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldsym_convert::{ConvertError, open::OpenError};
use foldsym_store::default_cache;
use foldsym_symbolize::{
    Form, Innermost, Kind, LoadError, Place, Query, StackFrame, SymbolMap, Symbolizer, Unknown, Worker,
};
use rustc_hash::FxHashMap;

use super::options::{Functions, Options};
use super::print::Line;
use crate::answer::places::Places;
use crate::answer::symbols::SymbolNames;

/// A module that was opened, with what is kept for its answers.
pub(super) struct Module<'s> {
    pub(super) map: Arc<SymbolMap>,
    modules: foldsym_symbolize::Modules,
    worker: Worker<'s>,
    /// Made when the first request names a function.
    names: Option<SymbolNames>,
}

/// What is known of an address: its lines, innermost first, and how sure it is where the code was folded.
#[derive(Default)]
pub(super) struct Answer {
    /// The first `len` are of this answer; the others keep their memory for the next.
    lines: Vec<Line>,
    len: usize,
    /// At folded code: the word for the certainty, and how many functions may have run.
    pub(super) folded: Option<(&'static str, u32)>,
}

impl Answer {
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines[..self.len]
    }

    pub(super) fn clear(&mut self) {
        (self.len, self.folded) = (0, None);
    }

    /// A line to fill, behind those that are there.
    pub(super) fn push(&mut self) -> &mut Line {
        if self.len == self.lines.len() {
            self.lines.push(Line::default());
        }
        self.len += 1;
        &mut self.lines[self.len - 1]
    }
}

/// The engine that answers for these options.
///
/// # Errors
/// None of these options: the text is what the engine says.
pub(super) fn engine(options: &Options) -> Result<Symbolizer, String> {
    let conversion = foldsym_convert::Options {
        columns: true,
        arch: options.arch.clone(),
        dwp: options.dwp.clone(),
        debug_dirs: options.debug_dirs.clone(),
        ..foldsym_convert::Options::default()
    };
    let builder = Symbolizer::builder().candidates(false).demangle(options.demangle).conversion(conversion);
    builder.cache_if_usable(default_cache()).build().map_err(|error| error.to_string())
}

/// The modules that were asked for so far. Errors are kept too: a client asks for a missing module again and again.
pub(super) struct Modules<'s> {
    symbolizer: &'s Symbolizer,
    /// By path, as it was written.
    opened: FxHashMap<PathBuf, Result<Module<'s>, String>>,
}

impl<'s> Modules<'s> {
    pub(super) fn new(symbolizer: &'s Symbolizer) -> Modules<'s> {
        Modules { symbolizer, opened: FxHashMap::default() }
    }

    /// The module of a path.
    ///
    /// # Errors
    /// Why there is none, in the words of LLVM.
    pub(super) fn open(&mut self, path: &Path) -> Result<&mut Module<'s>, String> {
        if !self.opened.contains_key(path) {
            let module = self.read(path);
            self.opened.insert(path.to_owned(), module);
        }
        match self.opened.get_mut(path) {
            Some(Ok(module)) => Ok(module),
            Some(Err(message)) => Err(message.clone()),
            None => Err(String::new()),
        }
    }

    fn read(&self, path: &Path) -> Result<Module<'s>, String> {
        let map = self.symbolizer.load(path).map_err(|error| text_of(&error))?;
        let module = foldsym_symbolize::Module::new(&path.to_string_lossy()).with_file(map.clone());
        let modules = foldsym_symbolize::Modules::new(vec![module]);
        Ok(Module { map, modules, worker: self.symbolizer.worker(), names: None })
    }
}

impl Module<'_> {
    /// Adds what is known of an address of the image to an answer.
    ///
    /// # Errors
    /// The `.fsym` is damaged there.
    pub(super) fn answer(
        &mut self,
        address: u64,
        options: &Options,
        answer: &mut Answer,
    ) -> Result<(), String> {
        let place = Place::Image { module: 0, address };
        let frames = [StackFrame { place, kind: Kind::Exact }];
        let query = Query { modules: &self.modules, frames: &frames, innermost: Innermost::Nothing };
        self.worker.answer(query, Form::Plain, |found, names| {
            if let Some(Unknown::Damaged(why)) = &found.unknown {
                return Err(why.to_string());
            }
            for frame in &found.symbol.frames {
                let line = answer.push();
                let put = |to: &mut Vec<u8>, text: &[u8]| {
                    to.clear();
                    to.extend_from_slice(text);
                };
                match options.functions {
                    Functions::None => line.function.clear(),
                    Functions::Linkage => put(&mut line.function, names.function(frame.name)),
                    Functions::Short => put(&mut line.function, short(names.function(frame.name))),
                }
                put(&mut line.file, names.path(frame.file));
                put(&mut line.start_file, names.path(frame.start_file));
                (line.line, line.column, line.start_line) = (frame.line, frame.column, frame.start_line);
                line.start = found.start.filter(|_| frame.is_outermost);
            }
            let certainty = found.certainty.filter(|_| found.candidate_count.is_some());
            answer.folded = certainty.map(|certainty| (certainty.text(), found.candidate_count.unwrap_or(1)));
            names.take_damage().map_or(Ok(()), |why| Err(why.to_string()))
        })
    }

    /// Where the functions of a linkage name start.
    ///
    /// # Errors
    /// The `.fsym` is damaged.
    pub(super) fn starts_of(&mut self, symbol: &str) -> Result<Vec<u64>, String> {
        let names = match self.names.take() {
            Some(names) => names,
            None => SymbolNames::of(&self.map).map_err(|error| format!("damaged: {error}"))?,
        };
        let first = |place: &Places| place.ranges.first().map(|range| range.0);
        let mut starts: Vec<u64> = names.places(symbol).filter_map(first).collect();
        starts.sort_unstable();
        starts.dedup();
        self.names = Some(names);
        Ok(starts)
    }
}

/// What LLVM says of a module that cannot be opened.
fn text_of(error: &LoadError) -> String {
    match error {
        LoadError::Read(_, source) | LoadError::Convert(ConvertError::Open(OpenError::Io { source, .. })) => {
            match source.kind() {
                io::ErrorKind::NotFound => "No such file or directory".to_owned(),
                io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
                io::ErrorKind::IsADirectory => "Is a directory".to_owned(),
                _ => source.to_string(),
            }
        }
        LoadError::Convert(ConvertError::Open(OpenError::NotAnObject { .. })) => {
            "The file was not recognized as a valid object file".to_owned()
        }
        other => other.to_string(),
    }
}

/// The name of a function without namespaces, classes and parameters, as `DW_AT_name` has it: `m` of `ns::S::m(int) const`.
fn short(name: &[u8]) -> &[u8] {
    let mut depth = 0_usize;
    let (mut start, mut end) = (0, name.len());
    let operator = memchr::memmem::find(name, b"operator");
    for (at, byte) in name.iter().enumerate() {
        if operator.is_some_and(|operator| at >= operator && at < operator + b"operator()".len()) {
            continue;
        }
        match byte {
            b'(' if depth == 0 && at > start => {
                end = at;
                break;
            }
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' | b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && at > 0 && name[at - 1] == b':' => start = at + 1,
            b' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start.min(end)..end]
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn names_without_what_surrounds_them() {
        for (name, expected) in [
            ("ns::S::m(int) const", "m"),
            ("main", "main"),
            ("int ns::max<int>(int, int)", "max<int>"),
            ("S::operator()(int) const", "operator()"),
            ("void f<ns::S>(ns::S)", "f<ns::S>"),
            ("a::b::~b()", "~b"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8_lossy(short(name.as_bytes())), expected, "{name}");
        }
    }
}
