//! Programs with false evidence for folded functions and for calls into them: no function is placed without proof, and no answer is more
//! certain than the evidence.

use foldsym_convert::report::Kind;
use foldsym_lookup::{Certainty, Frames, ImageAddr, Lookup, Resolved, ReturnAddr, StackAddr, SymbolFile};
use gimli::{
    DW_AT_abstract_origin, DW_AT_call_all_calls, DW_AT_call_origin, DW_AT_call_return_pc, DW_AT_comp_dir,
    DW_AT_decl_file, DW_AT_decl_line, DW_AT_external, DW_AT_high_pc, DW_AT_low_pc, DW_AT_name,
    DW_AT_stmt_list, DW_TAG_call_site, DW_TAG_subprogram,
};

use crate::build::{
    CODE, CODE_LEN, Info, Symbol, Value, elf, elf_with, line_program, sequence, two_units, with_code,
};
use crate::harness::{Bench, Kept};
use Value::{Address, Flag, Label, Number, Offset, Text};

pub(crate) const DW_AT_LLVM_STMT_SEQUENCE: gimli::DwAt = gimli::DwAt(0x3e0c);

/// The attributes of a function that is declared at a line of the first file and has `len` bytes of code at `start`.
pub(crate) fn described(name: &str, line: u64, start: u64, len: u64) -> [(gimli::DwAt, Value<'_>); 6] {
    [
        (DW_AT_name, Text(name)),
        (DW_AT_external, Flag),
        (DW_AT_decl_file, Number(1)),
        (DW_AT_decl_line, Number(line)),
        (DW_AT_low_pc, Address(start)),
        (DW_AT_high_pc, Number(len)),
    ]
}

/// The functions at an address that has several: name, what recovered it, line.
pub(crate) fn members(kept: &Kept, address: u64) -> Vec<(String, &'static str, u32)> {
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let mut frames = Frames::new();
    let Lookup::Found(found) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
        return Vec::new();
    };
    if found.group.is_none() {
        return Vec::new();
    }
    let of = |index| {
        let member = file.member_frames(&found, index, &mut frames).unwrap();
        let frame = file.frames(&frames).last().unwrap().unwrap();
        let mut name = [0; 64];
        let len = frame.name.map_or(0, |id| file.write_name(id, &mut name).unwrap());
        (String::from_utf8(name[..len].to_vec()).unwrap(), member.how.text(), frame.line)
    };
    (0..found.member_count()).map(of).collect()
}

