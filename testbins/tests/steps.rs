//! Every question to a file takes no more steps than its bound, and no change of a byte goes unnoticed.
//!
//! The checks are those of the fuzz targets. There is one test in a program of its own, since the counter of steps belongs to the process.

use std::path::Path;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::{MAX_FRAME_STEPS, SymbolFile};
use foldsym_testbins::root;
use foldsym_testkit::writer;

use foldsym_testkit::checks::{convert as bench, fsym};

fn converted(name: &str, folder: &Path) -> Vec<u8> {
    let output = folder.join("out.fsym");
    let options = Options::default().with(|options| {
        options.threads = 1;
        options.columns = true;
        options.locations = true;
        options.unwind = true;
    });
    convert(&root().join("built").join(name), &output, &options, &NoProgress).unwrap();
    std::fs::read(output).unwrap()
}

/// A class with 1,024 methods, all of them at the end of a group of 8,000: the bound on steps ends the search.
fn most_steps_of_an_object() {
    const POINT: i64 = 0x8000;
    let (functions, methods) = (8000_i64, 1024_i64);
    let contents = writer::Contents {
        max_group: functions as u32,
        block_log2: 8,
        names: vec![b"f".to_vec()],
        origins: vec![[0, 0, 0, 0]],
        functions: (0..functions).map(|_| [0; 5]).collect(),
        pieces: vec![[0x1000, 16, 0, 0, 1, 0, 0]],
        groups: vec![[0]],
        members: (0..functions).map(|function| [function, 0, 0, 0]).collect(),
        rows: vec![0],
        scopes: vec![0],
        vtables: (0..methods).map(|method| [POINT, functions - methods + method, 0, 0]).collect(),
        ..writer::Contents::default()
    };
    let bytes = contents.file();
    let seen = fsym::check(&bytes).unwrap();
    println!("of {} steps an object takes {}", fsym::object_bound(), seen.object_steps);
    assert!(seen.sound && seen.whole && seen.object_steps > u64::from(MAX_FRAME_STEPS) / 2, "{seen:?}");
}

/// Inputs that once broke a conversion or a reader's promise now keep all of them.
fn once_broken() {
    let (bench, options) = (bench::Bench::default(), bench::options());
    let split = root().join("built/split.clang-dwarf5.set/split");
    for entry in std::fs::read_dir(root().join("broken")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        println!("{name}");
        if name.ends_with(".fsym") {
            fsym::check(&std::fs::read(path).unwrap());
        } else if name.ends_with(".dwp") {
            bench.check(&split, &options.clone().with(|options| options.dwp = Some(path)));
        } else if name != "README.md" {
            bench.check(&path, &options);
        }
    }
}

#[test]
fn steps_have_bounds() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "ring.clang-lld.set/program",
        "fold.clang-relocs.set/program",
        "golang.amd64.debug",
        "core.dwarf5",
        "inline.clang-dwarf5",
        "macho.arm64.o",
        "blocks.clang.set/program",
        "blocks.profile.set/program",
        "fold.clang-lld.set/program",
    ] {
        let bytes = converted(name, folder.path());
        let seen = fsym::check(&bytes).unwrap();
        assert!(seen.sound && seen.whole && seen.found > 10, "{name}: {seen:?}");
        assert!(seen.lookup_steps > 0);
        let bound = fsym::lookup_bound(&SymbolFile::open(&bytes).unwrap(), true);
        println!(
            "{name}: at most {} steps a lookup of {bound}, {} a frame, {} an object; {} blocks, {} locations",
            seen.lookup_steps, seen.frame_steps, seen.object_steps, seen.blocks, seen.locations
        );
        assert_eq!(seen.blocks > 0, name.starts_with("blocks"), "{name}");
        assert!(seen.unwind_rows > 0 || !name.ends_with("/program"), "{name}");
        assert_eq!(seen.locations > 0, name.starts_with("fold"), "{name}");
    }
    most_steps_of_an_object();
    once_broken();
    let bytes = converted("lines.clang-dwarf4", folder.path());
    assert!(bytes.len() < 8192);
    let directory_end = writer::directory_end(&bytes);
    for at in 0..bytes.len() {
        assert!(SymbolFile::open(&bytes[..at]).is_err(), "{at} bytes");
        let values = if at < directory_end { 0..=255 } else { 0..=3 };
        for value in values {
            let mut changed = bytes.clone();
            changed[at] = match (at < directory_end, value) {
                (true, value) => value,
                (false, 0) => 0,
                (false, 1) => 0xff,
                (false, 2) => bytes[at] ^ 1,
                (false, _) => bytes[at] ^ 0x80,
            };
            if changed[at] != bytes[at] {
                let opened = SymbolFile::open(&changed);
                let sound = opened.is_ok_and(|file| file.verify().is_ok());
                assert!(!sound, "byte {at} = {:#x}", changed[at]);
            }
        }
    }
}
