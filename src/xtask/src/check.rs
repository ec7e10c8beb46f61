//! `cargo xtask check`: formatting, lints and our own rules, in the order in which they are quick.

use crate::{sh, tidy};

/// Packages outside of the workspace, which `cargo fmt --all` does not see.
const EXCLUDED: [&str; 5] = [
    "benches/compare",
    "testbins/fuzz",
    "src/front/capi/embedded",
    "src/front/capi/unwind",
    "src/front/python",
];

pub(crate) fn run(_: &[String]) -> Result<(), String> {
    tidy::run(&[])?;
    sh::run(sh::cargo().args(["fmt", "--all", "--check"]))?;
    for package in EXCLUDED {
        let manifest = sh::root().join(package).join("Cargo.toml");
        sh::run(sh::cargo().args(["fmt", "--check", "--manifest-path"]).arg(manifest))?;
    }
    sh::run(sh::cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}
