//! Publishes a finished file: checks it, syncs it to the disk, and gives it its name in one step.
//!
//! The order makes a kill at any point harmless. First the whole file is written to the disk under a temporary name. Then the index entries
//! are written; until the file exists they count as absent. The link to the final name comes last, so every entry with a file has its index
//! entries. A writer that finds an existing file still writes missing index entries.
//!
//! A file without a build id belongs to its report. Where it is replaced, the old report names the new file too before the file changes,
//! and the new report follows: a reader finds a report that fits at any time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use foldsym_format::header::VERSION;
use serde_json::{Map, Value, json};
use tempfile::{TempDir, TempPath};

use super::absent::{MALFORMED, MISSING};
use super::files::{make_folder, safe_name, touch};
use super::lock::EntryLock;
use super::store::LocalStore;
use crate::completeness::Completeness;
use crate::error::StoreError;
use crate::id::{BuildId, DebugId};
use crate::mapped::kind_text;
use crate::release::{Release, adding, to_json};
use crate::symbol_map::SymbolMap;

/// How often the folder of an entry may vanish while a file is linked into it: garbage collection removes empty folders.
const ATTEMPTS: u32 = 100;
/// How often a writer looks for temporary files of killed writers.
const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// The data that is kept with a published file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EntryInfo {
    /// The program's file name, for people. A name that cannot be the name of a file gets no index entry.
    pub name: Option<String>,
    /// The name and version of the converter.
    pub converter: Option<String>,
    /// The identity of a program without a build id: a hash of its contents. It does not count if the file has a build id.
    pub derived_id: Option<BuildId>,
    /// Releases that the program belongs to. They are added to those that the store's entry has.
    pub releases: Vec<Release>,
    /// The debug id by which crash reporters know such a program, see [`text_id`](crate::text_id). If it is `None`, the debug id follows
    /// from the derived id.
    pub debug_id: Option<DebugId>,
    /// How complete the file is. The report has it, so that it is known without the file.
    pub completeness: Option<Completeness>,
    /// Further data for the report, under the key `conversion`.
    pub conversion: Option<Value>,
    /// Replace a file with other bytes, and the report that is there.
    pub replace: bool,
}

impl EntryInfo {
    /// The debug id of a file that is published under this id.
    pub(crate) fn debug_id_of(&self, id: &BuildId, map: &SymbolMap) -> DebugId {
        let given = self.debug_id.filter(|_| map.file().build_id().is_empty());
        given.unwrap_or_else(|| DebugId::of_file(id, map.file()))
    }
}

/// The result of publishing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Published {
    /// The store did not have the file.
    New(BuildId),
    /// The store has the same bytes already.
    Existing(BuildId),
    /// The file replaced a damaged one, or, with [`EntryInfo::replace`], one with other bytes.
    Replaced(BuildId),
}

impl Published {
    /// The identity.
    pub fn id(&self) -> &BuildId {
        match self {
            Self::New(id) | Self::Existing(id) | Self::Replaced(id) => id,
        }
    }

    /// The word for it in JSON: `new`, `existing`, `replaced`.
    pub fn text(&self) -> &'static str {
        match self {
            Self::New(_) => "new",
            Self::Existing(_) => "existing",
            Self::Replaced(_) => "replaced",
        }
    }
}

impl EntryLock<'_> {
    /// Publishes the file of this build id, as [`LocalStore::publish`] does.
    ///
    /// # Errors
    /// As there; or the file belongs to another program.
    pub fn publish<E: From<StoreError>>(
        &self,
        info: &EntryInfo,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Published, E> {
        let made = self.store.make(info, make)?;
        Ok(self.commit(&made, info)?)
    }
}

