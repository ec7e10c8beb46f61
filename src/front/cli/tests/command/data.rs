//! Global variables: `convert --data`, `lookup --data`, and requests for data to the stand-in for llvm-symbolizer.

use crate::common;

use common::{Fsym, foldsym, foldsym_with, program};

/// As llvm-symbolizer 22 answers `DATA 0x2025b2` for `inline.clang-dwarf5`.
const SINK: &str = "sink\n2106800 4\n/src/inline.c:58\n\n";

const NOTHING: &str = "??\n??:0:0\n\n";

#[test]
fn a_variable_is_found_by_an_address_of_its_bytes() {
    let fsym = Fsym::of("inline.clang-dwarf5", &["--data"]);
    let ask = |args: &[&str]| fsym.run("lookup", args);
    assert_eq!(ask(&["--data", "0x2025b2"]).out, SINK);
    assert_eq!(ask(&["--data", "-a", "-p", "0x2025b2"]).out, format!("0x2025b2: {SINK}"));
    let biased = ask(&["--data", "--base", "0x1000", "0x2035b2"]);
    assert_eq!(biased.out, SINK);
    assert_eq!(ask(&["--data", "0x2025b4"]).out, NOTHING);
    // Code is answered as without the option.
    assert_eq!(ask(&["--data", "0x2011c0"]).out, ask(&["0x2011c0"]).out);
    assert_eq!(ask(&["0x2025b2"]).out, NOTHING);
    let json = &ask(&["--data", "--json", "0x2025b2"]).json()[0];
    assert_eq!(json["Data"]["Name"], "sink");
    assert_eq!(json["Data"]["Start"], "0x2025b0");
    assert_eq!(json["Data"]["Size"], "0x4");
    assert_eq!(
        (&json["Data"]["FileName"], json["Data"]["Line"].as_u64()),
        (&"/src/inline.c".into(), Some(58))
    );
    assert_eq!((&json["Address"], &json["ModuleName"]), (&"0x2025b2".into(), &fsym.str().into()));
}

#[test]
fn a_program_is_converted_with_its_variables() {
    let path = program("inline.clang-dwarf5");
    let cache = tempfile::tempdir().unwrap();
    let mut command = common::command();
    command.args(["lookup", path.to_str().unwrap(), "--data", "0x2025b2"]).env("FOLDSYM_CACHE", cache.path());
    assert_eq!(String::from_utf8(command.output().unwrap().stdout).unwrap(), SINK);
}

/// A file has variables only if they were asked for, and nothing else differs.
#[test]
fn variables_are_an_option() {
    let (with, without) =
        (Fsym::of("inline.clang-dwarf5", &["--data"]), Fsym::of("inline.clang-dwarf5", &[]));
    assert_eq!(without.run("lookup", &["--data", "0x2025b2"]).out, NOTHING);
    let lines = |fsym: &Fsym| -> Vec<String> {
        // The places of records differ.
        let dump = fsym.run("dump", &[]).out;
        dump.lines().filter(|line| !line.contains(" at byte ")).map(str::to_owned).collect()
    };
    assert_eq!(lines(&with), lines(&without));
    assert_eq!(with.run("verify", &["--against", program("inline.clang-dwarf5").to_str().unwrap()]).code, 0);
    let refused = foldsym(&["convert", "x", "--data", "--demangled"]);
    assert_eq!(refused.code, 2);
    for (fsym, expected) in [(&with, SINK), (&without, "??\n0 0\n??:?\n\n")] {
        let said = foldsym_with(&["llvm-symbolizer"], &format!("DATA {} 0x2025b2\n", fsym.str()));
        assert_eq!(said.out, expected);
    }
}

/// Mach-O gives no size: a variable ends where the next symbol or its section does, as llvm-symbolizer 22 answers.
#[test]
fn a_variable_of_a_mach_o_program_is_found() {
    let dsym = "macho.arm64.dSYM/Contents/Resources/DWARF/macho";
    for (name, address, expected) in [
        (dsym, "0x100004000", "units_sink\n4294983680 4\n/src/macho.cpp:15\n\n"),
        (dsym, "0x100004003", "units_sink\n4294983680 4\n/src/macho.cpp:15\n\n"),
        (dsym, "0x100004004", NOTHING),
        ("macho.arm64.o", "0x1260", "units_sink\n4704 4\n/src/macho.cpp:15\n\n"),
    ] {
        assert_eq!(
            Fsym::of(name, &["--data"]).run("lookup", &["--data", address]).out,
            expected,
            "{name} {address}"
        );
    }
}
