//! Sections of several functions that a linker folded as a whole: one line sequence is left of each.

use foldsym_lookup::{Certainty, Frames, ImageAddr, Lookup, Reason, SymbolFile};
use gimli::{
    DW_AT_comp_dir, DW_AT_decl_file, DW_AT_decl_line, DW_AT_external, DW_AT_high_pc, DW_AT_low_pc,
    DW_AT_name, DW_AT_stmt_list, DW_TAG_subprogram,
};

use crate::build::{CODE, Info, Symbol, Value, elf_with, line_program, sequence, two_units};
use crate::folds::members;
use crate::harness::{Bench, Kept};
use Value::{Address, Flag, Number, Offset, Text};

/// Where the second of the functions that remain begins.
const NEXT: u64 = CODE + 0x20;
/// Where both end.
const END: u64 = NEXT + 0x18;

fn function(info: &mut Info, name: &'static str, line: u64, start: u64, len: u64) {
    let attributes = [
        (DW_AT_name, Text(name)),
        (DW_AT_decl_file, Number(1)),
        (DW_AT_decl_line, Number(line)),
        (DW_AT_external, Flag),
        (DW_AT_low_pc, Address(start)),
        (DW_AT_high_pc, Number(len)),
    ];
    info.open(DW_TAG_subprogram, &attributes).close();
}

