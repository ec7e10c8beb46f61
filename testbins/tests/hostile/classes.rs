//! Methods that share code, of classes with virtual bases, and of classes whose methods gcc gives no linkage names. An object's vtable
//! pointer shows which one ran, if the vtable's class is known.

use foldsym_lookup::{Certainty, ImageAddr, Resolved, ReturnAddr, StackAddr, SymbolFile};
use gimli::{
    DW_AT_artificial, DW_AT_call_all_calls, DW_AT_call_return_pc, DW_AT_call_target_clobbered,
    DW_AT_containing_type, DW_AT_data_member_location, DW_AT_decl_file, DW_AT_decl_line, DW_AT_declaration,
    DW_AT_external, DW_AT_high_pc, DW_AT_linkage_name, DW_AT_location, DW_AT_low_pc, DW_AT_name,
    DW_AT_producer, DW_AT_specification, DW_AT_type, DW_AT_virtuality, DW_AT_vtable_elem_location,
    DW_TAG_call_site, DW_TAG_inheritance, DW_TAG_namespace, DW_TAG_structure_type, DW_TAG_subprogram,
    DW_TAG_variable,
};

use crate::build::{CODE, DATA, Info, Symbol, Value, elf_with, line_program, sequence, two_units};
use crate::folds::{SHARED, members};
use crate::harness::{Bench, Kept};
use Value::{Address, Expression, Flag, Label, Number, Text};

const METHODS: [&str; 3] = ["_ZN1A1mEv", "_ZN1B1mEv", "_ZN1C1mEv"];

