//! Turns a path that may come from data into an open regular file, and never waits.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Opens a regular file for reading. A log, a request or a symbol file may name any path: a FIFO would wait for its writer, and a device
/// may never end.
///
/// # Errors
/// There is no regular file at the path, or it cannot be opened.
pub fn open_regular(path: &Path) -> Result<File> {
    // Checked before opening too, since opening a device may have effects.
    check(&path.metadata()?)?;
    let mut options = File::options();
    options.read(true);
    // The path may be that of a FIFO by now. For a regular file the flag changes nothing.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(found: &std::fs::Metadata) -> Result<()> {
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    match found.is_file() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, "a device, a pipe or a socket, expected a file")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert!(open_regular(&file).is_ok());
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let kind = |path: &Path| open_regular(path).unwrap_err().kind();
        assert_eq!(kind(&socket), ErrorKind::InvalidInput);
        assert_eq!(kind(Path::new("/dev/zero")), ErrorKind::InvalidInput);
        assert_eq!(kind(folder.path()), ErrorKind::IsADirectory);
        assert_eq!(kind(&folder.path().join("none")), ErrorKind::NotFound);
    }
}
