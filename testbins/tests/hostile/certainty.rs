//! Programs in which a second function may share the code of another and has left no entry.

use foldsym_lookup::{Certainty, Frames, ImageAddr, Lookup, Reason, SymbolFile};
use gimli::DW_AT_producer;

use crate::build::Symbol::{File, Global, GlobalLabel, Indirect, Label, Local};
use crate::build::{CODE, CODE_LEN, Info, Symbol, Value, elf_with, two_units};
use crate::harness::Bench;
use Value::Text;

pub(crate) const LLD: &str = "Linker: LLD 22";
pub(crate) const GNU: &str = "GCC: 12";

pub(crate) fn answer(program: &[u8], address: u64) -> (Certainty, Option<Reason>) {
    let kept = Bench::new().kept(program);
    let file = SymbolFile::open(&kept.bytes).unwrap();
    match file.lookup(ImageAddr(address), &mut Frames::new()).unwrap() {
        Lookup::Found(found) => (found.certainty, found.reason),
        _ => panic!("nothing at {address:#x}"),
    }
}

pub(crate) fn comment(text: &str) -> (&'static str, Vec<u8>) {
    (".comment", [b"\0", text.as_bytes(), b"\0"].concat())
}

pub(crate) const UNIQUE: (Certainty, Option<Reason>) = (Certainty::Unique, None);

pub(crate) fn likely(reason: Reason) -> (Certainty, Option<Reason>) {
    (Certainty::Likely, Some(reason))
}

/// Symbols of a program, and a local one of a start-up object, which shows that local symbols were not removed.
pub(crate) fn whole<'s>(symbols: &[Symbol<'s>]) -> Vec<Symbol<'s>> {
    [&[File("crtstuff.c"), Label(("local", CODE + CODE_LEN - 0x10, 0))], symbols].concat()
}

/// `nodebug` makes a compiler leave a function undescribed. If the linker folded it, only its name remains, beside that of a described
/// function. A function that has its address for itself has no alias.
#[test]
fn a_second_plain_name_is_no_alias_where_the_linker_folds() {
    let at = |linker: &str, symbols: &[Symbol<'_>]| {
        let mut info = Info::new(5, &[]);
        info.function("kept", CODE, 0x10);
        let mut sections = info.sections();
        sections.push(comment(linker));
        answer(&elf_with(CODE, &sections, &whole(symbols)), CODE)
    };
    let kept = [File("unit.c"), Global(("kept", CODE, 0x10))];
    // A global name without a type may be of assembly.
    for other in
        [Global(("other", CODE, 0x10)), Local(("other", CODE, 0x10)), GlobalLabel(("other", CODE, 0))]
    {
        let both = [kept[0], kept[1], other];
        assert_eq!(at(LLD, &both), likely(Reason::PlainNames));
        assert_eq!(at(GNU, &both), UNIQUE);
    }
    assert_eq!(at(LLD, &kept), UNIQUE);
    // An IFUNC symbol has no code of its own; a second symbol of the same name is not a second name.
    assert_eq!(at(LLD, &[kept[0], kept[1], Indirect(("chosen", CODE, 0x10))]), UNIQUE);
    assert_eq!(at(LLD, &[kept[0], kept[1], kept[1]]), UNIQUE);
}

/// gold drops the symbols of local functions that it folds. A function that clang left undescribed leaves no trace then; gcc describes all
/// functions.
#[test]
fn what_gold_forgets_may_be_behind_any_function_where_it_folds() {
    const FOLDED: u64 = CODE + 0x100;
    let at = |producer: &'static str, note: &'static str, second: u64| {
        let mut info = Info::new(5, &[(DW_AT_producer, Text(producer))]);
        info.function("kept", CODE, 0x10);
        info.function("one", FOLDED, 0x10);
        info.function("other", second, 0x10);
        let mut sections = info.sections();
        sections.push((note, vec![0; 16]));
        let globals = [("kept", CODE, 0x10), ("one", FOLDED, 0x10), ("other", second, 0x10)].map(Global);
        let symbols = [&[File("unit.c")][..], &globals].concat();
        answer(&elf_with(CODE, &sections, &whole(&symbols)), CODE)
    };
    const GOLD: &str = ".note.gnu.gold-version";
    assert_eq!(at("clang version 22.1.8", GOLD, FOLDED), likely(Reason::Stripped));
    assert_eq!(at("clang version 22.1.8", GOLD, FOLDED + 0x100), UNIQUE);
    assert_eq!(at("clang version 22.1.8", ".note", FOLDED), UNIQUE);
    assert_eq!(at("GNU C17 12.2.0", GOLD, FOLDED), UNIQUE);
}

