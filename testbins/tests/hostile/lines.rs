//! Functions at one address whose lines can be mistaken for each other's: each has its own lines or none.

use foldsym_convert::report::{Cap, Kind};
use gimli::{
    DW_AT_decl_file, DW_AT_decl_line, DW_AT_external, DW_AT_high_pc, DW_AT_low_pc, DW_AT_name,
    DW_TAG_subprogram,
};

use crate::build::{CODE, Info, Value, elf, line_program, sequence};
use crate::folds::members;
use crate::harness::{Bench, Kept};
use Value::{Address, Flag, Number, Text};

/// Name, line of declaration, address (0: erased), global.
type Described = (&'static str, u64, u64, bool);

/// One unit with these functions of 16 bytes, and a sequence for each of these lists of lines, four bytes each, at the
/// start of the code.
fn program(functions: &[Described], sequences: &[&[i8]], symbols: &[&str]) -> Kept {
    let mut info = Info::new(4, &[]);
    for &(name, line, start, external) in functions {
        let mut attributes = vec![
            (DW_AT_name, Text(name)),
            (DW_AT_decl_file, Number(1)),
            (DW_AT_decl_line, Number(line)),
            (DW_AT_low_pc, Address(start)),
            (DW_AT_high_pc, Number(0x10)),
        ];
        attributes.extend(external.then_some((DW_AT_external, Flag)));
        info.open(DW_TAG_subprogram, &attributes).close();
    }
    let opcodes = sequences.iter().flat_map(|lines| {
        let rows = lines.iter().enumerate().map(|(at, &line)| (CODE + 4 * at as u64, line));
        sequence(&rows.collect::<Vec<_>>(), CODE + 0x10)
    });
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&opcodes.collect::<Vec<_>>())));
    let symbols: Vec<_> = symbols.iter().map(|&name| (name, CODE, 0x10)).collect();
    Bench::new().kept(&elf(&sections, &symbols))
}

/// The line of each function at the start of the code.
fn lines(kept: &Kept) -> Vec<(String, u32)> {
    members(kept, CODE).into_iter().map(|(name, _, line)| (name, line)).collect()
}

fn some(expected: &[(&str, u32)]) -> Vec<(String, u32)> {
    expected.iter().map(|&(name, line)| (name.to_owned(), line)).collect()
}

#[test]
fn functions_that_keep_their_addresses_have_their_own_lines() {
    let both = [("a", 10, CODE, true), ("b", 20, CODE, true)];
    for (sequences, expected) in [
        (&[&[11][..], &[21]][..], [("a", 11), ("b", 21)]),
        (&[&[21], &[11]], [("a", 11), ("b", 21)]),
        // `b` is a call of `a`, which was inlined; `a` has no row of its own opening.
        (&[&[11], &[11, 21]], [("a", 11), ("b", 11)]),
        (&[&[11, 21], &[11]], [("a", 11), ("b", 11)]),
        // The body of `b` is in another file (here: before its declaration).
        (&[&[1], &[11]], [("a", 11), ("b", 1)]),
        // Both are, or nothing distinguishes them.
        (&[&[1], &[2]], [("a", 0), ("b", 0)]),
        (&[&[21], &[22]], [("a", 22), ("b", 21)]),
        (&[&[21, 11], &[11, 21]], [("a", 0), ("b", 0)]),
        // It does not matter then.
        (&[&[1], &[1]], [("a", 1), ("b", 1)]),
    ] {
        let kept = program(&both, sequences, &["a", "b"]);
        assert_eq!(lines(&kept), some(&expected), "{sequences:?}");
        let unknown = expected.iter().any(|&(_, line)| line == 0);
        assert_eq!(kept.count(Kind::AmbiguousLines) > 0, unknown, "{sequences:?}");
    }
}

