//! The command line itself: help, versions, completions, and what this version does not have.

mod common;

use common::foldsym;

#[test]
fn help_has_examples() {
    let ran = foldsym(&["--help"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("Examples:") && ran.out.contains("foldsym convert app  "), "{}", ran.out);
    for command in ["convert", "lookup", "stack", "find", "info", "dump", "verify", "completions"] {
        assert!(ran.out.contains(command), "{command}");
        let ran = foldsym(&[command, "--help"]);
        assert_eq!(ran.code, 0);
        if !matches!(command, "completions" | "info") {
            assert!(ran.out.contains("Examples:"), "{command}: {}", ran.out);
        }
    }
    let version = foldsym(&["--version"]);
    assert_eq!(
        (version.code, version.out.as_str()),
        (0, concat!("foldsym ", env!("CARGO_PKG_VERSION"), "\n"))
    );
}

#[test]
fn wrong_command_lines() {
    for args in [
        &[][..],
        &["nothing"],
        &["lookup"],
        &["lookup", "--nothing"],
        &["convert", "a", "b"],
        &["convert", "a", "b", "--debug-file", "c", "--out-dir", "d"],
        &["convert", "a", "-o", "-", "--report", "-"],
        &["convert", "a", "--out-dir", "b", "--include", "[x"],
        &["lookup", "a", "--functions=none", "--json", "0"],
        &["convert", "-o", "b"],
        &["convert", "a", "-o", "b", "--threads", "100000"],
        &["convert", "a", "-o", "b", "--threads", "x"],
        &["convert", "a", "-o", "b", "--arch", "x86", "--target", "gfx90a"],
        &["completions", "nosuchshell"],
    ] {
        let ran = foldsym(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {ran:?}");
        assert!(!ran.err.is_empty());
    }
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = foldsym(&["completions", shell]);
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains("foldsym") && ran.out.contains("no-demangle"), "{shell}");
    }
}
