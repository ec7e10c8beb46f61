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

/// The sections whose parts begin with a header that has a version.
const WITH_VERSIONS: &[&str] = &[
    ".debug_info",
    ".debug_line",
    ".debug_addr",
    ".debug_str_offsets",
    ".debug_rnglists",
    ".debug_loclists",
    ".debug_info.dwo",
    ".debug_line.dwo",
    ".debug_str_offsets.dwo",
    ".debug_rnglists.dwo",
    ".debug_loclists.dwo",
];

/// Makes all headers of version 5 in an ELF file headers of version 6. Returns how many there were.
fn raise_versions(bytes: &mut [u8]) -> usize {
    use object::{Object, ObjectSection};
    let file = object::File::parse(&*bytes).unwrap();
    let is_one = |section: &object::Section<'_, '_>| WITH_VERSIONS.contains(&section.name().unwrap());
    let ranges: Vec<_> = file.sections().filter(is_one).filter_map(|section| section.file_range()).collect();
    let mut raised = 0;
    for (start, len) in ranges {
        let (mut at, end) = (start as usize, (start + len) as usize);
        while at < end {
            // All test programs here are 32-bit DWARF and little-endian.
            let len = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            assert!(len < 0xffff_fff0);
            if bytes[at + 4..at + 6] == [5, 0] {
                bytes[at + 4] = 6;
                raised += 1;
            }
            at += 4 + len as usize;
        }
    }
    raised
}

/// DWARF 6 has the headers of DWARF 5.
#[test]
fn version_6_answers_as_version_5() {
    for &Set { name: set, loose, .. } in SETS.iter().filter(|set| {
        ["clang-dwarf5", "clang-types-v5", "clang-inlining-v5", "clang-lto", "gcc-types-v5"]
            .contains(&set.name)
    }) {
        let plain = Place::new(set, &["plain"]).converted("plain");
        let packed = if set == "gcc-types-v5" { &["a.dwo"][..] } else { &[] };
        for (program, files) in [
            ("plain", vec!["plain"]),
            ("split", [&["split"], loose].concat()),
            ("split", [&["split", "split.dwp"], packed].concat()),
        ] {
            let place = Place::new(set, &files);
            for file in &files {
                place.edit(file, |bytes| assert!(raise_versions(bytes) > 0, "{set}, {file}"));
            }
            let found = place.converted(program);
            assert_alike(&format!("{set}, {files:?}"), &plain, &found);
            assert_eq!(found.report.counts.partial_units, 0, "{set}, {files:?}");
            assert_eq!(found.said(Kind::BadUnit), (0, String::new()), "{set}, {files:?}");
        }
    }
}
