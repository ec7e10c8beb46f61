//! Programs whose `DW_AT_LLVM_stmt_sequence` values a tool left as they were, or whose line sequences it removed: `verify --sequences`
//! counts each kind of wrong value, and no function gets the lines of another.

use foldsym_convert::report::Kind;
use foldsym_convert::{Options, SequenceCounts, verify_sequences};
use gimli::{DW_AT_producer, DW_TAG_subprogram};

use crate::build::{CODE, Info, Value, elf, line_program, sequence};
use crate::folds::{DW_AT_LLVM_STMT_SEQUENCE, described, members};
use crate::harness::{Bench, Frame, Kept};
use Value::{Offset, Text};

const SIZE: u64 = 0x10;

/// A function: name, line of its declaration, address, and the value of its attribute.
type Made = (&'static str, u64, u64, Option<u64>);

/// A sequence: first address, line of its rows, end.
type MadeSequence = (u64, i8, u64);

/// The offsets of the sequences of a line program, and the program.
fn lines(sequences: &[MadeSequence]) -> (Vec<u64>, Vec<u8>) {
    let opcodes: Vec<Vec<u8>> = (sequences.iter())
        .map(|&(start, line, end)| {
            let rows = (start..end).step_by(SIZE as usize).zip(0..);
            sequence(&rows.map(|(address, index)| (address, line + 10 * index)).collect::<Vec<_>>(), end)
        })
        .collect();
    let mut at = line_program(&[]).len() as u64;
    let offsets = opcodes.iter().map(|one| {
        let next = at + one.len() as u64;
        std::mem::replace(&mut at, next)
    });
    let offsets = offsets.collect();
    (offsets, line_program(&opcodes.concat()))
}

fn program(functions: &[Made], lines: Vec<u8>) -> Vec<u8> {
    let mut info = Info::new(4, &[(DW_AT_producer, Text("made by hand"))]);
    for &(name, line, start, value) in functions {
        let mut attributes = described(name, line, start, SIZE).to_vec();
        attributes.extend(value.map(|value| (DW_AT_LLVM_STMT_SEQUENCE, Offset(value))));
        info.open(DW_TAG_subprogram, &attributes).close();
    }
    let mut sections = info.sections();
    sections.push((".debug_line", lines));
    let symbols: Vec<_> =
        functions.iter().map(|&(name, _, start, _)| (name, start.max(CODE), SIZE)).collect();
    elf(&sections, &symbols)
}

/// Values, without a sequence, of another function, shared.
fn counted(program: &[u8]) -> [u64; 4] {
    let bench = Bench::new();
    let path = bench.input("program");
    std::fs::write(&path, program).unwrap();
    let check = verify_sequences(&path, &Options::default()).unwrap();
    let SequenceCounts { values, no_sequence, of_another, shared, .. } = check.counts();
    assert_eq!(check.counts().is_wrong(), no_sequence + of_another > 0);
    assert_eq!(check.examples.is_empty(), no_sequence + of_another == 0);
    if values > 0 {
        let [unit] = &check.units[..] else { panic!("one unit") };
        assert_eq!((&unit.name[..], &unit.producer[..]), (&b"unit.c"[..], &b"made by hand"[..]));
        assert_eq!(check.producers(), [(&b"made by hand"[..], 1, check.counts())]);
    }
    [values, no_sequence, of_another, shared]
}

fn kept(program: &[u8]) -> Kept {
    Bench::new().kept(program)
}

fn frame(name: &str, line: u32) -> Vec<Frame> {
    vec![(name.to_owned(), "/made/unit.c".to_owned(), line)]
}

const NEXT: u64 = CODE + SIZE;

#[test]
fn right_values_are_not_counted() {
    let (at, rows) = lines(&[(CODE, 11, NEXT), (NEXT, 21, NEXT + SIZE)]);
    let made = |f, g| program(&[("f", 10, CODE, f), ("g", 20, NEXT, g)], rows.clone());
    assert_eq!(counted(&made(Some(at[0]), Some(at[1]))), [2, 0, 0, 0]);
    assert_eq!(counted(&made(None, None)), [0; 4]);
    // dsymutil's value for a function without rows.
    assert_eq!(counted(&made(Some(u64::from(u32::MAX)), Some(at[1]))), [1, 0, 0, 0]);
}

#[test]
fn values_of_no_sequence_are_counted() {
    let (at, rows) = lines(&[(CODE, 11, NEXT), (NEXT, 21, NEXT + SIZE)]);
    let made = |f| program(&[("f", 10, CODE, Some(f)), ("g", 20, NEXT, Some(at[1]))], rows.clone());
    for value in [0, at[0] - 1, at[0] + 1, at[1] - 1, rows.len() as u64, u64::from(u32::MAX) - 1] {
        assert_eq!(counted(&made(value)), [2, 1, 0, 0], "{value:#x}");
        let kept = kept(&made(value));
        assert_eq!(kept.count(Kind::NoSequence), 1);
        assert_eq!((kept.frames(CODE), kept.frames(NEXT)), (frame("f", 11), frame("g", 21)));
    }
}

/// LLVM's verifier finds none of these: each value is the start of a sequence.
#[test]
fn values_of_other_functions_are_counted() {
    let (at, rows) = lines(&[(CODE, 11, NEXT), (NEXT, 21, NEXT + SIZE)]);
    let made = |f, g| program(&[("f", 10, CODE, Some(f)), ("g", 20, NEXT, Some(g))], rows.clone());
    for (f, g, of_another, shared) in [(1, 0, 2, 0), (1, 1, 1, 2), (0, 0, 1, 2)] {
        let program = made(at[f], at[g]);
        assert_eq!(counted(&program), [2, 0, of_another, shared], "{f} {g}");
        let kept = kept(&program);
        assert_eq!(kept.count(Kind::SequenceElsewhere), of_another);
        assert_eq!((kept.frames(CODE), kept.frames(NEXT)), (frame("f", 11), frame("g", 21)));
    }
}

/// Both sequences begin at the code that two functions have.
#[test]
fn swapped_values_of_folded_functions_are_counted() {
    let (at, rows) = lines(&[(CODE, 11, NEXT), (CODE, 21, NEXT)]);
    let made = |f, g| program(&[("f", 10, CODE, Some(f)), ("g", 20, CODE, Some(g))], rows.clone());
    assert_eq!(counted(&made(at[0], at[1])), [2, 0, 0, 0]);
    assert_eq!(counted(&made(at[1], at[0])), [2, 0, 2, 0]);
    for (f, g) in [(at[0], at[1]), (at[1], at[0])] {
        let kept = kept(&made(f, g));
        let expected = [("f".to_owned(), "live_range", 11), ("g".to_owned(), "live_range", 21)];
        assert_eq!(members(&kept, CODE), expected);
    }
}

/// As dsymutil joins the sequences of adjacent functions: each has the rows at its own addresses.
#[test]
fn a_shared_sequence_is_cut_to_each_function() {
    let (at, rows) = lines(&[(CODE, 11, NEXT + SIZE)]);
    let program = program(&[("f", 10, CODE, Some(at[0])), ("g", 20, NEXT, Some(at[0]))], rows);
    assert_eq!(counted(&program), [2, 0, 0, 2]);
    let kept = kept(&program);
    assert_eq!((kept.frames(CODE), kept.frames(NEXT)), (frame("f", 11), frame("g", 21)));
}

/// As BOLT leaves functions that it folded: both have the range, one has its sequence, and the values are old.
#[test]
fn the_only_sequence_of_two_functions_is_of_the_nearer_one() {
    for (line, own) in [(11, 0), (21, 1)] {
        let (at, rows) = lines(&[(CODE, line, NEXT), (NEXT, 31, NEXT + SIZE)]);
        for values in
            [[None, None], [Some(at[0]), Some(at[1])], [Some(at[0]), Some(at[0])], [Some(1), Some(2)]]
        {
            let functions =
                [("f", 10, CODE, values[0]), ("g", 20, CODE, values[1]), ("h", 30, NEXT, Some(at[1]))];
            let kept = kept(&program(&functions, rows.clone()));
            let mut expected = [("f".to_owned(), "live_range", 0), ("g".to_owned(), "live_range", 0)];
            expected[own].2 = line as u32;
            assert_eq!(members(&kept, CODE), expected, "{line} {values:x?}");
            assert_eq!(kept.count(Kind::AmbiguousLines), 1);
        }
    }
    // Nothing tells the functions apart, or fits one of them.
    for (f, g, line) in [(10, 10, 11), (20, 30, 11)] {
        let (_, rows) = lines(&[(CODE, line, NEXT)]);
        let kept = kept(&program(&[("f", f, CODE, None), ("g", g, CODE, None)], rows));
        let expected = ["f", "g"].map(|name| (name.to_owned(), "live_range", line as u32));
        assert_eq!(members(&kept, CODE), expected);
    }
}
