//! Programs made to mislead a reader of DWARF: sound parts are kept, and the report counts the others.

use foldsym_convert::report::{Kind, WarningKind};
use gimli::{
    DW_AT_abstract_origin, DW_AT_addr_base, DW_AT_call_file, DW_AT_call_line, DW_AT_decl_file, DW_AT_high_pc,
    DW_AT_low_pc, DW_AT_name, DW_AT_ranges, DW_TAG_inlined_subroutine, DW_TAG_lexical_block,
    DW_TAG_subprogram,
};

use crate::build::{CODE, Info, Value, elf, line_program, sequence, uleb};
use crate::harness::{Bench, Frame};
use Value::{Address, Label, Number, Offset, Text};

fn with_lines(mut sections: Vec<(&'static str, Vec<u8>)>) -> Vec<(&'static str, Vec<u8>)> {
    let rows = sequence(&[(CODE, 10), (CODE + 0x10, 20)], CODE + 0x40);
    sections.push((".debug_line", line_program(&rows)));
    sections
}

fn frame(name: &str, file: &str, line: u32) -> Frame {
    (name.to_owned(), file.to_owned(), line)
}

#[test]
fn origins_that_lead_in_a_circle_end() {
    let mut info = Info::new(4, &[]);
    let code = [(DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x20))];
    // A function whose origin is itself, and in it one whose origin's origin is the origin again.
    let own = [code[0], code[1], (DW_AT_abstract_origin, Label("itself"))];
    info.label("itself").open(DW_TAG_subprogram, &own);
    let two = [code[0], code[1], (DW_AT_abstract_origin, Label("a")), (DW_AT_call_line, Number(7))];
    info.open(DW_TAG_inlined_subroutine, &two).close().close();
    info.label("a").open(DW_TAG_subprogram, &[(DW_AT_abstract_origin, Label("b"))]).close();
    info.label("b").open(DW_TAG_subprogram, &[(DW_AT_abstract_origin, Label("a"))]).close();
    let program = elf(&with_lines(info.sections()), &[("round", CODE, 0x20)]);
    let kept = Bench::new().kept(&program);
    assert_eq!(kept.count(Kind::OriginCycle), 2);
    assert_eq!(kept.count(Kind::Nameless), 2);
    assert_eq!(kept.frames(CODE), [frame("", "/made/unit.c", 10), frame("round", "", 7)]);
}

#[test]
fn references_to_nowhere_cost_the_name_alone() {
    let mut info = Info::new(4, &[]);
    let at = |start| [(DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(0x10))];
    let [low, high] = at(CODE);
    info.label("here").open(DW_TAG_subprogram, &[low, high, (DW_AT_abstract_origin, Label("here"))]).close();
    info.function("sound", CODE + 0x10, 0x10);
    let mut sections = info.sections();
    // The reference now points past the end of the unit.
    let label = info_label(&sections[0].1);
    sections[0].1[label..label + 4].copy_from_slice(&0xffff_0000_u32.to_le_bytes());
    let kept = Bench::new().kept(&elf(&with_lines(sections), &[]));
    assert_eq!(kept.count(Kind::MissingEntry), 1);
    assert_eq!(kept.frames(CODE), [frame("", "/made/unit.c", 10)]);
    assert_eq!(kept.frames(CODE + 0x10), [frame("sound", "/made/unit.c", 20)]);
}

/// The offset of the only reference of a unit: after the address and the one byte of length of its entry.
fn info_label(info: &[u8]) -> usize {
    let address = CODE.to_le_bytes();
    info.windows(8).position(|window| window == address).unwrap() + 9
}

/// A chain of `depth` inlined calls, one inside the other, all over the same code.
fn inlined(depth: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut info = Info::new(4, &[]);
    info.label("callee").open(DW_TAG_subprogram, &[(DW_AT_name, Text("callee"))]).close();
    let code = [(DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x10))];
    info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("outer")), code[0], code[1]]);
    for line in 0..depth as u64 {
        // The blocks between them are levels too.
        info.open(DW_TAG_lexical_block, &[]);
        let call = (DW_AT_call_line, Number(line));
        info.open(
            DW_TAG_inlined_subroutine,
            &[(DW_AT_abstract_origin, Label("callee")), code[0], code[1], call],
        );
    }
    for _ in 0..=2 * depth {
        info.close();
    }
    info.function("after", CODE + 0x10, 0x10);
    with_lines(info.sections())
}

#[test]
fn inlining_has_a_deepest_level() {
    let depth = 100_000;
    let kept = Bench::new().kept(&elf(&inlined(depth), &[]));
    assert_eq!(kept.count(Kind::TooDeep), depth as u64 - 255);
    let warnings = kept.report.warnings();
    let limits = warnings.iter().filter(|warning| warning.kind == WarningKind::LimitReached);
    let messages: Vec<_> = limits.map(|warning| &warning.message).collect();
    assert!(matches!(messages[..], [deep] if deep.contains("limit too_deep reached")), "{messages:?}");
    let frames = kept.frames(CODE);
    assert_eq!(frames.len(), 256);
    assert_eq!(frames[0], frame("callee", "/made/unit.c", 10));
    assert_eq!(frames[255], frame("outer", "", 0));
    assert_eq!(frames[254], frame("callee", "", 1));
    assert_eq!(kept.frame(CODE + 0x10).0, "after");
}

