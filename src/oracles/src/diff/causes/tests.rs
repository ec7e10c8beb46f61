//! Each cause explains the difference for which it is named, and no other.

use super::*;
use crate::llvm::Code;

fn frame(name: &str, file: &str, line: u64) -> Frame {
    Frame { name: name.into(), file: file.into(), line, start_line: line, ..Frame::default() }
}

fn answer(frames: &[Frame], start: u64) -> Answer {
    Answer { frames: frames.to_vec(), start: Some(start), ..Answer::default() }
}

fn symbol(address: u64, size: u64, kind: Kind, name: &str, file: Option<&str>) -> Symbol {
    Symbol { address, size, kind, name: name.into(), file: file.map(str::to_owned) }
}

fn symbols() -> Symbols {
    Symbols::new(vec![
        symbol(0x10, 0x20, Kind::Function, "f", None),
        symbol(0x18, 0, Kind::Label, "label", None),
        symbol(0x40, 0x10, Kind::Function, "g.cold", None),
        symbol(0x60, 0x10, Kind::Function, "read", None),
        symbol(0x60, 0x10, Kind::Function, "__read", None),
        symbol(0x80, 0x10, Kind::Function, "local", Some("a.c")),
        symbol(0xa0, 0, Kind::Label, "p.cold", None),
        symbol(0xc0, 0x10, Kind::Function, "outer", None),
        symbol(0xc4, 0x4, Kind::Function, "inner", None),
        symbol(0x200, 0x10, Kind::Function, "far", None),
        symbol(0x300, 0x10, Kind::Function, "versioned@V_1", None),
        symbol(0x400, 0, Kind::Label, "end_of_text", None),
        symbol(0x3c0, 0, Kind::Function, "unsized", None),
    ])
    .within(&[
        Code { name: ".text".into(), start: 0x10, size: 0x3f0 },
        Code { name: ".more".into(), start: 0x400, size: 0x100 },
        Code { name: ".far".into(), start: 0x600, size: 0x100 },
    ])
}

/// The causes that explain every difference between two answers, or `None` if a difference is left.
fn explained(oracle: Oracle, address: u64, ours: &Answer, theirs: &Answer) -> Option<Vec<&'static str>> {
    explained_in(oracle, address, ours, theirs, Fields { columns: true, starts: false })
}

fn explained_in(
    oracle: Oracle,
    address: u64,
    ours: &Answer,
    theirs: &Answer,
    fields: Fields,
) -> Option<Vec<&'static str>> {
    let symbols = symbols();
    differences(&ours.frames, &theirs.frames, fields)
        .into_iter()
        .map(|difference| {
            let case =
                Case { oracle, address, ours, theirs, other: None, symbols: &symbols, fields, difference };
            CAUSES.iter().find(|cause| (cause.explains)(&case)).map(|cause| cause.name)
        })
        .collect()
}

#[test]
fn a_version_is_no_part_of_a_name() {
    let ours = answer(&[frame("versioned", "a.c", 1)], 0x300);
    let cause = Some(vec!["a symbol's version"]);
    assert_eq!(
        explained(Oracle::Llvm, 0x302, &ours, &answer(&[frame("versioned@V_1", "a.c", 1)], 0x300)),
        cause
    );
    assert_eq!(
        explained(Oracle::Llvm, 0x302, &ours, &answer(&[frame("version@V_1", "a.c", 1)], 0x300)),
        None
    );
    // A symbol of another address.
    assert_eq!(
        explained(Oracle::Llvm, 0x312, &ours, &answer(&[frame("versioned@V_1", "a.c", 1)], 0x300)),
        None
    );
}

#[test]
fn a_symbol_without_a_size_ends_with_its_section() {
    let theirs = |line| answer(&[Frame { line, ..frame("end_of_text", "", 0) }], 0x400);
    let cause = Some(vec!["a symbol without a size in another section"]);
    assert_eq!(explained(Oracle::Llvm, 0x410, &Answer::default(), &theirs(0)), cause);
    assert_eq!(explained(Oracle::Llvm, 0x610, &Answer::default(), &theirs(0)), cause);
    assert_eq!(explained(Oracle::Llvm, 0x610, &Answer::default(), &theirs(7)), None);
    assert_eq!(explained(Oracle::Addr2line, 0x610, &Answer::default(), &theirs(0)), None);
}

