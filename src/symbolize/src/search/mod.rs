//! Turns the paths that the user gave for a search into the files that may be a module's, and says which of the paths were of no use.

mod folder;
mod kept;
mod name;
#[cfg(feature = "convert")]
pub(crate) mod programs;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foldsym_format::header::MAGIC;
use foldsym_store::{ModuleId, Store, open_regular};

use crate::fits::is_fsym;
use crate::unknown::is_passing;
use folder::{Bounds, Folder, ids_of};
use name::{is_version_of, key_of};

/// Modules without a file that are remembered, and those that a message names.
const MAX_MISSING: usize = 1 << 10;
/// The characters of a name that a message shows.
const MAX_SHOWN: usize = 200;
const MAX_TOLD: usize = 4;

/// A path that the user gave: one file, or a folder.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) path: PathBuf,
    is_used: AtomicBool,
    /// The file could not be opened at last, since the process has no descriptor left.
    lacks: AtomicBool,
    /// What the file is, for a path that is a file.
    file: OnceLock<GivenFile>,
    /// The index of the folder, for a path that is one. It is made when a file is not where its name says.
    folder: Mutex<Option<Arc<Folder>>>,
    /// The folder that keeps indexes from process to process.
    indexes: Option<PathBuf>,
}

/// A file that the user named. It is used for what it is, whatever it is called.
#[derive(Debug)]
struct GivenFile {
    is_fsym: bool,
    ids: Vec<ModuleId>,
    /// The names by which modules may ask for it, as keys.
    names: Vec<String>,
    is_program: bool,
}

/// A file of which nothing is known.
static NOTHING: GivenFile =
    GivenFile { is_fsym: false, ids: Vec::new(), names: Vec::new(), is_program: false };

impl From<PathBuf> for Given {
    fn from(path: PathBuf) -> Self {
        Self {
            path,
            is_used: AtomicBool::new(false),
            lacks: AtomicBool::new(false),
            file: OnceLock::new(),
            folder: Mutex::new(None),
            indexes: None,
        }
    }
}

impl Given {
    /// Keeps the index of a folder in this one.
    pub(crate) fn keep_in(&mut self, indexes: Option<PathBuf>) {
        self.indexes = indexes;
    }

    /// The file that keeps the index: the folder's path names it.
    fn index_file(&self) -> Option<PathBuf> {
        let mut hasher = DefaultHasher::new();
        std::path::absolute(&self.path).ok()?.hash(&mut hasher);
        Some(self.indexes.as_ref()?.join(format!("{:016x}", hasher.finish())))
    }

    /// A file of this path was used.
    pub(crate) fn use_it(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    /// Whether a file of an identity may be of this path. A folder is not searched for it.
    pub(crate) fn may_have(&self, id: &ModuleId) -> bool {
        self.path.is_dir() || self.file().ids.contains(id)
    }

    fn file(&self) -> &GivenFile {
        // Without a descriptor nothing is found out about the file, and that is not kept.
        let is_known = self.file.get().is_some();
        let lacks = !is_known && open_regular(&self.path).is_err_and(|error| is_passing(&error));
        self.lacks.store(lacks, Ordering::Relaxed);
        if lacks {
            return &NOTHING;
        }
        self.file.get_or_init(|| {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            let mut file = GivenFile {
                names: vec![key_of(&name).into_owned()],
                is_fsym: false,
                ids: Vec::new(),
                is_program: false,
            };
            let mut first = [0; MAGIC.len()];
            let read = open_regular(&self.path).and_then(|mut file| file.read_exact(&mut first));
            file.is_fsym = is_fsym(&self.path) || read.is_ok() && first == MAGIC;
            file.is_program = file.is_fsym;
            file.ids = match foldsym_store::SymbolMap::open(&self.path) {
                Ok(map) if file.is_fsym => {
                    let debug = map.debug_id().map(ModuleId::from);
                    map.build_id().map(ModuleId::from).into_iter().chain(debug).collect()
                }
                _ => ids_of(&self.path),
            };
            #[cfg(feature = "convert")]
            if let Some(peeked) = crate::program::peek(&self.path) {
                file.is_program = true;
                file.names.extend(peeked.names.iter().map(|name| key_of(name).into_owned()));
            }
            file
        })
    }

    /// Whether files of the path could not be seen at last, since the process has no descriptor left.
    pub(crate) fn lacks(&self) -> bool {
        self.lacks.load(Ordering::Relaxed) || lock(&self.folder).as_ref().is_some_and(|folder| folder.lacks())
    }

    /// Whether the path is a `.fsym`.
    pub(crate) fn is_fsym(&self) -> bool {
        !self.path.is_dir() && self.file().is_fsym
    }

    /// Whether the file is known by this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let key = key_of(name);
        let own = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.file().names.iter().any(|name| *name == *key) || is_version_of(&own, name)
    }

