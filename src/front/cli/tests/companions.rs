//! A program and its debug file in one folder, as distributions keep them, converted at once.

mod common;

use std::path::{Path, PathBuf};

use common::{Ran, foldsym, program};
use serde_json::Value;

/// A folder as two packages unpack into it: a program that was stripped, and its debug file.
fn packages(folder: &Path) -> (PathBuf, PathBuf) {
    let stripped = program("split.rust-dwarf5.set/stripped");
    let identity = foldsym_convert::identify(&stripped, &foldsym_convert::Options::default()).unwrap();
    let digits: String = identity.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let debug = folder.join("usr/lib/debug/.build-id").join(&digits[..2]);
    let app = folder.join("usr/bin");
    std::fs::create_dir_all(&debug).unwrap();
    std::fs::create_dir_all(&app).unwrap();
    let (app, debug) = (app.join("app"), debug.join(format!("{}.debug", &digits[2..])));
    std::fs::copy(stripped, &app).unwrap();
    std::fs::copy(program("split.rust-dwarf5.set/stripped.debug"), &debug).unwrap();
    (app, debug)
}

fn functions(file: &str) -> u64 {
    let ran = foldsym(&["info", "--json", file]);
    let info: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    info["Conversion"]["counts"]["functions"].as_u64().unwrap_or_else(|| panic!("{info}"))
}

#[test]
fn a_store_has_one_whole_file_for_a_program_and_its_debug_file() {
    let folder = tempfile::tempdir().unwrap();
    let (app, debug) = packages(&folder.path().join("root"));
    let root = folder.path().join("root");
    let root = root.to_str().unwrap();
    let convert = |store: &str, more: &[&str]| -> Ran {
        foldsym(&[&["convert", root, "--store", store], more].concat())
    };
    // Whichever the walk finds first, and whoever is faster.
    for round in 0..6 {
        let store = folder.path().join(format!("store{round}"));
        let report = folder.path().join(format!("report{round}"));
        let ran = convert(store.to_str().unwrap(), &["--report", report.to_str().unwrap(), "--threads", "4"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let said = format!("{}: debug file of {}, converted with it\n", debug.display(), app.display());
        assert!(ran.out.starts_with(&said) && ran.out.contains("\n1 converted"), "{ran:?}");
        assert!(ran.out.ends_with(", 1 debug files converted with their programs, 0 failed\n"), "{ran:?}");
        let lines: Vec<Value> = std::fs::read_to_string(&report)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["input"], debug.to_str().unwrap());
        assert_eq!(lines[0]["debug_file_of"], app.to_str().unwrap());
        assert!(functions(lines[1]["output"].as_str().unwrap()) > 5, "{}", lines[1]);
    }
}

#[test]
fn a_program_in_a_folder_takes_its_debug_file() {
    let folder = tempfile::tempdir().unwrap();
    packages(&folder.path().join("root"));
    let (root, out) = (folder.path().join("root"), folder.path().join("out"));
    let ran = foldsym(&["convert", root.to_str().unwrap(), "--out-dir", out.to_str().unwrap()]);
    assert!(ran.code == 0 && ran.out.contains("2 converted"), "{ran:?}");
    assert!(functions(out.join("usr/bin/app.fsym").to_str().unwrap()) > 5);
}