/// A class with a virtual method `m`, and a base at a place of its own, or a virtual one.
fn class(info: &mut Info, name: &'static str, linkage: &'static str, base: Option<(&'static str, bool)>) {
    info.label(name)
        .open(DW_TAG_structure_type, &[(DW_AT_name, Text(name)), (DW_AT_containing_type, Label("Base"))]);
    if let Some((base, is_virtual)) = base {
        let mut inheritance = vec![(DW_AT_type, Label(base))];
        inheritance.push(match is_virtual {
            true => (DW_AT_data_member_location, Expression(&[0x12, 0x06, 0x48, 0x1c, 0x06, 0x22])),
            false => (DW_AT_data_member_location, Number(0)),
        });
        inheritance.extend(is_virtual.then_some((DW_AT_virtuality, Number(1))));
        info.open(DW_TAG_inheritance, &inheritance).close();
    }
    let method = [
        (DW_AT_name, Text("m")),
        (DW_AT_linkage_name, Text(linkage)),
        (DW_AT_virtuality, Number(1)),
        (DW_AT_vtable_elem_location, Expression(&[0x10, 0])),
        (DW_AT_external, Flag),
        (DW_AT_declaration, Flag),
    ];
    info.label(linkage).open(DW_TAG_subprogram, &method).close().close();
}

/// `A` and `B` derive virtually from `Base`, `C` from `A`; their methods have one code. Each vtable has the words for a virtual base before
/// its own, and after them those of the base: offset of the base, offset to the top, type information, method; adjustment of the pointer,
/// offset to the top, type information, method.
fn program(overrides: bool) -> Kept {
    let mut info = Info::new(4, &[(DW_AT_producer, Text("GNU C++17 12.2.0"))]);
    class(&mut info, "Base", "_ZN4Base1mEv", None);
    class(&mut info, "A", METHODS[0], Some(("Base", true)));
    class(&mut info, "B", METHODS[1], Some(("Base", true)));
    class(&mut info, "C", METHODS[2], Some(("A", false)));
    let of_c = if overrides { SHARED } else { CODE + 0x400 };
    let starts =
        [("_ZN4Base1mEv", CODE + 0x300), (METHODS[0], SHARED), (METHODS[1], SHARED), (METHODS[2], of_c)];
    for (label, start) in starts {
        let code = [
            (DW_AT_specification, Label(label)),
            (DW_AT_low_pc, Address(start)),
            (DW_AT_high_pc, Number(0x10)),
        ];
        info.open(DW_TAG_subprogram, &code).close();
    }
    let mut sections = info.sections();
    sections.push((".debug_line", line_program(&sequence(&[(SHARED, 5)], SHARED + 0x10))));
    let table = [16, 0, 0, SHARED as i64, -16, -16, 0, SHARED as i64];
    let tables = table.repeat(5);
    sections.push((DATA.0, tables.iter().flat_map(|word: &i64| word.to_le_bytes()).collect()));
    let functions = starts.map(|(name, start)| Symbol::Global((name, start, 0x10)));
    let names = ["_ZTV4Base", "_ZTV1A", "_ZTV1B", "_ZTV1C", "_ZTC1C0_1A"];
    let names = (0..).zip(names).map(|(at, name)| Symbol::Object((name, TABLES + at * SIZE, SIZE)));
    let symbols: Vec<Symbol<'_>> = functions.into_iter().chain(names).collect();
    Bench::new().kept(&elf_with(CODE, &sections, &symbols))
}

const TABLES: u64 = DATA.1;
/// Bytes of a table, and where in it pointers to it lead.
const SIZE: u64 = 64;
const POINTS: [u64; 2] = [24, 56];

/// Who ran at [`SHARED`], on an object with this pointer.
fn ran(kept: &Kept, pointer: u64) -> (Certainty, String) {
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let mut resolved = [Resolved::NONE];
    file.resolve_stack(&[StackAddr::Exact(ImageAddr(SHARED))], &mut resolved).unwrap();
    file.resolve_object(&mut resolved[0], ImageAddr(pointer), None).unwrap();
    let first = resolved[0].candidate(0).unwrap() as usize;
    (resolved[0].certainty.unwrap(), members(kept, SHARED)[first].0.clone())
}

#[test]
fn each_table_of_a_class_with_virtual_bases_names_it() {
    let kept = program(false);
    for point in POINTS {
        for (at, method) in [(1, METHODS[0]), (2, METHODS[1]), (3, METHODS[0])] {
            let found = ran(&kept, TABLES + at * SIZE + point);
            assert_eq!(found, (Certainty::Exact, method.to_owned()), "{at} {point}");
        }
        // The vtable of an object under construction, and the base's own.
        for at in [0, 4] {
            assert_eq!(ran(&kept, TABLES + at * SIZE + point).0, Certainty::Ambiguous, "{at} {point}");
        }
    }
    // Between the tables.
    assert_eq!(ran(&kept, TABLES + SIZE + 16).0, Certainty::Ambiguous);
}

/// The method of a base may be called by its name.
#[test]
fn a_class_that_overrides_a_method_of_its_group_names_neither() {
    let kept = program(true);
    for point in POINTS {
        assert_eq!(ran(&kept, TABLES + 2 * SIZE + point), (Certainty::Exact, METHODS[1].to_owned()));
        assert_eq!(ran(&kept, TABLES + 3 * SIZE + point).0, Certainty::Ambiguous);
    }
}

/// The certainty for two virtual methods of one class that share code, called through the second slot, if this compiler described them.
fn ran_through_a_slot(producer: &'static str) -> Certainty {
    let names = ["_ZN1A1mEv", "_ZN1A1nEv"];
    let mut methods = Info::new(4, &[(DW_AT_producer, Text(producer))]);
    let class = [(DW_AT_name, Text("A")), (DW_AT_containing_type, Label("A"))];
    methods.label("A").open(DW_TAG_structure_type, &class);
    for (at, name) in names.into_iter().enumerate() {
        let method = [
            (DW_AT_name, Text(&name[6..7])),
            (DW_AT_linkage_name, Text(name)),
            (DW_AT_virtuality, Number(1)),
            (DW_AT_vtable_elem_location, Expression([&[0x10, 0], &[0x10, 1]][at])),
            (DW_AT_external, Flag),
            (DW_AT_declaration, Flag),
        ];
        methods.label(name).open(DW_TAG_subprogram, &method).close();
    }
    let declared = [(DW_AT_name, Text("_vtable$")), (DW_AT_artificial, Flag), (DW_AT_declaration, Flag)];
    methods.label("table").open(DW_TAG_variable, &declared).close().close();
    let place = [&[0x03][..], &TABLES.to_le_bytes()].concat();
    let defined = [
        (DW_AT_specification, Label("table")),
        (DW_AT_linkage_name, Text("_ZTV1A")),
        (DW_AT_location, Expression(&place)),
    ];
    methods.open(DW_TAG_variable, &defined).close();
    for name in names {
        let code = [
            (DW_AT_specification, Label(name)),
            (DW_AT_low_pc, Address(SHARED)),
            (DW_AT_high_pc, Number(0x10)),
            (DW_AT_call_all_calls, Flag),
        ];
        methods.open(DW_TAG_subprogram, &code).close();
    }
    // For a call through memory, clang records the place of the callee's address.
    let mut calls = Info::new(4, &[(DW_AT_producer, Text("clang version 22"))]);
    let caller = [(DW_AT_name, Text("caller")), (DW_AT_low_pc, Address(CODE)), (DW_AT_high_pc, Number(0x10))];
    calls.open(DW_TAG_subprogram, &caller);
    let call =
        [(DW_AT_call_return_pc, Address(CODE + 8)), (DW_AT_call_target_clobbered, Expression(&[0x70, 8]))];
    calls.open(DW_TAG_call_site, &call).close().close();
    let mut sections = two_units(&mut methods, &mut calls);
    let table = [0, 0, SHARED, SHARED];
    sections.push((DATA.0, table.iter().flat_map(|word: &u64| word.to_le_bytes()).collect()));
    let symbols = [
        Symbol::Global((names[0], SHARED, 0x10)),
        Symbol::Global((names[1], SHARED, 0x10)),
        Symbol::Global(("caller", CODE, 0x10)),
        Symbol::Object(("_ZTV1A", TABLES, 32)),
    ];
    let kept = Bench::new().kept(&elf_with(CODE, &sections, &symbols));
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let stack = [StackAddr::Exact(ImageAddr(SHARED)), StackAddr::Return(ReturnAddr(CODE + 8))];
    let mut resolved = [Resolved::NONE; 2];
    file.resolve_stack(&stack, &mut resolved).unwrap();
    file.resolve_object(&mut resolved[0], ImageAddr(TABLES + 16), Some(stack[1])).unwrap();
    if resolved[0].certainty == Some(Certainty::Exact) {
        let first = resolved[0].candidate(0).unwrap() as usize;
        assert_eq!(members(&kept, SHARED)[first].0, names[1]);
    }
    resolved[0].certainty.unwrap()
}

/// clang and gcc number the methods of a class in the order of its first vtable. (In the debug build of libstdc++ 12, 566 of the 566
/// numbers of methods whose class has a vtable are those of the vtable's words.)
#[test]
fn numbers_of_virtual_methods_count_whoever_wrote_them() {
    assert_eq!(ran_through_a_slot("clang version 22"), Certainty::Exact);
    assert_eq!(ran_through_a_slot("GNU C++17 12.2.0"), Certainty::Exact);
}

/// The description of the classes `A` and `B` of a unit, whose methods have one code.
#[derive(Clone, Copy)]
struct Unnamed {
    /// The attributes of their namespace.
    namespace: &'static [(gimli::DwAt, Value<'static>)],
    /// Another class has the name of the first.
    twice: bool,
    /// Where the word in the table of the first leads.
    word: u64,
    files: [&'static str; 2],
    /// Another name of the code.
    other: Option<&'static str>,
}