    fn folder(&self) -> Arc<Folder> {
        let mut folder = lock(&self.folder);
        match &*folder {
            Some(folder) if !folder.is_old() => folder.clone(),
            _ => folder
                .insert(Arc::new(Folder::list(&self.path, self.index_file(), Bounds::default())))
                .clone(),
        }
    }

    /// The symbol files of a module's name below the folder.
    pub(crate) fn symbol_files(&self, name: &str) -> Vec<PathBuf> {
        if !self.path.is_dir() {
            return Vec::new();
        }
        self.folder().of_name(name).into_iter().filter(|path| is_fsym(path)).collect()
    }

    /// The symbol files with an identity below the folder, whatever they are called.
    pub(crate) fn symbol_files_of(&self, id: &ModuleId) -> Vec<PathBuf> {
        if !self.path.is_dir() {
            return Vec::new();
        }
        self.folder().of_id(id).into_iter().filter(|path| is_fsym(path)).collect()
    }

    /// The files that may be a module's program or its debug file: the file itself, or those where their name or build id says.
    #[cfg(feature = "convert")]
    pub(crate) fn programs(
        &self,
        id: Option<&ModuleId>,
        name: Option<&str>,
        several: &mut Option<String>,
    ) -> Vec<PathBuf> {
        let mut found = Vec::new();
        if !self.path.is_dir() {
            let is_wanted =
                !self.is_fsym() && (id.is_some() || name.is_some_and(|name| self.is_called(name)));
            found.extend(is_wanted.then(|| self.path.clone()));
            return found;
        }
        found.extend(at_build_id(&self.path, id));
        if let Some(name) = name.filter(|name| !is_fsym(name.as_ref())) {
            let direct = self.path.join(name);
            let named = self.folder().of_name(name).into_iter().filter(|path| !is_fsym(path));
            let mut named: Vec<PathBuf> = named.filter(|path| *path != direct).collect();
            if direct.is_file() {
                named.insert(0, direct);
            }
            // A script may start the program of its name in a folder below (libtool).
            programs::retain_programs(&mut named);
            let is_direct = named.first().is_some_and(|path| path.parent() == Some(&self.path));
            if is_direct {
                // Without an identity this file is meant, and what belongs to it.
                if id.is_none() {
                    programs::retain_build_of_first(&mut named);
                }
            } else if id.is_none() && programs::are_several_builds(&named) {
                self.use_it();
                let builds = told_paths(&named);
                *several = Some(format!("several builds are called {name}, name one of them: {builds}"));
                named.clear();
            }
            found.extend(named);
        }
        found.retain(|path| path.is_file());
        found
    }

    /// The debug files of this very name below the folder.
    #[cfg(feature = "convert")]
    pub(crate) fn debug_files(&self, name: &str) -> Vec<PathBuf> {
        let mut found = match self.path.is_dir() {
            true => self.folder().of_name(name),
            false => vec![self.path.clone()],
        };
        programs::retain_debug_files(&mut found, name);
        found
    }

    /// The programs and debug files with an identity below the folder, whatever they are called.
    #[cfg(feature = "convert")]
    pub(crate) fn programs_of(&self, id: &ModuleId) -> Vec<PathBuf> {
        if !self.path.is_dir() {
            return Vec::new();
        }
        self.folder().of_id(id).into_iter().filter(|path| !is_fsym(path) && path.is_file()).collect()
    }

    /// Why nothing of the path was used, for the user; `missing` are the modules without a file, and `found` those with one.
    fn why_unused(&self, missing: &BTreeSet<String>, found: &BTreeSet<ModuleId>) -> Option<String> {
        if self.path.is_dir() {
            // A folder is searched for the modules that it has: those without a file are its business.
            if missing.is_empty() {
                return None;
            }
            let count = lock(&self.folder).as_ref().map_or(0, |folder| folder.len());
            return Some(format!(
                "none of the {count} files below it that may be programs is of {}",
                told(missing)
            ));
        }
        let file = self.file();
        Some(match file.ids.first() {
            _ if !file.is_program => "it is no program, and no .fsym file".to_owned(),
            _ if file.ids.iter().any(|id| found.contains(id)) => {
                "another file of its build was used".to_owned()
            }
            Some(id) => format!("no module has its id {id}{}", wanted(missing)),
            None => format!(
                "it has no build id, and no module is called {}{}",
                file.names.join(" or "),
                wanted(missing)
            ),
        })
    }
}

