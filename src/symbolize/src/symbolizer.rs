//! The engine that all threads share: the places where files are searched, and the open files.

use std::fmt;
use std::num::NonZeroUsize;
#[cfg(not(feature = "convert"))]
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use foldsym_store::{Store, StoreError, SymbolMap};

use crate::cache::Cache;
use crate::find::{Finder, Reach};
use crate::opened::{Fetch, Key, OpenFiles, Opened};
use crate::search::Given;
#[cfg(feature = "convert")]
use crate::search::is_known_as;
use crate::stack::Module;
use crate::unknown::Unknown;

/// Answers stacks. See the [crate's documentation](crate).
pub struct Symbolizer {
    pub(crate) files: Arc<OpenFiles>,
    /// The modules that [`Symbolizer::without_fetching`] did not fetch; `None` for an engine that fetches.
    unfetched: Option<Mutex<Vec<Unfetched>>>,
    /// Whether [`Symbolizer::without_opening`] left something to others; `None` for an engine that opens files.
    left: Option<AtomicBool>,
    pub(crate) threads: usize,
    pub(crate) candidates: bool,
    pub(crate) demangle: bool,
}

/// A module whose file may be in a remote store, or at a server. [`Symbolizer::fetch`] takes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unfetched {
    key: Key,
    is_again: bool,
}

impl Unfetched {
    /// Whether the answer lacks what may come. If not, it has what an earlier search found, which may be outdated.
    pub fn is_needed(&self) -> bool {
        !self.is_again
    }
}

/// Modules that are remembered between two calls of [`Symbolizer::take_unfetched`].
const MAX_UNFETCHED: usize = 1 << 12;

/// The files that a [`Symbolizer`] has opened so far. A file that was closed and opened again counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenedFiles {
    /// The number of symbol files.
    pub files: u64,
    /// The sum of their sizes. For a remote store these are the bytes fetched from it or from its cache.
    pub bytes: u64,
}

/// The options of a [`Symbolizer`].
#[derive(Debug)]
#[must_use]
pub struct Builder {
    pub(crate) finder: Finder,
    cache: Option<PathBuf>,
    /// True if [`Builder::build`] fails when the cache cannot be used.
    cache_must: bool,
    cache_bytes: u64,
    open_files: usize,
    open_bytes: u64,
    retry_after: Duration,
    threads: usize,
    candidates: bool,
    demangle: bool,
}

