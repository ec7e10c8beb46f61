//! Programs in which two lists are long that are compared with each other: time must not be their product.

use crate::build::Value::{Address, Number, Offset, Text};
use crate::build::{CODE, CODE_LEN, DATA, Info, Symbol, elf, elf_with, line_program, sequence};
use crate::caps::limited;
use crate::folds::DW_AT_LLVM_STMT_SEQUENCE;

/// As many folded functions of one name, functions that remain at an address, and symbols of that name there.
#[test]
fn folded_functions_are_not_compared_with_all_that_remain_for_each_symbol() {
    let mut info = Info::new(4, &[]);
    for index in 0..4000 {
        info.function(&format!("_Z5f{index:04}v"), CODE, 0x10);
    }
    for _ in 0..1000 {
        info.function("_Z1fv", 0, 0x10);
    }
    let symbols = vec![("_Z1fv", CODE, 0x10); 4000];
    let line = limited(&elf(&info.sections(), &symbols));
    assert!(line.starts_with("kept: 1 caps"), "{line}");
}

/// As many other names of a function as parts of its code.
#[test]
fn other_names_are_not_listed_for_each_part() {
    let mut info = Info::new(4, &[]);
    let own = [(gimli::DW_AT_name, Text("f")), (gimli::DW_AT_ranges, Offset(0))];
    info.open(gimli::DW_TAG_subprogram, &own).close();
    let parts = (CODE..CODE + CODE_LEN).step_by(2).map(|start| [start, start + 1]).chain([[0; 2]]);
    let ranges: Vec<u8> = parts.flatten().flat_map(u64::to_le_bytes).collect();
    let mut sections = info.sections();
    sections.push((".debug_ranges", ranges));
    let names: Vec<String> = (0..40_000).map(|index| format!("f{index}")).collect();
    let symbols: Vec<_> = names.iter().map(|name| (&name[..], CODE, 1)).collect();
    let line = limited(&elf(&sections, &symbols));
    assert!(line.starts_with("kept: "), "{line}");
}

/// A program with functions of all lengths at one address, and this many symbols there, each of this many bytes.
fn of_each_length(name: fn(usize) -> String, count: usize, size: u64) -> Vec<u8> {
    let mut info = Info::new(4, &[]);
    for len in 1..CODE_LEN {
        info.function("f", CODE, len);
    }
    let names: Vec<String> = (0..count).map(name).collect();
    let symbols: Vec<_> = names.iter().map(|name| (&name[..], CODE, size)).collect();
    elf(&info.sections(), &symbols)
}

/// Many aliases, and many functions that begin at their addresses, each of another length.
#[test]
fn other_names_are_not_listed_for_each_length() {
    let line = limited(&of_each_length(|index| format!("g{index}"), 40_000, CODE_LEN));
    assert!(line.starts_with("kept: 1 caps"), "{line}");
}

/// Symbols without a size may each be a function at each of the ranges that begin at their address: so many are not compared, and
/// groups do not have so many members.
#[test]
fn names_are_not_functions_of_each_length() {
    let line = limited(&of_each_length(|index| format!("_Z1g{index}v"), 4000, 0));
    assert!(line.starts_with("kept: 2 caps"), "{line}");
    let bytes = line.split("; ").nth(1).and_then(|bytes| bytes.strip_suffix(" bytes")?.parse::<u64>().ok());
    assert!(bytes.is_some_and(|bytes| bytes < 4 << 20), "{line}");
}

/// Ranges of many lengths, each a part of the same functions, and symbols of parts at their starts.
#[test]
fn parts_of_each_length_are_not_compared_with_all_symbols() {
    const LENGTHS: u64 = 300;
    // Two ranges have more symbols than are compared, and then no more are; or each has more functions.
    for (functions, caps) in [(200, 3), (3000, LENGTHS)] {
        let mut info = Info::new(4, &[]);
        let mut ranges: Vec<u8> = Vec::new();
        for index in 0..functions {
            let (offset, name) = (ranges.len() as u64, format!("f{index}"));
            let own = [[CODE + 0x400 + index, CODE + 0x401 + index]];
            let parts = (1..LENGTHS).map(|len| [CODE, CODE + len]);
            ranges.extend(own.into_iter().chain(parts).chain([[0; 2]]).flatten().flat_map(u64::to_le_bytes));
            let own = [(gimli::DW_AT_name, Text(&name)), (gimli::DW_AT_ranges, Offset(offset))];
            info.open(gimli::DW_TAG_subprogram, &own).close();
        }
        let mut sections = info.sections();
        sections.push((".debug_ranges", ranges));
        let names: Vec<String> = (0..4096).map(|index| format!("g{index}.cold")).collect();
        let symbols: Vec<_> = names.iter().map(|name| (&name[..], CODE, 0x10)).collect();
        let line = limited(&elf(&sections, &symbols));
        // A function that gets no rows any more counts too.
        let counted =
            line.strip_prefix("kept: ").and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
        assert!(counted.is_some_and(|counted| counted >= caps), "{line}");
    }
}

/// Many sections, and many labels that may be at the start of one.
#[test]
fn labels_are_not_compared_with_the_names_of_all_sections() {
    const COUNT: usize = 60_000;
    let mut info = Info::new(4, &[]);
    info.function("f", CODE, 0x10);
    let mut sections = info.sections();
    sections.extend(vec![(DATA.0, vec![0]); COUNT]);
    let symbols = vec![Symbol::Label(("__start_.data.rel_ro", CODE + 0x20, 0)); 4 * COUNT];
    let line = limited(&elf_with(CODE, &sections, &symbols));
    assert!(line.starts_with("kept: "), "{line}");
}

/// As many folded functions at an address as sequences, of which two name each.
#[test]
fn functions_are_not_compared_with_all_sequences_at_their_address() {
    const COUNT: u64 = 20_000;
    let one = sequence(&[(CODE, 11)], CODE + 0x10);
    let first = line_program(&[]).len() as u64;
    let mut info = Info::new(4, &[]);
    for index in 0..COUNT {
        let named = Offset(first + (index / 2) * one.len() as u64);
        let own = [(gimli::DW_AT_name, Text("f")), (DW_AT_LLVM_STMT_SEQUENCE, named)];
        let code = [(gimli::DW_AT_low_pc, Address(0)), (gimli::DW_AT_high_pc, Number(0x10))];
        info.open(gimli::DW_TAG_subprogram, &[&own[..], &code].concat()).close();
    }
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&one.repeat(COUNT as usize))));
    let line = limited(&elf(&sections, &[("f", CODE, 0x10)]));
    assert!(line.starts_with("kept: "), "{line}");
}

/// Many equal symbols, and one that is only in the dynamic table.
#[test]
fn equal_symbols_are_not_compared_with_each_other() {
    let mut info = Info::new(4, &[]);
    info.function("f", CODE, 0x10);
    let mut dynamic = vec![0; 24];
    dynamic.extend([1, 0, 0, 0, 0x12, 0, 1, 0]);
    dynamic.extend([CODE + 0x20, 0x10].map(u64::to_le_bytes).concat());
    let mut sections = info.sections();
    sections.push((".dynsym", dynamic));
    let line = limited(&elf(&sections, &vec![("f", CODE, 0x10); 1_500_000]));
    assert!(line.contains(" 2 functions"), "{line}");
}
