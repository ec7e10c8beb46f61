//! Opens the module of a request, once: a `.fsym`, or a program that is converted and kept in a folder.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use elsa::FrozenVec;
use foldsym_convert::{ConvertError, NoProgress, open::OpenError};
use foldsym_lookup::{FunctionId, ImageAddr, SymbolFile};
use rustc_hash::FxHashMap;

use super::options::{Functions, Options};
use super::print::Line;
use crate::answer::address::Address;
use crate::answer::names::{Form, Names};
use crate::answer::resolver::Resolver;
use crate::commands::find::places;
use crate::io::mapped::Mapped;

/// The first bytes of a `.fsym`.
const MAGIC: [u8; 8] = foldsym_format::header::MAGIC;

/// A module that was opened, with scratch memory for its answers.
pub(super) struct Module<'m> {
    pub(super) file: SymbolFile<'m>,
    resolver: Resolver<'m>,
    names: Names<'m>,
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

/// The modules that were asked for so far. Errors are kept too: a client asks for a missing module again and again.
pub(super) struct Modules<'m, 'o> {
    mapped: &'m FrozenVec<Box<Mapped>>,
    options: &'o Options,
    /// By path, as it was written.
    opened: FxHashMap<PathBuf, Result<Module<'m>, String>>,
}

impl<'m, 'o> Modules<'m, 'o> {
    pub(super) fn new(mapped: &'m FrozenVec<Box<Mapped>>, options: &'o Options) -> Modules<'m, 'o> {
        Modules { mapped, options, opened: FxHashMap::default() }
    }

    /// The module of a path.
    ///
    /// # Errors
    /// Why there is none, in the words of LLVM.
    pub(super) fn open(&mut self, path: &Path) -> Result<&mut Module<'m>, String> {
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

    fn read(&self, path: &Path) -> Result<Module<'m>, String> {
        let mapped = match is_fsym(path).map_err(|error| text_of(&error))? {
            true => Mapped::open(path).map_err(|failure| failure.message)?,
            false => converted(path, self.options)?,
        };
        let mapped = self.mapped.push_get(Box::new(mapped));
        let file = SymbolFile::open(mapped).map_err(|error| format!("damaged: {error}"))?;
        Ok(Module {
            file,
            resolver: Resolver::new(file, false),
            names: Names::new(&file, self.options.demangle, Form::Plain),
        })
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
        let damaged = |error| format!("damaged: {error}");
        let image = Some(ImageAddr(address));
        let found = self.resolver.lookup(Address { given: address, image }).map_err(damaged)?;
        let names = &mut self.names;
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
        names.take_damage().map_or(Ok(()), |error| Err(damaged(error)))
    }

    /// Where the functions of a linkage name start.
    ///
    /// # Errors
    /// The `.fsym` is damaged.
    pub(super) fn starts_of(&self, symbol: &str) -> Result<Vec<u64>, String> {
        let damaged = |error| format!("damaged: {error}");
        let mut linkage = Names::new(&self.file, false, Form::Plain);
        let mut found: Vec<FunctionId> = Vec::new();
        for id in (0..self.file.function_count()).map(FunctionId) {
            let name = self.file.function_name(id).map_err(damaged)?;
            let function = self.file.function(id).map_err(damaged)?;
            let mut is_it = linkage.function(name) == symbol.as_bytes();
            for alias in self.file.aliases(&function) {
                is_it = is_it || linkage.function(Some(alias.map_err(damaged)?)) == symbol.as_bytes();
            }
            if is_it {
                found.push(id);
            }
        }
        let places = places(&self.file, &found).map_err(damaged)?;
        let start = |id: &FunctionId| places.get(id).and_then(|place| place.ranges.first());
        let mut starts: Vec<u64> = found.iter().filter_map(start).map(|range| range.0).collect();
        starts.sort_unstable();
        starts.dedup();
        Ok(starts)
    }
}

fn is_fsym(path: &Path) -> io::Result<bool> {
    let mut file = std::fs::File::open(path)?;
    let mut first = [0; MAGIC.len()];
    Ok(file.read_exact(&mut first).is_ok() && first == MAGIC)
}

/// Converts a program, or takes what an earlier process converted of the same file.
fn converted(path: &Path, options: &Options) -> Result<Mapped, String> {
    let convert = foldsym_convert::Options {
        columns: true,
        arch: options.arch.clone(),
        dwp: options.dwp.clone(),
        debug_dirs: options.debug_dirs.clone(),
        ..foldsym_convert::Options::default()
    };
    let key = key(path, options).map_err(|error| text_of(&error))?;
    let kept = cache().map(|folder| folder.join(key));
    if let Some(kept) = &kept
        && let Ok(mapped) = Mapped::open(kept)
        && SymbolFile::open(&mapped).is_ok()
    {
        return Ok(mapped);
    }
    let writable = kept.filter(|kept| kept.parent().is_some_and(|dir| std::fs::create_dir_all(dir).is_ok()));
    let temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
    let passing = temporary.path().join("module.fsym");
    // A folder that cannot be written to keeps nothing: the answer needs the file for this process alone.
    for output in writable.as_ref().into_iter().chain([&passing]) {
        match foldsym_convert::convert(path, output, &convert, &NoProgress) {
            Ok(_) => return Mapped::open(output).map_err(|failure| failure.message),
            Err(ConvertError::Write { .. }) if *output != passing => {}
            Err(ConvertError::Open(OpenError::NotAnObject { .. })) => {
                return Err("The file was not recognized as a valid object file".to_owned());
            }
            Err(ConvertError::Open(OpenError::Io { source, .. })) => return Err(text_of(&source)),
            Err(ConvertError::Open(OpenError::NotRegular { found: "directory", .. })) => {
                return Err("Is a directory".to_owned());
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Err(format!("{}: cannot be written", passing.display()))
}

/// The folder of converted programs; `None` where the environment names none.
fn cache() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    folder("FOLDSYM_CACHE").or_else(|| Some(of_user()?.join("foldsym")))
}

/// The name of a converted program: it changes with the program's path, size and time, and with what the answer depends on.
fn key(path: &Path, options: &Options) -> io::Result<String> {
    let meta = std::fs::metadata(path)?;
    let modified = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut hash = DefaultHasher::new();
    (std::fs::canonicalize(path)?, meta.len(), modified, foldsym_format::header::VERSION).hash(&mut hash);
    (&options.arch, &options.dwp, &options.debug_dirs, env!("CARGO_PKG_VERSION")).hash(&mut hash);
    Ok(format!("{:016x}.fsym", hash.finish()))
}

/// What LLVM says of a file that cannot be read.
fn text_of(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "No such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "Is a directory".to_owned(),
        _ => error.to_string(),
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
