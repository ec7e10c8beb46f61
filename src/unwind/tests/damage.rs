//! Sections with one record of saved registers in place of a sound one: what `verify` refuses, and what a step says.

use foldsym_format::records::unwind::MAX_SAVES;
use foldsym_unwind::{Frame, Machine, Process, Registers, Step, Stop, Unwind};

/// A program with one function at 0x1000: `push`, then code from 0x1001 on, whose frame address is register 7 plus 16.
const SOUND: &[u8] = include_bytes!("push.unwind");
/// Where the section says how long the records are, and where the last of them is. The code from 0x1001 on has it.
const SAVES_LEN: usize = 16;
const LAST: std::ops::Range<usize> = 0xad..0xb4;
/// Bytes of the records before the last one.
const BEFORE: u32 = 5;

fn with_record(record: &[u8]) -> Vec<u8> {
    let mut bytes = [&SOUND[..LAST.start], record, &SOUND[LAST.end..]].concat();
    bytes[SAVES_LEN..SAVES_LEN + 4].copy_from_slice(&(BEFORE + record.len() as u32).to_le_bytes());
    bytes
}

fn number(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; foldsym_format::varint::MAX_LEN];
    let len = foldsym_format::varint::write(value, &mut bytes);
    out.extend_from_slice(&bytes[..len]);
}

/// Every word of memory is its own address.
struct Words;

impl Process for Words {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
        bytes.copy_from_slice(&address.to_le_bytes()[..bytes.len()]);
        Some(())
    }
}

/// A step on AArch64 from 0x1001 on, with x7 and x30 known and x9 unknown.
fn step(record: &[u8]) -> Result<(Step, u64), Stop> {
    let bytes = with_record(record);
    let unwind = Unwind::open(&bytes, 0).unwrap();
    let mut registers = Registers::new(Machine::Aarch64);
    [(7, 0x7000), (30, 0x5000), (31, 0x7000), (32, 0x1001)]
        .into_iter()
        .for_each(|(register, value)| registers.set(register, value));
    let mut frame = Frame::innermost(registers);
    let stepped = frame.step(&unwind, 0, &mut Words);
    assert!(stepped.is_ok() || frame.pc() == 0x1001);
    stepped.map(|step| (step, frame.pc()))
}

// Registers 3 and 30 as rules have them, without a kind.
const X3: u8 = 3 << 3;
const X30: [u8; 2] = [0xf0, 0x01];

/// A rule of register 30, after the count and the return register.
fn of_link(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[1 << 1, 30, X30[0] | kind, X30[1]], value].concat()
}

#[test]
fn the_return_register_is_itself_only_if_no_rule_gives_another_value() {
    assert_eq!(step(&[0, 30]), Ok((Step::Caller, 0x5000)));
    assert_eq!(step(&of_link(1, &[])), Ok((Step::Caller, 0x5000)));
    // In x9, which is not known; in x7; lost.
    assert_eq!(step(&of_link(4, &[9])), Err(Stop::Register(9)));
    assert_eq!(step(&of_link(4, &[7])), Ok((Step::Caller, 0x7000)));
    assert_eq!(step(&of_link(0, &[])), Ok((Step::Outermost, 0x1001)));
}

#[test]
fn a_damaged_rule_is_not_the_end_of_the_rules() {
    let saved = [X3 | 2, 0x1f];
    assert_eq!(step(&[&[1 << 1, 30], &saved[..]].concat()), Ok((Step::Caller, 0x5000)));
    // Kind 7 is none; a second rule is missing.
    for damaged in
        [[&[2 << 1, 30][..], &saved, &[X30[0] | 7, X30[1]]].concat(), [&[2 << 1, 30], &saved[..]].concat()]
    {
        assert!(matches!(step(&damaged), Err(Stop::Damaged(_))), "{damaged:?}");
        assert!(Unwind::open(&with_record(&damaged), 0).unwrap().verify().is_err());
    }
}

#[test]
fn a_record_has_a_bounded_number_of_registers() {
    let of = |count: u64| {
        let mut record = Vec::new();
        number(&mut record, count << 1);
        number(&mut record, 16);
        (0..count).for_each(|register| number(&mut record, register << 3 | 1));
        with_record(&record)
    };
    let verified = |count| {
        let bytes = of(count);
        let unwind = Unwind::open(&bytes, 0).unwrap();
        (unwind.verify().is_ok(), unwind.row(0x1001).is_ok())
    };
    assert_eq!(verified(MAX_SAVES), (true, true));
    assert_eq!(verified(MAX_SAVES + 1), (false, false));
}
