//! The interface of a remote store, as the cache needs it.

use std::io::Write;

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

/// An address as people may read it: without `USER:PASSWORD@` before the host, and without a query and a fragment, which may be a token.
pub(crate) fn without_secrets(location: &str) -> String {
    let Some((scheme, rest)) = location.split_once("://") else { return location.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A port has only digits. Other text after a colon is the start of a password, which contains one of the three characters.
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_port =
        authority.starts_with('[') || authority.split_once(':').is_none_or(|(_, port)| is_number(port));
    let (host, path) = match rest.rsplit_once('@') {
        Some((_, host)) if !is_port && !authority.contains('@') => (host, ""),
        // A password may contain `@`, so the host begins after the last one.
        _ => (authority.rsplit('@').next().unwrap_or(authority), path),
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// A store of objects by key, such as `ab/cdef.../v2.fsym`. The keys are the paths of a store's folder. Objects are never listed.
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

    /// The address, for messages.
    fn location(&self) -> &str;

    /// The identity of this store: the address, and everything else that selects its contents. Stores with different identities have
    /// separate caches.
    fn identity(&self) -> String {
        self.location().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn an_address_is_shown_without_secrets() {
        let cases = [
            ("https://host:80/a@b", "https://host:80/a@b"),
            ("https://user:word@host:80/a@b", "https://host:80/a@b"),
            ("https://user:wo@rd@host", "https://host"),
            ("https://host/a?token=word#word", "https://host/a"),
            // These are no addresses, and the error must not have the password.
            ("https://user:wo/rd@host/a", "https://host/a"),
            ("https://user:wo?rd@host/a", "https://host/a"),
            ("https://user:/word@host/a", "https://host/a"),
            ("https://user:wo:12/rd@host/a", "https://host/a"),
            ("https://[::1]:80/a@b", "https://[::1]:80/a@b"),
            ("s3://bucket/a", "s3://bucket/a"),
            ("folder", "folder"),
        ];
        for (location, shown) in cases {
            assert_eq!(without_secrets(location), shown, "{location}");
        }
    }
}
