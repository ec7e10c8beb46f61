//! Functions in several parts that the linker folded separately: with parts of other functions, and with other parts of the same function.

use foldsym_convert::report::{Cap, Kind};
use foldsym_lookup::{
    Certainty, Frames, ImageAddr, Lookup, Reason, Resolved, ReturnAddr, StackAddr, SymbolFile,
};
use gimli::{
    DW_AT_call_all_calls, DW_AT_call_origin, DW_AT_call_return_pc, DW_AT_decl_file, DW_AT_decl_line,
    DW_AT_external, DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_AT_ranges, DW_TAG_call_site,
    DW_TAG_subprogram,
};

use crate::build::{CODE, Info, Symbol, Value, elf_with, line_program, sequence};
use crate::folds::members;
use crate::harness::{Bench, Kept};
use Value::{Address, Flag, Label, Number, Offset, Text};

/// The addresses of parts.
const PART: u64 = CODE + 0x100;
const OTHER: u64 = CODE + 0x200;

/// Where two functions share code that is called from parts.
const SHARED: u64 = CODE + 0x300;

/// Range lists of DWARF 5, and the offset of each in the section: ranges by start and length.
fn range_lists(lists: &[&[(u64, u64)]]) -> (Vec<u8>, Vec<u64>) {
    let mut out = [&[0; 4][..], &[5, 0, 8, 0, 0, 0, 0, 0]].concat();
    let mut offsets = Vec::new();
    for list in lists {
        offsets.push(out.len() as u64);
        for (start, len) in *list {
            // DW_RLE_start_length
            out.push(7);
            out.extend(start.to_le_bytes());
            out.push(*len as u8);
        }
        out.push(0);
    }
    let len = out.len() as u32 - 4;
    out[..4].copy_from_slice(&len.to_le_bytes());
    (out, offsets)
}

