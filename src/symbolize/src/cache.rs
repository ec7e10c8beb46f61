//! The folder that keeps converted programs. It is opened when it is first needed, and made when there is something to keep.

use std::path::PathBuf;
use std::sync::OnceLock;

use foldsym_store::{LocalStore, StoreError};

/// A cache whose folder may not exist yet.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    /// `None` if the folder cannot be used.
    store: OnceLock<Option<LocalStore>>,
}

impl Cache {
    pub(crate) fn of(folder: PathBuf) -> Self {
        Self { folder, store: OnceLock::new() }
    }

    /// Opens the folder now, and makes it if it does not exist.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub(crate) fn open(&self) -> Result<(), StoreError> {
        let store = LocalStore::create_private(&self.folder)?;
        let _ = self.store.set(Some(store));
        Ok(())
    }

    /// The store to read from; `None` if the folder does not exist yet or cannot be used.
    pub(crate) fn to_read(&self) -> Option<&LocalStore> {
        match self.store.get() {
            Some(store) => store.as_ref(),
            None if self.folder.exists() => self.to_write(),
            None => None,
        }
    }

    /// The store to write to; `None` if the folder cannot be used.
    pub(crate) fn to_write(&self) -> Option<&LocalStore> {
        self.store.get_or_init(|| LocalStore::create_private(&self.folder).ok()).as_ref()
    }
}
