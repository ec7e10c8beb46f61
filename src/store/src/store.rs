//! A store by its location: a folder, or an address with a cache in front of it.

use std::path::Path;

use serde_json::Value;

use crate::cache::CachedStore;
use crate::completeness::Completeness;
use crate::error::StoreError;
use crate::id::{BuildId, ModuleId};
use crate::local::{Checked, EntryInfo, EntryLock, GcReport, Listed, LocalStore, Pin, Published, Scratch};
use crate::options::StoreOptions;
use crate::policy::GcOptions;
use crate::remote::Remote;
use crate::shown::without_secrets;
use crate::symbol_map::SymbolMap;

/// A store by its location: a folder, or an address of objects with a local cache.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Store {
    /// A folder.
    Local(LocalStore),
    /// A remote store, with a cache.
    Cached(CachedStore),
}

impl Store {
    /// Opens a store that exists: a path, or with the feature `remote` an address that begins with `s3://`, `gs://`, `az://`, `http://`
    /// or `https://`.
    ///
    /// # Errors
    /// As [`LocalStore::open`] and [`CachedStore::new`]; or an address that this build cannot reach.
    pub fn open(location: &str, options: StoreOptions) -> Result<Self, StoreError> {
        match remote(location, &options)? {
            Some(remote) => CachedStore::new(remote, options).map(Self::Cached),
            None => LocalStore::open(location.as_ref()).map(Self::Local),
        }
    }

    /// As [`Store::open`], but makes a folder that does not exist.
    ///
    /// # Errors
    /// As [`LocalStore::create`] and [`CachedStore::new`].
    pub fn create(location: &str, options: StoreOptions) -> Result<Self, StoreError> {
        match remote(location, &options)? {
            Some(remote) => CachedStore::new(remote, options).map(Self::Cached),
            None => LocalStore::create(location.as_ref()).map(Self::Local),
        }
    }

    /// The folder, or the address.
    pub fn location(&self) -> String {
        match self {
            Self::Local(store) => store.root().display().to_string(),
            Self::Cached(store) => store.location().to_owned(),
        }
    }

    /// Waits for the lock to convert or replace the file of a build id. For a remote store it is the lock of its cache: processes that
    /// share the cache do the work once.
    ///
    /// # Errors
    /// As [`LocalStore::lock`].
    pub fn lock(&self, id: &BuildId) -> Result<StoreLock<'_>, StoreError> {
        let entry = match self {
            Self::Local(store) => store.lock(id),
            Self::Cached(store) => store.cache().lock(id),
        };
        Ok(StoreLock { store: self, entry: entry? })
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

    /// Publishes the file that `make` makes.
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