/// `f` and `g` remain; another unit has these functions without an address, and these lines.
fn folded(linker: &str, erased: &[(&'static str, u64, u64)], lines: &[u8], symbols: &[Symbol<'_>]) -> Kept {
    program(&[F, G], linker, erased, lines, symbols)
}

/// Name, line, start and length of the functions that remain.
type Remains = (&'static str, u64, u64, u64);
const F: Remains = ("f", 10, CODE, 0x10);
const G: Remains = ("g", 20, NEXT, END - NEXT);

/// The same, if the first unit describes these functions.
fn program(
    remains: &[Remains],
    linker: &str,
    erased: &[(&'static str, u64, u64)],
    lines: &[u8],
    symbols: &[Symbol<'_>],
) -> Kept {
    let own = line_program(&sequence(&[(CODE, 11), (NEXT, 21)], END));
    let mut first = Info::new(4, &[]);
    for &(name, line, start, len) in remains {
        function(&mut first, name, line, start, len);
    }
    let folder = (DW_AT_comp_dir, Text("/other"));
    let mut second = Info::new(4, &[(DW_AT_stmt_list, Offset(own.len() as u64)), folder]);
    for &(name, line, len) in erased {
        function(&mut second, name, line, 0, len);
    }
    let mut sections = two_units(&mut first, &mut second);
    sections.push((".debug_line", [own, line_program(lines)].concat()));
    sections.push((".comment", [b"\0", linker.as_bytes(), b"\0"].concat()));
    Bench::new().kept(&elf_with(CODE, &sections, symbols))
}

type Found = Vec<(String, &'static str, u32)>;

fn both(kept: &Kept) -> [Found; 2] {
    [members(kept, CODE), members(kept, NEXT)]
}

fn some(expected: &[(&str, &'static str, u32)]) -> Found {
    expected.iter().map(|&(name, how, line)| (name.to_owned(), how, line)).collect()
}

const LLD: &str = "Linker: LLD 22.1.8";
const ERASED: [(&str, u64, u64); 2] = [("f2", 30, 0x10), ("g2", 40, END - NEXT)];

#[test]
fn each_function_has_its_part_of_the_lines() {
    let lines = sequence(&[(CODE, 31), (CODE + 4, 33), (NEXT, 41), (NEXT + 8, 42)], END);
    let expected = [
        some(&[("f", "live_range", 11), ("f2", "line_sequence", 31)]),
        some(&[("g", "live_range", 21), ("g2", "line_sequence", 41)]),
    ];
    // The order of the descriptions is not that of the code.
    let reversed = [ERASED[1], ERASED[0]];
    for erased in [&ERASED[..], &reversed[..]] {
        let kept = folded(LLD, erased, &lines, &[]);
        assert_eq!(both(&kept), expected);
        assert_eq!(members(&kept, CODE + 4)[1].2, 33);
        assert_eq!(members(&kept, NEXT + 8)[1].2, 42);
        let frames: Vec<u32> = [CODE, NEXT].iter().map(|at| kept.frame(*at).2).collect();
        assert_eq!(frames, [11, 21]);
    }
    // mold makes symbols local.
    let symbols = [Symbol::Local(("f", CODE, 0x10)), Symbol::Local(("f2", CODE, 0x10))];
    let kept = folded("mold 1.10.1", &ERASED, &lines, &symbols);
    assert_eq!(both(&kept)[0], some(&[("f", "live_range", 11), ("f2", "symbol", 31)]));
    assert_eq!(both(&kept)[1], expected[1]);
}

/// No function is the only one there, whichever was folded.
#[test]
fn lines_that_fit_no_function_are_of_one_without_a_name() {
    let lines = sequence(&[(CODE, 31), (NEXT, 41)], END);
    let expected = [
        some(&[("f", "live_range", 11), ("", "symbol_only", 31)]),
        some(&[("g", "live_range", 21), ("", "symbol_only", 41)]),
    ];
    assert_eq!(both(&folded(LLD, &[("f2", 50, 0x10), ("g2", 50, END - NEXT)], &lines, &[])), expected);
    // A unit of `-g1` describes no function.
    assert_eq!(both(&folded(LLD, &[], &lines, &[])), expected);
    // If two functions have the same size, nothing shows which it is.
    let alike = [("f2", 30, 0x10), ("f3", 30, 0x10), ERASED[1]];
    assert_eq!(
        both(&folded(LLD, &alike, &lines, &[])),
        [expected[0].clone(), some(&[("g", "live_range", 21), ("g2", "line_sequence", 41)])]
    );
}

/// With `-g1` clang does not describe a function without inlined calls.
#[test]
fn lines_of_functions_that_nobody_describes_are_of_the_section_too() {
    let lines = sequence(&[(CODE, 31), (NEXT, 41)], END);
    let g = some(&[("g", "live_range", 21), ("g2", "line_sequence", 41)]);
    assert_eq!(both(&program(&[G], LLD, &ERASED, &lines, &[])), [some(&[]), g]);
    let f = some(&[("f", "live_range", 11), ("f2", "line_sequence", 31)]);
    assert_eq!(both(&program(&[F], LLD, &ERASED, &lines, &[])), [f, some(&[])]);
    // Nothing remains of the first that could be another's.
    assert_eq!(both(&program(&[], LLD, &ERASED, &lines, &[])), [[], []]);
}

#[test]
fn other_sequences_are_not_those_of_a_folded_section() {
    for (what, linker, lines) in [
        ("a linker that folds nothing", "GCC: 12", vec![(CODE, 31), (NEXT, 41)]),
        ("no row where a function begins", LLD, vec![(CODE, 31), (NEXT + 4, 41)]),
        ("it begins elsewhere", LLD, vec![(CODE + 4, 31), (NEXT, 41)]),
    ] {
        let linker = if linker == LLD { LLD } else { "GNU ld (GNU Binutils) 2.40" };
        let kept = folded(linker, &ERASED, &sequence(&lines, END), &[]);
        assert_eq!(both(&kept), [[], []], "{what}");
    }
    // It continues after the last function, or ends in it.
    for end in [END + 0x80, END - 4] {
        let kept = folded(LLD, &ERASED, &sequence(&[(CODE, 31), (NEXT, 41)], end), &[]);
        assert_eq!(both(&kept), [[], []], "{end:#x}");
    }
}

/// The unit has lines, but none there, so a local symbol is not known to belong to its function.
#[test]
fn a_name_of_an_erased_function_is_no_alias() {
    let elsewhere = sequence(&[(CODE + 0x800, 60)], CODE + 0x810);
    for (erased, expected) in [
        (("other", 30, 0x10), some(&[("f", "live_range", 11), ("other", "symbol_only", 0)])),
        (("other", 30, 0x20), some(&[])),
        (("another", 30, 0x10), some(&[])),
    ] {
        let symbols = [Symbol::Local(("f", CODE, 0x10)), Symbol::Local(("other", CODE, 0x10))];
        let kept = folded("mold 1.10.1", &[erased], &elsewhere, &symbols);
        assert_eq!(both(&kept)[0], expected, "{erased:?}");
    }
}

/// mold before 2.2 drops the symbols of folded functions with `--gc-sections` alone. A symbol of a folded function shows that it was linked
/// without that option.
#[test]
fn a_folded_function_without_a_symbol_leaves_nothing_unique_with_mold() {
    let lines = sequence(&[(NEXT, 41)], END);
    let of_all = [
        Symbol::File("crtstuff.c"),
        Symbol::Local(("f", CODE, 0x10)),
        Symbol::Local(("g", NEXT, END - NEXT)),
        Symbol::Local(("g2", NEXT, END - NEXT)),
    ];
    for (linker, symbols, expected) in [
        ("mold 1.10.1", &of_all[..], (Certainty::Unique, None)),
        ("mold 1.10.1", &of_all[..3], (Certainty::Likely, Some(Reason::Stripped))),
        ("mold 3.0.0", &of_all[..], (Certainty::Likely, Some(Reason::Stripped))),
        (LLD, &of_all[..3], (Certainty::Unique, None)),
    ] {
        let kept = folded(linker, &[ERASED[1]], &lines, symbols);
        assert_eq!(both(&kept)[1].len(), 2, "{linker} {}", symbols.len());
        let file = SymbolFile::open(&kept.bytes).unwrap();
        let Lookup::Found(found) = file.lookup(ImageAddr(CODE), &mut Frames::new()).unwrap() else {
            panic!("{linker}: nothing at f")
        };
        assert_eq!((found.certainty, found.reason), expected, "{linker} {}", symbols.len());
    }
}