/// Lines that belong to no known function show another function: the known one is not the only one.
#[test]
fn lines_in_doubt_show_that_there_is_another() {
    let one = [("a", 10, CODE, true)];
    for (sequences, expected) in [
        (&[&[1][..], &[2]][..], &[("a", 0), ("", 0)][..]),
        (&[&[1], &[2], &[3]], &[("a", 0), ("", 0), ("", 0)]),
        (&[&[11], &[1]], &[("a", 11), ("", 1)]),
        // If two are equally near, the first: linkers fold into the function that comes first.
        (&[&[11, 21], &[11, 31]], &[("a", 11), ("", 11)]),
        (&[&[12], &[11]], &[("a", 11), ("", 12)]),
        // Instances of a template have the same rows.
        (&[&[11], &[11]], &[("a", 11), ("", 11)]),
        (&[&[11]], &[]),
    ] {
        assert_eq!(lines(&program(&one, sequences, &["a"])), some(expected), "{sequences:?}");
    }
    // One of three is described, two are erased and named by their symbols: none is missing, and none is new.
    let three = [("a", 10, CODE, true), ("b", 10, 0, true), ("c", 10, 0, true)];
    let kept = program(&three, &[&[1], &[2], &[3]], &["a", "b", "c"]);
    assert_eq!(lines(&kept), some(&[("a", 0), ("b", 0), ("c", 0)]));
    // The same without their symbols.
    let kept = program(&three, &[&[1], &[2], &[3]], &["a"]);
    assert_eq!(lines(&kept), some(&[("a", 0), ("", 0), ("", 0)]));
}

/// A copy of a function that the linker discarded is nearer to lines than the function that has them.
#[test]
fn a_discarded_copy_takes_no_lines() {
    // `copy` is at another address; its second description has lost its address, as `gone` has.
    let elsewhere = CODE + 0x100;
    let functions = [
        ("kept", 5, CODE, true),
        ("copy", 10, elsewhere, true),
        ("copy", 10, 0, true),
        ("gone", 20, 0, false),
    ];
    let kept = program(&functions, &[&[6], &[11, 21]], &["kept"]);
    assert_eq!(lines(&kept), some(&[("kept", 6), ("gone", 11)]));
    assert_eq!(kept.count(Kind::CopyOfLive), 1);
    // A symbol puts it at the address of the lines; they may be the other's anyway.
    let functions = [("kept", 5, CODE, true), ("copy", 30, 0, true), ("gone", 20, 0, false)];
    let kept = program(&functions, &[&[6], &[21]], &["kept", "copy"]);
    assert_eq!(lines(&kept), some(&[("kept", 6), ("copy", 0), ("gone", 21)]));
}

#[test]
fn folded_functions_that_nothing_tells_apart_have_no_lines() {
    let functions = [("kept", 5, CODE, true), ("a", 30, 0, true), ("b", 40, 0, true)];
    let known = [("a", 0), ("b", 0)];
    for (sequences, expected) in [
        // Their bodies are in another file.
        (&[&[6][..], &[1], &[2]][..], known),
        // Only that of `b` is.
        (&[&[6], &[1], &[31]], [("a", 31), ("b", 1)]),
        (&[&[6], &[41, 31], &[31, 41]], known),
    ] {
        let kept = program(&functions, sequences, &["kept", "a", "b"]);
        assert_eq!(lines(&kept)[1..], some(&expected), "{sequences:?}");
    }
}

/// A function is there that was erased, and its lines fit two of them: neither is named, and both may be.
#[test]
fn lines_that_fit_several_show_that_there_is_another() {
    let functions = [("kept", 50, CODE, true), ("a", 10, 0, false), ("b", 10, 0, false)];
    let kept = program(&functions, &[&[51], &[11]], &["kept"]);
    assert_eq!(
        members(&kept, CODE)[..],
        [("kept".to_owned(), "live_range", 51), (String::new(), "symbol_only", 11)]
    );
    assert!(kept.count(Kind::AmbiguousSequence) > 0);
}

