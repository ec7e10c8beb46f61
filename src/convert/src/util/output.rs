//! Writes a whole file under another name in its folder, and renames it, so that no reader sees half a file.

use std::fs::{File, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// Lets `write` fill a new file, which then becomes `path` and replaces a regular file that is there. A symbolic link stays,
/// and the file that it points to is replaced. After an error the new file is removed.
///
/// The file is not synced to the disk: it can be made again.
///
/// # Errors
/// Those of finding the file that `path` means (a device, a FIFO, a folder, or a symbolic link to such a thing or to nothing
/// is refused), and of creating, writing and renaming the file. They do not name a path: the caller knows the one
/// that matters.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let path = &output_file(path)?;
    // The folder of the output, not of temporary files: `rename` does not work across file systems.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // The mode of a plain `open`; the process's umask clears some of its bits.
        options.mode(0o666);
    }
    // `tempfile` adds the name of the temporary file to an error, which means nothing to a user.
    let mut system_error = None;
    let open = |path: &Path| options.open(path).inspect_err(|error| system_error = error.raw_os_error());
    let made = tempfile::Builder::new().prefix(".fsym-").make_in(folder, open);
    let mut file = made.map_err(|error| system_error.map_or(error, io::Error::from_raw_os_error))?;
    write(file.as_file_mut())?;
    // A reader sees the old file or the whole new one. After an error `file` is dropped, which removes it.
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The file that an output of this name replaces or makes: for a symbolic link, the file that it points to.
///
/// # Errors
/// The path is something other than a regular file (a device, a FIFO, a folder), or a symbolic link to such a thing or to
/// nothing: renaming a file over it would destroy it.
pub(crate) fn output_file(path: &Path) -> io::Result<PathBuf> {
    let refused = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path.to_owned()),
        Err(error) => return Err(error),
    };
    if !found.is_symlink() {
        return if found.is_file() { Ok(path.to_owned()) } else { Err(refused(other_than_a_file(found))) };
    }
    match path.canonicalize() {
        Ok(real) if real.symlink_metadata()?.is_file() => Ok(real),
        Ok(_) => Err(refused("a symbolic link to something other than a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(refused("a symbolic link to a file that is not there"))
        }
        Err(error) => Err(error),
    }
}

/// Checks that an output may replace the file that is there: it must be empty or begin with `magic`. So no output overwrites a
/// program, debug file, package or source file, whether or not that file is an input too.
///
/// # Errors
/// As [`write_whole`] for the path; the file cannot be read; or it is of another kind.
pub fn replaceable(path: &Path, magic: &[u8], kind: &str) -> io::Result<()> {
    let real = output_file(path)?;
    let mut head = Vec::new();
    match File::open(&real) {
        Ok(file) => io::Read::read_to_end(&mut io::Read::take(file, magic.len() as u64), &mut head)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    // An empty file holds nothing that could be lost (`mktemp` makes one).
    if head.is_empty() || head == magic {
        return Ok(());
    }
    let what = format!("exists and is not a {kind}: remove it first");
    Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
}

fn other_than_a_file(found: FileType) -> &'static str {
    if found.is_dir() { "a folder, expected a file" } else { "no regular file, and would be destroyed" }
}
