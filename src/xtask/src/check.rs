//! `cargo xtask check`: formatting, licences, packages, lints and our own rules, in the order in which they are quick.

use crate::{dist, licences, tidy};
use xtask::sh;

/// Packages outside of the workspace, which `cargo fmt --all` does not see.
const EXCLUDED: [&str; 6] = [
    "benches/compare",
    "testbins/fuzz",
    "src/front/capi/crash",
    "src/front/capi/embedded",
    "src/front/capi/unwind",
    "src/front/python",
];

/// Members of the workspace that are not published.
const UNPUBLISHED: [&str; 5] = ["xtask", "oracles", "foldsym-testbins", "foldsym-benches", "foldsym-testkit"];

pub(crate) fn run(_: &[String]) -> Result<(), String> {
    tidy::run(&[])?;
    sh::run(sh::cargo().args(["fmt", "--all", "--check"]))?;
    for package in EXCLUDED {
        let manifest = sh::root().join(package).join("Cargo.toml");
        sh::run(sh::cargo().args(["fmt", "--check", "--manifest-path"]).arg(manifest))?;
    }
    let linked = licences::dependencies(dist::TARGETS[0].name, dist::FEATURES)?;
    licences::check(&linked, &licences::allowed()?)?;
    pack()?;
    sh::run(sh::cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Packs each published crate, as its registry would get it. A manifest without a field that a registry requires, a path dependency without
/// a version and a missing file are errors. Builds nothing and needs no network.
fn pack() -> Result<(), String> {
    let package = |option: &str| {
        let mut cargo = sh::cargo();
        cargo.args(["package", "--quiet", "--workspace", option, "--allow-dirty", "--offline"]);
        for package in UNPUBLISHED {
            cargo.args(["--exclude", package]);
        }
        cargo
    };
    let files = sh::output(&mut package("--list"))?;
    let with = |name: &str| files.lines().filter(|line| *line == name).count();
    // The list has no names of packages, but each package has one manifest at its root.
    let packages = with("Cargo.toml");
    for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        if with(name) != packages {
            return Err(format!("{} of {packages} packages have {name}: each must", with(name)));
        }
    }
    sh::run(&mut package("--no-verify"))
}
