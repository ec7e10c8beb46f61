//! The paths of a store's files, and how a file is opened.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use foldsym_format::header::VERSION;
use serde_json::Value;

use super::files::{is_own_folder, make_folder, read_folder, read_own_folder, read_small, touch};
use crate::completeness::Completeness;
use crate::error::StoreError;
use crate::id::{BuildId, DebugId, IdError, ModuleId};
use crate::mapped::kind_text;
use crate::symbol_map::SymbolMap;

/// The contents of the file `format`.
const FORMAT: &str = "fsym-store 1\n";
/// Folders of a cache, with stores in them: one for each other set of options, and one for each remote store.
const PARTS: [&str; 2] = ["with", "remote"];
/// How often a reader opens a file and its report that do not belong together before it says so.
const LOOKS: u32 = 10;
/// How often the use of a file is recorded.
const USE_EVERY: Duration = Duration::from_secs(3600);

/// A store in a folder. Any number of processes may read and write one at the same time.
#[derive(Clone, Debug)]
pub struct LocalStore {
    pub(super) root: PathBuf,
}

impl LocalStore {
    /// Opens a store that exists.
    ///
    /// # Errors
    /// The folder does not exist, is not a store of this layout, or everybody may write to it.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        check_root(root, 0o002)?;
        let store = Self { root: root.to_owned() };
        store.check_format()?;
        Ok(store)
    }

    /// Opens a store, or makes one in a folder that is empty or does not exist. The folder's parents are made, too.
    ///
    /// # Errors
    /// As [`LocalStore::open`]; or the folder contains something else, or cannot be written.
    pub fn create(root: &Path) -> Result<Self, StoreError> {
        make_folder(root)?;
        let store = Self { root: root.to_owned() };
        if !store.format_path().exists() {
            store.found()?;
        }
        Self::open(root)
    }

    /// As [`LocalStore::create`], for one user: the folder must belong to the user, and no other user may write to it.
    ///
    /// # Errors
    /// As [`LocalStore::create`]; or the folder belongs to another user, or its group may write to it.
    pub fn create_private(root: &Path) -> Result<Self, StoreError> {
        // A mask of 002 would let the group write to the folders. An error comes back from what follows.
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt;
            let _ = fs::DirBuilder::new().recursive(true).mode(0o755).create(root);
        }
        let store = Self::create(root)?;
        check_root(root, 0o022)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let found = root.metadata().map_err(|error| StoreError::io(root, "read", error))?;
            if found.uid() != rustix::process::geteuid().as_raw() {
                let why = "the folder of a cache must belong to the user who runs this";
                return Err(StoreError::Untrusted { path: root.to_owned(), why });
            }
        }
        Ok(store)
    }

    /// The store in a folder of this one that keeps programs converted with other options, which `key` names; it is made if missing.
    /// [`LocalStore::check`] and [`LocalStore::gc`] of this store cover it.
    ///
    /// # Errors
    /// As [`LocalStore::create_private`].
    pub fn with_options(&self, key: &str) -> Result<Self, StoreError> {
        Self::create_private(&self.root.join("with").join(key))
    }

    /// The store in a folder of this one that keeps the files fetched from a remote store. `key` distinguishes remote stores; `location` is
    /// for people.
    pub(crate) fn of_remote(&self, key: &str, location: &str) -> Result<Self, StoreError> {
        let store = Self::create_private(&self.root.join("remote").join(key))?;
        store.place_text(&store.root.join("location"), &format!("{location}\n"), false)?;
        Ok(store)
    }

    /// The stores in folders of this one. A folder without a file `format` is not one yet.
    pub(super) fn parts(&self) -> Result<Vec<Self>, StoreError> {
        let mut parts = Vec::new();
        for kind in PARTS {
            let folders = read_own_folder(&self.root.join(kind))?;
            let stores = folders.iter().map(|folder| Self { root: folder.path() });
            parts.extend(stores.filter(|store| is_own_folder(&store.root) && store.format_path().exists()));
        }
        Ok(parts)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens the file of a build id. `Ok(None)` if the store has none. Takes constant time and no lock, and lists no folder.
    ///
    /// Records the use, at most once an hour, for [`LocalStore::gc`]. If the store cannot be written, the file is opened nevertheless.
    ///
    /// # Errors
    /// The file cannot be read, is not a regular file, is damaged at its beginning, or belongs to another program.
    pub fn get(&self, id: &BuildId) -> Result<Option<SymbolMap>, StoreError> {
        let found = self.inspect(id)?;
        if let Some(map) = &found {
            note_use(map.path());
        }
        Ok(found)
    }

    /// As [`LocalStore::get`], for maintenance: it does not record a use of the file.
    ///
    /// # Errors
    /// As [`LocalStore::get`].
    pub fn inspect(&self, id: &BuildId) -> Result<Option<SymbolMap>, StoreError> {
        let path = self.file_path(id);
        let mut looked = 0;
        loop {
            // A store makes no symbolic links. A link could lead to a file that changes while it is mapped.
            let Some(map) = SymbolMap::open_if_there(&path, false)? else { return Ok(None) };
            let inside = map.file().build_id();
            if inside == id.as_bytes() || (inside.is_empty() && self.derived(&map, id)?) {
                return Ok(Some(map));
            }
            // A file without a build id and its report are two files. A writer may have replaced or removed both between the two reads.
            looked += 1;
            if !inside.is_empty() || looked == LOOKS {
                return Err(StoreError::wrong_id(map.path(), id, inside));
            }
        }
    }

    /// The debug id of a build id's file. `None` if there is no file, or it cannot be read.
    pub(super) fn debug_id_of(&self, id: &BuildId) -> Option<DebugId> {
        let map = self.inspect(id).ok().flatten()?;
        Some(self.debug_id_in(id, &map))
    }

    /// The debug id of a file: it follows from the build id inside. For a program without one the report has it.
    pub(crate) fn debug_id_in(&self, id: &BuildId, map: &SymbolMap) -> DebugId {
        let reported = || {
            let report = self.report(id).ok().flatten()?;
            let report = serde_json::from_str::<Value>(&report).ok()?;
            DebugId::parse(report["debug_id"].as_str()?).ok()
        };
        let reported = if map.file().build_id().is_empty() { reported() } else { None };
        reported.unwrap_or_else(|| DebugId::of_file(id, map.file()))
    }

    /// Opens the file of a debug id, by way of the index. `Ok(None)` if the store has none.
    ///
    /// # Errors
    /// As [`LocalStore::get`]; or the index entry is damaged, or refers to a program with another debug id; or several programs have this
    /// debug id.
    pub fn get_by_debug_id(&self, debug_id: &DebugId) -> Result<Option<SymbolMap>, StoreError> {
        let Some(id) = self.build_id_of(debug_id)? else { return Ok(None) };
        let Some(map) = self.get(&id)? else { return Ok(None) };
        let found = self.debug_id_in(&id, &map);
        if found != *debug_id {
            let (expected, found) = (debug_id.to_string(), found.to_string());
            return Err(StoreError::WrongId { path: self.debug_path(debug_id), expected, found });
        }
        Ok(Some(map))
    }

    /// Opens the file of a module. A build id of 16 bytes that no file has may be the one that crash reporters derive from the code of a
    /// program without a build id: then it is that program's file.
    ///
    /// # Errors
    /// As [`LocalStore::get`] and [`LocalStore::get_by_debug_id`].
    pub fn get_module(&self, id: &ModuleId) -> Result<Option<SymbolMap>, StoreError> {
        let found = match id {
            ModuleId::Build(id) => self.get(id)?,
            ModuleId::Debug(id) => self.get_by_debug_id(id)?,
        };
        match (found, id.of_code()) {
            (None, Some(debug_id)) => {
                let found = self.get_by_debug_id(&debug_id)?;
                Ok(found.filter(|map| map.file().build_id().is_empty()))
            }
            (found, _) => Ok(found),
        }
    }

    /// The build id that the index has for a debug id. `Ok(None)` if it has none. The file of the build id may not exist any more.
    ///
    /// # Errors
    /// The index entry cannot be read, or has no build id; or several programs with files have this debug id.
    pub fn build_id_of(&self, debug_id: &DebugId) -> Result<Option<BuildId>, StoreError> {
        let mut ids = self.builds_of(debug_id)?;
        if ids.len() > 1 {
            // Those without a file were removed, or are about to be published.
            let with_file = |id: &&BuildId| self.debug_id_of(id).as_ref() == Some(debug_id);
            let with_file: Vec<BuildId> = ids.iter().filter(with_file).cloned().collect();
            if with_file.len() > 1 {
                return Err(self.several(debug_id, &with_file));
            }
            ids = if with_file.is_empty() { ids } else { with_file };
        }
        Ok(ids.into_iter().next())
    }

    /// All build ids that the index has for a debug id, with or without files.
    pub(crate) fn builds_of(&self, debug_id: &DebugId) -> Result<Vec<BuildId>, StoreError> {
        let path = self.debug_path(debug_id);
        let Some(text) = read_small(&path)? else { return Ok(Vec::new()) };
        builds_in(&text).map_err(|error| StoreError::damaged(&path, error))
    }

    /// The error that names the programs of one debug id.
    pub(crate) fn several(&self, debug_id: &DebugId, ids: &[BuildId]) -> StoreError {
        // A message has room for a few names.
        const SHOWN: usize = 8;
        let named = |id: &BuildId| {
            let report = self.report(id).ok().flatten();
            let report =
                report.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
            format!("{} ({id})", report["name"].as_str().unwrap_or("?"))
        };
        let mut programs: Vec<String> = ids.iter().take(SHOWN).map(named).collect();
        if ids.len() > SHOWN {
            programs.push(format!("{} more", ids.len() - SHOWN));
        }
        StoreError::Several { id: debug_id.to_string(), programs }
    }

    /// The report that was published with a file: the text of a JSON object. `Ok(None)` if there is none.
    ///
    /// # Errors
    /// The report cannot be read.
    pub fn report(&self, id: &BuildId) -> Result<Option<String>, StoreError> {
        read_small(&self.report_path(id))
    }

    /// How complete the file of a build id is, by its report alone. `Ok(None)` if there is no report, or the file was published without
    /// it.
    ///
    /// # Errors
    /// As [`LocalStore::report`].
    pub fn completeness(&self, id: &BuildId) -> Result<Option<Completeness>, StoreError> {
        let report = self.report(id)?.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        Ok(report.as_ref().and_then(Completeness::of_report))
    }

    /// As [`LocalStore::completeness`], but `None` if the report is not of these very bytes, as after a writer was killed.
    pub(crate) fn completeness_of(
        &self,
        id: &BuildId,
        map: &SymbolMap,
    ) -> Result<Option<Completeness>, StoreError> {
        let report = self.report(id)?.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        Ok(report.filter(|report| is_of(report, map)).as_ref().and_then(Completeness::of_report))
    }

    /// The path of a build id's file, whether or not it exists.
    pub fn file_path(&self, id: &BuildId) -> PathBuf {
        self.entry_path(id).join(file_name())
    }

    pub(super) fn report_path(&self, id: &BuildId) -> PathBuf {
        self.entry_path(id).join(format!("v{VERSION}.json"))
    }

    pub(super) fn entry_path(&self, id: &BuildId) -> PathBuf {
        // A build id has at least 2 bytes, so there are at least 4 digits.
        let key = id.to_string();
        self.root.join(&key[..2]).join(&key[2..])
    }

    pub(super) fn debug_path(&self, debug_id: &DebugId) -> PathBuf {
        let key = debug_id.key();
        self.debug_folder().join(&key[..2]).join(&key[2..])
    }

    pub(super) fn debug_folder(&self) -> PathBuf {
        self.root.join("debugid")
    }

    pub(super) fn name_folder(&self) -> PathBuf {
        self.root.join("name")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub(super) fn format_path(&self) -> PathBuf {
        self.root.join("format")
    }

    /// A file without a build id counts as what its report says, if the report is of these very bytes. While a writer replaces the file,
    /// the report names both.
    fn derived(&self, map: &SymbolMap, id: &BuildId) -> Result<bool, StoreError> {
        let Some(text) = self.report(id)? else { return Ok(false) };
        let Ok(report) = serde_json::from_str::<Value>(&text) else { return Ok(false) };
        let is_file = report["derived_id"] == true && is_of(&report, map);
        Ok(report["build_id"] == id.to_string() && (is_file || is_of(&report["next"], map)))
    }

    pub(super) fn check_format(&self) -> Result<(), StoreError> {
        let found = match read_small(&self.format_path())? {
            Some(text) if text == FORMAT => return Ok(()),
            Some(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
            None => "no such file".to_owned(),
        };
        Err(StoreError::NotAStore { path: self.root.clone(), found })
    }

    /// Makes a store in an empty folder. Other processes may do the same at this moment.
    pub(super) fn found(&self) -> Result<(), StoreError> {
        // `tmp` is made before `format`. If a store inside a cache was made first, the cache has a folder of `PARTS` and no `format` yet.
        let ours = ["tmp", "format", "location"];
        for entry in read_folder(&self.root)? {
            if !ours.iter().chain(&PARTS).any(|name| entry.file_name() == *name) {
                // Another process made the store since, and has a file in it already.
                if self.format_path().exists() {
                    return Ok(());
                }
                let found = format!("a folder that holds {:?}", entry.file_name());
                return Err(StoreError::NotAStore { path: self.root.clone(), found });
            }
        }
        self.place_text(&self.format_path(), FORMAT, false)
    }
}

/// True if a report, or the part of it about the next file, is about these bytes.
pub(crate) fn is_of(report: &Value, map: &SymbolMap) -> bool {
    report["checksum"] == map.checksum() && report["size"] == map.bytes().len()
}

/// The build ids of an index entry, one a line; at least one.
pub(crate) fn builds_in(text: &str) -> Result<Vec<BuildId>, IdError> {
    text.trim_end().split('\n').map(BuildId::parse).collect()
}

/// The name of a file of this version of the format. Another version has another name.
pub(super) fn file_name() -> String {
    format!("v{VERSION}.fsym")
}

/// Refuses a folder whose mode has one of these bits.
fn check_root(root: &Path, refused: u32) -> Result<(), StoreError> {
    // The root itself may be a symbolic link: the folder that it leads to is checked.
    let found = root.metadata().map_err(|error| StoreError::io(root, "open", error))?;
    if !found.is_dir() {
        let found = format!("{}, not a folder", kind_text(found.file_type()));
        return Err(StoreError::NotAStore { path: root.to_owned(), found });
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let mode = found.mode() & refused;
        if mode != 0 {
            let why = if mode & 0o002 != 0 {
                "everybody may write to it (chmod o-w)"
            } else {
                "its group may write to it (chmod g-w)"
            };
            return Err(StoreError::Untrusted { path: root.to_owned(), why });
        }
    }
    #[cfg(not(unix))]
    let _ = refused;
    Ok(())
}

/// Records that a file was used, so that garbage collection can remove unused files.
fn note_use(path: &Path) {
    let age = path.metadata().and_then(|found| found.modified()).map(|used| used.elapsed());
    if matches!(age, Ok(Ok(age)) if age > USE_EVERY) {
        // An error is ignored: a reader may not be allowed to write.
        let _ = touch(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_another_process_makes_meanwhile_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = LocalStore { root: folder.path().to_owned() };
        // Neither process saw a file `format`. The other one made it, and published a file, before this one lists the folder.
        LocalStore::create(folder.path()).unwrap();
        make_folder(&folder.path().join("ab/cdef")).unwrap();
        store.found().unwrap();
        fs::remove_file(store.format_path()).unwrap();
        assert!(store.found().unwrap_err().to_string().contains("a folder that holds \"ab\""));
    }
}
