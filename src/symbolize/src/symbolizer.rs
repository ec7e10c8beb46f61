//! The engine that all threads share: the places where files are searched, and the open files.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use foldsym_store::{ModuleId, Store, StoreError, SymbolMap};
use lru::LruCache;

use crate::cache::Cache;
use crate::find::Finder;
use crate::search::Given;
#[cfg(feature = "convert")]
use crate::search::is_known_as;
use crate::stack::Module;
use crate::unknown::Unknown;

/// Answers stacks. See the [crate's documentation](crate).
pub struct Symbolizer {
    pub(crate) finder: Finder,
    opened: Mutex<LruCache<Key, Arc<Slot>>>,
    /// The two numbers of [`Symbolizer::opened`].
    files_opened: AtomicU64,
    bytes_opened: AtomicU64,
    retry_after: Duration,
    pub(crate) threads: usize,
    pub(crate) candidates: bool,
    pub(crate) demangle: bool,
}

/// The files that a [`Symbolizer`] has opened so far. A file that was closed and opened again counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenedFiles {
    /// The number of symbol files.
    pub files: u64,
    /// The sum of their sizes. For a remote store these are the bytes fetched from it or from its cache.
    pub bytes: u64,
}

type Key = (Option<ModuleId>, String, Option<Arc<Path>>);

/// The file of a module. The first thread that needs it searches, and the others wait. During a later search the others go on with the
/// result that is known.
#[derive(Default)]
struct Slot {
    found: Mutex<Option<Found>>,
    /// Held by the thread that searches.
    looking: Mutex<()>,
}

/// The result of a search, and its time.
#[derive(Clone)]
struct Found {
    opened: Opened,
    when: Instant,
    /// Another source may have more later: no file was found, or one that lacks a part of its debug information or code.
    is_lacking: bool,
    /// The number of searches so far.
    looked: u64,
}

/// An opened file, or why there is none.
pub(crate) type Opened = Result<Arc<SymbolMap>, Unknown>;

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
            finder,
            opened: Mutex::new(LruCache::new(open_files)),
            files_opened: AtomicU64::new(0),
            bytes_opened: AtomicU64::new(0),
            retry_after: self.retry_after,
            threads: self.threads,
            candidates: self.candidates,
            demangle: self.demangle,
        })
    }
}

impl Symbolizer {
    /// The default options.
    pub fn builder() -> Builder {
        Builder {
            finder: Finder::default(),
            cache: None,
            cache_must: true,
            cache_bytes: foldsym_store::default_cache_bytes(),
            open_files: 256,
            retry_after: Duration::from_secs(60),
            threads: 0,
            candidates: true,
            demangle: true,
        }
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
            files: self.files_opened.load(Ordering::Relaxed),
            bytes: self.bytes_opened.load(Ordering::Relaxed),
        }
    }

    /// As [`Self::file_of`]. If the file is missing or lacks something, also returns the time at which it may be searched again.
    pub(crate) fn open(&self, module: &Module) -> (Opened, Option<Instant>) {
        if let Some(file) = &module.file {
            return (Ok(file.0.clone()), None);
        }
        // The key has everything that a search depends on. It does not have the mapping, so several processes share a file.
        let key = (module.id.clone(), module.file_name().to_owned(), module.program.clone());
        // This lock is held only to find the slot. A search may convert a program, and holds only a lock of its slot.
        let slot = {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            opened.get_or_insert(key, Arc::<Slot>::default).clone()
        };
        let found = self.look(&slot, module);
        let again = if found.is_lacking { found.when.checked_add(self.retry_after) } else { None };
        let opened = found.opened.map_err(|why| match (why, &module.note) {
            (Unknown::Absent(text), Some(note)) => Unknown::Absent(format!("{text}; {note}").into()),
            (why, _) => why,
        });
        (opened, again)
    }

    /// The result in a slot. Searches if there is none, or if it is stale.
    fn look(&self, slot: &Slot, module: &Module) -> Found {
        // A copy, so that this lock is not held during a search.
        let known = || slot.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let before = known();
        let _looking = match &before {
            Some(found) if !self.is_stale(found) => return found.clone(),
            Some(found) => match slot.looking.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return found.clone(),
            },
            None => slot.looking.lock().unwrap_or_else(PoisonError::into_inner),
        };
        // Another thread may have searched in between.
        let looked = before.as_ref().map_or(0, |found| found.looked);
        if let Some(found) = known().filter(|found| found.looked > looked) {
            return found;
        }
        let new = self.finder.find(module.id.as_ref(), module.file_name(), module.program.as_deref());
        if let Ok((map, _)) = &new {
            // These are only counters. No other memory depends on them, so no ordering is needed.
            self.files_opened.fetch_add(1, Ordering::Relaxed);
            self.bytes_opened.fetch_add(map.bytes().len() as u64, Ordering::Relaxed);
        }
        let old = before.and_then(|found| found.opened.ok());
        let (opened, is_lacking) = match (new, old) {
            // After an error the old file stays. It also stays if the search found the same file again.
            (Err(_), Some(old)) => (Ok(old), true),
            (Ok((map, is_lacking)), Some(old)) if old.bytes() == map.bytes() => (Ok(old), is_lacking),
            (Ok((map, is_lacking)), _) => (Ok(Arc::new(map)), is_lacking),
            (Err(why), None) => (Err(why), true),
        };
        let found = Found { opened, when: Instant::now(), is_lacking, looked: looked + 1 };
        *slot.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        found
    }

    /// Checks a file that was opened, if [`Builder::check`] says so.
    pub(crate) fn check(&self, map: &SymbolMap) -> Result<(), StoreError> {
        if self.finder.checks { map.check() } else { Ok(()) }
    }

    /// True if a file that is missing or incomplete is due for another search.
    fn is_stale(&self, found: &Found) -> bool {
        found.is_lacking && found.when.elapsed() >= self.retry_after
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
            let mut found = self.finder.programs(id, name, module.program.as_deref(), &mut Vec::new());
            // All files of a folder are looked at only if none is where it is expected.
            if let Some(id) = id.filter(|id| !found.iter().any(|path| is_known_as(path, id))) {
                found.extend(self.finder.search.iter().flat_map(|given| given.programs_of(id)));
            }
            found.retain(|path| path.is_file());
            found
        }
        #[cfg(not(feature = "convert"))]
        {
            let named = self.finder.search.iter().filter_map(|given| match given.path.is_dir() {
                true => Some(given.path.join(name?)),
                false => (!given.is_fsym()).then(|| given.path.clone()),
            });
            named.chain(module.program.as_deref().map(Path::to_owned)).filter(|path| path.is_file()).collect()
        }
    }

    /// Says of each search path of which nothing was used why, and where the search of a folder ended early. To be called after the last
    /// answer.
    pub fn search_messages(&self) -> Vec<String> {
        self.finder.outcomes.messages(&self.finder.search)
    }

    /// Says of each store that had no file for a module that needed one. To be called after the last answer.
    pub fn store_messages(&self) -> Vec<String> {
        self.finder.outcomes.of_stores(&self.finder.stores)
    }
}

impl fmt::Debug for Symbolizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbolizer").field("finder", &self.finder).finish_non_exhaustive()
    }
}
