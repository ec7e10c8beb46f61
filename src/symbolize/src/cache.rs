//! The folder that keeps converted programs. It is opened when it is first needed, and made when there is something to keep.

use std::path::PathBuf;
use std::sync::OnceLock;

use foldsym_store::{LocalStore, StoreError};

use crate::unknown::is_passing_error;

/// A cache whose folder may not exist yet.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    /// Names the part of the cache that has programs converted with these options; empty for the folder itself.
    options: String,
    /// The folder has at most this many bytes.
    #[cfg_attr(not(feature = "convert"), expect(dead_code, reason = "who does not convert writes nothing"))]
    most: u64,
    /// The folder's store, and the one in it that is used. `None` if the folder cannot be used.
    stores: OnceLock<Option<(LocalStore, LocalStore)>>,
}

impl Cache {
    pub(crate) fn of(folder: PathBuf, options: &str, most: u64) -> Self {
        Self { folder, options: options.to_owned(), most, stores: OnceLock::new() }
    }

    /// The folder in it that keeps the indexes of folders that are searched.
    pub(crate) fn indexes(&self) -> PathBuf {
        self.folder.join(foldsym_store::SEARCH_INDEXES)
    }

    /// Opens the folder now, and makes it if it does not exist.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub(crate) fn open(&self) -> Result<(), StoreError> {
        let stores = self.make()?;
        let _ = self.stores.set(Some(stores));
        Ok(())
    }

    /// The folder's own store comes first, so that the folder is a store from then on.
    fn make(&self) -> Result<(LocalStore, LocalStore), StoreError> {
        let root = LocalStore::create_private(&self.folder)?;
        let store = if self.options.is_empty() { root.clone() } else { root.with_options(&self.options)? };
        Ok((root, store))
    }

    /// The store to read from; `None` if nothing was kept yet.
    pub(crate) fn to_read(&self) -> Option<&LocalStore> {
        match self.stores.get() {
            Some(stores) => stores.as_ref().map(|(_, store)| store),
            // Opening a cache makes its folder, and a search alone should not make one.
            None if self.folder.exists() => self.to_write(),
            None => None,
        }
    }

    /// The store to write to; `None` if the folder cannot be used.
    pub(crate) fn to_write(&self) -> Option<&LocalStore> {
        if self.stores.get().is_none() {
            let made = self.make();
            // What is wrong with the folder is remembered; that the process has no descriptor left is not.
            if made.as_ref().is_err_and(is_passing_error) {
                return None;
            }
            let _ = self.stores.set(made.ok());
        }
        self.stores.get()?.as_ref().map(|(_, store)| store)
    }

    /// Counts bytes that were written, and holds the folder to its bound at times.
    #[cfg(feature = "convert")]
    pub(crate) fn wrote(&self, bytes: u64) {
        if let Some(Some((root, _))) = self.stores.get() {
            // What was kept answers, also where nothing can be removed.
            let _ = root.hold_bound(bytes, self.most);
        }
    }
}
