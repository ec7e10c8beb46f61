//! Clones of functions as compilers and tools describe them: which code has which name.

use gimli::{
    DW_AT_abstract_origin, DW_AT_decl_file, DW_AT_decl_line, DW_AT_high_pc, DW_AT_inline, DW_AT_linkage_name,
    DW_AT_low_pc, DW_AT_name, DW_TAG_subprogram,
};

use crate::build::{CODE, Info, Value, elf, line_program, sequence};
use crate::folds::{described, members};
use crate::harness::{Bench, Kept};
use Value::{Address, Label, Number, Text};

const SIZE: u64 = 0x10;

fn made(info: &mut Info, lines: &[Vec<u8>], symbols: &[(&str, u64)]) -> Kept {
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&lines.concat())));
    let symbols: Vec<_> = symbols.iter().map(|&(name, start)| (name, start, SIZE)).collect();
    Bench::new().kept(&elf(&sections, &symbols))
}

fn at(kept: &Kept, address: u64) -> (String, u32) {
    let (name, _, line) = kept.frame(address);
    (name, line)
}

fn named(name: &str, line: u32) -> (String, u32) {
    (name.to_owned(), line)
}

/// A clone with a name and line of the function that it is made from, and a symbol with a suffix. The function itself is elsewhere.
#[test]
fn the_symbol_names_the_clone_and_the_entry_its_lines() {
    for suffix in [
        ".specialized.1",
        ".llvm.123",
        ".lto_priv.0",
        ".constprop.0",
        ".isra.0",
        ".part.0",
        ".__uniq.123",
        ".memprof.2",
        ".resume",
        ".destroy",
        ".cleanup",
        ".noalloc",
        ".Tgm",
        ".content.123",
    ] {
        let symbol = format!("f{suffix}");
        let mut info = Info::new(4, &[]);
        info.open(DW_TAG_subprogram, &described("f", 10, CODE, SIZE)).close();
        let lines = [sequence(&[(CODE, 11)], CODE + SIZE)];
        // The function itself has no entry.
        let kept = made(&mut info, &lines, &[(&symbol, CODE), ("f", CODE + 0x100)]);
        // Words for functions of one file are no part of the name that is shown.
        let found = at(&kept, CODE);
        assert!([symbol.as_str(), "f"].contains(&&*found.0), "{found:?}");
        assert_eq!(found.1, 11, "{suffix}");
        assert_eq!(at(&kept, CODE + 0x100), named("f", 0), "{suffix}");
    }
}

/// gcc gives a clone an entry without a name, whose abstract origin has it.
#[test]
fn clones_without_a_name_have_that_of_their_origin() {
    for suffix in [".constprop.0", ".isra.0", ".part.0"] {
        let mut info = Info::new(4, &[]);
        let origin = [
            (DW_AT_name, Text("f")),
            (DW_AT_decl_file, Number(1)),
            (DW_AT_decl_line, Number(10)),
            (DW_AT_inline, Number(1)),
        ];
        info.label("f").open(DW_TAG_subprogram, &origin).close();
        let code = |start| {
            [
                (DW_AT_abstract_origin, Label("f")),
                (DW_AT_low_pc, Address(start)),
                (DW_AT_high_pc, Number(SIZE)),
            ]
        };
        info.open(DW_TAG_subprogram, &code(CODE)).close();
        info.open(DW_TAG_subprogram, &code(CODE + SIZE)).close();
        let lines = [sequence(&[(CODE, 11), (CODE + SIZE, 12)], CODE + 2 * SIZE)];
        let symbol = format!("f{suffix}");
        let kept = made(&mut info, &lines, &[("f", CODE), (&symbol, CODE + SIZE)]);
        assert_eq!((at(&kept, CODE), at(&kept, CODE + SIZE).1), (named("f", 11), 12), "{suffix}");
    }
}

/// LLVM splits cold code off before it generates code: the part is a function with an entry of its own.
#[test]
fn a_part_with_an_entry_of_its_own_is_named_by_it() {
    let mut info = Info::new(4, &[]);
    info.open(DW_TAG_subprogram, &described("f", 10, CODE, SIZE)).close();
    info.open(DW_TAG_subprogram, &described("f.cold.1", 10, CODE + SIZE, SIZE)).close();
    let lines = [sequence(&[(CODE, 11), (CODE + SIZE, 12)], CODE + 2 * SIZE)];
    let kept = made(&mut info, &lines, &[("f", CODE), ("f.cold.1", CODE + SIZE)]);
    assert_eq!((at(&kept, CODE), at(&kept, CODE + SIZE)), (named("f", 11), named("f.cold.1", 12)));
}

/// The linkage names of coroutines' parts have the suffix.
#[test]
fn linkage_names_with_suffixes_are_names() {
    let mut info = Info::new(4, &[]);
    for (linkage, start) in [("_Z2coi.resume", CODE), ("_Z2coi.destroy", CODE + SIZE)] {
        let mut attributes = described("co", 10, start, SIZE).to_vec();
        attributes.push((DW_AT_linkage_name, Text(linkage)));
        info.open(DW_TAG_subprogram, &attributes).close();
    }
    let lines = [sequence(&[(CODE, 11), (CODE + SIZE, 12)], CODE + 2 * SIZE)];
    let kept = made(&mut info, &lines, &[("_Z2coi.resume", CODE), ("_Z2coi.destroy", CODE + SIZE)]);
    assert_eq!(at(&kept, CODE), named("_Z2coi.resume", 11));
    assert_eq!(at(&kept, CODE + SIZE), named("_Z2coi.destroy", 12));
}

/// LLVM's global merging moves the body of `f` into `f.Tgm`, which the entry of `f` describes from then on. `f` jumps there, and passes
/// what the bodies differ in. Linkers fold the bodies, and the jumps remain.
#[test]
fn globally_merged_functions_are_folded_by_their_bodies() {
    let mut info = Info::new(4, &[]);
    info.open(DW_TAG_subprogram, &described("f", 10, CODE, SIZE)).close();
    info.open(DW_TAG_subprogram, &described("g", 20, 0, SIZE)).close();
    let lines = [sequence(&[(CODE, 11)], CODE + SIZE), sequence(&[(CODE, 21)], CODE + SIZE)];
    let symbols = [("f.Tgm", CODE), ("g.Tgm", CODE), ("f", CODE + 0x100), ("g", CODE + 0x200)];
    let kept = made(&mut info, &lines, &symbols);
    assert_eq!(
        members(&kept, CODE),
        [("f.Tgm".to_owned(), "live_range", 11), ("g.Tgm".to_owned(), "symbol", 21)]
    );
    assert_eq!((at(&kept, CODE + 0x100), at(&kept, CODE + 0x200)), (named("f", 0), named("g", 0)));
}
