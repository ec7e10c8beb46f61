//! Programs in which an address, a name or a unit can be mistaken for another.

use foldsym_convert::report::{Cap, Kind, WarningKind};
use gimli::{
    DW_AT_decl_line, DW_AT_entry_pc, DW_AT_high_pc, DW_AT_linkage_name, DW_AT_low_pc, DW_AT_name,
    DW_AT_ranges, DW_TAG_subprogram,
};

use crate::build::{CODE, Info, Value, elf, elf_at};
use crate::harness::Bench;
use Value::{Address, Number, Offset, Text};

fn range(start: u64, len: u64) -> [(gimli::DwAt, Value<'static>); 2] {
    [(DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(len))]
}

/// The number of functions at addresses with several functions.
fn folded(program: &[u8]) -> u64 {
    Bench::new().kept(program).report.decided.folded_functions
}

/// gold folds functions and keeps their addresses. Functions of two files may share a name; a function that two
/// units describe has its name once in the program.
#[test]
fn one_name_is_one_function_only_where_it_is_program_wide() {
    for (name, second_line, expected) in [
        ("helper", 20, 2),
        ("helper", 10, 0),
        ("_ZL6helperv", 20, 2),
        ("_ZN12_GLOBAL__N_16helperEv", 20, 2),
        ("_Z6helperv", 20, 0),
    ] {
        let mut info = Info::new(4, &[]);
        for line in [10, second_line] {
            let [low, high] = range(CODE, 0x10);
            let named = (DW_AT_linkage_name, Text(name));
            info.open(DW_TAG_subprogram, &[named, (DW_AT_decl_line, Number(line)), low, high]).close();
        }
        let program = elf(&info.sections(), &[(name, CODE, 0x10)]);
        assert_eq!(folded(&program), expected, "{name} at lines 10 and {second_line}");
    }
}

#[test]
fn names_that_only_look_like_constructors_are_functions() {
    for (names, expected) in [
        (["_ZN1SC1Ev", "_ZN1SC2Ev"], 0),
        (["_ZN1SD1Ev", "_ZN1SD2Ev"], 0),
        (["_ZN1SD0Ev", "_ZN1SD2Ev"], 2),
        (["_Z7blendC1v", "_Z7blendC2v"], 2),
        (["_ZN4Vec3D1aEv", "_ZN4Vec3D2aEv"], 2),
    ] {
        let mut info = Info::new(4, &[]);
        for name in names {
            let [low, high] = range(CODE, 0x10);
            info.open(DW_TAG_subprogram, &[(DW_AT_linkage_name, Text(name)), low, high]).close();
        }
        let by_die = elf(&info.sections(), &[]);
        assert_eq!(folded(&by_die), expected, "{names:?}, each a DIE");
        let by_symbol = elf(&[], &names.map(|name| (name, CODE, 0x10)));
        assert_eq!(folded(&by_symbol), expected, "{names:?}, each a symbol");
    }
}

/// A linker writes 0 for the address of a removed function, even if the program has code at 0.
#[test]
fn what_was_removed_does_not_stand_at_address_0() {
    let mut info = Info::new(4, &[]);
    info.function("reset", 0, 0x10).function("removed", 0, 0x10).function("also_removed", 0, 0x20);
    let kept = Bench::new().kept(&elf_at(0, &info.sections(), &[("reset", 0, 0x10)]));
    assert_eq!(kept.frame(0).0, "reset");
    assert_eq!(kept.report.decided.folded_functions, 0);
    assert_eq!(kept.frame(0x18).0, "");
    assert_eq!(kept.count(Kind::DeadFunction), 2);
    // Without a symbol to ask, the DIE is believed.
    let mut info = Info::new(4, &[]);
    info.function("reset", 0, 0x10);
    assert_eq!(Bench::new().kept(&elf_at(0, &info.sections(), &[])).frame(0).0, "reset");
}

/// `.debug_ranges` of version 4: pairs of addresses, ended by zeroes.
fn ranges(pairs: &[(u64, u64)]) -> Vec<u8> {
    let ended = pairs.iter().chain(&[(0, 0)]);
    ended.flat_map(|(start, end)| [start.to_le_bytes(), end.to_le_bytes()].concat()).collect()
}

#[test]
fn the_entry_is_where_the_function_says() {
    for entry in [Address(CODE + 0x20), Number(0x20)] {
        let mut info = Info::new(4, &[(DW_AT_low_pc, Address(0))]);
        let attributes = [(DW_AT_name, Text("f")), (DW_AT_ranges, Offset(0)), (DW_AT_entry_pc, entry)];
        info.open(DW_TAG_subprogram, &attributes).close();
        let mut sections = info.sections();
        sections.push((".debug_ranges", ranges(&[(CODE, CODE + 0x10), (CODE + 0x20, CODE + 0x30)])));
        let symbols = [("f.cold", CODE, 0x10), ("f.isra.0", CODE + 0x20, 0x10)];
        let kept = Bench::new().kept(&elf(&sections, &symbols));
        assert_eq!(kept.frame(CODE).0, "f.cold");
        assert_eq!(kept.frame(CODE + 0x20).0, "f.isra.0");
    }
}

#[test]
fn ranges_that_lead_nowhere_are_counted() {
    let mut info = Info::new(4, &[(DW_AT_low_pc, Address(0))]);
    info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("f")), (DW_AT_ranges, Offset(0))]).close();
    info.open(DW_TAG_subprogram, &[(DW_AT_name, Text("endless")), (DW_AT_low_pc, Address(CODE + 0x40))])
        .close();
    info.function("outer", CODE + 0x50, 0x10);
    info.function("left", CODE + 0x50, 8).function("right", CODE + 0x58, 8);
    let mut sections = info.sections();
    sections.push((".debug_ranges", ranges(&[(CODE, CODE + 0x10), (0x10_0000, 0x10_0010)])));
    let kept = Bench::new().kept(&elf(&sections, &[]));
    assert_eq!(kept.frame(CODE).0, "f");
    let counted = [Kind::DeadRange, Kind::NoEnd, Kind::HiddenFunction].map(|kind| kept.count(kind));
    assert_eq!(counted, [1, 1, 1]);
}

