//! Garbage collection: removes files that were not used for long, and litter of killed writers.
//!
//! Removal is safe for readers: a removed file stays mapped in the processes that have it open. A writer takes the lock of an entry to
//! publish it. The collector takes the same lock to remove the entry, or an index entry that leads to it, and checks again after it has the
//! lock. An entry that another process has locked is in use, and stays. A folder is removed by `rmdir`, which fails unless it is empty.
//!
//! Only regular files with a name that a store writes are removed. No symbolic link is followed, since it may lead out of the store: what is
//! behind one, and any other file or folder, stays.
//!
//! A cache has stores in its folders. They are collected together, so that one bound holds for all.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use foldsym_format::header::MAGIC;

use super::absent::age;
use super::files::{is_file, is_own_folder, read_folder, read_own_folder, read_small};
use super::list::{Entry, is_known, is_versioned};
use super::lock::remove_stale;
use super::store::LocalStore;
use crate::error::StoreError;
use crate::id::{BuildId, DebugId};
use crate::policy::{Facts, Fate, GcOptions, Policy};
use crate::regular::open_regular;
use crate::release::Release;

/// Notes about missing files and failed conversions are removed at this age.
const NOTE_AGE: Duration = Duration::from_secs(24 * 3600);

/// How the names of temporary files begin.
pub(super) const TEMPORARY: &str = "new-";

/// The name of the file in a [`Scratch`](crate::Scratch).
pub(super) const SCRATCH_FILE: &str = "program.fsym";

/// The bytes of an entry without a file: the block of its folder.
const NOTE_BYTES: u64 = 4096;
/// Bytes that are written into a cache are counted in pieces of this size.
const PIECE: u64 = 64 << 10;

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
    /// Files that stay only because they are pinned, or of a release that is kept.
    pub pinned: u64,
    /// Temporary files, notes and index entries without a file that were removed.
    pub litter: u64,
}

/// An entry that may go.
struct Candidate<'s> {
    store: &'s LocalStore,
    entry: Entry,
    /// Bytes of the files of all versions.
    size: u64,
    used: SystemTime,
    published: SystemTime,
    /// Read only if a limit counts releases.
    releases: Vec<Release>,
    /// Nothing but notes.
    is_bare: bool,
}

/// Removes the folder of a conversion that was killed, and its files: a conversion makes no folder in it. What another user made and this
/// one cannot remove stays.
fn remove_scratch(folder: &Path, litter_age: Duration) -> u64 {
    let files = read_own_folder(folder).unwrap_or_default();
    let is_old = |file: &fs::DirEntry| age(&file.path()).is_none_or(|age| age >= litter_age);
    // A conversion that is still writing changes the time of its file alone.
    if !files.iter().all(is_old) {
        return 0;
    }
    let is_ours = |file: &&fs::DirEntry| {
        let name = file.file_name();
        // The converter writes a file under such a name, and then renames it.
        is_file(file) && (name == SCRATCH_FILE || name.as_encoded_bytes().starts_with(b".fsym-"))
    };
    let removed = files.iter().filter(is_ours).filter(|file| fs::remove_file(file.path()).is_ok()).count();
    remove_empty(folder);
    removed as u64
}

impl LocalStore {
    /// Removes files by age and size, and litter. Without limits it removes only litter. Stores in folders of a cache are collected too.
    ///
    /// # Errors
    /// A pin cannot be read, so that it is unknown which files it keeps; or the store cannot be listed or written.
    pub fn gc(&self, options: &GcOptions) -> Result<GcReport, StoreError> {
        // A pin is not made while it is decided what goes.
        let _pins = (!options.dry_run).then(|| self.lock_pins()).transpose()?;
        self.gc_locked(options)
    }

