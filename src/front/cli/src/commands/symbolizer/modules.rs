//! Opens the module of a request, once, and has the engine answer for it.

use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldsym_convert::error::OpenError;
use foldsym_convert::{ConvertError, Naming, NoProgress};
use foldsym_lookup::{Frames, ImageAddr, Lookup, flags};
use foldsym_store::{BuildId, Store, StoreOptions, default_cache};
use foldsym_symbolize::{
    AddressKind, Form, Innermost, LoadError, Query, ReportedAddress, StackFrame, SymbolMap, Symbolizer,
    Unknown, Worker,
};
use rustc_hash::FxHashMap;

use super::NO_BUILD_ID;
use super::answer::{Answer, AnsweredLine};
use super::bytes;
use super::options::{FunctionNames, Options};
use super::words::with_arch;
use crate::answer::address::Section;
use crate::answer::text::short;
use crate::answer::variable::Variable;
use crate::commands::tool::Tool;
use foldsym_symbolize::symbols::SymbolNames;

/// The variable that names a store, which has the files of build ids: the tools have no option for it.
pub(super) const STORE: &str = "FOLDSYM_STORE";

/// The name of the module on standard input.
const INPUT: &str = "-";

/// Bytes of a program that are read from standard input, at most.
const MAX_INPUT: u64 = 4 << 30;

/// A module that was opened, with cached data for its answers.
pub(super) struct Module<'s> {
    pub(super) map: Arc<SymbolMap>,
    modules: foldsym_symbolize::Modules,
    worker: Worker<'s>,
    /// The sections of a relocatable program, in their order; empty for others.
    sections: Vec<Section>,
    /// Made when the first request names a function.
    names: Option<SymbolNames>,
}

/// An address of a program. In a relocatable program it is an offset in a section: all sections begin at 0 there, and the symbol file lays
/// them out one after another.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    /// Where the symbol file has the section's start; 0 for a program whose addresses are its own.
    base: u64,
    pub(super) address: u64,
}

impl Spot {
    /// An address of a program that is not relocatable.
    pub(super) const fn image(address: u64) -> Spot {
        Spot { base: 0, address }
    }

    pub(super) const fn forward(self, offset: u64) -> Spot {
        Spot { address: self.address.wrapping_add(offset), ..self }
    }
}

/// The engine for these options; `arch` selects the architecture of a file with several.
///
/// # Errors
/// The options are unusable: the text is the engine's.
pub(super) fn engine(options: &Options, arch: Option<&String>) -> Result<Symbolizer, String> {
    // A short name is cut out of a readable one.
    let demangle = options.demangle || options.functions == FunctionNames::Short;
    let conversion = conversion(options, arch);
    let mut builder = Symbolizer::builder().candidates(false).demangle(demangle).conversion(conversion);
    if let Some(location) = std::env::var_os(STORE).filter(|location| !location.is_empty()) {
        let location = location.to_string_lossy();
        let store =
            Store::open(&location, StoreOptions::default()).map_err(|error| format!("{STORE}: {error}"))?;
        builder = builder.store(store);
    }
    builder.cache_if_usable(default_cache()).build().map_err(|error| error.to_string())
}

/// The conversion of a program for these options.
fn conversion(options: &Options, arch: Option<&String>) -> foldsym_convert::Options {
    foldsym_convert::Options::default().with(|conversion| {
        conversion.columns = true;
        conversion.relative_paths = options.relative_names;
        // Only LLVM's tools have requests for data; what asks for it (sanitizers) gives no option beforehand.
        conversion.data = options.tool != Tool::GnuAddr2line;
        conversion.naming = match options.tool {
            Tool::GnuAddr2line => Naming::Gnu,
            _ => Naming::Llvm,
        };
        conversion.arch = arch.cloned();
        // Like LLVM's tool, which does without a package that is not there.
        conversion.dwp = options.dwp.clone().filter(|path| path.exists());
        conversion.debug_dirs = options.debug_dirs.clone();
    })
}

