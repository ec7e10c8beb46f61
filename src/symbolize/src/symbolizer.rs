//! The engine that all threads share: where files are looked for, and which are open.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use foldsym_store::{ModuleId, Store, StoreError, SymbolMap};
use lru::LruCache;

use crate::cache::Cache;
use crate::find::{Finder, is_fsym};
use crate::stack::Module;
use crate::unknown::Unknown;

/// Answers stacks. See the [crate's documentation](crate).
pub struct Symbolizer {
    pub(crate) finder: Finder,
    opened: Mutex<LruCache<Key, Arc<Slot>>>,
    /// [`Symbolizer::opened`]'s two numbers.
    files_opened: AtomicU64,
    bytes_opened: AtomicU64,
    retry_after: Duration,
    pub(crate) threads: usize,
    pub(crate) candidates: bool,
    pub(crate) demangle: bool,
}

/// What was opened since a [`Symbolizer`] was made. A file that was closed and opened again counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenedFiles {
    /// How many symbol files.
    pub files: u64,
    /// Their sizes together: of a store on another machine, what was fetched from it or its cache.
    pub bytes: u64,
}

type Key = (Option<ModuleId>, String, Option<Arc<Path>>);

/// The file of a module. The first thread that asks looks for it while the others wait; when it is looked for again, they go on with what is known.
#[derive(Default)]
struct Slot {
    found: Mutex<Option<Found>>,
    /// Held by the thread that looks.
    looking: Mutex<()>,
}

/// What was found when.
#[derive(Clone)]
struct Found {
    opened: Opened,
    when: Instant,
    /// Another place may have more later: there is no file, or one without a part of its debug information or code.
    is_lacking: bool,
    /// How often it was looked for.
    looked: u64,
}

/// An opened file, or why there is none.
pub(crate) type Opened = Result<Arc<SymbolMap>, Unknown>;

/// How a [`Symbolizer`] is made.
#[derive(Debug)]
#[must_use]
pub struct Builder {
    pub(crate) finder: Finder,
    cache: Option<PathBuf>,
    /// A cache that cannot be used is an error.
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

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Search(_, error) => Some(error),
            Self::Cache(error) => Some(error),
        }
    }
}

impl Builder {
    /// Looks files up in a store. Several stores are asked in order.
    pub fn store(mut self, store: Store) -> Self {
        self.finder.stores.push(store);
        self
    }

    /// Keeps what was converted in this folder, which is made if it is not there. Without one, a program is converted again
    /// whenever it is opened.
    pub fn cache(self, folder: impl Into<PathBuf>) -> Self {
        Self { cache: Some(folder.into()), cache_must: true, ..self }
    }

    /// The folder of the cache has at most so many bytes: what `FOLDSYM_CACHE_BYTES` says, else 10 GiB, unless this says otherwise. What
    /// was not used for longest is removed.
    pub fn cache_bytes(self, most: u64) -> Self {
        Self { cache_bytes: most, ..self }
    }

    /// As [`Builder::cache`], where the folder can be used; else nothing is kept. The folder is made when there is something to keep.
    pub fn cache_if_usable(self, folder: Option<PathBuf>) -> Self {
        Self { cache: folder, cache_must: false, ..self }
    }

    /// Looks files up at these paths, before the stores. A path is a folder, in which a module named `libfoo.so` has the file `libfoo.so.fsym`
    /// (with the feature `convert` also the program `libfoo.so`, or a debug file in `.build-id`), or one file.
    ///
    /// A file whose build id is not the module's does not count. A module without an identity takes a file by its name.
    pub fn search<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.finder.search.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Whether programs among the files of a search path are converted, as they are at first where the feature `convert` is on.
    pub fn convert_programs(mut self, wanted: bool) -> Self {
        self.finder.files_alone = !wanted;
        self
    }

    /// How many files stay open: 256, unless this says otherwise. A file that is in use stays mapped beyond that.
    pub fn open_files(self, count: NonZeroUsize) -> Self {
        Self { open_files: count.get(), ..self }
    }

    /// After which time a module is looked for again that has no file, or one that lacks a part of its program: a minute, unless this
    /// says otherwise. The file that lacks a part serves until a better one is there. A [`Worker`](crate::Worker) looks again between two stacks.
    pub fn retry_after(self, time: Duration) -> Self {
        Self { retry_after: time, ..self }
    }

    /// How many threads a batch takes; 0, as it is at first, for one a core.
    pub fn threads(self, count: usize) -> Self {
        Self { threads: count, ..self }
    }

    /// Whether answers list all functions that may have run, as they do at first. Without, they have the first and the count.
    pub fn candidates(self, wanted: bool) -> Self {
        Self { candidates: wanted, ..self }
    }

    /// Whether names are made readable, as they are at first. Without, [`Location::function`](crate::Location::function) is the linkage name.
    pub fn demangle(self, wanted: bool) -> Self {
        Self { demangle: wanted, ..self }
    }

