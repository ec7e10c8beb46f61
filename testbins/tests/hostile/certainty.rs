//! Programs in which a second function may share the code of another and has left no entry.

use foldsym_lookup::{Certainty, Frames, ImageAddr, Lookup, Reason, SymbolFile};
use gimli::DW_AT_producer;

use crate::build::Symbol::{File, Global, Indirect, Local};
use crate::build::{CODE, Info, Symbol, Value, elf_with};
use crate::harness::Bench;
use Value::Text;

const LLD: &str = "Linker: LLD 22";
const GNU: &str = "GCC: 12";

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

/// clang merges functions only if it is asked to. Where its command line is recorded, that says whether it was.
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