#[test]
fn lines_outside_the_ranges_of_a_unit() {
    let ours = |name: &str| answer(&[frame(name, "a.c", 3)], 0x1f0);
    let cause = Some(vec!["lines outside the unit's ranges"]);
    assert_eq!(explained(Oracle::Llvm, 0x1f4, &ours(""), &Answer::default()), cause);
    assert_eq!(explained(Oracle::Llvm, 0x204, &ours(""), &Answer::default()), None);
    assert_eq!(explained(Oracle::Llvm, 0x1f4, &ours("f"), &Answer::default()), None);
}

#[test]
fn a_wrong_line_has_no_cause() {
    for oracle in [Oracle::Llvm, Oracle::Addr2line] {
        let (ours, theirs) = (answer(&[frame("f", "a.c", 1)], 0x10), answer(&[frame("f", "a.c", 2)], 0x10));
        assert_eq!(explained(oracle, 0x12, &ours, &theirs), None);
        assert_eq!(explained(oracle, 0x12, &ours, &answer(&[frame("f", "b.c", 1)], 0x10)), None);
        assert_eq!(explained(oracle, 0x12, &ours, &answer(&[frame("read", "a.c", 1)], 0x10)), None);
        assert_eq!(explained(oracle, 0x12, &ours, &Answer::default()), None);
        assert_eq!(explained(oracle, 0x12, &Answer::default(), &ours), None);
        assert_eq!(explained(oracle, 0x12, &ours, &ours), Some(vec![]));
    }
}

#[test]
fn candidates_explain_only_what_equals_one_of_them() {
    let mut ours = answer(&[frame("f", "a.c", 1)], 0x10);
    let theirs = answer(&[frame("h2", "h.c", 9)], 0x10);
    let h = Candidate { frames: vec![frame("h", "h.c", 9)], aliases: vec!["h2".into()], how: String::new() };
    ours.candidates = vec![Candidate { frames: ours.frames.clone(), aliases: vec![], how: String::new() }, h];
    let cause = "several functions at one address";
    assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &theirs), Some(vec![cause; 3]));
    let mixed = "several functions at one address, mixed";
    assert_eq!(
        explained(Oracle::Llvm, 0x12, &ours, &answer(&[frame("h", "a.c", 1)], 0x10)),
        Some(vec![mixed])
    );
    // A line of one and a file of another, or a name that no candidate has, is neither.
    assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &answer(&[frame("h", "a.c", 9)], 0x10)), None);
    assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &answer(&[frame("x", "a.c", 1)], 0x10)), None);
    assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &answer(&[frame("h", "h.c", 8)], 0x10)), None);
}

#[test]
fn a_thunk_that_is_folded_with_its_method_has_line_0() {
    let cause = Some(vec!["a thunk with the code of its method"]);
    let candidate = |name: &str| Candidate { frames: vec![frame(name, "a.c", 1)], ..Candidate::default() };
    let mut ours = answer(&[frame("f", "a.c", 1)], 0x10);
    let line_0 = answer(&[Frame { start_line: 1, ..frame("f", "a.c", 0) }], 0x10);
    ours.candidates = vec![candidate("f"), candidate("g")];
    assert_eq!(explained(Oracle::Addr2line, 0x12, &ours, &line_0), None);
    ours.candidates[1] = candidate("_ZThn8_N3One3getEv");
    assert_eq!(explained(Oracle::Addr2line, 0x12, &ours, &line_0), cause);
    assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &line_0), None);
    // Another line is not the thunk's, and the name must be a candidate's.
    let line_2 = answer(&[frame("f", "a.c", 2)], 0x10);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &ours, &line_2), None);
    let other = answer(&[frame("x", "a.c", 0)], 0x10);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &ours, &other), None);
}