fn subprogram(
    info: &mut Info,
    name: &'static str,
    line: u64,
    start: u64,
    more: &[(gimli::DwAt, Value<'static>)],
) {
    let mut attributes = described(name, line, start, 0x10).to_vec();
    attributes.extend(more);
    info.open(DW_TAG_subprogram, &attributes).close();
}

/// Which place `DW_AT_LLVM_stmt_sequence` of the erased function names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Own,
    Middle,
    OtherUnit,
    Dead,
    BehindSection,
    AllOnes,
}

/// `kept` remains at the start of the code. `gone`, whose address is a tombstone, was folded into it. The line program has a sequence for
/// each there, and one that was erased; the line program of another unit follows.
fn folded(names: Names, wide: bool, symbol: Option<u64>) -> Kept {
    let own = sequence(&[(CODE, 11)], CODE + 0x10);
    let gone = sequence(&[(CODE, 21), (CODE + 4, 22)], CODE + 0x10);
    let dead = sequence(&[(0, 51)], 0x10);
    let first = line_program(&[]).len() as u64;
    let unit = line_program(&[own.clone(), gone.clone(), dead].concat());
    let at = first + own.len() as u64;
    let value = match names {
        Names::Own => at,
        // Its second row begins a few opcodes further on.
        Names::Middle => at + 14,
        Names::OtherUnit => unit.len() as u64 + first,
        Names::Dead => at + gone.len() as u64,
        Names::BehindSection => 0x10_0000,
        Names::AllOnes => u64::MAX,
    };
    let other = line_program(&sequence(&[(CODE, 61)], CODE + 0x10));
    let mut info = if wide { Info::wide(4, &[]) } else { Info::new(4, &[]) };
    subprogram(&mut info, "kept", 10, CODE, &[]);
    subprogram(&mut info, "gone", 20, 0, &[(DW_AT_LLVM_STMT_SEQUENCE, Offset(value))]);
    let mut sections = info.sections();
    sections.push((".debug_line", [unit, other].concat()));
    let mut symbols = vec![("kept", CODE, 0x10)];
    symbols.extend(symbol.map(|size| ("gone", CODE, size)));
    Bench::new().kept(&elf(&sections, &symbols))
}

fn both(how: &'static str, line: u32) -> Vec<(String, &'static str, u32)> {
    vec![("kept".to_owned(), "live_range", 11), ("gone".to_owned(), how, line)]
}

#[test]
fn a_sequence_of_its_own_gives_a_function_its_address() {
    for wide in [false, true] {
        assert_eq!(members(&folded(Names::Own, wide, None), CODE), both("stmt_sequence", 21));
        assert_eq!(members(&folded(Names::Own, wide, None), CODE + 4), both("stmt_sequence", 22));
    }
}

/// Weaker evidence may still give it an address, with its own lines; else it counts as dead.
#[test]
fn what_names_no_sequence_of_the_unit_gives_none() {
    for wide in [false, true] {
        for names in [Names::Middle, Names::OtherUnit, Names::BehindSection] {
            for symbol in [None, Some(0x10)] {
                let kept = folded(names, wide, symbol);
                let recovered = kept.count(Kind::FoldedFunction);
                assert_eq!(recovered + kept.count(Kind::DeadFunction), 1, "{names:?} {symbol:?}");
                let allowed = match symbol {
                    _ if recovered == 0 => vec![],
                    None => both("line_sequence", 21),
                    Some(_) => both("symbol", 21),
                };
                assert_eq!(members(&kept, CODE), allowed, "{names:?} {symbol:?}");
                assert_eq!(kept.frames(CODE), [("kept".to_owned(), "/made/unit.c".to_owned(), 11)]);
            }
        }
    }
}

/// The linker erased the rows too: the function was removed. The rows that no function names belong to one without a DIE.
#[test]
fn a_dead_sequence_is_that_of_a_removed_function() {
    for wide in [false, true] {
        let kept = folded(Names::Dead, wide, None);
        let expected = [("kept".to_owned(), "live_range", 11), (String::new(), "symbol_only", 21)];
        assert_eq!(members(&kept, CODE), expected);
        assert_eq!((kept.count(Kind::DeadFunction), kept.count(Kind::FoldedFunction)), (1, 0));
        assert_eq!(kept.frames(CODE), [("kept".to_owned(), "/made/unit.c".to_owned(), 11)]);
    }
}

/// `gone` names the sequence of a function at another address, of another length or of its own.
#[test]
fn the_sequence_of_a_function_elsewhere_gives_none() {
    const ELSEWHERE: u64 = CODE + 0x40;
    for (len, symbol) in [(0x20, true), (0x20, false), (8, true), (0x10, true)] {
        let sequences = [
            sequence(&[(CODE, 11)], CODE + 0x10),
            sequence(&[(CODE, 21)], CODE + 0x10),
            sequence(&[(ELSEWHERE, 31)], ELSEWHERE + len),
        ];
        let first = line_program(&[]).len() as u64;
        let at = |index: usize| first + sequences[..index].iter().map(|one| one.len() as u64).sum::<u64>();
        let mut info = Info::new(4, &[]);
        let own = |index| [(DW_AT_LLVM_STMT_SEQUENCE, Offset(at(index)))];
        subprogram(&mut info, "kept", 10, CODE, &own(0));
        subprogram(&mut info, "gone", 20, 0, &own(2));
        let named =
            [(DW_AT_name, Text("other")), (DW_AT_decl_file, Number(1)), (DW_AT_decl_line, Number(30))];
        let code = [(DW_AT_low_pc, Address(ELSEWHERE)), (DW_AT_high_pc, Number(len))];
        info.open(DW_TAG_subprogram, &[&named[..], &code, &own(2)].concat()).close();
        let mut sections = info.sections();
        sections.push((".debug_line", line_program(&sequences.concat())));
        let mut symbols = vec![("kept", CODE, 0x10), ("other", ELSEWHERE, len)];
        symbols.extend(symbol.then_some(("gone", CODE, 0x10)));
        let kept = Bench::new().kept(&elf(&sections, &symbols));
        assert_eq!(
            members(&kept, CODE),
            both(if symbol { "symbol" } else { "line_sequence" }, 21),
            "{len:#x}"
        );
        assert_eq!(members(&kept, ELSEWHERE), []);
        assert_eq!(kept.frames(ELSEWHERE), [("other".to_owned(), "/made/unit.c".to_owned(), 31)]);
        assert_eq!(kept.count(Kind::ForeignSequence), 1);
    }
}

/// As if there were no attribute: the other evidence counts.
#[test]
fn all_ones_is_no_sequence() {
    for wide in [false, true] {
        assert_eq!(members(&folded(Names::AllOnes, wide, Some(0x10)), CODE), both("symbol", 21));
        assert_eq!(members(&folded(Names::AllOnes, wide, None), CODE), both("line_sequence", 21));
    }
}

#[test]
fn a_symbol_of_another_size_is_another_function() {
    let same = symbol_alone(CODE, 0x10);
    assert_eq!(members(&same, CODE), both("symbol", 0));
    assert_eq!((same.count(Kind::DeadFunction), same.count(Kind::FoldedFunction)), (0, 1));
    // Of another size; and no function remains.
    for (address, size) in [(CODE, 8), (CODE, 0xf), (CODE, 0x11), (CODE, 0x20), (CODE + 0x80, 0x10)] {
        let kept = symbol_alone(address, size);
        assert_eq!(
            (members(&kept, CODE), members(&kept, address)),
            (vec![], vec![]),
            "{address:#x} {size:#x}"
        );
        assert_eq!((kept.count(Kind::DeadFunction), kept.count(Kind::FoldedFunction)), (1, 0), "{size:#x}");
        assert_eq!(kept.frames(CODE + 4), [("kept".to_owned(), "/made/unit.c".to_owned(), 11)]);
    }
}

/// Programs that rewrite linked programs mix up which sequence belongs to which function; the lines of the declarations show it.
#[test]
fn a_function_that_names_anothers_rows_has_its_own() {
    let sequences = [
        sequence(&[(CODE, 11)], CODE + 0x10),
        sequence(&[(CODE, 21)], CODE + 0x10),
        sequence(&[(CODE, 31)], CODE + 0x10),
    ];
    let first = line_program(&[]).len() as u64;
    let at = |index: usize| first + sequences[..index].iter().map(|one| one.len() as u64).sum::<u64>();
    let of = |names: [usize; 3], declared: [u64; 3]| {
        let mut info = Info::new(4, &[]);
        let functions = ["kept", "gone", "lost"].into_iter().zip(declared).zip(names);
        for (index, ((name, line), own)) in functions.enumerate() {
            let start = if index == 0 { CODE } else { 0 };
            subprogram(&mut info, name, line, start, &[(DW_AT_LLVM_STMT_SEQUENCE, Offset(at(own)))]);
        }
        let mut sections = info.sections();
        sections.push((".debug_line", line_program(&sequences.concat())));
        let kept = Bench::new().kept(&elf(&sections, &[("kept", CODE, 0x10)]));
        let lines: Vec<u32> = members(&kept, CODE).iter().map(|member| member.2).collect();
        (lines, kept.count(Kind::SwappedSequence))
    };
    assert_eq!(of([0, 1, 2], [10, 20, 30]), (vec![11, 21, 31], 0));
    // `lost` is declared after the row that it names.
    assert_eq!(of([0, 2, 1], [10, 20, 30]), (vec![11, 21, 31], 2));
    assert_eq!(of([2, 0, 1], [10, 20, 30]), (vec![11, 21, 31], 3));
    // No row fits: only the sequence that it names is left.
    assert_eq!(of([0, 1, 2], [10, 20, 40]), (vec![11, 21, 31], 0));
}

/// `gone` has neither address nor rows, and a symbol there, of this size.
fn symbol_alone(address: u64, size: u64) -> Kept {
    let mut info = Info::new(4, &[]);
    subprogram(&mut info, "kept", 10, CODE, &[]);
    subprogram(&mut info, "gone", 20, 0, &[]);
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&sequence(&[(CODE, 11)], CODE + 0x10))));
    Bench::new().kept(&elf(&sections, &[("kept", CODE, 0x10), ("gone", address, size)]))
}

