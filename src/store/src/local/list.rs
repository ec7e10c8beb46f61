//! Lists and checks a whole store. Opening a file never needs this.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::absent::{MALFORMED, MISSING, MISSING_DEBUG_ID};
use super::files::{kind_of, read_folder, read_own_folder, read_small, safe_name};
use super::store::{LocalStore, file_name};
use crate::error::StoreError;
use crate::id::{BuildId, DebugId};

/// The contents of a store's folder that are not entries.
const OWN: [&str; 9] =
    ["format", "debugid", "name", "pins", "tmp", "with", "remote", "location", SEARCH_INDEXES];

/// The folder of a cache that has the indexes of folders that are searched for programs. The store reads none of them.
pub const SEARCH_INDEXES: &str = "search";

/// A file of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The identity, taken from the path.
    pub id: BuildId,
    /// Its path.
    pub path: PathBuf,
    /// Its bytes.
    pub size: u64,
    /// When it was last used, to the hour. For a file that was not used yet, and in a remote store, when it was published.
    pub used: SystemTime,
    /// When it was published, or added to a further release.
    pub published: SystemTime,
}

/// A problem in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file or folder.
    pub path: PathBuf,
    /// The fault, without the path.
    pub message: String,
}

/// The result of checking a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// The number of undamaged files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// All problems, by path.
    pub problems: Vec<Problem>,
}

/// The folder of one build id.
pub(super) struct Entry {
    pub(super) id: BuildId,
    pub(super) path: PathBuf,
}

