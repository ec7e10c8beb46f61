//! Functions that a linker folded, and that no DIE names, or that a DIE gives another name: no function is taken for the only one.

use foldsym_convert::report::Kind;
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use gimli::{
    DW_AT_call_origin, DW_AT_call_return_pc, DW_AT_decl_file, DW_AT_decl_line, DW_AT_declaration,
    DW_AT_external, DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_AT_stmt_list, DW_TAG_call_site,
    DW_TAG_subprogram,
};

use crate::build::Symbol::{File, Global, GlobalLabel, Label, Local};
use crate::build::{CODE, Info, Symbol, Value, elf_with, line_program, sequence, two_units};
use crate::folds::members;
use crate::harness::{Bench, Kept};
use Value::{Address, Flag, Number, Offset, Text};

const LLD: &str = ".comment";

fn comment(text: &str) -> (&'static str, Vec<u8>) {
    (LLD, [b"\0", text.as_bytes(), b"\0"].concat())
}

fn function(info: &mut Info, name: &'static str, line: u64, start: u64, external: bool) {
    let mut attributes = vec![
        (DW_AT_name, Text(name)),
        (DW_AT_decl_file, Number(1)),
        (DW_AT_decl_line, Number(line)),
        (DW_AT_low_pc, Address(start)),
        (DW_AT_high_pc, Number(0x10)),
    ];
    attributes.extend(external.then_some((DW_AT_external, Flag)));
    info.open(DW_TAG_subprogram, &attributes).close();
}

fn names(kept: &Kept, address: u64) -> Vec<(String, &'static str, u32)> {
    members(kept, address)
}

fn some(expected: &[(&str, &'static str, u32)]) -> Vec<(String, &'static str, u32)> {
    expected.iter().map(|&(name, how, line)| (name.to_owned(), how, line)).collect()
}

/// `kept` of `unit.c` is described, at line 10.
fn described(linker: &str, symbols: &[Symbol<'_>]) -> Kept {
    let mut info = Info::new(4, &[]);
    function(&mut info, "kept", 10, CODE, true);
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&sequence(&[(CODE, 11)], CODE + 0x10))));
    if !linker.is_empty() {
        sections.push(comment(linker));
    }
    Bench::new().kept(&elf_with(CODE, &sections, symbols))
}

/// The program has a function that no unit covers, though each file of the symbol table has a unit: an assembler need not name a file. That
/// the linker folded functions elsewhere shows nothing about a name here: C has aliases.
#[test]
fn a_plain_name_may_be_of_a_function_that_its_compiler_does_not_describe() {
    const ELSEWHERE: u64 = CODE + 0x100;
    let all = [File("unit.c"), Global(("kept", CODE, 0x10)), Global(("other", CODE, 0x10))];
    let both = some(&[("kept", "live_range", 11), ("other", "symbol_only", 0)]);
    let folded = [Global(("_Z1av", ELSEWHERE, 8)), Global(("_Z1bv", ELSEWHERE, 8))];
    let variants = [Global(("_ZN1SC1Ev", ELSEWHERE, 8)), Global(("_ZN1SC2Ev", ELSEWHERE, 8))];
    for (linker, more, expected) in [
        ("Linker: LLD 22.1.8", &[][..], 0),
        ("Linker: LLD 22.1.8", &folded[..], 0),
        ("", &folded[..], 0),
        ("GNU ld (GNU Binutils) 2.40", &folded[..], 0),
        ("Linker: LLD 22.1.8", &variants[..], 0),
        ("Linker: LLD 22.1.8", &[Global(("uncovered", ELSEWHERE, 8))][..], 2),
        ("", &[Global(("uncovered", ELSEWHERE, 8))][..], 0),
        // A part of a described function; functions that compilers and C libraries add; a copy; a label within a file.
        ("Linker: LLD 22.1.8", &[Global(("inside", CODE + 4, 4))][..], 0),
        ("Linker: LLD 22.1.8", &[Global(("__clang_call_terminate", ELSEWHERE, 8))][..], 0),
        ("Linker: LLD 22.1.8", &[Global(("f.resolver", ELSEWHERE, 8))][..], 0),
        ("Linker: LLD 22.1.8", &[Label(("uncovered", ELSEWHERE, 0))][..], 0),
        // Where the code of Go's linker begins and ends.
        ("Linker: LLD 22.1.8", &[Global(("runtime.text", ELSEWHERE, 0))][..], 0),
        // Assembly code need not give a size, nor a type.
        ("Linker: LLD 22.1.8", &[Global(("uncovered", ELSEWHERE, 0))][..], 2),
        ("Linker: LLD 22.1.8", &[GlobalLabel(("uncovered", ELSEWHERE, 0))][..], 2),
    ] {
        let kept = described(linker, &[&all[..], more].concat());
        let expected = if expected == 0 { Vec::new() } else { both.clone() };
        assert_eq!(names(&kept, CODE), expected, "{linker} {}", more.len());
    }
}