/// Name, line, ranges, calls: return address and label of the callee.
type Described<'s> = (&'s str, u64, &'s [(u64, u64)], &'s [(u64, &'static str)]);

fn program(functions: &[Described<'_>], sequences: &[u8], symbols: &[Symbol<'_>]) -> Kept {
    let (lists, offsets) = range_lists(&functions.iter().map(|function| function.2).collect::<Vec<_>>());
    let mut info = Info::new(5, &[]);
    for ((name, line, _, calls), list) in functions.iter().zip(offsets) {
        let attributes = [
            (DW_AT_name, Text(name)),
            (DW_AT_external, Flag),
            (DW_AT_decl_file, Number(1)),
            (DW_AT_decl_line, Number(*line)),
            (DW_AT_ranges, Offset(list)),
            (DW_AT_call_all_calls, Flag),
        ];
        info.label(name).open(DW_TAG_subprogram, &attributes);
        for (address, callee) in *calls {
            let call = [(DW_AT_call_return_pc, Address(*address)), (DW_AT_call_origin, Label(callee))];
            info.open(DW_TAG_call_site, &call).close();
        }
        info.close();
    }
    for (name, line) in [("p", 70), ("q", 80)] {
        let attributes = [
            (DW_AT_name, Text(name)),
            (DW_AT_external, Flag),
            (DW_AT_decl_file, Number(1)),
            (DW_AT_decl_line, Number(line)),
            (DW_AT_low_pc, Address(SHARED)),
            (DW_AT_high_pc, Number(0x10)),
        ];
        info.label(name).open(DW_TAG_subprogram, &attributes).close();
    }
    let mut sections = info.sections();
    sections.push((".debug_rnglists", lists));
    sections.push((".debug_line", line_program(sequences)));
    let shared = [Symbol::Global(("p", SHARED, 0x10)), Symbol::Global(("q", SHARED, 0x10))];
    Bench::new().kept(&elf_with(CODE, &sections, &[&shared[..], symbols].concat()))
}

fn names(kept: &Kept, address: u64) -> Vec<(String, &'static str, u32)> {
    let mut members = members(kept, address);
    members.sort();
    members
}

/// The certainty for [`SHARED`] with this caller, and the number of candidates.
fn called(kept: &Kept, address: u64) -> (Certainty, u32) {
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let stack = [StackAddr::Exact(ImageAddr(SHARED)), StackAddr::Return(ReturnAddr(address))];
    let mut resolved = [Resolved::NONE; 2];
    file.resolve_stack(&stack, &mut resolved).unwrap();
    (resolved[0].certainty.unwrap(), resolved[0].candidate_count())
}

/// `f` remains with its entry and two parts; of `g` each was folded into that of `f`.
fn two(of_g: &[(u64, u64)], symbols: &[Symbol<'_>]) -> Kept {
    let lines = [(CODE, 0x10, 11), (PART, 0xc, 12), (OTHER, 0x8, 13)];
    let sequences: Vec<u8> = lines
        .iter()
        .flat_map(|&(start, len, line)| {
            [sequence(&[(start, line)], start + len), sequence(&[(start, line + 10)], start + len)]
        })
        .flatten()
        .collect();
    let of_f = [(CODE, 0x10), (PART, 0xc), (OTHER, 0x8)];
    let mut described: Vec<Described<'_>> = vec![("f", 10, &of_f, &[])];
    if !of_g.is_empty() {
        described.push(("g", 20, of_g, &[]));
    }
    program(&described, &sequences, symbols)
}

/// A program that gold linked: this many functions, each with these ranges, and this many symbols of other functions at [`CODE`].
fn by_gold(functions: usize, ranges: &[[u64; 2]], others: usize) -> Kept {
    let mut info = Info::new(4, &[]);
    for index in 0..functions {
        let name = format!("f{index}");
        info.open(DW_TAG_subprogram, &[(DW_AT_name, Text(&name)), (DW_AT_ranges, Offset(0))]).close();
    }
    let ranges = ranges.iter().chain([&[0; 2]]).flatten();
    let mut sections = info.sections();
    sections.push((".debug_ranges", ranges.flat_map(|address| address.to_le_bytes()).collect()));
    sections.push((".note.gnu.gold-version", vec![0; 16]));
    let others: Vec<String> = (0..others).map(|index| format!("_Z1g{index}v")).collect();
    let mut symbols: Vec<_> = others.iter().map(|name| Symbol::Global((name, CODE, 0x10))).collect();
    symbols.push(Symbol::Global(("uncovered", CODE + 0x800, 0x10)));
    let kept = Bench::new().kept(&elf_with(CODE, &sections, &symbols));
    SymbolFile::open(&kept.bytes).unwrap().verify().unwrap();
    kept
}

/// Where gold linked, what shares the entry of a function with this part may be in the part too: once, however many functions
/// of the part share that entry.
#[test]
fn what_shares_an_entry_is_in_a_part_once() {
    for (described, named) in [(100, 5), (300, 5), (1000, 256)] {
        let kept = by_gold(described, &[[CODE, CODE + 0x10], [PART, PART + 0x10]], named);
        for start in [CODE, PART] {
            let members = members(&kept, start);
            let mut once: Vec<&str> = members.iter().map(|member| &member.0[..]).collect();
            once.sort_unstable();
            once.dedup();
            assert_eq!((members.len(), once.len()), (described + named, described + named), "{start:#x}");
        }
    }
}

/// Many parts, and many functions that share the entry: parts that are not compared stay in doubt.
#[test]
fn what_shares_an_entry_is_not_compared_with_all_parts() {
    let parts = (0..200).map(|index| [PART + 2 * index, PART + 2 * index + 2]);
    let ranges: Vec<[u64; 2]> = [[CODE, CODE + 0x10]].into_iter().chain(parts.clone()).collect();
    let kept = by_gold(1, &ranges, 256);
    let counts: Vec<usize> = parts.clone().map(|[start, _]| members(&kept, start).len()).collect();
    // The first have all, the one at which the comparisons end has some, and the later ones are in no group.
    let whole = counts.iter().take_while(|&&count| count == 257).count();
    assert!((10..100).contains(&whole), "{counts:?}");
    assert!((2..257).contains(&counts[whole]), "{counts:?}");
    assert!(counts[whole + 1..].iter().all(|&count| count == 0), "{counts:?}");
    let file = SymbolFile::open(&kept.bytes).unwrap();
    for [start, _] in parts.skip(whole + 1) {
        let Lookup::Found(found) = file.lookup(ImageAddr(start), &mut Frames::new()).unwrap() else {
            panic!("{start:#x}")
        };
        // gold folded here, and no compiler is known that describes all: a reason that comes before the cap.
        assert_eq!((found.certainty, found.reason), (Certainty::Likely, Some(Reason::Stripped)));
    }
    assert_eq!(kept.count(Kind::Cap(Cap::PartFunctions)), 1);
}

/// clang's labels of sections of basic blocks, the suffix that all compilers give cold parts, and an unknown word.
#[test]
fn each_part_is_folded_for_itself() {
    for (one, other) in [("__part.1", "__part.2"), ("cold", "cold.1"), ("eh", "warm"), ("rare.1", "rare.2")] {
        let name = |of: &str, what: &str| format!("{of}.{what}");
        let [f_one, g_one] = ["f", "g"].map(|of| name(of, one));
        let [f_other, g_other] = ["f", "g"].map(|of| name(of, other));
        // A label does not name a function that a DIE describes.
        let of_f = |name: &str| if one == "__part.1" { "f".to_owned() } else { name.to_owned() };
        let of_g = |name: &str| if one == "__part.1" { "g".to_owned() } else { name.to_owned() };
        let make = if one == "__part.1" { Symbol::Label } else { Symbol::Local };
        let symbols = [
            Symbol::Global(("f", CODE, 0x10)),
            Symbol::Global(("g", CODE, 0x10)),
            Symbol::File("unit.c"),
            make((&f_one, PART, 0xc)),
            make((&g_one, PART, 0xc)),
            make((&f_other, OTHER, 8)),
            make((&g_other, OTHER, 8)),
        ];
        let kept = two(&[(0, 0x10), (0, 0xc), (0, 8)], &symbols);
        let member = |name: &str, how, line| (name.to_owned(), how, line);
        assert_eq!(names(&kept, CODE), [member("f", "live_range", 11), member("g", "symbol", 21)]);
        let [first, second] = [of_f(&f_one), of_g(&g_one)];
        assert_eq!(names(&kept, PART), [member(&first, "live_range", 12), member(&second, "symbol", 22)]);
        let [first, second] = [of_f(&f_other), of_g(&g_other)];
        assert_eq!(names(&kept, OTHER), [member(&first, "live_range", 13), member(&second, "symbol", 23)]);
        // Nothing describes it.
        let kept = two(&[], &symbols);
        let first = of_f(&f_one);
        assert_eq!(names(&kept, PART), [member(&first, "live_range", 12), member(&g_one, "symbol_only", 0)]);
        let first = of_f(&f_other);
        assert_eq!(
            names(&kept, OTHER),
            [member(&first, "live_range", 13), member(&g_other, "symbol_only", 0)]
        );
    }
}

/// Lines of a part that belong to no function show that another function's part was folded there.
#[test]
fn lines_show_a_part_of_another_function() {
    let kept = two(&[], &[Symbol::Global(("f", CODE, 0x10))]);
    for (at, line) in [(PART, 12), (OTHER, 13)] {
        let expected = [(String::new(), "symbol_only", line + 10), ("f".to_owned(), "live_range", line)];
        assert_eq!(names(&kept, at), expected);
    }
}

/// A whole function that was folded into a part of another.
#[test]
fn a_part_may_be_a_whole_function() {
    let common = [
        Symbol::Global(("f", CODE, 0x10)),
        Symbol::File("unit.c"),
        Symbol::Label(("f.__part.1", PART, 0xc)),
        Symbol::Label(("f.__part.2", OTHER, 8)),
    ];
    let member = |name: &str, how, line| (name.to_owned(), how, line);
    let kept = two(&[(0, 0xc)], &[&common[..], &[Symbol::Global(("g", PART, 0xc))]].concat());
    assert_eq!(names(&kept, PART), [member("f", "live_range", 12), member("g", "symbol", 22)]);
    let kept = two(&[], &[&common[..], &[Symbol::Global(("_Z1gv", PART, 0xc))]].concat());
    assert_eq!(names(&kept, PART), [member("_Z1gv", "symbol_only", 0), member("f", "live_range", 12)]);
}

/// Two parts of `f` have equal code, and each calls another of the functions at [`SHARED`]; the compiler recorded only the call of the part
/// that remains.
#[test]
fn a_call_in_what_is_several_parts_of_one_function_is_not_exact() {
    let call: &[(u64, &str)] = &[(PART + 8, "p")];
    let symbols = |at| {
        let parts = [("f.__part.1", PART, 0xc), ("f.__part.2", at, 0xc)];
        [
            Symbol::Global(("f", CODE, 0x10)),
            Symbol::File("unit.c"),
            Symbol::Label(parts[0]),
            Symbol::Label(parts[1]),
        ]
    };
    let kept = |second: u64, symbols: &[Symbol<'_>]| {
        program(&[("f", 10, &[(CODE, 0x10), (PART, 0xc), (second, 0xc)], call)], &[], symbols)
    };
    assert_eq!(called(&kept(OTHER, &symbols(OTHER)), PART + 8), (Certainty::Exact, 1));
    assert_eq!(called(&kept(0, &symbols(PART)), PART + 8), (Certainty::Ambiguous, 2));
    // Without symbols the second part may be anywhere that its size fits.
    assert_eq!(called(&kept(OTHER, &[]), PART + 8), (Certainty::Exact, 1));
    assert_eq!(called(&kept(0, &[]), PART + 8), (Certainty::Ambiguous, 2));
    // gold leaves the addresses as they are.
    assert_eq!(called(&kept(PART, &symbols(PART)), PART + 8), (Certainty::Ambiguous, 2));
    let other_size = [("f", 10, &[(CODE, 0x10), (PART, 0xc), (0, 0xb)][..], call)];
    assert_eq!(called(&program(&other_size, &[], &[]), PART + 8), (Certainty::Exact, 1));
}

/// Two parts of `f` have equal code: the lines of one are not the other's.
#[test]
fn lines_of_several_parts_of_one_function_are_not_told() {
    for (other, expected) in [(13, 0), (12, 12)] {
        let lines = [(CODE, 11, 0x10), (PART, 12, 0xc), (PART, other, 0xc)];
        let sequences = lines.map(|(start, line, len)| sequence(&[(start, line)], start + len)).concat();
        let parts = [(CODE, 0x10), (PART, 0xc), (0, 0xc)];
        let labels = [Symbol::Label(("f.__part.1", PART, 0xc)), Symbol::Label(("f.__part.2", PART, 0xc))];
        let kept = program(&[("f", 10, &parts, &[])], &sequences, &labels);
        assert_eq!((kept.frame(CODE).2, kept.frame(PART).2), (11, expected), "{other}");
        assert_eq!(kept.frame(PART).0, "f");
    }
}
