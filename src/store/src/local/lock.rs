//! Admits one writer of an entry at a time, by a lock on a file in `tmp/`. The system releases the lock when the process ends.
//!
//! Readers take no lock. The holder of a lock removes the lock file. So a process that got a lock checks that its file still has
//! the name, since the holder before may have removed the file in between.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use fs4::FileExt;

use super::files::make_folder;
use super::store::LocalStore;
use crate::error::StoreError;
use crate::id::{BuildId, DebugId};

/// The right to convert, fetch or remove the file of one build id. Dropping it releases the lock.
#[derive(Debug)]
pub struct EntryLock<'s> {
    pub(super) store: &'s LocalStore,
    pub(super) id: BuildId,
    _file: Locked,
}

/// A lock file in `tmp/` that is locked. Dropping it releases the lock.
#[derive(Debug)]
pub(super) struct Locked {
    path: PathBuf,
    _file: File,
}

impl EntryLock<'_> {
    /// The build id.
    pub fn id(&self) -> &BuildId {
        &self.id
    }
}

impl LocalStore {
    /// Waits until no other process or thread holds the lock of a build id, and takes it. Before converting a program, take the lock and then
    /// check whether the file exists by now: so only one of many processes converts.
    ///
    /// # Errors
    /// The store cannot be written, or its file system has no locks.
    pub fn lock(&self, id: &BuildId) -> Result<EntryLock<'_>, StoreError> {
        let file = self.wait_for(self.lock_path(id))?;
        Ok(EntryLock { store: self, id: id.clone(), _file: file })
    }

    /// Waits until no other process or thread changes pins, or decides by them what to remove.
    pub(super) fn lock_pins(&self) -> Result<Locked, StoreError> {
        self.wait_for(self.tmp().join("pins.lock"))
    }

    /// As [`Self::lock_pins`], if the lock is free.
    pub(super) fn try_lock_pins(&self) -> Result<Option<Locked>, StoreError> {
        self.take(&self.tmp().join("pins.lock"), try_to_lock)
    }

    /// Waits for the lock to change the index entry of a debug id. Several entries may have one. Whoever holds the lock of an entry may
    /// take it; its holder takes no other lock.
    pub(super) fn lock_index(&self, debug_id: &DebugId) -> Result<Locked, StoreError> {
        self.wait_for(self.tmp().join(format!("debugid-{}.lock", debug_id.key())))
    }

    fn wait_for(&self, path: PathBuf) -> Result<Locked, StoreError> {
        let taken = self.take(&path, |file| FileExt::lock(file).map(|()| true))?;
        taken.ok_or_else(|| StoreError::io(&path, "lock", io::ErrorKind::WouldBlock.into()))
    }

    /// Takes the lock of a build id if it is free.
    pub(super) fn try_lock(&self, id: &BuildId) -> Result<Option<EntryLock<'_>>, StoreError> {
        let taken = self.take(&self.lock_path(id), try_to_lock)?;
        Ok(taken.map(|file| EntryLock { store: self, id: id.clone(), _file: file }))
    }

    fn lock_path(&self, id: &BuildId) -> PathBuf {
        self.tmp().join(format!("{id}.lock"))
    }

    /// `Ok(None)` where `lock` says that it did not get the lock.
    fn take(
        &self,
        path: &Path,
        lock: impl Fn(&File) -> io::Result<bool>,
    ) -> Result<Option<Locked>, StoreError> {
        let failed = |error| StoreError::io(path, "lock", error);
        loop {
            make_folder(&self.tmp())?;
            let file = match open(path) {
                // Another process removed the folder after it was made.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(failed)?,
            };
            if !lock(&file).map_err(failed)? {
                return Ok(None);
            }
            if has_name(&file, path).map_err(failed)? {
                return Ok(Some(Locked { path: path.to_owned(), _file: file }));
            }
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // The file is removed while it is locked: after the release it could be the file that the next holder has locked.
        // Other systems do not let a process remove an open file; there garbage collection removes it.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn try_to_lock(file: &File) -> io::Result<bool> {
    match FileExt::try_lock(file) {
        Ok(()) => Ok(true),
        Err(fs4::TryLockError::WouldBlock) => Ok(false),
        Err(fs4::TryLockError::Error(error)) => Err(error),
    }
}

/// Removes a lock file whose lock no process holds. `Ok(false)` if a process holds it.
pub(super) fn remove_stale(path: &Path) -> io::Result<bool> {
    // The file is opened without `create`: a lock file that has just been removed must not come back.
    let file = match options_of_own_file().write(true).open(path).and_then(regular) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        other => other?,
    };
    match FileExt::try_lock(&file) {
        Ok(()) if has_name(&file, path)? => fs::remove_file(path).map(|()| true),
        Ok(()) => Ok(true),
        Err(fs4::TryLockError::WouldBlock) => Ok(false),
        Err(fs4::TryLockError::Error(error)) => Err(error),
    }
}

/// Opens a lock file. A link could lead out of the store, and a FIFO would wait for a reader.
fn open(path: &Path) -> io::Result<File> {
    options_of_own_file().write(true).create(true).truncate(false).open(path).and_then(regular)
}

/// Options with which a link is not followed and nothing is waited for.
fn options_of_own_file() -> fs::OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW).bits().cast_signed(),
    );
    options
}

fn regular(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "a device, a pipe or a socket, expected a file"))
        }
    }
}

/// True if the path still leads to this file.
#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match path.symlink_metadata() {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn has_name(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}
