//! Opens a `.fsym` and reads the parts of it that several commands need.

use std::path::Path;
use std::sync::Arc;

use foldsym_lookup::records::Names;
use foldsym_lookup::{NameId, SymbolFile, What};
use foldsym_store::{Store, StoreError, StoreOptions, default_cache};
#[cfg(feature = "convert")]
use foldsym_symbolize::LoadError;
use foldsym_symbolize::{SymbolMap, Symbolizer, number};

use crate::answer::address::Section;
use crate::args::{Answering, Sources};
use crate::io::failure::{Failure, complain, exit};
use crate::io::limits::{self, Named};
use crate::io::mapped::Mapped;

/// Opens the file.
///
/// # Errors
/// The file is not a `.fsym`, has another version, or has a damaged header: exit code 3, with path and place. For a program the message
/// says how to convert it.
pub(crate) fn open(mapped: &Mapped) -> Result<SymbolFile<'_>, Failure> {
    SymbolFile::open(mapped).map_err(|error| match error.what {
        What::Magic => not_a_symbol_file(mapped.path(), mapped),
        _ => damaged(mapped, error),
    })
}

/// Describes a file that is not a `.fsym`, by its first bytes.
pub(crate) fn not_a_symbol_file(path: &Path, first: &[u8]) -> Failure {
    if !is_program(first) {
        return Failure::input(path, What::Magic.text());
    }
    let what = format!("a program, not a symbol file; convert it first: foldsym convert {}", path.display());
    Failure::input(path, what)
}

/// The most bytes at the start of a file that are needed to recognise a program.
pub(crate) const MAX_MAGIC: u64 = 24;

/// True for the first bytes of ELF and Mach-O files and of archives.
fn is_program(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 9] = [
        b"\x7fELF",
        b"\xfe\xed\xfa\xce",
        b"\xfe\xed\xfa\xcf",
        b"\xce\xfa\xed\xfe",
        b"\xcf\xfa\xed\xfe",
        // Java class files begin with the same bytes. That is harmless: only the text of a message depends on this check.
        b"\xca\xfe\xba\xbe",
        b"\xca\xfe\xba\xbf",
        b"!<arch>\n",
        b"__CLANG_OFFLOAD_BUNDLE__",
    ];
    starts.iter().any(|start| bytes.starts_with(start))
}

/// The engine of a command.
///
/// # Errors
/// A folder that options name cannot be used; options that contradict each other.
pub(crate) fn symbolizer(args: &Answering, sources: &Sources) -> Result<Symbolizer, Failure> {
    symbolizer_with(args, sources, Extra::default())
}

/// What an engine answers beside what the options say.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extra {
    /// Programs that are converted on the fly keep their variables.
    pub(crate) data: bool,
    /// Answers have all candidates.
    pub(crate) candidates: bool,
}

/// As [`symbolizer`].
///
/// # Errors
/// As [`symbolizer`].
pub(crate) fn symbolizer_with(
    args: &Answering,
    sources: &Sources,
    extra: Extra,
) -> Result<Symbolizer, Failure> {
    if let Some(option) = args.without_effect() {
        return Err(Failure::usage(format!("{option} cannot be used with --output-style=JSON")));
    }
    let builder =
        // Each candidate costs a lookup, so candidates are requested only if the output shows them.
        Symbolizer::builder().candidates(args.is_json() || args.candidates || extra.candidates).demangle(!args.no_demangle).check(args.check);
    let mut builder = match &sources.cache {
        Some(folder) => builder.cache(folder),
        // The user did not name this folder, so an unusable one is not an error.
        None => builder.cache_if_usable(default_cache()),
    };
    #[cfg(feature = "convert")]
    if extra.data {
        let options = foldsym_convert::Options::default();
        let options = options.with(|options| (options.columns, options.data) = (true, true));
        builder = builder.conversion(options);
    }
    #[cfg(not(feature = "convert"))]
    let _ = extra.data;
    builder = builder.search(&sources.search);
    for location in &sources.store {
        builder = builder.store(store(location, sources.cache.as_deref())?);
    }
    #[cfg(feature = "debuginfod")]
    if !sources.no_debuginfod
        && let Some(servers) = foldsym_symbolize::Debuginfod::from_env()
    {
        builder = builder.debuginfod(servers);
    }
    builder.build().map_err(|error| Failure { message: error.to_string(), code: exit::BAD_INPUT })
}

