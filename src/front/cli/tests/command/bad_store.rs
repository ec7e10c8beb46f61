//! Wrong entries of a store, a very large stack, and several processes that convert one program: each is answered, with a message that
//! names the wrong file.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{Fsym, Ran, command, foldsym, foldsym_with, program};

/// A store with demo.elf; its build id, and the path of its entry.
fn store(folder: &Path) -> (String, PathBuf) {
    let store = folder.join("store");
    let ran = foldsym(&[
        "convert",
        program("demo.elf").to_str().unwrap(),
        "--store",
        store.to_str().unwrap(),
        "-q",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let listed = foldsym(&["store", "list", "--json", store.to_str().unwrap()]);
    let id = listed.json()[0]["BuildId"].as_str().unwrap_or_else(|| panic!("{listed:?}")).to_owned();
    let entry = store.join(&id[..2]).join(&id[2..]);
    let file = std::fs::read_dir(&entry).unwrap().flatten().map(|entry| entry.path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "fsym")).unwrap();
    (id, file)
}

#[test]
fn entries_that_are_damaged_or_of_another_build() {
    let folder = tempfile::tempdir().unwrap();
    let (id, entry) = store(folder.path());
    let at = folder.path().join("store");
    let cache = folder.path().join("cache");
    let ask = || -> Ran {
        let word = format!("{id}:0x2012b0");
        let (at, cache) = (at.to_str().unwrap(), cache.to_str().unwrap());
        foldsym(&["lookup", "--json", "--store", at, "--cache", cache, &word])
    };
    let whole = std::fs::read(&entry).unwrap();
    assert_eq!(ask().json()[0]["Symbol"][1]["FunctionName"], "demo::crash()");
    let other = std::fs::read(Fsym::of("inline.clang-pie", &[]).path).unwrap();
    for bytes in [&whole[..whole.len() / 2], &other[..], b"", b"text"] {
        std::fs::remove_file(&entry).unwrap();
        std::fs::write(&entry, bytes).unwrap();
        let ran = ask();
        let answer = &ran.json()[0];
        let message = answer["Unknown"]["Message"].as_str().unwrap_or_else(|| panic!("{ran:?}"));
        assert_eq!(answer["Symbol"][0]["FunctionName"], "", "{ran:?}");
        assert_eq!(answer["Unknown"]["Kind"], "damaged", "{ran:?}");
        assert!(message.contains(entry.to_str().unwrap()), "{message}");
    }
    std::fs::remove_file(&entry).unwrap();
    std::fs::create_dir(&entry).unwrap();
    let ran = ask();
    let message = ran.json()[0]["Unknown"]["Message"].to_string();
    assert!(message.contains(entry.to_str().unwrap()), "{ran:?}");
    // A key consists of hexadecimal digits, so it cannot be a path.
    let line = "{\"modules\":[{\"id\":\"../../etc\"}],\"frames\":[]}\n";
    let ran = foldsym_with(&["stack", "--store", at.to_str().unwrap(), "--json"], line);
    assert!(ran.code == 2 && ran.out.contains("../../etc"), "{ran:?}");
}

/// The answer about a program needs no cache.
#[test]
fn a_folder_in_the_place_of_an_entry_of_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let (_, entry) = store(folder.path());
    std::fs::remove_file(&entry).unwrap();
    std::fs::create_dir(&entry).unwrap();
    // The store serves as the cache.
    let cache = folder.path().join("store");
    let program = program("demo.elf");
    let ran = foldsym(&["lookup", program.to_str().unwrap(), "0x2012b0", "--cache", cache.to_str().unwrap()]);
    assert!(ran.code == 0 && ran.out.contains("demo::crash()"), "{ran:?}");
}

#[test]
fn a_stack_of_100_000_frames() {
    let fsym = Fsym::of("demo.elf", &[]);
    let search = fsym.folder.path().to_str().unwrap();
    // Addresses of 64 bits as reports write them, in JSON and as words.
    let modules = "\"modules\":[{\"name\":\"demo.elf\",\"base\":\"0xffffffff80200000\"}]";
    let frames = vec!["\"0xffffffff802012b0\""; 100_000].join(",");
    let line = format!("{{{modules},\"frames\":[{frames}]}}\n");
    assert!(line.len() > 2_000_000);
    let ran = foldsym_with(&["stack", "--search", search], &line);
    assert_eq!((ran.code, ran.out.matches("demo::crash()\n").count()), (0, 100_000), "{:.300}", ran.err);
    let words = vec!["demo.elf+0x00000000002012b0"; 100_000].join(" ");
    let ran = foldsym_with(&["stack", "--search", search], &format!("{words}\n"));
    assert_eq!((ran.code, ran.out.matches("demo::crash()\n").count()), (0, 100_000), "{:.300}", ran.err);
    let too_many = line.replacen("\"frames\":[", &format!("\"frames\":[{},", vec!["1"; 40_000].join(",")), 1);
    let ran = foldsym_with(&["stack", "--search", search, "--json"], &too_many);
    assert!(ran.out.contains("more than 131072 frames"), "{:.300}", ran.out);
}

/// Both convert, or one waits for the other: the answers are the same, and the cache holds one file.
#[test]
fn two_processes_convert_one_program() {
    let cache = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = command();
        command.args(["lookup", "--cache", cache.path().to_str().unwrap()]);
        command.arg(program("demo.elf")).arg("0x2012b0").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let started: Vec<_> = (0..4).map(|_| start()).collect();
    for child in started {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}", output = output.stderr);
        assert!(text.contains("demo::crash()\n/src/demo/demo.cpp:62:"), "{text}");
    }
    let mut waiting = vec![cache.path().to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => waiting.push(path),
                path => files.extend(path.extension().is_some_and(|ending| ending == "fsym").then_some(path)),
            }
        }
    }
    assert_eq!(files.len(), 1, "{files:?}");
}
