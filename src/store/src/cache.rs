//! A remote store with a local cache: a file that was fetched once is read from a folder from then on.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foldsym_format::header::VERSION;

use crate::error::StoreError;
use crate::id::{BuildId, DebugId, ModuleId};
use crate::local::{EntryInfo, GcOptions, LocalStore, Published};
use crate::remote::Remote;
use crate::symbol_map::SymbolMap;

/// The options of a remote store and its cache.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoreOptions {
    /// The folder of the cache; `None` for [`default_cache`].
    pub cache: Option<PathBuf>,
    /// The most bytes of the files in the cache. If there are more, the least recently used files are removed.
    pub cache_bytes: u64,
    /// How long a build id that the remote store did not have is not requested again.
    pub missing_for: Duration,
    /// How long a remote store may be silent during a download before that is an error. For S3, Google and Azure, failed requests are
    /// repeated several times meanwhile.
    pub patience: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            cache: None,
            cache_bytes: 10 << 30,
            missing_for: Duration::from_secs(3600),
            patience: Duration::from_secs(60),
        }
    }
}

/// The folder of the cache: `$FOLDSYM_CACHE`, else `$XDG_CACHE_HOME/foldsym`, else `$HOME/.cache/foldsym`. `None` if none of the three
/// variables is set.
pub fn default_cache() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("FOLDSYM_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("foldsym")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache/foldsym")))
}

/// The folder in which debuginfod's clients keep the files that they fetched: `$DEBUGINFOD_CACHE_PATH`, else `debuginfod_client` in
/// `$XDG_CACHE_HOME` or `$HOME/.cache`. `None` if none of the variables is set.
pub fn debuginfod_cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below = |folder: PathBuf| folder.join("debuginfod_client");
    set("DEBUGINFOD_CACHE_PATH")
        .or_else(|| set("XDG_CACHE_HOME").map(below))
        .or_else(|| set("HOME").map(|home| below(home.join(".cache"))))
}

/// A remote store with a local cache. If several processes need a file, one fetches it, and the others wait and then read it.
#[derive(Clone)]
pub struct CachedStore {
    inner: Arc<Inner>,
}

struct Inner {
    remote: Box<dyn Remote>,
    cache: LocalStore,
    options: StoreOptions,
    /// Bytes that were fetched since the last garbage collection of the cache.
    fetched: AtomicU64,
}

impl CachedStore {
    /// Puts a cache in front of a remote store.
    ///
    /// # Errors
    /// The cache's folder is not known, cannot be made, or other users may write to it.
    pub fn new(remote: Box<dyn Remote>, options: StoreOptions) -> Result<Self, StoreError> {
        let folder = options.cache.clone().or_else(default_cache).ok_or_else(|| StoreError::Remote {
            location: remote.location().to_owned(),
            problem: "needs a folder for its cache: set FOLDSYM_CACHE".to_owned(),
        })?;
        let cache = LocalStore::create_private(&folder)?;
        // The first fetch then collects garbage, so that the cache shrinks if its limit became smaller.
        let fetched = AtomicU64::new(options.cache_bytes);
        Ok(Self { inner: Arc::new(Inner { remote, cache, options, fetched }) })
    }

    /// The local folder.
    pub fn cache(&self) -> &LocalStore {
        &self.inner.cache
    }

    /// Opens the file of a build id in the cache, and fetches it first if necessary. `Ok(None)` if the remote store has none, or had none
    /// at a request within [`StoreOptions::missing_for`].
    ///
    /// If opening a cached file finds damage, the file is fetched again.
    ///
    /// # Errors
    /// The remote store cannot be reached, it sent a damaged file or one of another program, or the cache cannot be written.
    pub fn get(&self, id: &BuildId) -> Result<Option<SymbolMap>, StoreError> {
        let Inner { cache, options, .. } = &*self.inner;
        match cache.get(id) {
            Ok(Some(map)) => return Ok(Some(map)),
            Ok(None) if cache.is_missing(id, options.missing_for) => return Ok(None),
            Err(error) if !error.is_damage() => return Err(error),
            _ => {}
        }
        let lock = cache.lock(id)?;
        // Another process may have fetched it, or noted that it is missing, while this one waited.
        match cache.get(id) {
            Ok(Some(map)) => return Ok(Some(map)),
            Ok(None) if cache.is_missing(id, options.missing_for) => return Ok(None),
            _ => {}
        }
        if !self.fetch(id, &lock)? {
            cache.note_missing(id)?;
            return Ok(None);
        }
        drop(lock);
        let map = cache.get(id)?;
        self.hold_bound(map.as_ref().map_or(0, |map| map.bytes().len() as u64))?;
        Ok(map)
    }