    /// As [`Self::gc`]; the caller holds the lock of the pins.
    fn gc_locked(&self, options: &GcOptions) -> Result<GcReport, StoreError> {
        let mut report = GcReport::default();
        let mut stores = vec![self.clone()];
        stores.extend(self.parts()?.into_iter().filter(|part| part.check_format().is_ok()));
        let (mut pinned, mut candidates) = (BTreeSet::<BuildId>::new(), Vec::new());
        for store in &stores {
            // A pin of one of these stores keeps the files of its build ids in all of them.
            pinned.extend(store.pins()?.into_iter().flat_map(|pin| pin.ids));
            for entry in store.entries(&mut |_, _| {})? {
                if !options.dry_run && weigh(&entry.path)?.is_none() {
                    report.litter += store.clear_notes(&entry, options.litter_age, NOTE_AGE)?;
                }
                candidates.extend(candidate(store, entry, options)?);
            }
        }
        // The least recently used entry comes first. Times may be equal, and the id makes the order the same each time.
        candidates.sort_by(|a, b| (a.used, &a.entry.id).cmp(&(b.used, &b.entry.id)));
        let mut left: u64 = candidates.iter().map(|candidate| candidate.size).sum();
        let now = SystemTime::now();
        let policy =
            Policy::new(options, pinned, candidates.iter().flat_map(|candidate| &candidate.releases));
        for Candidate { store, entry, size, used, published, releases, is_bare } in candidates {
            if is_bare {
                let many = options.max_bytes.is_some_and(|max| left > max);
                if many {
                    left -= size;
                }
                if many && !options.dry_run {
                    report.litter += store.clear_notes(&entry, Duration::ZERO, Duration::ZERO)?;
                }
                continue;
            }
            let since = |time| now.duration_since(time).unwrap_or_default();
            let (idle, age) = (since(used), since(published));
            let fate = policy.fate(&Facts { id: &entry.id, releases: &releases, idle, age, left });
            if fate == Fate::Goes && (options.dry_run || store.collect(&entry, used)?) {
                left -= size;
                report.removed_bytes += size;
                report.removed.push(entry.id);
            } else {
                report.kept += 1;
                report.kept_bytes += size;
                report.pinned += u64::from(fate == Fate::Kept);
            }
        }
        if !options.dry_run {
            // Each folder of `name/` is listed once, however many files were removed.
            let collected: BTreeSet<&BuildId> = report.removed.iter().collect();
            for store in &stores {
                report.litter += store.sweep(options.litter_age)?;
                report.litter += store.sweep_index(options.litter_age, &collected)?;
            }
        }
        Ok(report)
    }

    /// Counts bytes that were written into a cache or a store in a folder of it. When an eighth of `most` was written, by whatever
    /// process, the cache is collected to `most` bytes. Counted are pieces of 64 KiB: a note is one.
    ///
    /// # Errors
    /// As [`LocalStore::gc`].
    pub fn hold_bound(&self, written: u64, most: u64) -> Result<(), StoreError> {
        let due = most / 8 / PIECE;
        // One piece more than `due` starts a collection, so more need not be written.
        let pieces = written.div_ceil(PIECE).min(due + 1);
        let path = self.tmp().join("written");
        // A byte for each piece: appending is one step, even if other processes append too.
        let count = || -> io::Result<u64> {
            fs::create_dir_all(self.tmp())?;
            let mut file = fs::File::options().append(true).create(true).open(&path)?;
            file.write_all(&vec![b'.'; usize::try_from(pieces).unwrap_or(usize::MAX)])?;
            Ok(file.metadata()?.len())
        };
        // If the count cannot be written since the disk is full, that is a reason to make room.
        if count().is_ok_and(|counted| counted <= due) {
            return Ok(());
        }
        // The count begins anew before the collection: bytes that others write meanwhile count for the next one.
        remove_file(&path)?;
        // Where another process collects now, it makes room for this one too.
        let Some(_pins) = self.try_lock_pins()? else { return Ok(()) };
        self.gc_locked(&GcOptions { max_bytes: Some(most), ..GcOptions::default() }).map(|_| ())
    }

    /// Removes a file whose checksums are wrong.
    pub(crate) fn remove_damaged(&self, id: &BuildId) -> Result<(), StoreError> {
        if let Ok(Some(map)) = self.get(id)
            && map.check().is_err()
        {
            self.remove(id)?;
        }
        Ok(())
    }

