//! Programs whose cost must be bounded by their size: kept data is charged, and hash collisions cannot be chosen.

use gimli::{
    DW_AT_frame_base, DW_AT_high_pc, DW_AT_loclists_base, DW_AT_low_pc, DW_AT_name, DW_AT_ranges,
    DW_AT_rnglists_base, DW_TAG_subprogram,
};

use crate::build::Value::{Address, Bytes, ListIndex, Number, Offset, RangeIndex, Text};
use crate::build::{CODE, CODE_LEN, Info, elf, line_program, sequence};
use crate::caps::{limited, peak_of, units};
use crate::harness::Bench;

/// `DW_TAG_compile_unit` without attributes, and with a name in place.
const EMPTY: &[u8] = &[1, 0x11, 0, 0, 0, 0];
const NAMED: &[u8] = &[1, 0x11, 0, 3, 8, 0, 0, 0];

/// Bytes of memory that a program of this size may take.
fn allowed(bytes: usize) -> u64 {
    40 * bytes as u64 + (200 << 20)
}

/// A million units of 12 bytes that hold nothing.
#[test]
fn an_empty_unit_costs_no_more_than_its_header() {
    let info = units((0..1_000_000).map(|_| 0), &[1]);
    let program = elf(&[(".debug_info", info), (".debug_abbrev", EMPTY.to_vec())], &[("f", CODE, 8)]);
    let (line, peak) = peak_of(&program);
    assert!(line.starts_with("kept: 0 caps") && line.contains(" 1000000 units"), "{line}");
    assert!(peak < allowed(program.len()) / 3, "{peak} bytes for {}", program.len());
}

/// Units that have a name, in so few bytes that a million of them would take a gigabyte.
#[test]
fn units_past_the_memory_that_the_input_allows_are_refused() {
    let info = units((0..1_000_000).map(|_| 0), &[1, b'u', 0]);
    let program = elf(&[(".debug_info", info), (".debug_abbrev", NAMED.to_vec())], &[]);
    let (line, peak) = peak_of(&program);
    assert!(line.starts_with("refused: ") && line.contains(" bytes of memory, and "), "{line}");
    assert!(peak < allowed(program.len()), "{peak} bytes for {}", program.len());
}

/// Names for which a well-known hash without a key, FxHash, is 0: the first half of each cancels out the number that it
/// starts with, and it multiplies the halves.
#[test]
fn names_of_one_hash_are_found_as_fast_as_others() {
    let mut info = Info::new(4, &[]);
    for index in 0..100_000_u64 {
        let rest = (0..8).map(|at| (index >> (3 * at)) as u8 & 7 | 0x30);
        let name: Vec<u8> = 0x243f_6a88_85a3_08d3_u64.to_le_bytes().into_iter().chain(rest).collect();
        let code = [(DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(8))];
        info.open(DW_TAG_subprogram, &[(DW_AT_name, Bytes(&name)), code[0], code[1]]).close();
    }
    let line = limited(&elf(&info.sections(), &[]));
    assert!(line.starts_with("kept: "), "{line}");
}

/// Offsets in the tables of range and location lists that lead past the end of the address space, and indexes that do.
#[test]
fn offsets_of_lists_do_not_overflow() {
    for (base, index, offset) in [
        (20, 0, u64::MAX),
        (20, u64::MAX, 0),
        (u64::MAX, 0, 0),
        (u64::MAX - 7, 1, u64::MAX),
        (20, 1 << 61, 8),
    ] {
        let bases = [(DW_AT_rnglists_base, Offset(base)), (DW_AT_loclists_base, Offset(base))];
        let mut info = Info::wide(5, &bases);
        info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("ranged")), (DW_AT_ranges, RangeIndex(index))]);
        info.close();
        let code = [(DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(8))];
        let frame = (DW_AT_frame_base, ListIndex(index));
        info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("f")), code[0], code[1], frame]).close();
        let table = [&[0; 20][..], &offset.to_le_bytes(), &offset.to_le_bytes()].concat();
        let mut sections = info.sections();
        sections.extend([(".debug_rnglists", table.clone()), (".debug_loclists", table)]);
        let kept = Bench::new().kept(&elf(&sections, &[]));
        assert_eq!(kept.frame(CODE).0, "f", "{base:#x} {index:#x} {offset:#x}");
    }
}

/// Rows that all functions of a unit cover: the rows are not collected for a function that cannot have them.
#[test]
fn rows_are_not_joined_with_every_function() {
    const COUNT: usize = 30_000;
    let mut opcodes = sequence(&[(CODE, 10)], CODE + 1);
    opcodes.extend([0, 9, 2]);
    opcodes.extend((CODE).to_le_bytes());
    // Rows whose address grows by 0 or 1: rows at one address become one row in the end.
    opcodes.extend([0x20, 0x12].repeat(COUNT));
    opcodes.extend([0, 1, 1]);
    let mut info = Info::new(4, &[]);
    for _ in 0..COUNT {
        info.function("f", CODE, CODE_LEN);
    }
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&opcodes)));
    let line = limited(&elf(&sections, &[]));
    assert!(line.starts_with("kept: ") || line.contains("bytes of memory, and"), "{line}");
}

/// Sequences that overlap, and as many functions that begin in the midst of all of them.
#[test]
fn sequences_are_not_looked_at_for_every_function() {
    let mut opcodes = Vec::new();
    for at in 0..30_000_u64 {
        opcodes.extend(sequence(&[(CODE + at % 0x400, 10), (CODE + 0x800, 11)], CODE + CODE_LEN));
    }
    let mut info = Info::new(4, &[]);
    for at in 0..30_000 {
        info.function("f", CODE + 0x800 + at % 0x400, 8);
    }
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&opcodes)));
    let line = limited(&elf(&sections, &[]));
    assert!(line.starts_with("kept: 1 caps") || line.starts_with("kept: 2 caps"), "{line}");
}

/// One unit of functions of two bytes each, which by itself takes more memory than the program may.
#[test]
fn a_unit_past_the_memory_that_the_input_allows_is_refused() {
    let implicit_const = |value: u8| [0x21, value];
    let mut abbreviations = vec![1, 0x11, 1, 0, 0];
    // A function with `DW_AT_low_pc` in `DW_FORM_GNU_addr_index`, and a length that is in the abbreviation.
    abbreviations.extend([2, 0x2e, 0, 0x11, 0x81, 0x3e, 0x12]);
    abbreviations.extend(implicit_const(8));
    abbreviations.extend([0, 0, 0]);
    let mut entries = vec![1];
    entries.extend([2, 0].repeat(3_000_000));
    entries.push(0);
    let sections = [
        (".debug_info", units(std::iter::once(0), &entries)),
        (".debug_abbrev", abbreviations),
        (".debug_addr", CODE.to_le_bytes().to_vec()),
    ];
    let program = elf(&sections, &[("f", CODE, 8)]);
    let (line, peak) = peak_of(&program);
    assert!(line.starts_with("refused: ") && line.contains(" bytes of memory, and "), "{line}");
    assert!(peak < allowed(program.len()), "{peak} bytes for {}", program.len());
}
