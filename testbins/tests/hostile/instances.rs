//! Functions of one unit with the same name, file and line: gcc writes no linkage name for a function that is local to a unit, so instances
//! of one template differ only in the place of their declaration.

use foldsym_lookup::Certainty;
use gimli::{
    DW_AT_call_origin, DW_AT_call_return_pc, DW_AT_decl_file, DW_AT_decl_line, DW_AT_declaration,
    DW_AT_external, DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_AT_producer, DW_AT_specification,
    DW_TAG_call_site, DW_TAG_structure_type, DW_TAG_subprogram,
};

use crate::build::{CODE, Info, Symbol, Value, elf_with, line_program, sequence, with_code};
use crate::folds::{SHARED, called, members};
use crate::harness::{Bench, Kept};
use Value::{Address, Flag, Label, Number, Text};

/// Another address with a function.
const OTHER: u64 = CODE + 0x200;

/// A class with a method, as the label of it.
fn method(info: &mut Info, label: &'static str, name: &'static str, line: u64) {
    info.open(DW_TAG_structure_type, &[(DW_AT_name, Text("V"))]);
    let declared = [
        (DW_AT_name, Text(name)),
        (DW_AT_decl_file, Number(1)),
        (DW_AT_decl_line, Number(line)),
        (DW_AT_declaration, Flag),
    ];
    info.label(label).open(DW_TAG_subprogram, &declared).close().close();
}

/// The code of a method; without an address the compiler left it out.
fn code(info: &mut Info, label: &'static str, method: &'static str, start: Option<u64>) {
    let mut attributes = vec![(DW_AT_specification, Label(method))];
    attributes.extend(start.map(|start| (DW_AT_low_pc, Address(start))));
    attributes.extend(start.map(|_| (DW_AT_high_pc, Number(0x10))));
    info.label(label).open(DW_TAG_subprogram, &attributes).close();
}

/// A function that calls these: return address, and label.
fn caller(info: &mut Info, calls: &[(u64, &'static str)]) {
    let attributes =
        [(DW_AT_name, Text("caller")), (DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x40))];
    info.open(DW_TAG_subprogram, &attributes);
    for &(address, callee) in calls {
        let call = [(DW_AT_call_return_pc, Address(address)), (DW_AT_call_origin, Label(callee))];
        info.open(DW_TAG_call_site, &call).close();
    }
    info.close();
}

fn kept(info: &mut Info, lines: &[Vec<u8>], symbols: &[Symbol<'_>]) -> Kept {
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&lines.concat())));
    sections.push((".comment", b"\0Linker: LLD 22.1.8\0".to_vec()));
    Bench::new().kept(&elf_with(CODE, &sections, symbols))
}

