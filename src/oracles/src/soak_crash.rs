//! `cargo xtask soak-crash [CRASHES]`: the crash handler's test with crashes at random moments, as many as one likes.

use xtask::sh;

const USAGE: &str = "usage: cargo xtask soak-crash [CRASHES]";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let crashes = match args {
        [] => "2000",
        [crashes] if crashes.parse::<u32>().is_ok() => crashes,
        _ => return Err(USAGE.to_owned()),
    };
    let mut test = sh::cargo();
    test.args([
        "test",
        "--quiet",
        "--package",
        "foldsym-capi",
        "--test",
        "handler",
        "--",
        "--exact",
        "soak::soak",
        "--nocapture",
    ]);
    sh::run(test.env("FOLDSYM_SOAK_CRASHES", crashes))
}
