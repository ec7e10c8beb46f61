//! The programs of this workspace that the oracles run.

use std::path::PathBuf;

use xtask::sh;

/// The folder of programs that are taken as they are, if `FOLDSYM_BUILT` names one.
///
/// # Errors
/// It has not all of these programs.
pub(crate) fn built(programs: &[&str]) -> Result<Option<PathBuf>, String> {
    let Some(folder) = std::env::var_os(sh::BUILT).map(PathBuf::from) else { return Ok(None) };
    match programs.iter().find(|name| !folder.join(name).is_file()) {
        Some(name) => Err(format!("{}={}: it has no `{name}`", sh::BUILT, folder.display())),
        None => Ok(Some(folder)),
    }
}

/// Builds programs of one package in the release profile, and returns the folder that has them: the one that `FOLDSYM_BUILT` names,
/// where that is set.
///
/// # Errors
/// A build that fails, or a folder without one of the programs.
pub(crate) fn build(package: &str, programs: &[&str]) -> Result<PathBuf, String> {
    build_with(package, programs, "")
}

/// The same with features, separated by commas. A folder that `FOLDSYM_BUILT` names is taken without a question for its features.
///
/// # Errors
/// As [`build`].
pub(crate) fn build_with(package: &str, programs: &[&str], features: &str) -> Result<PathBuf, String> {
    if let Some(folder) = built(programs)? {
        return Ok(folder);
    }
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--release", "--package", package, "--features", features]);
    build.args(programs.iter().flat_map(|name| ["--bin", name]));
    sh::run(&mut build)?;
    Ok(sh::target_dir().join("release"))
}
