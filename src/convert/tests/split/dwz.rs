//! A program whose debug information dwz shares with another one answers as it did before dwz.

use foldsym_convert::Options;

use crate::ask::{Converted, Place, assert_all_alike};

/// The last has its link as DWARF 5 has it (`.debug_sup`), the others as GNU has it.
const SETS: &[&str] = &["dwz.c-dwarf4", "dwz.c-dwarf5", "dwz.cpp-dwarf4", "dwz.cpp-dwarf5", "dwz.cpp-sup"];

fn notes(converted: &Converted) -> Vec<String> {
    converted.report.notes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_program_after_dwz_answers_as_before() {
    for set in SETS {
        let plain = Place::new(set, &["plain"]).converted("plain");
        let place = Place::new(set, &["program", "shared.debug"]);
        let found = place.converted("program");
        assert_all_alike(set, &plain, &found);
        assert!(found.report.notes.is_empty(), "{set}: {:?}", notes(&found));
        let named = |converted: &Converted| {
            let frames = converted.answers.values().flat_map(|known| &known.frames);
            frames.map(|frame| frame.0.clone()).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(named(&plain), named(&found), "{set}");
    }
}

#[test]
fn the_stripped_program_finds_both_files_below_a_debug_directory() {
    for set in &SETS[..4] {
        let plain = Place::new(set, &["plain"]).converted("plain");
        let (alone, root) = (Place::new(set, &["stripped"]), Place::new(set, &[]));
        std::fs::create_dir(root.path(".dwz")).unwrap();
        root.copy(set, "shared.debug", ".dwz/shared.debug");
        let id: String = plain.report.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (head, tail) = id.split_at(2);
        std::fs::create_dir_all(root.path(".build-id").join(head)).unwrap();
        root.copy(set, "stripped.debug", &format!(".build-id/{head}/{tail}.debug"));
        let options = Options::default().with(|options| options.debug_dirs = vec![root.path("")]);
        assert_all_alike(set, &plain, &alone.converted_with("stripped", options).unwrap());
    }
}

#[test]
fn without_the_shared_file_names_are_missing_and_it_is_said() {
    for set in SETS {
        let plain = Place::new(set, &["plain"]).converted("plain");
        let found = Place::new(set, &["program"]).converted("program");
        assert_ne!(found.answers, plain.answers, "{set}");
        let notes = notes(&found);
        assert!(notes.iter().any(|note| note.contains("SupplementaryNotFound")), "{set}: {notes:?}");
        // One of another build is refused, with both identities shown.
        let other = if *set == "dwz.c-dwarf4" { "dwz.c-dwarf5" } else { "dwz.c-dwarf4" };
        let place = Place::new(set, &["program"]);
        place.copy(other, "shared.debug", "shared.debug");
        let notes = self::notes(&place.converted("program"));
        let mismatch = notes.iter().find(|note| note.contains("DebugFileMismatch"));
        assert!(mismatch.is_some_and(|note| note.contains("the link says")), "{set}: {notes:?}");
    }
}
