//! Virtual calls of which clang 23 recorded the method of the static class (`cases/virtual_origin.cpp`): the source shows which functions each
//! call may call.

use foldsym_lookup::Certainty;

use super::recorded::Program;

/// All classes are in one unit; in two, the calls refer to classes in type units.
const PROGRAMS: [&str; 2] = ["virtual_origin.clang.set/program", "virtual_origin.clang.set/units"];

const PARCEL: &str = "_ZN6Parcel5weighEi";
const STAMP: &str = "_ZN5Stamp5weighEi";
const BOTH: [&str; 2] = ["_ZN4Both5weighEi", "_ZN4Both5priceEi"];
const WEIGH_ITEM: &str = "_Z10weigh_itemP4Itemi";
const PRICE_BASE: &str = "_Z10price_baseP4Basei";
const MERGED: &str = "_Z6mergediP4ItemP5Stampi";

#[test]
fn the_static_class_of_a_call_makes_its_overrider_likely() {
    for name in PROGRAMS {
        let program = Program::new(name);
        let pc = program.symbol(PARCEL).0;
        assert_eq!(pc, program.symbol(STAMP).0);
        let who = |caller| program.by_slot(pc, program.indirect_call(caller));
        let likely = |first, second| (Some(Certainty::Likely), vec![first, second]);
        for (caller, first, second) in [
            (WEIGH_ITEM, PARCEL, STAMP),
            ("_Z11weigh_stampP5Stampi", STAMP, PARCEL),
            // Two folded callers name one method.
            ("_Z11weigh_itemsP4Itemi", PARCEL, STAMP),
        ] {
            let (certainty, names) = who(caller);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            assert_eq!((certainty, names), likely(first, second), "{name}: {caller}");
        }
        // Two folded callers name a method each, and LLVM merged two calls: any method may have run.
        for caller in ["_Z16weigh_parcel_tooP6Parceli", MERGED] {
            assert_eq!(who(caller).0, Some(Certainty::Ambiguous), "{name}: {caller}");
        }
    }
}

#[test]
fn an_object_and_the_static_class_of_a_call_prove_nothing() {
    for name in PROGRAMS {
        let program = Program::new(name);
        let pc = program.symbol(BOTH[0]).0;
        assert_eq!(pc, program.symbol(BOTH[1]).0);
        // The first table has four functions: `price` is in it too. Two words are before the table for `Base`.
        let table = program.symbol("_ZTV4Both").0;
        let (first, second) = (table + 16, table + 16 + 4 * 8 + 16);
        let who = |caller, vptr| program.who_of(pc, &[program.indirect_call(caller)], Some(vptr));
        // The record may be that of another call, which LLVM merged with this one: it proves neither.
        for (caller, vptr, method) in [(WEIGH_ITEM, first, BOTH[0]), (PRICE_BASE, second, BOTH[1])] {
            let (certainty, names) = who(caller, vptr);
            assert!(
                certainty != Some(Certainty::Exact) && names.iter().any(|name| name == method),
                "{name}: {names:?}"
            );
        }
        // By the slot alone the two cannot be told apart.
        assert_ne!(who(MERGED, first).0, Some(Certainty::Exact), "{name}");
    }
}

#[test]
fn a_call_of_a_destructor_puts_those_of_derived_classes_first() {
    let program = Program::new(PROGRAMS[0]);
    let pc = program.symbol("_ZN4ItemD2Ev").0;
    let (certainty, names) = program.by_slot(pc, program.indirect_call("_Z7destroyP4Item"));
    assert_eq!(certainty, Some(Certainty::Ambiguous));
    let is_of_item =
        |name: &String| ["_ZN4ItemD", "_ZN6ParcelD", "_ZN4BothD"].iter().any(|class| name.starts_with(class));
    let others = names.iter().skip_while(|name| is_of_item(name)).filter(|name| is_of_item(name)).count();
    assert!(
        is_of_item(&names[0]) && others == 0 && names.iter().any(|name| name.contains("Stamp")),
        "{names:?}"
    );
}