impl LocalStore {
    /// Publishes a copy of a `.fsym` file under the build id inside it.
    ///
    /// # Errors
    /// As [`LocalStore::publish`].
    pub fn add(&self, file: &Path, info: &EntryInfo) -> Result<Published, StoreError> {
        // Before the file is opened: opening a FIFO would wait for its writer.
        match file.metadata() {
            Ok(found) if found.is_file() => {}
            Ok(found) => {
                let found = kind_text(found.file_type());
                return Err(StoreError::NotAFile { path: file.to_owned(), found });
            }
            Err(error) => return Err(StoreError::io(file, "open", error)),
        }
        self.publish(info, |to| {
            let mut from = File::open(file).map_err(|error| StoreError::io(file, "open", error))?;
            let copied = File::options()
                .write(true)
                .truncate(true)
                .open(to)
                .and_then(|mut out| io::copy(&mut from, &mut out));
            copied.map(|_| ()).map_err(|error| StoreError::io(to, "write", error))
        })
    }

    /// Publishes the `.fsym` that `make` writes, under the build id inside it. `make` gets the path of an empty file in the store's folder for
    /// temporary files, and may also replace that file by a rename.
    ///
    /// The whole file is checked before it is published, and is synced to the disk when this returns. If the store has the same bytes
    /// already, that is success. Work that a killed writer left unfinished is done again.
    ///
    /// # Errors
    /// The errors of `make`; the file is damaged, or has no build id and `info` gives none; the store has other bytes for this id; or the
    /// store cannot be written. Nothing is published then, and no temporary file stays.
    pub fn publish<E: From<StoreError>>(
        &self,
        info: &EntryInfo,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Published, E> {
        let made = self.make(info, make)?;
        let lock = self.lock(&made.id)?;
        Ok(lock.commit(&made, info)?)
    }

    /// Has a file made in `tmp/`, forces it to the disk, and checks it.
    pub(crate) fn make<E: From<StoreError>>(
        &self,
        info: &EntryInfo,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Made, E> {
        self.sweep_sometimes();
        let path = self.temporary()?;
        make(&path)?;
        Ok(Made::of(path, info)?)
    }

    /// A place for a file on the store's disk: a folder in `tmp/`.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn scratch(&self) -> Result<Scratch, StoreError> {
        let tmp = self.tmp();
        make_folder(&tmp)?;
        let made = tempfile::Builder::new().prefix(super::gc::TEMPORARY).tempdir_in(&tmp);
        made.map(Scratch).map_err(|error| StoreError::io(&tmp, "write to", error))
    }

    /// Makes an empty file in `tmp/`, which is removed when the value is dropped.
    fn temporary(&self) -> Result<TempPath, StoreError> {
        let tmp = self.tmp();
        make_folder(&tmp)?;
        let made = tempfile::Builder::new().prefix(super::gc::TEMPORARY).make_in(&tmp, |path| {
            let mut options = File::options();
            options.write(true).create_new(true);
            #[cfg(unix)]
            {
                use std::os::unix::fs::OpenOptionsExt;
                // The mode of a plain `open`; the process's umask clears some of its bits. Other users should be able to read the file.
                options.mode(0o666);
            }
            options.open(path)
        });
        made.map(|file| file.into_temp_path()).map_err(|error| StoreError::io(&tmp, "write to", error))
    }
}

/// A folder in `tmp/` for one file. It is removed when the value is dropped; what a killed process leaves of it, a garbage collection
/// removes.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Where the file may be made. Nothing is there yet.
    pub fn file(&self) -> PathBuf {
        self.0.path().join(super::gc::SCRATCH_FILE)
    }
}

/// A finished file in `tmp/` that is sound, and its identity. The file goes with it, unless it gets a name.
pub(crate) struct Made {
    path: TempPath,
    pub(crate) map: SymbolMap,
    pub(crate) id: BuildId,
}

impl Made {
    fn of(path: TempPath, info: &EntryInfo) -> Result<Self, StoreError> {
        // The file is synced before it gets its name: after a power failure no name may lead to missing bytes.
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(|error| StoreError::io(&path, "write", error))?;
        let map = SymbolMap::open(&path)?;
        map.file().verify().map_err(|error| StoreError::damaged(&path, error))?;
        let id = identity(&map, info)?;
        Ok(Self { path, map, id })
    }

