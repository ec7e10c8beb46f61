//! Garbage collection: removes files that were not used for long, and litter of killed writers.
//!
//! Readers are safe: an open file stays mapped when it is removed. Writers need the lock of an entry to publish a file, and garbage
//! collection needs it to remove one; under the lock it checks the time of the last use again. A folder is removed only by
//! `rmdir`, which fails while something is in it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::absent::age;
use super::files::{read_folder, read_small};
use super::list::{Entry, is_versioned};
use super::lock::remove_stale;
use super::store::LocalStore;
use crate::error::StoreError;
use crate::id::BuildId;

/// Temporary files, and index entries without a file, are removed at this age.
pub(super) const LITTER_AGE: Duration = Duration::from_secs(24 * 3600);
/// Notes about missing files and failed conversions are removed at this age.
const NOTE_AGE: Duration = Duration::from_secs(24 * 3600);

/// The options of garbage collection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GcOptions {
    /// Files that were not used for this long are removed.
    pub max_age: Option<Duration>,
    /// Then the least recently used files are removed, until the rest has at most so many bytes.
    pub max_bytes: Option<u64>,
    /// Temporary files and index entries without a file are removed at this age. The default is a day.
    pub litter_age: Duration,
    /// Counts the files that would be removed, and removes nothing.
    pub dry_run: bool,
}

impl Default for GcOptions {
    fn default() -> Self {
        Self { max_age: None, max_bytes: None, litter_age: LITTER_AGE, dry_run: false }
    }
}

/// The result of garbage collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcReport {
    /// The build ids whose files were removed.
    pub removed: Vec<BuildId>,
    /// Bytes of those files.
    pub removed_bytes: u64,
    /// Files that stay.
    pub kept: u64,
    /// Their bytes.
    pub kept_bytes: u64,
    /// Files that stay only because they are pinned.
    pub pinned: u64,
    /// Temporary files, notes and index entries without a file that were removed.
    pub litter: u64,
}

/// An entry that may be removed.
struct Candidate {
    entry: Entry,
    /// Bytes of all versions.
    size: u64,
    used: SystemTime,
}

impl LocalStore {
    /// Removes files by age and size, and litter. Without limits it removes only litter.
    ///
    /// # Errors
    /// A pin cannot be read, so that it is unknown which files it keeps; or the store cannot be listed or written.
    pub fn gc(&self, options: &GcOptions) -> Result<GcReport, StoreError> {
        let mut report = GcReport::default();
        let pinned: BTreeSet<BuildId> = self.pins()?.into_iter().flat_map(|pin| pin.ids).collect();
        let mut files = Vec::new();
        for entry in self.entries(&mut |_, _| {})? {
            match weigh(&entry.path)? {
                Some((size, used)) => files.push(Candidate { entry, size, used }),
                None if !options.dry_run => report.litter += self.clear_notes(&entry, options)?,
                None => {}
            }
        }
        files.sort_by(|a, b| (a.used, &a.entry.id).cmp(&(b.used, &b.entry.id)));
        let mut left: u64 = files.iter().map(|file| file.size).sum();
        let now = SystemTime::now();
        for Candidate { entry, size, used } in files {
            let idle = now.duration_since(used).unwrap_or_default();
            let old = options.max_age.is_some_and(|max| idle >= max);
            let many = options.max_bytes.is_some_and(|max| left > max);
            let is_pinned = pinned.contains(&entry.id);
            let goes = (old || many) && !is_pinned && (options.dry_run || self.collect(&entry, used)?);
            if goes {
                left -= size;
                report.removed_bytes += size;
                report.removed.push(entry.id);
            } else {
                report.kept += 1;
                report.kept_bytes += size;
                report.pinned += u64::from((old || many) && is_pinned);
            }
        }
        if !options.dry_run {
            report.litter += self.sweep(options.litter_age)? + self.sweep_index(options.litter_age)?;
        }
        Ok(report)
    }