    /// Opens the file of a module.
    ///
    /// # Errors
    /// As [`CachedStore::get`].
    pub fn get_module(&self, id: &ModuleId) -> Result<Option<SymbolMap>, StoreError> {
        let debug_id = match id {
            ModuleId::Build(id) => return self.get(id),
            ModuleId::Debug(debug_id) => debug_id,
        };
        if let Some(map) = self.inner.cache.get_by_debug_id(debug_id)? {
            return Ok(Some(map));
        }
        let mut line = Vec::new();
        let key = debug_key(debug_id);
        if !self.remote(self.inner.remote.get(&key, &mut Bounded::of(&mut line, MAX_SMALL)))? {
            return Ok(None);
        }
        let location = format!("{}/{key}", self.inner.remote.location());
        let found = BuildId::parse(String::from_utf8_lossy(&line).trim_end());
        let found = found.map_err(|error| StoreError::damaged(Path::new(&location), error))?;
        let Some(map) = self.get(&found)? else { return Ok(None) };
        let actual = DebugId::of_file(&found, map.file());
        if actual != *debug_id {
            let (expected, found) = (debug_id.to_string(), actual.to_string());
            return Err(StoreError::WrongId { path: location.into(), expected, found });
        }
        Ok(Some(map))
    }

    /// Publishes the `.fsym` that `make` writes, in the cache and in the remote store. An object that the remote store already has stays,
    /// and is not compared.
    ///
    /// The index entry of the debug id is written first and the file last, as in a folder.
    ///
    /// # Errors
    /// The errors of `make`; the file is damaged or has no build id; or the cache or the remote store cannot be written.
    pub fn publish<E: From<StoreError>>(
        &self,
        info: &EntryInfo,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Published, E> {
        let Inner { cache, remote, .. } = &*self.inner;
        let published = cache.publish(info, make)?;
        let id = published.id();
        let map = cache.get(id).map_err(E::from)?;
        let map = map.ok_or_else(|| {
            StoreError::io(&cache.file_path(id), "open", std::io::ErrorKind::NotFound.into())
        })?;
        let put = |key: &str, bytes: &[u8]| self.remote(remote.create(key, bytes));
        put(&debug_key(&DebugId::of_file(id, map.file())), format!("{id}\n").as_bytes())?;
        if let Some(report) = cache.report(id).map_err(E::from)? {
            put(&entry_key(id, "json"), report.as_bytes())?;
        }
        let is_new = put(&entry_key(id, "fsym"), map.bytes())?;
        Ok(if is_new { Published::New(id.clone()) } else { Published::Existing(id.clone()) })
    }

    /// The address of a file.
    fn location(&self, id: &BuildId) -> String {
        format!("{}/{}", self.inner.remote.location(), entry_key(id, "fsym"))
    }

    /// Fetches a file into the cache; false if the remote store has none. For a file without a build id, its report has the identity
    /// under which it was published.
    fn fetch(&self, id: &BuildId, lock: &crate::local::EntryLock<'_>) -> Result<bool, StoreError> {
        let remote = &self.inner.remote;
        let mut is_there = true;
        let mut info = EntryInfo { replace: true, ..EntryInfo::default() };
        let mut report = Vec::new();
        if self.remote(remote.get(&entry_key(id, "json"), &mut Bounded::of(&mut report, MAX_SMALL)))? {
            let report = serde_json::from_slice::<serde_json::Value>(&report).unwrap_or_default();
            if report["derived_id"] == true && report["build_id"] == id.to_string() {
                info.derived_id = Some(id.clone());
            }
            info.name = report["name"].as_str().map(str::to_owned);
            info.converter = report["converter"].as_str().map(str::to_owned);
        }
        let fetched = lock.publish(&info, |path| {
            let out = File::options().write(true).truncate(true).open(path);
            let mut out = out.map_err(|error| StoreError::io(path, "write", error))?;
            let mut out = Bounded::of(&mut out, self.inner.options.cache_bytes);
            is_there = self.remote(remote.get(&entry_key(id, "fsym"), &mut out))?;
            if is_there { Ok(()) } else { Err(self.absent(id)) }
        });
        match fetched {
            Err(_) if !is_there => Ok(false),
            // The fetched file is removed already, so the error names its address.
            Err(StoreError::Damaged { problem, .. }) => {
                Err(StoreError::damaged(Path::new(&self.location(id)), problem))
            }
            Err(StoreError::WrongId { expected, found, .. }) => {
                Err(StoreError::WrongId { path: self.location(id).into(), expected, found })
            }
            other => other.map(|_| true),
        }
    }

    /// The error that stops the publication of a missing object. It is never shown.
    fn absent(&self, id: &BuildId) -> StoreError {
        StoreError::Remote { location: self.inner.remote.location().to_owned(), problem: format!("no {id}") }
    }

    /// Collects garbage in the cache once an eighth of its limit was fetched.
    fn hold_bound(&self, bytes: u64) -> Result<(), StoreError> {
        let Inner { cache, options, fetched, .. } = &*self.inner;
        if fetched.fetch_add(bytes, Ordering::Relaxed) + bytes > options.cache_bytes / 8 {
            fetched.store(0, Ordering::Relaxed);
            cache.gc(&GcOptions { max_bytes: Some(options.cache_bytes), ..GcOptions::default() })?;
        }
        Ok(())
    }

    fn remote<T>(&self, result: Result<T, crate::remote::RemoteError>) -> Result<T, StoreError> {
        result.map_err(|error| StoreError::Remote { location: error.location, problem: error.problem })
    }
}

impl fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedStore")
            .field("remote", &self.inner.remote.location())
            .field("cache", &self.inner.cache)
            .finish()
    }
}

