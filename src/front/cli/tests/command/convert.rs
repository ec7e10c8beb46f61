//! `foldsym convert`: one input or many, failures, and output files.

use crate::common;

use std::path::Path;

use common::{foldsym, program};
use serde_json::Value;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The lines of a report of several programs.
fn manifest(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn one_input_one_output() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.fsym");
    let input = program("inline.clang-dwarf5");
    let ran = foldsym(&["convert", text(&input), "-o", text(&out)]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("a.fsym: ") && ran.out.lines().count() == 1, "{}", ran.out);
    let quiet = foldsym(&["convert", text(&input), "-o", text(&out), "--quiet"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (0, "", ""));
    assert_eq!(files(folder.path()), ["a.fsym"]);
}

#[test]
fn the_bytes_do_not_depend_on_threads_or_folder() {
    let folder = tempfile::tempdir().unwrap();
    let input = program("objects.clang-o2");
    let mut made = Vec::new();
    for (threads, cwd) in [("1", "/"), ("4", "."), ("0", folder.path().to_str().unwrap())] {
        let out = folder.path().join(format!("{threads}.fsym"));
        let ran = common::command()
            .current_dir(cwd)
            .args(["convert", text(&input), "-o", text(&out), "--threads", threads])
            .output()
            .unwrap();
        assert!(ran.status.success());
        made.push(std::fs::read(out).unwrap());
    }
    assert!(made[0] == made[1] && made[1] == made[2]);
}

#[test]
fn a_report_tells_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let (out, report) = (folder.path().join("a.fsym"), folder.path().join("r.json"));
    let input = program("inline.clang-dwarf5");
    let ran = foldsym(&["convert", text(&input), "-o", text(&out), "--report", text(&report)]);
    assert_eq!(ran.code, 0);
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert!(report["counts"]["functions"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["file_bytes"].as_u64(), Some(std::fs::metadata(&out).unwrap().len()));
    assert_eq!(files(folder.path()), ["a.fsym", "r.json"]);
}

#[test]
fn several_inputs_one_fails() {
    let folder = tempfile::tempdir().unwrap();
    let bad = common::file(folder.path(), "bad", b"\x7fELF is not enough");
    let (dir, report) = (folder.path().join("new/symbols"), folder.path().join("r.json"));
    let inputs =
        [program("inline.clang-dwarf5"), bad, program("symbols.clang"), folder.path().join("missing")];
    let mut args: Vec<&str> = vec!["convert"];
    args.extend(inputs.iter().map(|path| text(path)));
    args.extend(["--out-dir", text(&dir), "--report", text(&report)]);
    let ran = foldsym(&args);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert_eq!(files(&dir), ["inline.clang-dwarf5.fsym", "symbols.clang.fsym"]);
    assert!(ran.out.ends_with("2 converted, 2 failed\n"), "{}", ran.out);
    assert_eq!(ran.err.lines().count(), 2, "{}", ran.err);
    assert!(ran.err.contains("bad: ") && ran.err.contains("missing: "), "{}", ran.err);
    let entries = manifest(&report);
    assert_eq!(entries.len(), 4);
    let (failed, converted): (Vec<&Value>, Vec<&Value>) =
        entries.iter().partition(|entry| entry["error"].is_object());
    assert_eq!((failed.len(), converted.len()), (2, 2));
    assert!(failed.iter().all(|entry| entry["error"]["exit_code"] == 3 && entry["output"].is_string()));
    for entry in converted {
        assert!(entry["counts"]["functions"].is_u64() && entry["seconds"]["total"].is_f64(), "{entry}");
        assert!(Path::new(entry["output"].as_str().unwrap()).exists());
    }
    // Several that all succeed.
    let ran = foldsym(&["convert", args[1], args[3], "--out-dir", text(&dir), "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
}

#[test]
fn a_folder_gives_its_programs() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    std::fs::create_dir_all(tree.join("sub")).unwrap();
    std::fs::copy(program("inline.clang-dwarf5"), tree.join("sub/app")).unwrap();
    std::fs::copy(program("symbols.clang"), tree.join("app")).unwrap();
    std::fs::copy(program("symbols.clang"), tree.join("part.dwo")).unwrap();
    common::file(&tree, "notes.txt", b"nothing");
    let dir = folder.path().join("out");
    let ran = foldsym(&["convert", text(&tree), "--out-dir", text(&dir)]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        (files(&dir), files(&dir.join("sub"))),
        (vec!["app.fsym".to_owned(), "sub".to_owned()], vec!["app.fsym".to_owned()])
    );
    assert!(ran.out.ends_with("2 converted, 0 failed, 2 other files skipped\n"), "{}", ran.out);
}

#[test]
fn outputs_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (program("inline.clang-dwarf5"), program("symbols.clang"));
    let out = folder.path().join("a.fsym");
    let copy = folder.path().join("inline.clang-dwarf5");
    std::fs::copy(&one, &copy).unwrap();
    for args in [
        &["convert", text(&one), text(&two), "-o", text(&out)][..],
        &["convert", text(folder.path()), "-o", text(&out)],
        &["convert", text(&one), "-o", text(&out), "--out-dir", text(folder.path())],
        &["convert", text(&one), text(&copy), "--out-dir", text(folder.path())],
        &["convert", text(&copy), "-o", text(&copy)],
        &["convert", text(&one), "-o", text(&out), "--map-prefix", "nothing"],
        &["convert", text(&one), "-o", text(&out), "--remap-path", "=x"],
    ] {
        let ran = foldsym(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {ran:?}");
    }
    assert_eq!(files(folder.path()), ["inline.clang-dwarf5"]);
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&copy).unwrap());
    // A folder that cannot be made, and a missing one.
    let below = copy.join("below");
    assert_eq!(foldsym(&["convert", text(&one), "--out-dir", text(&below)]).code, 3);
    assert_eq!(foldsym(&["convert", text(&one), "-o", text(&folder.path().join("no/a.fsym"))]).code, 3);
}

