//! The two oracles against each other: where `addr2line` and `llvm-symbolizer` differ, the difference is listed here.

use foldsym_testbins::compare::{Options, compare};
use foldsym_testbins::expected::Expected;
use foldsym_testbins::oracle::Oracle;
use foldsym_testbins::program::Program;
use foldsym_testbins::root;

const TWINS: &str = "several functions at one address: each oracle takes another's name or lines";
const NO_FOLDER: &str =
    "the unit has no DW_AT_comp_dir: addr2line takes no folder of the line table in its place";

/// Programs at whose addresses `addr2line` answers something else, with the reason.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "inline.gcc-dwarf2",
        "strict DWARF 2 has no call_file and call_line: addr2line drops such inlined frames",
    ),
    ("call_tables.damaged", TWINS),
    ("call_tables.gold", TWINS),
    ("call_tables.lld", TWINS),
    ("lanes.first", NO_FOLDER),
    ("lanes.user", NO_FOLDER),
    ("merged.gcc-lld", TWINS),
    ("merged_slots.folded", TWINS),
    ("second_tables.lld", TWINS),
    ("sides.lld", TWINS),
    ("slot_table.lld", TWINS),
    ("slot_table.passed", TWINS),
    ("thunks.lld", TWINS),
    ("twice.lld", TWINS),
    (
        "units.gcc-dwz-dwarf4",
        "addr2line finds no function in a unit whose subprograms refer to a partial unit",
    ),
];

#[test]
fn addr2line_agrees() {
    let mut wrong = String::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(root().join("expected")).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let expected = Expected::load(&path).unwrap();
        // The crate `addr2line` refuses DWARF 6.
        if expected.program == "inline.clang-dwarf6" {
            continue;
        }
        let program =
            Program::open(&root().join("built").join(&expected.program), expected.arch.as_deref()).unwrap();
        let sections = program.dwarf().unwrap();
        let oracle = Oracle::new(&sections).unwrap();
        let options = Options { columns: true, dwarf_only: true };
        let outcome = compare(&expected, options, |address| oracle.frames(address).unwrap());
        let listed = DIFFERENT.iter().any(|(name, _)| expected.program == *name);
        if outcome.mismatches.is_empty() == listed {
            wrong += &format!("{}: {}\n", expected.program, outcome.describe(3));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
