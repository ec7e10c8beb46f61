//! Inlined code outside of the ranges of its function, as BOLT leaves it in DWARF 4 (`--split-strategy=all`). The frames are those of
//! llvm-symbolizer 22 for the same bytes, but in the range of another function, whose code llvm-symbolizer gives to the inlined call.

use foldsym_lookup::Reason;
use gimli::{
    DW_AT_abstract_origin, DW_AT_call_file, DW_AT_call_line, DW_AT_high_pc, DW_AT_low_pc, DW_AT_name,
    DW_TAG_inlined_subroutine, DW_TAG_subprogram,
};

use crate::build::Symbol::{self, File, Global};
use crate::build::{CODE, Info, Value, elf_with, line_program, sequence};
use crate::certainty::{GNU, LLD, UNIQUE, answer, comment, likely, whole};
use crate::harness::{Bench, Frame};
use Value::{Address, Label, Number, Text};

const PART: u64 = CODE + 0x100;

/// `outer` has `g`, in which is `h`, in its range and in [`PART`], and `g` in the range of `next`.
fn program(linker: &str, symbols: &[Symbol<'_>]) -> Vec<u8> {
    let of = |start, len| [(DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(len))];
    let mut info = Info::new(4, &of(CODE, 0x400));
    for name in ["g", "h"] {
        info.label(name).open(DW_TAG_subprogram, &[(DW_AT_name, Text(name))]).close();
    }
    let call = |callee, line, code: [_; 2]| {
        let call = [(DW_AT_call_file, Number(1)), (DW_AT_call_line, Number(line))];
        [(DW_AT_abstract_origin, Label(callee)), call[0], call[1], code[0], code[1]]
    };
    let [low, high] = of(CODE, 0x10);
    info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("outer")), low, high]);
    for (start, len) in [(CODE + 4, 4), (PART + 4, 0x10), (CODE + 0x18, 4)] {
        info.open(DW_TAG_inlined_subroutine, &call("g", 70, of(start, len)));
        if start == PART + 4 {
            info.open(DW_TAG_inlined_subroutine, &call("h", 80, of(PART + 8, 4))).close();
        }
        info.close();
    }
    info.close();
    info.function("next", CODE + 0x10, 0x10);
    let rows: Vec<(u64, i8)> = (0..32).map(|row| (PART + row * 4, row as i8 + 11)).collect();
    let rows = [sequence(&[(CODE, 5)], CODE + 0x20), sequence(&rows[..8], PART + 0x20)].concat();
    let mut sections = info.sections();
    sections.extend([(".debug_line", line_program(&rows)), comment(linker)]);
    elf_with(CODE, &sections, symbols)
}

#[test]
fn inlined_code_outside_of_its_function_is_found() {
    let frame = |name: &str, line| -> Frame { (name.to_owned(), "/made/unit.c".to_owned(), line) };
    let functions = [Global(("outer", CODE, 0x10)), Global(("next", CODE + 0x10, 0x10))];
    let symbols = [&functions[..], &[Global(("outer.cold.0", PART, 0x20))]].concat();
    let kept = Bench::new().kept(&program(GNU, &symbols));
    assert_eq!(kept.frames(PART), [frame("outer.cold.0", 11)]);
    assert_eq!(kept.frames(PART + 4), [frame("g", 12), frame("outer.cold.0", 70)]);
    assert_eq!(kept.frames(PART + 8), [frame("h", 13), frame("g", 80), frame("outer.cold.0", 70)]);
    assert_eq!(kept.frames(PART + 0x10), [frame("g", 15), frame("outer.cold.0", 70)]);
    assert_eq!(kept.frames(PART + 0x14), [frame("outer.cold.0", 16)]);
    assert_eq!(kept.frames(CODE + 4), [frame("g", 5), frame("outer", 70)]);
    // The range of another function counts more.
    assert_eq!(kept.frames(CODE + 0x18), [frame("next", 5)]);
    // Without a symbol the code is the function's.
    let kept = Bench::new().kept(&program(GNU, &functions));
    assert_eq!(kept.frames(PART + 8), [frame("h", 13), frame("g", 80), frame("outer", 70)]);
}

#[test]
fn inlined_code_outside_of_its_function_is_no_surer_than_its_symbol() {
    let functions = [File("unit.c"), Global(("outer", CODE, 0x10)), Global(("next", CODE + 0x10, 0x10))];
    let at = |linker, parts: &[Symbol<'_>]| {
        answer(&program(linker, &whole(&[&functions[..], parts].concat())), PART + 8)
    };
    let part = Global(("outer.cold.0", PART, 0x20));
    assert_eq!(at(GNU, &[part]), UNIQUE);
    assert_eq!(at(LLD, &[part, Global(("other", PART, 0x20))]), likely(Reason::PlainNames));
}
