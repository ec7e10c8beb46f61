//! Notes about files that were not found or could not be made, so that the next request does not try again at once.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::files::read_small;
use super::store::LocalStore;
use crate::error::StoreError;
use crate::id::BuildId;

impl LocalStore {
    /// True if it was noted less than `for_how_long` ago that no file of this build id was found.
    pub fn is_missing(&self, id: &BuildId, for_how_long: Duration) -> bool {
        age(&self.missing_path(id)).is_some_and(|age| age < for_how_long)
    }

    /// Notes that no file of this build id was found anywhere.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn note_missing(&self, id: &BuildId) -> Result<(), StoreError> {
        self.place_text(&self.missing_path(id), "", true)
    }

    /// Why a program of this build id could not be converted, if that was noted less than `for_how_long` ago for the same `cause`.
    ///
    /// # Errors
    /// The note cannot be read.
    pub fn malformed(
        &self,
        id: &BuildId,
        cause: &str,
        for_how_long: Duration,
    ) -> Result<Option<String>, StoreError> {
        let path = self.malformed_path(id);
        if age(&path).is_none_or(|age| age >= for_how_long) {
            return Ok(None);
        }
        let text = read_small(&path)?.unwrap_or_default();
        Ok(text
            .split_once('\n')
            .filter(|(noted, _)| *noted == cause)
            .map(|(_, why)| why.trim_end().to_owned()))
    }

    /// Notes why a program could not be converted. `cause` identifies in one line what the failure depends on, for example the size and
    /// time of the program and the version of the converter.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn note_malformed(&self, id: &BuildId, cause: &str, why: &str) -> Result<(), StoreError> {
        // `malformed` reads the cause up to the first line end.
        let cause = cause.replace('\n', " ");
        self.place_text(&self.malformed_path(id), &format!("{cause}\n{why}\n"), true)
    }

    fn missing_path(&self, id: &BuildId) -> PathBuf {
        self.entry_path(id).join("missing")
    }

    fn malformed_path(&self, id: &BuildId) -> PathBuf {
        self.entry_path(id).join("malformed")
    }
}

/// The time since a file was written; zero for a time in the future.
pub(super) fn age(path: &std::path::Path) -> Option<Duration> {
    let written = fs::symlink_metadata(path).and_then(|found| found.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default())
}
