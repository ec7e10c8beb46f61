//! A program and its debug file in one folder, as distributions keep them, converted at once.

#![cfg(feature = "convert")]

use crate::common;

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
    // Independent of the order of the walk and of the threads.
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

/// A store had the program before its debug file was there.
#[test]
fn a_file_of_symbols_alone_is_replaced_once_the_debug_file_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let (app, debug) = packages(&root);
    let store = folder.path().join("store");
    let convert =
        |input: &Path| foldsym(&["convert", input.to_str().unwrap(), "--store", store.to_str().unwrap()]);
    let alone = folder.path().join("alone");
    std::fs::create_dir(&alone).unwrap();
    std::fs::copy(&app, alone.join("app")).unwrap();
    assert_eq!(convert(&alone).code, 0);
    let said = format!("{}: debug file of {}, converted with it\n", debug.display(), app.display());
    let ran = convert(&root);
    assert!(ran.code == 0 && ran.out.contains(&said) && ran.out.contains("symbols alone"), "{ran:?}");
    // Then nothing is left to do, and nothing is reported as done.
    let again = convert(&root);
    assert!(
        again.out.contains("already in the store") && !again.out.contains("converted with it"),
        "{again:?}"
    );
}

/// Two programs with one build id, which a linker takes as it is given: the code of the second is elsewhere.
#[test]
fn a_debug_file_of_other_code_is_no_companion() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let (app, debug) = packages(&root);
    let moved = root.join("usr/bin/moved");
    let mut bytes = std::fs::read(&app).unwrap();
    // Each section of code is a page further, as in a program that was rewritten.
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let table = word(&bytes, 0x28) as usize;
    let count = usize::from(u16::from_le_bytes(bytes[0x3c..0x3e].try_into().unwrap()));
    for section in (0..count).map(|index| table + 64 * index) {
        if word(&bytes, section + 8) & 4 != 0 {
            let address = word(&bytes, section + 16) + 0x1000;
            bytes[section + 16..section + 24].copy_from_slice(&address.to_le_bytes());
        }
    }
    std::fs::write(&moved, bytes).unwrap();
    let (out, report) = (folder.path().join("out"), folder.path().join("report"));
    let paths = [&root, &out, &report].map(|path| path.to_str().unwrap());
    let ran = foldsym(&["convert", paths[0], "--out-dir", paths[1], "--report", paths[2]]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines = std::fs::read_to_string(&report).unwrap();
    let kind = |input: &Path| {
        let mut values = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        values.find(|value| value["input"] == input.to_str().unwrap()).unwrap()["debug_info"].clone()
    };
    // The `.dwo` files are missing.
    assert_eq!((kind(&app), kind(&moved)), ("partial".into(), "none".into()), "{}", debug.display());
}
