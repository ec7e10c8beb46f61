//! The same sources plain, with loose `.dwo` files, as a package and stripped with a debug link.

use foldsym_convert::Options;
use foldsym_convert::report::Kind;

use crate::ask::{Place, assert_alike};

/// A folder of test programs: `plain`, `split`, a package, and `stripped` with a link to `stripped.debug`.
struct Set {
    name: &'static str,
    /// What `split` and `stripped` need beside them.
    loose: &'static [&'static str],
    /// What `split` needs beside its package.
    unpacked: &'static [&'static str],
    stripped: bool,
}

const fn set(name: &'static str, loose: &'static [&'static str]) -> Set {
    Set { name, loose, unpacked: &[], stripped: true }
}

const BOTH: &[&str] = &["a.dwo", "b.dwo"];

/// What rustc calls them.
const CGUS: &[&str] =
    &["split.core_case.7ecfad218d14a002-cgu.0.rcgu.dwo", "split.core_case.7ecfad218d14a002-cgu.1.rcgu.dwo"];

const SETS: &[Set] = &[
    set("clang-dwarf4", BOTH),
    set("clang-dwarf5", BOTH),
    set("clang-types-v4", BOTH),
    set("clang-types-v5", BOTH),
    set("clang-inlining-v4", BOTH),
    set("clang-inlining-v5", BOTH),
    // The sections are in the objects themselves.
    set("clang-single", &["a.o", "b.o"]),
    set("clang-lto", &["0.dwo"]),
    // One unit split and DWARF 4, the other whole and DWARF 5.
    set("clang-mixed", &["a.dwo"]),
    set("gcc-dwarf4", BOTH),
    // The package has only the second unit.
    Set { unpacked: &["a.dwo"], ..set("gcc-dwarf5", BOTH) },
    set("gcc-types-v4", BOTH),
    Set { unpacked: &["a.dwo"], ..set("gcc-types-v5", BOTH) },
    // `core` is whole in it and large: one stripped program of rustc must do.
    Set { stripped: false, ..set("rust-dwarf4", CGUS) },
    set("rust-dwarf5", CGUS),
];

#[test]
fn every_way_of_building_answers_alike() {
    for &Set { name: set, loose, unpacked, stripped } in SETS {
        let plain = Place::new(set, &["plain"]).converted("plain");
        let mut ways = vec![
            ("loose", "split", Place::new(set, &[&["split"], loose].concat())),
            ("packed", "split", Place::new(set, &[&["split", "split.dwp"], unpacked].concat())),
        ];
        if stripped {
            let files = [&["stripped", "stripped.debug"], loose].concat();
            ways.push(("stripped", "stripped", Place::new(set, &files)));
        }
        for (way, program, place) in ways {
            let found = place.converted(program);
            assert_alike(&format!("{set}, {way}"), &plain, &found);
            assert_eq!(found.report.counts.partial_units, 0, "{set}, {way}");
            for kind in [
                Kind::MissingDwo,
                Kind::DwoMismatch,
                Kind::BadPackage,
                Kind::BadPackageUnit,
                Kind::DuplicateDwoId,
                Kind::DuplicateDwoUnit,
            ] {
                assert_eq!(found.said(kind), (0, String::new()), "{set}, {way}");
            }
        }
    }
}

/// Without the files the answers are poorer: what the sets compare is read from them.
#[test]
fn no_set_answers_alike_without_its_files() {
    for &Set { name: set, stripped, .. } in SETS {
        let plain = Place::new(set, &["plain"]).converted("plain");
        for program in ["split", "stripped"].into_iter().take(1 + usize::from(stripped)) {
            let found = Place::new(set, &[program]).converted(program);
            assert_ne!(found.answers, plain.answers, "{set}, {program}");
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
    let dwp = Options::default().with(|options| options.dwp = Some(elsewhere.path("split.dwp")));
    assert_alike("--dwp", &plain, &alone.converted_with("split", dwp).unwrap());
    let dirs = Options::default().with(|options| options.dwo_dirs = vec![elsewhere.path("")]);
    assert_alike("--dwo-dir", &plain, &alone.converted_with("split", dirs).unwrap());
    // The sources were compiled in /tmpdir.
    let mapped = vec![("/tmpdir".into(), elsewhere.path(""))];
    let mapped = Options::default().with(|options| options.map_prefix = mapped);
    assert_alike("--map-prefix", &plain, &alone.converted_with("split", mapped).unwrap());
}

#[test]
fn the_file_does_not_depend_on_threads() {
    let place = Place::new("gcc-dwarf4", &["split", "a.dwo", "b.dwo"]);
    let bytes = |threads| {
        place.converted_with("split", Options::default().with(|options| options.threads = threads)).unwrap();
        std::fs::read(place.path("out.fsym")).unwrap()
    };
    let one = bytes(1);
    for threads in [2, 3, 8] {
        assert_eq!(one, bytes(threads), "{threads} threads");
    }
}