impl LocalStore {
    /// The files of this version of the format, by build id, without those of stores in folders of this one. Other files are left out:
    /// [`LocalStore::check`] names them.
    ///
    /// # Errors
    /// A folder of the store cannot be listed.
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let mut listed = Vec::new();
        for entry in self.entries(&mut |_, _| {})? {
            let path = entry.path.join(file_name());
            // The file was removed meanwhile, or never published.
            let Ok(found) = path.symlink_metadata() else { continue };
            if let (true, Ok(used)) = (found.is_file(), found.modified()) {
                let published = self.published(&entry.id).unwrap_or(used);
                listed.push(Listed { id: entry.id, path, size: found.len(), used, published });
            }
        }
        Ok(listed)
    }

    /// When a file was published. `None` if it has no report.
    pub(super) fn published(&self, id: &BuildId) -> Option<SystemTime> {
        // A use changes the time of the file, and not that of its report.
        self.report_path(id).symlink_metadata().and_then(|found| found.modified()).ok()
    }

    /// The files of this name, which the store lists for people, by build id: the builds of one program.
    ///
    /// # Errors
    /// A folder of the store cannot be listed.
    pub fn builds_named(&self, name: &str) -> Result<Vec<Listed>, StoreError> {
        let Some(name) = safe_name(name) else { return Ok(Vec::new()) };
        let mut builds = Vec::new();
        for marker in read_own_folder(&self.name_folder().join(name))? {
            let Ok(id) = BuildId::parse(&marker.file_name().to_string_lossy()) else { continue };
            let path = self.file_path(&id);
            // The index by name is swept after a collection, so a file may be gone.
            let Ok(found) = path.symlink_metadata() else { continue };
            if let (true, Ok(used)) = (found.is_file(), found.modified()) {
                let published = self.published(&id).unwrap_or(used);
                builds.push(Listed { id, path, size: found.len(), used, published });
            }
        }
        Ok(builds)
    }

    /// Reads every file and every index entry of the store, and returns their faults. Stores in folders of a cache are checked too.
    ///
    /// An index entry without a file is not a problem: a writer may be about to publish the file.
    ///
    /// # Errors
    /// A folder of the store cannot be listed.
    pub fn check(&self) -> Result<Checked, StoreError> {
        let mut checked = Checked::default();
        self.check_into(&mut checked)?;
        for part in self.parts()? {
            match part.check_format() {
                Ok(()) => part.check_into(&mut checked)?,
                Err(error) => checked.problems.push(problem_of(part.root(), &error)),
            }
        }
        checked.problems.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(checked)
    }

    fn check_into(&self, checked: &mut Checked) -> Result<(), StoreError> {
        let problems = &mut checked.problems;
        let entries = self.entries(&mut |path, message| problems.push(problem(path, message)))?;
        for Entry { id, path } in entries {
            for found in read_folder(&path)? {
                if !is_known(&found.file_name()) {
                    problems.push(problem(&found.path(), "not a file of a store"));
                }
            }
            match self.check_file(&id) {
                Ok(Some(size)) => {
                    checked.files += 1;
                    checked.bytes += size;
                }
                Ok(None) => {}
                // A collection may have removed the file, and with it its index entries, while this looked at them.
                Err(_) if matches!(self.inspect(&id), Ok(None)) => {}
                Err(error) => problems.push(problem_of(&path.join(file_name()), &error)),
            }
        }
        for (path, key) in self.debug_entries()? {
            let id = DebugId::parse(&key).map_err(StoreError::from);
            if let Err(error) = id.and_then(|id| self.check_index(&id)) {
                problems.push(problem_of(&path, &error));
            }
        }
        if let Err(error) = self.pins() {
            problems.push(problem_of(&self.root().join("pins"), &error));
        }
        Ok(())
    }

    /// An index entry must lead to a program of its debug id, or to a missing one.
    fn check_index(&self, id: &DebugId) -> Result<(), StoreError> {
        for build_id in self.builds_of(id)? {
            // Faults of the file itself are reported for its entry.
            match self.debug_id_of(&build_id) {
                Some(found) if found != *id => {
                    let problem = format!(
                        "leads to build id {build_id}, whose debug id is {found}; add the file of {id} again"
                    );
                    return Err(StoreError::damaged(&self.debug_path(id), problem));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks a file and returns its size; `Ok(None)` if there is no file.
    fn check_file(&self, id: &BuildId) -> Result<Option<u64>, StoreError> {
        let Some(map) = self.inspect(id)? else { return Ok(None) };
        map.file().verify().map_err(|error| StoreError::damaged(map.path(), error))?;
        let debug_id = self.debug_id_in(id, &map);
        let path = self.debug_path(&debug_id);
        match read_small(&path)? {
            None => {
                Err(StoreError::damaged(&path, format!("missing, expected a line {id}; add the file again")))
            }
            // The entry may name another build id of the same debug id. `check_index` compares each entry with its own file.
            Some(_) => Ok(Some(map.bytes().len() as u64)),
        }
    }

    /// The folders of entries, by build id. `odd` gets each path that is not a folder of an entry.
    pub(super) fn entries(&self, odd: &mut dyn FnMut(&Path, &str)) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        for outer in read_folder(self.root())? {
            let (head, path) = (outer.file_name(), outer.path());
            if OWN.iter().any(|name| head == *name) {
                continue;
            }
            // `None`: a collection removed the folder since it was listed.
            let Some(kind) = kind_of(&outer) else { continue };
            if head.len() != 2 || !kind.is_dir() {
                odd(&path, "not a folder of a store");
                continue;
            }
            for inner in read_folder(&path)? {
                let key = format!("{}{}", head.to_string_lossy(), inner.file_name().to_string_lossy());
                // Readers look for the path in lower case, so they never find a folder in upper case.
                let id = BuildId::parse(&key).ok().filter(|id| id.to_string() == key);
                let Some(kind) = kind_of(&inner) else { continue };
                match id.filter(|_| kind.is_dir()) {
                    Some(id) => entries.push(Entry { id, path: inner.path() }),
                    None => odd(&inner.path(), "not a folder named by a build id in lower-case hexadecimal"),
                }
            }
        }
        Ok(entries)
    }

    /// The index entries of debug ids: path and key.
    pub(super) fn debug_entries(&self) -> Result<Vec<(PathBuf, String)>, StoreError> {
        let mut found = Vec::new();
        for outer in read_own_folder(&self.debug_folder())? {
            for inner in read_own_folder(&outer.path())? {
                let key =
                    format!("{}{}", outer.file_name().to_string_lossy(), inner.file_name().to_string_lossy());
                found.push((inner.path(), key));
            }
        }
        Ok(found)
    }
}

/// True if a store of this or another version writes a file of this name into an entry.
pub(super) fn is_known(name: &OsStr) -> bool {
    let is_note = [MISSING, MISSING_DEBUG_ID, MALFORMED].iter().any(|note| name == *note);
    is_note || is_versioned(name, "fsym") || is_versioned(name, "json")
}

/// True for names such as `v1.fsym`, if `ending` is `fsym`.
pub(crate) fn is_versioned(name: &OsStr, ending: &str) -> bool {
    let version =
        name.to_str().and_then(|name| name.strip_prefix('v')?.strip_suffix(ending)?.strip_suffix('.'));
    version.is_some_and(|version| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()))
}

fn problem(path: &Path, message: &str) -> Problem {
    Problem { path: path.to_owned(), message: message.to_owned() }
}

/// An error as a problem. The error's text begins with the path, which is removed.
fn problem_of(path: &Path, error: &StoreError) -> Problem {
    let text = error.to_string();
    let own = format!("{}: ", path.display());
    Problem { path: path.to_owned(), message: text.strip_prefix(&own).unwrap_or(&text).to_owned() }
}