/// The report names what is beyond a cap.
#[test]
fn caps_of_recovery_are_counted() {
    let many = |count: usize, line: u64, start: u64| {
        (0..count).map(move |_| ("f", line, start, false)).collect::<Vec<Described>>()
    };
    // Functions of one name and unit that were erased.
    let mut functions = vec![("kept", 5, CODE, true)];
    functions.extend(many(1100, 10, 0));
    let few = program(&functions[..1000], &[&[6], &[11]], &["kept"]);
    assert_eq!(few.count(Kind::Cap(Cap::FoldedOfName)), 0);
    let kept = program(&functions, &[&[6], &[11]], &["kept", "f"]);
    assert!(kept.count(Kind::Cap(Cap::FoldedOfName)) > 0, "{:?}", kept.report.diagnostics);
    // Functions that remain at one address are all compared.
    let mut functions = many(4200, 10, CODE);
    functions.push(("gone", 20, 0, true));
    let kept = program(&functions, &[&[11]], &["gone"]);
    assert_eq!((kept.caps(), kept.count(Kind::FoldedFunction)), (0, 1));
    // Sequences at one address.
    let functions = [("a", 10, CODE, true), ("b", 20, CODE, true)];
    let rows: Vec<[i8; 1]> = (0..1100).map(|at| [(at % 100) as i8]).collect();
    let rows: Vec<&[i8]> = rows.iter().map(|rows| &rows[..]).collect();
    let kept = program(&functions, &rows, &[]);
    assert!(kept.count(Kind::Cap(Cap::SequencesTogether)) > 0, "{:?}", kept.report.diagnostics);
}

/// The same, of names at one address, and of parts of functions.
#[test]
fn caps_of_names_are_counted() {
    let dots = ".a".repeat(70);
    let many: Vec<String> = (0..40).map(|at| format!("f{at}")).chain([format!("g{dots}")]).collect();
    let symbols: Vec<_> = many.iter().map(|name| (name.as_str(), CODE, 0x10)).collect();
    let names: Vec<&'static str> = (0..40).map(|at| &*String::leak(format!("h{at}"))).collect();
    let functions: Vec<Described> = names.iter().map(|&name| (name, 10, CODE, true)).collect();
    let of =
        |symbols: &[&str]| program(&functions, &[&[11]], symbols).count(Kind::Cap(Cap::AliasComparisons));
    assert_eq!(of(&symbols[..40].iter().map(|symbol| symbol.0).collect::<Vec<_>>()), 0);
    assert_eq!(of(&symbols.iter().map(|symbol| symbol.0).collect::<Vec<_>>()), 1);
    // Functions and symbols of one plain name.
    let overloads = |count: usize| {
        let symbols: Vec<String> = (1..=count).map(|args| format!("_Z1f{}", "i".repeat(args))).collect();
        let functions: Vec<Described> = (0..count as u64).map(|at| ("f", 10 + at, CODE, true)).collect();
        let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
        program(&functions, &[&[11]], &symbols).count(Kind::Cap(Cap::Overloads))
    };
    assert_eq!((overloads(64), overloads(65)), (0, 1));
    // Functions that share a part.
    let parts = |count: u64| {
        let mut info = Info::new(4, &[]);
        for at in 0..count {
            let attributes = [
                (DW_AT_name, Text("f")),
                (DW_AT_decl_line, Number(at + 1)),
                (gimli::DW_AT_ranges, Value::Offset(at * 48)),
            ];
            info.open(DW_TAG_subprogram, &attributes).close();
        }
        let entry = |at: u64| CODE + 0x40 + 4 * at;
        let ranges = (0..count).flat_map(|at| [entry(at), entry(at) + 4, CODE, CODE + 0x10, 0, 0]);
        let bytes = ranges.flat_map(u64::to_le_bytes).collect();
        let mut sections = info.sections();
        sections.push((".debug_ranges", bytes));
        Bench::new().kept(&elf(&sections, &[("f.cold", CODE, 0x10)])).count(Kind::Cap(Cap::PartOwners))
    };
    assert_eq!((parts(200), parts(300)), (0, 1));
}

