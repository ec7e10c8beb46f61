//! `cargo xtask compare`: builds the crate that holds the peers and passes all arguments on to it.

use xtask::sh;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    // Our side of the comparison is the installed command, built as users build it.
    sh::run(sh::cargo().args(["build", "--quiet", "--release", "--package", "foldsym"]))?;
    let manifest = sh::root().join("benches/compare/Cargo.toml");
    sh::run(
        sh::cargo()
            .args(["run", "--quiet", "--release", "--manifest-path"])
            .arg(manifest)
            .arg("--")
            .args(args),
    )
}