fn some(expected: &[(&str, &'static str, u32)]) -> Vec<(String, &'static str, u32)> {
    expected.iter().map(|&(name, how, line)| (name.to_owned(), how, line)).collect()
}

fn lines(start: u64, line: i8) -> Vec<u8> {
    sequence(&[(start, line)], start + 0x10)
}

/// A linker that keeps addresses folded two of them: each is there, and a call names one.
#[test]
fn instances_at_one_address_are_functions_of_their_own() {
    let made = |second: &'static str| {
        let mut info = Info::new(4, &[]);
        method(&mut info, "declared", "run", 4);
        method(&mut info, "again", "run", 4);
        code(&mut info, "first", "declared", Some(SHARED));
        code(&mut info, "second", second, Some(SHARED));
        caller(&mut info, &[(CODE + 8, "first"), (CODE + 0x10, "second")]);
        kept(&mut info, &[lines(SHARED, 5)], &[])
    };
    let two = made("again");
    assert_eq!(members(&two, SHARED), some(&[("run", "live_range", 5), ("run", "live_range", 5)]));
    for address in [CODE + 8, CODE + 0x10] {
        assert_eq!(called(&two, address).0, Certainty::Exact);
    }
    assert_eq!(members(&made("declared"), SHARED), []);
}

/// The linker erased one of each two: each is found at the address of the other, with lines of its own.
#[test]
fn an_erased_instance_is_found_where_another_remains() {
    let mut info = Info::new(4, &[]);
    for (name, line, labels, start) in
        [("run", 4, ["run", "other run", "r", "r2"], SHARED), ("go", 7, ["go", "other go", "g", "g2"], OTHER)]
    {
        method(&mut info, labels[0], name, line);
        method(&mut info, labels[1], name, line);
        code(&mut info, labels[2], labels[0], Some(start));
        code(&mut info, labels[3], labels[1], Some(0));
    }
    let sequences = [lines(SHARED, 5), lines(SHARED, 5), lines(OTHER, 8), lines(OTHER, 8)];
    let found = kept(&mut info, &sequences, &[]);
    assert_eq!(members(&found, SHARED), some(&[("run", "live_range", 5), ("run", "line_sequence", 5)]));
    assert_eq!(members(&found, OTHER), some(&[("go", "live_range", 8), ("go", "line_sequence", 8)]));
}

/// gcc replaced one by the other before it made copies: then the calls of both name the remaining one.
#[test]
fn an_instance_without_code_is_one_of_the_others() {
    let made = |second: &'static str, calls: &[(u64, &'static str)]| {
        let mut info = Info::new(4, &[(DW_AT_producer, Text("GNU C++17 12.2.0"))]);
        method(&mut info, "declared", "run", 4);
        method(&mut info, "again", "run", 4);
        code(&mut info, "second", second, None);
        code(&mut info, "first", "declared", Some(SHARED));
        caller(&mut info, calls);
        let name = "_ZN12_GLOBAL__N_11VINS_1IEE3runEi.constprop.0";
        let symbols = [Symbol::File("unit.c"), Symbol::Local((name, SHARED, 0x10))];
        kept(&mut info, &[lines(SHARED, 5)], &symbols)
    };
    let found = made("again", &[(CODE + 8, "first"), (CODE + 0x10, "first")]);
    assert_eq!(members(&found, SHARED), some(&[("run", "live_range", 5), ("run", "call_site", 0)]));
    assert_eq!(called(&found, CODE + 8).0, Certainty::Ambiguous);
    // The description of the function with code.
    assert_eq!(members(&made("declared", &[(CODE + 8, "first")]), SHARED), []);
}

/// gcc made `g` jump to `f`, and then put the code of `f` in the place of that jump: `g` has lines, and no description of its
/// code, which the linker folded.
#[test]
fn a_function_without_code_has_the_lines_that_nobody_else_may_have() {
    let made = |names: &[&'static str], lines_of_g: usize| {
        let mut info = Info::new(4, &[(DW_AT_producer, Text("GNU C17 12.2.0"))]);
        let mut function = |name: &'static str, line, code: &[(gimli::DwAt, Value<'_>)]| {
            let declared = [(DW_AT_decl_file, Number(1)), (DW_AT_decl_line, Number(line))];
            let attributes =
                [&[(DW_AT_name, Text(name)), (DW_AT_external, Flag)], &declared[..], code].concat();
            info.label(name).open(DW_TAG_subprogram, &attributes).close();
        };
        function("f", 4, &[(DW_AT_low_pc, Address(SHARED)), (DW_AT_high_pc, Number(0x10))]);
        names.iter().for_each(|name| function(name, 8, &[]));
        caller(&mut info, &[(CODE + 8, "g")]);
        let lines = [vec![lines(SHARED, 5)], vec![lines(SHARED, 9); lines_of_g]].concat();
        let symbols = [
            Symbol::File("unit.c"),
            Symbol::Global(("f", SHARED, 0x10)),
            Symbol::Global(("g", SHARED, 0x10)),
        ];
        let mut sections = info.sections();
        sections.push((".debug_line", line_program(&lines.concat())));
        sections.push((".comment", b"\0Linker: LLD 22.1.8\0".to_vec()));
        // call SHARED
        let call = [&[0xe8][..], &((SHARED - CODE - 8) as u32).to_le_bytes()].concat();
        let program = with_code(elf_with(CODE, &sections, &symbols), CODE + 3, &call);
        members(&Bench::new().kept(&program), SHARED)
    };
    let (f, nameless) = (("f", "live_range", 5), ("", "symbol_only", 9));
    assert_eq!(made(&["g"], 0), some(&[f, ("g", "call_site", 0)]));
    assert_eq!(made(&["g"], 1), some(&[f, ("g", "call_site", 9)]));
    // One of them may be that of another.
    assert_eq!(made(&["g"], 2), some(&[f, ("g", "call_site", 0), nameless, nameless]));
    assert_eq!(made(&["g", "h"], 1), some(&[f, ("g", "call_site", 0), nameless]));
}

