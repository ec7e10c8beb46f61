//! Notes about files that were not found or could not be made, so that the next request does not try again at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::files::read_small;
use super::store::LocalStore;
use crate::error::StoreError;
use crate::id::{BuildId, DebugId};

/// The note that no file of a build id was found.
pub(super) const MISSING: &str = "missing";
/// The note that a program could not be converted, and why.
pub(super) const MALFORMED: &str = "malformed";
/// The note that no remote store had a file of a debug id. It differs from the name of the note about a build id, since a build id of 20
/// bytes may have the same folder.
pub(super) const MISSING_DEBUG_ID: &str = "missing-debug-id";

impl LocalStore {
    /// True if it was noted less than `for_how_long` ago that no file of this build id was found.
    pub fn is_missing(&self, id: &BuildId, for_how_long: Duration) -> bool {
        is_recent(&self.missing_path(id), for_how_long)
    }

    /// Notes that no file of this build id was found anywhere.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn note_missing(&self, id: &BuildId) -> Result<(), StoreError> {
        self.place_text(&self.missing_path(id), "", true)
    }

    /// As [`LocalStore::is_missing`], for a debug id.
    pub(crate) fn is_missing_debug_id(&self, debug_id: &DebugId, for_how_long: Duration) -> bool {
        self.missing_debug_path(debug_id).is_some_and(|path| is_recent(&path, for_how_long))
    }

    /// As [`LocalStore::note_missing`], for a debug id.
    pub(crate) fn note_missing_debug_id(&self, debug_id: &DebugId) -> Result<(), StoreError> {
        self.missing_debug_path(debug_id).map_or(Ok(()), |path| self.place_text(&path, "", true))
    }

    /// Removes the note, now that there is an index entry.
    pub(super) fn forget_missing_debug_id(&self, debug_id: &DebugId) {
        if let Some(path) = self.missing_debug_path(debug_id)
            && fs::remove_file(&path).is_ok()
        {
            // A folder with other files stays.
            let _ = path.parent().map(fs::remove_dir);
        }
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
        if !is_recent(&path, for_how_long) {
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
        self.entry_path(id).join(MISSING)
    }

    /// The note is in a folder of its own, so it is bounded and collected as the other notes are.
    fn missing_debug_path(&self, debug_id: &DebugId) -> Option<PathBuf> {
        Some(self.entry_path(&debug_id.note_id()?).join(MISSING_DEBUG_ID))
    }

    fn malformed_path(&self, id: &BuildId) -> PathBuf {
        self.entry_path(id).join(MALFORMED)
    }
}

/// True if there is a note that was written less than `for_how_long` ago.
fn is_recent(note: &Path, for_how_long: Duration) -> bool {
    age(note).is_some_and(|age| age < for_how_long)
}

/// The time since a file was written; zero for a time in the future.
pub(super) fn age(path: &Path) -> Option<Duration> {
    let written = fs::symlink_metadata(path).and_then(|found| found.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default())
}
