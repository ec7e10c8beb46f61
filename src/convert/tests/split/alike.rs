//! The same sources plain, with loose `.dwo` files, as a package and stripped with a debug link.

use foldsym_convert::Options;
use foldsym_convert::report::Kind;

use crate::ask::{Place, assert_alike};

/// A folder of test programs.
struct Set {
    name: &'static str,
    /// What `split` needs beside it.
    loose: &'static [&'static str],
    /// What `split` and `split.dwp` need beside them; `None` where there is no package.
    packed: Option<&'static [&'static str]>,
    stripped: bool,
}

const fn set(name: &'static str, loose: &'static [&'static str]) -> Set {
    Set { name, loose, packed: None, stripped: false }
}

const BOTH: &[&str] = &["a.dwo", "b.dwo"];

const SETS: &[Set] = &[
    Set { packed: Some(&[]), stripped: true, ..set("clang-dwarf4", BOTH) },
    Set { packed: Some(&[]), stripped: true, ..set("clang-dwarf5", BOTH) },
    Set { packed: Some(&[]), ..set("clang-types-v4", BOTH) },
    Set { packed: Some(&[]), ..set("clang-types-v5", BOTH) },
    Set { packed: Some(&[]), ..set("clang-inlining-v4", BOTH) },
    Set { packed: Some(&[]), ..set("clang-inlining-v5", BOTH) },
    // The sections are in the objects themselves.
    set("clang-single", &["a.o", "b.o"]),
    set("clang-lto", &["0.dwo"]),
    // One unit split and DWARF 4, the other whole and DWARF 5.
    set("clang-mixed", &["a.dwo"]),
    Set { packed: Some(&[]), stripped: true, ..set("gcc-dwarf4", BOTH) },
    // The package has only the second unit.
    Set { packed: Some(&["a.dwo"]), stripped: true, ..set("gcc-dwarf5", BOTH) },
    Set { packed: Some(&[]), ..set("gcc-types-v4", BOTH) },
    Set { packed: Some(&["a.dwo"]), ..set("gcc-types-v5", BOTH) },
];

#[test]
fn every_way_of_building_answers_alike() {
    for &Set { name: set, loose, packed, stripped } in SETS {
        let plain = Place::new(set, &["plain"]).converted("plain");
        let mut ways = vec![("loose", "split", Place::new(set, &[&["split"], loose].concat()))];
        if let Some(beside) = packed {
            ways.push(("packed", "split", Place::new(set, &[&["split", "split.dwp"], beside].concat())));
        }
        if stripped {
            let files = [&["stripped", "stripped.debug"], loose].concat();
            ways.push(("stripped", "stripped", Place::new(set, &files)));
        }
        for (way, program, place) in ways {
            let found = place.converted(program);
            assert_alike(&format!("{set}, {way}"), &plain, &found);
            assert_eq!(found.report.counts.partial_units, 0, "{set}, {way}");
            for kind in [Kind::MissingDwo, Kind::DwoMismatch, Kind::BadPackage, Kind::DuplicateDwoId] {
                assert_eq!(found.said(kind), (0, String::new()), "{set}, {way}");
            }
        }
    }
}

#[test]
fn string_offsets_of_a_package_may_have_64_bits() {
    let plain = Place::new("clang-wide", &["plain"]).converted("plain");
    let packed = Place::new("clang-wide", &["split", "split.dwp"]).converted("split");
    assert_alike("wide", &plain, &packed);
}

#[test]
fn a_package_and_folders_may_be_given() {
    let set = "clang-dwarf5";
    let plain = Place::new(set, &["plain"]).converted("plain");
    let elsewhere = Place::new(set, &["split.dwp", "a.dwo", "b.dwo"]);
    let alone = Place::new(set, &["split"]);
    let dwp = Options { dwp: Some(elsewhere.path("split.dwp")), ..Options::default() };
    assert_alike("--dwp", &plain, &alone.converted_with("split", dwp).unwrap());
    let dirs = Options { dwo_dirs: vec![elsewhere.path("")], ..Options::default() };
    assert_alike("--dwo-dir", &plain, &alone.converted_with("split", dirs).unwrap());
    // The sources were compiled in /tmpdir.
    let mapped = vec![("/tmpdir".into(), elsewhere.path(""))];
    let mapped = Options { map_prefix: mapped, ..Options::default() };
    assert_alike("--map-prefix", &plain, &alone.converted_with("split", mapped).unwrap());
}

#[test]
fn the_file_does_not_depend_on_threads() {
    let place = Place::new("gcc-dwarf4", &["split", "a.dwo", "b.dwo"]);
    let bytes = |threads| {
        place.converted_with("split", Options { threads, ..Options::default() }).unwrap();
        std::fs::read(place.path("out.fsym")).unwrap()
    };
    let one = bytes(1);
    for threads in [2, 3, 8] {
        assert_eq!(one, bytes(threads), "{threads} threads");
    }
}