/// Why a [`Symbolizer`] could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A search path does not exist.
    Search(PathBuf, std::io::Error),
    /// The cache cannot be used.
    Cache(StoreError),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Search(path, error) => {
                write!(
                    f,
                    "{}: expected a .fsym file, a program, or a folder of them: {error}",
                    path.display()
                )
            }
            Self::Cache(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BuildError {}

impl Builder {
    /// Looks files up in a store. Several stores are searched in the order of the calls.
    pub fn store(mut self, store: Store) -> Self {
        self.finder.stores.push(store);
        self
    }

    /// Keeps converted programs in this folder, which is made if it is missing. Without a cache, a program is converted again
    /// whenever it is opened.
    pub fn cache(self, folder: impl Into<PathBuf>) -> Self {
        Self { cache: Some(folder.into()), cache_must: true, ..self }
    }

    /// The folder of the cache has at most this many bytes: what `FOLDSYM_CACHE_BYTES` says, else 10 GiB, unless this says otherwise. What
    /// was not used for longest is removed.
    pub fn cache_bytes(self, most: u64) -> Self {
        Self { cache_bytes: most, ..self }
    }

    /// As [`Builder::cache`] if the folder is usable; else nothing is kept. The folder is made when there is something to keep.
    pub fn cache_if_usable(self, folder: Option<PathBuf>) -> Self {
        Self { cache: folder, cache_must: false, ..self }
    }

    /// Looks files up at these paths, before the stores. A path is one file, or a folder: a module named `libfoo.so` has the file
    /// `libfoo.so.fsym` in it or below it (with the feature `convert` also the program `libfoo.so`, `libfoo.so.debug`, or any file of its
    /// build id). A folder is listed once, up to a million files, and again after a minute at the earliest.
    ///
    /// A file does not count if its build id is not that of the module. A module without an identity takes a file by its name.
    pub fn search<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.finder.search.extend(paths.into_iter().map(|path| Given::from(path.into())));
        self
    }

    /// Whether programs in the search paths, and programs that modules give by path, are converted. The default is true. Without the
    /// feature `convert` none is converted.
    pub fn convert_programs(mut self, wanted: bool) -> Self {
        self.finder.files_alone = !wanted;
        self
    }

    /// How many files stay open; the default is 256. A file that is in use stays mapped beyond that.
    pub fn open_files(self, count: NonZeroUsize) -> Self {
        Self { open_files: count.get(), ..self }
    }

    /// How many bytes the files have that stay open; the default is no bound. The file that was opened last stays open whatever its size.
    pub fn open_bytes(self, most: u64) -> Self {
        Self { open_bytes: most, ..self }
    }

    /// The time after which the file of a module is searched again, if no file was found or the file lacks a part of its program; the default
    /// is a minute. A file that lacks a part is used until a better one is found. A [`Worker`](crate::Worker) searches again between two stacks.
    pub fn retry_after(self, time: Duration) -> Self {
        Self { retry_after: time, ..self }
    }

    /// The number of threads for a batch. The default, 0, is one thread per core.
    pub fn threads(self, count: usize) -> Self {
        Self { threads: count, ..self }
    }

    /// Whether answers list all functions that may have run; the default is true. With false, they have the first one and the count.
    pub fn candidates(self, wanted: bool) -> Self {
        Self { candidates: wanted, ..self }
    }

    /// Whether names are demangled; the default is true. With false, [`Location::function`](crate::Location::function) is the linkage name.
    pub fn demangle(self, wanted: bool) -> Self {
        Self { demangle: wanted, ..self }
    }

    /// Whether the checksums of a file are checked when it is opened; the default is false. A damaged file is then passed over; if no other
    /// place has the module, it is [`Unknown::Damaged`]. Without the check, flipped bytes may give wrong answers. The check reads the whole file once, with 4 instructions
    /// for each byte: 26 million for a file of 7 MB, where `foldsym lookup` takes 4 million for its start and its first answer. An address
    /// leads through nearly all sections, so checking each of them at its first use would cost the same.
    pub fn check(mut self, wanted: bool) -> Self {
        self.finder.checks = wanted;
        self
    }

    /// Whether symbol files are read into memory in place of mapped; the default is false. If another process truncates a mapped file, a
    /// signal ends the process that reads it. A process that must go on, such as a server, reads files.
    pub fn read_files(mut self, wanted: bool) -> Self {
        self.finder.reads = wanted;
        self
    }

    /// Fetches modules that have a build id and are found nowhere else from these servers, and converts the programs that they send.
    #[cfg(feature = "debuginfod")]
    pub fn debuginfod(mut self, servers: crate::debuginfod::Debuginfod) -> Self {
        self.finder.debuginfod = Some(servers);
        self
    }

    /// Makes the engine. It opens no file of a module yet.
    ///
    /// # Errors
    /// A search path does not exist, or the cache cannot be used.
    pub fn build(self) -> Result<Symbolizer, BuildError> {
        let mut finder = self.finder;
        for given in &finder.search {
            if let Err(error) = given.path.metadata() {
                return Err(BuildError::Search(given.path.clone(), error));
            }
        }
        let cache = self.cache.map(|folder| {
            #[cfg(feature = "convert")]
            let options = finder.conversion.key();
            #[cfg(not(feature = "convert"))]
            let options = "";
            Cache::of(folder, options, self.cache_bytes)
        });
        if let Some(cache) = cache.as_ref().filter(|_| self.cache_must) {
            cache.open().map_err(BuildError::Cache)?;
        }
        let indexes = cache.as_ref().map(Cache::indexes);
        finder.search.iter_mut().for_each(|given| given.keep_in(indexes.clone()));
        finder.cache = cache;
        #[cfg(feature = "debuginfod")]
        finder.debuginfod.iter().for_each(|servers| finder.conversion.reads_cache(servers.cache()));
        let open_files = NonZeroUsize::new(self.open_files).unwrap_or(NonZeroUsize::MIN);
        Ok(Symbolizer {
            files: Arc::new(OpenFiles::new(finder, open_files, self.open_bytes, self.retry_after)),
            unfetched: None,
            left: None,
            threads: self.threads,
            candidates: self.candidates,
            demangle: self.demangle,
        })
    }
}

