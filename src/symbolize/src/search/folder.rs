//! Turns a folder into an index of the files below it, by name, and when it is needed by identity.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldsym_store::{ModuleId, SymbolMap, open_regular};

use super::name::{key_of, may_be_program};
use crate::fits::is_fsym;
use crate::unknown::is_passing;

/// Entries of folders that are listed, at most: some 100 MiB of memory, and some seconds.
const MAX_ENTRIES: usize = 1 << 20;
/// Folders inside folders.
const MAX_DEPTH: usize = 64;
/// Files that are opened for their identities, at most.
const MAX_IDENTIFIED: usize = 1 << 17;
/// An index is made again after this time, and not before 20 times the time that it took.
const FRESH_FOR: Duration = Duration::from_secs(60);

/// The bounds of an index; tests have smaller ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    entries: usize,
    depth: usize,
    identified: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { entries: MAX_ENTRIES, depth: MAX_DEPTH, identified: MAX_IDENTIFIED }
    }
}

/// A file that may be a program, a debug file or a symbol file.
#[derive(Debug)]
struct Entry {
    folder: u32,
    name: OsString,
}

/// The files below a folder.
#[derive(Debug)]
pub(super) struct Folder {
    folders: Vec<PathBuf>,
    /// By key; of one key those of shallower folders first.
    entries: Vec<Entry>,
    /// Which bound was reached, for the user.
    bound: Option<String>,
    identified: OnceLock<Identified>,
    bounds: Bounds,
    made: Instant,
    took: Duration,
    /// Files could not be opened since the process has no descriptor left.
    lacks: AtomicBool,
}

/// Files by identity: a build id, and the debug id that follows from it.
#[derive(Debug, Default)]
struct Identified {
    files: HashMap<ModuleId, Vec<u32>>,
    bound: Option<String>,
}

impl Folder {
    /// Lists a folder and the folders below it, nearest first. Links to folders are not followed, so this ends.
    pub(super) fn list(root: &Path, bounds: Bounds) -> Self {
        let made = Instant::now();
        let (mut folders, mut entries, mut bound) = (Vec::new(), Vec::new(), None);
        let mut open = VecDeque::from([(root.to_owned(), 0)]);
        let (mut seen, mut lacks) = (0, false);
        'all: while let Some((folder, depth)) = open.pop_front() {
            let list = match std::fs::read_dir(&folder) {
                Ok(list) => list,
                // A folder that cannot be read has no files for us.
                Err(error) => {
                    lacks |= is_passing(&error);
                    continue;
                }
            };
            let number = folders.len() as u32;
            for entry in list.flatten() {
                seen += 1;
                if seen > bounds.entries {
                    bound = Some(format!(
                        "more than {} files and folders: the rest is not searched",
                        bounds.entries
                    ));
                    break 'all;
                }
                let Ok(kind) = entry.file_type() else { continue };
                let name = entry.file_name();
                if kind.is_dir() {
                    match depth + 1 < bounds.depth {
                        true => open.push_back((entry.path(), depth + 1)),
                        false => {
                            let more = format!(
                                "more than {} folders inside folders: the rest is not searched",
                                bounds.depth
                            );
                            bound.get_or_insert(more);
                        }
                    }
                } else if (kind.is_file() || kind.is_symlink()) && may_be_program(&name.to_string_lossy()) {
                    entries.push(Entry { folder: number, name });
                }
            }
            folders.push(folder);
        }
        entries.sort_by_cached_key(|entry: &Entry| {
            let name = entry.name.to_string_lossy();
            (key_of(&name).into_owned(), entry.folder, entry.name.clone())
        });
        let took = made.elapsed();
        Self { folders, entries, bound, identified: OnceLock::new(), bounds, made, took, lacks: lacks.into() }
    }

    /// Whether files could not be opened since the process had no descriptor left.
    pub(super) fn lacks(&self) -> bool {
        self.lacks.load(Ordering::Relaxed)
    }

    /// Whether files that are new may be missing.
    pub(super) fn is_old(&self) -> bool {
        self.lacks() || self.made.elapsed() > FRESH_FOR.max(20 * self.took)
    }

    /// The number of files that may be programs.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Which bounds were reached.
    pub(super) fn bounds_reached(&self) -> impl Iterator<Item = &str> {
        let identified = self.identified.get().and_then(|found| found.bound.as_deref());
        self.bound.as_deref().into_iter().chain(identified)
    }

    fn path(&self, entry: &Entry) -> Option<PathBuf> {
        Some(self.folders.get(entry.folder as usize)?.join(&entry.name))
    }

    /// The files of a module's name, and the kernel with its version: the exact name first, then by depth.
    pub(super) fn of_name(&self, name: &str) -> Vec<PathBuf> {
        let key = key_of(name);
        let from = self.entries.partition_point(|entry| *key_of(&entry.name.to_string_lossy()) < *key);
        let of_key = |entry: &&Entry| {
            let name = entry.name.to_string_lossy();
            let found = key_of(&name);
            *found == *key || *key == *"vmlinux" && found.starts_with("vmlinux-")
        };
        // In the order of keys, `vmlinux-6.1` is next to `vmlinux`, but for names that go on with a character before the hyphen.
        let mut found: Vec<&Entry> = self.entries[from..].iter().take_while(of_key).collect();
        found.sort_by_key(|entry| entry.name.to_string_lossy() != name);
        found.into_iter().filter_map(|entry| self.path(entry)).collect()
    }

    /// The files with an identity, whatever they are called.
    pub(super) fn of_id(&self, id: &ModuleId) -> Vec<PathBuf> {
        let identified = self.identified.get_or_init(|| self.identify());
        let found = identified.files.get(id).map_or(&[][..], Vec::as_slice);
        found.iter().filter_map(|index| self.path(self.entries.get(*index as usize)?)).collect()
    }

    fn identify(&self) -> Identified {
        let mut identified = Identified::default();
        for (index, entry) in self.entries.iter().enumerate() {
            if index == self.bounds.identified {
                identified.bound = Some(format!(
                    "of {} files the first {} are searched by build id",
                    self.entries.len(),
                    self.bounds.identified
                ));
                break;
            }
            let Some(path) = self.path(entry) else { continue };
            let ids = ids_of(&path);
            if ids.is_empty() && open_regular(&path).is_err_and(|error| is_passing(&error)) {
                self.lacks.store(true, Ordering::Relaxed);
            }
            for id in ids {
                identified.files.entry(id).or_default().push(index as u32);
            }
        }
        identified
    }
}

