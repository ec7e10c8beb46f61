//! Calls through pointers of which clang 23 recorded the types (`cases/call_types.c`): the source shows which functions each call may call.

use foldsym_convert::report::Kind;
use foldsym_lookup::Certainty;

use super::recorded::Program;

const PARCEL: &str = "weigh_parcel";
const LETTER: &str = "weigh_letter";
const STAMP: &str = "weigh_stamp";

fn program(name: &str) -> Program {
    Program::new(&format!("call_types.clang.set/{name}"))
}

/// Who runs at the folded code after the indirect call of a function.
fn who(program: &Program, caller: &str) -> (Option<Certainty>, Vec<String>) {
    // mold drops the symbols of the others.
    program.by_slot(program.symbol(PARCEL).0, program.indirect_call(caller))
}

#[track_caller]
fn assert_first(program: &Program, caller: &str, certainty: Certainty, first: &[&str]) {
    let (found, names) = who(program, caller);
    let mut same: Vec<&str> = names.iter().take(first.len()).map(String::as_str).collect();
    same.sort_unstable();
    assert_eq!((found, &same[..]), (Some(certainty), first), "{caller}: {names:?}");
    // Nothing is ruled out.
    assert_eq!(names.len(), 3, "{caller}: {names:?}");
}

#[test]
fn a_type_of_a_call_makes_the_function_of_this_type_likely() {
    for name in ["lld", "mold", "gold"] {
        let program = program(name);
        assert_first(&program, "by_parcel", Certainty::Likely, &[PARCEL]);
        assert_first(&program, "by_letter", Certainty::Likely, &[LETTER]);
        assert_first(&program, "by_stamp", Certainty::Likely, &[STAMP]);
        // By a tail call of a function of the type.
        assert_first(&program, "rest", Certainty::Likely, &[STAMP]);
        // The types are those of the function, not of one call.
        assert_first(&program, "by_both", Certainty::Ambiguous, &[LETTER, PARCEL]);
        // A call by another type: `weigh_parcel` runs, and stays possible.
        assert_first(&program, "by_cast", Certainty::Likely, &[LETTER]);
    }
}

#[test]
fn calls_in_folded_code_have_the_types_of_all_callers() {
    for name in ["mold", "gold"] {
        assert_first(&program(name), "ask_parcel", Certainty::Ambiguous, &[LETTER, PARCEL]);
    }
    // lld keeps the record of one caller alone: the other may call any function.
    let lld = program("lld");
    let (certainty, asked) = who(&lld, "ask_parcel");
    let (_, unknown) = who(&lld, "by_number");
    assert_eq!((certainty, asked), (Some(Certainty::Ambiguous), unknown));
}

#[test]
fn an_object_without_a_call_graph_has_types_by_its_dies() {
    let program = program("part");
    assert_first(&program, "by_parcel", Certainty::Likely, &[PARCEL]);
    assert_first(&program, "by_letter", Certainty::Likely, &[LETTER]);
    assert_eq!(who(&program, "by_stamp"), who(&program, "by_number"));
}

#[test]
fn types_that_differ_from_those_of_dies_are_not_used() {
    let program = program("unproven");
    assert_eq!(program.count(Kind::CallGraphTypes), 1);
    for caller in ["by_parcel", "by_letter", "by_stamp"] {
        assert_eq!(who(&program, caller), who(&program, "by_number"), "{caller}");
        assert_eq!(who(&program, caller).0, Some(Certainty::Ambiguous));
    }
}