impl Symbolizer {
    /// Whether answers list all functions that may have run ([`Builder::candidates`]), which signatures need.
    pub fn lists_candidates(&self) -> bool {
        self.candidates
    }

    /// The default options.
    pub fn builder() -> Builder {
        Builder {
            finder: Finder::default(),
            cache: None,
            cache_must: true,
            cache_bytes: foldsym_store::default_cache_bytes(),
            open_files: 256,
            open_bytes: u64::MAX,
            retry_after: Duration::from_secs(60),
            threads: 0,
            candidates: true,
            demangle: true,
        }
    }

    /// Sets how a server uses files, before it makes a worker: they are read into memory ([`Builder::read_files`]), and those that stay open
    /// have at most so many bytes ([`Builder::open_bytes`]).
    /// No effect once there is another handle ([`Symbolizer::without_fetching`]).
    pub fn serves(&mut self, open_bytes: u64) {
        if let Some(files) = Arc::get_mut(&mut self.files) {
            files.finder.reads = true;
            files.most_bytes = files.most_bytes.min(open_bytes);
        }
    }

    /// Has another converter make the symbol files of programs, before there is a worker. No effect if programs are converted with other
    /// options than the default, without the feature `convert`, and once there is another handle.
    pub fn convert_by(&mut self, converter: Arc<dyn crate::Converter>) {
        #[cfg(feature = "convert")]
        if let Some(files) = Arc::get_mut(&mut self.files) {
            files.finder.conversion.convert_by(converter);
        }
        #[cfg(not(feature = "convert"))]
        drop(converter);
    }

    /// A handle to the same engine that waits for no network: where only a remote store or a server may have the file of a module, the
    /// answer says so, and [`Symbolizer::take_unfetched`] gives the module.
    pub fn without_fetching(&self) -> Self {
        Self {
            files: self.files.clone(),
            unfetched: Some(Mutex::default()),
            left: None,
            threads: self.threads,
            candidates: self.candidates,
            demangle: self.demangle,
        }
    }

    /// As [`Self::without_fetching`], of a handle for a thread that must not be kept waiting: it opens no file, and what takes long is left to
    /// other handles. [`Symbolizer::take_left`] says whether an answer lacks something for that.
    pub fn without_opening(&self) -> Self {
        Self { left: Some(AtomicBool::new(false)), ..self.without_fetching() }
    }

    /// Whether this handle left something to others since the last call.
    pub fn take_left(&self) -> bool {
        self.left.as_ref().is_some_and(|left| left.swap(false, Ordering::Relaxed))
    }

    /// Whether work that takes long, such as reading all names of a file, is to be left to others. Notes that it was.
    pub fn leaves_long_work(&self) -> bool {
        self.left.as_ref().inspect(|left| left.store(true, Ordering::Relaxed)).is_some()
    }

