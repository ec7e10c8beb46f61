//! `cargo xtask nightly`: the sweeps of which `.ci/run` does a fixed tenth, whole, and those that it leaves out.

use std::process::Command;
use std::time::Instant;

use xtask::sh;

/// The sweeps, in the order in which they are quick: the arguments of `cargo xtask`. Each prints what it finds.
const SWEEPS: &[&[&str]] = &[
    &["cfi"],
    &["dropins"],
    &["ci-diff", "--all"],
    &["expr"],
    &["demangle"],
    &["names"],
    &["doors"],
    &["crash-doors"],
    &["blowup", "--pairs"],
    &["fold", "--seeds", "3"],
    &["trace"],
    &["soak", "--hostile", "--seconds", "60"],
    &["soak-store", "600"],
    &["fuzz", "--seconds", "600"],
];

/// The Python wheel's tests that take long.
const SLOW: &str = "slow";

const HELP: &str = "cargo xtask nightly [NAME]...
  runs the long sweeps one after another (some hours), each also after one that failed; with names, only the sweeps
  whose first word is one of them; `slow` is the Python wheel's tests of a million stacks and of Spark";

/// See `HELP`.
///
/// # Errors
/// Sweeps that failed, by name.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if args.iter().any(|arg| arg.starts_with('-')) {
        println!("{HELP}");
        return Ok(());
    }
    let known = |name: &String| name == SLOW || SWEEPS.iter().any(|words| words[0] == name);
    if let Some(name) = args.iter().find(|name| !known(name)) {
        return Err(format!("no sweep `{name}`; cargo xtask nightly --help"));
    }
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    let mut failed = Vec::new();
    let mut sweep = |name: String, command: &mut Command| {
        let start = Instant::now();
        let result = sh::run(command);
        println!("{} s: {name}", start.elapsed().as_secs());
        if let Err(error) = result {
            eprintln!("{name}: {error}");
            failed.push(name);
        }
    };
    for words in SWEEPS.iter().filter(|words| wanted(words[0])) {
        // The oracles are built in the profile of the program that starts them.
        let xtask = ["run", "--quiet", "--release", "--package", "xtask", "--"];
        sweep(words.join(" "), sh::cargo().args(xtask).args(*words).current_dir(sh::root()));
    }
    if wanted(SLOW) {
        let script = sh::root().join("src/front/python/test.sh");
        sweep("test.sh slow".to_owned(), Command::new(script).arg(SLOW));
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join("; "))) }
}
