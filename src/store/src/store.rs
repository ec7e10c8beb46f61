//! A store by its location: a folder, or an address with a cache in front of it.

use std::path::Path;

use crate::cache::CachedStore;
use crate::completeness::Completeness;
use crate::error::StoreError;
use crate::id::{BuildId, ModuleId};
use crate::local::{EntryInfo, EntryLock, LocalStore, Published};
use crate::options::StoreOptions;
use crate::remote::{Remote, without_secrets};
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