/// Where two functions share code.
pub(crate) const SHARED: u64 = CODE + 0x100;

/// The debug information of `f` and `g` at [`SHARED`], and of a function at the start of the code with these calls: return
/// address, and the label of the callee.
fn sections(calls: &[(u64, &'static str)]) -> Vec<(&'static str, Vec<u8>)> {
    let mut info = Info::new(5, &[]);
    for (name, line) in [("f", 10), ("g", 20)] {
        info.label(name);
        subprogram(&mut info, name, line, SHARED, &[(DW_AT_call_all_calls, Flag)]);
    }
    info.label("a").open(DW_TAG_subprogram, &[(DW_AT_abstract_origin, Label("b"))]).close();
    info.label("b").open(DW_TAG_subprogram, &[(DW_AT_abstract_origin, Label("a"))]).close();
    let attributes = [
        (DW_AT_name, Text("caller")),
        (DW_AT_low_pc, Address(CODE)),
        (DW_AT_high_pc, Number(0x40)),
        (DW_AT_call_all_calls, Flag),
    ];
    info.open(DW_TAG_subprogram, &attributes);
    for (index, (address, callee)) in calls.iter().enumerate() {
        if index == 0 {
            info.label("call");
        }
        let call = [(DW_AT_call_return_pc, Address(*address)), (DW_AT_call_origin, Label(callee))];
        info.open(DW_TAG_call_site, &call).close();
    }
    info.close();
    subprogram(&mut info, "last", 30, CODE + CODE_LEN - 0x10, &[]);
    info.sections()
}

/// The program of these calls.
fn calling(calls: &[(u64, &'static str)]) -> Kept {
    Bench::new().kept(&elf(&sections(calls), &CALLING))
}

const CALLING: [(&str, u64, u64); 3] = [("caller", CODE, 0x40), ("f", SHARED, 0x10), ("g", SHARED, 0x10)];

/// The certainty for [`SHARED`] with this caller, and the first candidate.
pub(crate) fn called(kept: &Kept, address: u64) -> (Certainty, String) {
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let stack = [StackAddr::Exact(ImageAddr(SHARED)), StackAddr::Return(ReturnAddr(address))];
    let mut resolved = [Resolved::NONE; 2];
    file.resolve_stack(&stack, &mut resolved).unwrap();
    let first = resolved[0].candidate(0).unwrap() as usize;
    (resolved[0].certainty.unwrap(), members(kept, SHARED)[first].0.clone())
}

/// The return addresses that have keys.
fn keys(kept: &Kept) -> Vec<u64> {
    SymbolFile::open(&kept.bytes).unwrap().records().calls().map(|call| call.unwrap().address.0).collect()
}

#[test]
fn a_callee_whose_origin_is_a_circle_is_nobody() {
    let kept = calling(&[(CODE + 8, "a"), (CODE + 0x10, "g"), (CODE + 0x18, "call")]);
    assert!(kept.count(Kind::OriginCycle) >= 1, "{:?}", kept.report.diagnostics);
    assert_eq!(keys(&kept), [CODE + 0x10]);
    assert_eq!(called(&kept, CODE + 0x10), (Certainty::Exact, "g".to_owned()));
    for address in [CODE + 8, CODE + 0x18] {
        assert_eq!(called(&kept, address), (Certainty::Ambiguous, "f".to_owned()));
    }
}

#[test]
fn a_call_that_returns_to_no_code_has_no_key() {
    // The caller's own end. The calls of others are theirs to record.
    let end = CODE + 0x40;
    let outside = [0, 1, CODE, end + 1, CODE + CODE_LEN, 0x10_0000, u64::MAX, u64::MAX - 1];
    let mut calls: Vec<_> = outside.iter().map(|&address| (address, "f")).collect();
    calls.push((CODE + 0x20, "g"));
    // The last instruction may be a call of a function that does not return.
    calls.push((end, "g"));
    let kept = calling(&calls);
    assert_eq!(keys(&kept), [CODE + 0x20, end]);
    assert_eq!(called(&kept, CODE + 0x20), (Certainty::Exact, "g".to_owned()));
    for address in outside {
        assert_eq!(called(&kept, address).0, Certainty::Ambiguous, "{address:#x}");
    }
}

#[test]
fn one_call_of_two_functions_is_not_exact() {
    let kept = calling(&[(CODE + 8, "f"), (CODE + 8, "g"), (CODE + 0x10, "g"), (CODE + 0x10, "g")]);
    assert_eq!(keys(&kept), [CODE + 0x10]);
    assert_eq!(called(&kept, CODE + 8).0, Certainty::Ambiguous);
    assert_eq!(called(&kept, CODE + 0x10), (Certainty::Exact, "g".to_owned()));
}

/// LLVM lets a function that it merged with another jump there, and rewrites the calls that it sees. Such jumps are folded
/// too.
#[test]
fn a_call_in_a_unit_that_merges_functions_is_not_exact() {
    const JUMP: u64 = CODE + 0x400;
    let made = |symbols: &[&'static str], to: u64| {
        let jumps = symbols.iter().map(|name| (*name, JUMP, 5));
        let program =
            elf(&sections(&[(CODE + 8, "f")]), &CALLING.into_iter().chain(jumps).collect::<Vec<_>>());
        let by = (to.wrapping_sub(JUMP + 5) as u32).to_le_bytes();
        Bench::new().kept(&with_code(program, JUMP, &[&[0xe9], &by[..]].concat()))
    };
    let here = |kept: &Kept| members(kept, SHARED).into_iter().map(|member| member.0).collect::<Vec<_>>();
    let of = |kept: &Kept| (called(kept, CODE + 8), here(kept));
    let name = |name: &str| name.to_owned();
    let both = vec![name("f"), name("g")];
    assert_eq!(of(&made(&[], SHARED)), ((Certainty::Exact, name("f")), both.clone()));
    // LLVM removes a function that only this unit can call, so others may have been merged with it.
    let ambiguous = (Certainty::Ambiguous, name("f"));
    let kept = made(&["_Z1mv"], SHARED);
    assert_eq!(of(&kept), (ambiguous.clone(), vec![name("f"), name("_Z1mv"), name("g")]));
    let kept = made(&["_Z1mv", "_Z1nv"], SHARED);
    assert_eq!(of(&kept), (ambiguous.clone(), vec![name("f"), name("_Z1mv"), name("_Z1nv"), name("g")]));
    // And with others of the unit.
    let last = CODE + CODE_LEN - 0x10;
    let kept = made(&["_Z1mv"], last);
    assert_eq!(of(&kept), (ambiguous, both.clone()));
    assert_eq!(members(&kept, last).len(), 2);
    // Into the middle of a function.
    let kept = made(&["_Z1mv"], last + 1);
    assert_eq!(of(&kept), ((Certainty::Exact, name("f")), both));
}

/// The other instructions of such a function depend on options, and its callee may have further callees.
#[test]
fn a_function_that_was_merged_may_have_a_frame() {
    const SMALL: u64 = CODE + 0x400;
    let made = |name: &'static str, before: &[u8], by: u8, behind: &[u8]| {
        let at = SMALL + before.len() as u64;
        let distance = (SHARED.wrapping_sub(at + 5) as u32).to_le_bytes();
        let code = [before, &[by][..], &distance, behind].concat();
        let symbols = [CALLING[0], CALLING[1], (name, SMALL, code.len() as u64)];
        let kept = Bench::new().kept(&with_code(elf(&sections(&[(CODE + 8, "f")]), &symbols), SMALL, &code));
        (called(&kept, CODE + 8).0, members(&kept, SHARED).len())
    };
    let (jump, call) = (0xe9, 0xe8);
    let merged = (Certainty::Ambiguous, 3);
    // push %rbp; mov %rsp,%rbp; pop %rbp; jmp
    assert_eq!(made("_Z1mv", &[0x55, 0x48, 0x89, 0xe5, 0x5d], jump, &[]), merged);
    // Space for a patch; then a call, and the end of the frame.
    assert_eq!(made("_Z1mv", &[0x90; 64], jump, &[]), merged);
    assert_eq!(made("_Z1mv", &[0x50], call, &[0x59, 0xc3]), merged);
    // It does not return: the beginning of a program.
    assert_eq!(made("_Z1mv", &[0x31, 0xed], call, &[0x0f, 0x0b]), (Certainty::Exact, 2));
    // A function of some size.
    assert_eq!(made("_Z1mv", &[0x90; 128], jump, &[]), merged);
    assert_eq!(made("_Z1mv", &[0x90; 512], jump, &[]), (Certainty::Exact, 2));
    // It jumps to its own body, as a weak one does; linkers of ELF make no such jumps.
    assert_eq!(made("g", &[], jump, &[]), (Certainty::Ambiguous, 2));
}

/// In a debug file without code, and on machines whose jumps are not decoded, no code shows where a function without an entry leads: none
/// is a member for that reason, and no call is exact.
#[test]
fn a_function_that_cannot_be_read_is_no_member() {
    const EM_X86_64: u16 = 62;
    const EM_LOONGARCH: u16 = 258;
    let made = |name: &'static str, size: u64, machine: u16| {
        let symbols = [CALLING[0], CALLING[1], (name, CODE + 0x400, size)];
        let mut program = elf(&sections(&[(CODE + 8, "f")]), &symbols);
        program[18..20].copy_from_slice(&machine.to_le_bytes());
        let kept = Bench::new().kept(&program);
        let last = CODE + CODE_LEN - 0x10;
        (members(&kept, SHARED).len(), members(&kept, last).len(), called(&kept, CODE + 8).0)
    };
    assert_eq!(made("_Z1mv", 5, EM_X86_64), (2, 0, Certainty::Exact));
    for (name, size) in [("_Z1mv", 5), ("_m", 5), ("_start", 5), ("_Z1mv", 0x201)] {
        assert_eq!(made(name, size, EM_LOONGARCH), (2, 0, Certainty::Ambiguous), "{name}");
    }
}

/// A weak function and its override have equal code. The caller's unit describes the weak one, and nothing shows which of the two
/// prevailed.
#[test]
fn a_name_that_is_defined_twice_is_not_exact() {
    let hook = "_Z4hookv";
    let lines = [sequence(&[(SHARED, 11)], SHARED + 0x10), sequence(&[(SHARED, 21)], SHARED + 0x10)];
    let made = |line: u64, start: u64, sequences: &[u8]| {
        let mut info = Info::new(4, &[]);
        info.label("hook");
        subprogram(&mut info, hook, 10, SHARED, &[]);
        subprogram(&mut info, "other", 30, SHARED, &[]);
        info.open(
            DW_TAG_subprogram,
            &[(DW_AT_name, Text("caller")), (DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x40))],
        );
        let call = [(DW_AT_call_return_pc, Address(CODE + 8)), (DW_AT_call_origin, Label("hook"))];
        info.open(DW_TAG_call_site, &call).close().close();
        let mut second = Info::new(4, &[(DW_AT_stmt_list, Offset(line_program(&[]).len() as u64))]);
        subprogram(&mut second, hook, line, start, &[]);
        let mut sections = two_units(&mut info, &mut second);
        sections.push((".debug_line", [line_program(&[]), line_program(sequences)].concat()));
        let symbols = [("caller", CODE, 0x40), (hook, SHARED, 0x10), ("other", SHARED, 0x10)];
        Bench::new().kept(&elf(&sections, &symbols))
    };
    let count = |kept: &Kept| members(kept, SHARED).iter().filter(|member| member.0 == hook).count();
    for start in [SHARED, 0] {
        let two = made(20, start, &lines[1]);
        assert_eq!((called(&two, CODE + 8).0, count(&two)), (Certainty::Ambiguous, 2), "{start:#x}");
        // A copy of one function.
        let one = made(10, start, &lines[0]);
        assert_eq!((called(&one, CODE + 8).0, count(&one)), (Certainty::Exact, 1), "{start:#x}");
    }
    // Its lines went: it was discarded.
    let gone = made(20, 0, &[]);
    assert_eq!((called(&gone, CODE + 8).0, count(&gone)), (Certainty::Exact, 1));
}

/// Weak and strong functions in files of one name, at one line: the linker erased one of the two and left its lines. The lines of a copy
/// are gone, and a header may be spelled in several ways.
#[test]
fn a_name_that_is_defined_in_two_files_of_one_name_is_not_exact() {
    let made = |hook: &'static str, folder: &str, source: &str, start: u64, lines: &[u8]| {
        let mut info = Info::new(4, &[]);
        info.label("hook");
        subprogram(&mut info, hook, 10, SHARED, &[]);
        subprogram(&mut info, "other", 30, SHARED, &[]);
        let caller =
            [(DW_AT_name, Text("caller")), (DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x40))];
        info.open(DW_TAG_subprogram, &caller);
        let call = [(DW_AT_call_return_pc, Address(CODE + 8)), (DW_AT_call_origin, Label("hook"))];
        info.open(DW_TAG_call_site, &call).close().close();
        let own = line_program(&sequence(&[(SHARED, 11)], SHARED + 0x10));
        let second_lines = Offset(own.len() as u64);
        let folder = (DW_AT_comp_dir, Text(folder));
        let mut second = Info::new(4, &[(DW_AT_stmt_list, second_lines), folder, (DW_AT_name, Text(source))]);
        subprogram(&mut second, hook, 10, start, &[]);
        let mut sections = two_units(&mut info, &mut second);
        sections.push((".debug_line", [own, line_program(lines)].concat()));
        let symbols = [("caller", CODE, 0x40), (hook, SHARED, 0x10), ("other", SHARED, 0x10)];
        let kept = Bench::new().kept(&elf(&sections, &symbols));
        let lines: Vec<u32> = members(&kept, SHARED)
            .into_iter()
            .filter(|member| member.0 == hook)
            .map(|member| member.2)
            .collect();
        (called(&kept, CODE + 8).0, lines)
    };
    let lines = sequence(&[(SHARED, 12)], SHARED + 0x10);
    for hook in ["_Z4hookv", "hook"] {
        for start in [SHARED, 0] {
            let two = made(hook, "/other", "unit.c", start, &lines);
            assert_eq!(two, (Certainty::Ambiguous, vec![11, 12]), "{hook} {start:#x}");
        }
        assert_eq!(made(hook, "/other", "unit.c", 0, &[]), (Certainty::Exact, vec![11]), "{hook}");
        // The same file, and a file that is not the source of its unit.
        for (folder, source) in [("/made/./x/..", "unit.c"), ("/other", "source.c")] {
            let one = made(hook, folder, source, 0, &lines);
            assert_eq!(one, (Certainty::Exact, vec![11]), "{hook} {folder} {source}");
        }
    }
}