/// Names whose last component is not decoded, and names of local entities of a function, each of which names its function.
#[test]
fn of_several_names_none_is_given_to_the_only_function() {
    let made = |own: &'static str, names: &[&str]| {
        let mut info = Info::new(4, &[]);
        method(&mut info, "declared", own, 4);
        code(&mut info, "only", "declared", Some(SHARED));
        let symbols: Vec<Symbol<'_>> = [Symbol::File("unit.c")]
            .into_iter()
            .chain(names.iter().map(|n| Symbol::Local((n, SHARED, 0x10))))
            .collect();
        let found = kept(&mut info, &[lines(SHARED, 5)], &symbols);
        let names: Vec<String> = members(&found, SHARED).into_iter().map(|member| member.0).collect();
        (found.frame(SHARED).0, names)
    };
    for (own, first, second) in [
        ("f", "_ZN1aIXadL_Z1gvEEE1fEv", "_ZN1aIXadL_Z1hvEEE1fEv"),
        ("go", "_ZZ1fIiEvvEN1S2goEi", "_ZZ1fIlEvvEN1S2goEi"),
    ] {
        let alone = (first.to_owned(), vec![]);
        assert_eq!(made(own, &[first]), alone);
        let (frame, all) = made(own, &[first, second]);
        assert_eq!((frame, all), (own.to_owned(), [own, first, second].map(str::to_owned).to_vec()));
    }
    // Variants of a constructor are one function.
    let (frame, all) = made("S", &["_ZZ1fvEN1SC1Ev", "_ZZ1fvEN1SC2Ev"]);
    assert!(frame.starts_with("_ZZ1fvEN1SC") && all.is_empty(), "{frame} {all:?}");
}

/// `A::g` was merged with `A::f` by gcc, and has no code; the symbol table has it, and `B::g` elsewhere. `g` of the debug
/// information is the latter.
#[test]
fn a_method_is_not_that_of_another_class_whose_symbol_comes_first() {
    let mut info = Info::new(4, &[]);
    for (name, line, start) in [("x", 2, SHARED), ("y", 20, OTHER), ("f", 9, 0), ("g", 5, 0)] {
        let declared =
            [(DW_AT_name, Text(name)), (DW_AT_decl_file, Number(1)), (DW_AT_decl_line, Number(line))];
        let code = [(DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(0x10))];
        info.open(DW_TAG_subprogram, &[&declared[..], &code].concat()).close();
    }
    let all = [lines(SHARED, 3), lines(SHARED, 9), lines(OTHER, 21), lines(OTHER, 5)];
    let local = |name, start| Symbol::Local((name, start, 0x10));
    let (f, g) = ("_ZN12_GLOBAL__N_11A1fEi", "_ZN12_GLOBAL__N_11A1gEi");
    let other = "_ZN12_GLOBAL__N_11B1gEi";
    let symbols = [
        Symbol::File("unit.c"),
        local("x", SHARED),
        local("y", OTHER),
        local(f, SHARED),
        local(g, SHARED),
        local(other, OTHER),
    ];
    let kept = kept(&mut info, &all, &symbols);
    let first = some(&[("x", "live_range", 3), (f, "symbol", 9), (g, "symbol_only", 0)]);
    assert_eq!(members(&kept, SHARED), first);
    assert_eq!(members(&kept, OTHER), some(&[("y", "live_range", 21), (other, "line_sequence", 5)]));
}

/// gcc writes no linkage name for a destructor that is local to its unit: `~A` is it, and its variants are names of it.
#[test]
fn a_local_destructor_stands_once() {
    let mut info = Info::new(4, &[]);
    info.function("~A", SHARED, 0x10).function("~B", 0, 0x10);
    let local = |name, start| Symbol::Local((name, start, 0x10));
    let names = ["_ZN12_GLOBAL__N_11AD2Ev", "_ZN12_GLOBAL__N_11AD1Ev", "_ZN12_GLOBAL__N_11BD2Ev"];
    let mut symbols = vec![Symbol::File("unit.c")];
    symbols.extend(names.map(|name| local(name, SHARED)));
    let both = kept(&mut info, &[lines(SHARED, 3), lines(SHARED, 9)], &symbols);
    let names = members(&both, SHARED).into_iter().map(|member| (member.0, member.1)).collect::<Vec<_>>();
    let expected = [("_ZN12_GLOBAL__N_11AD1Ev", "live_range"), ("_ZN12_GLOBAL__N_11BD2Ev", "symbol")];
    assert_eq!(names, expected.map(|(name, how)| (name.to_owned(), how)));
    assert_eq!(both.report.decided.aliases, 1);
}