    /// The files of this version of the format, by build id.
    ///
    /// # Errors
    /// As [`LocalStore::list`] and [`CachedStore::list`].
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        match self {
            Self::Local(store) => store.list(),
            Self::Cached(store) => store.list(),
        }
    }

    /// The reports of files, in the order of `ids`. A report that is missing or damaged is null.
    ///
    /// # Errors
    /// A remote store cannot be read.
    pub fn reports(&self, ids: &[BuildId]) -> Result<Vec<Value>, StoreError> {
        match self {
            Self::Local(store) => {
                let read = |id: &BuildId| store.report(id).ok().flatten().unwrap_or_default();
                Ok(ids.iter().map(|id| serde_json::from_str(&read(id)).unwrap_or_default()).collect())
            }
            Self::Cached(store) => store.reports(ids),
        }
    }

    /// Checks all files.
    ///
    /// # Errors
    /// As [`LocalStore::check`] and [`CachedStore::check`].
    pub fn check(&self) -> Result<Checked, StoreError> {
        match self {
            Self::Local(store) => store.check(),
            Self::Cached(store) => store.check(),
        }
    }

    /// Removes files by age, release and size.
    ///
    /// # Errors
    /// As [`LocalStore::gc`] and [`CachedStore::gc`].
    pub fn gc(&self, options: &GcOptions) -> Result<GcReport, StoreError> {
        match self {
            Self::Local(store) => store.gc(options),
            Self::Cached(store) => store.gc(options),
        }
    }

    /// Removes the file of a build id. `Ok(false)` if there is none.
    ///
    /// # Errors
    /// As [`LocalStore::remove`] and [`CachedStore::remove`].
    pub fn remove(&self, id: &BuildId) -> Result<bool, StoreError> {
        match self {
            Self::Local(store) => store.remove(id),
            Self::Cached(store) => store.remove(id),
        }
    }

    /// The build id of an identity: by the index, for a debug id. `Ok(None)` if the index has none.
    ///
    /// # Errors
    /// As [`LocalStore::build_id_of`] and [`CachedStore::build_id_of`].
    pub fn build_id_of(&self, id: &ModuleId) -> Result<Option<BuildId>, StoreError> {
        match (self, id) {
            (_, ModuleId::Build(id)) => Ok(Some(id.clone())),
            (Self::Local(store), ModuleId::Debug(id)) => store.build_id_of(id),
            (Self::Cached(store), ModuleId::Debug(id)) => store.build_id_of(id),
        }
    }

    /// The id under which the store keeps the file that [`Store::get_module`] found by this identity: its build id, or for a program
    /// without one the hash of its contents. `Ok(None)` if it was removed meanwhile.
    ///
    /// # Errors
    /// As [`Store::build_id_of`].
    pub fn entry_of(&self, id: &ModuleId, map: &SymbolMap) -> Result<Option<BuildId>, StoreError> {
        match (map.build_id(), id.of_code(), id) {
            (Some(own), ..) => Ok(Some(own)),
            (None, Some(derived), _) => self.build_id_of(&derived.into()),
            (None, None, id) => self.build_id_of(id),
        }
    }

    /// All pins, by name.
    ///
    /// # Errors
    /// As [`LocalStore::pins`] and [`CachedStore::pins`].
    pub fn pins(&self) -> Result<Vec<Pin>, StoreError> {
        match self {
            Self::Local(store) => store.pins(),
            Self::Cached(store) => store.pins(),
        }
    }

    /// A place for a file that is compared with the store's before it is published: on the disk of the store, or of its cache if it is
    /// remote.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn scratch(&self) -> Result<Scratch, StoreError> {
        match self {
            Self::Local(store) => store.scratch(),
            Self::Cached(store) => store.cache().scratch(),
        }
    }

    /// Adds build ids to a pin, which is made if there is none of the name.
    ///
    /// # Errors
    /// As [`LocalStore::add_to_pin`] and [`CachedStore::add_to_pin`].
    pub fn add_to_pin(&self, name: &str, ids: &[BuildId]) -> Result<(), StoreError> {
        match self {
            Self::Local(store) => store.add_to_pin(name, ids),
            Self::Cached(store) => store.add_to_pin(name, ids),
        }
    }

    /// Removes build ids from a pin, or without any the whole pin. `Ok(false)` if there is nothing to remove.
    ///
    /// # Errors
    /// As [`LocalStore::remove_from_pin`] and [`CachedStore::remove_from_pin`].
    pub fn unpin(&self, name: &str, ids: &[BuildId]) -> Result<bool, StoreError> {
        match self {
            Self::Local(store) if ids.is_empty() => store.unpin(name),
            Self::Local(store) => store.remove_from_pin(name, ids),
            Self::Cached(store) if ids.is_empty() => store.unpin(name),
            Self::Cached(store) => store.remove_from_pin(name, ids),
        }
    }
}

/// The right to convert or replace the file of one build id. Ends when it is dropped.
#[derive(Debug)]
pub struct StoreLock<'s> {
    store: &'s Store,
    entry: EntryLock<'s>,
}

impl StoreLock<'_> {
    /// Opens the file of the build id. Searches a remote store even if the cache has an answer. `Ok(None)` if it has no file.
    ///
    /// # Errors
    /// As [`Store::get_module`].
    pub fn get(&self) -> Result<Option<SymbolMap>, StoreError> {
        match self.store {
            Store::Local(store) => store.get(self.entry.id()),
            Store::Cached(store) => store.current(&self.entry),
        }
    }

    /// Adds the releases of a program to those of the file that is there, and its name, by which a store in a folder then finds the file too.
    ///
    /// # Errors
    /// The report of the file cannot be read or written.
    pub fn note(&self, info: &EntryInfo) -> Result<(), StoreError> {
        match self.store {
            Store::Local(store) => store.note(self.entry.id(), info),
            Store::Cached(store) => store.note(self.entry.id(), info),
        }
    }

    /// How complete a file that [`StoreLock::get`] gave is, by its report. `Ok(None)` if no report of these bytes says so.
    ///
    /// # Errors
    /// The report cannot be read.
    pub fn completeness(&self, map: &SymbolMap) -> Result<Option<Completeness>, StoreError> {
        let store = match self.store {
            Store::Local(store) => store,
            Store::Cached(store) => store.cache(),
        };
        store.completeness_of(self.entry.id(), map)
    }

    /// Publishes the file of the build id, as [`Store::publish`] does.
    ///
    /// # Errors
    /// As there; also if the file is of another program.
    pub fn publish<E: From<StoreError>>(
        &self,
        info: &EntryInfo,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Published, E> {
        match self.store {
            Store::Local(_) => self.entry.publish(info, make),
            Store::Cached(store) => {
                let made = store.cache().make(info, make)?;
                Ok(store.upload(&made, info, &self.entry)?)
            }
        }
    }
}

/// The remote store at an address; `Ok(None)` for a path.
fn remote(location: &str, options: &StoreOptions) -> Result<Option<Box<dyn Remote>>, StoreError> {
    let Some((scheme, _)) = location.split_once("://") else { return Ok(None) };
    let failed = |problem: &str| StoreError::Remote {
        location: without_secrets(location),
        problem: problem.to_owned(),
    };
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
    Err(failed("this build reads only folders: build foldsym with the feature `remote`"))
}