    /// Removes the file of a build id, with its index entries. `Ok(false)` if there is none. A pin does not keep it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn remove(&self, id: &BuildId) -> Result<bool, StoreError> {
        let lock = self.lock(id)?;
        let entry = Entry { id: lock.id.clone(), path: self.entry_path(id) };
        if !entry.path.parent().is_some_and(is_own_folder) || !is_own_folder(&entry.path) {
            return Ok(false);
        }
        let was_there = self.remove_locked(&entry)?;
        self.remove_markers(id)?;
        Ok(was_there)
    }

    /// Removes an entry, unless it was used since it was weighed.
    fn collect(&self, entry: &Entry, used: SystemTime) -> Result<bool, StoreError> {
        let Some(_lock) = self.try_lock(&entry.id)? else { return Ok(false) };
        match weigh(&entry.path)? {
            Some((_, now)) if now > used => Ok(false),
            _ => self.remove_locked(entry),
        }
    }

    /// Removes an entry, whose lock the caller holds. Its index entries by name stay. `Ok(false)` if it had no symbol file.
    fn remove_locked(&self, entry: &Entry) -> Result<bool, StoreError> {
        // The debug id is inside the file, so it must be read first.
        let debug_id = self.debug_id_of(&entry.id);
        let files = own_files(entry)?;
        // The file is removed first: without it the entry counts as absent.
        let is_symbols = |file: &&fs::DirEntry| is_versioned(&file.file_name(), "fsym");
        let rest = |file: &&fs::DirEntry| !is_symbols(file);
        let was_there = files.iter().any(|file| is_symbols(&file));
        for file in files.iter().filter(is_symbols).chain(files.iter().filter(rest)) {
            remove_file(&file.path())?;
        }
        remove_empty(&entry.path);
        if let Some(debug_id) = debug_id {
            self.forget_builds(&debug_id, &[&entry.id])?;
        }
        entry.path.parent().map(remove_empty);
        Ok(was_there)
    }

    /// Removes build ids from the index entry of a debug id, which other programs may have too.
    fn forget_builds(&self, debug_id: &DebugId, gone: &[&BuildId]) -> Result<(), StoreError> {
        let _lock = self.lock_index(debug_id)?;
        // A link may lead out of the store.
        let path = self.debug_path(debug_id);
        let mut folders = path.ancestors().skip(1).take_while(|folder| *folder != self.root);
        if !folders.all(is_own_folder) {
            return Ok(());
        }
        // A damaged index entry is for `check` to report.
        let Ok(there) = self.builds_of(debug_id) else { return Ok(()) };
        let rest: Vec<BuildId> = there.iter().filter(|id| !gone.contains(id)).cloned().collect();
        if rest.is_empty() {
            remove_file(&self.debug_path(debug_id))?;
            self.debug_path(debug_id).parent().map(remove_empty);
        } else if rest.len() < there.len() {
            self.place_index(debug_id, rest)?;
        }
        Ok(())
    }

    /// Removes from an old index entry of a debug id the build ids without a file. Counts the entry if nothing of it is left.
    fn sweep_debug_entry(&self, path: &Path, key: &str, litter_age: Duration) -> Result<bool, StoreError> {
        let dangles = |id: &BuildId| !self.file_path(id).exists();
        let old = |path: &Path| age(path).is_some_and(|age| age >= litter_age);
        let ids = DebugId::parse(key).ok().map(|debug_id| (debug_id, self.builds_of(&debug_id)));
        let Some((debug_id, Ok(ids))) = ids else {
            return self.sweep_entry(path, litter_age, &|| None);
        };
        if !old(path) {
            return Ok(false);
        }
        for id in ids.iter().filter(|id| dangles(id)) {
            let Some(_lock) = self.try_lock(id)? else { continue };
            // A writer may have published the file meanwhile, or another program has the index entry since.
            if dangles(id) && old(path) {
                self.forget_builds(&debug_id, &[id])?;
            }
        }
        Ok(!path.exists())
    }

    /// Removes the index entries by name of one build id. It looks into each folder of `name/`, so a collection does not call it.
    fn remove_markers(&self, id: &BuildId) -> Result<(), StoreError> {
        for name in read_own_folder(&self.name_folder())? {
            let marker = name.path().join(id.to_string());
            if is_own_folder(&name.path()) && marker.symlink_metadata().is_ok_and(|found| found.is_file()) {
                remove_file(&marker)?;
                remove_empty(&name.path());
            }
        }
        Ok(())
    }

    /// If an entry has no file, removes its reports and notes that are older than these ages.
    fn clear_notes(
        &self,
        entry: &Entry,
        report_age: Duration,
        note_age: Duration,
    ) -> Result<u64, StoreError> {
        let mut removed = 0;
        for file in own_files(entry)? {
            let name = file.file_name();
            let limit = if is_versioned(&name, "json") { report_age } else { note_age };
            if age(&file.path()).is_some_and(|age| age >= limit) {
                let Some(_lock) = self.try_lock(&entry.id)? else { continue };
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

    /// Removes temporary files and folders of killed writers.
    pub(super) fn sweep(&self, litter_age: Duration) -> Result<u64, StoreError> {
        let mut removed = 0;
        for file in read_own_folder(&self.tmp())? {
            let (path, name) = (file.path(), file.file_name());
            let is_lock = path.extension().is_some_and(|ending| ending == "lock");
            let is_ours = is_lock || name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes());
            let is_old = || age(&path).is_some_and(|age| age >= litter_age);
            if is_ours && !is_lock && file.file_type().is_ok_and(|kind| kind.is_dir()) && is_old() {
                removed += remove_scratch(&path, litter_age);
                continue;
            }
            if !is_ours || !is_file(&file) || !is_old() {
                continue;
            }
            let gone = if is_lock {
                remove_stale(&path).map_err(|error| StoreError::io(&path, "remove", error))?
            } else {
                remove_file(&path)?;
                true
            };
            removed += u64::from(gone);
        }
        Ok(removed)
    }

    /// Removes old index entries without a file, and those by name of build ids whose files this collection has removed. The latter do not
    /// count.
    fn sweep_index(&self, litter_age: Duration, collected: &BTreeSet<&BuildId>) -> Result<u64, StoreError> {
        let mut removed = 0;
        for (path, key) in self.debug_entries()? {
            removed += u64::from(self.sweep_debug_entry(&path, &key, litter_age)?);
        }
        for name in read_own_folder(&self.name_folder())? {
            for marker in read_own_folder(&name.path())? {
                if !is_file(&marker) {
                    continue;
                }
                let leads_to = || BuildId::parse(&marker.file_name().to_string_lossy()).ok();
                let is_collected = leads_to().is_some_and(|id| collected.contains(&id));
                let age = if is_collected { Duration::ZERO } else { litter_age };
                let is_gone = self.sweep_entry(&marker.path(), age, &leads_to)?;
                removed += u64::from(is_gone && !is_collected);
            }
            remove_empty(&name.path());
        }
        Ok(removed)
    }

    /// Removes one index entry if it is old and its file does not exist. One that leads to no build id stays: the store did not write it so.
    fn sweep_entry(
        &self,
        path: &Path,
        litter_age: Duration,
        leads_to: &dyn Fn() -> Option<BuildId>,
    ) -> Result<bool, StoreError> {
        let Some(id) = leads_to() else { return Ok(false) };
        let dangles = || !self.file_path(&id).exists();
        if age(path).is_none_or(|age| age < litter_age) || !dangles() {
            return Ok(false);
        }
        let lock = self.try_lock(&id)?;
        // A writer that finds an old entry keeps it: it may have published the file meanwhile, or does so now.
        if lock.is_none() || leads_to().as_ref() != Some(&id) || !dangles() {
            return Ok(false);
        }
        remove_file(path)?;
        path.parent().map(remove_empty);
        Ok(true)
    }
}

/// A candidate for removal; `None` if the entry is gone.
fn candidate<'s>(
    store: &'s LocalStore,
    entry: Entry,
    options: &GcOptions,
) -> Result<Option<Candidate<'s>>, StoreError> {
    let releases = Vec::new();
    if let Some((size, used)) = weigh(&entry.path)? {
        let published = store.published(&entry.id).unwrap_or(used);
        let mut found = Candidate { store, entry, size, used, published, releases, is_bare: false };
        if options.keep_releases.is_some() {
            // A damaged report counts as one without releases.
            let report = store.report(&found.entry.id).ok().flatten().unwrap_or_default();
            found.releases = Release::of_report(&serde_json::from_str(&report).unwrap_or_default());
        }
        return Ok(Some(found));
    }
    // The time of an entry without a file is that of its folder, which each new note changes.
    let noted = entry.path.metadata().and_then(|found| found.modified()).ok();
    let bare = |used| {
        let published = used;
        Candidate { store, entry, size: NOTE_BYTES, used, published, releases, is_bare: true }
    };
    Ok(noted.map(bare))
}