/// One unit with these functions of 16 bytes, and these sequences: the rows of each, and its end.
fn of_lengths(functions: &[Described], sequences: &[(&[(u64, i8)], u64)], symbols: &[&str]) -> Kept {
    let mut info = Info::new(4, &[]);
    for &(name, line, start, _) in functions {
        let declared =
            [(DW_AT_name, Text(name)), (DW_AT_decl_file, Number(1)), (DW_AT_decl_line, Number(line))];
        let code = [(DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(0x10)), (DW_AT_external, Flag)];
        info.open(DW_TAG_subprogram, &[&declared[..], &code].concat()).close();
    }
    let mut sections = info.sections();
    let opcodes = sequences.iter().flat_map(|(rows, end)| sequence(rows, *end));
    sections.push((".debug_line", line_program(&opcodes.collect::<Vec<_>>())));
    let symbols: Vec<_> = symbols.iter().map(|&name| (name, CODE, 0x10)).collect();
    Bench::new().kept(&elf(&sections, &symbols))
}

/// dsymutil joins the sequences of adjacent functions: a sequence that it did not join is not nearer for that.
#[test]
fn joined_sequences_count_beside_one_that_is_not() {
    const NEXT: u64 = CODE + 0x10;
    let functions =
        [("a", 10, CODE, true), ("b", 20, CODE, true), ("c", 30, CODE, true), ("next", 40, NEXT, true)];
    let sequences: [(&[(u64, i8)], u64); 3] = [
        (&[(CODE, 31), (NEXT, 41)], NEXT + 0x10),
        (&[(CODE, 21)], NEXT),
        (&[(CODE, 11), (NEXT, 42)], NEXT + 0x10),
    ];
    let kept = of_lengths(&functions, &sequences, &[]);
    assert_eq!(lines(&kept), some(&[("a", 11), ("b", 21), ("c", 31)]));
    assert_eq!(kept.count(Kind::AmbiguousLines), 0);
}

/// Constants after the code of a function belong to its section, and so to its sequence.
#[test]
fn a_sequence_that_goes_on_behind_a_folded_function_is_its_own() {
    const END: u64 = CODE + 0x18;
    let functions = [("kept", 10, CODE, true), ("gone", 20, 0, true)];
    for (behind, line) in [(None, 21), (Some(21), 21), (Some(25), 0)] {
        let mut rows = vec![(CODE, 21)];
        rows.extend(behind.map(|line| (CODE + 0x10, line)));
        let kept = of_lengths(&functions, &[(&[(CODE, 11)], END), (&rows, END)], &["kept", "gone"]);
        assert_eq!(lines(&kept), some(&[("kept", 11), ("gone", line)]), "{behind:?}");
        assert_eq!(kept.count(Kind::AmbiguousSequence), u64::from(line == 0), "{behind:?}");
    }
}

/// A line program of version 5 with a segment selector of this size, and one file twice: rows begin with file 1.
fn with_selector(size: u8, opcodes: &[u8]) -> Vec<u8> {
    let mut tables = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    // A folder and the files: their format is DW_LNCT_path as DW_FORM_string.
    tables.extend(b"\x01\x01\x08\x01/made\0\x01\x01\x08\x02unit.c\0unit.c\0");
    let header = [&5_u16.to_le_bytes()[..], &[8, size], &(tables.len() as u32).to_le_bytes()].concat();
    let body = [&header[..], &tables, opcodes].concat();
    [&(body.len() as u32).to_le_bytes()[..], &body].concat()
}

/// No opcode has a segment, so readers ignore the size (llvm-symbolizer 22 does).
#[test]
fn a_line_program_with_segment_selectors_is_read() {
    for sizes in [[0, 0], [4, 0], [0, 4], [1, 8]] {
        let mut info = Info::new(5, &[]);
        info.function("f", CODE, 0x20);
        let mut sections = info.sections();
        let other = with_selector(sizes[1], &sequence(&[(CODE + 0x100, 6)], CODE + 0x110));
        let own = with_selector(sizes[0], &sequence(&[(CODE, 5)], CODE + 0x20));
        sections.push((".debug_line", [own, other].concat()));
        let kept = Bench::new().kept(&elf(&sections, &[]));
        assert_eq!(kept.frame(CODE), ("f".to_owned(), "/made/unit.c".to_owned(), 5), "{sizes:?}");
        assert_eq!(kept.count(Kind::BadLineProgram), 0);
    }
}
