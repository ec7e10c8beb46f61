//! Programs that reach the limits of comparisons: the report counts each limit apart, and only what it costs.

use foldsym_convert::report::{Cap, ClassCap, Kind};
use gimli::{
    DW_AT_comp_dir, DW_AT_decl_file, DW_AT_decl_line, DW_AT_declaration, DW_AT_external, DW_AT_high_pc,
    DW_AT_language, DW_AT_low_pc, DW_AT_name, DW_AT_producer, DW_AT_specification, DW_TAG_structure_type,
    DW_TAG_subprogram,
};

use crate::build::{CODE, DATA, Info, Symbol, Value, elf_with, line_program, sequence, with_code};
use crate::folds::{SHARED, described};
use crate::harness::{Bench, Kept};
use Value::{Address, Flag, Label, Number, Text};

/// Another address of code.
const OTHER: u64 = CODE + 0x300;
/// Vtables.
const TABLES: u64 = DATA.1;

/// How often the limits were reached.
fn counts<const N: usize>(kept: &Kept, caps: [Cap; N]) -> [u64; N] {
    caps.map(|cap| kept.count(Kind::Cap(cap)))
}

fn function(info: &mut Info, name: &str, line: u64, start: u64) {
    info.open(DW_TAG_subprogram, &described(name, line, start, 0x10)).close();
}

/// Sequences of one row and 16 bytes.
fn sequences(count: usize, start: u64) -> Vec<u8> {
    (0..count).flat_map(|at| sequence(&[(start, (at % 100) as i8)], start + 0x10)).collect()
}

fn kept(info: &mut Info, lines: &[u8], symbols: &[Symbol<'_>]) -> Kept {
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(lines)));
    sections.push((".comment", b"\0Linker: LLD 22.1.8\0".to_vec()));
    Bench::new().kept(&elf_with(CODE, &sections, symbols))
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("_Z6g{at:05}v")).collect()
}

fn globals(names: &[String], start: u64) -> Vec<Symbol<'_>> {
    names.iter().map(|name| Symbol::Global((name, start, 0x10))).collect()
}

#[test]
fn functions_and_sequences_of_a_unit_at_one_address_are_counted_apart() {
    let of = |functions: usize, lines: usize| {
        let mut info = Info::new(4, &[]);
        names(functions).iter().zip(10..).for_each(|(name, line)| function(&mut info, name, line, SHARED));
        counts(
            &kept(&mut info, &sequences(lines, SHARED), &[]),
            [Cap::FunctionsTogether, Cap::SequencesTogether],
        )
    };
    assert_eq!(of(1024, 2), [0, 0]);
    assert_eq!(of(1025, 2), [1, 0]);
    assert_eq!(of(2, 1100), [0, 1]);
    // All have the lines of the one sequence.
    assert_eq!(of(1025, 1), [0, 0]);
}

#[test]
fn names_and_sequences_of_undescribed_code_are_counted_apart() {
    let of = |count: usize, lines: usize| {
        let (mut info, names) = (Info::new(4, &[]), names(count));
        function(&mut info, "described", 5, OTHER);
        counts(
            &kept(&mut info, &sequences(lines, SHARED), &globals(&names, SHARED)),
            [Cap::UndescribedNames, Cap::UndescribedLines],
        )
    };
    assert_eq!(of(256, 2), [0, 0]);
    assert_eq!(of(257, 2), [1, 0]);
    assert_eq!(of(2, 257), [0, 1]);
}

#[test]
fn folded_functions_and_sequences_of_one_size_are_counted_apart() {
    let of = |functions: usize, lines: usize| {
        let (mut info, names) = (Info::new(4, &[]), names(functions));
        function(&mut info, "one", 5, SHARED);
        function(&mut info, "other", 7, OTHER);
        names.iter().for_each(|name| function(&mut info, name, 200, 0));
        let lines = [sequences(lines, SHARED), sequences(lines, OTHER)].concat();
        counts(&kept(&mut info, &lines, &[]), [Cap::FoldedOfSize, Cap::SequencesOfSize])
    };
    assert_eq!(of(100, 100), [0, 0]);
    assert_eq!(of(1025, 100), [1, 0]);
    assert_eq!(of(1, 600), [0, 1]);
}

