//! The work of a command is proportional to its input: instructions of the process, counted by valgrind.

#![cfg(target_os = "linux")]

use crate::common;

use std::path::Path;
use std::process::Command;

use common::file;

/// Four times the input may take up to this many times the instructions: in proportion it is 4, for each pair of lines 16.
const MOST: f64 = 6.0;

/// The instructions of a command; `None` after saying that the test is skipped.
fn instructions(args: &[&str], input: &Path) -> Option<u64> {
    let input = std::fs::File::open(input).unwrap();
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", env!("CARGO_BIN_EXE_foldsym")]);
    let output = match valgrind.args(args).stdin(input).output() {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "needs valgrind: {error}");
            println!("skipped: needs valgrind");
            return None;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code().is_some_and(|code| code < 2), "{}: {said}", output.status);
    let count = said.lines().find_map(|line| line.split("Collected : ").nth(1)?.trim().parse().ok());
    Some(count.unwrap_or_else(|| panic!("{said}")))
}

/// Runs a command on an input and on one of four times its size.
fn assert_in_proportion(args: &[&str], input: impl Fn(usize) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let args = [args, &["--search", empty.to_str().unwrap()]].concat();
    let run = |count: usize| {
        let path = file(folder.path(), "input", input(count).as_bytes());
        instructions(&args, &path)
    };
    let (Some(none), Some(few), Some(many)) = (run(1), run(1_500), run(6_000)) else { return };
    let ratio = (many - none) as f64 / (few - none) as f64;
    assert!(ratio < MOST, "{args:?}: {few} instructions, and {many} for four times the input");
}

#[test]
fn lines_that_name_a_new_module_each() {
    assert_in_proportion(&["lookup", "--json"], |count| {
        (0..count).map(|n| format!("lib{n}.so+0x10\n")).collect()
    });
}

#[test]
fn a_log_that_names_a_new_module_in_each_line() {
    assert_in_proportion(&["filter"], |count| {
        (0..count).map(|n| format!("    #{} 0x10 in f (lib{n}.so+0x10)\n", n % 20)).collect()
    });
}

#[test]
fn a_stack_that_names_its_modules_by_text() {
    assert_in_proportion(&["stack", "--json"], |count| {
        let modules = (0..count).map(|n| format!("{{\"name\":\"/a/lib{n}.so\"}}")).collect::<Vec<_>>();
        let frame = |n| format!("{{\"module\":\"lib{n}.so\",\"offset\":16}}");
        let frames = (0..count).map(frame).collect::<Vec<_>>();
        format!("{{\"modules\":[{}],\"frames\":[{}]}}\n", modules.join(","), frames.join(","))
    });
}