#[test]
fn one_bad_input_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.fsym");
    for (name, bytes) in [("empty", &b""[..]), ("text", b"hello, world"), ("elf", b"\x7fELF\x02\x01\x01")] {
        let input = common::file(folder.path(), name, bytes);
        let ran = foldsym(&["convert", text(&input), "-o", text(&out)]);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
        assert!(
            ran.err.starts_with("foldsym: ") && ran.err.contains(name) && ran.err.lines().count() == 1,
            "{}",
            ran.err
        );
    }
    assert_eq!(foldsym(&["convert", text(&folder.path().join("missing")), "-o", text(&out)]).code, 3);
    assert!(!out.exists());
}

#[test]
fn a_program_without_debug_information_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.fsym");
    let input = program("inline.clang-symbols-only");
    let ran = foldsym(&["convert", text(&input), "-o", text(&out)]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("no debug information"), "{}", ran.out);
    let found = foldsym(&["lookup", text(&out), "0x2011c0"]);
    assert_eq!(found.out, "chain\n??:0:0\n\n");
}

#[test]
fn stored_paths_can_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.fsym");
    let input = program("inline.clang-dwarf5");
    let ran = foldsym(&["convert", text(&input), "-o", text(&out), "--remap-path", "/src/=/elsewhere/"]);
    assert_eq!(ran.code, 0);
    assert!(foldsym(&["lookup", text(&out), "0x201540"]).out.contains("/elsewhere/inline.c:"));
}