#[test]
fn aliases_stand_at_the_address() {
    let mut ours = answer(&[frame("read", "r.c", 1)], 0x60);
    let theirs = answer(&[frame("__read", "r.c", 1)], 0x60);
    assert_eq!(explained(Oracle::Llvm, 0x62, &ours, &theirs), None);
    ours.aliases = vec!["__read".into()];
    assert_eq!(explained(Oracle::Llvm, 0x62, &ours, &theirs), Some(vec!["several symbols at one address"]));
    assert_eq!(explained(Oracle::Llvm, 0x90, &ours, &theirs), None);
}

#[test]
fn the_symbol_of_a_piece_wins_over_the_die() {
    let cause = Some(vec!["outermost name: the symbol table's vs the DIE's"]);
    let cold = answer(&[frame("g.cold", "g.c", 1)], 0x40);
    assert_eq!(explained(Oracle::Addr2line, 0x42, &cold, &answer(&[frame("g", "g.c", 1)], 0)), cause);
    // llvm-symbolizer reads the same symbol, so it has no reason to differ.
    assert_eq!(explained(Oracle::Llvm, 0x42, &cold, &answer(&[frame("g", "g.c", 1)], 0)), None);
    // A name that another symbol has is another function.
    assert_eq!(explained(Oracle::Addr2line, 0x42, &cold, &answer(&[frame("f", "g.c", 1)], 0)), None);
    // Our name must be that of a symbol at the start of our piece.
    let wrong = answer(&[frame("g.cold", "g.c", 1)], 0x41);
    assert_eq!(explained(Oracle::Addr2line, 0x42, &wrong, &answer(&[frame("g", "g.c", 1)], 0)), None);
}

#[test]
fn labels_rename_only_for_llvm_and_behind_them() {
    let cause = Some(vec!["a label inside a function"]);
    let ours = answer(&[frame("f", "f.s", 1)], 0x10);
    let theirs = answer(&[frame("label", "f.s", 1)], 0x18);
    assert_eq!(explained(Oracle::Llvm, 0x1a, &ours, &theirs), cause);
    assert_eq!(explained(Oracle::Addr2line, 0x1a, &ours, &theirs), None);
    assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &theirs), None);
    let unrelated = Answer { start: Some(0x18), ..ours };
    assert_eq!(explained(Oracle::Llvm, 0x1a, &unrelated, &theirs), None);
}

#[test]
fn a_symbol_inside_a_function_does_not_rename_it() {
    let cause = Some(vec!["a FUNC symbol inside a function"]);
    let ours = |name, start| answer(&[frame(name, "o.c", 3)], start);
    let theirs = answer(&[frame("inner", "o.c", 3)], 0xc4);
    assert_eq!(explained(Oracle::Llvm, 0xc6, &ours("outer", 0xc0), &theirs), cause);
    // Our function starts at the symbol; or the symbol ends before the address; or there is no DIE.
    assert_eq!(explained(Oracle::Llvm, 0xc6, &ours("outer", 0xc4), &theirs), None);
    assert_eq!(explained(Oracle::Llvm, 0xca, &ours("outer", 0xc0), &theirs), None);
    assert_eq!(explained(Oracle::Addr2line, 0xc6, &ours("outer", 0xc0), &theirs), None);
    // The oracle that reads only DIEs has another name.
    let (outer, symbols) = (ours("outer", 0xc0), symbols());
    let fields = Fields { columns: false, starts: false };
    let difference = Difference { what: What::Name, frame: 0 };
    let with = |other| {
        let (oracle, ours, theirs, symbols) = (Oracle::Llvm, &outer, &theirs, &symbols);
        Case { oracle, address: 0xc6, ours, theirs, other: Some(other), symbols, fields, difference }
    };
    assert!(function_inside(&with(&outer)));
    assert!(!function_inside(&with(&theirs)));
    assert!(!function_inside(&with(&Answer::default())));
}