/// Says on standard error, after the last answer, which of the given search paths were of no use, and why.
pub(crate) fn tell_unused(symbolizer: &Symbolizer) {
    for message in symbolizer.search_messages() {
        complain(&message);
    }
}

/// Opens a store. `cache` is the folder for what comes from another machine.
///
/// # Errors
/// The store or the folder cannot be used.
pub(crate) fn store(location: &str, cache: Option<&Path>) -> Result<Store, StoreError> {
    let mut options = StoreOptions::default();
    options.cache = cache.map(Path::to_owned);
    Store::open(location, options)
}

/// A file that answers, which stays mapped.
pub(crate) struct Loaded {
    pub(crate) map: Arc<SymbolMap>,
    /// As long as the bytes are used.
    _named: Named,
}

/// Opens the file that a user names: a `.fsym`, or a program, which is converted.
///
/// # Errors
/// It cannot be read, is damaged at its head, or cannot be converted: exit code 3, with path and place.
#[cfg(feature = "convert")]
pub(crate) fn load(symbolizer: &Symbolizer, path: &Path) -> Result<Loaded, Failure> {
    find_file(path)?;
    // The file is named before it is mapped: another process may truncate it while it is opened.
    let named = limits::name(&path.display().to_string());
    match symbolizer.load(path) {
        Ok(map) => Ok(Loaded { _named: named.at(map.bytes()), map }),
        Err(LoadError::Convert(error)) => Err(error.into()),
        Err(error) => Err(Failure { message: error.to_string(), code: exit::BAD_INPUT }),
    }
}

/// An address in place of the file: the user left the file out.
fn find_file(path: &Path) -> Result<(), Failure> {
    let is_address = path.to_str().and_then(number).is_some();
    // A file may have such a name, so only a missing one gets the hint.
    if is_address && let Err(error) = path.metadata() {
        let hint = "the first argument is FILE, unless --store, --search or --maps is given";
        return Err(Failure::input(path, format!("{error}; {hint}")));
    }
    Ok(())
}

/// Opens the file that a user names, which must be a `.fsym`.
#[cfg(not(feature = "convert"))]
pub(crate) fn load(_: &Symbolizer, path: &Path) -> Result<Loaded, Failure> {
    find_file(path)?;
    let named = limits::name(&path.display().to_string());
    let begins_like_program = || {
        let mut first = [0; 8];
        let read =
            std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut first));
        read.is_ok() && is_program(&first)
    };
    if begins_like_program() {
        let what =
            "a program, and this build of foldsym reads only .fsym files (it lacks the feature `convert`)";
        return Err(Failure::input(path, what));
    }
    match SymbolMap::open(path) {
        Ok(map) => Ok(Loaded { _named: named.at(map.bytes()), map: Arc::new(map) }),
        Err(error) => Err(Failure { message: error.to_string(), code: exit::BAD_INPUT }),
    }
}

/// A part of the file that is not as the format has it.
pub(crate) fn damaged(mapped: &Mapped, error: foldsym_lookup::Error) -> Failure {
    Failure { message: format!("{}: damaged: {error}", mapped.path().display()), code: exit::BAD_INPUT }
}

/// The program's loaded sections, for `SECTION:OFFSET`.
pub(crate) fn sections(file: &SymbolFile<'_>) -> Vec<Section> {
    let section = |section: foldsym_lookup::records::ProgramSection<'_>| Section {
        // Users type these names, so bytes that are not UTF-8 may be replaced.
        name: String::from_utf8_lossy(section.name).into_owned(),
        start: section.start.0,
        size: section.len,
    };
    file.records().program_sections().map(section).collect()
}

/// The bytes of a function's name; `None` if the table of names is damaged.
pub(crate) fn name_bytes(file: &SymbolFile<'_>, id: NameId) -> Option<Vec<u8>> {
    bytes(file.records().names(), id.0)
}

fn bytes(names: &Names<'_>, id: u32) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    names.visit(id, |piece| name.extend_from_slice(piece))?;
    Some(name)
}
