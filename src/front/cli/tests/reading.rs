//! A build without the feature `convert`: it answers from `.fsym` files, and refuses the other commands with a message.
#![cfg(not(feature = "convert"))]

use std::path::Path;
use std::process::Command;

/// Exit code, standard output, standard error.
fn foldsym(args: &[&str]) -> (i32, String, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_foldsym")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

#[test]
fn symbol_files_are_answered_and_programs_are_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let golden = root.join("schema/golden/demo.fsym");
    let (golden, demo) = (golden.to_str().unwrap(), root.join("testbins/built/demo.elf"));
    let demo = demo.to_str().unwrap();
    // The listing beside the golden file says which function has its first address.
    let (code, found, _) = foldsym(&["find", golden, "--regex", "^"]);
    let first = found.lines().next().unwrap();
    let mut fields = first.split('\t');
    let (name, ranges) = (fields.next().unwrap(), fields.next().unwrap());
    assert_eq!(code, 0, "{found}");
    let (code, out, err) = foldsym(&["lookup", golden, ranges.split('-').next().unwrap(), "--candidates"]);
    assert!(code == 0 && out.contains(name), "{name}: {out}{err}");
    assert_eq!(foldsym(&["verify", golden]).0, 0);
    let lacks = "(it lacks the feature `convert`)";
    for args in [
        &["convert", demo][..],
        &["cfi", demo, "0x10"],
        &["verify", golden, "--against", demo],
        &["export", golden, "--gsym", "-o", "x"],
        &["llvm-symbolizer", "-e", demo, "0x10"],
    ] {
        let (code, out, err) = foldsym(args);
        assert!((code, out.as_str()) == (2, "") && err.contains(lacks), "{args:?}: {code} {out}{err}");
    }
    let (code, _, err) = foldsym(&["lookup", demo, "0x10"]);
    assert!(code == 3 && err.contains("demo.elf: a program, ") && err.contains(lacks), "{err}");
    let built = root.join("testbins/built");
    let (code, out, err) = foldsym(&["lookup", "--search", built.to_str().unwrap(), "demo.elf+0x2012b0"]);
    assert!(code == 0 && out.contains("takes no programs") && out.contains(lacks), "{out}{err}");
}