/// The engines of the architectures that requests named.
#[derive(Default)]
pub(super) struct Engines {
    /// By name; the rest is empty. No file has slices for more.
    known: [OnceCell<(String, Symbolizer)>; MAX_ENGINES],
}

const MAX_ENGINES: usize = 16;

/// Bytes of code without a line that are passed over for the line before. Compilers leave a few instructions without one.
const MAX_LINE_ZERO: u64 = 1 << 14;

impl Engines {
    /// The engine that reads an architecture's slice of a file.
    ///
    /// # Errors
    /// More architectures were named than there are.
    fn of(&self, options: &Options, arch: &str) -> Result<&Symbolizer, String> {
        for cell in &self.known {
            let (name, engine) = match cell.get() {
                Some(known) => known,
                None => {
                    let made = engine(options, Some(&arch.to_owned()))?;
                    // Cells are filled in order, and engines never move, since modules borrow them.
                    cell.get_or_init(|| (arch.to_owned(), made))
                }
            };
            if name == arch {
                return Ok(engine);
            }
        }
        Err(format!("more than {MAX_ENGINES} architectures were named"))
    }
}

/// Modules that are kept open, and absent ones that are remembered. Beyond that all are forgotten: a client names as many as it likes.
const MAX_OPEN: usize = 256;
const MAX_FAILED: usize = 1 << 12;
/// Bytes of a path that is remembered (`PATH_MAX` of Linux). A longer one names no file.
const MAX_PATH: usize = 4096;

/// The modules that were requested so far. Errors are kept too: a client requests a missing module again and again.
pub(super) struct Modules<'s> {
    symbolizer: &'s Symbolizer,
    /// Reads files that hold several architectures; `--default-arch` does not apply to others.
    of_arch: Option<&'s Symbolizer>,
    /// The engines of `PATH:ARCH`.
    engines: &'s Engines,
    options: &'s Options,
    /// By path, as it was written.
    opened: FxHashMap<PathBuf, Box<Module<'s>>>,
    failed: FxHashMap<PathBuf, String>,
}

