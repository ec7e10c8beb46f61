//! Symbols that say little about the code at their address: without a size or a type, from an unknown linker, of functions that are chosen
//! at start-up, of Mach-O.

use foldsym_convert::report::Kind;
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use gimli::{
    DW_AT_call_origin, DW_AT_call_return_pc, DW_AT_declaration, DW_AT_external, DW_AT_high_pc, DW_AT_low_pc,
    DW_AT_name, DW_AT_stmt_list, DW_TAG_call_site, DW_TAG_subprogram,
};

use crate::build::Symbol::{File, Global, GlobalLabel, Indirect, Label, Local};
use crate::build::{CODE, Info, Symbol, Value, elf_with, line_program, macho, sequence, two_units};
use crate::folds::members;
use crate::harness::{Bench, Kept};
use Value::{Address, Flag, Number, Offset, Text};

const LLD: &str = "Linker: LLD 22";
const GNU: &str = "GCC: 12";

const CALLER: u64 = CODE + 0x40;

/// `kept` is described, and so is its caller, which may call `other` as well.
fn debug(calls: bool) -> Vec<(&'static str, Vec<u8>)> {
    let mut info = Info::new(5, &[]);
    info.function("kept", CODE, 0x10);
    let code = [(DW_AT_low_pc, Address(CALLER)), (DW_AT_high_pc, Number(0x20))];
    info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("caller")), code[0], code[1]]);
    if calls {
        let at = (DW_AT_call_return_pc, Address(CALLER + 8));
        info.open(DW_TAG_call_site, &[(DW_AT_call_origin, Value::Label("other")), at]).close();
    }
    info.close();
    let declared = [(DW_AT_name, Text("other")), (DW_AT_external, Flag), (DW_AT_declaration, Flag)];
    info.label("other").open(DW_TAG_subprogram, &declared).close();
    info.sections()
}

