//! Where the separate debug file of a program is found, which one is taken, and which path a program may not open.

use crate::common;

use std::path::{Path, PathBuf};

use common::{Ran, command, file, foldsym, program};
use serde_json::Value;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// A folder with a stripped program under a name that its debug link does not fit.
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(program("split.gcc-dwarf4.set/stripped"), folder.path().join("app")).unwrap();
        Place { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// Converts the program with a folder of its own as cache of debuginfod.
    fn convert(&self, more: &[&str]) -> (Ran, Value) {
        let (app, out, report) = (self.at("app"), self.at("a.fsym"), self.at("r.json"));
        let mut command = command();
        command.env("DEBUGINFOD_CACHE_PATH", self.at("cache"));
        command.args(["convert", text(&app), "-o", text(&out), "--report", text(&report)]).args(more);
        let ran = command.output().unwrap();
        let report =
            std::fs::read(&report).map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap());
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = ran.status.code().unwrap_or(-1);
        (Ran { code, out: lossy(&ran.stdout), err: lossy(&ran.stderr) }, report)
    }

    /// The functions that debug information describes.
    fn described(&self, more: &[&str]) -> u64 {
        let (ran, report) = self.convert(more);
        assert_eq!(ran.code, 0, "{ran:?}");
        report["counts"]["functions"].as_u64().unwrap()
    }
}

const DEBUG: &str = "split.gcc-dwarf4.set/stripped.debug";
const OTHER: &str = "split.clang-dwarf5.set/stripped.debug";

#[test]
fn a_debug_file_beside_the_program_needs_its_build_id() {
    for name in ["app.debug", ".debug/app.debug"] {
        let place = Place::new();
        assert_eq!(place.described(&[]), 0);
        std::fs::copy(program(DEBUG), place.at(name)).unwrap();
        assert!(place.convert(&[]).1["counts"]["units"].as_u64().unwrap() > 0, "{name}");
        std::fs::copy(program(OTHER), place.at(name)).unwrap();
        let (ran, report) = place.convert(&[]);
        assert_eq!(report["debug_info"], "none");
        assert!(ran.err.contains("the debug file is of another build: "), "{}", ran.err);
    }
}

#[test]
fn the_cache_of_debuginfod_is_searched() {
    let place = Place::new();
    let id = place.convert(&[]).1["build_id"].as_str().unwrap().to_owned();
    let cached = place.at(&format!("cache/{id}/debuginfo"));
    // If no server has the file, the cache has an empty file there, and no message is printed.
    std::fs::write(&cached, "").unwrap();
    assert!(!place.convert(&[]).0.err.contains("debuginfo:"));
    std::fs::copy(program(DEBUG), &cached).unwrap();
    assert!(place.convert(&[]).1["counts"]["units"].as_u64().unwrap() > 0);
}

#[test]
fn a_debug_file_that_is_given_is_taken_or_refused() {
    let place = Place::new();
    let elsewhere = place.at("elsewhere/any.name");
    std::fs::copy(program(DEBUG), &elsewhere).unwrap();
    assert!(place.convert(&["--debug-file", text(&elsewhere)]).1["counts"]["units"].as_u64().unwrap() > 0);
    std::fs::copy(program(OTHER), &elsewhere).unwrap();
    for (wrong, says) in [(elsewhere, "any.name: build id "), (place.at("missing"), "missing: cannot open: ")]
    {
        let (ran, _) = place.convert(&["--debug-file", text(&wrong)]);
        assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "{ran:?}");
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn a_bundle_may_be_given() {
    let folder = tempfile::tempdir().unwrap();
    let (app, out) = (folder.path().join("app"), folder.path().join("a.fsym"));
    std::fs::copy(program("macho.arm64"), &app).unwrap();
    let with = |bundle: &str| {
        let bundle = program(bundle);
        foldsym(&["convert", text(&app), "-o", text(&out), "--debug-file", text(&bundle)])
    };
    let ran = with("macho.arm64.dSYM");
    assert!(ran.code == 0 && !ran.out.contains("no debug information"), "{ran:?}");
    let ran = with("macho.x86_64.dSYM");
    assert!(ran.code == 3 && ran.err.contains("UUID "), "{ran:?}");
}

/// A dwz file at a path that the program chooses: if folders are given, it is opened only below them, and the report says nothing about
/// other paths.
#[test]
fn a_dwz_file_outside_of_the_given_folders_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let set = program("dwz.c-dwarf5.set");
    let copy = |name: &str| {
        let to = folder.path().join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(set.join(to.file_name().unwrap()), &to).unwrap();
        to
    };
    let (app, shared) = (copy("program"), copy("shared.debug"));
    let inside = copy("given/.dwz/shared.debug").parent().unwrap().parent().unwrap().to_owned();
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let convert = |more: &[&str]| {
        let (out, report) = (folder.path().join("a.fsym"), folder.path().join("r.json"));
        let base = ["convert", text(&app), "-o", text(&out), "--report", text(&report)];
        let ran = foldsym(&[&base, more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        std::fs::read_to_string(report).unwrap()
    };
    assert!(!convert(&[]).contains("missing_supplementary"));
    assert!(!convert(&["--debug-dir", text(&inside)]).contains("missing_supplementary"));
    assert!(!convert(&["--dwo-dir", text(folder.path())]).contains("missing_supplementary"));
    // Another file of that name: its build id is not printed.
    std::fs::copy(program("demo.elf"), &shared).unwrap();
    for option in ["--debug-dir", "--dwo-dir"] {
        let report = convert(&[option, text(&empty)]);
        assert!(
            report.contains("missing_supplementary") && report.contains("PathRefused x 1: link to"),
            "{report}"
        );
        assert!(!report.contains("build id 78b84e2f"), "{report}");
    }
}

#[test]
fn a_damaged_header_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.fsym");
    for (bytes, says) in
        [(&b"\x7fELF0\x01\x01"[..], "class 48, expected"), (b"\x7fELF", "cut off here, expected")]
    {
        let input = file(folder.path(), "damaged", bytes);
        let ran = foldsym(&["convert", text(&input), "-o", text(&out)]);
        assert!(ran.code == 3 && ran.err.contains(says) && !ran.err.contains("Some("), "{ran:?}");
    }
}