impl<'s> Modules<'s> {
    pub(super) fn new(
        symbolizer: &'s Symbolizer,
        of_arch: Option<&'s Symbolizer>,
        engines: &'s Engines,
        options: &'s Options,
    ) -> Modules<'s> {
        Modules {
            symbolizer,
            of_arch,
            engines,
            options,
            opened: FxHashMap::default(),
            failed: FxHashMap::default(),
        }
    }

    /// The module of a path.
    ///
    /// # Errors
    /// Why it cannot be opened, in LLVM's words.
    pub(super) fn open(&mut self, path: &Path) -> Result<&mut Module<'s>, String> {
        self.known(path, |modules| modules.read(path))
    }

    /// The module of a build id, from the store.
    ///
    /// # Errors
    /// Why it cannot be opened, in LLVM's words if LLVM has some.
    pub(super) fn open_build(&mut self, id: &[u8]) -> Result<&mut Module<'s>, String> {
        let has_store = std::env::var_os(STORE).is_some_and(|location| !location.is_empty());
        let id = BuildId::new(id).ok().filter(|_| has_store).ok_or(NO_BUILD_ID)?;
        // No path has a build id's name: a file of this name is in no folder.
        let key = PathBuf::from(format!("\0{id}"));
        self.known(&key, |modules| {
            let named = foldsym_symbolize::Module::new("").with_id(id);
            let found = modules.symbolizer.file_of(&named).map_err(|why| match why {
                Unknown::Absent(_) => NO_BUILD_ID.to_owned(),
                other => other.to_string(),
            });
            found.map(|map| Module::new(map, modules.symbolizer, &named.name))
        })
    }

    /// The module of a key, which is made by `make` unless it is known.
    fn known(
        &mut self,
        key: &Path,
        make: impl FnOnce(&Self) -> Result<Module<'s>, String>,
    ) -> Result<&mut Module<'s>, String> {
        if let Some(message) = self.failed.get(key) {
            return Err(message.clone());
        }
        if !self.opened.contains_key(key) {
            match make(self) {
                Ok(module) => {
                    if self.opened.len() >= MAX_OPEN {
                        self.opened = FxHashMap::default();
                    }
                    self.opened.insert(key.to_owned(), Box::new(module));
                }
                Err(message) => {
                    if self.failed.len() >= MAX_FAILED {
                        self.failed = FxHashMap::default();
                    }
                    if key.as_os_str().len() <= MAX_PATH {
                        self.failed.insert(key.to_owned(), message.clone());
                    }
                    return Err(message);
                }
            }
        }
        self.opened.get_mut(key).map(|module| &mut **module).ok_or_else(String::new)
    }

    /// The program on standard input, which LLVM's tools call `-`. It is read to its end: no request can follow it there.
    fn read_input(&self) -> Result<Module<'s>, String> {
        let path = Path::new(INPUT);
        let mut bytes = Vec::new();
        let mut out = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(io::stdin().lock(), MAX_INPUT), &mut bytes)
            .map_err(|error| error.to_string())?;
        let conversion = conversion(self.options, self.options.arch.as_ref());
        foldsym_convert::convert_bytes(path, &bytes, &mut out, &conversion, &NoProgress)
            .map_err(|error| text_of(&LoadError::Convert(error)))?;
        let map = SymbolMap::of_bytes(path, out).map_err(|error| error.to_string())?;
        Ok(Module::new(Arc::new(map), self.symbolizer, INPUT))
    }

    fn read(&self, path: &Path) -> Result<Module<'s>, String> {
        if self.options.tool != Tool::GnuAddr2line && path == Path::new(INPUT) {
            return self.read_input();
        }
        let load = |path: &Path, of_arch: Option<&'s Symbolizer>| {
            let first = match self.symbolizer.load_regular(path) {
                Ok(map) => return Ok((map, self.symbolizer)),
                Err(error) => error,
            };
            // For a file with several architectures one must be named; for others LLVM reads the only one.
            let is_fat =
                matches!(&first, LoadError::Convert(ConvertError::Open(OpenError::ChooseArch { .. })));
            let Some(engine) = of_arch.filter(|_| is_fat) else { return Err(text_of(&first)) };
            engine.load_regular(path).map(|map| (map, engine)).map_err(|error| text_of(&error))
        };
        let text = bytes::of_path(path);
        // A file whose name ends so comes before the name of an architecture. GNU's tool knows no such names.
        let may_have = self.options.tool != Tool::GnuAddr2line && !path.exists();
        let (map, engine) = match with_arch(&text).filter(|_| may_have) {
            Some((path, arch)) => load(&bytes::path_of(path), Some(self.engines.of(self.options, arch)?)),
            None => load(path, self.of_arch),
        }?;
        Ok(Module::new(map, engine, &path.to_string_lossy()))
    }
}

impl<'s> Module<'s> {
    fn new(map: Arc<SymbolMap>, engine: &'s Symbolizer, name: &str) -> Module<'s> {
        let module = foldsym_symbolize::Module::new(name).with_file(map.clone());
        let modules = foldsym_symbolize::Modules::new(vec![module]);
        let file = map.file();
        let is_relocatable = file.header().flags & flags::RELOCATABLE != 0;
        let sections = if is_relocatable { crate::answer::open::sections(file) } else { Vec::new() };
        Module { map, modules, worker: engine.worker(), sections, names: None }
    }
}

impl Module<'_> {
    /// The place that a request's address means, in a section if one is named. `None` if the program has no such address.
    ///
    /// In a relocatable program, GNU's tool takes the first section that has the offset and in which something is known there. LLVM's takes
    /// the first with code.
    ///
    /// # Errors
    /// The `.fsym` is damaged there.
    pub(super) fn spot(&self, address: u64, section: Option<&str>) -> Result<Option<Spot>, String> {
        // With GNU's `-j`, an address is an offset in the named section.
        let start = section.and_then(|name| self.section_start(name));
        // `sections` is empty unless the program is relocatable. Only then may one address mean several places.
        if self.sections.is_empty() {
            return Ok(Some(Spot::image(address.wrapping_add(start.unwrap_or(0)))));
        }
        if let Some(base) = start {
            return Ok(Some(Spot { base, address }));
        }
        let mut frames = Frames::new();
        for section in self.sections.iter().filter(|section| address < section.size) {
            let image = ImageAddr(section.start.wrapping_add(address));
            let found =
                self.map.file().lookup(image, &mut frames).map_err(|error| format!("damaged: {error}"))?;
            if matches!(found, Lookup::Found(_)) {
                return Ok(Some(Spot { base: section.start, address }));
            }
        }
        Ok(None)
    }

