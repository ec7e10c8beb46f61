//! `cargo xtask expr`: every location expression of programs, by our evaluator and by gimli's.

use std::path::PathBuf;

use crate::ci;
use xtask::sh;

const HELP: &str = "cargo xtask expr [PROGRAM]... [--seed N]
  evaluates every location expression and every entry of a location list of the programs with our evaluator and with
  gimli's, in one made-up stopped program, and fails if any differs; then converts them with the places of objects, and
  fails if one of these is not what gimli reads, or one is missing
  without a program: the C library's debug file, and corpus/rocksdb/librocksdb.so where it is";

/// # Errors
/// A usage error, a program that is missing, or a difference.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if args.iter().any(|arg| arg.starts_with('-') && arg != "--seed") {
        return Err(HELP.to_owned());
    }
    // `--workspace` chooses the features of dependencies as `cargo test --workspace` does, so that nothing is built again.
    let build = ["test", "--quiet", "--workspace", "--test", "programs"];
    sh::run(sh::cargo().args(build).arg("--no-run"))?;
    let mut oracle = std::process::Command::new(sh::target_dir().join("debug/oracle_expr"));
    oracle.args(args);
    let mut programs: Vec<PathBuf> = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seed" => drop(words.next()),
            _ => programs.push(std::path::absolute(word).map_err(|error| format!("{word}: {error}"))?),
        }
    }
    if programs.is_empty() {
        programs.push(ci::libc().ok_or("needs the C library's debug file: package libc6-dbg")?);
        programs.extend(Some(sh::root().join("corpus/rocksdb/librocksdb.so")).filter(|path| path.is_file()));
        oracle.args(&programs);
    }
    sh::run(&mut oracle)?;
    let list: Vec<String> = programs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let mut objects = sh::cargo();
    objects.args(build);
    objects.args(["--", "objects::", "--nocapture"]).env("FOLDSYM_OBJECTS", list.join("\n"));
    sh::run(&mut objects)
}
