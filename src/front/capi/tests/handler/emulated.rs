//! The handler on AArch64, in the emulator of programs (qemu).

use std::path::{Path, PathBuf};
use std::process::Command;

use foldsym_convert::{NoProgress, Options, convert};

use crate::built::{Report, source, succeed};
use crate::common::{crate_dir, folder, skip};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// The archive for AArch64; `None` after saying what is missing.
fn archive(folder: &Path) -> Option<PathBuf> {
    for tool in ["qemu-aarch64", "aarch64-linux-gnu-g++"] {
        if Command::new(tool).arg("--version").output().is_err() {
            skip(tool);
            return None;
        }
    }
    let target = folder.join("archive");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--target", TARGET]).env("CARGO_TARGET_DIR", &target);
    cargo.current_dir(crate_dir().join("crash")).env_remove("RUSTFLAGS");
    let output = cargo.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // Not everybody can install another target.
    if !output.status.success() && said.contains("target may not be installed") {
        println!("skipped: needs rustup target add {TARGET}");
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(target.join(TARGET).join("release/libfoldsym_crash.a"))
}

#[test]
fn reports_of_aarch64_have_the_same_stacks() {
    let folder = folder("handler-aarch64");
    let Some(archive) = archive(&folder) else { return };
    let program = folder.join("program");
    let mut command = Command::new("aarch64-linux-gnu-g++");
    command.args(["-std=c++17", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"]);
    command.arg("-Wl,--build-id").arg(format!("-I{}", crate_dir().join("include").display()));
    command.args(["program.cpp", "plain.cpp", "folded.cpp"].map(source)).arg(archive);
    succeed(command.args(["-pthread", "-ldl", "-o"]).arg(&program));
    let options = Options::default().with(|options| {
        (options.threads, options.unwind, options.readable_names) = (1, true, true);
    });
    convert(&program, &folder.join("program.fsym"), &options, &NoProgress).unwrap();
    let run = |way: &str| {
        let mut qemu = Command::new("qemu-aarch64");
        let output = qemu.args(["-L", "/usr/aarch64-linux-gnu"]).arg(&program).arg(way).output().unwrap();
        let text = [output.stderr, output.stdout].concat();
        // The emulator has a line of its own for a signal that ends the program.
        let text = String::from_utf8_lossy(&text);
        let text = text.split_inclusive('\n').filter(|line| !line.starts_with("qemu: ")).collect();
        Report { text, status: output.status }
    };
    let callers = ["letters::weigh", "letters::post", "twice", "carry"];
    let cases: [(&str, &str, &[&str], &str); 7] = [
        ("segv", "SIGSEGV", &callers, "main"),
        ("thread", "SIGSEGV", &callers, "(anonymous namespace)::in_thread"),
        ("in-handler", "SIGSEGV", &callers, "(anonymous namespace)::on_user_signal"),
        ("null", "SIGSEGV", &["twice", "carry"], "main"),
        ("overflow", "SIGSEGV", &["(anonymous namespace)::deeper"; 222], "(anonymous namespace)::deeper"),
        ("abort", "SIGABRT", &["raise", "abort"], "main"),
        ("print", "", &[], "main"),
    ];
    for (way, signal, inner, outer) in cases {
        let report = run(way);
        if !signal.is_empty() {
            report.is_whole(if signal == "SIGABRT" { 6 } else { 11 }, signal);
        }
        // The innermost function has its own line in each crash.
        let skipped = usize::from(!signal.is_empty());
        let names: Vec<String> = report.lines().into_iter().skip(skipped).map(|line| line.name).collect();
        let expected = [inner, &[outer]].concat();
        assert_eq!(names[..expected.len()], expected, "{way}: {}", report.text);
        let ends = way == "thread" || names.last().is_some_and(|name| name == "_start");
        assert!(ends, "{way}: {}", report.text);
    }
    // Folded with the letter's function: a call tells which ran.
    let first = &run("segv").lines()[0];
    assert!(
        first.name == "(anonymous namespace)::grams_of_letter" && first.rest.ends_with("[exact]"),
        "{first:?}"
    );
    // A stack pointer that the crash destroyed: the walk ends, and no frame is its own caller.
    let report = run("lost");
    report.is_whole(11, "SIGSEGV");
    let addresses: Vec<&str> = report.text.lines().filter(|line| line.starts_with('#')).collect();
    let address = |line: &&str| line.split(' ').nth(1).unwrap_or_default().to_owned();
    let number = |line: &&str| line.split(' ').next().unwrap_or_default().to_owned();
    for pair in addresses.windows(2) {
        let [inner, outer] = pair else { unreachable!() };
        assert!(address(inner) != address(outer) || number(inner) == number(outer), "{}", report.text);
    }
    assert!(addresses[0].contains("lose_stack"), "{}", report.text);
    assert!(addresses.len() < 16, "{}", report.text);
}