/// The erased function may be a copy of one of the definitions that are not kept.
#[test]
fn a_name_of_many_definitions_has_only_copies() {
    let of = |definitions: u64| {
        let mut info = Info::new(4, &[]);
        (0..definitions).for_each(|at| function(&mut info, "f", 10 + at, CODE + 0x10 * at));
        function(&mut info, "kept", 50, SHARED);
        function(&mut info, "f", 60, 0);
        let lines = [&[51][..], &[61]].map(|lines| sequence(&[(SHARED, lines[0])], SHARED + 0x10));
        let kept = kept(&mut info, &lines.concat(), &[]);
        (kept.count(Kind::FoldedFunction), kept.count(Kind::Cap(Cap::FoldedDefinitions)))
    };
    assert_eq!(of(7), (1, 0));
    assert_eq!(of(8), (0, 1));
}

/// The paths are cut, and the options after the cut may be any.
#[test]
fn long_texts_of_a_unit_are_reported() {
    let of = |attribute, len: usize, producer: &str| {
        let text = producer.to_owned() + &"x".repeat(len);
        let mut info = Info::new(4, &[(attribute, Text(&text))]);
        function(&mut info, "f", 5, CODE);
        counts(&kept(&mut info, &sequences(1, CODE), &[]), [Cap::RootPathBytes, Cap::ProducerBytes])
    };
    assert_eq!(of(DW_AT_comp_dir, 4095, ""), [0, 0]);
    assert_eq!(of(DW_AT_comp_dir, 5000, ""), [1, 0]);
    assert_eq!(of(DW_AT_producer, 100, "clang version 22 "), [0, 0]);
    assert_eq!(of(DW_AT_producer, 5000, "clang version 22 "), [0, 1]);
    // gcc merges functions whatever its options.
    assert_eq!(of(DW_AT_producer, 5000, "GNU C17 14.2.0 "), [0, 0]);
}

/// How often the limits were reached by a program with two folded methods, these vtables, and a call through the second word of one. The
/// vtables are symbols: name, offset, size.
fn classes<const N: usize>(table: &[i64], symbols: &[(String, u64, u64)], caps: [ClassCap; N]) -> [u64; N] {
    let mut info = Info::new(4, &[(DW_AT_producer, Text("clang version 22"))]);
    let methods = ["_ZN1A1mEv", "_ZN1B1mEv"];
    methods.iter().for_each(|name| function(&mut info, name, 5, SHARED));
    let mut sections = info.sections();
    sections.push((DATA.0, table.iter().flat_map(|word| word.to_le_bytes()).collect()));
    let mut all: Vec<_> = methods.map(|name| Symbol::Global((name, SHARED, 0x10))).to_vec();
    let table = |(name, at, size): &(String, u64, u64)| (name.clone(), TABLES + at, *size);
    let tables: Vec<_> = symbols.iter().map(table).collect();
    all.extend(tables.iter().map(|(name, at, size)| Symbol::Object((name, *at, *size))));
    let kept = Bench::new().kept(&elf_with(CODE, &sections, &all));
    caps.map(|cap| kept.count(Kind::SkippedClasses(cap)))
}

#[test]
fn large_tables_and_classes_of_many_tables_are_reported() {
    let caps = [ClassCap::LongTables, ClassCap::Parts, ClassCap::Sharing];
    let shared = SHARED as i64;
    let table = |words: usize| {
        let mut table = vec![0, 0];
        table.resize(words, shared);
        table
    };
    let one = |words: u64| [("_ZTV1A".to_owned(), 0, 8 * words)];
    assert_eq!(classes(&table(1 << 17), &one(1 << 17), caps), [0, 0, 0]);
    assert_eq!(classes(&table((1 << 17) + 1), &one((1 << 17) + 1), caps), [1, 0, 0]);
    // Tables of subobjects: offset to the top, type information, method.
    let parts = |count: i64| (0..count).flat_map(|at| [-8 * at, 0, shared]).collect::<Vec<_>>();
    assert_eq!(classes(&parts(256), &one(3 * 256), caps), [0, 0, 0]);
    assert_eq!(classes(&parts(257), &one(3 * 257), caps), [0, 1, 0]);
    let sharing =
        |count: usize| -> Vec<_> { (0..count).map(|at| (format!("_ZTV3C{at:02}"), 0, 24)).collect() };
    assert_eq!(classes(&table(3), &sharing(16), caps), [0, 0, 0]);
    assert_eq!(classes(&table(3), &sharing(17), caps), [0, 0, 1]);
}