/// A name without a DIE is an alias only if no object can have a function of that name.
#[test]
fn a_plain_name_may_be_of_an_object_without_debug_information() {
    let kept = Global(("kept", CODE, 0x10));
    let other = Global(("other", CODE, 0x10));
    let both = some(&[("kept", "live_range", 11), ("other", "symbol_only", 0)]);
    for linker in ["Linker: LLD 22.1.8", "mold 1.10.1 (compatible with GNU ld)", "clang, then ld.lld, LLD"] {
        let undescribed = [File("unit.c"), File("other.c"), kept, other];
        assert_eq!(names(&described(linker, &undescribed), CODE), both, "{linker}");
        // Two objects of one name, and one unit.
        assert_eq!(names(&described(linker, &[File("unit.c"), File("unit.c"), kept, other]), CODE), both);
        // All objects are described, but for the compiler's own.
        for files in [&[File("a/unit.c"), File("crtstuff.c")][..], &[]] {
            let symbols = [files, &[kept, other]].concat();
            assert_eq!(names(&described(linker, &symbols), CODE), [], "{linker}");
        }
    }
    // GNU ld folds nothing, and of an unknown linker nothing shows that it did.
    for linker in ["GCC: (Debian) 12.2.0", ""] {
        let undescribed = [File("unit.c"), File("other.c"), kept, other];
        assert_eq!(names(&described(linker, &undescribed), CODE), [], "{linker}");
    }
}

#[test]
fn the_file_of_a_local_name_tells_whose_it_is() {
    let kept = Global(("kept", CODE, 0x10));
    let local = Local(("helper", CODE, 0x10));
    for (file, expected) in [
        ("unit.c", some(&[])),
        ("other.c", some(&[("kept", "live_range", 11), ("helper", "symbol_only", 0)])),
    ] {
        let found = described("Linker: LLD 22.1.8", &[File(file), local, kept]);
        assert_eq!(names(&found, CODE), expected, "{file}");
    }
    // A function of the same name, in another file.
    let same = described("Linker: LLD 22.1.8", &[File("other.c"), Local(("kept", CODE, 0x10)), kept]);
    assert_eq!(names(&same, CODE), some(&[("kept", "live_range", 11), ("kept", "symbol_only", 0)]));
    let same = described("GCC: 12", &[File("other.c"), Local(("kept", CODE, 0x10)), kept]);
    assert_eq!(names(&same, CODE), []);
}

/// For a name that is too short or too long nothing is known.
#[test]
fn a_name_of_another_size_is_an_alias() {
    let symbols = [File("unit.c"), File("other.c"), Global(("kept", CODE, 0x10)), Global(("other", CODE, 8))];
    assert_eq!(names(&described("Linker: LLD 22", &symbols), CODE), []);
}