/// If nothing identifies the linker, it may be one that folds.
#[test]
fn a_second_plain_name_is_no_alias_where_the_linker_is_not_known() {
    let at = |symbols: &[Symbol<'_>]| {
        let mut info = Info::new(5, &[]);
        info.function("kept", CODE, 0x10);
        answer(&elf_with(CODE, &info.sections(), &whole(symbols)), CODE)
    };
    let kept = [File("unit.c"), Global(("kept", CODE, 0x10))];
    assert_eq!(at(&kept), UNIQUE);
    for other in [Global(("other", CODE, 0x10)), Local(("other", CODE, 0x10))] {
        assert_eq!(at(&[kept[0], kept[1], other]), likely(Reason::PlainNames));
        // Its symbol may have been removed.
        assert_eq!(at(&[kept[0], other]), likely(Reason::PlainNames));
    }
    assert_eq!(at(&[kept[0], kept[1], Indirect(("chosen", CODE, 0x10))]), UNIQUE);
    // A part, a copy: a compiler made these of the function.
    assert_eq!(at(&[kept[0], Global(("kept.isra.0", CODE, 0x10))]), UNIQUE);
}

/// Go's build id does not identify the linker: Go may call another linker, which may fold functions of other compilers, and whose comment
/// may have been removed. If all units are Go's, nothing can have been folded.
#[test]
fn a_program_of_go_without_a_comment_may_have_been_folded() {
    const OTHER: u64 = CODE + 0x100;
    let at = |producers: [&'static str; 2], note: &'static str| {
        let mut first = Info::new(4, &[(DW_AT_producer, Text(producers[0]))]);
        first.function("kept", CODE, 0x10);
        let mut second = Info::new(4, &[(DW_AT_producer, Text(producers[1]))]);
        second.function("further", OTHER, 0x10);
        let mut sections = two_units(&mut first, &mut second);
        sections.push((note, vec![0; 16]));
        let names = [("kept", CODE), ("other", CODE), ("further", OTHER)];
        let symbols = names.map(|(name, address)| Global((name, address, 0x10)));
        answer(&elf_with(CODE, &sections, &whole(&symbols)), CODE)
    };
    let (go, clang) = ("Go cmd/compile go1.19.8; regabi", "clang version 22.1.8");
    assert_eq!(at([go, go], ".note.go.buildid"), UNIQUE);
    for units in [[clang, clang], [go, clang], [clang, go]] {
        assert_eq!(at(units, ".note.go.buildid"), likely(Reason::PlainNames), "{units:?}");
    }
    assert_eq!(at([go, go], ".note.other"), likely(Reason::PlainNames));
}

/// clang merges functions only with an option. If its command line is recorded, it shows whether the option was given.
#[test]
fn clang_merges_functions_only_if_it_is_asked_to() {
    let at = |producer| {
        let mut info = Info::new(5, &[(DW_AT_producer, Text(producer))]);
        info.function("first", CODE, 0x10);
        let mut sections = info.sections();
        sections.push(comment(GNU));
        answer(&elf_with(CODE, &sections, &[Global(("first", CODE, 0x10))]), CODE)
    };
    for producer in ["Debian clang version 22.1.8", "clang version 22 -O2 -g"] {
        assert_eq!(at(producer), UNIQUE, "{producer}");
    }
    for asked in [
        "clang version 22 -O2 -Xclang -fmerge-functions",
        "clang version 22 -O2 -mllvm -enable-merge-functions",
    ] {
        assert_eq!(at(asked), likely(Reason::MergedWithoutTrace), "{asked}");
    }
}