#[test]
fn a_file_past_the_table_is_no_file() {
    let mut info = Info::new(4, &[]);
    let code = [(DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x20))];
    let declared = (DW_AT_decl_file, Number(77));
    info.label("f").open(DW_TAG_subprogram, &[(DW_AT_name, Text("f")), declared, code[0], code[1]]);
    let call = [(DW_AT_call_file, Number(1 << 40)), (DW_AT_call_line, Number(3))];
    info.open(
        DW_TAG_inlined_subroutine,
        &[(DW_AT_abstract_origin, Label("f")), code[0], code[1], call[0], call[1]],
    );
    info.close().close();
    let mut sections = info.sections();
    // DW_LNS_set_file 9, and rows.
    let rows = [&[4, 9], &*sequence(&[(CODE, 10)], CODE + 0x20)].concat();
    sections.push((".debug_line", line_program(&rows)));
    let kept = Bench::new().kept(&elf(&sections, &[]));
    assert_eq!(kept.count(Kind::BadFileIndex), 3);
    assert_eq!(kept.frames(CODE), [frame("f", "", 10), frame("f", "", 3)]);
}

#[test]
fn rows_out_of_order_are_sorted() {
    let mut info = Info::new(4, &[]);
    info.function("f", CODE, 0x30);
    let mut sections = info.sections();
    let rows = sequence(&[(CODE + 0x20, 30), (CODE, 10), (CODE + 0x10, 20)], CODE + 0x30);
    sections.push((".debug_line", line_program(&rows)));
    let kept = Bench::new().kept(&elf(&sections, &[]));
    assert_eq!(kept.count(Kind::UnorderedSequence), 1);
    for (offset, line) in [(0, 10), (0xf, 10), (0x10, 20), (0x20, 30), (0x2f, 30)] {
        assert_eq!(kept.frames(CODE + offset), [frame("f", "/made/unit.c", line)], "{offset:#x}");
    }
}

/// gimli reads no unit whose line program has a damaged header; ours keeps names and inlined calls.
#[test]
fn a_damaged_line_program_costs_lines_alone() {
    let mut info = Info::new(4, &[]);
    let code = [(DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x20))];
    info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("outer")), code[0], code[1]]);
    let inner = [(DW_AT_name, Text("inner")), (DW_AT_low_pc, Address(CODE + 8)), (DW_AT_high_pc, Number(8))];
    info.label("inner").open(DW_TAG_subprogram, &[inner[0]]).close();
    let call = (DW_AT_call_line, Number(5));
    info.open(
        DW_TAG_inlined_subroutine,
        &[(DW_AT_abstract_origin, Label("inner")), inner[1], inner[2], call],
    );
    info.close().close();
    let sections = info.sections();
    let sound = line_program(&sequence(&[(CODE, 10), (CODE + 0x10, 20)], CODE + 0x20));
    let bench = Bench::new();
    // Version 9; a header longer than the program; a line range of 0; no bytes at all.
    let damages: [(usize, &[u8]); 3] = [(4, &[9, 0]), (6, &[0xff; 4]), (14, &[0])];
    let mut programs: Vec<Vec<u8>> = damages
        .iter()
        .map(|(at, bytes)| {
            let mut program = sound.clone();
            program[*at..at + bytes.len()].copy_from_slice(bytes);
            program
        })
        .collect();
    programs.push(Vec::new());
    for program in programs {
        let mut sections = sections.clone();
        sections.push((".debug_line", program.clone()));
        let kept = bench.kept(&elf(&sections, &[]));
        assert_eq!(kept.count(Kind::BadLineHeader), 1, "{program:x?}");
        assert_eq!(kept.count(Kind::BadUnit), 0);
        assert_eq!(kept.frames(CODE), [frame("outer", "", 0)]);
        assert_eq!(kept.frames(CODE + 8), [frame("inner", "", 0), frame("outer", "", 5)]);
    }
}

/// The rows before the truncation of a line program are kept.
#[test]
fn a_line_program_that_breaks_off_keeps_its_sequences() {
    let mut info = Info::new(4, &[]);
    info.function("first", CODE, 0x10).function("second", CODE + 0x10, 0x10);
    let sections = info.sections();
    let mut rows = sequence(&[(CODE, 10)], CODE + 0x10);
    rows.extend(sequence(&[(CODE + 0x10, 20)], CODE + 0x20));
    let bench = Bench::new();
    // The last opcode lacks its operand, or the opcode that ends the sequence is missing.
    for (cut, damaged, unended) in [(2, 1, 0), (3, 0, 1)] {
        let mut sections = sections.clone();
        sections.push((".debug_line", line_program(&rows[..rows.len() - cut])));
        let kept = bench.kept(&elf(&sections, &[]));
        let counts = (kept.count(Kind::BadLineProgram), kept.count(Kind::UnendedSequence));
        assert_eq!(counts, (damaged, unended), "{cut}");
        assert_eq!(kept.frames(CODE), [frame("first", "/made/unit.c", 10)]);
        assert_eq!(kept.frames(CODE + 0x10), [frame("second", "", 0)]);
    }
}