#[test]
fn a_program_of_another_architecture_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.fsym");
    let convert = |name: &str, arch: &str| {
        foldsym(&["convert", text(&program(name)), "-o", text(&out), "--quiet", "--arch", arch])
    };
    for (name, names) in [
        ("inline.clang-dwarf5", &["x86_64", "amd64", "x86-64"][..]),
        ("inline.aarch64", &["aarch64", "arm64"]),
        ("inline.arm-thumb", &["arm"]),
        ("inline.i386", &["i386", "x86"]),
        ("inline.riscv64-relax", &["riscv64"]),
        ("inline.ppc64-be", &["ppc64"]),
        ("inline.s390x-be", &["s390x"]),
        ("macho.arm64", &["arm64", "aarch64"]),
    ] {
        for arch in names {
            assert_eq!(convert(name, arch).code, 0, "{name} as {arch}");
            std::fs::remove_file(&out).unwrap();
        }
        let ran = convert(name, "sparc64");
        assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "{name}: {ran:?}");
        let last = &format!("a program for {}, expected one for sparc64\n", names[0]);
        assert!(ran.err.contains(name) && ran.err.ends_with(last), "{}", ran.err);
        assert!(!out.exists());
    }
    // For a fat file another choice would help.
    let ran = convert("macho.fat", "ppc64");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no architecture ppc64; it has: "), "{}", ran.err);
    assert_eq!(foldsym(&["convert", text(&program("macho.fat")), "-o", text(&out)]).code, 2);
    assert_eq!(convert("macho.fat", "x86_64").code, 0);
    // One of several inputs fails.
    let inputs = [program("inline.aarch64"), program("inline.i386")];
    let both =
        ["convert", text(&inputs[0]), text(&inputs[1]), "--out-dir", text(folder.path()), "--arch", "x86"];
    let ran = foldsym(&both);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert_eq!(files(folder.path()), ["a.fsym", "inline.i386.fsym"]);
}

#[test]
fn a_folder_without_a_program_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, dir) = (folder.path().join("empty"), folder.path().join("out"));
    std::fs::create_dir_all(empty.join("below")).unwrap();
    let ran = foldsym(&["convert", text(&empty), "--out-dir", text(&dir)]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.ends_with("/empty: an empty folder, expected programs in it\n"), "{}", ran.err);
    common::file(&empty.join("below"), "notes.txt", b"nothing");
    let report = folder.path().join("r.json");
    let ran = foldsym(&["convert", text(&empty), "--out-dir", text(&dir), "--report", text(&report)]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.ends_with("/empty: no program in this folder, only 1 other files\n"), "{}", ran.err);
    assert_eq!(manifest(&report)[0]["error"]["exit_code"], 3);
    // Next to an input that is converted, it is one that failed.
    let ran = foldsym(&["convert", text(&empty), text(&program("symbols.clang")), "--out-dir", text(&dir)]);
    assert_eq!((ran.code, files(&dir)), (4, vec!["symbols.clang.fsym".to_owned()]), "{ran:?}");
    assert!(ran.out.contains("1 converted, 1 failed"), "{}", ran.out);
}

#[test]
fn write_errors_name_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let input = program("symbols.clang");
    let (missing, report) = (folder.path().join("no/a.fsym"), folder.path().join("no/r.json"));
    let out = folder.path().join("a.fsym");
    for args in [
        &["convert", text(&input), "-o", text(&missing)][..],
        &["convert", text(&input), "-o", text(&out), "--report", text(&report)],
    ] {
        let ran = foldsym(args);
        assert_eq!(ran.code, 3, "{ran:?}");
        let named = args.last().unwrap();
        assert_eq!(
            ran.err,
            format!("foldsym: {named}: cannot write: No such file or directory (os error 2)\n")
        );
    }
    assert_eq!(files(folder.path()), ["a.fsym"]);
    // There is a folder at the path of the output.
    let ran = foldsym(&["convert", text(&input), "-o", text(folder.path())]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains(": cannot write: ") && !ran.err.contains(".fsym-"), "{}", ran.err);
}

