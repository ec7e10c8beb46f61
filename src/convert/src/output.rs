//! Writes a whole file under another name in its folder, and renames it: nobody sees half a file.

use std::fs::File;
use std::io;
use std::path::Path;

/// Writes what `write` puts to `path`, over what may be there. On an error nothing is left behind.
///
/// The file is not forced to the disk: what is written this way can be made again.
///
/// # Errors
/// Those of creating, writing and renaming the file. They do not name a path: the one that matters is the caller's.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // What a plain `open` asks for; the process's mask takes its bits away.
        options.mode(0o666);
    }
    // `tempfile` adds the name of its file to an error, which says nothing to anybody.
    let mut plain = None;
    let open = |path: &Path| options.open(path).inspect_err(|error| plain = error.raw_os_error());
    let made = tempfile::Builder::new().prefix(".fsym-").make_in(folder, open);
    let mut file = made.map_err(|error| plain.map_or(error, io::Error::from_raw_os_error))?;
    write(file.as_file_mut())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