/// Without any debug information only the symbol table shows what was folded.
#[test]
fn local_names_of_two_files_are_two_functions() {
    let names_at = |symbols: &[Symbol<'_>], linker: &str| {
        names(&Bench::new().kept(&elf_with(CODE, &[comment(linker)], symbols)), CODE)
    };
    let two = |a, b| [File("a.c"), Local((a, CODE, 0x10)), File("b.c"), Local((b, CODE, 0x10))];
    for (a, b) in [("f", "g"), ("f", "f")] {
        let both = some(&[(a, "symbol_only", 0), (b, "symbol_only", 0)]);
        assert_eq!(names_at(&two(a, b), "Linker: LLD"), both);
        assert_eq!(names_at(&two(a, b), "GCC: 12"), []);
    }
    // Where something was folded, other names may be of others too.
    let folded = [Global(("_Z1av", CODE + 0x20, 4)), Global(("_Z1bv", CODE + 0x20, 4))];
    let plain = [Global(("first", CODE, 0x10)), Global(("second", CODE, 0x10))];
    assert_eq!(names_at(&plain, "Linker: LLD"), []);
    let both = some(&[("first", "symbol_only", 0), ("second", "symbol_only", 0)]);
    assert_eq!(names_at(&[plain, folded].concat(), "Linker: LLD"), both);
    // But not the names that a C library gives one function, unless they are of two objects.
    let library = [Global(("read", CODE, 0x10)), Global(("__read", CODE, 0x10))];
    assert_eq!(names_at(&[library, folded].concat(), "Linker: LLD"), []);
    let apart = [File("a.c"), Local(("read", CODE, 0x10)), File("b.c"), Local(("__read", CODE, 0x10))];
    let both = some(&[("__read", "symbol_only", 0), ("read", "symbol_only", 0)]);
    assert_eq!(names_at(&[&apart[..], &folded].concat(), "Linker: LLD"), both);
}

/// Two names that a C library might give one function are two, where calls name both.
#[test]
fn calls_show_that_names_as_of_a_library_are_two_functions() {
    const OTHER: u64 = CODE + 0x100;
    let at = |callees: &[&'static str]| {
        let mut info = Info::new(4, &[]);
        for &name in callees {
            let declared = [(DW_AT_name, Text(name)), (DW_AT_external, Flag), (DW_AT_declaration, Flag)];
            info.label(name).open(DW_TAG_subprogram, &declared).close();
        }
        let caller =
            [(DW_AT_name, Text("caller")), (DW_AT_low_pc, Address(OTHER)), (DW_AT_high_pc, Number(0x40))];
        info.open(DW_TAG_subprogram, &caller);
        for (at, &name) in (1..).zip(callees) {
            let call =
                [(DW_AT_call_return_pc, Address(OTHER + 8 * at)), (DW_AT_call_origin, Value::Label(name))];
            info.open(DW_TAG_call_site, &call).close();
        }
        info.close();
        let mut sections = info.sections();
        sections.push(comment("Linker: LLD"));
        let own = [File("unit.c"), Global(("caller", OTHER, 0x40))];
        let plain = ["__run", "run"].map(|name| Global((name, CODE, 0x10)));
        let folded = ["_Z1av", "_Z1bv"].map(|name| Global((name, CODE + 0x20, 4)));
        let symbols = [&own[..], &plain, &folded].concat();
        names(&Bench::new().kept(&elf_with(CODE, &sections, &symbols)), CODE).len()
    };
    assert_eq!(at(&["run"]), 0);
    assert_eq!(at(&["run", "__run"]), 2);
}