#[test]
fn a_file_in_an_abbreviation_is_lost_by_llvm() {
    let with = |start_file: &str, start_line| {
        let start_file = start_file.to_owned();
        answer(&[Frame { start_file, start_line, ..frame("f", "f.c", 3) }], 0x10)
    };
    let lost = |oracle, implicit_files, ours: &Answer, theirs: &Answer| {
        let symbols = symbols().with_implicit_files(implicit_files);
        let fields = Fields { columns: true, starts: true };
        let found = differences(&ours.frames, &theirs.frames, fields);
        found.into_iter().all(|difference| {
            let case = Case {
                oracle,
                address: 0x12,
                ours,
                theirs,
                other: None,
                symbols: &symbols,
                fields,
                difference,
            };
            implicit_file(&case)
        })
    };
    assert!(lost(Oracle::Llvm, true, &with("f.h", 2), &with("", 2)));
    assert!(!lost(Oracle::Llvm, false, &with("f.h", 2), &with("", 2)));
    assert!(!lost(Oracle::Addr2line, true, &with("f.h", 2), &with("", 2)));
    // Another file, another line, or a file that we do not know.
    assert!(!lost(Oracle::Llvm, true, &with("f.h", 2), &with("g.h", 2)));
    assert!(!lost(Oracle::Llvm, true, &with("f.h", 2), &with("", 3)));
    assert!(!lost(Oracle::Llvm, true, &with("", 2), &with("f.h", 2)));
}

#[test]
fn a_symbol_without_a_die_is_unknown_to_the_crate() {
    let cause = Some(vec!["addr2line crate has no symbol table"]);
    let ours = answer(&[frame("read", "", 0)], 0x60);
    assert_eq!(explained(Oracle::Addr2line, 0x62, &ours, &Answer::default()), cause);
    assert_eq!(explained(Oracle::Addr2line, 0x72, &ours, &Answer::default()), None);
    assert_eq!(explained(Oracle::Llvm, 0x62, &ours, &Answer::default()), None);
    let (line, nameless) = (answer(&[frame("read", "r.c", 1)], 0x60), answer(&[frame("", "r.c", 1)], 0));
    assert_eq!(explained(Oracle::Addr2line, 0x62, &line, &nameless), cause);
    assert_eq!(explained(Oracle::Addr2line, 0x62, &line, &Answer::default()), None);
}

#[test]
fn padding_behind_a_symbol_without_a_size_has_its_name() {
    let declared = Frame { start_line: 3, start_file: "u.c".into(), ..frame("unsized", "", 0) };
    let ours = answer(std::slice::from_ref(&declared), 0x3c0);
    let cause = ["padding behind a symbol without a size"];
    assert_eq!(explained(Oracle::Addr2line, 0x3c4, &ours, &Answer::default()), Some(cause.to_vec()));
    assert_eq!(explained(Oracle::Llvm, 0x3c4, &ours, &Answer::default()), None);
    // An address with a line is not padding, nor is one of a symbol with a size.
    let line = answer(&[Frame { line: 4, ..declared.clone() }], 0x3c0);
    assert_eq!(explained(Oracle::Addr2line, 0x3c4, &line, &Answer::default()), None);
    // Theirs has the symbol, and the line to which the last row extends.
    for line in [0, 4] {
        let ours = answer(&[Frame { line, ..declared.clone() }], 0x3c0);
        let asked = |line| {
            let theirs = Frame { line, ..frame("unsized", "", 0) };
            let fields = Fields { columns: true, starts: true };
            explained_in(Oracle::Llvm, 0x3c4, &ours, &answer(&[theirs], 0x3c0), fields)
        };
        assert_eq!(asked(line), Some(vec![cause[0]; 2]));
        assert_eq!(asked(line + 1), None);
    }
    let sized = answer(&[Frame { name: "read".into(), ..declared }], 0x60);
    assert_eq!(explained(Oracle::Addr2line, 0x62, &sized, &Answer::default()), None);
}

