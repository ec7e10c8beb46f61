//! Lists, checks and changes a remote store as [`LocalStore`](crate::LocalStore) does a folder.
//!
//! Objects have no locks and record no use. So a file counts as used when it was published, and what one machine publishes while another
//! one collects may lose its index entry if it is the same build: run one collection at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use crate::cache::{Bounded, CachedStore, debug_key, entry_key};
use crate::error::StoreError;
use crate::id::{BuildId, DebugId};
use crate::local::{Checked, GcReport, Listed, Pin, Problem, builds_in, is_versioned, pin_name, read_pin};
use crate::policy::{Facts, Fate, GcOptions, Policy};
use crate::release::Release;
use crate::remote::Object;
use crate::symbol_map::SymbolMap;

/// The objects of one build id.
#[derive(Default)]
struct RemoteEntry {
    objects: Vec<Object>,
}

impl RemoteEntry {
    /// Symbol files, of all versions of the format.
    fn files(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|object| is_versioned(file_of(&object.key).as_ref(), "fsym"))
    }

    fn size(&self) -> u64 {
        self.files().map(|file| file.size).sum()
    }

    /// When its last file was published. `None` if it has no file.
    fn published(&self) -> Option<SystemTime> {
        self.files().map(|file| file.modified).max()
    }
}

/// All objects of a remote store that a store writes.
#[derive(Default)]
struct Contents {
    entries: BTreeMap<BuildId, RemoteEntry>,
    /// Index entries of debug ids.
    debug: Vec<(DebugId, Object)>,
    /// Keys that no store writes.
    odd: Vec<String>,
}

