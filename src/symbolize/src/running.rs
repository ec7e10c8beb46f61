//! The programs of a process that runs: a line of `/proc/PID/maps` to a path at which the mapped file can be opened.
//!
//! The path of a line is that of the process, which may be in another mount namespace or below another root: there it may lead to a file of
//! another build. So the file is looked for at the path and below `/proc/PID/root`, and taken only if it is the mapped one.

use std::fs::File;
use std::path::{Path, PathBuf};

use foldsym_store::open_regular;

/// A file as a line of `maps` identifies it: major and minor number of its device, and its inode.
pub(crate) type MappedFile = ((u32, u32), u64);

/// Where a mapped file can be opened; `path` is that of the line. `folder` is `/proc/PID`.
///
/// # Errors
/// Why it cannot, for the user.
pub(crate) fn program(path: &str, mapped: MappedFile, folder: &Path) -> Result<PathBuf, String> {
    let own = PathBuf::from(path);
    let theirs = folder.join("root").join(own.strip_prefix("/").unwrap_or(&own));
    let mut why = None;
    for path in [own, theirs] {
        match open_regular(&path) {
            Ok(file) if is_mapped(&file, mapped, folder) => return Ok(path),
            // This reason replaces an error of the first path, and no error replaces it: a wrong file says more than a missing one.
            Ok(_) => {
                why = Some(format!(
                    "{}: the file at this path is not the one that the process mapped",
                    path.display()
                ))
            }
            Err(error) => _ = why.get_or_insert(format!("{}: {error}", path.display())),
        }
    }
    Err(why.unwrap_or_default())
}

#[cfg(unix)]
fn is_mapped(file: &File, mapped: MappedFile, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(there) = file.metadata() else { return false };
    // The numbers that `stat` gives come first: for most file systems they suffice.
    (numbers(there.dev()), there.ino()) == mapped
        || as_listed(file, folder)
            .is_some_and(|(device, inode)| (device, inode.unwrap_or(there.ino())) == mapped)
}

#[cfg(not(unix))]
fn is_mapped(_: &File, _: MappedFile, _: &Path) -> bool {
    false
}

/// Major and minor number of a device, as Linux packs them.
#[cfg(unix)]
fn numbers(device: u64) -> (u32, u32) {
    let major = (device >> 8 & 0xfff) | (device >> 32 & 0xffff_f000);
    let minor = (device & 0xff) | (device >> 12 & 0xffff_ff00);
    (major as u32, minor as u32)
}

/// Device and inode of an open file as the kernel writes them into `maps`: `stat` gives other numbers on btrfs and overlayfs. The kernel
/// gives the inode since Linux 5.14. `folder` is `/proc/PID` of a process that sees the file.
#[cfg(unix)]
fn as_listed(file: &File, folder: &Path) -> Option<((u32, u32), Option<u64>)> {
    use std::os::fd::AsRawFd;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    let value = |key: &str| info.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let mount = value("mnt_id:")?;
    // Lines of `MOUNT PARENT MAJOR:MINOR ...`, numbers in decimal.
    let device = |list: PathBuf| {
        let list = std::fs::read_to_string(list).ok()?;
        let line = list.lines().find(|line| line.split(' ').next() == Some(mount))?;
        let (major, minor) = line.split(' ').nth(2)?.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let device = device("/proc/self/mountinfo".into()).or_else(|| device(folder.join("mountinfo")))?;
    Some((device, value("ino:").and_then(|inode| inode.parse().ok())))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_maps() {
        let folder = Path::new("/proc/self");
        let path = std::env::current_exe().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with(path.to_str().unwrap())).unwrap();
        let mut words = line.split_whitespace().skip(3);
        let (major, minor) = words.next().unwrap().split_once(':').unwrap();
        let hex = |text: &str| u32::from_str_radix(text, 16).unwrap();
        let mapped = ((hex(major), hex(minor)), words.next().unwrap().parse().unwrap());
        let file = File::open(&path).unwrap();
        let (device, inode) = as_listed(&file, folder).unwrap();
        assert_eq!((device, inode.unwrap_or(mapped.1)), mapped);
        assert!(is_mapped(&file, mapped, folder));
        assert!(!is_mapped(&File::open("/proc/self/maps").unwrap(), mapped, folder));
        assert_eq!(numbers(0xfe01), (0xfe, 1));
        assert_eq!(numbers(0x1000_0010_0812), (0x1008, 0x112));
    }

    #[test]
    fn a_file_that_is_not_there_says_so() {
        let why = program("/none/at/all", ((0xfe, 1), 7), Path::new("/proc/self")).unwrap_err();
        assert!(why.contains("/none/at/all"), "{why}");
    }
}
