//! `cargo xtask expr`: every location expression of programs, by our evaluator and by gimli's.

use std::path::PathBuf;

use crate::{ci, sh};

const HELP: &str = "cargo xtask expr [PROGRAM]... [--seed N]
  evaluates every location expression and every entry of a location list of the programs with our evaluator and with
  gimli's, in one made-up stopped program, and fails if any differs
  without a program: the C library's debug file, and corpus/rocksdb/librocksdb.so where it is";

/// # Errors
/// A usage error, a program that is missing, or a difference.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if args.iter().any(|arg| arg.starts_with('-') && arg != "--seed") {
        return Err(HELP.to_owned());
    }
    let mut oracle = sh::cargo();
    oracle.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "foldsym-testbins",
        "--bin",
        "oracle_expr",
        "--",
    ]);
    oracle.args(args);
    if args.is_empty() || args[0] == "--seed" {
        let libc = ci::libc().ok_or("needs the C library's debug file: package libc6-dbg")?;
        let rocksdb: PathBuf = sh::root().join("corpus/rocksdb/librocksdb.so");
        oracle.arg(libc).args(rocksdb.is_file().then_some(rocksdb));
    }
    sh::run(&mut oracle)
}
