//! Turns a folder into an index of the files below it, by name, and when it is needed by identity.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldsym_store::{ModuleId, SymbolMap, open_regular};

use super::kept::{self, KeptFile, KeptFolder, KeptIndex, KnownFile, Stamp};
use super::name::{key_of, may_be_program};
use crate::fits::is_fsym;
use crate::unknown::is_passing;

/// Entries of folders that are listed, at most: some 100 MiB of memory, and some seconds.
const MAX_ENTRIES: usize = 1 << 20;
/// Folders inside folders.
const MAX_DEPTH: usize = 64;
/// Files that one process opens for their identities, at most.
const MAX_IDENTIFIED: usize = 1 << 17;
/// The index of a folder with fewer files is made anew in no time.
const MIN_KEPT: usize = 1 << 10;
/// An index is made again after this time, and not before 20 times the time that it took.
const FRESH_FOR: Duration = Duration::from_secs(60);
/// The same of a large index that lacks files, as the process had no descriptor left.
const LACKS_FOR: Duration = Duration::from_secs(1);

/// The bounds of an index; tests have smaller ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    entries: usize,
    depth: usize,
    identified: usize,
    kept: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { entries: MAX_ENTRIES, depth: MAX_DEPTH, identified: MAX_IDENTIFIED, kept: MIN_KEPT }
    }
}

/// A file that may be a program, a debug file or a symbol file.
#[derive(Debug)]
struct Entry {
    folder: u32,
    name: OsString,
    /// What an earlier process found.
    known: Option<Box<KnownFile>>,
}

/// A folder that was listed.
#[derive(Debug)]
struct Listed {
    path: PathBuf,
    /// `None` if it changed just before, or has a name that is not UTF-8.
    kept: Option<(Stamp, usize, Vec<String>)>,
}

/// The files below a folder.
#[derive(Debug)]
pub(super) struct Folder {
    folders: Vec<Listed>,
    /// By key; of one key those of shallower folders first.
    entries: Vec<Entry>,
    /// Which bound was reached, for the user.
    bound: Option<String>,
    identified: OnceLock<Identified>,
    /// The file of the cache that keeps this index.
    file: Option<PathBuf>,
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
    /// Lists a folder and the folders below it, nearest first. Links to folders are not followed, so this ends. `file` has what an earlier
    /// process found.
    pub(super) fn list(root: &Path, file: Option<PathBuf>, bounds: Bounds) -> Self {
        let made = Instant::now();
        let kept = file.as_deref().map(KeptIndex::read).unwrap_or_default();
        let (mut folders, mut entries, mut bound) = (Vec::new(), Vec::new(), None);
        let mut open = VecDeque::from([(root.to_owned(), 0)]);
        let (mut seen, mut lacks) = (0, false);
        while let Some((path, depth)) = open.pop_front() {
            let number = folders.len() as u32;
            let mut listing = match Listing::of(&path, &kept, bounds.entries - seen) {
                Ok(listing) => listing,
                // A folder that cannot be read has no files for us.
                Err(error) => {
                    lacks |= is_passing(&error);
                    continue;
                }
            };
            seen += listing.entries;
            for name in listing.folders.drain(..) {
                match depth + 1 < bounds.depth {
                    true => open.push_back((path.join(name), depth + 1)),
                    false => {
                        let more = format!(
                            "more than {} folders inside folders: the rest is not searched",
                            bounds.depth
                        );
                        bound.get_or_insert(more);
                    }
                }
            }
            let entry = |(name, known)| Entry { folder: number, name, known };
            entries.extend(listing.files.into_iter().map(entry));
            folders.push(Listed { path, kept: listing.kept });
            if listing.is_cut {
                bound =
                    Some(format!("more than {} files and folders: the rest is not searched", bounds.entries));
                break;
            }
        }
        entries.sort_by_cached_key(|entry: &Entry| {
            let name = entry.name.to_string_lossy();
            (key_of(&name).into_owned(), entry.folder, entry.name.clone())
        });
        let took = made.elapsed();
        let (identified, lacks) = (OnceLock::new(), lacks.into());
        Self { folders, entries, bound, identified, file, bounds, made, took, lacks }
    }

    /// Whether files could not be opened since the process had no descriptor left.
    pub(super) fn lacks(&self) -> bool {
        self.lacks.load(Ordering::Relaxed)
    }