/// A store: a folder, or a remote store with a local cache.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Store {
    /// A folder.
    Local(LocalStore),
    /// A remote store with a cache.
    Cached(CachedStore),
}

impl Store {
    /// Opens a store that exists: a path, or with the feature `remote` an address that begins with `s3://`, `gs://`, `az://`, `http://`
    /// or `https://`.
    ///
    /// # Errors
    /// As [`LocalStore::open`] and [`CachedStore::new`]; or this build does not support the address.
    pub fn open(location: &str, options: StoreOptions) -> Result<Self, StoreError> {
        match remote(location, &options)? {
            Some(remote) => CachedStore::new(remote, options).map(Self::Cached),
            None => LocalStore::open(location.as_ref()).map(Self::Local),
        }
    }

    /// As [`Store::open`], and makes a folder that does not exist.
    ///
    /// # Errors
    /// As [`LocalStore::create`] and [`CachedStore::new`].
    pub fn create(location: &str, options: StoreOptions) -> Result<Self, StoreError> {
        match remote(location, &options)? {
            Some(remote) => CachedStore::new(remote, options).map(Self::Cached),
            None => LocalStore::create(location.as_ref()).map(Self::Local),
        }
    }

    /// Opens the file of a module. `Ok(None)` if the store has none.
    ///
    /// # Errors
    /// As [`LocalStore::get_module`] and [`CachedStore::get_module`].
    pub fn get_module(&self, id: &ModuleId) -> Result<Option<SymbolMap>, StoreError> {
        match self {
            Self::Local(store) => store.get_module(id),
            Self::Cached(store) => store.get_module(id),
        }
    }

    /// Publishes the file that `make` writes.
    ///
    /// # Errors
    /// As [`LocalStore::publish`] and [`CachedStore::publish`].
    pub fn publish<E: From<StoreError>>(
        &self,
        info: &EntryInfo,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Published, E> {
        match self {
            Self::Local(store) => store.publish(info, make),
            Self::Cached(store) => store.publish(info, make),
        }
    }
}

/// The most bytes of an index entry or a report.
const MAX_SMALL: u64 = 16 << 20;

/// A writer that takes a limited number of bytes, since a server may send without end.
struct Bounded<'w> {
    to: &'w mut dyn Write,
    left: u64,
    most: u64,
}

impl<'w> Bounded<'w> {
    fn of(to: &'w mut dyn Write, most: u64) -> Self {
        Self { to, left: most, most }
    }
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            return Err(std::io::Error::other(format!("more than {} bytes", self.most)));
        };
        self.to.write_all(bytes)?;
        self.left = left;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

/// The remote store at an address; `Ok(None)` for a path.
fn remote(location: &str, options: &StoreOptions) -> Result<Option<Box<dyn Remote>>, StoreError> {
    let Some((scheme, _)) = location.split_once("://") else { return Ok(None) };
    let failed =
        |problem: &str| StoreError::Remote { location: location.to_owned(), problem: problem.to_owned() };
    if !matches!(scheme, "s3" | "gs" | "az" | "http" | "https") {
        return Err(failed(
            "expected a folder, or an address that begins with s3://, gs://, az:// or https://",
        ));
    }
    #[cfg(feature = "remote")]
    return match crate::objects::Objects::open(location, options.patience) {
        Ok(objects) => Ok(Some(Box::new(objects))),
        Err(error) => Err(failed(&error.problem)),
    };
    #[cfg(not(feature = "remote"))]
    let _ = options;
    #[cfg(not(feature = "remote"))]
    Err(failed("this build reads folders alone: build foldsym with the feature `remote`"))
}

/// The key of the file or the report of a build id in a remote store.
fn entry_key(id: &BuildId, ending: &str) -> String {
    let key = id.to_string();
    format!("{}/{}/v{VERSION}.{ending}", &key[..2], &key[2..])
}

/// The key of an index entry.
fn debug_key(debug_id: &DebugId) -> String {
    let key = debug_id.key();
    format!("debugid/{}/{}", &key[..2], &key[2..])
}
