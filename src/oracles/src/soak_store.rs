//! `cargo xtask soak-store [SECONDS]`: the symbol store's test with processes that are killed at random, for as long as one likes.

use xtask::sh;

const USAGE: &str = "usage: cargo xtask soak-store [SECONDS]";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let seconds = match args {
        [] => "600",
        [seconds] if seconds.parse::<u32>().is_ok() => seconds,
        _ => return Err(USAGE.to_owned()),
    };
    let mut test = sh::cargo();
    test.args([
        "test",
        "--quiet",
        "--release",
        "--package",
        "foldsym-store",
        "--test",
        "soak",
        "--",
        "--nocapture",
    ]);
    sh::run(test.env("FOLDSYM_SOAK_SECONDS", seconds))
}