/// gcc's copies of local functions: the file of each symbol says which of the functions of one name it is of.
#[test]
fn copies_of_one_name_are_those_of_the_functions_of_their_files() {
    let kept = |files: [&'static str; 2], symbols: &[(&'static str, &'static str)]| {
        let [mut first, mut second] = files.map(|file| Info::new(4, &[(DW_AT_name, Text(file))]));
        function(&mut first, "helper", 10, CODE, false);
        function(&mut second, "helper", 20, CODE, false);
        let mut sections = two_units(&mut first, &mut second);
        sections.push(comment("Linker: LLD"));
        let symbols = symbols.iter().flat_map(|&(file, name)| [File(file), Local((name, CODE, 0x10))]);
        Bench::new().kept(&elf_with(CODE, &sections, &symbols.collect::<Vec<_>>()))
    };
    let at = |files: [&'static str; 2], symbols: &[(&'static str, &'static str)]| {
        let found = members(&kept(files, symbols), CODE);
        found.into_iter().map(|(name, how, _)| (name, how)).collect::<Vec<_>>()
    };
    let (copy, other) = ("helper.constprop.0", "helper.isra.0");
    // Of each member the name, and the line at which its function is declared.
    let declared = |kept: &Kept| -> Vec<(String, u32)> {
        let file = SymbolFile::open(&kept.bytes).unwrap();
        let mut frames = Frames::new();
        let Lookup::Found(found) = file.lookup(ImageAddr(CODE), &mut frames).unwrap() else {
            panic!("no code")
        };
        let line = |index| {
            let function = file.member_frames(&found, index, &mut frames).unwrap().function;
            file.records().origin(file.records().function(function).unwrap().origin).unwrap().line
        };
        let lines: Vec<u32> = (0..found.member_count()).map(line).collect();
        members(kept, CODE).into_iter().map(|(name, ..)| name).zip(lines).collect()
    };
    for symbols in [[("a.c", copy), ("b.c", other)], [("b.c", other), ("a.c", copy)]] {
        assert_eq!(
            declared(&kept(["a.c", "b.c"], &symbols)),
            [(copy.to_owned(), 10), (other.to_owned(), 20)]
        );
    }
    let described = |name: &str| (name.to_owned(), "live_range");
    let (both, third) = ([described(copy), described(copy)], (copy.to_owned(), "symbol_only"));
    assert_eq!(at(["a.c", "b.c"], &[("a.c", copy), ("b.c", copy)]), both);
    assert_eq!(at(["a.c", "b.c"], &[("b.c", copy), ("a.c", copy)]), both);
    // A third function, of a file without debug information, has that name too.
    let all = at(["a.c", "b.c"], &[("a.c", copy), ("b.c", copy), ("c.c", copy)]);
    assert!(all.contains(&third) && all.len() == 3, "{all:?}");
    // Two files have one name, so nothing shows which symbol belongs to which: none is left out.
    let unsure = at(["a.c", "a.c"], &[("a.c", copy), ("a.c", copy)]);
    assert!(unsure.len() >= 2, "{unsure:?}");
}

/// A unit of `-g1` has lines, and no DIE: they show a function, with its lines or with its name.
#[test]
fn lines_of_a_unit_that_has_no_function_there_show_one() {
    let own = line_program(&sequence(&[(CODE, 11)], CODE + 0x10));
    let stmt_list = (DW_AT_stmt_list, Offset(own.len() as u64));
    let lines = [own, line_program(&sequence(&[(CODE, 31)], CODE + 0x10))].concat();
    let with = |symbols: &[Symbol<'_>], linker: &str| {
        let mut first = Info::new(4, &[]);
        function(&mut first, "kept", 10, CODE, true);
        let mut second = Info::new(4, &[(DW_AT_name, Text("second.c")), stmt_list]);
        let mut sections = two_units(&mut first, &mut second);
        sections.extend([(".debug_line", lines.clone()), comment(linker)]);
        names(&Bench::new().kept(&elf_with(CODE, &sections, symbols)), CODE)
    };
    let kept = Global(("kept", CODE, 0x10));
    let other = Global(("other", CODE, 0x10));
    for (symbols, linker, expected) in [
        (&[kept][..], "Linker: LLD", some(&[("kept", "live_range", 11), ("", "symbol_only", 31)])),
        (&[kept, other], "Linker: LLD", some(&[("kept", "live_range", 11), ("other", "symbol_only", 0)])),
        (&[kept, other], "GCC: 12", some(&[])),
    ] {
        assert_eq!(with(symbols, linker), expected, "{linker}");
    }
}