/// The bytes of an entry's files of all versions, and the time when one of them was last used; `None` if there are no files.
fn weigh(entry: &Path) -> Result<Option<(u64, SystemTime)>, StoreError> {
    let mut total: Option<(u64, SystemTime)> = None;
    for file in read_folder(entry)? {
        if !is_file(&file) || !is_versioned(&file.file_name(), "fsym") {
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

/// The files of an entry that a store wrote. A folder of another program may look like an entry: so a symbol file counts by how it begins
/// or by its report, and a report by its build id or by its symbol file.
fn own_files(entry: &Entry) -> Result<Vec<fs::DirEntry>, StoreError> {
    let mut files = read_folder(&entry.path)?;
    files.retain(|file| is_file(file) && is_known(&file.file_name()));
    let is_ours = |file: &fs::DirEntry| match is_versioned(&file.file_name(), "json") {
        true => {
            let text = read_small(&file.path()).ok().flatten().unwrap_or_default();
            let report = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
            report["build_id"] == entry.id.to_string()
        }
        false => begins_like_fsym(&file.path()),
    };
    let is_versioned = |file: &fs::DirEntry| {
        is_versioned(&file.file_name(), "fsym") || is_versioned(&file.file_name(), "json")
    };
    let own: BTreeSet<OsString> = files
        .iter()
        .filter(|file| is_versioned(file) && is_ours(file))
        .map(|file| file.path().with_extension("").into_os_string())
        .collect();
    files.retain(|file| !is_versioned(file) || own.contains(file.path().with_extension("").as_os_str()));
    Ok(files)
}

/// True too for a file of which a crash of the system left nothing: no bytes, or zeros.
fn begins_like_fsym(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = open_regular(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut first));
    read.is_ok() && (first == MAGIC || first.iter().all(|byte| *byte == 0))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::files::LISTED;

    /// Removing an entry lists no folders of other entries.
    #[test]
    fn the_folders_that_a_collection_lists_are_in_proportion_to_its_entries() {
        let listed_for = |entries: u8| {
            let folder = tempfile::tempdir().unwrap();
            let store = LocalStore::create(folder.path()).unwrap();
            for number in 0..entries {
                let id = BuildId::new(&[0xab, number, 1]).unwrap();
                let marker = store.name_folder().join(format!("lib{number}")).join(id.to_string());
                for path in [store.file_path(&id), marker] {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    // It begins as a symbol file, and goes no further.
                    fs::write(path, MAGIC).unwrap();
                }
            }
            LISTED.set(0);
            let options = GcOptions { max_bytes: Some(0), ..GcOptions::default() };
            assert_eq!(store.gc(&options).unwrap().removed.len(), usize::from(entries));
            assert!(!store.name_folder().join("lib0").exists());
            LISTED.get()
        };
        let (few, many) = (listed_for(10), listed_for(80));
        assert!(many <= 8 * few, "{many} entries of folders, {few} for an eighth");
    }
}