impl CachedStore {
    /// The files of this version of the format, by build id.
    ///
    /// # Errors
    /// The remote store cannot be listed: plain HTTP servers cannot.
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let mut listed = Vec::new();
        for (id, entry) in self.contents()?.entries {
            let key = entry_key(&id, "fsym");
            if let Some(file) = entry.objects.iter().find(|object| object.key == key) {
                let (size, used) = (file.size, file.modified);
                let path = format!("{}/{key}", self.location()).into();
                listed.push(Listed { id, path, size, used, published: used });
            }
        }
        Ok(listed)
    }

    /// Fetches every file, and returns the faults of files and index entries.
    ///
    /// # Errors
    /// The remote store cannot be listed, or not be reached.
    pub fn check(&self) -> Result<Checked, StoreError> {
        let mut checked = Checked::default();
        let Contents { entries, odd, .. } = self.contents()?;
        let address = |key: &str| format!("{}/{key}", self.location());
        let problems = odd
            .iter()
            .map(|key| Problem { path: address(key).into(), message: "not an object of a store".to_owned() });
        checked.problems = problems.collect();
        for (id, entry) in entries {
            let key = entry_key(&id, "fsym");
            if !entry.objects.iter().any(|object| object.key == key) {
                continue;
            }
            match self.check_file(&id, &key) {
                // It was removed since it was listed.
                Ok(None) => {}
                Ok(Some(size)) => {
                    checked.files += 1;
                    checked.bytes += size;
                }
                Err(error) if error.is_damage() => {
                    let text = error.to_string();
                    let path = address(&key);
                    let message = text.strip_prefix(&format!("{path}: ")).unwrap_or(&text).to_owned();
                    checked.problems.push(Problem { path: path.into(), message });
                }
                Err(error) => return Err(error),
            }
        }
        checked.problems.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(checked)
    }

    /// Checks a file and its index entry, and returns its size. `Ok(None)` if there is no file.
    fn check_file(&self, id: &BuildId, key: &str) -> Result<Option<u64>, StoreError> {
        let mut bytes = Vec::new();
        if !self.fetch_object(key, &mut Bounded::of(&mut bytes, self.most_bytes()))? {
            return Ok(None);
        }
        let path = format!("{}/{key}", self.location());
        let map = SymbolMap::of_bytes(path.as_ref(), bytes)?;
        map.file().verify().map_err(|error| StoreError::damaged(map.path(), error))?;
        let inside = map.file().build_id();
        let mut debug_id = DebugId::of_file(id, map.file());
        if inside != id.as_bytes() {
            let report = self.reports(std::slice::from_ref(id))?.remove(0);
            let is_derived = report["derived_id"] == true && report["build_id"] == id.to_string();
            if !(inside.is_empty() && is_derived) {
                return Err(StoreError::wrong_id(map.path(), id, inside));
            }
            // Crash reporters derive it from the code, and the report has it.
            debug_id = report["debug_id"].as_str().and_then(|id| DebugId::parse(id).ok()).unwrap_or(debug_id);
        }
        let debug_key = debug_key(&debug_id);
        if self.small(&debug_key)?.is_none() {
            let what = format!("{debug_key} is missing, expected a line {id}; add the file again");
            return Err(StoreError::damaged(map.path(), what));
        }
        Ok(Some(map.bytes().len() as u64))
    }

    /// Removes files by age and size, and litter, as [`LocalStore::gc`](crate::LocalStore::gc) does.
    ///
    /// # Errors
    /// As there; or the remote store cannot be listed or changed.
    pub fn gc(&self, options: &GcOptions) -> Result<GcReport, StoreError> {
        let mut report = GcReport::default();
        let pinned = self.pins()?.into_iter().flat_map(|pin| pin.ids).collect();
        let Contents { entries, debug, .. } = self.contents()?;
        let (files, bare): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(_, entry)| entry.published().is_some());
        let ids: Vec<BuildId> = files.iter().map(|(id, _)| id.clone()).collect();
        let releases = match options.keep_releases {
            Some(_) => self.reports(&ids)?.iter().map(Release::of_report).collect(),
            None => vec![Vec::new(); files.len()],
        };
        let now = SystemTime::now();
        let since = |time| now.duration_since(time).unwrap_or_default();
        let mut candidates: Vec<(SystemTime, BuildId, RemoteEntry, Vec<Release>)> = files
            .into_iter()
            .zip(releases)
            .filter_map(|((id, entry), releases)| Some((entry.published()?, id, entry, releases)))
            .collect();
        candidates.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let mut left: u64 = candidates.iter().map(|(_, _, entry, _)| entry.size()).sum();
        let policy = Policy::new(options, pinned, candidates.iter().flat_map(|(.., releases)| releases));
        let (mut kept, mut kept_ids) = (BTreeSet::new(), BTreeSet::new());
        for (published, id, entry, releases) in &candidates {
            let (age, size) = (since(*published), entry.size());
            match policy.fate(&Facts { id, releases, idle: age, age, left }) {
                Fate::Goes => {
                    if !options.dry_run {
                        self.remove_entry(id, entry)?;
                    }
                    left -= size;
                    report.removed_bytes += size;
                    report.removed.push(id.clone());
                }
                fate => {
                    report.kept += 1;
                    report.kept_bytes += size;
                    report.pinned += u64::from(fate == Fate::Kept);
                    kept.extend(debug_ids(id));
                    kept_ids.insert(id.clone());
                }
            }
        }
        let is_litter = |object: &Object| since(object.modified) >= options.litter_age;
        let dangling = debug.iter().filter(|(id, _)| !kept.contains(id)).map(|(_, object)| object);
        let reports = bare.iter().flat_map(|(_, entry)| &entry.objects);
        if !options.dry_run {
            let mut litter: Vec<&Object> = reports.filter(|object| is_litter(object)).collect();
            for object in dangling.filter(|object| is_litter(object)) {
                // The debug id of a program without a build id does not follow from its identity, and several programs may have it.
                let text = self.small(&object.key)?.unwrap_or_default();
                if builds_in(&String::from_utf8_lossy(&text))
                    .is_ok_and(|ids| ids.iter().all(|id| !kept_ids.contains(id)))
                {
                    litter.push(object);
                }
            }
            for object in litter {
                self.remove_object(&object.key)?;
                report.litter += 1;
            }
        }
        Ok(report)
    }

    /// Removes the file of a build id, with its index entry, here and in the cache. `Ok(false)` if the remote store has none.
    ///
    /// # Errors
    /// The remote store cannot be reached or changed.
    pub fn remove(&self, id: &BuildId) -> Result<bool, StoreError> {
        // Other versions of the format are found by listing alone, which some stores do not allow.
        let keys = ["fsym", "json"].map(|ending| entry_key(id, ending));
        let is_there = self.object_size(&keys[0])?.is_some();
        let object = |key: String| Object { key, size: 0, modified: SystemTime::UNIX_EPOCH };
        self.remove_entry(id, &RemoteEntry { objects: keys.map(object).into() })?;
        Ok(is_there)
    }

    /// The build id that the remote index has for a debug id.
    ///
    /// # Errors
    /// The remote store cannot be reached, or the index entry has no build id.
    pub fn build_id_of(&self, debug_id: &DebugId) -> Result<Option<BuildId>, StoreError> {
        let key = debug_key(debug_id);
        let Some(line) = self.small(&key)? else { return Ok(None) };
        let found = builds_in(&String::from_utf8_lossy(&line))
            .map_err(|error| StoreError::damaged(format!("{}/{key}", self.location()).as_ref(), error))?;
        match &found[..] {
            [id] => Ok(Some(id.clone())),
            several => {
                let programs = several.iter().map(BuildId::to_string).collect();
                Err(StoreError::Several { id: debug_id.to_string(), programs })
            }
        }
    }

    /// All pins, by name.
    ///
    /// # Errors
    /// The remote store cannot be listed or read; a line of a pin is not a build id.
    pub fn pins(&self) -> Result<Vec<Pin>, StoreError> {
        let mut keys = Vec::new();
        self.list_objects("pins", &mut |object| keys.push(object.key))?;
        keys.sort();
        let mut pins = Vec::new();
        for key in keys {
            let Some(name) = key.strip_prefix("pins/").filter(|name| !name.contains('/')) else { continue };
            if let Some(ids) = self.pin_of(name)? {
                pins.push(Pin { name: name.to_owned(), ids });
            }
        }
        Ok(pins)
    }

    /// Adds build ids to a pin, as [`LocalStore::add_to_pin`](crate::LocalStore::add_to_pin) does. Two machines must not do this at once.
    ///
    /// # Errors
    /// As [`CachedStore::pins`], or the remote store cannot be changed.
    pub fn add_to_pin(&self, name: &str, ids: &[BuildId]) -> Result<(), StoreError> {
        let mut all = self.pin_of(name)?.unwrap_or_default();
        all.extend(ids.iter().cloned());
        self.place_pin(name, &all)
    }

    /// Removes a pin. `Ok(false)` if there is none.
    ///
    /// # Errors
    /// As [`CachedStore::add_to_pin`].
    pub fn unpin(&self, name: &str) -> Result<bool, StoreError> {
        let key = pin_key(name)?;
        let is_there = self.object_size(&key)?.is_some();
        if is_there {
            self.remove_object(&key)?;
        }
        Ok(is_there)
    }

    /// Removes build ids from a pin, and the pin when it names none any more. `Ok(false)` if it named none of them.
    ///
    /// # Errors
    /// As [`CachedStore::add_to_pin`].
    pub fn remove_from_pin(&self, name: &str, ids: &[BuildId]) -> Result<bool, StoreError> {
        let Some(mut left) = self.pin_of(name)? else { return Ok(false) };
        let before = left.len();
        ids.iter().for_each(|id| _ = left.remove(id));
        match left.len() {
            0 => self.unpin(name),
            now if now != before => self.place_pin(name, &left).map(|()| true),
            _ => Ok(false),
        }
    }

    fn pin_of(&self, name: &str) -> Result<Option<BTreeSet<BuildId>>, StoreError> {
        let key = pin_key(name)?;
        let Some(text) = self.small(&key)? else { return Ok(None) };
        let ids = read_pin(&String::from_utf8_lossy(&text));
        ids.map(Some)
            .map_err(|error| StoreError::damaged(format!("{}/{key}", self.location()).as_ref(), error))
    }

    fn place_pin(&self, name: &str, ids: &BTreeSet<BuildId>) -> Result<(), StoreError> {
        let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
        self.replace_object(&pin_key(name)?, text.as_bytes())
    }

    fn remove_entry(&self, id: &BuildId, entry: &RemoteEntry) -> Result<(), StoreError> {
        // Of a program without a build id the report alone has the debug id.
        let report = self.reports(std::slice::from_ref(id))?.remove(0);
        let derived = report["debug_id"].as_str().filter(|_| report["derived_id"] == true);
        let derived = derived.and_then(|id| DebugId::parse(id).ok());
        // The file is removed first: without it the entry counts as absent.
        let (files, rest): (Vec<_>, Vec<_>) =
            entry.objects.iter().partition(|object| is_versioned(file_of(&object.key).as_ref(), "fsym"));
        for object in files.into_iter().chain(rest) {
            self.remove_object(&object.key)?;
        }
        for debug_id in debug_ids(id).into_iter().chain(derived) {
            self.drop_from_index(&debug_id, id)?;
        }
        self.cache().remove(id)?;
        Ok(())
    }

    /// Has the index entry of a debug id no longer lead to a build id. Other programs may have the same debug id.
    fn drop_from_index(&self, debug_id: &DebugId, id: &BuildId) -> Result<(), StoreError> {
        let key = debug_key(debug_id);
        let Some(text) = self.small(&key)? else { return Ok(()) };
        // `check` reports a damaged entry.
        let Ok(mut ids) = builds_in(&String::from_utf8_lossy(&text)) else { return Ok(()) };
        let before = ids.len();
        ids.retain(|listed| listed != id);
        match ids.len() {
            0 => self.remove_object(&key),
            now if now < before => {
                let left: String = ids.iter().map(|id| format!("{id}\n")).collect();
                self.replace_object(&key, left.as_bytes())
            }
            _ => Ok(()),
        }
    }

    /// Lists all objects, and sorts them out.
    fn contents(&self) -> Result<Contents, StoreError> {
        let mut contents = Contents::default();
        self.list_objects("", &mut |object| {
            let parts: Vec<&str> = object.key.split('/').collect();
            match parts[..] {
                ["pins", _] | ["format"] => {}
                ["debugid", head, rest] => match DebugId::parse(&format!("{head}{rest}")) {
                    Ok(id) => contents.debug.push((id, object)),
                    Err(_) => contents.odd.push(object.key),
                },
                [head, rest, name]
                    if is_versioned(name.as_ref(), "fsym") || is_versioned(name.as_ref(), "json") =>
                {
                    let key = format!("{head}{rest}");
                    match BuildId::parse(&key) {
                        Ok(id) if head.len() == 2 && id.to_string() == key => {
                            contents.entries.entry(id).or_default().objects.push(object);
                        }
                        _ => contents.odd.push(object.key),
                    }
                }
                _ => contents.odd.push(object.key),
            }
        })?;
        Ok(contents)
    }
}

/// The debug ids that a program of this build id may have, by its format and byte order.
fn debug_ids(id: &BuildId) -> [DebugId; 3] {
    [DebugId::of_elf(id, false), DebugId::of_elf(id, true), DebugId::of_mach_o(id)]
}

fn pin_key(name: &str) -> Result<String, StoreError> {
    Ok(format!("pins/{}", pin_name(name)?))
}

/// The last part of a key.
fn file_of(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}
