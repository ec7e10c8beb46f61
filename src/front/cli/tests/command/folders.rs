//! The bytes of a file depend neither on the folder of its program, nor on the folders of the files that belong to it, found or refused.

use crate::common;

use std::path::Path;

use common::{command, program};

/// Copies a file or a bundle of the test programs.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::copy(from, to).unwrap();
    }
}

/// Converts `name` in `folder`, its path written as given; returns the file, and its report as text.
fn convert(folder: &Path, working: &Path, written: &Path) -> (Vec<u8>, String) {
    let out = tempfile::tempdir_in(folder.parent().unwrap()).unwrap();
    let (fsym, report) = (out.path().join("out.fsym"), out.path().join("r.json"));
    let mut convert = command();
    convert
        .current_dir(working)
        .arg("convert")
        .arg(written)
        .arg("-o")
        .arg(&fsym)
        .arg("--report")
        .arg(&report);
    let ran = convert.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    (std::fs::read(fsym).unwrap(), std::fs::read_to_string(report).unwrap())
}

/// Puts the files (from where, as what) into several folders, converts the first in each, and compares. The report must have a note of this
/// kind or name; if it names a file, then with its whole path.
fn alike(files: &[(&str, &str)], note: &str, names_folder: bool) {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let mut made: Vec<Vec<u8>> = Vec::new();
    for folder in ["a", "some/where/else", "x.app/Contents/MacOS"] {
        let folder = root.join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (from, to) in files {
            match from.strip_prefix('=') {
                Some(content) => std::fs::write(folder.join(to), content).unwrap(),
                None => copy(&program(from), &folder.join(to)),
            }
        }
        let name = Path::new(files[0].1);
        let up = Path::new("..").join(folder.file_name().unwrap()).join(name);
        for (working, written) in [(Path::new("/"), folder.join(name)), (&folder, name.into()), (&folder, up)]
        {
            let (bytes, report) = convert(&folder, working, &written);
            assert!(report.contains(note), "{note}: {report}");
            let told = report.split(note).nth(1).unwrap_or_default();
            // A path may be written as the program's was; from the root it is whole.
            if names_folder && working == Path::new("/") {
                assert!(told.contains(folder.to_str().unwrap()), "{note}: {report}");
            }
            made.push(bytes);
        }
    }
    assert!(made.iter().all(|bytes| *bytes == made[0]), "{note}: {files:?}");
}

#[test]
fn separate_debug_files() {
    let set = "split.clang-dwarf5.set";
    let [stripped, debug] = ["stripped", "stripped.debug"].map(|file| format!("{set}/{file}"));
    let dwo = ["a.dwo", "b.dwo"].map(|file| format!("{set}/{file}"));
    let found =
        [(&*stripped, "stripped"), (&*debug, "stripped.debug"), (&*dwo[0], "a.dwo"), (&*dwo[1], "b.dwo")];
    alike(&found, "\"notes\": []", false);
    let other = [(&*stripped, "stripped"), ("split.gcc-dwarf5.set/stripped.debug", "stripped.debug")];
    alike(&other, "DebugFileMismatch x 1", true);
    alike(&[(&*stripped, "stripped"), ("=no program", "stripped.debug")], "DebugFileUnreadable x 1", true);
}

#[test]
fn bundles() {
    alike(&[("macho.arm64", "app"), ("macho.arm64.dSYM", "app.dSYM")], "\"notes\": []", false);
    alike(&[("macho.arm64", "app"), ("macho.x86_64.dSYM", "app.dSYM")], "DebugFileMismatch x 1", true);
}

#[test]
fn split_dwarf() {
    let set = "split.clang-dwarf5.set";
    let [split, a, b] = ["split", "a.dwo", "b.dwo"].map(|file| format!("{set}/{file}"));
    alike(&[(&*split, "split"), (&*a, "a.dwo"), (&*b, "b.dwo")], "\"partial_units\": 0", false);
    alike(&[(&*split, "split"), (&*a, "a.dwo")], "missing_dwo", false);
    alike(&[(&*split, "split"), (&*a, "a.dwo"), ("=no object", "b.dwo")], "missing_dwo", true);
    alike(&[(&*split, "split"), (&*a, "a.dwo"), (&*a, "b.dwo")], "dwo_mismatch", true);
    alike(
        &[(&*split, "split"), (&*a, "a.dwo"), (&*b, "b.dwo"), ("=no package", "split.dwp")],
        "PackageUnreadable",
        true,
    );
    let other = "split.gcc-dwarf4.set/split.dwp";
    alike(
        &[(&*split, "split"), (&*a, "a.dwo"), (&*b, "b.dwo"), (other, "split.dwp")],
        "\"partial_units\": 0",
        false,
    );
}

#[test]
fn a_bundle_around_the_program_is_found_from_inside() {
    let root = tempfile::tempdir().unwrap();
    let inside = root.path().join("x.app/Contents/MacOS");
    std::fs::create_dir_all(&inside).unwrap();
    copy(&program("macho.arm64"), &inside.join("x"));
    copy(&program("macho.arm64.dSYM"), &root.path().join("x.app.dSYM"));
    let (from_outside, report) = convert(&inside, Path::new("/"), &inside.join("x"));
    assert!(!report.contains("\"units\": 0"), "{report}");
    assert!(convert(&inside, &inside, Path::new("x")).0 == from_outside);
}

/// Debug information without code is less sure, and says so; with its program beside it, it is as sure as that.
#[test]
fn a_debug_file_alone_is_told() {
    let root = tempfile::tempdir().unwrap();
    let (bundle, out) = (root.path().join("x.dSYM"), root.path().join("out.fsym"));
    copy(&program("macho.arm64.dSYM"), &bundle);
    let told = |more: &[&str]| {
        let args = [&["convert", bundle.to_str().unwrap(), "-o", out.to_str().unwrap()], more].concat();
        let ran = common::foldsym(&args);
        assert_eq!(ran.code, 0);
        let info = common::foldsym(&["info", out.to_str().unwrap(), "--json"]);
        let notes = info.json()[0]["Conversion"]["notes"].to_string();
        (ran.err.contains("no code"), notes.contains("NoCode"))
    };
    assert_eq!(told(&[]), (true, true));
    assert_eq!(told(&["--quiet"]), (true, true));
    copy(&program("macho.arm64"), &root.path().join("x"));
    assert_eq!(told(&[]), (false, false));
}

#[test]
fn the_stored_record_still_says_what_is_missing() {
    let root = tempfile::tempdir().unwrap();
    let set = "split.clang-dwarf5.set";
    copy(&program(&format!("{set}/split")), &root.path().join("split"));
    std::fs::write(root.path().join("a.dwo"), "no object").unwrap();
    let out = root.path().join("out.fsym");
    let ran = command().arg("convert").arg(root.path().join("split")).arg("-o").arg(&out).output().unwrap();
    assert!(ran.status.success());
    let info = common::foldsym(&["info", out.to_str().unwrap(), "--json"]);
    let missing = &info.json()[0]["Conversion"]["diagnostics"]["missing_dwo"];
    assert_eq!(missing["count"], 2, "{missing}");
    let example = missing["example"].as_str().unwrap();
    assert!(example.contains(" needs ") && example.contains(".dwo (dwo id 0x"), "{example}");
    assert!(!info.out.contains(&format!("{}/", root.path().display())), "{}", info.out);
}
