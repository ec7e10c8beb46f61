//! `cargo xtask split`: RocksDB with split debug information against the same code with whole debug information.

use xtask::sh;

const HELP: &str = "cargo xtask split [NAME]
  at every address of RocksDB's code: loose .dwo files (DWARF 5 and 4) and a package answer as the program with whole debug
  information, and without a third of the .dwo files all but their inlines stays; minutes, and up to 2 GB of memory
  NAME   only comparisons whose name contains it
  needs: cargo xtask corpus rocksdb noflag split5 dwp5 split4 plain4";

/// # Errors
/// A usage error, a program that is missing, or answers that differ.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if args.len() > 1 || args.iter().any(|arg| arg.starts_with('-')) {
        return Err(HELP.to_owned());
    }
    let corpus = sh::root().join("corpus/rocksdb");
    for variant in ["noflag", "split5", "dwp5", "split4", "plain4"] {
        let library = corpus.join(format!("librocksdb.{variant}.so"));
        if !library.is_file() {
            return Err(format!("{} is not there: cargo xtask corpus rocksdb {variant}", library.display()));
        }
    }
    let name = args.first().map_or("", String::as_str);
    let mut test = sh::cargo();
    test.args(["test", "--quiet", "--release", "--package", "foldsym-convert", "--test", "split", "--"]);
    // One at a time: each holds two programs' answers.
    test.args(["--ignored", "--nocapture", "--test-threads=1", name]);
    sh::run(&mut test)
}