/// Whether a file has an identity.
#[cfg(feature = "convert")]
pub(crate) fn is_known_as(path: &std::path::Path, id: &ModuleId) -> bool {
    ids_of(path).contains(id)
}

fn wanted(missing: &BTreeSet<String>) -> String {
    match missing.is_empty() {
        true => String::new(),
        false => format!("; there is no file for {}", told(missing)),
    }
}

fn told(missing: &BTreeSet<String>) -> String {
    first(missing.iter().cloned(), missing.len())
}

/// The first files of a list, for a message.
#[cfg(feature = "convert")]
pub(crate) fn told_paths(paths: &[PathBuf]) -> String {
    first(paths.iter().map(|path| path.display().to_string()), paths.len())
}

fn first(names: impl Iterator<Item = String>, count: usize) -> String {
    let mut names: Vec<String> = names.take(MAX_TOLD).collect();
    if count > MAX_TOLD {
        names.push(format!("{} more", count - MAX_TOLD));
    }
    names.join(", ")
}

/// The places below a folder at which gdb looks for files of a build id, and distributions install them.
#[cfg(feature = "convert")]
fn at_build_id(folder: &std::path::Path, id: Option<&ModuleId>) -> Vec<PathBuf> {
    let Some(ModuleId::Build(id)) = id else { return Vec::new() };
    let key = id.to_string();
    let Some((first, rest)) = key.split_at_checked(2).filter(|(_, rest)| !rest.is_empty()) else {
        return Vec::new();
    };
    let folder = folder.join(".build-id").join(first);
    vec![folder.join(rest), folder.join(format!("{rest}.debug"))]
}

/// What searches found and did not find, for messages.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    was_asked: AtomicBool,
    /// The modules that have a file, up to a bound.
    found: Mutex<BTreeSet<ModuleId>>,
    missing: Mutex<BTreeSet<String>>,
    /// Stores that had a file.
    stores: Mutex<BTreeSet<String>>,
}

impl Outcomes {
    pub(crate) fn asked(&self) {
        self.was_asked.store(true, Ordering::Relaxed);
    }

    pub(crate) fn found(&self, id: Option<&ModuleId>) {
        let mut found = lock(&self.found);
        if let Some(id) = id.filter(|id| found.len() < MAX_MISSING && !found.contains(id)) {
            found.insert(id.clone());
        }
    }

    pub(crate) fn missing(&self, name: Option<&str>, id: Option<&ModuleId>) {
        let mut missing = lock(&self.missing);
        if missing.len() < MAX_MISSING {
            // It stays for as long as the process runs, and a request may have a name of any length.
            let name: String = name.unwrap_or("?").chars().take(MAX_SHOWN).collect();
            missing.insert(id.map_or_else(|| name.clone(), |id| format!("{name} (id {id})")));
        }
    }

    pub(crate) fn was_in(&self, store: &str) {
        let mut stores = lock(&self.stores);
        if !stores.contains(store) {
            stores.insert(store.to_owned());
        }
    }

    /// Says of each store that had no file, if modules are without one.
    pub(crate) fn of_stores(&self, given: &[Store]) -> Vec<String> {
        let (stores, missing) = (lock(&self.stores), lock(&self.missing));
        let unused = given.iter().map(Store::location).filter(|location| !stores.contains(location));
        let message =
            |location: String| format!("{location}: not used: it has no file of {}", told(&missing));
        if missing.is_empty() { Vec::new() } else { unused.map(message).collect() }
    }

    /// Says of each given path that was of no use why, and which bounds were reached.
    pub(crate) fn messages(&self, given: &[Given]) -> Vec<String> {
        let mut messages = Vec::new();
        for one in given {
            let path = one.path.display();
            if let Some(folder) = &*lock(&one.folder) {
                messages.extend(folder.bounds_reached().map(|bound| format!("{path}: {bound}")));
            }
            // Where no module was looked for, nothing could be used.
            if self.was_asked.load(Ordering::Relaxed) && !one.is_used.load(Ordering::Relaxed) {
                let why = one.why_unused(&lock(&self.missing), &lock(&self.found));
                messages.extend(why.map(|why| format!("{path}: not used: {why}")));
            }
        }
        messages
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
