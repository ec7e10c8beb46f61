//! Files that lie: each costs at most its unit, and the report says what was wrong.

use foldsym_convert::report::Kind;

use crate::ask::{Converted, Place, assert_alike, built};

const SET: &str = "clang-dwarf5";

/// `split` with `b.dwo` and this other file as its `a.dwo`.
fn with_other_a(make: impl FnOnce(&Place)) -> Converted {
    let place = Place::new(SET, &["split", "b.dwo"]);
    make(&place);
    let found = place.converted("split");
    let whole = Place::new(SET, &["plain"]).converted("plain");
    for (address, expected) in &whole.answers {
        let known = &found.answers[address];
        assert_eq!(known.frames.last().unwrap().0, expected.frames.last().unwrap().0, "{address:#x}");
        assert!(known.partial || known == expected, "{address:#x}");
    }
    assert_eq!(found.report.counts.partial_units, 1);
    found
}

/// Offset in the file and size of a section of a 64-bit little-endian ELF file, and where its header is.
fn section(bytes: &[u8], name: &str) -> (usize, usize, usize) {
    let number = |at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (headers, count, names) = (number(0x28, 8), number(0x3c, 2), number(0x3e, 2));
    let names = number(headers + 64 * names + 0x18, 8);
    (0..count)
        .map(|index| headers + 64 * index)
        .find(|at| {
            let start = names + number(*at, 4);
            bytes[start..].starts_with(name.as_bytes()) && bytes[start + name.len()] == 0
        })
        .map(|at| (number(at + 0x18, 8), number(at + 0x20, 8), at))
        .unwrap()
}

/// The dwo id in the unit header at the start of a section.
fn id_at(bytes: &[u8], name: &str) -> [u8; 8] {
    let at = section(bytes, name).0 + 12;
    bytes[at..at + 8].try_into().unwrap()
}

#[test]
fn a_dwo_of_another_build_is_refused() {
    let found = with_other_a(|place| place.copy("clang-types-v5", "b.dwo", "a.dwo"));
    let (count, words) = found.said(Kind::DwoMismatch);
    assert_eq!((count, found.said(Kind::MissingDwo).0), (1, 0));
    assert!(words.contains("a.dwo: belongs to another build, its dwo id is 0x"), "{words}");
    // The id of DWARF 4 is an attribute.
    let found = with_other_a(|place| place.copy("gcc-dwarf4", "a.dwo", "a.dwo"));
    assert!(found.said(Kind::DwoMismatch).1.contains("its dwo id is 0x"));
}

#[test]
fn a_dwo_of_another_processor_is_refused() {
    let found = with_other_a(|place| {
        place.copy(SET, "a.dwo", "a.dwo");
        place.edit("a.dwo", |bytes| bytes[0x12] = 183);
    });
    let (_, words) = found.said(Kind::DwoMismatch);
    assert!(words.ends_with("a.dwo: made for aarch64, the program for x86_64"), "{words}");
}

#[test]
fn a_program_that_names_itself_is_no_dwo() {
    let found = with_other_a(|place| place.copy(SET, "split", "a.dwo"));
    let (count, words) = found.said(Kind::MissingDwo);
    assert_eq!(count, 1);
    assert!(words.contains("no section .debug_info.dwo, expected a file of split DWARF"), "{words}");
}

#[test]
fn a_dwo_that_names_itself_is_not_followed() {
    // clang writes the name of the file into the unit: as a skeleton it leads to itself.
    let found = with_other_a(|place| {
        place.copy(SET, "a.dwo", "a.dwo");
        place.edit("a.dwo", |bytes| {
            let at = section(bytes, ".debug_info.dwo").0 + 6;
            assert_eq!(bytes[at], 5);
            bytes[at] = 4;
        });
    });
    let (_, words) = found.said(Kind::DwoMismatch);
    assert!(words.contains("a skeleton at .debug_info.dwo+0x0, id 0x"), "{words}");
    assert!(words.ends_with("is not followed"), "{words}");
}

#[test]
fn two_files_that_name_each_other_end_the_search() {
    let place = Place::new(SET, &["split", "a.dwo", "b.dwo"]);
    // Each file is what the other unit asks for, and neither is followed to the other.
    std::fs::rename(place.path("a.dwo"), place.path("c.dwo")).unwrap();
    std::fs::rename(place.path("b.dwo"), place.path("a.dwo")).unwrap();
    std::fs::rename(place.path("c.dwo"), place.path("b.dwo")).unwrap();
    let found = place.converted("split");
    let (count, words) = found.said(Kind::DwoMismatch);
    assert_eq!((count, found.report.counts.partial_units), (2, 2));
    assert!(words.contains("a.dwo: belongs to another build, its dwo id is 0x"), "{words}");
}

#[test]
fn two_units_of_one_id_are_read_by_their_names() {
    let place = Place::new(SET, &["split", "a.dwo", "b.dwo"]);
    let bytes = |name: &str| std::fs::read(built(SET).join(name)).unwrap();
    let (a, b) = (id_at(&bytes("a.dwo"), ".debug_info.dwo"), id_at(&bytes("b.dwo"), ".debug_info.dwo"));
    for file in ["split", "b.dwo"] {
        place.edit(file, |bytes| {
            let found: Vec<usize> = (0..bytes.len() - 8).filter(|at| bytes[*at..at + 8] == b).collect();
            assert_eq!(found.len(), 1);
            bytes[found[0]..found[0] + 8].copy_from_slice(&a);
        });
    }
    let found = place.converted("split");
    assert_alike("one id", &Place::new(SET, &["plain"]).converted("plain"), &found);
    let (count, words) = found.said(Kind::DuplicateDwoId);
    assert_eq!(count, 1);
    assert!(words.starts_with("units at .debug_info+0x0 and +0x"), "{words}");
}