/// Two units of `-g1` have lines at one address, and no function: two functions were folded, and nothing shows which lines belong to which.
#[test]
fn lines_of_two_units_without_functions_are_of_two() {
    let own = line_program(&sequence(&[(CODE, 11)], CODE + 0x10));
    let stmt_list = (DW_AT_stmt_list, Offset(own.len() as u64));
    let lines = [own, line_program(&sequence(&[(CODE, 31)], CODE + 0x10))].concat();
    let (one, other) = (Global(("one", CODE, 0x10)), Global(("other", CODE, 0x10)));
    for (linker, expected) in [
        ("Linker: LLD", some(&[("one", "symbol_only", 0), ("other", "symbol_only", 0)])),
        ("GCC: 12", some(&[])),
    ] {
        let mut second = Info::new(4, &[(DW_AT_name, Text("second.c")), stmt_list]);
        let mut sections = two_units(&mut Info::new(4, &[]), &mut second);
        sections.extend([(".debug_line", lines.clone()), comment(linker)]);
        let symbols = [File("unit.c"), File("second.c"), one, other];
        assert_eq!(
            names(&Bench::new().kept(&elf_with(CODE, &sections, &symbols)), CODE),
            expected,
            "{linker}"
        );
    }
}

/// The symbol of a static function was removed; the symbol of a function that was folded into it was not.
#[test]
fn a_plain_symbol_does_not_rename_the_function_that_is_described() {
    let named = |linker: &str| {
        let kept = described(linker, &[Global(("other", CODE, 0x10))]);
        kept.frames(CODE).last().map(|frame| (frame.0.clone(), frame.2))
    };
    assert_eq!(named("Linker: LLD"), Some(("kept".to_owned(), 11)));
    // No linker folded it: another name for the same.
    assert_eq!(named("GCC: 12"), Some(("other".to_owned(), 11)));
}

/// The prefix of compilers' own files is not a name of one.
#[test]
fn a_file_named_as_start_up_code_begins_may_be_the_users() {
    let symbols =
        [File("unit.c"), File("crtutil.c"), Global(("kept", CODE, 0x10)), Global(("other", CODE, 0x10))];
    let both = some(&[("kept", "live_range", 11), ("other", "symbol_only", 0)]);
    assert_eq!(names(&described("Linker: LLD 22.1.8", &symbols), CODE), both);
}

/// A global function was folded into a static one of the same name, and the other way round.
#[test]
fn a_static_function_is_not_the_global_one_of_its_name() {
    for global_remains in [false, true] {
        let own = line_program(&sequence(&[(CODE, 11)], CODE + 0x10));
        let stmt_list = (DW_AT_stmt_list, Offset(own.len() as u64));
        let lines = [own, line_program(&sequence(&[(CODE, 31)], CODE + 0x10))].concat();
        let mut first = Info::new(4, &[]);
        function(&mut first, "f", 10, CODE, global_remains);
        let mut second = Info::new(4, &[(DW_AT_name, Text("second.c")), stmt_list]);
        function(&mut second, "f", 30, 0, !global_remains);
        let mut sections = two_units(&mut first, &mut second);
        sections.push((".debug_line", lines));
        let file = if global_remains { "second.c" } else { "unit.c" };
        let symbols = [File(file), Local(("f", CODE, 0x10)), Global(("f", CODE, 0x10))];
        let kept = Bench::new().kept(&elf_with(CODE, &sections, &symbols));
        let expected = some(&[("f", "live_range", 11), ("f", "symbol", 31)]);
        assert_eq!(names(&kept, CODE), expected, "{global_remains}");
        assert_eq!((kept.count(Kind::CopyOfLive), kept.count(Kind::FoldedFunction)), (0, 1));
    }
}

/// The symbol table names files without their folders: a removed function has the name of one that remains.
#[test]
fn a_removed_function_does_not_stand_where_another_of_its_name_does() {
    let own = line_program(&sequence(&[(0, 11)], 0x10));
    let stmt_list = (DW_AT_stmt_list, Offset(own.len() as u64));
    let lines = [own, line_program(&sequence(&[(CODE, 31)], CODE + 0x10))].concat();
    let mut first = Info::new(4, &[(DW_AT_name, Text("x/util.c"))]);
    function(&mut first, "f", 10, 0, false);
    function(&mut first, "last", 40, CODE + 0x100, true);
    let mut second = Info::new(4, &[(DW_AT_name, Text("y/util.c")), stmt_list]);
    function(&mut second, "f", 30, CODE, false);
    let mut sections = two_units(&mut first, &mut second);
    sections.push((".debug_line", [lines, Vec::new()].concat()));
    let symbols = [File("util.c"), File("util.c"), Local(("f", CODE, 0x10))];
    let kept = Bench::new().kept(&elf_with(CODE, &sections, &symbols));
    assert_eq!(names(&kept, CODE), []);
    assert_eq!((kept.count(Kind::DeadFunction), kept.count(Kind::FoldedFunction)), (1, 0));
}

