//! The index of a large folder as a file of the cache, so that the next process lists the folders and opens the files that changed
//! since, and no others.
//!
//! A folder is unchanged if its [`Stamp`] is the same, a file if its size is too. The index is a hint: what it says of a program is checked
//! when the program is used, and a damaged line of it counts as missing.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldsym_store::ModuleId;
use serde::{Deserialize, Serialize};

/// The first line. Another one counts as an empty file.
const FORM: &str = "foldsym search 2";
/// Bytes that are read at most: those of two million files.
const MAX_BYTES: u64 = 512 << 20;
/// An index that was not written for so long is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);
/// A folder that was changed so shortly before it was listed may change again without another time.
const RACY: Duration = Duration::from_secs(2);

/// What changes with a folder or file: its times of modification and of change, and which one it is. Builds may set the first to
/// anything, and a link may lead elsewhere.
pub(super) type Stamp = [u64; 5];

/// No folder or file has it.
pub(super) const NEVER: Stamp = [u64::MAX; 5];

/// The stamp of a folder or file, if the system has it.
pub(super) fn stamp(found: &Metadata) -> Option<Stamp> {
    let since = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    #[cfg(unix)]
    let (changed, device, inode) = {
        use std::os::unix::fs::MetadataExt;
        (
            (found.ctime() as u64).wrapping_mul(1_000_000_000).wrapping_add(found.ctime_nsec() as u64),
            found.dev(),
            found.ino(),
        )
    };
    #[cfg(not(unix))]
    let (changed, device, inode) = (0, 0, 0);
    Some([since.as_secs(), since.subsec_nanos().into(), changed, device, inode])
}

/// The stamp of a folder that is listed now; `None` if it changed just before.
pub(super) fn settled(found: &Metadata) -> Option<Stamp> {
    let age = SystemTime::now().duration_since(found.modified().ok()?).ok()?;
    stamp(found).filter(|_| age > RACY)
}

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub(super) size: u64,
    pub(super) stamp: Stamp,
    pub(super) ids: Vec<ModuleId>,
}

/// A folder as it was listed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct KeptFolder {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    /// Files and folders that it has, also those that may not be programs.
    pub(super) entries: usize,
    pub(super) folders: Vec<String>,
    /// Files that may be programs.
    pub(super) files: Vec<KeptFile>,
}

/// A file of a folder; without a stamp if it was not opened.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptFile {
    pub(super) name: String,
    of: Option<(u64, Stamp, Vec<String>)>,
}

impl KeptFile {
    pub(super) fn new(name: String, known: Option<&KnownFile>) -> Self {
        let text = |known: &KnownFile| known.ids.iter().map(ModuleId::to_string).collect();
        Self { name, of: known.map(|known| (known.size, known.stamp, text(known))) }
    }

    pub(super) fn known(&self) -> Option<KnownFile> {
        let (size, stamp, ids) = self.of.as_ref()?;
        let ids = ids.iter().map(|id| ModuleId::parse(id)).collect::<Result<_, _>>().ok()?;
        Some(KnownFile { size: *size, stamp: *stamp, ids })
    }
}

/// The folders of an index by path.
#[derive(Debug, Default)]
pub(super) struct KeptIndex(HashMap<PathBuf, KeptFolder>);

impl KeptIndex {
    /// Reads the index of a folder. It is empty if there is none.
    pub(super) fn read(file: &Path) -> Self {
        let Ok(file) = foldsym_store::open_regular(file) else { return Self::default() };
        let mut lines = BufReader::new(file.take(MAX_BYTES)).lines();
        if !lines.next().is_some_and(|line| line.is_ok_and(|line| line == FORM)) {
            return Self::default();
        }
        let folders = lines.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok());
        Self(folders.map(|folder: KeptFolder| (folder.path.clone(), folder)).collect())
    }

    /// The folder as it was, if it was not changed since.
    pub(super) fn folder(&self, path: &Path, found: &Metadata) -> Option<&KeptFolder> {
        self.last(path).filter(|folder| stamp(found) == Some(folder.stamp))
    }

    /// The folder as it was.
    pub(super) fn last(&self, path: &Path) -> Option<&KeptFolder> {
        self.0.get(path)
    }
}

/// Writes the index of a folder. A reader finds the old one or the new one whole. Files that nobody wrote for a month are removed: their
/// folders may be gone.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(file: &Path, folders: impl Iterator<Item = KeptFolder>) -> std::io::Result<()> {
    // The store of the cache makes its own folder, which may not exist yet.
    if let Some(folder) = file.parent().filter(|folder| !folder.is_dir()) {
        fs::create_dir(folder)?;
    }
    // Several of one process may write at once, and processes of several machines.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let next = file.with_extension(format!("{}-{count}-{now}", std::process::id()));
    let written = (|| {
        let mut out = BufWriter::new(File::create(&next)?);
        writeln!(out, "{FORM}")?;
        for folder in folders {
            serde_json::to_writer(&mut out, &folder)?;
            writeln!(out)?;
        }
        out.flush()?;
        fs::rename(&next, file)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&next);
    }
    let others = file.parent().and_then(|folder| fs::read_dir(folder).ok());
    for other in others.into_iter().flatten().flatten() {
        let modified = other.metadata().ok().and_then(|found| found.modified().ok());
        if modified.is_some_and(|when| when.elapsed().is_ok_and(|age| age > UNUSED)) {
            let _ = fs::remove_file(other.path());
        }
    }
    written
}