    /// Whether files that are new may be missing.
    pub(super) fn is_old(&self) -> bool {
        let lacks = self.lacks();
        let fresh_for = if lacks { LACKS_FOR } else { FRESH_FOR };
        // A small folder is listed again at once.
        lacks && self.entries.len() < MIN_KEPT || self.made.elapsed() > fresh_for.max(20 * self.took)
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
        Some(self.folders.get(entry.folder as usize)?.path.join(&entry.name))
    }

    /// The files of a module's name, and the kernel with its version: the exact name first, then by depth. A module of the kernel is also
    /// called by its name alone, without `.ko`.
    pub(super) fn of_name(&self, name: &str) -> Vec<PathBuf> {
        let found = self.of_file_name(name);
        match found.is_empty() && !name.contains('.') {
            true => self.of_file_name(&format!("{name}.ko")),
            false => found,
        }
    }

    fn of_file_name(&self, name: &str) -> Vec<PathBuf> {
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
        let (mut opened, mut left) = (0, 0);
        let mut known: Vec<Option<Box<KnownFile>>> = Vec::with_capacity(self.entries.len());
        for (index, entry) in self.entries.iter().enumerate() {
            let found = self.path(entry).and_then(|path| Some((path.metadata().ok()?, path)));
            let now = found.and_then(|(found, path)| Some((found.len(), kept::stamp(&found)?, path)));
            let Some((size, stamp, path)) = now else {
                known.push(None);
                continue;
            };
            let same = entry.known.as_ref().filter(|old| (old.size, old.stamp) == (size, stamp));
            let file = match same {
                Some(same) => Some(same.clone()),
                None if opened == self.bounds.identified => {
                    left += 1;
                    None
                }
                None => {
                    opened += 1;
                    let ids = ids_of(&path);
                    let lacks = ids.is_empty() && open_regular(&path).is_err_and(|error| is_passing(&error));
                    self.lacks.fetch_or(lacks, Ordering::Relaxed);
                    (!lacks).then(|| Box::new(KnownFile { size, stamp, ids }))
                }
            };
            for id in file.iter().flat_map(|file| &file.ids) {
                identified.files.entry(id.clone()).or_default().push(index as u32);
            }
            known.push(file);
        }
        if left > 0 {
            identified.bound = Some(format!(
                "{left} of {} files are not searched by build id: one search opens {} that it does not know",
                self.entries.len(),
                self.bounds.identified
            ));
        }
        if let Some(file) =
            self.file.as_ref().filter(|_| opened > 0 && self.entries.len() >= self.bounds.kept)
        {
            // Without it the next process takes longer.
            let _ = kept::write(file, self.kept(&known));
        }
        identified
    }

    /// The folders for the file of the cache, with what is known of each file.
    fn kept(&self, known: &[Option<Box<KnownFile>>]) -> impl Iterator<Item = KeptFolder> {
        let mut files: Vec<Vec<KeptFile>> = self.folders.iter().map(|_| Vec::new()).collect();
        for (entry, known) in self.entries.iter().zip(known) {
            if let (Some(files), Some(name)) = (files.get_mut(entry.folder as usize), entry.name.to_str()) {
                files.push(KeptFile::new(name.to_owned(), known.as_deref()));
            }
        }
        // A path that is not UTF-8 is listed each time.
        let folders = self.folders.iter().zip(files).filter(|(folder, _)| folder.path.to_str().is_some());
        folders.map(|(folder, files)| {
            // The files of a folder that must be listed again are known all the same.
            let (stamp, entries, folders) = folder.kept.clone().unwrap_or((kept::NEVER, 0, Vec::new()));
            KeptFolder { path: folder.path.clone(), stamp, entries, folders, files }
        })
    }
}

/// The entries of one folder.
struct Listing {
    /// All of them, also those of no interest.
    entries: usize,
    folders: Vec<OsString>,
    files: Vec<(OsString, Option<Box<KnownFile>>)>,
    /// There are more entries than were asked for.
    is_cut: bool,
    kept: Option<(Stamp, usize, Vec<String>)>,
}