    /// Where the symbol file has a section.
    pub(super) fn section_start(&self, name: &str) -> Option<u64> {
        let sections = crate::answer::open::sections(self.map.file());
        sections.iter().find(|section| section.name == *name).map(|section| section.start)
    }

    /// Adds the answer for an address.
    ///
    /// # Errors
    /// The `.fsym` is damaged there.
    pub(super) fn answer(
        &mut self,
        spot: Spot,
        options: &Options,
        answer: &mut Answer,
    ) -> Result<(), String> {
        let image = spot.base.wrapping_add(spot.address);
        let first = answer.lines().len();
        self.answer_at(image, spot.base, options, answer)?;
        // The line of code that no line of the source has (line 0) is the one before, if there is one in the function.
        let is_unknown = |line: &AnsweredLine| line.line == 0 && !line.file.is_empty();
        if options.skip_line_zero
            && answer.lines().get(first).is_some_and(is_unknown)
            && let Some(before) = self.line_before(image)?
        {
            let mut earlier = Answer::default();
            self.answer_at(before, spot.base, options, &mut earlier)?;
            if let (Some(line), Some(earlier)) = (answer.lines_mut().get_mut(first), earlier.lines().first())
            {
                line.file.clone_from(&earlier.file);
                (line.line, line.column, line.is_approximate) = (earlier.line, earlier.column, true);
            }
        }
        Ok(())
    }

    /// The variable at a place.
    ///
    /// # Errors
    /// The `.fsym` is damaged there.
    pub(super) fn variable(&self, spot: Spot, options: &Options) -> Result<Option<Variable>, String> {
        let address = ImageAddr(spot.base.wrapping_add(spot.address));
        let found = Variable::at(self.map.file(), address, options.demangle);
        let found = found.map_err(|error| format!("damaged: {error}"))?;
        Ok(found.map(|found| Variable { start: found.start.wrapping_sub(spot.base), ..found }))
    }

    /// The last address before this one whose code has a line, in the same function.
    fn line_before(&self, image: u64) -> Result<Option<u64>, String> {
        let file = self.map.file();
        let mut frames = Frames::new();
        for before in 1..=MAX_LINE_ZERO.min(image) {
            let at = image - before;
            let found =
                file.lookup(ImageAddr(at), &mut frames).map_err(|error| format!("damaged: {error}"))?;
            let Lookup::Found(answer) = found else { return Ok(None) };
            let innermost = file.frames(&frames).next().transpose();
            let innermost = innermost.map_err(|error| format!("damaged: {error}"))?;
            if innermost.is_some_and(|frame| frame.line > 0) {
                return Ok(Some(at));
            }
            if at <= answer.piece_start.0 {
                break;
            }
        }
        Ok(None)
    }