#[test]
fn an_index_that_points_outside_is_refused() {
    // The table of sizes ends the index.
    let place = Place::new(SET, &["split", "split.dwp"]);
    place.edit("split.dwp", |bytes| {
        let (at, size, _) = section(bytes, ".debug_cu_index");
        let sizes = at + size - 2 * 5 * 4;
        bytes[sizes..sizes + 4].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    });
    let found = place.converted("split");
    let (count, words) = found.said(Kind::BadPackage);
    // What it gives to all units together is more than there is, so nothing of it is believed.
    assert_eq!((count, found.said(Kind::MissingDwo).0), (1, 2), "{words}");
    assert!(words.contains("its index gives units 0x"), "{words}");
    assert!(words.contains("of .debug_info.dwo, that has 0x"), "{words}");
    // With the loose file there, nothing is lost but the package's word.
    place.copy(SET, "a.dwo", "a.dwo");
    place.copy(SET, "b.dwo", "b.dwo");
    assert_alike("loose instead", &Place::new(SET, &["plain"]).converted("plain"), &place.converted("split"));
}

#[test]
fn a_damaged_index_is_refused_as_a_whole() {
    for (at, value, expected) in [
        (0, 7, "its index has version 7, expected 2 or 5"),
        (4, 65, "its index has 65 columns, expected 64 at most"),
        (12, 5, "its index has 5 slots, expected a power of two"),
        (8, 0x7fff_ffff, "its index is cut short"),
    ] {
        let place = Place::new(SET, &["split", "split.dwp"]);
        place.edit("split.dwp", |bytes| {
            let start = section(bytes, ".debug_cu_index").0 + at;
            bytes[start..start + 4].copy_from_slice(&u32::to_le_bytes(value));
        });
        let (count, words) = place.converted("split").said(Kind::BadPackage);
        assert_eq!(count, 1, "{expected}");
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn a_package_of_a_tool_that_does_not_know_dwarf_5_is_refused() {
    let place = Place::new("gnu-dwp5", &["split", "split.dwp"]);
    let (count, words) = place.converted("split").said(Kind::BadPackageUnit);
    assert_eq!(count, 1);
    assert!(words.ends_with("a package of version 2 cannot hold a unit of DWARF 5"), "{words}");
    place.copy("gcc-dwarf5", "a.dwo", "a.dwo");
    let plain = Place::new("gnu-dwp5", &["plain"]).converted("plain");
    assert_alike("loose instead", &plain, &place.converted("split"));
}

#[test]
fn offsets_past_4_gib_do_not_wrap() {
    use std::io::{Seek, SeekFrom, Write};
    const REACH: u64 = 1 << 32;
    let place = Place::new(SET, &["split"]);
    let mut bytes = std::fs::read(built(SET).join("split.dwp")).unwrap();
    let (offset, size, header) = section(&bytes, ".debug_info.dwo");
    let info = bytes[offset..offset + size].to_vec();
    let new_offset = bytes.len().next_multiple_of(4096) as u64;
    bytes[header + 0x18..header + 0x20].copy_from_slice(&new_offset.to_le_bytes());
    bytes[header + 0x20..header + 0x28].copy_from_slice(&(REACH + size as u64).to_le_bytes());
    // A hole where the first 4 GiB of units would be: the index can only mean what comes after.
    let mut file = std::fs::File::create(place.path("split.dwp")).unwrap();
    file.write_all(&bytes).unwrap();
    file.seek(SeekFrom::Start(new_offset + REACH)).unwrap();
    file.write_all(&info).unwrap();
    drop(file);
    let found = place.converted("split");
    assert_alike("past 4 GiB", &Place::new(SET, &["plain"]).converted("plain"), &found);
    // For another section nothing tells which offset is meant.
    let (.., header) = section(&bytes, ".debug_str_offsets.dwo");
    place.edit_at("split.dwp", header as u64 + 0x18, &new_offset.to_le_bytes());
    place.edit_at("split.dwp", header as u64 + 0x20, &(REACH + size as u64).to_le_bytes());
    let (count, words) = place.converted("split").said(Kind::BadPackageUnit);
    assert_eq!(count, 2);
    assert!(words.contains(".debug_str_offsets.dwo has 0x1000"), "{words}");
    assert!(words.ends_with("more than the 32-bit offsets of the index reach"), "{words}");
}

#[cfg(unix)]
#[test]
fn a_fifo_is_not_opened() {
    let found = with_other_a(|place| {
        let made = std::process::Command::new("mkfifo").arg(place.path("a.dwo")).status().unwrap();
        assert!(made.success());
    });
    let (count, words) = found.said(Kind::MissingDwo);
    assert_eq!(count, 1);
    assert!(words.ends_with("a.dwo is not a regular file"), "{words}");
}

#[test]
fn no_cut_or_changed_byte_ends_the_conversion() {
    for (set, file) in
        [(SET, "a.dwo"), ("gcc-dwarf4", "a.dwo"), (SET, "split.dwp"), ("gcc-dwarf4", "split.dwp")]
    {
        let place = Place::new(set, &["split", file]);
        let whole = std::fs::read(built(set).join(file)).unwrap();
        for at in (0..whole.len()).step_by(97) {
            place.edit(file, |bytes| *bytes = whole[..at].to_vec());
            place.converted("split");
            place.edit(file, |bytes| {
                *bytes = whole.clone();
                bytes[at] ^= 0xff;
            });
            place.converted("split");
        }
    }
}
