//! `cargo xtask ready`: everything that `.ci/run` does, in a clean clone of the committed state.

use std::process::Command;

use xtask::sh;

const HELP: &str = "cargo xtask ready
  clones the current commit into a folder below target/, runs .ci/run there, and writes the hash of the commit's tree to
  target/ready if it passed; what is not committed is not tested, and counts as an error";

/// See `HELP`.
///
/// # Errors
/// Changes that are not committed, a clone that fails, or a check that fails.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        println!("{HELP}");
        return Ok(());
    }
    let root = sh::root();
    let git = |args: &[&str]| sh::output(Command::new("git").arg("-C").arg(&root).args(args));
    let changes = git(&["status", "--porcelain"])?;
    if !changes.is_empty() {
        return Err(format!("these changes are not committed:\n{changes}"));
    }
    let tree = git(&["rev-parse", "HEAD^{tree}"])?;
    let folder = sh::scratch("ready")?;
    std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    sh::run(Command::new("git").args(["clone", "--quiet", "--no-local"]).arg(&root).arg(&folder))?;
    let mut checks = Command::new("bash");
    // The clone builds into a folder of its own, as a new checkout does.
    checks.arg(".ci/run").current_dir(&folder).env("CI", "true").env_remove("CARGO_TARGET_DIR");
    sh::run(&mut checks)?;
    let ready = sh::target_dir().join("ready");
    std::fs::write(&ready, &tree).map_err(|error| format!("{}: {error}", ready.display()))?;
    println!("{}: {}", ready.display(), tree.trim());
    // The clone's own builds take gigabytes. After a failure they stay, to be looked at.
    std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
}
