//! The command line itself: help, versions, completions, and what this version does not have.

use crate::common;

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
        &["lookup", "a", "-f=short", "--output-style=JSON", "0"],
        &["stack", "a", "--no-inlines", "--output-style=JSON", "0"],
        &["stack", "a", "-s", "--output-style=JSON", "0"],
        &["convert", "-o", "b"],
        &["convert", "a", "-o", "b", "--threads", "100000"],
        &["convert", "a", "-o", "b", "--threads", "x"],
        &["convert", "a", "-o", "b", "--arch", "x86", "--target", "gfx90a"],
        &["completions", "nosuchshell"],
    ] {
        let ran = foldsym(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {ran:?}");
        assert!(!ran.err.is_empty());
        let refused = args.contains(&"--output-style=JSON");
        assert!(!refused || ran.err.contains("cannot be used with --output-style=JSON"), "{ran:?}");
    }
}

/// The usage line of `find` says that one of a name, a prefix and a regular expression is given.
#[test]
fn find_takes_one_way_to_name_functions() {
    let usage = "foldsym find [OPTIONS] <FILE.fsym> <NAME|--prefix <P>|--regex <R>>";
    let help = foldsym(&["find", "--help"]);
    assert!(help.out.contains(usage), "{}", help.out);
    for args in [&["find", "a.fsym"][..], &["find", "a.fsym", "main", "--prefix", "m"]] {
        let ran = foldsym(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {ran:?}");
        assert!(ran.err.contains(usage), "{ran:?}");
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

/// Each command has a page, which `man` formats without a complaint.
#[test]
fn manual_pages() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("man1");
    let ran = foldsym(&["man", to.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let help = foldsym(&["--help"]).out;
    let commands = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    // Lines that go on with a description are indented further.
    let names =
        commands.lines().filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let mut pages = 0;
    for name in names {
        let page = std::fs::read_to_string(to.join(format!("foldsym-{name}.1")))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH DESCRIPTION"), "{name}");
        pages += 1;
    }
    assert!(pages > 15 && to.join("foldsym.1").is_file() && to.join("foldsym-store-gc.1").is_file());
    let denied = foldsym(&["man", "/dev/null/man"]);
    assert!(denied.code == 3 && denied.err.contains("/dev/null/man: "), "{denied:?}");
}

/// `-e` as addr2line and llvm-symbolizer have it.
#[test]
fn the_file_as_an_option() {
    let fsym = common::Fsym::of("demo.elf", &[]);
    let expected = fsym.run("lookup", &["-a", "0x2012b0", "0x201734"]);
    for option in ["-e", "--exe", "--obj"] {
        let ran = foldsym(&["lookup", "-afiC", option, fsym.str(), "0x2012b0", "0x201734"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, expected.out.as_str()), "{ran:?}");
    }
    let stack = foldsym(&["stack", "0x2012b0", "0x201734", "-e", fsym.str()]);
    assert_eq!(stack.out, fsym.run("stack", &["0x2012b0", "0x201734"]).out);
    assert_eq!(foldsym(&["lookup", "-e", fsym.str(), "--open-paths", "0x1"]).code, 2);
}

/// Options as users of llvm-symbolizer type them, more than once too.
#[test]
fn options_of_llvm_symbolizer() {
    let fsym = common::Fsym::of("demo.elf", &["--columns"]);
    let llvm = |args: &[&str]| foldsym(&[&["llvm-symbolizer", "-e", fsym.str()][..], args].concat()).out;
    for args in [
        &["-f=short", "0x2012b0"][..],
        &["--functions=short", "-C", "-C", "0x2012b0"],
        &["-f=none", "-p", "0x2012b0"],
        &["-f=linkage", "--output-style=LLVM", "0x2012b0"],
        &["-fi", "-a", "-s", "0x2012b0", "0x201734"],
    ] {
        let ran = foldsym(&[&["lookup", "-e", fsym.str()][..], args].concat());
        assert_eq!((ran.code, ran.out), (0, llvm(args)), "{args:?}: {}", ran.err);
    }
    assert!(llvm(&["-f=short", "0x2012b0"]).starts_with("print_address\n"));
    let json = fsym.run("lookup", &["--output-style=JSON", "0x2012b0"]);
    assert_eq!(json.out, fsym.run("lookup", &["--json", "0x2012b0"]).out);
    let gnu = fsym.run("lookup", &["--output-style=GNU", "0x2012b0"]);
    assert!(gnu.code == 2 && gnu.err.contains("LLVM, JSON"), "{gnu:?}");
}