/// gold drops the symbols of local functions that it folds. An object without debug information may have such functions. Then any function
/// may have been one of those, so no call rules a function out.
#[test]
fn what_gold_forgot_makes_no_answer_exact() {
    let calls = [(CODE + 0x10, "g")];
    for (file, certainty) in [("other.c", Certainty::Ambiguous), ("unit.c", Certainty::Exact)] {
        let mut symbols = vec![Symbol::File(file)];
        symbols.extend(CALLING.map(Symbol::Global));
        let gold = [(".note.gnu.gold-version", vec![0; 16])];
        let program = elf_with(CODE, &[&sections(&calls)[..], &gold].concat(), &symbols);
        assert_eq!(called(&Bench::new().kept(&program), CODE + 0x10), (certainty, "g".to_owned()), "{file}");
        let other = elf_with(CODE, &sections(&calls), &symbols);
        assert_eq!(called(&Bench::new().kept(&other), CODE + 0x10).0, Certainty::Exact, "{file}");
    }
}

/// Where two files have a local function of one name, gold leaves one symbol: that of the file whose code remains.
#[test]
fn a_symbol_of_another_file_is_another_function() {
    for (files, expected) in
        [(["unit.c", "other.c"], 2), (["other.c", "unit.c"], 0), (["module", "object"], 0)]
    {
        let mut info = Info::new(4, &[]);
        info.function("helper", CODE, 0x10);
        let gold = [(".note.gnu.gold-version", vec![0; 16])];
        let files = files.map(Symbol::File);
        let symbols = [files[0], files[1], Symbol::Local(("helper", CODE, 0x10))];
        let program = elf_with(CODE, &[&info.sections()[..], &gold].concat(), &symbols);
        assert_eq!(members(&Bench::new().kept(&program), CODE).len(), expected);
        let program = elf_with(CODE, &info.sections(), &symbols);
        assert_eq!(members(&Bench::new().kept(&program), CODE).len(), 0);
    }
}