#[test]
fn a_report_replaces_neither_input_nor_output() {
    let folder = tempfile::tempdir().unwrap();
    let (copy, out) = (folder.path().join("app"), folder.path().join("a.fsym"));
    std::fs::copy(program("symbols.clang"), &copy).unwrap();
    let before = std::fs::read(&copy).unwrap();
    for report in [&copy, &out, &folder.path().join("./app")] {
        let ran = foldsym(&["convert", text(&copy), "-o", text(&out), "--report", text(report)]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("the report would replace it"), "{}", ran.err);
    }
    assert_eq!((files(folder.path()), std::fs::read(&copy).unwrap()), (vec!["app".to_owned()], before));
}

#[test]
fn files_are_looked_for_where_the_options_say() {
    let folder = tempfile::tempdir().unwrap();
    let set = program("split.clang-dwarf5.set");
    let split = folder.path().join("split");
    std::fs::copy(set.join("split"), &split).unwrap();
    let partial = |args: &[&str]| {
        let (out, report) = (folder.path().join("a.fsym"), folder.path().join("r.json"));
        let base = ["convert", text(&split), "-o", text(&out), "--report", text(&report)];
        let ran = foldsym(&[&base, args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
        report["counts"]["partial_units"].as_u64().unwrap()
    };
    let (dwp, map) = (set.join("split.dwp"), format!("/tmpdir={}", text(&set)));
    assert_eq!(partial(&[]), 2);
    assert_eq!(partial(&["--dwo-dir", text(&set)]), 0);
    assert_eq!(partial(&["--dwp", text(&dwp)]), 0);
    assert_eq!(partial(&["--map-prefix", &map]), 0);
    // If a folder is given, none outside of it is opened.
    assert_eq!(partial(&["--map-prefix", &map, "--dwo-dir", text(folder.path())]), 2);
    let missing = folder.path().join("missing.dwp");
    let out = folder.path().join("b.fsym");
    let ran = foldsym(&["convert", text(&split), "-o", text(&out), "--dwp", text(&missing)]);
    assert_eq!((ran.code, out.exists()), (3, false), "{ran:?}");
}

#[test]
fn a_separate_debug_file_is_found_in_a_debug_dir() {
    let folder = tempfile::tempdir().unwrap();
    let set = program("split.gcc-dwarf4.set");
    let (app, out) = (folder.path().join("app"), folder.path().join("a.fsym"));
    std::fs::copy(set.join("stripped"), &app).unwrap();
    let symbols = foldsym(&["convert", text(&app), "-o", text(&out)]);
    assert!(symbols.out.contains("no debug information, symbols alone"), "{symbols:?}");
    let id = foldsym(&["info", text(&out), "--json"]).json()[0]["BuildId"].as_str().unwrap().to_owned();
    let below = folder.path().join("debug/.build-id").join(&id[..2]);
    std::fs::create_dir_all(&below).unwrap();
    std::fs::copy(set.join("stripped.debug"), below.join(format!("{}.debug", &id[2..]))).unwrap();
    let debug = folder.path().join("debug");
    let found = foldsym(&["convert", text(&app), "-o", text(&out), "--debug-dir", text(&debug)]);
    assert_eq!(found.code, 0);
    assert!(!found.out.contains("no debug information"), "{found:?}");
}

/// Imports are found by linkage names, which a file with readable names lacks; a message says that imports are not kept.
#[test]
fn imports_are_kept_or_missed_aloud() {
    let folder = tempfile::tempdir().unwrap();
    let of = |program: &str, options: &[&str]| {
        let (input, output) = (common::program(program), folder.path().join("out.fsym"));
        let args = ["convert", input.to_str().unwrap(), "-o", output.to_str().unwrap(), "--report", "-"];
        common::foldsym(&[&args[..], options].concat())
    };
    let both = of("imports.caller", &["--imports", "--demangled"]);
    assert_eq!(both.code, 2, "{both:?}");
    assert!(both.err.contains("cannot be used with"), "{both:?}");
    assert!(!of("imports.caller", &["--imports"]).out.contains("no_imports"));
    let macho = of("macho.arm64", &["--imports"]);
    assert!(macho.out.contains("no_imports"), "{macho:?}");
    assert!(!of("macho.arm64", &[]).out.contains("no_imports"));
}
