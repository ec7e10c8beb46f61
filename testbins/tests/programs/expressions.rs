//! Every location expression of every test program has the same result in our evaluator and in gimli's.

use foldsym_testbins::expressions::{Tally, compare};
use foldsym_testbins::program::{Program, architectures};
use foldsym_testbins::root;

#[test]
fn gimli_agrees() {
    let mut paths: Vec<_> =
        std::fs::read_dir(root().join("built")).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let mut all = Tally::default();
    for path in paths {
        // Sets hold the same programs in other wrappings.
        if path.extension().is_some_and(|end| end == "set") {
            continue;
        }
        // Of operations that gimli does not have; their answers are worked out by hand.
        if path.file_stem().is_some_and(|name| name == "lanes") {
            continue;
        }
        // gimli refuses DWARF 6.
        if path.extension().is_some_and(|end| end == "clang-dwarf6") {
            continue;
        }
        let archs = architectures(&path).unwrap();
        let archs =
            if archs.is_empty() { vec![None] } else { archs.iter().map(|arch| Some(&**arch)).collect() };
        for arch in archs {
            // A container of device code has no DWARF of its own.
            let Ok(program) = Program::open(&path, arch) else { continue };
            for seed in [1, 2, 3] {
                let tally = compare(&program, seed).unwrap();
                assert_eq!(tally.different, 0, "{}: {:#?}", path.display(), tally.examples);
                all.asked += tally.asked;
                all.same += tally.same;
                all.extended += tally.extended;
            }
        }
    }
    println!("{}", all.line());
    // The oracle must have evaluated the expressions, and must not have skipped any.
    assert!(all.same > 10_000 && all.extended == 0, "{}", all.line());
}