impl Listing {
    /// Lists a folder, of `most` entries at most, or takes the list that an earlier process made.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn of(path: &Path, kept: &KeptIndex, most: usize) -> std::io::Result<Self> {
        let found = path.metadata()?;
        if let Some(same) = kept.folder(path, &found).filter(|same| same.entries <= most) {
            let files = same.files.iter().map(|file| (file.name.clone().into(), file.known().map(Box::new)));
            return Ok(Self {
                entries: same.entries,
                folders: same.folders.iter().map(OsString::from).collect(),
                files: files.collect(),
                is_cut: false,
                kept: Some((same.stamp, same.entries, same.folders.clone())),
            });
        }
        let mut known: HashMap<&str, &KeptFile> = HashMap::new();
        known
            .extend(kept.last(path).iter().flat_map(|old| &old.files).map(|file| (file.name.as_str(), file)));
        let mut listing =
            Self { entries: 0, folders: Vec::new(), files: Vec::new(), is_cut: false, kept: None };
        let mut is_text = true;
        for entry in std::fs::read_dir(path)?.flatten() {
            if listing.entries == most {
                listing.is_cut = true;
                break;
            }
            listing.entries += 1;
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let text = name.to_str();
            is_text &= text.is_some();
            if kind.is_dir() {
                listing.folders.push(name);
            } else if (kind.is_file() || kind.is_symlink()) && may_be_program(&name.to_string_lossy()) {
                let old = text.and_then(|text| known.get(text)?.known()).map(Box::new);
                listing.files.push((name, old));
            }
        }
        let folders = listing.folders.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let stamp = kept::settled(&found).filter(|_| is_text && !listing.is_cut);
        listing.kept = stamp.map(|stamp| (stamp, listing.entries, folders));
        Ok(listing)
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
    use std::time::SystemTime;

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
        let folder = Folder::list(root.path(), None, Bounds::default());
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
        let list = |bounds: Bounds| Folder::list(root.path(), None, bounds);
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
        assert!(told(&folder)[0].starts_with("97 of 104 files are not searched"), "{:?}", told(&folder));
    }

    /// A second process opens what changed, and nothing else: here it may open one file.
    #[test]
    fn what_is_known_of_a_folder_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
        let cache = root.path().join("index");
        let files = root.path().join("files");
        std::fs::create_dir_all(files.join("below")).unwrap();
        let put = |from: &str, to: &str| {
            std::fs::copy(built.join(from), files.join(to)).unwrap();
        };
        put("demo.elf", "below/a");
        put("split.gcc-dwarf4.set/stripped", "b");
        // Folders that changed just before are listed again.
        let past = SystemTime::now() - Duration::from_secs(60);
        for folder in ["", "below"] {
            std::fs::File::open(files.join(folder)).unwrap().set_modified(past).unwrap();
        }
        let id = |from: &str| ids_of(&built.join(from)).remove(0);
        let (demo, stripped) = (id("demo.elf"), id("split.gcc-dwarf4.set/stripped"));
        let bounds = Bounds { kept: 1, ..Bounds::default() };
        let folder = Folder::list(&files, Some(cache.clone()), bounds);
        assert_eq!(names(&files, &folder.of_id(&demo)), ["below/a"]);
        let again =
            |identified: usize| Folder::list(&files, Some(cache.clone()), Bounds { identified, ..bounds });
        let known = again(0);
        assert!(known.folders.iter().all(|folder| folder.kept.is_some()));
        assert_eq!(names(&files, &known.of_id(&demo)), ["below/a"]);
        assert_eq!(names(&files, &known.of_id(&stripped)), ["b"]);
        assert_eq!(known.bounds_reached().count(), 0);
        // A file that was written over in place, which its folder does not show; and a new one.
        put("split.gcc-dwarf4.set/stripped", "below/a");
        put("demo.elf", "c");
        let changed = again(2);
        assert_eq!(names(&files, &changed.of_id(&demo)), ["c"]);
        assert_eq!(names(&files, &changed.of_id(&stripped)).len(), 2);
        // Other files of the same names, sizes and times.
        let other = root.path().join("other");
        std::fs::create_dir_all(other.join("below")).unwrap();
        for (from, to) in [("below/a", "c"), ("c", "below/a"), ("b", "b")] {
            std::fs::copy(files.join(from), other.join(to)).unwrap();
        }
        for path in ["below/a", "b", "c", "below", ""] {
            std::fs::File::open(other.join(path)).unwrap().set_modified(past).unwrap();
        }
        std::fs::rename(&files, root.path().join("first")).unwrap();
        std::fs::rename(&other, &files).unwrap();
        assert_eq!(names(&files, &again(9).of_id(&demo)), ["below/a"]);
        // A file of the cache that was cut short, or is something else, is of no harm.
        for bytes in [&b"foldsym search 1\n{\"path\":"[..], b"\0\0"] {
            std::fs::write(&cache, bytes).unwrap();
            assert_eq!(names(&files, &again(9).of_id(&demo)), ["below/a"]);
        }
    }
}