/// gcc gives a local function no linkage name. Its file and the arguments of its template may show which of the overloads at its address it
/// is. No name is lost.
#[test]
fn overloads_of_a_plain_name_are_all_there() {
    let local = |name| Local((name, CODE, 0x10));
    let of = |described: &[&'static str], symbols: &[Symbol<'_>]| {
        let mut info = Info::new(4, &[]);
        for (at, name) in described.iter().enumerate() {
            function(&mut info, name, 10 + at as u64, CODE, false);
        }
        let kept = Bench::new().kept(&elf_with(CODE, &info.sections(), symbols));
        names(&kept, CODE).into_iter().map(|(name, how, _)| (name, how)).collect::<Vec<_>>()
    };
    let (int, long) = (local("_ZL1fi"), local("_ZL1fl"));
    let (die, symbol) = ("live_range", "symbol_only");
    for (described, symbols, expected) in [
        (&["f"][..], &[File("unit.c"), int][..], &[][..]),
        // One of the two is the function that is described.
        (&["f"], &[File("unit.c"), int, long], &[("f", die), ("_ZL1fi", symbol), ("_ZL1fl", symbol)]),
        (&["f"], &[File("unit.c"), long, File("other.c"), int], &[("_ZL1fl", die), ("_ZL1fi", symbol)]),
        // Each has one of them, but nothing shows which.
        (&["f", "f"], &[File("unit.c"), int, long], &[("f", die), ("f", die)]),
        (
            &["f<int>", "f<long>"],
            &[File("unit.c"), local("_ZL1fIlEvT_"), local("_ZL1fIiEvT_")],
            &[("_ZL1fIiEvT_", die), ("_ZL1fIlEvT_", die)],
        ),
        (
            &["f<int>"],
            &[File("unit.c"), local("_ZL1fIlEvT_"), local("_ZL1fIiEvT_"), int],
            &[("_ZL1fIiEvT_", die), ("_ZL1fIlEvT_", symbol), ("_ZL1fi", symbol)],
        ),
    ] {
        let expected: Vec<_> = expected.iter().map(|&(name, how)| (name.to_owned(), how)).collect();
        assert_eq!(of(described, symbols), expected, "{described:?}");
    }
}

/// gcc gives a function that is local to another only a plain name. If gold folds such functions of several files it leaves one symbol:
/// that of the one inside the function that it names.
#[test]
fn a_symbol_is_that_of_the_function_inside_the_one_that_it_names() {
    let made = |files: [&'static str; 2], lines: [u64; 2], local: &'static str, symbol: &'static str| {
        let [mut first, mut second] = files.map(|file| Info::new(4, &[(DW_AT_name, Text(file))]));
        let enclosing = [("_Z6entryAl", CODE + 0x100), ("_Z6entryBl", CODE + 0x200)];
        for ((info, (enclosing, start)), line) in
            [&mut first, &mut second].into_iter().zip(enclosing).zip(lines)
        {
            function(info, enclosing, 1, start, true);
            function(info, local, line, CODE, false);
        }
        let mut sections = two_units(&mut first, &mut second);
        sections.push((".note.gnu.gold-version", vec![0; 16]));
        let enclosing = enclosing.map(|(name, start)| Global((name, start, 0x10)));
        let symbols =
            [&[File(files[0]), Local((symbol, CODE, 0x10)), File(files[1])][..], &enclosing].concat();
        let found = names(&Bench::new().kept(&elf_with(CODE, &sections, &symbols)), CODE);
        found.into_iter().map(|(name, ..)| name).collect::<Vec<_>>()
    };
    let twice = "_ZZ6entryAlEN5Local5twiceEv";
    let isra = "_ZZ6entryAlEN5Local5twiceEv.isra.0";
    for symbol in [twice, isra] {
        for files in [["a.cc", "b.cc"], ["same.cc", "same.cc"]] {
            assert_eq!(made(files, [5, 6], "twice", symbol), [symbol, "twice"], "{files:?}");
            // Of one line too: a template, or a macro.
            assert_eq!(made(files, [5, 5], "twice", symbol), [symbol, "twice"], "{files:?}");
        }
    }
    let lambda = "_ZZ6entryAlENKUllE_clEl";
    assert_eq!(made(["a.cc", "b.cc"], [5, 5], "operator()", lambda), [lambda, "operator()"]);
    // If declared in a source file, the other may have another type; if in a header, both are one function of the source.
    assert_eq!(made(["a.cc", "b.cc"], [5, 6], "f", "_ZL1fj"), ["_ZL1fj", "f"]);
    assert_eq!(made(["a.cc", "b.cc"], [5, 5], "f", "_ZL1fj"), ["_ZL1fj", "_ZL1fj"]);
}

