//! Where a `.dwo` is missing, functions come from symbols and lines from the skeleton's line table.

use foldsym_convert::Options;
use foldsym_convert::report::Kind;

use crate::ask::{Frame5, Place, assert_alike};

/// Function and line of an answer that lacks its inlined frames, and of the same one with them.
fn function_and_line(frames: &[Frame5]) -> (&str, &str, u32) {
    let (first, last) = (&frames[0], &frames[frames.len() - 1]);
    (&last.0, &first.1, first.2)
}

#[test]
fn a_missing_dwo_costs_its_inlines_alone() {
    for set in ["clang-dwarf4", "clang-dwarf5", "gcc-dwarf4", "gcc-dwarf5"] {
        let whole = Place::new(set, &["split", "a.dwo", "b.dwo"]).converted("split");
        for (kept, lost) in [("a.dwo", "b.dwo"), ("b.dwo", "a.dwo")] {
            let found = Place::new(set, &["split", kept]).converted("split");
            assert_eq!(found.report.counts.partial_units, 1, "{set} {lost}");
            let (count, words) = found.said(Kind::MissingDwo);
            assert_eq!(count, 1);
            assert!(words.contains(&format!("needs {lost} (dwo id 0x")), "{words}");
            assert!(words.contains("not found, compiled in /tmpdir"), "{words}");
            assert_eq!(found.answers.len(), whole.answers.len(), "{set} {lost}");
            let mut partial = 0;
            for (address, expected) in &whole.answers {
                let known = &found.answers[address];
                if known.partial {
                    partial += 1;
                    assert_eq!(
                        function_and_line(&known.frames),
                        function_and_line(&expected.frames),
                        "{set} {lost} {address:#x}"
                    );
                } else {
                    assert_eq!(known, expected, "{set} {lost} {address:#x}");
                }
            }
            assert!(partial > 100 && partial < found.answers.len(), "{set} {lost}: {partial}");
        }
    }
}

#[test]
fn a_skeleton_with_children_keeps_what_was_inlined() {
    for set in ["clang-inlining-v4", "clang-inlining-v5"] {
        let whole = Place::new(set, &["split", "a.dwo", "b.dwo"]).converted("split");
        let found = Place::new(set, &["split"]).converted("split");
        assert_eq!(found.said(Kind::MissingDwo).0, 2);
        assert_eq!(found.report.counts.partial_units, 0);
        for (address, expected) in &whole.answers {
            let known = &found.answers[address];
            // These children have no linkage names and no declarations.
            let lines = |frames: &[Frame5]| frames.iter().map(|f| (f.1.clone(), f.2)).collect::<Vec<_>>();
            assert_eq!(lines(&known.frames), lines(&expected.frames), "{set} {address:#x}");
            assert_eq!(known.frames.last().unwrap().0, expected.frames.last().unwrap().0);
            assert!(!known.partial, "{set} {address:#x}");
        }
    }
}

#[test]
fn a_file_outside_the_given_folders_is_left_alone() {
    let set = "clang-dwarf5";
    let place = Place::new(set, &["split", "a.dwo", "b.dwo"]);
    let given = Place::new(set, &["a.dwo"]);
    let options = Options::default().with(|options| options.dwo_dirs = vec![given.path("")]);
    let found = place.converted_with("split", options).unwrap();
    let (count, words) = found.said(Kind::MissingDwo);
    assert_eq!(count, 1);
    assert!(words.ends_with(&format!("{} is outside the given directories", place.path("b.dwo").display())));
}

#[test]
fn a_package_that_was_given_must_be_one() {
    let place = Place::new("clang-dwarf5", &["split", "a.dwo", "b.dwo"]);
    let given = |name| Options::default().with(|options| options.dwp = Some(place.path(name)));
    let error = place.converted_with("split", given("none.dwp")).err().unwrap();
    assert!(!error.is_usage());
    let error = place.converted_with("split", given("a.dwo")).err().unwrap().to_string();
    assert!(error.contains("no section .debug_cu_index"), "{error}");
    // One that merely lies beside the program is passed over.
    place.copy("clang-dwarf5", "a.dwo", "split.dwp");
    let whole = Place::new("clang-dwarf5", &["plain"]).converted("plain");
    let found = place.converted("split");
    assert_alike("a wrong package", &whole, &found);
    assert!(found.report.notes.iter().any(|note| note.to_string().contains("PackageUnreadable")));
}
