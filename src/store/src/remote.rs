//! The interface of a remote store, as the cache needs it.

use std::io::Write;

/// Why a remote store did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{location}: {problem}")]
#[non_exhaustive]
pub struct RemoteError {
    /// The address of the object, or of the store.
    pub location: String,
    /// What went wrong.
    pub problem: String,
}

impl RemoteError {
    /// An error at an address.
    pub fn new(location: impl Into<String>, problem: impl ToString) -> Self {
        Self { location: location.into(), problem: problem.to_string() }
    }
}

/// A store of objects by key, such as `ab/cdef.../v2.fsym`. The keys are the paths of a store's folder. Objects are never listed.
pub trait Remote: Send + Sync {
    /// Writes an object to `out`. `Ok(false)` if there is none; then nothing was written.
    ///
    /// # Errors
    /// The store could not be reached or refused, the object ended early, or `out` could not be written.
    fn get(&self, key: &str, out: &mut dyn Write) -> Result<bool, RemoteError>;

    /// Makes an object. `Ok(false)` if there is one with this key already, which stays. Readers see an object whole or not at all.
    ///
    /// # Errors
    /// The store could not be reached, or refused. A read-only store always refuses.
    fn create(&self, key: &str, bytes: &[u8]) -> Result<bool, RemoteError>;

    /// The address, for messages.
    fn location(&self) -> &str;
}