/// A jump of many names, to a place with functions of these units.
fn jump(mut sections: Vec<(&'static str, Vec<u8>)>) -> [u64; 2] {
    let names = names(66_000);
    let by = SHARED.wrapping_sub(OTHER + 5) as u32;
    let jump = [&[0xe9][..], &by.to_le_bytes()].concat();
    let symbols = names.iter().map(|name| Symbol::Global((name, OTHER, 5)));
    sections.push((".comment", b"\0Linker: LLD 22.1.8\0".to_vec()));
    let program = elf_with(CODE, &sections, &symbols.collect::<Vec<_>>());
    counts(&Bench::new().kept(&with_code(program, OTHER, &jump)), [Cap::MergedByGcc, Cap::MergedByLlvm])
}

/// Each name of the jump may be that of a merged function.
#[test]
fn steps_for_functions_that_jump_are_counted_by_compiler() {
    let rust = (DW_AT_language, Number(gimli::DW_LANG_Rust.0.into()));
    let mut llvm = Info::new(4, &[(DW_AT_producer, Text("rustc")), rust]);
    names(300)
        .iter()
        .zip(10..)
        .for_each(|(name, line)| function(&mut llvm, &format!("{name}x"), line, SHARED));
    assert_eq!(jump(llvm.sections()), [0, 1]);
    // Units with a function at that place, and one without code.
    let mut gcc = Info::new(4, &[(DW_AT_producer, Text("GNU C17 14.2.0"))]);
    function(&mut gcc, "f00000", 10, SHARED);
    gcc.open(DW_TAG_subprogram, &[(DW_AT_name, Text("codeless")), (DW_AT_external, Flag)]).close();
    let mut sections = gcc.sections();
    let info = sections.iter_mut().find(|section| section.0 == ".debug_info").unwrap();
    let name = info.1.windows(6).position(|bytes| bytes == b"f00000").unwrap();
    let of_unit = |number: usize| {
        let mut unit = info.1.clone();
        unit[name..name + 6].copy_from_slice(format!("f{number:05}").as_bytes());
        unit
    };
    info.1 = (0..260).flat_map(of_unit).collect();
    assert_eq!(jump(sections), [1, 0]);
}

/// gcc may have merged a function with any instance of its template.
#[test]
fn instances_beyond_the_limit_are_reported() {
    let of = |count: u64| {
        let mut info = Info::new(4, &[(DW_AT_producer, Text("GNU C++17 12.2.0"))]);
        let place = [(DW_AT_decl_file, Number(1)), (DW_AT_decl_line, Number(4))];
        for at in 0..=count {
            let label = format!("declared {at}");
            info.open(DW_TAG_structure_type, &[(DW_AT_name, Text("V"))]);
            let declared = [&[(DW_AT_name, Text("run"))], &place[..], &[(DW_AT_declaration, Flag)]].concat();
            info.label(&label).open(DW_TAG_subprogram, &declared).close().close();
            let own = [
                (DW_AT_specification, Label(&label)),
                (DW_AT_low_pc, Address(CODE + 8 * at)),
                (DW_AT_high_pc, Number(8)),
            ];
            // The first has no code.
            info.open(DW_TAG_subprogram, &own[..if at == 0 { 1 } else { 3 }]).close();
        }
        counts(&kept(&mut info, &sequences(1, CODE), &[]), [Cap::MergedInstances])
    };
    assert_eq!(of(256), [0]);
    assert_eq!(of(257), [1]);
}

/// Each entry executes the instructions of its CIE: a CIE with 64 KiB of them, for 600 entries.
#[test]
fn a_long_cie_is_not_executed_for_every_entry() {
    let entry = |id: u32, body: &[u8]| {
        let len = (4 + body.len() as u32).to_le_bytes();
        [&len[..], &id.to_le_bytes(), body].concat()
    };
    // Version 4, no augmentation, addresses of 8 bytes, factors 1 and -8, return register 16; `DW_CFA_def_cfa` rsp+8.
    let head = [4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8];
    let frames = |nops: usize| {
        let mut section = entry(u32::MAX, &[&head[..], &vec![0; nops]].concat());
        for start in (CODE..).step_by(4).take(600) {
            section.extend(entry(0, &[start.to_le_bytes(), 4u64.to_le_bytes()].concat()));
        }
        section
    };
    let caps = |nops| {
        let mut info = Info::new(5, &[]);
        function(&mut info, "f", 10, CODE);
        let mut sections = info.sections();
        sections.push((".debug_line", line_program(&sequence(&[(CODE, 10)], CODE + 0x10))));
        sections.push((".debug_frame", frames(nops)));
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("program"), folder.path().join("out.fsym"));
        std::fs::write(&input, elf_with(CODE, &sections, &[])).unwrap();
        let options = foldsym_convert::Options::default().with(|options| options.unwind = true);
        let report =
            foldsym_convert::convert(&input, &output, &options, &foldsym_convert::NoProgress).unwrap();
        report.diagnostics.count(Kind::Cap(Cap::FrameRows))
    };
    assert_eq!((caps(16), caps(1 << 16)), (0, 1));
}
