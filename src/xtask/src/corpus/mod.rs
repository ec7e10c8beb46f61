//! `cargo xtask corpus`: large real programs into the ignored folder `corpus/`, from package registries alone.

mod debian;
mod ripgrep;
mod rocksdb;

pub(crate) use debian::build_id;

use std::path::Path;

use crate::sh;

const HELP: &str = "cargo xtask corpus [kernel|libc|ripgrep|rocksdb [VARIANT]...|all]
  kernel   the debug image of the distribution's cloud kernel (590 MB; needs apt-get and dpkg-deb)
  libc     the distribution's stripped C library and its debug file (needs apt-get and dpkg-deb)
  ripgrep  ripgrep by rustc with stmt_sequence: folded, with relocations kept, not folded (needs clang, and lld of version 22)
  rocksdb  RocksDB as a shared library, compiled once to optimised bitcode (a quarter of an hour on two cores);
           each variant is made from the bitcode, in two minutes (needs clang, lld and llvm of version 22)
  all      kernel, libc and RocksDB's variant `main`
What exists is kept; delete a file below corpus/ to make it again.";

/// Builds or fetches what is named; see `HELP`.
///
/// # Errors
/// A usage error, a missing tool (named with its package), or a step that fails.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let corpus = sh::root().join("corpus");
    match args.first().map(String::as_str) {
        Some("kernel") => debian::kernel(&corpus),
        Some("libc") => debian::libc(&corpus),
        Some("ripgrep") => ripgrep::build(&corpus.join("ripgrep")),
        Some("rocksdb") => rocksdb::build(&corpus.join("rocksdb"), args.get(1..).unwrap_or_default()),
        Some("all") => {
            debian::kernel(&corpus)?;
            debian::libc(&corpus)?;
            rocksdb::build(&corpus.join("rocksdb"), &[])
        }
        _ => {
            println!("{HELP}\n\nVariants of rocksdb:\n{}", rocksdb::list());
            Ok(())
        }
    }
}

/// Fetches the Rust package through cargo, with a project made for it, and keeps the source.
fn fetch(folder: &Path, package: &str, version: &str) -> Result<(), String> {
    let project = folder.join("fetch");
    sh::create_dir(&project.join("src"))?;
    // Its own workspace: it stands below ours and must not be looked for there.
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [workspace]\n\n[dependencies]\n{package} = \"={version}\"\n"
    );
    for (name, text) in [("Cargo.toml", manifest.as_str()), ("src/lib.rs", "")] {
        let path = project.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    sh::run(sh::cargo().current_dir(&project).args(["vendor", "--quiet", "vendor"]))?;
    sh::rename(&project.join("vendor").join(package), &folder.join("src"))?;
    std::fs::remove_dir_all(&project).map_err(|e| format!("{}: {e}", project.display()))
}