#[test]
fn a_relative_path_is_the_crates_alone() {
    let with = |file: &str| answer(&[frame("f", file, 3)], 0x10);
    let explained = |theirs: &str, other: Option<&Answer>| {
        let (ours, theirs, symbols) = (with("/src/f.c"), with(theirs), symbols());
        let fields = Fields { columns: false, starts: false };
        let difference = differences(&ours.frames, &theirs.frames, fields)[0];
        let (oracle, address) = (Oracle::Addr2line, 0x12);
        no_folder(&Case {
            oracle,
            address,
            ours: &ours,
            theirs: &theirs,
            other,
            symbols: &symbols,
            fields,
            difference,
        })
    };
    assert!(explained("f.c", Some(&with("/src/f.c"))));
    assert!(!explained("f.c", Some(&with("/other/f.c"))) && !explained("f.c", None));
    assert!(!explained(".c", Some(&with("/src/f.c"))) && !explained("/f.c", Some(&with("/src/f.c"))));
}

#[test]
fn a_file_symbol_is_no_line_information() {
    let ours = answer(&[frame("local", "", 0)], 0x80);
    assert_eq!(
        explained(Oracle::Llvm, 0x82, &ours, &answer(&[frame("local", "a.c", 0)], 0x80)),
        Some(vec!["a file by STT_FILE alone"])
    );
    assert_eq!(explained(Oracle::Llvm, 0x82, &ours, &answer(&[frame("local", "b.c", 0)], 0x80)), None);
}

#[test]
fn spellings_of_a_path_are_one_path() {
    let with = |path: &str| answer(&[frame("f", path, 1)], 0x10);
    let cause = Some(vec!["a path spelled with empty steps"]);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &with("/a/./b//c.c"), &with("/a/b/c.c")), cause);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &with("/a/../c.c"), &with("/c.c")), None);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &with("a.c"), &with("/a.c")), None);
}

#[test]
fn a_column_of_line_0_means_nothing() {
    let with = |line, column| answer(&[Frame { column, ..frame("f", "f.c", line) }], 0x10);
    let cause = Some(vec!["the column of line 0"]);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &with(0, 5), &with(0, 0)), cause);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &with(0, 5), &with(0, 4)), None);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &with(1, 5), &with(1, 0)), None);
    assert_eq!(explained(Oracle::Llvm, 0x12, &with(0, 5), &with(0, 4)), None);
}

#[test]
fn a_label_does_not_name_a_part() {
    let cause = Some(vec!["a label at the start of a part"]);
    let ours = answer(&[frame("p", "p.c", 1)], 0xa0);
    let theirs = |name| answer(&[frame(name, "p.c", 1)], 0xa0);
    assert_eq!(explained(Oracle::Llvm, 0xa2, &ours, &theirs("p.cold")), cause);
    // There is no such symbol; and the FUNC symbol of a part does name it.
    assert_eq!(explained(Oracle::Llvm, 0xa2, &ours, &theirs("p.warm")), None);
    let unmarked = answer(&[frame("g", "g.c", 1)], 0x40);
    assert_eq!(explained(Oracle::Llvm, 0x42, &unmarked, &answer(&[frame("g.cold", "g.c", 1)], 0x40)), None);
}

#[test]
fn a_symbol_below_does_not_name_a_function() {
    let theirs = answer(&[frame("p.cold", "s.c", 1)], 0xa0);
    let cause = Some(vec!["a symbol that starts before the function"]);
    assert_eq!(explained(Oracle::Llvm, 0xa8, &answer(&[frame("s", "s.c", 1)], 0xa6), &theirs), cause);
    assert_eq!(explained(Oracle::Llvm, 0xa8, &answer(&[frame("s", "s.c", 1)], 0xa0), &theirs), None);
    let no_die = answer(&[frame("s", "", 0)], 0xa6);
    assert_eq!(explained(Oracle::Llvm, 0xa8, &no_die, &answer(&[frame("p.cold", "", 0)], 0xa0)), None);
}

