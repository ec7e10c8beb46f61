//! RocksDB, with 343 `.dwo` files, against the same code with whole debug information, at every address.
//!
//! `cargo xtask corpus rocksdb noflag split5 dwp5 split4 plain4` builds the programs, `cargo xtask split` runs this.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use foldsym_convert::report::{Kind, Report};
use foldsym_convert::{NoProgress, Options, convert};

use crate::ask::{Asked, Known};

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/rocksdb").join(name).canonicalize().unwrap()
}

fn converted(program: &Path, options: &Options) -> (Vec<u8>, Report) {
    let dir = tempfile::tempdir().unwrap();
    let report = convert(program, &dir.path().join("out.fsym"), options, &NoProgress).unwrap();
    (std::fs::read(dir.path().join("out.fsym")).unwrap(), report)
}

fn library(variant: &str) -> (Vec<u8>, Report) {
    converted(&corpus(&format!("librocksdb.{variant}.so")), &Options::default())
}

/// Calls `judge` for every address of code where both know something; fails where only one does. Returns their number.
fn each(expected: &[u8], found: &[u8], mut judge: impl FnMut(u64, Known, Known)) -> u64 {
    let (mut expected, mut found) = (Asked::new(expected), Asked::new(found));
    assert_eq!(expected.addresses(), found.addresses());
    let mut count = 0;
    for address in expected.addresses().into_iter().flatten() {
        match (expected.at(address), found.at(address)) {
            (Some(expected), Some(found)) => {
                count += 1;
                judge(address, expected, found);
            }
            (expected, found) => assert_eq!(expected, found, "{address:#x}"),
        }
    }
    count
}

fn assert_alike(plain: &str, split: &str) {
    let ((whole, _), (parts, report)) = (library(plain), library(split));
    assert_eq!(report.counts.partial_units, 0, "{split}");
    let (mut differ, mut first) = (0, None);
    let count = each(&whole, &parts, |address, expected, found| {
        if expected != found {
            differ += 1;
            first.get_or_insert((address, expected, found));
        }
    });
    println!("{plain} and {split}: {count} addresses, {differ} differ");
    assert!(count > 6_000_000);
    assert_eq!(differ, 0, "{split}: {first:#x?}");
}

#[test]
#[ignore = "needs the corpus; cargo xtask split"]
fn loose_files_answer_as_the_whole_program() {
    assert_alike("noflag", "split5");
}

#[test]
#[ignore = "needs the corpus; cargo xtask split"]
fn a_package_answers_as_the_whole_program() {
    assert_alike("noflag", "dwp5");
}

#[test]
#[ignore = "needs the corpus; cargo xtask split"]
fn loose_files_of_dwarf_4_answer_as_the_whole_program() {
    assert_alike("plain4", "split4");
}

#[test]
#[ignore = "needs the corpus; cargo xtask split"]
fn without_a_third_of_the_files_their_inlines_alone_are_lost() {
    for variant in ["split5", "split4"] {
        let (whole, _) = library(variant);
        let objects = corpus(&format!("obj/{variant}"));
        let mut names: Vec<_> = std::fs::read_dir(&objects)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "dwo"))
            .collect();
        names.sort();
        // A source without code leaves a .dwo that no unit of the program names.
        let program = corpus(&format!("librocksdb.{variant}.so"));
        let bytes = std::fs::read(&program).unwrap();
        let strings: HashSet<&[u8]> = bytes.split(|&byte| byte == 0).collect();
        names.retain(|name| strings.contains(objects.join(name).as_os_str().as_encoded_bytes()));
        assert!(names.len() > 300, "{} files", names.len());
        let kept = tempfile::tempdir().unwrap();
        let mut removed = 0;
        for (index, name) in names.iter().enumerate() {
            if index % 3 == 0 {
                removed += 1;
            } else if std::fs::hard_link(objects.join(name), kept.path().join(name)).is_err() {
                std::fs::copy(objects.join(name), kept.path().join(name)).unwrap();
            }
        }
        // With folders given, the files where the program says are left alone.
        let options = Options::default().with(|options| options.dwo_dirs = vec![kept.path().to_owned()]);
        let (rest, report) = converted(&program, &options);
        let missing = report.diagnostics.iter().find(|(kind, _)| *kind == Kind::MissingDwo).unwrap().1.count;
        assert_eq!((missing, report.counts.partial_units), (removed, removed));
        let mut partial = 0;
        let (mut names, mut lines, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let mut folded = 0;
        let count = each(&whole, &rest, |address, expected, found| {
            // Of folded functions the first that has debug information stands for all: another one, where its file is
            // missing.
            if expected.members > 1 && found.members > 1 && expected != found {
                folded += 1;
                return;
            }
            if !found.partial {
                if expected != found {
                    others.push((address, expected, found));
                }
                return;
            }
            partial += 1;
            let (was, is) = (&expected.frames, &found.frames);
            if one_variant(&was[was.len() - 1].0) != one_variant(&is[is.len() - 1].0) {
                names.push((address, expected, found));
            } else if (&was[0].1, was[0].2) != (&is[0].1, is[0].2) {
                lines.push((address, expected, found));
            }
        });
        println!(
            "{variant} without {removed} of {} files: {count} addresses, {partial} partial; differ: {folded} folded, {} others, {} functions, {} lines",
            removed + names_left(kept.path()),
            others.len(),
            names.len(),
            lines.len()
        );
        assert!(others.is_empty(), "{:#x?}", others.first());
        assert!(names.is_empty(), "{:#x?}", names.first());
        assert!(lines.is_empty(), "{:#x?}", lines.first());
        assert!(partial > 500_000);
    }
}

/// The variants of a constructor or destructor at one address are one function: a symbol table says which there are, not
/// which of them the debug information has.
fn one_variant(name: &str) -> String {
    name.replace("C1E", "C2E").replace("D1E", "D2E")
}

fn names_left(dir: &Path) -> u64 {
    std::fs::read_dir(dir).unwrap().count() as u64
}