/// A file has lines, but does not describe its functions, at code that has the symbol of another file's local function: then the function
/// of the first file is gone. A global symbol is not a local function, whatever file symbol precedes it.
#[test]
fn lines_of_another_file_than_the_symbol_are_another_function() {
    let made = |files: [&'static str; 2], name: &'static str, linker: &'static str| {
        let mut info = Info::new(4, &[(DW_AT_stmt_list, Offset(0))]);
        let lines = line_program(&sequence(&[(CODE, 5)], CODE + 0x10));
        let mut sections = info.sections();
        sections.extend([(".debug_line", lines), (linker, vec![0; 16])]);
        let files = files.map(Symbol::File);
        let symbols = [files[0], files[1], Symbol::Local((name, CODE, 0x10))];
        members(&Bench::new().kept(&elf_with(CODE, &sections, &symbols)), CODE).len()
    };
    const GOLD: &str = ".note.gnu.gold-version";
    for name in ["helper", "_ZL6helperv"] {
        assert_eq!(made(["unit.c", "other.c"], name, GOLD), 2, "{name}");
        assert_eq!(made(["other.c", "unit.c"], name, GOLD), 0, "{name}");
        assert_eq!(made(["module", "object"], name, GOLD), 0, "{name}");
        assert_eq!(made(["unit.c", "other.c"], name, ".note"), 0, "{name}");
    }
    assert_eq!(made(["unit.c", "other.c"], "_Z6helperv", GOLD), 0);
}