/// The length of a unit leads past it, whatever is inside.
#[test]
fn a_unit_of_an_unknown_version_costs_itself_alone() {
    let unit = |name| {
        let mut info = Info::new(4, &[]);
        info.function(name, if name == "first" { CODE } else { CODE + 0x10 }, 0x10);
        info.sections()
    };
    let (first, last) = (unit("first"), unit("last"));
    let mut unknown = first[0].1.clone();
    unknown[4] = 77;
    let sections = [
        (".debug_info", [first[0].1.clone(), unknown, last[0].1.clone()].concat()),
        (".debug_abbrev", first[1].1.clone()),
    ];
    let kept = Bench::new().kept(&elf(&sections, &[]));
    assert_eq!(kept.count(Kind::BadUnit), 1);
    assert_eq!([kept.frame(CODE).0, kept.frame(CODE + 0x10).0], ["first", "last"]);
}

#[test]
fn a_symbol_past_the_longest_piece_is_cut() {
    let mut program = elf(&[], &[("all", CODE, 1 << 40)]);
    // The section claims as much.
    let table = u64::from_le_bytes(program[0x28..0x30].try_into().unwrap()) as usize;
    let text = table + 64;
    program[text + 4..text + 8].copy_from_slice(&8_u32.to_le_bytes());
    program[text + 0x20..text + 0x28].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let kept = Bench::new().kept(&program);
    assert_eq!(kept.count(Kind::Cap(Cap::SymbolBytes)), 1);
    assert_eq!(kept.frame(CODE + 0x10_0000).0, "all");
    assert_eq!(kept.frame(CODE + (1 << 33)).0, "");
}

#[test]
fn a_name_past_the_longest_is_cut_and_counted() {
    let long = "x".repeat(70_000);
    let mut info = Info::new(4, &[]);
    info.function(&long, CODE, 0x10);
    let kept = Bench::new().kept(&elf(&info.sections(), &[]));
    assert_eq!(kept.count(Kind::Cap(Cap::NameBytes)), 1);
    // A limit is a loss: `--strict` refuses the program.
    let warnings = kept.report.warnings();
    let reached = warnings.iter().find(|warning| warning.kind == WarningKind::LimitReached).unwrap();
    assert!(
        reached.kind.is_loss() && reached.message.starts_with("limit cap_name_bytes reached: "),
        "{reached:?}"
    );
}
