//! The interface of a remote store, as the cache needs it.

use std::io::Write;
use std::time::SystemTime;

/// Why a remote store did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{location}: {problem}")]
#[non_exhaustive]
pub struct RemoteError {
    /// The address of the object, or of the store.
    pub location: String,
    /// The failure.
    pub problem: String,
}

impl RemoteError {
    /// An error at an address.
    pub fn new(location: impl Into<String>, problem: impl ToString) -> Self {
        Self { location: location.into(), problem: problem.to_string() }
    }
}

/// An object as a list of objects has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The key, below the address of the store.
    pub key: String,
    /// Its bytes.
    pub size: u64,
    /// When it was written.
    pub modified: SystemTime,
}

/// A store of objects by key, such as `ab/cdef.../v3.fsym`. The keys are the paths of a store's folder. Objects are listed only to
/// administer the store.
pub trait Remote: Send + Sync {
    /// Writes an object to `out`. `Ok(false)` if there is none; then nothing was written.
    ///
    /// # Errors
    /// The store could not be reached or refused, the object ended early, or `out` could not be written.
    fn get(&self, key: &str, out: &mut dyn Write) -> Result<bool, RemoteError>;

    /// The size of an object. `Ok(None)` if there is none.
    ///
    /// # Errors
    /// The store could not be reached or refused.
    fn size(&self, key: &str) -> Result<Option<u64>, RemoteError>;

    /// Makes an object, unless one of this key is there: `Ok(false)`. Readers see it whole or not at all.
    ///
    /// # Errors
    /// The store could not be reached, or refused. A read-only store always refuses.
    fn create(&self, key: &str, bytes: &[u8]) -> Result<bool, RemoteError>;

    /// Makes an object, or puts it in the place of the one of this key. Readers see either of them whole.
    ///
    /// # Errors
    /// As [`Remote::create`].
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), RemoteError>;

    /// Gives each object whose key begins with the folder `prefix`; all objects if it is empty.
    ///
    /// # Errors
    /// The store could not be reached, refused, or cannot list objects, as some cannot.
    fn list(&self, prefix: &str, each: &mut dyn FnMut(Object)) -> Result<(), RemoteError> {
        let _ = (prefix, each);
        Err(RemoteError::new(self.location(), "cannot list its files"))
    }

    /// Removes an object. Success if there is none.
    ///
    /// # Errors
    /// The store could not be reached, refused, or cannot remove objects.
    fn remove(&self, key: &str) -> Result<(), RemoteError> {
        let _ = key;
        Err(RemoteError::new(self.location(), "cannot remove files"))
    }

    /// The address, for messages.
    fn location(&self) -> &str;

    /// The identity of this store: the address, and everything else that selects its contents. Stores with different identities have
    /// separate caches.
    fn identity(&self) -> String {
        self.location().to_owned()
    }
}