const UNNAMED: Unnamed =
    Unnamed { namespace: &[], twice: false, word: SHARED, files: ["other.c", "unit.c"], other: None };

/// Who ran on objects of both.
fn ran_unnamed(made: Unnamed) -> [(Certainty, u32); 2] {
    let mut info = Info::new(4, &[(DW_AT_producer, Text("GNU C++17 12.2.0"))]);
    info.open(DW_TAG_namespace, made.namespace);
    let classes = [("A", "a", 11), ("B", "b", 21), ("A", "c", 31)];
    let classes = &classes[..if made.twice { 3 } else { 2 }];
    for &(name, label, line) in classes {
        let class = [(DW_AT_name, Text(name)), (DW_AT_containing_type, Label("a class"))];
        let method = [
            (DW_AT_name, Text("m")),
            (DW_AT_decl_file, Number(1)),
            (DW_AT_decl_line, Number(line)),
            (DW_AT_virtuality, Number(1)),
            (DW_AT_declaration, Flag),
        ];
        if name == "B" {
            info.label("a class");
        }
        info.open(DW_TAG_structure_type, &class)
            .label(label)
            .open(DW_TAG_subprogram, &method)
            .close()
            .close();
    }
    info.close();
    for (_, label, _) in &classes[..2] {
        let code = [
            (DW_AT_specification, Label(label)),
            (DW_AT_low_pc, Address(SHARED)),
            (DW_AT_high_pc, Number(0x10)),
        ];
        info.open(DW_TAG_subprogram, &code).close();
    }
    let mut sections = info.sections();
    let lines = [11, 21].map(|line| sequence(&[(SHARED, line)], SHARED + 0x10)).concat();
    sections.push((".debug_line", line_program(&lines)));
    let tables = [0, 0, made.word, 0, 0, SHARED];
    sections.push((DATA.0, tables.iter().flat_map(|word| word.to_le_bytes()).collect()));
    let mut symbols = made.files.map(Symbol::File).to_vec();
    for name in ["_ZN12_GLOBAL__N_11A1mEv", "_ZN12_GLOBAL__N_11B1mEv"].into_iter().chain(made.other) {
        symbols.push(Symbol::Local((name, SHARED, 0x10)));
    }
    for (at, name) in [(0, "_ZTVN12_GLOBAL__N_11AE"), (24, "_ZTVN12_GLOBAL__N_11BE")] {
        symbols.push(Symbol::LocalObject((name, TABLES + at, 24)));
    }
    let kept = Bench::new().kept(&elf_with(CODE, &sections, &symbols));
    let file = SymbolFile::open(&kept.bytes).unwrap();
    [16, 40].map(|point| {
        let mut resolved = [Resolved::NONE];
        file.resolve_stack(&[StackAddr::Exact(ImageAddr(SHARED))], &mut resolved).unwrap();
        file.resolve_object(&mut resolved[0], ImageAddr(TABLES + point), None).unwrap();
        let first = resolved[0].candidate(0).unwrap() as usize;
        (resolved[0].certainty.unwrap(), members(&kept, SHARED)[first].2)
    })
}