/// gcc adds a second name to a function whose mangling changed (`-fabi-compat-version`); it describes neither a second function nor an
/// address for it. A function that gcc merged is described without an address.
#[test]
fn a_second_mangling_is_another_name() {
    let made = |producer: &'static str, linker: &str, second: &'static str, codeless: bool| {
        let mut info = Info::new(4, &[(gimli::DW_AT_producer, Text(producer))]);
        function(&mut info, "_ZSt8exchangeIPvDnET_RS1_OT0_", 10, CODE, true);
        if codeless {
            info.open(DW_TAG_subprogram, &[(DW_AT_name, Text(second)), (DW_AT_external, Flag)]).close();
        }
        let mut sections = info.sections();
        sections.push(comment(linker));
        let symbols = ["_ZSt8exchangeIPvDnET_RS1_OT0_", second].map(|name| Global((name, CODE, 0x10)));
        names(&Bench::new().kept(&elf_with(CODE, &sections, &symbols)), CODE).len()
    };
    let (gcc, second) = ("GNU C++17 12.2.0 -O2", "_ZSt8exchangeIPvDnET_RS2_OT0_");
    assert_eq!(made(gcc, "GCC: 12", second, false), 0);
    assert_eq!(made(gcc, "GCC: 12", second, true), 2);
    // It may be a folded function of an object without debug information; other compilers merge and leave no description.
    assert_eq!(made(gcc, "Linker: LLD", second, false), 2);
    assert_eq!(made("clang version 22", "GCC: 12", second, false), 2);
    assert_eq!(made("GNU GIMPLE 12.2.0", "GCC: 12", second, false), 2);
    // With any linker: the beginning of an argument pack.
    let pack = |linker| {
        let mut info = Info::new(4, &[]);
        function(&mut info, "_Z1kIJiEEvDpT_", 10, CODE, true);
        let mut sections = info.sections();
        sections.push(comment(linker));
        let symbols = ["_Z1kIJiEEvDpT_", "_Z1kIIiEEvDpT_"].map(|name| Global((name, CODE, 0x10)));
        names(&Bench::new().kept(&elf_with(CODE, &sections, &symbols)), CODE).len()
    };
    assert_eq!([pack("Linker: LLD"), pack("GCC: 12")], [0, 0]);
}

/// An assembler may give code two names and describe neither: also in a program that was folded its lines are the code's.
#[test]
fn lines_do_not_depend_on_how_many_names_there_are() {
    let made = |symbols: &[Symbol<'_>]| {
        let mut info = Info::new(4, &[(DW_AT_stmt_list, Offset(0))]);
        function(&mut info, "elsewhere", 10, CODE + 0x100, true);
        let mut sections = info.sections();
        let lines = [sequence(&[(CODE, 31)], CODE + 8), sequence(&[(CODE + 0x100, 11)], CODE + 0x110)];
        sections.extend([(".debug_line", line_program(&lines.concat())), comment("Linker: LLD")]);
        let folded = ["_Z1av", "_Z1bv"].map(|name| Global((name, CODE + 0x200, 8)));
        let kept = Bench::new().kept(&elf_with(CODE, &sections, &[symbols, &folded].concat()));
        let (_, file, line) = kept.frame(CODE);
        (file, line)
    };
    let names = ["div_a", "div_b"].map(|name| Global((name, CODE, 8)));
    for names in [&names[..1], &names] {
        assert_eq!(made(names), ("/made/unit.c".to_owned(), 31), "{}", names.len());
    }
}

