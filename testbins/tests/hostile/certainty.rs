//! Programs in which a second function may share the code of another and has left no entry.

use foldsym_lookup::{Certainty, Frames, ImageAddr, Lookup, Reason, SymbolFile};
use gimli::{
    DW_AT_call_all_calls, DW_AT_call_origin, DW_AT_call_return_pc, DW_AT_high_pc, DW_AT_low_pc, DW_AT_name,
    DW_AT_producer, DW_TAG_call_site, DW_TAG_subprogram,
};

use crate::build::Symbol::{File, Global, Indirect, Local};
use crate::build::{CODE, Info, Symbol, Value, elf_with, with_code};
use crate::harness::Bench;
use Value::{Address, Flag, Number, Text};

const CLANG: &str = "Debian clang version 22.1.8";
const LLD: &str = "Linker: LLD 22";
const GNU: &str = "GCC: 12";

const SECOND: u64 = CODE + 0x20;
const CALLER: u64 = CODE + 0x40;

/// Code of 16 bytes that differs from that of all others.
const OWN_CODE: [u8; 16] = [0xcc; 16];

fn answer(program: &[u8], address: u64) -> (Certainty, Option<Reason>) {
    let kept = Bench::new().kept(program);
    let file = SymbolFile::open(&kept.bytes).unwrap();
    match file.lookup(ImageAddr(address), &mut Frames::new()).unwrap() {
        Lookup::Found(found) => (found.certainty, found.reason),
        _ => panic!("nothing at {address:#x}"),
    }
}

fn comment(text: &str) -> (&'static str, Vec<u8>) {
    (".comment", [b"\0", text.as_bytes(), b"\0"].concat())
}

const UNIQUE: (Certainty, Option<Reason>) = (Certainty::Unique, None);

fn likely(reason: Reason) -> (Certainty, Option<Reason>) {
    (Certainty::Likely, Some(reason))
}

/// A compiler may be told not to describe a function (`nodebug`). If it is the only one that the linker folded, its name beside
/// that of a described function is all that is left. A function that has its symbol for itself is nobody else's.
#[test]
fn a_second_plain_name_is_no_alias_where_the_linker_folds() {
    let at = |linker: &str, symbols: &[Symbol<'_>]| {
        let mut info = Info::new(5, &[]);
        info.function("kept", CODE, 0x10);
        let mut sections = info.sections();
        sections.push(comment(linker));
        answer(&elf_with(CODE, &sections, symbols), CODE)
    };
    let kept = [File("unit.c"), Global(("kept", CODE, 0x10))];
    for other in [Global(("other", CODE, 0x10)), Local(("other", CODE, 0x10))] {
        let both = [kept[0], kept[1], other];
        assert_eq!(at(LLD, &both), likely(Reason::PlainNames));
        assert_eq!(at(GNU, &both), UNIQUE);
    }
    assert_eq!(at(LLD, &kept), UNIQUE);
    // What chooses a function at start-up has no code of its own; a copy of the name is no second one.
    assert_eq!(at(LLD, &[kept[0], kept[1], Indirect(("chosen", CODE, 0x10))]), UNIQUE);
    assert_eq!(at(LLD, &[kept[0], kept[1], kept[1]]), UNIQUE);
}

/// `first`, `second` of this length, and `caller`, which calls `first`.
fn unit(producer: &str, second: u64, promises: bool) -> Vec<(&'static str, Vec<u8>)> {
    let mut info = Info::new(5, &[(DW_AT_producer, Text(producer))]);
    let mut open = |name, start, len| {
        let promise = promises.then_some((DW_AT_call_all_calls, Flag));
        let attributes =
            [(DW_AT_name, Text(name)), (DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(len))];
        let attributes: Vec<_> = attributes.into_iter().chain(promise).collect();
        info.label(name).open(DW_TAG_subprogram, &attributes);
        if name == "caller" {
            let call =
                [(DW_AT_call_origin, Value::Label("first")), (DW_AT_call_return_pc, Address(CALLER + 5))];
            info.open(DW_TAG_call_site, &call).close();
        }
        info.close();
    };
    open("first", CODE, 0x10);
    open("second", SECOND, second);
    open("caller", CALLER, 0x1c);
    let mut sections = info.sections();
    sections.push(comment(GNU));
    sections
}

/// clang leaves nothing of a local function that it was asked to merge. Two functions with one code show that it was not
/// asked to; a function that its unit does not call stands for no local one.
#[test]
fn a_function_of_clang_is_unique_if_nothing_may_have_been_merged_into_it() {
    let symbols = |second| {
        let functions = [("first", CODE, 0x10), ("second", SECOND, second), ("caller", CALLER, 0x1c)];
        functions.map(Global)
    };
    let program =
        |producer, second: u64, promises| elf_with(CODE, &unit(producer, second, promises), &symbols(second));
    let merged = likely(Reason::MergedWithoutTrace);
    let apart = program(CLANG, 0x18, true);
    assert_eq!(answer(&apart, CODE), merged);
    assert_eq!([SECOND, CALLER].map(|address| answer(&apart, address)), [UNIQUE; 2]);
    // Without the promise any may be called.
    assert_eq!(answer(&program(CLANG, 0x18, false), SECOND), merged);
    // The same length and code: nobody merged them.
    let same = program(CLANG, 0x10, true);
    assert_eq!(answer(&same, CODE), UNIQUE);
    assert_eq!(answer(&with_code(same, SECOND, &OWN_CODE), CODE), merged);
    // Code that is so short may be that of functions that LLVM keeps apart.
    let mut short = Info::new(5, &[(DW_AT_producer, Text(CLANG))]);
    short.function("first", CODE, 0xf).function("second", SECOND, 0xf);
    let functions = [Global(("first", CODE, 0xf)), Global(("second", SECOND, 0xf))];
    assert_eq!(answer(&elf_with(CODE, &short.sections(), &functions), CODE), merged);
    // Compilers that say what they were asked, or do not merge so.
    for producer in ["clang version 22 -O2 -g", "GNU C17 12", "Go cmd/compile go1.19"] {
        assert_eq!(answer(&program(producer, 0x18, false), CODE), UNIQUE, "{producer}");
    }
    let asked = program("clang version 22 -O2 -mllvm -enable-merge-functions", 0x10, true);
    assert_eq!(answer(&asked, SECOND), merged);
}

/// A linker that folds makes one of two functions that the compiler left apart.
#[test]
fn a_group_of_one_unit_shows_that_its_compiler_did_not_merge() {
    let with = |name, start| {
        let mut info = Info::new(5, &[(DW_AT_producer, Text(CLANG))]);
        info.function("first", CODE, 0x10).function(name, start, 0x10).function("alone", CALLER, 0x18);
        let sections = info.sections();
        let functions = [("first", CODE, 0x10), (name, start, 0x10), ("alone", CALLER, 0x18)];
        let program = elf_with(CODE, &sections, &functions.map(Global));
        answer(&with_code(program, SECOND, &OWN_CODE), CALLER)
    };
    assert_eq!(with("second", CODE), UNIQUE);
    assert_eq!(with("second", SECOND), likely(Reason::MergedWithoutTrace));
}