    /// The report of the file: the text of a JSON object.
    pub(crate) fn report(&self, info: &EntryInfo) -> String {
        report(&self.id, &self.map, info)
    }
}

impl EntryLock<'_> {
    /// Refuses a file of another program than the lock's.
    pub(crate) fn expect(&self, made: &Made) -> Result<(), StoreError> {
        if made.id == self.id {
            return Ok(());
        }
        Err(StoreError::wrong_id(&made.path, &self.id, made.map.file().build_id()))
    }

    /// Gives a finished file its name.
    pub(crate) fn commit(&self, made: &Made, info: &EntryInfo) -> Result<Published, StoreError> {
        self.expect(made)?;
        self.store.commit(&made.path, &made.map, info, &self.id)
    }
}

impl LocalStore {
    /// The caller holds the lock of `id`.
    fn commit(
        &self,
        made: &Path,
        map: &SymbolMap,
        info: &EntryInfo,
        id: &BuildId,
    ) -> Result<Published, StoreError> {
        let path = self.file_path(id);
        // Only the holder of the lock replaces a file, so a file that is found here stays.
        let there = match self.get(id) {
            Ok(None) => None,
            Ok(Some(there)) if there.bytes() == map.bytes() => {
                self.write_index(id, map, info)?;
                if info.replace || self.report(id)?.is_none() {
                    self.write_report(id, map, info)?;
                } else {
                    self.note(id, info)?;
                }
                // A garbage collection that has listed the file already then does not remove it.
                let _ = touch(&path);
                return Ok(Published::Existing(id.clone()));
            }
            Ok(Some(there)) if !info.replace => {
                let (there, new) = (there.bytes().len() as u64, map.bytes().len() as u64);
                return Err(StoreError::Differs { path, there, new });
            }
            Ok(Some(there)) => Some(there),
            Err(error) if error.is_damage() => {
                // A store makes no folder there, and `remove_file` cannot remove one.
                if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                    return Err(error);
                }
                let _ = fs::remove_file(&path);
                self.place_entry(made, map, info, id)?;
                return Ok(Published::Replaced(id.clone()));
            }
            Err(error) => return Err(error),
        };
        if there.is_some() {
            self.write_index(id, map, info)?;
            if map.file().build_id().is_empty() {
                self.announce(id, map)?;
            }
            fs::rename(made, &path).map_err(|error| StoreError::io(&path, "replace", error))?;
            self.write_report(id, map, info)?;
            sync_folder(path.parent());
            return Ok(Published::Replaced(id.clone()));
        }
        self.place_entry(made, map, info, id)?;
        Ok(Published::New(id.clone()))
    }

    /// Writes index and report, and then links the file, for an entry without a file.
    fn place_entry(
        &self,
        made: &Path,
        map: &SymbolMap,
        info: &EntryInfo,
        id: &BuildId,
    ) -> Result<(), StoreError> {
        self.write_index(id, map, info)?;
        self.write_report(id, map, info)?;
        let path = self.file_path(id);
        self.link(made, &path)?;
        // Until the file has its name, the notes are still true.
        for note in [MISSING, MALFORMED] {
            let _ = fs::remove_file(self.entry_path(id).join(note));
        }
        sync_folder(path.parent());
        // The entry's folder may be new, and its name is in the folder above.
        sync_folder(path.parent().and_then(Path::parent));
        Ok(())
    }

    /// Has the report of a file name the file that replaces it next.
    fn announce(&self, id: &BuildId, next: &SymbolMap) -> Result<(), StoreError> {
        let old = self.report(id)?.and_then(|text| serde_json::from_str::<Map<_, _>>(&text).ok());
        let mut report = old.unwrap_or_default();
        report.insert("build_id".into(), json!(id.to_string()));
        report.insert("next".into(), json!({ "size": next.bytes().len(), "checksum": next.checksum() }));
        self.place_text(&self.report_path(id), &format!("{}\n", Value::Object(report)), true)
    }

    /// The index entries that lead to a file: by debug id, and by name for people.
    pub(crate) fn write_index(
        &self,
        id: &BuildId,
        map: &SymbolMap,
        info: &EntryInfo,
    ) -> Result<(), StoreError> {
        let debug_id = info.debug_id_of(id, map);
        let lock = self.lock_index(&debug_id)?;
        let there = match self.builds_of(&debug_id) {
            Err(error) if error.is_damage() => Vec::new(),
            other => other?,
        };
        if !there.contains(id) {
            // Another program may have this debug id. One without a file may be about to be published.
            let mut ids: Vec<BuildId> = there
                .into_iter()
                .filter(|other| self.debug_id_of(other).is_none_or(|of| of == debug_id))
                .collect();
            ids.push(id.clone());
            self.place_index(&debug_id, ids)?;
        }
        drop(lock);
        self.forget_missing_debug_id(&debug_id);
        self.write_name(id, info)
    }

    /// The index entry by name. A program has one for each of its names.
    fn write_name(&self, id: &BuildId, info: &EntryInfo) -> Result<(), StoreError> {
        match info.name.as_deref().and_then(safe_name) {
            Some(name) => self.place_text(&self.name_folder().join(name).join(id.to_string()), "", false),
            None => Ok(()),
        }
    }

    /// Writes the index entry of a debug id, whose lock the caller holds.
    pub(super) fn place_index(&self, debug_id: &DebugId, mut ids: Vec<BuildId>) -> Result<(), StoreError> {
        // In one order, whatever the order of the writers.
        ids.sort();
        let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
        self.place_text(&self.debug_path(debug_id), &text, true)
    }

    fn write_report(&self, id: &BuildId, map: &SymbolMap, info: &EntryInfo) -> Result<(), StoreError> {
        let mut text = report(id, map, info);
        // What replaces a file is of the same releases, and the same program.
        let old = self.report(id).ok().flatten().and_then(|old| serde_json::from_str::<Value>(&old).ok());
        let old = old.unwrap_or_default();
        text = adding(&text, old["name"].as_str(), &Release::of_report(&old)).unwrap_or(text);
        self.place_text(&self.report_path(id), &text, true)
    }

    /// Adds the name and the releases of a program to the entry of a build id, whose lock the caller holds.
    pub(crate) fn note(&self, id: &BuildId, info: &EntryInfo) -> Result<(), StoreError> {
        self.write_name(id, info)?;
        // The index by debug id may have been lost. An entry that several programs share is not made again of one of them.
        if let Ok(Some(map)) = self.inspect(id)
            && map.build_id().is_some()
            && !self.builds_of(&self.debug_id_in(id, &map)).is_ok_and(|ids| ids.contains(id))
        {
            let info = EntryInfo { debug_id: Some(self.debug_id_in(id, &map)), ..info.clone() };
            self.write_index(id, &map, &info)?;
        }
        match self.report(id)?.and_then(|report| adding(&report, info.name.as_deref(), &info.releases)) {
            Some(report) => {
                self.place_text(&self.report_path(id), &report, true)?;
                // A collection that has read the old report already then does not remove the file.
                let _ = touch(&self.file_path(id));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Writes a small file, whole or not at all. Without `replace`, a file that is there already stays.
    pub(super) fn place_text(&self, path: &Path, text: &str, replace: bool) -> Result<(), StoreError> {
        if !replace && path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return Ok(());
        }
        let made = self.temporary()?;
        let written = File::options().write(true).open(&made).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| StoreError::io(&made, "write", error))?;
        if !replace {
            return self.link(&made, path);
        }
        for _ in 0..ATTEMPTS {
            if let Some(parent) = path.parent() {
                make_folder(parent)?;
            }
            match fs::rename(&made, path) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(StoreError::io(path, "write", error)),
            }
        }
        Err(vanished(path))
    }

    /// Links a finished file to its name. If another writer has linked a file to that name, that is success, too.
    fn link(&self, made: &Path, path: &Path) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            if let Some(parent) = path.parent() {
                make_folder(parent)?;
            }
            match fs::hard_link(made, path) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let there =
                        path.symlink_metadata().map_err(|error| StoreError::io(path, "read", error))?;
                    if !there.is_file() {
                        let found = kind_text(there.file_type());
                        return Err(StoreError::NotAFile { path: path.to_owned(), found });
                    }
                    return Ok(());
                }
                // Garbage collection removed the folder, which was empty.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // The file system has no hard links. A `.fsym` file is linked under the lock of its entry, so the rename replaces none. It
                // may replace a small text that another writer has just placed, which is as good.
                Err(error) if error.kind() == io::ErrorKind::Unsupported || no_links(&error) => {
                    let renamed = fs::rename(made, path);
                    return renamed.map_err(|error| StoreError::io(path, "write", error));
                }
                Err(error) => return Err(StoreError::io(path, "write", error)),
            }
        }
        Err(vanished(path))
    }

    /// Removes temporary files of killed writers, once an hour.
    fn sweep_sometimes(&self) {
        let stamp = self.tmp().join("swept");
        let due = match stamp.metadata().and_then(|found| found.modified()) {
            // A time in the future is that of a wrong clock.
            Ok(swept) => swept.elapsed().map_or(true, |age| age > SWEEP_EVERY),
            Err(_) => true,
        };
        if due {
            // Errors are ignored here: if the store cannot be written, the publication fails next.
            // The stamp is written first, so that other writers do not sweep at the same time.
            let _ = make_folder(&self.tmp()).map(|()| fs::write(&stamp, ""));
            let _ = self.sweep(crate::policy::LITTER_AGE);
        }
    }
}

