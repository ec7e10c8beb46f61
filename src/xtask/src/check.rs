//! `cargo xtask check`: formatting, lints and our own rules, in the order in which they are quick.

use crate::{sh, tidy};

pub(crate) fn run(_: &[String]) -> Result<(), String> {
    tidy::run(&[])?;
    sh::run(sh::cargo().args(["fmt", "--all", "--check"]))?;
    sh::run(sh::cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}
