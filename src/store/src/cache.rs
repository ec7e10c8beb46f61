//! A remote store with a local cache: a file that was fetched once is read from a folder from then on.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use foldsym_format::header::VERSION;
use serde_json::Value;

use crate::completeness::Completeness;
use crate::error::StoreError;
use crate::id::{BuildId, DebugId, ModuleId};
use crate::local::{EntryInfo, EntryLock, LocalStore, Made, Published, builds_in, is_of};
use crate::options::{StoreOptions, default_cache};
use crate::release::{Release, adding};
use crate::remote::{Object, Remote};
use crate::shown::without_secrets;
use crate::symbol_map::SymbolMap;

/// How many small objects are requested at a time.
const REQUESTS: usize = 16;

/// A remote store with a local cache. One of many processes fetches a file; the others wait for it and then read it.
#[derive(Clone)]
pub struct CachedStore {
    inner: Arc<Inner>,
}

struct Inner {
    remote: Box<dyn Remote>,
    /// The address of the remote store, without secrets.
    location: String,
    /// The folder of the cache, which other stores share.
    root: LocalStore,
    /// The folder in it that has what this remote store has.
    cache: LocalStore,
    options: StoreOptions,
}

impl CachedStore {
    /// Puts a cache in front of a remote store.
    ///
    /// # Errors
    /// The cache's folder is not known, cannot be made, or other users may write to it.
    pub fn new(remote: Box<dyn Remote>, options: StoreOptions) -> Result<Self, StoreError> {
        let location = without_secrets(remote.location());
        let folder = options.cache.clone().or_else(default_cache).ok_or_else(|| StoreError::Remote {
            location: location.clone(),
            problem: "needs a folder for its cache: set FOLDSYM_CACHE".to_owned(),
        })?;
        let root = LocalStore::create_private(&folder)?;
        let key = format!("{:016x}", fnv(remote.identity().as_bytes()));
        let cache = root.of_remote(&key, &location)?;
        Ok(Self { inner: Arc::new(Inner { remote, location, root, cache, options }) })
    }

    /// The local folder: one of this remote store's own, in the folder of the cache.
    pub fn cache(&self) -> &LocalStore {
        &self.inner.cache
    }

    /// The address of the remote store, without `USER:PASSWORD@`, a query and a fragment.
    pub fn location(&self) -> &str {
        &self.inner.location
    }

    /// Opens the file of a build id from the cache, or fetches it into the cache first. `Ok(None)` if the remote store has no such file, or
    /// had none at the last request within [`StoreOptions::missing_for`].
    ///
    /// If opening a cached file finds damage, the file is fetched again.
    ///
    /// # Errors
    /// The remote store cannot be reached, it sent a damaged file or one of another program, or the cache cannot be written.
    pub fn get(&self, id: &BuildId) -> Result<Option<SymbolMap>, StoreError> {
        if let Some(known) = self.known(id)? {
            return Ok(known);
        }
        let lock = self.inner.cache.lock(id)?;
        // While this process waited for the lock, another one may have fetched the file, or found that it does not exist.
        if let Some(known) = self.known(id)? {
            return Ok(known);
        }
        let found = self.fetch(&lock)?;
        // The lock is released first: others wait for this entry, and a collection may take long.
        drop(lock);
        self.hold_bound(found.as_ref());
        Ok(found)
    }

    /// Opens the file of a module after its copy in the cache turned out to be damaged, which only [`SymbolMap::check`] finds: a damaged
    /// copy is removed, and the file is fetched again. `Ok(None)` if the remote store has none.
    ///
    /// # Errors
    /// As [`CachedStore::get`].
    pub fn fetch_again(&self, id: &ModuleId) -> Result<Option<SymbolMap>, StoreError> {
        let id = match id {
            ModuleId::Build(id) => Some(id.clone()),
            // The copy is in the cache, and so is its debug id.
            ModuleId::Debug(id) => self.inner.cache.build_id_of(id).ok().flatten(),
        };
        let Some(id) = id else { return Ok(None) };
        // Another process may have fetched it since.
        self.inner.cache.remove_damaged(&id)?;
        self.get(&id)
    }