#[test]
fn either_of_two_nested_symbols_names_bare_code() {
    // Without a DIE there is no line of a declaration.
    let with = |name, line| answer(&[Frame { start_line: 0, ..frame(name, "", line) }], 0xc0);
    let cause = Some(vec!["a symbol inside another"]);
    assert_eq!(explained(Oracle::Llvm, 0xc6, &with("outer", 0), &with("inner", 0)), cause);
    assert_eq!(explained(Oracle::Llvm, 0xc6, &with("outer", 1), &with("inner", 1)), None);
    assert_eq!(explained(Oracle::Llvm, 0xca, &with("outer", 0), &with("inner", 0)), None);
}

#[test]
fn a_symbol_goes_on_behind_one_inside_it() {
    let with = |name| answer(&[Frame { start_line: 0, ..frame(name, "", 0) }], 0xc0);
    let cause = Some(vec!["a symbol around another"]);
    let nothing = Answer::default();
    assert_eq!(explained(Oracle::Llvm, 0xca, &with("outer"), &nothing), cause);
    // In the inner one, past the outer one, or of a name that does not reach there.
    assert_eq!(explained(Oracle::Llvm, 0xc6, &with("outer"), &nothing), None);
    assert_eq!(explained(Oracle::Llvm, 0xd2, &with("outer"), &nothing), None);
    assert_eq!(explained(Oracle::Llvm, 0xca, &with("inner"), &nothing), None);
    // Before the inner one there is no reason to know nothing.
    assert_eq!(explained(Oracle::Llvm, 0xc2, &with("outer"), &nothing), None);
    assert_eq!(explained(Oracle::Llvm, 0xca, &answer(&[frame("outer", "o.c", 3)], 0xc0), &nothing), None);
}

#[test]
fn padding_is_short_and_nobodys() {
    let theirs = answer(&[frame("", "f.c", 1)], 0);
    let cause = Some(vec!["padding between functions"]);
    assert_eq!(explained(Oracle::Llvm, 0x34, &Answer::default(), &theirs), cause);
    assert_eq!(explained(Oracle::Addr2line, 0x34, &Answer::default(), &theirs), cause);
    assert_eq!(explained(Oracle::Llvm, 0x44, &Answer::default(), &theirs), None);
    assert_eq!(explained(Oracle::Llvm, 0x34, &Answer::default(), &answer(&[frame("f", "f.c", 1)], 0)), None);
    // A gap too long to be one is code without a symbol.
    assert_eq!(explained(Oracle::Llvm, 0x100, &Answer::default(), &theirs), None);
}

#[test]
fn a_lost_function_needs_the_other_oracle() {
    let ours = answer(&[frame("f", "f.h", 2), frame("g", "g.c", 1)], 0x10);
    let theirs = answer(&[frame("", "f.h", 2)], 0);
    let symbols = symbols();
    let fields = Fields { columns: false, starts: false };
    let difference = Difference { what: What::Depth, frame: 0 };
    let with = |other| {
        let (ours, theirs, symbols) = (&ours, &theirs, &symbols);
        Case { oracle: Oracle::Addr2line, address: 0x12, ours, theirs, other, symbols, fields, difference }
    };
    assert!(function_lost(&with(Some(&ours))));
    assert!(!function_lost(&with(Some(&theirs))));
    assert!(!function_lost(&with(None)));
}

#[test]
fn frames_without_calls_are_dropped_by_the_crate() {
    let call = |name| Frame { name: String::from(name), ..Frame::default() };
    let ours = answer(&[frame("f", "f.h", 2), call("g"), call("h")], 0x10);
    let cause = Some(vec!["inlined frames without a call line"]);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &ours, &answer(&[frame("h", "f.h", 2)], 0)), cause);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &ours, &answer(&[frame("g", "f.h", 2)], 0)), None);
    assert_eq!(explained(Oracle::Addr2line, 0x12, &ours, &answer(&[frame("h", "f.h", 3)], 0)), None);
    assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &answer(&[frame("h", "f.h", 2)], 0)), None);
}