#[test]
fn methods_without_linkage_names_are_told_by_their_declarations() {
    assert_eq!(ran_unnamed(UNNAMED), [(Certainty::Exact, 11), (Certainty::Exact, 21)]);
}

/// Whose table it is, or which methods run on its objects, is not known.
#[test]
fn tables_of_unnamed_classes_that_may_be_others_name_nobody() {
    let of = |made| ran_unnamed(made).map(|ran| ran.0);
    const UNKNOWN: [Certainty; 2] = [Certainty::Ambiguous; 2];
    assert_eq!(of(Unnamed { namespace: &[(DW_AT_name, Text("n"))], ..UNNAMED }), UNKNOWN);
    assert_eq!(of(Unnamed { files: ["unit.c", "other.c"], ..UNNAMED }), UNKNOWN);
    assert_eq!(of(Unnamed { files: ["unit.c", "unit.c"], ..UNNAMED }), UNKNOWN);
    // A function of another class `A` has the code too. Its class has no table here, so this table leads to this class's.
    let other = Unnamed { other: Some("_ZN1n1A1mEv"), ..UNNAMED };
    assert_eq!(ran_unnamed(other), [(Certainty::Likely, 11), (Certainty::Likely, 21)]);
    let only_b = [Certainty::Ambiguous, Certainty::Exact];
    assert_eq!(of(Unnamed { twice: true, ..UNNAMED }), only_b);
    assert_eq!(of(Unnamed { word: CODE + 0x200, ..UNNAMED }), only_b);
}