/// An object with `-g1` has lines for its functions, and one without debug information has none. If the linker folded one function of each,
/// only a name of the file with lines may have the lines.
#[test]
fn lines_of_one_file_are_not_those_of_a_name_of_another() {
    let lines = |symbols: &[Symbol<'_>]| {
        let mut info = Info::new(4, &[(DW_AT_name, Text("lines.cc")), (DW_AT_stmt_list, Offset(0))]);
        function(&mut info, "elsewhere", 10, CODE + 0x100, true);
        let mut sections = info.sections();
        let lines = [sequence(&[(CODE, 31)], CODE + 8), sequence(&[(CODE + 0x100, 11)], CODE + 0x110)];
        sections.extend([(".debug_line", line_program(&lines.concat())), comment("Linker: LLD")]);
        names(&Bench::new().kept(&elf_with(CODE, &sections, symbols)), CODE)
    };
    let two = |one: (&str, u32), other: (&str, u32)| {
        some(&[one, other].map(|(name, line)| (name, "symbol_only", line)))
    };
    let local = |name| Local((name, CODE, 8));
    let [one, other] = ["_ZN1A1fEv", "_ZN1B1fEv"].map(|name| Global((name, CODE, 8)));
    let elsewhere = Local(("here", CODE + 0x60, 8));
    let made = |bare: Symbol<'static>, own: Symbol<'static>, more: &[Symbol<'static>]| {
        lines(&[&[File("bare.cc"), bare, File("lines.cc"), own, File("last.cc")], more].concat())
    };
    assert_eq!(made(local("_ZL1fv"), local("_ZL1gv"), &[]), two(("_ZL1fv", 0), ("_ZL1gv", 31)));
    // Nothing shows the file of a global name.
    assert_eq!(made(elsewhere, elsewhere, &[one, other]), two(("_ZN1A1fEv", 0), ("_ZN1B1fEv", 0)));
    assert_eq!(made(local("_ZL1fv"), elsewhere, &[one]), two(("_ZL1fv", 0), ("_ZN1A1fEv", 31)));
    assert_eq!(made(elsewhere, local("_ZL1gv"), &[one]), two(("_ZL1gv", 31), ("_ZN1A1fEv", 0)));
}

/// GNU ld gives the entries of a discarded COMDAT section the addresses of the kept one. A name of a discarded function at another
/// function's address is an alias.
#[test]
fn a_linker_that_cannot_fold_leaves_one_function() {
    let made = |linker: &str, gone: (&'static str, u64), external: bool, symbols: &[Symbol<'_>]| {
        let [mut first, mut second] = ["a.cc", "b.cc"].map(|file| Info::new(4, &[(DW_AT_name, Text(file))]));
        function(&mut first, "kept", 10, CODE, external);
        function(&mut second, gone.0, 10, gone.1, external);
        let mut sections = two_units(&mut first, &mut second);
        sections.push(comment(linker));
        names(&Bench::new().kept(&elf_with(CODE, &sections, symbols)), CODE)
    };
    let local = [File("a.cc"), Local(("kept", CODE, 0x10)), File("b.cc")];
    let two = some(&[("kept", "live_range", 0), ("kept", "live_range", 0)]);
    assert_eq!(made("Linker: LLD", ("kept", CODE), false, &local), two);
    assert_eq!(made("GCC: 12", ("kept", CODE), false, &local), []);
    // Of another name it is another function.
    let two = some(&[("kept", "live_range", 0), ("other", "live_range", 0)]);
    assert_eq!(made("GCC: 12", ("other", CODE), false, &local), two);

    let global = ["kept", "gone"].map(|name| Global((name, CODE, 0x10)));
    let two = some(&[("kept", "live_range", 0), ("gone", "symbol", 0)]);
    assert_eq!(made("Linker: LLD", ("gone", 0), true, &global), two);
    assert_eq!(made("GCC: 12", ("gone", 0), true, &global), []);
}
