//! `convert` of a build folder takes its programs; and options that name folders say which one is not there.

#![cfg(feature = "convert")]

use crate::common;

use std::path::{Path, PathBuf};

use common::{Ran, foldsym, program};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder as build systems leave it: one program, its object file, a static library, and programs that only tried the compiler.
fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let object = "inline.clang-sections.o";
    for (from, to) in [
        ("demo.elf", "bin/app"),
        (object, "CMakeFiles/app.dir/main.cpp.o"),
        ("demo.gcc", "CMakeFiles/3.25.1/CompilerIdC/a.out"),
        ("symbols.clang", "CMakeFiles/3.25.1/CMakeDetermineCompilerABI_C.bin"),
        ("demo.gcc", "sub/meson-private/sanitycheckc.exe"),
        ("demo.gcc", "conftest"),
        ("demo.gcc", "rust/debug/build/libc-1f/build-script-build"),
    ] {
        let to = folder.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(program(from), to).unwrap();
    }
    let bytes = std::fs::read(program(object)).unwrap();
    let header = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a.o/", 0, 0, 0, 644, bytes.len());
    let archive = [b"!<arch>\n", header.as_bytes(), &bytes].concat();
    std::fs::write(folder.path().join("libpart.a"), archive).unwrap();
    std::fs::write(folder.path().join("Makefile"), "all:").unwrap();
    folder
}

fn planned(inputs: &[&Path], more: &[&str]) -> Vec<String> {
    let inputs: Vec<&str> = inputs.iter().map(|input| text(input)).collect();
    let ran = foldsym(&[&["convert", "--out-dir", "/out", "--dry-run"], &inputs[..], more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out.lines().map(|line| line.rsplit_once(" -> /out/").unwrap().1.to_owned()).collect()
}

#[test]
fn a_store_of_a_build_folder_has_its_programs_alone() {
    let (tree, store) = (tree(), tempfile::tempdir().unwrap());
    let store = store.path().join("store");
    let ran = foldsym(&["convert", text(tree.path()), "--store", text(&store), "--strict"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let total = "1 converted, 0 failed, 1 other files skipped, 2 object files and archives passed over (--objects \
                 converts them), 5 compiler probes of build systems passed over (to convert one, name it)\n";
    assert!(ran.out.ends_with(total), "{}", ran.out);
    let listed = foldsym(&["store", "list", text(&store)]);
    assert_eq!(listed.out.lines().count(), 1, "{}", listed.out);
}

#[test]
fn what_is_passed_over_can_be_included() {
    let tree = tree();
    let at = |name: &str| tree.path().join(name);
    assert_eq!(planned(&[tree.path()], &[]), ["bin/app.fsym"]);
    let objects = ["CMakeFiles/app.dir/main.cpp.o.fsym", "bin/app.fsym", "libpart.a.a.o.fsym"];
    assert_eq!(planned(&[tree.path()], &["--objects"]), objects);
    // What the command line names is taken.
    let probe = at("CMakeFiles/3.25.1/CompilerIdC");
    assert_eq!(planned(&[&probe], &[]), ["a.out.fsym"]);
    let named = [at("libpart.a"), at("CMakeFiles/app.dir/main.cpp.o"), at("conftest")];
    let named = named.each_ref().map(PathBuf::as_path);
    assert_eq!(planned(&named, &[]), ["libpart.a.a.o.fsym", "main.cpp.o.fsym", "conftest.fsym"]);
    // A folder with nothing else is no success.
    let ran = foldsym(&["convert", text(&at("CMakeFiles/app.dir")), "--out-dir", "/out"]);
    let says =
        "no program in this folder: 1 object files and archives passed over (--objects converts them)\n";
    assert!(ran.code == 3 && ran.err.ends_with(says), "{ran:?}");
}

#[test]
fn kernel_modules_are_programs_of_a_folder() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let object = std::fs::read(program("inline.clang-sections.o")).unwrap();
    std::fs::write(folder.path().join("one.ko"), &object).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&object).unwrap();
    std::fs::write(folder.path().join("two.ko.gz"), gzip.finish().unwrap()).unwrap();
    assert_eq!(planned(&[folder.path()], &[]), ["one.ko.fsym", "two.ko.gz.fsym"]);
    let out = folder.path().join("out");
    let ran = foldsym(&["convert", text(folder.path()), "--out-dir", text(&out)]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let answers = |name: &str| {
        let ran: Ran = foldsym(&["find", text(&out.join(name)), "--prefix", ""]);
        assert!(ran.code == 0 && !ran.out.is_empty(), "{ran:?}");
        ran.out
    };
    assert_eq!(answers("one.ko.fsym"), answers("two.ko.gz.fsym"));
}

#[test]
fn a_folder_of_an_option_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (app, out, none) =
        (program("demo.elf"), folder.path().join("a.fsym"), folder.path().join("nosuchdir"));
    for option in ["--dwo-dir", "--debug-dir"] {
        for wrong in [&none, &app] {
            let ran = foldsym(&["convert", text(&app), "-o", text(&out), option, text(wrong)]);
            assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "{ran:?}");
            assert!(ran.err.contains(text(wrong)) && ran.err.contains(option), "{}", ran.err);
        }
        assert!(!out.exists());
        let ran = foldsym(&["convert", text(&app), "-o", text(&out), option, text(folder.path())]);
        assert_eq!(ran.code, 0, "{ran:?}");
        std::fs::remove_file(&out).unwrap();
    }
}