    /// Removes the file of a build id and its index entries, even if it is pinned. `Ok(false)` if there is none.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn remove(&self, id: &BuildId) -> Result<bool, StoreError> {
        let lock = self.lock(id)?;
        let entry = Entry { id: lock.id.clone(), path: self.entry_path(id) };
        let was_there = weigh(&entry.path)?.is_some();
        self.remove_locked(&entry)?;
        Ok(was_there)
    }

    /// Removes an entry, unless it was used since it was weighed.
    fn collect(&self, entry: &Entry, used: SystemTime) -> Result<bool, StoreError> {
        let _lock = self.lock(&entry.id)?;
        match weigh(&entry.path)? {
            Some((_, now)) if now > used => return Ok(false),
            _ => self.remove_locked(entry)?,
        }
        Ok(true)
    }

    fn remove_locked(&self, entry: &Entry) -> Result<(), StoreError> {
        // The debug id is inside the file, so it must be read first.
        let debug_id =
            self.inspect(&entry.id).ok().flatten().map(|map| crate::DebugId::of_file(&entry.id, map.file()));
        let files = read_folder(&entry.path)?;
        // The file is removed first: without it the entry counts as absent.
        let is_file = |file: &&fs::DirEntry| is_versioned(&file.file_name(), "fsym");
        let rest = |file: &&fs::DirEntry| !is_file(file) && super::list::is_known(&file.file_name());
        for file in files.iter().filter(is_file).chain(files.iter().filter(rest)) {
            remove_file(&file.path())?;
        }
        remove_empty(&entry.path);
        if let Some(debug_id) = debug_id
            && self.build_id_of(&debug_id).is_ok_and(|id| id.as_ref() == Some(&entry.id))
        {
            remove_file(&self.debug_path(&debug_id))?;
            self.debug_path(&debug_id).parent().map(remove_empty);
        }
        for name in read_folder(&self.name_folder())? {
            let marker = name.path().join(entry.id.to_string());
            if marker.symlink_metadata().is_ok() {
                remove_file(&marker)?;
                remove_empty(&name.path());
            }
        }
        entry.path.parent().map(remove_empty);
        Ok(())
    }

    /// Removes old notes and reports from an entry without a file.
    fn clear_notes(&self, entry: &Entry, options: &GcOptions) -> Result<u64, StoreError> {
        let mut removed = 0;
        for file in read_folder(&entry.path)? {
            let name = file.file_name();
            let limit = if is_versioned(&name, "json") { options.litter_age } else { NOTE_AGE };
            if super::list::is_known(&name) && age(&file.path()).is_some_and(|age| age >= limit) {
                let _lock = self.lock(&entry.id)?;
                // A writer may have finished meanwhile.
                if weigh(&entry.path)?.is_none() {
                    remove_file(&file.path())?;
                    removed += 1;
                }
            }
        }
        remove_empty(&entry.path);
        entry.path.parent().map(remove_empty);
        Ok(removed)
    }

    /// Removes temporary files of killed writers.
    pub(super) fn sweep(&self, litter_age: Duration) -> Result<u64, StoreError> {
        let mut removed = 0;
        for file in read_folder(&self.tmp())? {
            let (path, name) = (file.path(), file.file_name());
            if name == "swept" || age(&path).is_none_or(|age| age < litter_age) {
                continue;
            }
            let gone = if path.extension().is_some_and(|ending| ending == "lock") {
                remove_stale(&path).map_err(|error| StoreError::io(&path, "remove", error))?
            } else if path.is_dir() {
                // A store makes no folders there.
                false
            } else {
                remove_file(&path)?;
                true
            };
            removed += u64::from(gone);
        }
        Ok(removed)
    }

    /// Removes old index entries without a file.
    fn sweep_index(&self, litter_age: Duration) -> Result<u64, StoreError> {
        let mut removed = 0;
        let old = |path: &Path| age(path).is_some_and(|age| age >= litter_age);
        for (path, _) in self.debug_entries()? {
            if !old(&path) {
                continue;
            }
            let id = read_small(&path).ok().flatten().and_then(|text| BuildId::parse(text.trim_end()).ok());
            if id.is_none_or(|id| !self.file_path(&id).exists()) {
                remove_file(&path)?;
                path.parent().map(remove_empty);
                removed += 1;
            }
        }
        for name in read_folder(&self.name_folder())? {
            for marker in read_folder(&name.path())? {
                let id = BuildId::parse(&marker.file_name().to_string_lossy()).ok();
                if old(&marker.path()) && id.is_none_or(|id| !self.file_path(&id).exists()) {
                    remove_file(&marker.path())?;
                    removed += 1;
                }
            }
            remove_empty(&name.path());
        }
        Ok(removed)
    }
}

/// The bytes of an entry's files of all versions, and the time when one of them was last used; `None` if there are no files.
fn weigh(entry: &Path) -> Result<Option<(u64, SystemTime)>, StoreError> {
    let mut total: Option<(u64, SystemTime)> = None;
    for file in read_folder(entry)? {
        if !is_versioned(&file.file_name(), "fsym") {
            continue;
        }
        // The file may have been removed meanwhile.
        let Ok(found) = file.path().symlink_metadata() else { continue };
        let used = found.modified().map_err(|error| StoreError::io(&file.path(), "read", error))?;
        let (size, latest) = total.unwrap_or((0, used));
        total = Some((size + found.len(), latest.max(used)));
    }
    Ok(total)
}

fn remove_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io(path, "remove", error)),
        _ => Ok(()),
    }
}

/// Removes a folder if it is empty.
fn remove_empty(path: &Path) {
    let _ = fs::remove_dir(path);
}