    /// Adds the answer for an address of the symbol file.
    fn answer_at(
        &mut self,
        image: u64,
        base: u64,
        options: &Options,
        answer: &mut Answer,
    ) -> Result<(), String> {
        let place = ReportedAddress::Image { module: 0, address: image };
        let frames = [StackFrame { place, kind: AddressKind::Exact }];
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
                    // GNU's tool does not print the name, but uses it to recognise an address without a function.
                    FunctionNames::None if options.tool != Tool::GnuAddr2line => line.function.clear(),
                    FunctionNames::None | FunctionNames::Linkage => {
                        put(&mut line.function, names.function(frame.name))
                    }
                    // A bare symbol has no short name. A declaration line shows that there is a DIE, and so does the line of the code:
                    // `-g1` describes a few functions, without their declarations.
                    FunctionNames::Short
                        if frame.is_outermost && frame.start_line == 0 && frame.line == 0 =>
                    {
                        line.function.clear()
                    }
                    FunctionNames::Short => put(&mut line.function, &short(names.function(frame.name))),
                }
                put(&mut line.file, names.path(frame.file));
                put(&mut line.start_file, names.path(frame.start_file));
                (line.line, line.column, line.start_line) = (frame.line, frame.column, frame.start_line);
                line.start = found.start.filter(|_| frame.is_outermost).map(|start| start.wrapping_sub(base));
                line.is_approximate = false;
                // The tools give a function without a description the file of its symbol; LLVM's ask for symbols only if they print linkage
                // names.
                let has_line = !line.file.is_empty() || line.line > 0;
                // A function of Go is described with a file and no line.
                if frame.is_outermost && frame.start_line == 0 && !has_line {
                    let of_symbol = std::mem::take(&mut line.start_file);
                    if options.tool == Tool::GnuAddr2line || options.functions == FunctionNames::Linkage {
                        line.file = of_symbol;
                    }
                }
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
    pub(super) fn starts_of(&mut self, symbol: &str) -> Result<Vec<Spot>, String> {
        // Reading all names takes long, and a client that requests one symbol will request more, so the names are kept.
        let names = match self.names.take() {
            Some(names) => names,
            None => SymbolNames::of(&self.map).map_err(|error| format!("damaged: {error}"))?,
        };
        let starts = names.starts(symbol);
        self.names = Some(names);
        Ok(starts.into_iter().map(|start| self.spot_of_image(start)).collect())
    }

    /// The place in the program of an address of the symbol file.
    fn spot_of_image(&self, image: u64) -> Spot {
        let holds = |section: &&Section| image.checked_sub(section.start).is_some_and(|at| at < section.size);
        let base = self.sections.iter().find(holds).map_or(0, |section| section.start);
        Spot { base, address: image.wrapping_sub(base) }
    }
}

/// LLVM's message for a module that cannot be opened.
fn text_of(error: &LoadError) -> String {
    match error {
        LoadError::Read(_, error) | LoadError::Convert(ConvertError::Open(OpenError::Io { error, .. })) => {
            match error.kind() {
                io::ErrorKind::NotFound => "No such file or directory".to_owned(),
                io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
                io::ErrorKind::IsADirectory => "Is a directory".to_owned(),
                _ => {
                    let text = error.to_string();
                    // Rust appends the error number to the system's text; LLVM does not.
                    text.split_once(" (os error ").map_or(text.clone(), |(text, _)| text.to_owned())
                }
            }
        }
        // Known formats that are not read are named: the tool itself reads them.
        LoadError::Convert(ConvertError::Open(OpenError::NotAnObject { found, .. }))
            if found.contains("PE file") || found.contains("WebAssembly") =>
        {
            format!("{found}, which foldsym does not read")
        }
        LoadError::Convert(ConvertError::Open(OpenError::NotAnObject { .. })) => {
            "The file was not recognized as a valid object file".to_owned()
        }
        LoadError::Convert(ConvertError::Open(OpenError::ChooseArch { wanted: Some(arch), .. })) => {
            format!("fat file does not contain {arch}")
        }
        LoadError::Convert(ConvertError::Open(OpenError::ChooseArch { available, .. })) => {
            let names = available.join(", ");
            format!("several architectures, choose one as FILE:ARCH or by --default-arch; it has: {names}")
        }
        other => other.to_string(),
    }
}