/// The identities of a file: its build id or UUID, and the debug id of that.
pub(super) fn ids_of(path: &Path) -> Vec<ModuleId> {
    if is_fsym(path) {
        let Ok(map) = SymbolMap::open(path) else { return Vec::new() };
        let debug = map.debug_id().map(ModuleId::from);
        return map.build_id().map(ModuleId::from).into_iter().chain(debug).collect();
    }
    #[cfg(feature = "convert")]
    if let Some(peeked) = crate::program::peek(path) {
        return super::programs::ids(&peeked);
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        for (folder, name) in
            [("a/b/c", "libx.so"), ("a", "libx.so.debug"), ("a/b", "main.c"), ("", "vmlinux-6.1.0")]
        {
            std::fs::write(root.path().join(folder).join(name), "x").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.path(), deep.join("again")).unwrap();
        root
    }

    fn names(root: &Path, paths: &[PathBuf]) -> Vec<String> {
        paths.iter().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
    }

    #[test]
    fn files_are_found_by_name_below_the_folder() {
        let root = tree();
        let folder = Folder::list(root.path(), Bounds::default());
        assert_eq!(names(root.path(), &folder.of_name("libx.so")), ["a/b/c/libx.so", "a/libx.so.debug"]);
        assert_eq!(names(root.path(), &folder.of_name("vmlinux")), ["vmlinux-6.1.0"]);
        assert_eq!(folder.of_name("main.c"), Vec::<PathBuf>::new());
        assert_eq!(folder.bounds_reached().count(), 0);
        assert!(!folder.is_old());
    }

    #[test]
    fn bounds_are_kept_and_told() {
        let root = tree();
        for i in 0..100 {
            std::fs::write(root.path().join(format!("lib{i}.so")), "x").unwrap();
        }
        let list = |bounds: Bounds| Folder::list(root.path(), bounds);
        let told = |folder: &Folder| folder.bounds_reached().map(str::to_owned).collect::<Vec<_>>();
        let folder = list(Bounds { entries: 50, ..Bounds::default() });
        assert!(
            folder.len() <= 50 && told(&folder)[0].starts_with("more than 50 files"),
            "{:?}",
            told(&folder)
        );
        let folder = list(Bounds { depth: 2, ..Bounds::default() });
        assert_eq!(names(root.path(), &folder.of_name("libx.so")), ["a/libx.so.debug"]);
        assert!(told(&folder)[0].starts_with("more than 2 folders"), "{:?}", told(&folder));
        let folder = list(Bounds { identified: 7, ..Bounds::default() });
        let id = ModuleId::parse("0123456789abcdef").unwrap();
        assert!(folder.of_id(&id).is_empty());
        assert!(told(&folder)[0].ends_with("the first 7 are searched by build id"), "{:?}", told(&folder));
    }
}
