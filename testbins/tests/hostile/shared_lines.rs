//! Units that share a line program: the program is decoded once, and each unit has its own rows.

use foldsym_convert::report::{Cap, DebugInfo, Kind};
use foldsym_lookup::Reason;
use gimli::{DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_TAG_subprogram};

use crate::build::{CODE, Info, Value, elf, elf_with, line_program, sequence};
use crate::certainty::{GNU, UNIQUE, answer, comment, likely, whole};
use crate::folds::members;
use crate::harness::{Bench, Kept};
use Value::{Address, Number, Offset, Text};

/// Bytes of the code of each unit, which has two functions of half of them.
const OF_UNIT: u64 = 0x20;

/// A function: name, start, length.
type Function = (&'static str, u64, u64);

/// A unit of DWARF 4 with a range and these functions.
fn unit(start: u64, len: u64, functions: &[Function]) -> Info {
    let mut info = Info::new(4, &[(DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(len))]);
    for &(name, start, len) in functions {
        info.function(name, start, len);
    }
    info
}

/// A program of these units, of one abbreviation table, and this line program.
fn program(units: &mut [Info], opcodes: &[u8], symbols: &[Function]) -> Kept {
    let mut sections = units[0].sections();
    for unit in &mut units[1..] {
        let others = unit.sections();
        assert_eq!(others[1].1, sections[1].1, "one table of abbreviations");
        sections[0].1.extend(&others[0].1);
    }
    sections.push((".debug_line", line_program(opcodes)));
    Bench::new().kept(&elf(&sections, symbols))
}

/// A sequence whose first row `copies` opcodes repeat.
fn repeated(rows: &[(u64, i8)], copies: usize, end: u64) -> Vec<u8> {
    let whole = sequence(rows, end);
    // `DW_LNE_set_address`, `DW_LNS_advance_line`, `DW_LNS_copy`; the copies are `DW_LNS_copy` as well.
    let (row, rest) = whole.split_at(11 + 2 + 1);
    [row, &vec![1; copies][..], rest].concat()
}

/// LLVM writes one line program for all units of a module that it emits as assembly, with a sequence for each section.
#[test]
fn each_unit_has_the_rows_of_its_own_functions() {
    // (units, sequences of one function each, or one of all code; bytes of each sequence)
    for (count, of_functions, copies) in [(3, true, 0), (3, false, 0), (60, true, 5_000), (60, false, 5_000)]
    {
        let start = |unit: u64| CODE + unit * OF_UNIT;
        let half = OF_UNIT / 2;
        let mut units: Vec<Info> = (0..count)
            .map(|at| {
                unit(start(at), OF_UNIT, &[("first", start(at), half), ("second", start(at) + half, half)])
            })
            .collect();
        let places: Vec<(u64, i8)> =
            (0..2 * count).map(|at| (CODE + at * half, (at % 60) as i8 + 2)).collect();
        let mut opcodes = Vec::new();
        match of_functions {
            true => places.iter().for_each(|&row| opcodes.extend(repeated(&[row], copies, row.0 + half))),
            false => opcodes.extend(repeated(&places, copies * places.len(), CODE + count * OF_UNIT)),
        }
        let kept = program(&mut units, &opcodes, &[]);
        for (at, line) in places {
            let (name, file, found) = kept.frame(at + 3);
            assert_eq!((&*file, found), ("/made/unit.c", line as u32), "{name} of {count} units");
            assert_eq!(members(&kept, at), [], "{count} units");
        }
        assert_eq!(kept.caps(), 0, "{count} units");
        assert_eq!(kept.report.decided.functions, 2 * count);
    }
}

/// `b1` of the second unit was folded into `a2` of the first: two sequences begin at one address. The order of the program says
/// that the second one is of the second unit.
#[test]
fn a_folded_function_has_the_lines_of_its_own_unit() {
    let (a1, a2, b2) = (CODE, CODE + 0x10, CODE + 0x20);
    let mut units = [
        unit(a1, 0x20, &[("_Z2a1v", a1, 0x10), ("_Z2a2v", a2, 0x10)]),
        unit(b2, 0x10, &[("_Z2b1v", 0, 0x10), ("_Z2b2v", b2, 0x10)]),
    ];
    let of = |start, line| sequence(&[(start, line)], start + 0x10);
    for order in [[(a1, 5), (a2, 6), (a2, 20), (b2, 21)], [(a1, 5), (a2, 20), (a2, 6), (b2, 21)]] {
        let opcodes: Vec<u8> = order.iter().flat_map(|&(start, line)| of(start, line)).collect();
        let symbols =
            [("_Z2a1v", a1, 0x10), ("_Z2a2v", a2, 0x10), ("_Z2b1v", a2, 0x10), ("_Z2b2v", b2, 0x10)];
        let kept = program(&mut units, &opcodes, &symbols);
        let lines: Vec<(String, u32)> =
            members(&kept, a2).into_iter().map(|(name, _, line)| (name, line)).collect();
        let (first, second) = (order[1].1 as u32, order[2].1 as u32);
        assert_eq!(lines, [("_Z2a2v".to_owned(), first), ("_Z2b1v".to_owned(), second)]);
        units = [
            unit(a1, 0x20, &[("_Z2a1v", a1, 0x10), ("_Z2a2v", a2, 0x10)]),
            unit(b2, 0x10, &[("_Z2b1v", 0, 0x10), ("_Z2b2v", b2, 0x10)]),
        ];
    }
}

/// As before, in an order that would give each function the lines of the other: `DW_AT_LLVM_stmt_sequence` says which is whose.
#[test]
fn a_named_sequence_is_of_the_unit_that_names_it() {
    let (a1, a2, b2) = (CODE, CODE + 0x10, CODE + 0x20);
    let sequences =
        [(a1, 5), (a2, 20), (a2, 6), (b2, 21)].map(|(start, line)| sequence(&[(start, line)], start + 0x10));
    let offset = |index: usize| {
        (line_program(&[]).len() + sequences[..index].iter().map(Vec::len).sum::<usize>()) as u64
    };
    let unit = |start, len, functions: [(&str, u64, u64); 2]| {
        let mut info = Info::new(4, &[(DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(len))]);
        for (name, start, own) in functions {
            let code = [(DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(0x10))];
            let own = (gimli::DwAt(0x3e0c), Offset(own));
            info.open(DW_TAG_subprogram, &[(DW_AT_name, Text(name)), code[0], code[1], own]).close();
        }
        info
    };
    let mut units = [
        unit(a1, 0x20, [("_Z2a1v", a1, offset(0)), ("_Z2a2v", a2, offset(2))]),
        unit(b2, 0x10, [("_Z2b1v", 0, offset(1)), ("_Z2b2v", b2, offset(3))]),
    ];
    let symbols = [("_Z2a1v", a1, 0x10), ("_Z2a2v", a2, 0x10), ("_Z2b1v", a2, 0x10), ("_Z2b2v", b2, 0x10)];
    let kept = program(&mut units, &sequences.concat(), &symbols);
    let lines: Vec<(String, u32)> =
        members(&kept, a2).into_iter().map(|(name, _, line)| (name, line)).collect();
    assert_eq!(lines, [("_Z2a2v".to_owned(), 6), ("_Z2b1v".to_owned(), 20)]);
}

/// The rows of a shared program are divided by the ranges in the roots. A unit whose root has none gets no rows, which is said.
#[test]
fn a_unit_without_a_range_has_no_lines_and_that_is_a_loss() {
    let own = CODE + 0x40;
    let mut units = [unit(CODE, 0x20, &[("first", CODE, 0x20)]), unit(0, 0, &[("second", own, 0x20)])];
    let opcodes = [sequence(&[(CODE, 5)], CODE + 0x20), sequence(&[(own, 6)], own + 0x20)].concat();
    let kept = program(&mut units, &opcodes, &[]);
    assert_eq!(kept.frame(CODE).2, 5);
    let (name, _, line) = kept.frame(own);
    assert_eq!((&*name, line), ("second", 0));
    assert_eq!(kept.count(Kind::BadLineProgram), 1);
    assert_eq!(kept.report.debug_info(), DebugInfo::Partial);
}

/// Type units name the line program of their unit for the files of their types, and need none of its rows.
#[test]
fn type_units_take_nothing_of_the_limit() {
    let mut opcodes = repeated(&[(CODE, 7)], 100_000, CODE + 0x10);
    opcodes.extend(sequence(&[(CODE + 0x10, 8)], CODE + 0x20));
    // A unit of DWARF 5 that is a type unit: type 2, a signature, and the offset of the type.
    let mut types = Vec::new();
    for signature in 0..400_u64 {
        let root = [1_u8, b't', 0, b'/', 0, 0, 0, 0, 0, 0];
        types.extend((root.len() as u32 + 20).to_le_bytes());
        types.extend([5, 0, 2, 8, 0, 0, 0, 0]);
        types.extend(signature.to_le_bytes());
        types.extend(24_u32.to_le_bytes());
        types.extend(root);
    }
    let mut info = Info::new(5, &[]);
    info.function("first", CODE, 0x10).function("second", CODE + 0x10, 0x10);
    let mut sections = info.sections();
    sections[0].1.splice(0..0, types);
    sections.push((".debug_line", line_program(&opcodes)));
    let kept = Bench::new().kept(&elf(&sections, &[]));
    assert_eq!(kept.frame(CODE), ("first".to_owned(), "/made/unit.c".to_owned(), 7));
    assert_eq!(kept.frame(CODE + 0x10), ("second".to_owned(), "/made/unit.c".to_owned(), 8));
    assert_eq!(kept.count(Kind::Cap(Cap::LinePrograms)), 0);
    assert_eq!(kept.report.warnings().len(), 1, "{:?}", kept.report.warnings());
}

/// Programs at different offsets may overlap only in a hostile file. Those of the first units are read, until the limit.
#[test]
fn overlapping_programs_have_a_limit() {
    // Each program is the part of the section from its offset on: its header is a copy at each step.
    let header = line_program(&[]);
    let (step, count) = (header.len() + 4, 300_u32);
    let mut section = Vec::new();
    for at in 0..count as usize {
        let mut one = header.clone();
        let len = (count as usize - at) * step + 200_000 - 4;
        one[..4].copy_from_slice(&(len as u32).to_le_bytes());
        // Opcodes that change nothing: `DW_LNS_negate_stmt`.
        section.extend([&one[..], &[6; 4]].concat());
    }
    section.resize(section.len() + 200_000, 6);
    let mut info = Vec::new();
    let mut abbreviations = Vec::new();
    for at in 0..count {
        let mut unit = Info::new(4, &[(gimli::DW_AT_stmt_list, Value::Offset(u64::from(at) * step as u64))]);
        unit.function("f", CODE + u64::from(at) * 8, 8);
        let sections = unit.sections();
        info.extend(&sections[0].1);
        abbreviations = sections[1].1.clone();
    }
    let mut sections =
        vec![(".debug_info", info), (".debug_abbrev", abbreviations), (".debug_line", section)];
    let kept = Bench::new().kept(&elf(&sections, &[]));
    let refused = kept.count(Kind::Cap(Cap::LinePrograms));
    assert!((150..250).contains(&refused), "{refused}");
    // A function whose lines were not read is not known to be the only one.
    sections.push(comment(GNU));
    let program = elf_with(CODE, &sections, &whole(&[]));
    assert_eq!(answer(&program, CODE), UNIQUE);
    assert_eq!(answer(&program, CODE + u64::from(count - 1) * 8), likely(Reason::CapReached));
}
