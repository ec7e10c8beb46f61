//! `cargo xtask blowup`: hostile programs of every shape, and whether their cost stays in proportion to their size.

use xtask::sh;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    sh::run(sh::cargo().args(["build", "--quiet", "--release", "--package", "foldsym"]))?;
    sh::run(sh::cargo().args(["build", "--quiet", "--release", "--package", "foldsym-benches", "--bins"]))?;
    let release = sh::target_dir().join("release");
    let mut blowup = std::process::Command::new(release.join("blowup"));
    sh::run(blowup.arg("--foldsym").arg(release.join("foldsym")).args(args))
}
