//! Running other programs: where they are, what to say when one is missing, and many at a time.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The root of the repository, determined at run time, so that an old build still works in a moved checkout.
pub fn root() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&here).join("../..").canonicalize().unwrap_or_else(|_| PathBuf::from("."))
}

/// The variable that names a folder of programs of this workspace. Where it is set, tasks run these and build none themselves.
pub const BUILT: &str = "FOLDSYM_BUILT";

/// Where cargo puts what it builds.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Our own folder below the target folder, created.
pub fn scratch(name: &str) -> Result<PathBuf, String> {
    let dir = target_dir().join("xtask").join(name);
    create_dir(&dir)?;
    Ok(dir)
}

pub fn create_dir(dir: &Path) -> Result<(), String> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))
}

pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

pub fn rename(from: &Path, to: &Path) -> Result<(), String> {
    std::fs::rename(from, to).map_err(|e| format!("{} -> {}: {e}", from.display(), to.display()))
}

/// The cargo that started us, in the folder where it did, so that relative paths among the arguments hold.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A program on PATH.
///
/// # Errors
/// Names the program and the package that has it.
pub fn tool(name: &str, package: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| format!("needs `{name}` (package {package})"))
}

/// A tool of LLVM 22: from the folder `FOLDSYM_LLVM`, the place of the distribution's packages, or PATH, with the version in
/// its name or without.
///
/// # Errors
/// Names the tool and the package that has it.
pub fn llvm(name: &str) -> Result<PathBuf, String> {
    let package = match name {
        "clang" | "clang++" => "clang-22",
        "ld.lld" => "lld-22",
        _ => "llvm-22",
    };
    if let Ok(dir) = std::env::var("FOLDSYM_LLVM") {
        let file = Path::new(&dir).join(name);
        return if file.is_file() { Ok(file) } else { Err(format!("FOLDSYM_LLVM={dir} has no `{name}`")) };
    }
    let file = Path::new("/usr/lib/llvm-22/bin").join(name);
    if file.is_file() {
        return Ok(file);
    }
    tool(&format!("{name}-22"), package).or_else(|_| tool(name, package))
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end, its output on ours.
///
/// # Errors
/// It cannot be started or does not succeed.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{}: {e}", show(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{status}: {}", show(command))) }
}

/// Runs a command and returns what it printed.
///
/// # Errors
/// It cannot be started or does not succeed; what it wrote to standard error is in the message.
pub fn output(command: &mut Command) -> Result<String, String> {
    let out = command.stdin(Stdio::null()).output().map_err(|e| format!("{}: {e}", show(command)))?;
    if !out.status.success() {
        let stderr = String::from_utf8_lossy(&out.stderr);
        return Err(format!("{}: {}\n{}", out.status, show(command), stderr.trim_end()));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Runs a command with the file `input` as its standard input and returns what it printed. A file, not a pipe, so that
/// neither side waits for the other.
///
/// # Errors
/// As [`output`].
pub fn filter(command: &mut Command, input: &Path) -> Result<String, String> {
    let file = File::open(input).map_err(|e| format!("{}: {e}", input.display()))?;
    let out = command.stdin(file).output().map_err(|e| format!("{}: {e}", show(command)))?;
    if !out.status.success() {
        let stderr = String::from_utf8_lossy(&out.stderr);
        return Err(format!("{}: {}\n{}", out.status, show(command), stderr.trim_end()));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Runs `job` for every item on all cores and stops at the first error. Progress goes to standard error.
///
/// # Errors
/// The first error of a job.
pub fn parallel<T: Sync>(
    what: &str,
    items: &[T],
    job: impl Fn(&T) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get()).min(items.len().max(1));
    let (next, done, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    if let Err(error) = job(item) {
                        stop.store(true, Ordering::Relaxed);
                        if let Ok(mut slot) = failure.lock() {
                            slot.get_or_insert(error);
                        }
                    }
                    let count = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if count % 50 == 0 || count == items.len() {
                        eprintln!("{what}: {count}/{}", items.len());
                    }
                }
            });
        }
    });
    match failure.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        let error = tool("no-such-tool", "no-such-package").unwrap_err();
        assert_eq!(error, "needs `no-such-tool` (package no-such-package)");
    }

    #[test]
    fn a_failed_job_fails_the_batch() {
        assert_eq!(
            parallel("test", &[1, 2, 3], |n| if *n == 2 { Err("two".into()) } else { Ok(()) }),
            Err("two".into())
        );
        assert_eq!(parallel("test", &[1, 2, 3], |_| Ok(())), Ok(()));
    }
}
