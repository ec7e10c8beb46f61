//! Debian packages to the programs inside them: the kernel's debug image, and the C library with its debug file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use xtask::{build_id, sh};

/// A package without content of its own: it depends on the debug package of the current kernel.
const KERNEL: &str = "linux-image-cloud-amd64-dbg";

/// Fetches `corpus/kernel/vmlinux`.
///
/// # Errors
/// A missing tool, a package that cannot be downloaded, or a package without the image.
pub(crate) fn kernel(corpus: &Path) -> Result<(), String> {
    let image = corpus.join("kernel/vmlinux");
    if image.exists() {
        println!("{} exists", image.display());
        return Ok(());
    }
    let folder = corpus.join("kernel/fetch");
    let depends = sh::output(Command::new(sh::tool("apt-cache", "apt")?).args(["depends", KERNEL]))?;
    let package = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "))
        .ok_or_else(|| format!("{KERNEL} depends on nothing; does apt know it (apt-get update)?"))?;
    let deb = download(package, &folder)?;
    // The package unpacks to gigabytes of modules; only the image is taken from the stream.
    extract(&deb, &folder, "./usr/lib/debug/boot/vmlinux-*")?;
    let found = find(&folder.join("usr/lib/debug/boot"), "vmlinux-")?;
    sh::rename(&found, &image)?;
    remove(&folder)?;
    println!("{} from {package}", image.display());
    Ok(())
}

/// Fetches `corpus/libc/libc.so.6`, which is stripped, and its debug file `libc.so.6.debug`. The same debug file is also in a build-id tree
/// below `corpus/libc/debug`.
///
/// # Errors
/// A missing tool, a package that cannot be downloaded, or a pair that does not match.
pub(crate) fn libc(corpus: &Path) -> Result<(), String> {
    let folder = corpus.join("libc");
    let (library, debug) = (folder.join("libc.so.6"), folder.join("libc.so.6.debug"));
    if library.exists() && debug.exists() {
        println!("{} exists", library.display());
        return Ok(());
    }
    let fetch = folder.join("fetch");
    for package in ["libc6", "libc6-dbg"] {
        let deb = download(package, &fetch)?;
        extract(&deb, &fetch, if package == "libc6" { "*/libc.so.6" } else { "*/.build-id/*" })?;
    }
    let arch = format!("{}-linux-gnu", std::env::consts::ARCH);
    let stripped = ["usr/lib", "lib"]
        .iter()
        .map(|lib| fetch.join(lib).join(&arch).join("libc.so.6"))
        .find(|file| file.exists())
        .ok_or("package libc6 has no libc.so.6")?;
    let id = build_id(&stripped)?;
    let (head, tail) = id.split_at_checked(2).ok_or("libc.so.6 has a build id of one byte")?;
    let found = fetch.join("usr/lib/debug/.build-id").join(head).join(format!("{tail}.debug"));
    if !found.exists() {
        return Err(format!("libc6-dbg has no file for build id {id}; are both packages of one version?"));
    }
    let tree = folder.join("debug/.build-id").join(head);
    sh::create_dir(&tree)?;
    std::fs::copy(&found, tree.join(format!("{tail}.debug")))
        .map_err(|e| format!("{}: {e}", tree.display()))?;
    sh::rename(&found, &debug)?;
    sh::rename(&stripped, &library)?;
    remove(&fetch)?;
    println!("{} with {}", library.display(), debug.display());
    Ok(())
}

fn download(package: &str, folder: &Path) -> Result<PathBuf, String> {
    let apt = sh::tool("apt-get", "apt")?;
    sh::create_dir(folder)?;
    sh::run(Command::new(apt).args(["download", package]).current_dir(folder)).map_err(|e| {
        format!("{e}\nneeds package lists (apt-get update) and, for debug packages, their source")
    })?;
    find(folder, &format!("{package}_"))
}

/// Unpacks the files that match `pattern`, without holding the whole package on disk.
fn extract(deb: &Path, folder: &Path, pattern: &str) -> Result<(), String> {
    let mut unpack = Command::new(sh::tool("dpkg-deb", "dpkg")?)
        .arg("--fsys-tarfile")
        .arg(deb)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("dpkg-deb: {e}"))?;
    let stream = unpack.stdout.take().ok_or("dpkg-deb: no output")?;
    let mut tar = Command::new(sh::tool("tar", "tar")?);
    tar.arg("-x").arg("--wildcards").arg("-C").arg(folder).arg(pattern).stdin(stream);
    let result = sh::run(&mut tar);
    let status = unpack.wait().map_err(|e| format!("dpkg-deb: {e}"))?;
    result?;
    if status.success() { Ok(()) } else { Err(format!("dpkg-deb: {status}")) }
}

/// The one entry of `folder` whose name starts with `start`.
fn find(folder: &Path, start: &str) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    entries
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .ok_or_else(|| format!("{}: nothing named {start}*", folder.display()))
}

fn remove(folder: &Path) -> Result<(), String> {
    std::fs::remove_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}