#[test]
fn a_bad_range_among_good_ones_costs_itself() {
    // DW_RLE_startx_length of an address that is not in the table, and DW_RLE_start_end that ends before it
    // starts, between two of DW_RLE_start_length.
    let mut list = Vec::new();
    let start_length = |list: &mut Vec<u8>, start: u64, len| {
        list.push(7);
        list.extend(start.to_le_bytes());
        uleb(list, len);
    };
    start_length(&mut list, CODE, 0x10);
    list.extend([3, 99, 0x10]);
    list.push(6);
    list.extend((CODE + 0x60).to_le_bytes());
    list.extend((CODE + 0x50).to_le_bytes());
    start_length(&mut list, CODE + 0x20, 0x10);
    let at_end = list.len();
    list.push(0);
    let mut ranges = Vec::new();
    ranges.extend((8 + list.len() as u32).to_le_bytes());
    ranges.extend([5, 0, 8, 0, 0, 0, 0, 0]);
    ranges.extend(&list);
    let mut info = Info::new(5, &[(DW_AT_addr_base, Offset(8))]);
    info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("parted")), (DW_AT_ranges, Offset(12))]).close();
    let mut sections = with_lines(info.sections());
    sections.push((".debug_addr", [&12_u32.to_le_bytes()[..], &[5, 0, 8, 0], &[0; 8]].concat()));
    let bench = Bench::new();
    // The list is whole; or it breaks off in an entry of an unknown kind.
    for (kind, last) in [(0, CODE + 0x20), (0x77, CODE + 0x20)] {
        ranges[12 + at_end] = kind;
        let mut sections = sections.clone();
        sections.push((".debug_rnglists", ranges.clone()));
        let kept = bench.kept(&elf(&sections, &[]));
        assert_eq!(kept.count(Kind::BadRanges), 1);
        for address in [CODE, CODE + 0xf, last, last + 0xf] {
            assert_eq!(kept.frame(address).0, "parted", "{address:#x}");
        }
        for address in [CODE + 0x10, CODE + 0x30, CODE + 0x50] {
            assert_eq!(kept.frame(address).0, "", "{address:#x}");
        }
    }
}

#[test]
fn functions_without_bytes_are_counted() {
    let mut info = Info::new(4, &[]);
    info.function("nothing", CODE, 0).function("backwards", CODE + 8, u64::MAX - 4);
    info.function("sound", CODE + 0x10, 0x10);
    info.function("huge", CODE + 0x20, u64::MAX - CODE - 0x20);
    let kept = Bench::new().kept(&elf(&with_lines(info.sections()), &[("label", CODE, 0)]));
    assert_eq!(kept.count(Kind::EmptyRange), 2);
    assert_eq!(kept.count(Kind::RangeLeavesSection), 1);
    assert_eq!(kept.frame(CODE).0, "label");
    assert_eq!(kept.frame(CODE + 0x10).0, "sound");
    assert_eq!(kept.frame(CODE + 0xfff).0, "huge");
    assert_eq!(kept.frames(CODE + 0x1000), []);
}

/// Compared pair by pair, this did not end in a minute.
#[test]
fn many_functions_and_symbols_at_one_place_take_no_square_of_time() {
    let count = 40_000;
    let mut info = Info::new(4, &[]);
    let names: Vec<String> = (0..count).map(|n| format!("_Z6f{n:05}v")).collect();
    for name in &names {
        info.function(name, CODE, 0x10);
    }
    let symbols: Vec<String> = (0..count).map(|n| format!("_Z6g{n:05}v")).collect();
    let symbols: Vec<(&str, u64, u64)> = symbols.iter().map(|name| (name.as_str(), CODE, 0x10)).collect();
    let program = elf(&with_lines(info.sections()), &symbols);
    let kept = Bench::new().kept(&program);
    assert_eq!(kept.report.decided.folded_addresses, 1);
    assert_eq!(kept.report.decided.folded_functions, 2 * count);
    assert_eq!(kept.frame(CODE).0, names[0]);
}

/// One sequence over all code, and a short one for each function: to look back over all of
/// them took 12 seconds for half as many.
#[test]
fn sequences_that_cover_each_other_take_no_square_of_time() {
    let count = 120_000_u64;
    let mut info = Info::new(4, &[]);
    let mut rows = sequence(&[(CODE, 10)], CODE + 0x1000);
    for n in 0..count {
        let start = CODE + n % 0xff0;
        info.function("f", start, 1 + n % 16);
        rows.extend(sequence(&[(start, 20)], start + 1));
    }
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&rows)));
    let kept = Bench::new().kept(&elf(&sections, &[]));
    assert_eq!(kept.report.counts.functions, count);
    assert_eq!(kept.frame(CODE + 5).0, "f");
}
