//! Every question to a file takes no more steps than its bound, and no change of a byte goes unnoticed.
//!
//! The checks are those of the fuzz targets. One test, since the counter of steps is the process's.

use std::path::Path;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::SymbolFile;
use foldsym_testbins::root;

#[allow(unreachable_pub, dead_code, reason = "a library of the fuzz targets")]
#[path = "../fuzz/src/fsym.rs"]
mod fsym;

fn converted(name: &str, folder: &Path) -> Vec<u8> {
    let output = folder.join("out.fsym");
    let options = Options { threads: 1, columns: true, ..Options::default() };
    convert(&root().join("built").join(name), &output, &options, &NoProgress).unwrap();
    std::fs::read(output).unwrap()
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
    ] {
        let bytes = converted(name, folder.path());
        let seen = fsym::check(&bytes).unwrap();
        assert!(seen.sound && seen.whole && seen.found > 10, "{name}: {seen:?}");
        assert!(seen.lookup_steps > 0);
        let bound = fsym::lookup_bound(&SymbolFile::open(&bytes).unwrap(), true);
        println!(
            "{name}: at most {} steps a lookup of {bound}, {} a frame",
            seen.lookup_steps, seen.frame_steps
        );
    }
    for entry in std::fs::read_dir(root().join("broken")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "fsym") {
            fsym::check(&std::fs::read(path).unwrap());
        }
    }
    let bytes = converted("lines.clang-dwarf4", folder.path());
    assert!(bytes.len() < 8192);
    for at in 0..bytes.len() {
        assert!(SymbolFile::open(&bytes[..at]).is_err(), "{at} bytes");
        let values = if at < 64 + 32 * 12 { 0..=255 } else { 0..=3 };
        for value in values {
            let mut changed = bytes.clone();
            changed[at] = match (at < 64 + 32 * 12, value) {
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