fn kept(linker: &str, calls: bool, symbols: &[Symbol<'_>]) -> Kept {
    let mut sections = debug(calls);
    if !linker.is_empty() {
        sections.push((".comment", [b"\0", linker.as_bytes(), b"\0"].concat()));
    }
    Bench::new().kept(&elf_with(CODE, &sections, symbols))
}

fn names(kept: &Kept, address: u64) -> Vec<String> {
    members(kept, address).into_iter().map(|member| member.0).collect()
}

/// The file of `other` has no unit, so `other` may be a function that was folded into `kept`.
#[test]
fn assembly_code_may_leave_out_sizes_and_types() {
    let with = |other| [File("unit.c"), File("other.s"), Global(("kept", CODE, 0x10)), other];
    for other in [
        Global(("other", CODE, 0x10)),
        Global(("other", CODE, 0)),
        GlobalLabel(("other", CODE, 0)),
        GlobalLabel(("other", CODE, 0x10)),
    ] {
        assert_eq!(names(&kept(LLD, false, &with(other)), CODE), ["kept", "other"]);
        assert_eq!(kept(GNU, false, &with(other)).report.decided.folded_addresses, 0);
    }
    // A label of other code than all of the function's.
    let part = with(GlobalLabel(("other", CODE, 8)));
    assert_eq!(kept(LLD, false, &part).report.decided.folded_addresses, 0);
}

/// Code that no unit covers, with a name from the program: it belongs to an object without debug information, so `other` may be one that
/// was folded into `kept`.
#[test]
fn a_label_of_code_that_no_unit_covers_shows_an_object() {
    let with = |label| {
        let symbols = [Global(("kept", CODE, 0x10)), Global(("other", CODE, 0x10)), label];
        names(&kept(LLD, false, &[&[File("unit.c")][..], &symbols].concat()), CODE)
    };
    for other in [GlobalLabel(("alone", CODE + 0x80, 0)), Global(("alone", CODE + 0x80, 0x10))] {
        assert_eq!(with(other), ["kept", "other"]);
    }
    for none in [
        GlobalLabel(("within", CALLER + 4, 0)),
        Label(("alone", CODE + 0x80, 0)),
        GlobalLabel(("_begin", CODE + 0x80, 0)),
        GlobalLabel(("etext", CODE + 0x80, 0)),
    ] {
        assert_eq!(with(none), [""; 0]);
    }
}

/// Linkers define them for every section whose name C can write.
#[test]
fn labels_of_sections_are_no_functions() {
    let at_start = |symbols: &[Symbol<'_>], sections: &[(&str, Vec<u8>)]| {
        let mut program = elf_with(CODE, sections, symbols);
        let name = program.windows(6).rposition(|bytes| bytes == b".text\0").unwrap();
        program[name] = b'_';
        names(&Bench::new().kept(&program), CODE)
    };
    let mut sections = debug(false);
    sections.push((".comment", [b"\0", LLD.as_bytes(), b"\0"].concat()));
    let described = |label| {
        at_start(&[File("other.c"), Global(("kept", CODE, 0x10)), GlobalLabel((label, CODE, 0))], &sections)
    };
    // Nor beside code that no unit describes.
    let files = [File("a.c"), Local(("_ZL1fv", CODE, 0x10)), File("b.c"), Local(("_ZL1gv", CODE, 0x10))];
    let bare = |label| at_start(&[&files[..], &[GlobalLabel((label, CODE, 0))]].concat(), &[]);
    for label in ["__start__text", "__stop__text"] {
        assert_eq!(described(label), [""; 0]);
        assert_eq!(bare(label), ["_ZL1fv", "_ZL1gv"]);
    }
    assert_eq!(described("__start_warm"), ["kept", "__start_warm"]);
    assert_eq!(bare("__start_warm"), ["_ZL1fv", "_ZL1gv", "__start_warm"]);
}

#[test]
fn of_an_unknown_linker_a_call_shows_the_function() {
    let symbols =
        [File("unit.c"), File("other.c"), Global(("kept", CODE, 0x10)), Global(("other", CODE, 0x10))];
    assert_eq!(names(&kept("", true, &symbols), CODE), ["kept", "other"]);
    assert_eq!(kept("", false, &symbols).report.decided.folded_addresses, 0);
    // An alias has calls too, if everything folded is described.
    let symbols = [File("unit.c"), symbols[2], symbols[3]];
    assert_eq!(kept("", true, &symbols).report.decided.folded_addresses, 0);
}

#[test]
fn what_is_chosen_at_start_up_is_no_function_beside_the_one_that_chooses() {
    const CHOOSER: u64 = CODE + 0x80;
    for linker in [LLD, GNU] {
        let symbols = [
            File("other.c"),
            Global(("kept", CODE, 0x10)),
            Indirect(("_Z6chosenv", CODE, 0x10)),
            Indirect(("chosen", CODE, 0x10)),
            // Without a DIE, and the one among them that `llvm-symbolizer` would name is last.
            Global(("_Z3foov.resolver", CHOOSER, 0x10)),
            Indirect(("_Z3foov", CHOOSER, 0x10)),
            Indirect(("foo", CHOOSER, 0x10)),
        ];
        let kept = kept(linker, false, &symbols);
        assert_eq!(kept.report.decided.folded_addresses, 0, "{linker}");
        assert_eq!(kept.report.decided.aliases, 4, "{linker}");
        // Two that choose were folded.
        let folded = [symbols[4], symbols[5], Global(("_Z3barv.resolver", CHOOSER, 0x10))];
        let kept = Bench::new().kept(&elf_with(CODE, &[], &folded));
        assert_eq!(kept.report.decided.folded_functions, 2);
    }
}

/// Mach-O has no aliases of C functions, and no sizes.
#[test]
fn each_name_of_mach_o_is_a_function() {
    let symbols =
        [("kept", CODE), ("other", CODE), ("caller", CALLER), ("bare", CODE + 0x80), ("alone", CODE + 0x80)];
    let kept = Bench::new().kept(&macho(&debug(true), &symbols));
    assert_eq!(names(&kept, CODE), ["kept", "other"]);
    assert_eq!(names(&kept, CODE + 0x80), ["alone", "bare"]);
    assert_eq!(kept.count(Kind::UndescribedFold), 1);
    assert_eq!(kept.report.decided.aliases, 0);
    let variants = [("kept", CODE), ("_ZN1SC1Ev", CODE + 0x80), ("_ZN1SC2Ev", CODE + 0x80)];
    let kept = Bench::new().kept(&macho(&debug(true), &variants));
    assert_eq!((kept.report.decided.folded_addresses, kept.report.decided.aliases), (0, 1));
}

/// mold makes global symbols local, after the file of another object if their own has none. An assembler writes the end of a function as an
/// address, which is erased with its start.
#[test]
fn a_local_symbol_may_stand_behind_the_file_of_another_object() {
    let own = line_program(&sequence(&[(CODE, 11)], CODE + 0x10));
    let stmt_list = (DW_AT_stmt_list, Offset(own.len() as u64));
    let mut second = Info::new(4, &[(DW_AT_name, Text("gone.s")), stmt_list]);
    let gone = [(DW_AT_low_pc, Address(0)), (DW_AT_high_pc, Address(0)), (DW_AT_external, Flag)];
    second.open(DW_TAG_subprogram, &[&[(DW_AT_name, Text("gone"))][..], &gone].concat()).close();
    let mut sections = two_units(Info::new(4, &[]).function("kept", CODE, 0x10), &mut second);
    sections.push((".debug_line", [own, line_program(&sequence(&[(CODE, 21)], CODE + 0x10))].concat()));
    sections.push((".comment", [b"\0", LLD.as_bytes(), b"\0"].concat()));
    let with = |files: &[Symbol<'_>]| {
        let symbols = [files, &[Local(("kept", CODE, 0x10)), Local(("gone", CODE, 0x10))]].concat();
        let kept = Bench::new().kept(&elf_with(CODE, &sections, &symbols));
        members(&kept, CODE)
    };
    let both = |how, line| [("kept".to_owned(), "live_range", 11), ("gone".to_owned(), how, line)];
    assert_eq!(with(&[File("other.c")]), both("symbol", 21));
    // The unit's object has a file, and this is another's.
    assert_eq!(with(&[File("gone.s"), File("other.c")]), both("symbol_only", 0));
}

/// glibc's `abort` is `__GI_abort` in its debug information.
#[test]
fn the_name_that_other_modules_see_is_shown() {
    let with = |own: Symbol<'static>, other: Symbol<'static>| {
        let shown = kept(GNU, false, &[File("unit.c"), own, other]);
        let frame = shown.frame(CODE).0;
        let bytes = SymbolFile::open(&shown.bytes).unwrap();
        let answer = bytes.lookup(ImageAddr(CODE), &mut Frames::new()).unwrap();
        let Lookup::Found(answer) = answer else { panic!("{answer:?}") };
        let function = bytes.records().function(answer.function).unwrap();
        let mut text = [0; 64];
        let mut name = |id| {
            String::from_utf8({
                let len = bytes.write_name(id, &mut text).unwrap();
                text[..len].to_vec()
            })
            .unwrap()
        };
        let others: Vec<String> =
            bytes.records().aliases(&function).map(|alias| name(alias.unwrap())).collect();
        (frame, others)
    };
    let named = |shown: &str, other: &str| (shown.to_owned(), vec![other.to_owned()]);
    let local = |name| Local((name, CODE, 0x10));
    let global = |name| Global((name, CODE, 0x10));
    assert_eq!(with(local("kept"), global("seen")), named("seen", "kept"));
    assert_eq!(with(global("kept"), local("hidden")), named("kept", "hidden"));
    // Of equals the last of the table, as llvm-symbolizer chooses.
    assert_eq!(with(global("kept"), global("seen")), named("seen", "kept"));
    // A part of the function is not the function.
    assert_eq!(with(local("kept"), Global(("begin", CODE, 4))), named("kept", "begin"));
    // Folded functions keep the names that they were found by.
    let folded = kept(LLD, false, &[File("unit.c"), File("other.s"), global("kept"), global("other")]);
    assert_eq!(names(&folded, CODE), ["kept", "other"]);
}

/// Only the file's tables of versions say what a version is: without them, `@` is a letter of the name.
#[test]
fn names_with_an_at_stay_whole() {
    for name in ["step@first.kind", "*Type@Base#method<Int32>:Nil", "f@@V2", "@"] {
        let shown = kept(GNU, false, &[File("unit.c"), Global((name, CODE + 0x80, 0x10))]);
        assert_eq!(shown.frame(CODE + 0x80).0, name);
    }
}