    /// Looks a build id up in the cache: its file, or that the remote store has none. `Ok(None)` if the remote store has to be searched.
    fn known(&self, id: &BuildId) -> Result<Option<Option<SymbolMap>>, StoreError> {
        let Inner { cache, options, .. } = &*self.inner;
        match cache.get(id) {
            Ok(Some(map)) => Ok(Some(Some(map))),
            Ok(None) => Ok(cache.is_missing(id, options.missing_for).then_some(None)),
            // A damaged copy counts as absent, so the file is fetched again.
            Err(error) if error.is_damage() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file that the remote store has now, whatever the cache says: a copy in the cache counts if it has as many bytes. The caller
    /// holds the lock of the build id.
    pub(crate) fn current(&self, lock: &EntryLock<'_>) -> Result<Option<SymbolMap>, StoreError> {
        let Inner { remote, cache, .. } = &*self.inner;
        let Some(size) = self.remote(remote.size(&entry_key(lock.id(), "fsym")))? else { return Ok(None) };
        match cache.get(lock.id()) {
            // A damaged copy would make a worse file look better than the one that is there.
            Ok(Some(map)) if map.bytes().len() as u64 == size && map.file().verify().is_ok() => {
                return Ok(Some(map));
            }
            Err(error) if !error.is_damage() => return Err(error),
            _ => {}
        }
        let found = self.fetch(lock)?;
        self.hold_bound(found.as_ref());
        Ok(found)
    }

    /// Opens the file of a module, as [`LocalStore::get_module`].
    ///
    /// # Errors
    /// As [`CachedStore::get`].
    pub fn get_module(&self, id: &ModuleId) -> Result<Option<SymbolMap>, StoreError> {
        let found = match id {
            ModuleId::Build(id) => self.get(id)?,
            ModuleId::Debug(id) => return self.get_by_debug_id(id),
        };
        match (found, id.of_code()) {
            (None, Some(debug_id)) => {
                let found = self.get_by_debug_id(&debug_id)?;
                Ok(found.filter(|map| map.file().build_id().is_empty()))
            }
            (found, _) => Ok(found),
        }
    }

    /// Opens the file to which the index leads from a debug id.
    fn get_by_debug_id(&self, debug_id: &DebugId) -> Result<Option<SymbolMap>, StoreError> {
        let Inner { cache, options, .. } = &*self.inner;
        match cache.get_by_debug_id(debug_id) {
            // Of a program without a build id the remote store may have several of this debug id. Where it does not answer, what was
            // fetched before does.
            Ok(Some(map)) if map.file().build_id().is_empty() => match self.search(debug_id) {
                Err(StoreError::Remote { .. }) => Ok(Some(map)),
                found => found,
            },
            Ok(Some(map)) => Ok(Some(map)),
            Ok(None) if cache.is_missing_debug_id(debug_id, options.missing_for) => Ok(None),
            Err(error) if !error.is_damage() => Err(error),
            _ => self.search(debug_id),
        }
    }

    /// Opens the file to which the remote store's index entry of a debug id leads, and has the cache's index entry lead there too.
    fn search(&self, debug_id: &DebugId) -> Result<Option<SymbolMap>, StoreError> {
        let cache = &self.inner.cache;
        let mut line = Vec::new();
        let key = debug_key(debug_id);
        if !self.remote(self.inner.remote.get(&key, &mut Bounded::of(&mut line, MAX_SMALL)))? {
            // No note if there is an index entry and no file: the build id has a note of its own, which may be older.
            cache.note_missing_debug_id(debug_id)?;
            self.hold_bound(None);
            return Ok(None);
        }
        let location = format!("{}/{key}", self.location());
        let ids = builds_in(&String::from_utf8_lossy(&line));
        let ids = ids.map_err(|error| StoreError::damaged(Path::new(&location), error))?;
        let mut found = Vec::new();
        let mut wrong = None;
        for id in ids.into_iter().take(MOST_PROGRAMS) {
            let Some(map) = self.get(&id)? else { continue };
            // The remote store's index is not trusted: the file says which debug id it has.
            let actual = cache.debug_id_in(&id, &map);
            if actual != *debug_id {
                wrong = Some(actual);
                continue;
            }
            // The file may have been there with an index entry that was damaged, is missing, or leads to another program.
            if !cache.builds_of(debug_id).is_ok_and(|ids| ids.contains(&id)) {
                let _lock = cache.lock(&id)?;
                let info = EntryInfo { debug_id: Some(actual), ..EntryInfo::default() };
                cache.write_index(&id, &map, &info)?;
            }
            found.push((id, map));
        }
        if found.len() > 1 {
            let ids: Vec<BuildId> = found.into_iter().map(|(id, _)| id).collect();
            return Err(cache.several(debug_id, &ids));
        }
        match (found.pop(), wrong) {
            (Some((_, map)), _) => Ok(Some(map)),
            (None, None) => Ok(None),
            (None, Some(actual)) => {
                let (expected, found) = (debug_id.to_string(), actual.to_string());
                Err(StoreError::WrongId { path: location.into(), expected, found })
            }
        }
    }

    /// Has the remote store's index entry of a debug id lead to a build id too. Without a lock on the remote store a writer that does the
    /// same at this moment may be lost; the next publication of its program repairs that.
    fn put_index(&self, debug_id: &DebugId, id: &BuildId) -> Result<(), StoreError> {
        let (remote, key) = (&self.inner.remote, debug_key(debug_id));
        if self.remote(remote.create(&key, format!("{id}\n").as_bytes()))? {
            return Ok(());
        }
        let mut there = Vec::new();
        self.remote(remote.get(&key, &mut Bounded::of(&mut there, MAX_SMALL)))?;
        // A damaged entry is replaced.
        let mut ids = builds_in(&String::from_utf8_lossy(&there)).unwrap_or_default();
        if ids.contains(id) {
            return Ok(());
        }
        ids.push(id.clone());
        ids.sort();
        let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
        self.remote(remote.replace(&key, text.as_bytes()))
    }

    /// Publishes a `.fsym`: to the remote store, and to the cache. If the remote store already has a file of the same build id, that file
    /// stays, unless it is damaged or [`EntryInfo::replace`] is set. Other machines keep their fetched copies of a replaced file.
    ///
    /// The index entry of the debug id goes first, the file last, as in a folder.
    ///
    /// # Errors
    /// The file is damaged or has no build id, the remote store has other bytes for this id, or either store cannot be written.
    pub fn publish<E: From<StoreError>>(
        &self,
        info: &EntryInfo,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Published, E> {
        let made = self.inner.cache.make(info, make)?;
        let lock = self.inner.cache.lock(&made.id)?;
        Ok(self.upload(&made, info, &lock)?)
    }

    /// Publishes a finished file, whose build id's lock the caller holds.
    pub(crate) fn upload(
        &self,
        made: &Made,
        info: &EntryInfo,
        lock: &EntryLock<'_>,
    ) -> Result<Published, StoreError> {
        lock.expect(made)?;
        let published = self.put(made, info, lock)?;
        // The cache gets the remote store's file.
        let info = EntryInfo { replace: true, ..info.clone() };
        lock.commit(made, &info)?;
        self.hold_bound(Some(&made.map));
        Ok(published)
    }

    fn put(&self, made: &Made, info: &EntryInfo, lock: &EntryLock<'_>) -> Result<Published, StoreError> {
        let remote = &self.inner.remote;
        let (id, map) = (made.id.clone(), &made.map);
        let (report, file) = (entry_key(&id, "json"), entry_key(&id, "fsym"));
        self.put_index(&info.debug_id_of(&id, map), &id)?;
        let replace = || {
            // A reader takes a file without a build id only with its report, so the report goes first.
            // What replaces a file is of the same releases.
            let old = self.reports(std::slice::from_ref(&id))?.remove(0);
            let text = made.report(info);
            let text = adding(&text, old["name"].as_str(), &Release::of_report(&old)).unwrap_or(text);
            self.remote(remote.replace(&report, text.as_bytes()))?;
            self.remote(remote.replace(&file, map.bytes()))
        };
        if info.replace {
            let is_there = self.remote(remote.size(&file))?.is_some();
            replace()?;
            return Ok(if is_there { Published::Replaced(id) } else { Published::New(id) });
        }
        self.remote(remote.create(&report, made.report(info).as_bytes()))?;
        if self.remote(remote.create(&file, map.bytes()))? {
            return Ok(Published::New(id));
        }
        match self.fetch(lock) {
            Ok(Some(there)) if there.bytes() != map.bytes() => {
                let (there, new) = (there.bytes().len() as u64, map.bytes().len() as u64);
                Err(StoreError::Differs { path: self.address(&id).into(), there, new })
            }
            Ok(_) => self.note(&id, info).map(|()| Published::Existing(id)),
            // A damaged file is replaced, as in a folder.
            Err(error) if error.is_damage() => replace().map(|()| Published::Replaced(id)),
            Err(error) => Err(error),
        }
    }

    /// The address of a file.
    fn address(&self, id: &BuildId) -> String {
        format!("{}/{}", self.location(), entry_key(id, "fsym"))
    }

    /// Fetches a file into the cache, or notes that there is none. A file without a build id needs its report, which has the id under which
    /// it was published.
    fn fetch(&self, lock: &EntryLock<'_>) -> Result<Option<SymbolMap>, StoreError> {
        let Inner { remote, cache, .. } = &*self.inner;
        let id = lock.id();
        let mut is_there = true;
        // The cache follows the remote store, where another writer may have replaced the file.
        let mut info = EntryInfo { replace: true, ..EntryInfo::default() };
        // A damaged report counts as one without keys. Only a file without a build id needs its report, and is then refused.
        let report = self.small(&entry_key(id, "json"))?;
        let report = report.and_then(|text| serde_json::from_slice::<Value>(&text).ok()).unwrap_or_default();
        if !report.is_null() {
            if report["derived_id"] == true && report["build_id"] == id.to_string() {
                info.derived_id = Some(id.clone());
                info.debug_id = report["debug_id"].as_str().and_then(|text| DebugId::parse(text).ok());
            }
            // The name comes from the remote store. `write_index` checks that it can be the name of a file.
            info.name = report["name"].as_str().map(str::to_owned);
            info.converter = report["converter"].as_str().map(str::to_owned);
        }
        let fetched = cache.make(&info, |path| {
            // `make` has made the file, with the mode that a published file gets.
            let out = File::options().write(true).truncate(true).open(path);
            let mut out = out.map_err(|error| StoreError::io(path, "write", error))?;
            let mut out = Bounded::of(&mut out, self.inner.options.cache_bytes);
            is_there = self.remote(remote.get(&entry_key(id, "fsym"), &mut out))?;
            if is_there { Ok(()) } else { Err(self.absent(id)) }
        });
        let fetched = fetched.and_then(|made| {
            // Another writer may have replaced the file since the report was read.
            info.completeness =
                Some(&report).filter(|report| is_of(report, &made.map)).and_then(Completeness::of_report);
            lock.commit(&made, &info)
        });
        match fetched {
            Err(_) if !is_there => cache.note_missing(id).map(|()| None),
            // The fetched file is gone, so the error names its source.
            Err(StoreError::Damaged { problem, .. }) => {
                Err(StoreError::damaged(Path::new(&self.address(id)), problem))
            }
            Err(StoreError::NotASymbolFile { .. }) => {
                Err(StoreError::NotASymbolFile { path: self.address(id).into() })
            }
            Err(StoreError::WrongId { expected, found, .. }) => {
                Err(StoreError::WrongId { path: self.address(id).into(), expected, found })
            }
            Err(error) => Err(error),
            Ok(_) => cache.get(id),
        }
    }

    /// The error that stops the publication of a missing object. It is never shown.
    fn absent(&self, id: &BuildId) -> StoreError {
        StoreError::Remote { location: self.location().to_owned(), problem: format!("no {id}") }
    }

    /// Counts the bytes of a file or note that was written into the cache, and enforces the cache's bound from time to time. If that fails,
    /// the fetched or published file stays anyway: `gc` reports the cause.
    fn hold_bound(&self, written: Option<&SymbolMap>) {
        let bytes = written.map_or(1, |map| map.bytes().len() as u64);
        let _ = self.inner.root.hold_bound(bytes, self.inner.options.cache_bytes);
    }

    /// The reports of files, in the order of `ids`. A report that is missing or damaged is null.
    ///
    /// # Errors
    /// The remote store cannot be reached.
    pub fn reports(&self, ids: &[BuildId]) -> Result<Vec<Value>, StoreError> {
        let found = Mutex::new(vec![Value::Null; ids.len()]);
        let failed = Mutex::new(None);
        let next = AtomicUsize::new(0);
        // A lock is held for a moment only: not while a request is under way.
        let task = || {
            let has_failed = failed.lock().unwrap_or_else(|error| error.into_inner()).is_some();
            let index = next.fetch_add(1, Ordering::Relaxed);
            ids.get(index).filter(|_| !has_failed).map(|id| (index, id))
        };
        // Each request waits for the network.
        std::thread::scope(|scope| {
            for _ in 0..REQUESTS.min(ids.len()) {
                scope.spawn(|| {
                    while let Some((index, id)) = task() {
                        match self.small(&entry_key(id, "json")) {
                            Ok(text) => {
                                let report = serde_json::from_slice(&text.unwrap_or_default());
                                let mut found = found.lock().unwrap_or_else(|error| error.into_inner());
                                found[index] = report.unwrap_or_default();
                            }
                            Err(error) => {
                                *failed.lock().unwrap_or_else(|error| error.into_inner()) = Some(error);
                            }
                        }
                    }
                });
            }
        });
        match failed.into_inner().unwrap_or_else(|error| error.into_inner()) {
            Some(error) => Err(error),
            None => Ok(found.into_inner().unwrap_or_else(|error| error.into_inner())),
        }
    }

    /// Adds releases to the report of a file. A further name alone is not worth a request: remote storage has no index by name.
    pub(crate) fn note(&self, id: &BuildId, info: &EntryInfo) -> Result<(), StoreError> {
        let key = entry_key(id, "json");
        if info.releases.is_empty() {
            return Ok(());
        }
        let Some(report) = self.small(&key)? else { return Ok(()) };
        match adding(&String::from_utf8_lossy(&report), info.name.as_deref(), &info.releases) {
            Some(report) => self.replace_object(&key, report.as_bytes()),
            None => Ok(()),
        }
    }

    /// The bytes of a small object. `Ok(None)` if there is none.
    pub(crate) fn small(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let mut bytes = Vec::new();
        Ok(self.fetch_object(key, &mut Bounded::of(&mut bytes, MAX_SMALL))?.then_some(bytes))
    }

    /// The most bytes that a file may have.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.inner.options.cache_bytes
    }

    /// Writes an object to `out`. `Ok(false)` if there is none.
    pub(crate) fn fetch_object(&self, key: &str, out: &mut dyn Write) -> Result<bool, StoreError> {
        self.remote(self.inner.remote.get(key, out))
    }

    pub(crate) fn object_size(&self, key: &str) -> Result<Option<u64>, StoreError> {
        self.remote(self.inner.remote.size(key))
    }

    pub(crate) fn list_objects(&self, prefix: &str, each: &mut dyn FnMut(Object)) -> Result<(), StoreError> {
        self.remote(self.inner.remote.list(prefix, each))
    }

    pub(crate) fn replace_object(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.remote(self.inner.remote.replace(key, bytes))
    }

    pub(crate) fn remove_object(&self, key: &str) -> Result<(), StoreError> {
        self.remote(self.inner.remote.remove(key))
    }

    fn remote<T>(&self, result: Result<T, crate::remote::RemoteError>) -> Result<T, StoreError> {
        result.map_err(|error| StoreError::Remote { location: error.location, problem: error.problem })
    }
}

impl fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedStore")
            .field("remote", &self.location())
            .field("cache", &self.inner.cache)
            .finish()
    }
}

/// The programs of one debug id that are fetched to find out whether several have it.
const MOST_PROGRAMS: usize = 16;
/// Index entries and reports are small; a larger file is neither.
pub(crate) const MAX_SMALL: u64 = 16 << 20;

/// A writer that takes a limited number of bytes, since a server may send without end.
pub(crate) struct Bounded<'w> {
    to: &'w mut dyn Write,
    left: u64,
    most: u64,
}

impl<'w> Bounded<'w> {
    pub(crate) fn of(to: &'w mut dyn Write, most: u64) -> Self {
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

/// The key of an object of an entry.
pub(crate) fn entry_key(id: &BuildId, ending: &str) -> String {
    let key = id.to_string();
    format!("{}/{}/v{VERSION}.{ending}", &key[..2], &key[2..])
}

/// The key of an index entry.
pub(crate) fn debug_key(debug_id: &DebugId) -> String {
    let key = debug_id.key();
    format!("debugid/{}/{}", &key[..2], &key[2..])
}

/// A hash that stays the same, so that a cache outlives the program that made it (FNV-1a).
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