    /// Asks these servers for modules with a build id that are found nowhere else, and converts what they send.
    #[cfg(feature = "debuginfod")]
    pub fn debuginfod(mut self, servers: crate::debuginfod::Debuginfod) -> Self {
        self.finder.debuginfod = Some(servers);
        self
    }

    /// Makes the engine. No file of a module is opened yet.
    ///
    /// # Errors
    /// A search path does not exist, or the cache cannot be used.
    pub fn build(self) -> Result<Symbolizer, BuildError> {
        let mut finder = self.finder;
        for path in &finder.search {
            if let Err(error) = path.metadata() {
                return Err(BuildError::Search(path.clone(), error));
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
        finder.cache = cache;
        #[cfg(feature = "debuginfod")]
        finder.debuginfod.iter().for_each(|servers| finder.conversion.reads_cache_of(servers));
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
    /// How to make one.
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

    /// The file of a module, opened and kept; or why there is none.
    ///
    /// # Errors
    /// No place has it, or it cannot be opened.
    pub fn file_of(&self, module: &Module) -> Result<Arc<SymbolMap>, Unknown> {
        self.open(module).0
    }

    /// How many symbol files were opened, and their bytes.
    pub fn opened(&self) -> OpenedFiles {
        OpenedFiles {
            files: self.files_opened.load(Ordering::Relaxed),
            bytes: self.bytes_opened.load(Ordering::Relaxed),
        }
    }

    /// As [`Self::file_of`], within the crate; and when a file that lacks something, or that is not there, may be asked for again.
    pub(crate) fn open(&self, module: &Module) -> (Opened, Option<Instant>) {
        if let Some(file) = &module.file {
            return (Ok(file.0.clone()), None);
        }
        let key = (module.id.clone(), module.file_name().to_owned(), module.program.clone());
        let slot = {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            opened.get_or_insert(key, Arc::<Slot>::default).clone()
        };
        let found = self.look(&slot, module);
        let again = if found.is_lacking { found.when.checked_add(self.retry_after) } else { None };
        (found.opened, again)
    }

    /// What a slot has, looked for if that is not known or too old.
    fn look(&self, slot: &Slot, module: &Module) -> Found {
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
        // Another thread may have looked in between.
        let looked = before.as_ref().map_or(0, |found| found.looked);
        if let Some(found) = known().filter(|found| found.looked > looked) {
            return found;
        }
        let new = self.finder.find(module.id.as_ref(), module.file_name(), module.program.as_deref());
        if let Ok((map, _)) = &new {
            self.files_opened.fetch_add(1, Ordering::Relaxed);
            self.bytes_opened.fetch_add(map.bytes().len() as u64, Ordering::Relaxed);
        }
        let old = before.and_then(|found| found.opened.ok());
        let (opened, is_lacking) = match (new, old) {
            // An error does not take away what there is, and the same file again is no other.
            (Err(_), Some(old)) => (Ok(old), true),
            (Ok((map, is_lacking)), Some(old)) if old.bytes() == map.bytes() => (Ok(old), is_lacking),
            (Ok((map, is_lacking)), _) => (Ok(Arc::new(map)), is_lacking),
            (Err(why), None) => (Err(why), true),
        };
        let found = Found { opened, when: Instant::now(), is_lacking, looked: looked + 1 };
        *slot.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        found
    }

    /// Whether what was not found, or not whole, is to be looked for again.
    fn is_stale(&self, found: &Found) -> bool {
        found.is_lacking && found.when.elapsed() >= self.retry_after
    }
}

impl Symbolizer {
    /// The files that may be a module's program: those of its name and build id in the search paths, and the program that the module names itself.
    /// Whoever opens one checks that it is of the module's build.
    pub fn programs(&self, module: &Module) -> Vec<PathBuf> {
        let name = module.file_name();
        let is_name = !matches!(name, "" | "." | "..") && !name.contains('\0');
        let mut found = Vec::new();
        for path in &self.finder.search {
            if !path.is_dir() {
                // A file that was named outright may have another name.
                found.extend((!is_fsym(path)).then(|| path.clone()));
                continue;
            }
            found.extend(is_name.then(|| path.join(name)));
            if let Some(ModuleId::Build(id)) = &module.id {
                let key = id.to_string();
                if let Some((first, rest)) = key.split_at_checked(2).filter(|(_, rest)| !rest.is_empty()) {
                    let folder = path.join(".build-id").join(first);
                    found.extend([folder.join(rest), folder.join(format!("{rest}.debug"))]);
                }
            }
        }
        found.extend(module.program.as_deref().map(Path::to_owned));
        found.retain(|path| path.is_file());
        found
    }
}

impl fmt::Debug for Symbolizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbolizer").field("finder", &self.finder).finish_non_exhaustive()
    }
}
