//! The engine that all threads share: where files are looked for, and which are open.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use foldsym_store::{LocalStore, ModuleId, Store, StoreError, SymbolMap};
use lru::LruCache;

use crate::find::{Finder, is_fsym};
use crate::frame::{Frame, Unknown};
use crate::stack::{Module, Stack};
use crate::worker::Worker;

/// Stacks that a thread takes at a time from a batch.
const PART: usize = 64;

/// Answers stacks. See the [crate's documentation](crate).
pub struct Symbolizer {
    pub(crate) finder: Finder,
    opened: Mutex<LruCache<Key, Arc<Slot>>>,
    retry_after: Duration,
    threads: usize,
    pub(crate) candidates: bool,
    pub(crate) demangle: bool,
}

type Key = (Option<ModuleId>, String, Option<Arc<Path>>);

/// The file of a module: looked for by the first thread that asks, while the others wait.
#[derive(Default)]
struct Slot {
    found: OnceLock<(Opened, Instant)>,
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

    /// As [`Builder::cache`], where the folder can be used; else nothing is kept.
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

    /// After which time a module without a file is looked for again: a minute, unless this says otherwise.
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
        finder.cache = self
            .cache
            .map(|folder| {
                #[cfg(feature = "convert")]
                let folder = finder.conversion.cache(&folder);
                LocalStore::create_private(&folder)
            })
            .transpose()
            .or_else(|error| if self.cache_must { Err(BuildError::Cache(error)) } else { Ok(None) })?;
        #[cfg(feature = "debuginfod")]
        finder.debuginfod.iter().for_each(|servers| finder.conversion.reads_cache_of(servers));
        let open_files = NonZeroUsize::new(self.open_files).unwrap_or(NonZeroUsize::MIN);
        Ok(Symbolizer {
            finder,
            opened: Mutex::new(LruCache::new(open_files)),
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
            open_files: 256,
            retry_after: Duration::from_secs(60),
            threads: 0,
            candidates: true,
            demangle: true,
        }
    }

    /// Answers one stack: a frame for each of its frames, in order. Files are found and opened as they are needed.
    ///
    /// Who answers many stacks makes a [`Worker`] for each thread, or calls [`Symbolizer::symbolize_batch`]: both keep names.
    pub fn symbolize(&self, stack: &Stack) -> Vec<Frame> {
        let mut frames = Vec::new();
        self.worker().symbolize(stack, &mut frames);
        frames
    }

    /// Answers many stacks, in order, with [`Builder::threads`] threads. The answers do not depend on the threads.
    pub fn symbolize_batch(&self, stacks: &[Stack]) -> Vec<Vec<Frame>> {
        let mut answers = vec![Vec::new(); stacks.len()];
        let available = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = if self.threads == 0 { available() } else { self.threads };
        let threads = threads.min(stacks.len().div_ceil(PART));
        let parts = Mutex::new(stacks.chunks(PART).zip(answers.chunks_mut(PART)));
        let work = || {
            let mut worker = self.worker();
            loop {
                let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((stacks, answers)) = part else { break };
                for (stack, frames) in stacks.iter().zip(answers) {
                    worker.symbolize(stack, frames);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        answers
    }

    /// What one thread needs to answer many stacks: it keeps the names of files that it has seen.
    pub fn worker(&self) -> Worker<'_> {
        Worker::new(self)
    }

    /// The file of a module, opened and kept; or why there is none.
    ///
    /// # Errors
    /// No place has it, or it cannot be opened.
    pub fn file_of(&self, module: &Module) -> Result<Arc<SymbolMap>, Unknown> {
        self.open(module)
    }

    /// As [`Self::file_of`], within the crate.
    pub(crate) fn open(&self, module: &Module) -> Opened {
        if let Some(file) = &module.file {
            return Ok(file.0.clone());
        }
        let key = (module.id.clone(), module.file_name().to_owned(), module.program.clone());
        let slot = {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            match opened.get(&key) {
                Some(slot) if !self.is_stale(slot) => slot.clone(),
                _ => {
                    let slot = Arc::<Slot>::default();
                    opened.put(key, slot.clone());
                    slot
                }
            }
        };
        let find = || {
            let found = self.finder.find(module.id.as_ref(), module.file_name(), module.program.as_deref());
            (found.map(Arc::new), Instant::now())
        };
        slot.found.get_or_init(find).0.clone()
    }

    /// Whether a failure is old enough to try again.
    fn is_stale(&self, slot: &Slot) -> bool {
        matches!(slot.found.get(), Some((Err(_), when)) if when.elapsed() >= self.retry_after)
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
