//! `cargo xtask blowup`: hostile programs of every shape and hostile reports of every format, and whether their cost stays in proportion to
//! their size.

use crate::ours;
use xtask::sh;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let foldsym = ours::build_with("foldsym", &["foldsym"], "parquet")?.join("foldsym");
    let mut blowup = std::process::Command::new(ours::build("foldsym-benches", &["blowup"])?.join("blowup"));
    sh::run(blowup.arg("--foldsym").arg(foldsym).args(args))
}