fn report(id: &BuildId, map: &SymbolMap, info: &EntryInfo) -> String {
    let mut report = Map::new();
    report.insert("format".into(), json!(VERSION));
    report.insert("build_id".into(), json!(id.to_string()));
    report.insert("derived_id".into(), json!(map.file().build_id().is_empty()));
    report.insert("debug_id".into(), json!(info.debug_id_of(id, map).to_string()));
    report.insert("size".into(), json!(map.bytes().len()));
    report.insert("checksum".into(), json!(map.checksum()));
    report.insert("name".into(), json!(info.name));
    report.insert("converter".into(), json!(info.converter));
    report.insert("functions".into(), json!(map.file().records().function_count()));
    report.insert("groups".into(), json!(map.file().records().group_count()));
    if !info.releases.is_empty() {
        report.insert("releases".into(), to_json(&info.releases));
    }
    if let Some(completeness) = &info.completeness {
        completeness.put(&mut report);
    }
    if let Some(conversion) = &info.conversion {
        report.insert("conversion".into(), conversion.clone());
    }
    format!("{}\n", Value::Object(report))
}

/// The identity under which a file is published.
fn identity(map: &SymbolMap, info: &EntryInfo) -> Result<BuildId, StoreError> {
    match (map.file().build_id(), &info.derived_id) {
        ([], Some(derived)) => Ok(derived.clone()),
        ([], None) => Err(StoreError::NoId { path: map.path().to_owned() }),
        (inside, _) => Ok(BuildId::new(inside)?),
    }
}

/// Syncs a folder's list of names to the disk. Errors are ignored: the names are lost only if the machine stops now.
fn sync_folder(path: Option<&Path>) {
    if let Some(path) = path.filter(|_| cfg!(unix)) {
        let _ = File::open(path).and_then(|folder| folder.sync_all());
    }
}

/// True for `EPERM`, which Linux returns if a file system has no hard links.
fn no_links(error: &io::Error) -> bool {
    cfg!(target_os = "linux") && error.raw_os_error() == Some(1)
}

fn vanished(path: &Path) -> StoreError {
    let error = io::Error::other(format!("its folder was removed {ATTEMPTS} times meanwhile"));
    StoreError::io(&PathBuf::from(path), "write", error)
}