    /// The modules that this handle did not fetch since the last call, each once, at most 4,096.
    pub fn take_unfetched(&self) -> Vec<Unfetched> {
        let Some(unfetched) = &self.unfetched else { return Vec::new() };
        std::mem::take(&mut *unfetched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Searches all places for a module, and keeps the result for all handles. This may wait for a network.
    pub fn fetch(&self, module: &Unfetched) {
        self.files.open(&module.key, Reach::All);
    }

    /// The file of a module, which is opened and kept open.
    ///
    /// # Errors
    /// No place has the file, or it cannot be opened.
    pub fn file_of(&self, module: &Module) -> Result<Arc<SymbolMap>, Unknown> {
        self.open(module).0
    }

    /// The number of symbol files that were opened, and their bytes.
    pub fn opened(&self) -> OpenedFiles {
        OpenedFiles {
            files: self.files.files_opened.load(Ordering::Relaxed),
            bytes: self.files.bytes_opened.load(Ordering::Relaxed),
        }
    }

    /// As [`Self::file_of`]. If the file is missing or lacks something, also returns the time at which it may be searched again.
    pub(crate) fn open(&self, module: &Module) -> (Opened, Option<Instant>) {
        if let Some(file) = &module.file {
            return (Ok(file.0.clone()), None);
        }
        let key = Key::of(module);
        let reach = if self.unfetched.is_some() { Reach::Local } else { Reach::All };
        let found = match self.left {
            None => self.files.open(&key, reach),
            Some(_) => match self.files.known(&key) {
                Some(found) => found,
                None => {
                    self.leaves_long_work();
                    return (Err(Unknown::Failed("not open yet".into())), None);
                }
            },
        };
        let again = if found.is_lacking { found.when.checked_add(self.files.retry_after) } else { None };
        let is_unfetched = found.fetch == Fetch::Needed && self.unfetched.is_some();
        if found.fetch != Fetch::No {
            self.note_unfetched(Unfetched { key, is_again: found.fetch == Fetch::Again });
        }
        let opened = found.opened.map_err(|why| match (why, &module.note) {
            (Unknown::Absent(text), _) if is_unfetched => {
                Unknown::Failed(format!("{text}; not fetched yet, ask again").into())
            }
            (Unknown::Absent(text), Some(note)) => Unknown::Absent(format!("{text}; {note}").into()),
            (why, _) => why,
        });
        (opened, again)
    }

    fn note_unfetched(&self, module: Unfetched) {
        let Some(unfetched) = &self.unfetched else { return };
        let mut unfetched = unfetched.lock().unwrap_or_else(PoisonError::into_inner);
        if unfetched.len() < MAX_UNFETCHED && !unfetched.contains(&module) {
            unfetched.push(module);
        }
    }

    /// Checks a file that was opened, if [`Builder::check`] says so.
    #[cfg(feature = "convert")]
    pub(crate) fn check(&self, map: &SymbolMap) -> Result<(), StoreError> {
        if self.files.finder.checks { map.check() } else { Ok(()) }
    }
}

impl Symbolizer {
    /// The files that may be a module's program: files of its name and build id in the search paths, and the path that the module gives
    /// itself. The caller must check that a file is of the module's build.
    pub fn programs(&self, module: &Module) -> Vec<PathBuf> {
        let name = Some(module.file_name());
        let name = name.filter(|name| !matches!(*name, "" | "." | "..") && !name.contains('\0'));
        #[cfg(feature = "convert")]
        {
            let id = module.id.as_ref();
            let mut found = self.files.finder.programs(id, name, module.program.as_deref(), &mut None);
            // All files of a folder are looked at only if none is where it is expected.
            if let Some(id) = id.filter(|id| !found.iter().any(|path| is_known_as(path, id))) {
                found.extend(self.files.finder.search.iter().flat_map(|given| given.programs_of(id)));
            }
            found.retain(|path| path.is_file());
            found
        }
        #[cfg(not(feature = "convert"))]
        {
            let named = self.files.finder.search.iter().filter_map(|given| match given.path.is_dir() {
                true => Some(given.path.join(name?)),
                false => (!given.is_fsym()).then(|| given.path.clone()),
            });
            named.chain(module.program.as_deref().map(Path::to_owned)).filter(|path| path.is_file()).collect()
        }
    }

    /// Says of each search path of which nothing was used why, and where the search of a folder ended early. To be called after the last
    /// answer.
    pub fn search_messages(&self) -> Vec<String> {
        self.files.finder.outcomes.messages(&self.files.finder.search)
    }

    /// Says of each store that had no file for a module that needed one. To be called after the last answer.
    pub fn store_messages(&self) -> Vec<String> {
        self.files.finder.outcomes.of_stores(&self.files.finder.stores)
    }
}

impl fmt::Debug for Symbolizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbolizer").field("finder", &self.files.finder).finish_non_exhaustive()
    }
}
