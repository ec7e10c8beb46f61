//! `cargo xtask corpus`: puts large real programs into the ignored folder `corpus/`, only from package registries.

mod debian;
mod fetch;
mod ripgrep;
mod rocksdb;
mod sid;

use std::path::PathBuf;
use std::process::Command;

use xtask::sh;

const HELP: &str = "cargo xtask corpus [kernel|libc|ripgrep|rocksdb [VARIANT]...|sid [COMMAND [ARG]...]|all]
  kernel   the debug image of the distribution's cloud kernel (590 MB; needs apt-get and dpkg-deb)
  libc     the distribution's stripped C library and its debug file (needs apt-get and dpkg-deb)
  ripgrep  ripgrep by rustc with stmt_sequence: folded, with relocations kept, not folded (needs clang, and lld of version 22)
  rocksdb  RocksDB as a shared library, compiled once to optimised bitcode (a quarter of an hour on two cores);
           each variant is made from the bitcode, in two minutes (needs clang, lld and llvm of version 22)
  sid      a root of Debian `sid` with clang 23, lld 23, gcc 16 and mold 3.0 (needs root and debootstrap); a COMMAND runs
           in its folder `work`; corpus/sid-llvm gets scripts that start its LLVM tools outside of it (FOLDSYM_LLVM)
  all      kernel, libc and RocksDB's variant `main`
What exists is kept; delete a file below corpus/ to make it again.";

/// A command that runs a program in the folder `work` of the root of Debian `sid`, and that folder. The root must be there.
pub(crate) fn in_sid(program: &str) -> (Command, PathBuf) {
    let root = sh::root().join("corpus/sid");
    let folder = root.join(sid::WORK);
    (sid::command(&root, program), folder)
}

/// The folder with the LLVM tools of the root of Debian `sid`; it need not exist.
pub(crate) fn sid_llvm() -> PathBuf {
    sh::root().join("corpus").join(sid::LLVM)
}

/// Builds or fetches the named parts; see `HELP`.
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
        Some("sid") => sid::run(&corpus, args.get(1..).unwrap_or_default()),
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
