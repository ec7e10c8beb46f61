//! Tests what an object's vtable pointer adds to a stack: each rule of the specification by a file made for it.

use foldsym_lookup::{Certainty, Evidence, ImageAddr, Resolved, ReturnAddr, StackAddr, SymbolFile};
use foldsym_testkit::writer::Contents;
use foldsym_testkit::writer::folded::{BASE, Folded, Place};

/// The vtable pointer of the class; another vtable, whose functions are in no group here.
const POINT: i64 = 0x8000;
const OTHER: i64 = 0x8040;
/// Return addresses: of a call through slot 4, of a call of function 3, and of an unknown call.
const BY_SLOT: u64 = 0x1004;
const DIRECT: u64 = 0x1008;
const UNKNOWN: u64 = 0x100c;

/// As [`ask_beside`], without a table that says which function is at a slot.
fn ask(
    vtables: &[[i64; 4]],
    vptr: i64,
    caller: Option<u64>,
) -> (Option<Certainty>, Option<Evidence>, Vec<u32>) {
    ask_beside(vtables, (4, &[]), vptr, caller)
}

/// Functions 2, 3 and 4 are folded; `slot` is that of the call [`BY_SLOT`]; the certainty, the evidence and the functions, the likeliest first.
fn ask_beside(
    vtables: &[[i64; 4]],
    (slot, overriders): (i64, &[[i64; 3]]),
    vptr: i64,
    caller: Option<u64>,
) -> (Option<Certainty>, Option<Evidence>, Vec<u32>) {
    let mut program = Folded::new(2, &[3]);
    program.call(BASE + DIRECT, None, 3, 0);
    let mut contents = program.contents();
    contents.vtables = vtables.to_vec();
    contents.slots = vec![[BY_SLOT as i64, slot]];
    contents.overriders = overriders.to_vec();
    ask_file(&program, &contents, vptr, caller)
}

/// As [`ask_beside`], of any file.
fn ask_file(
    program: &Folded,
    contents: &Contents,
    vptr: i64,
    caller: Option<u64>,
) -> (Option<Certainty>, Option<Evidence>, Vec<u32>) {
    let bytes = contents.file();
    let file = SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    let mut stack = vec![StackAddr::Exact(ImageAddr(program.start(Place::Group(0))))];
    stack.extend(caller.map(|address| StackAddr::Return(ReturnAddr(BASE + address))));
    let mut resolved = vec![Resolved::NONE; stack.len()];
    file.resolve_stack(&stack, &mut resolved).unwrap();
    let mut first = resolved[0];
    file.resolve_slot(&mut first, stack.get(1).copied()).unwrap();
    let vptr = ImageAddr(BASE.wrapping_add_signed(vptr));
    file.resolve_object(&mut first, vptr, stack.get(1).copied()).unwrap();
    let group = file.records().group(first.group.unwrap()).unwrap();
    let candidates = (0..first.candidate_count()).map(|index| first.candidate(index).unwrap());
    let functions =
        candidates.map(|member| file.records().member(group, member).unwrap().function.0).collect();
    (first.certainty, first.evidence, functions)
}

const EXACT: Option<Certainty> = Some(Certainty::Exact);
const AMBIGUOUS: Option<Certainty> = Some(Certainty::Ambiguous);
const LIKELY: Option<Certainty> = Some(Certainty::Likely);
const VTABLE: Option<Evidence> = Some(Evidence::Vtable);

#[test]
fn a_class_that_leaves_one_function_names_it_whoever_calls() {
    let class = [[POINT, 4, 0, 0]];
    for caller in [None, Some(BY_SLOT), Some(UNKNOWN)] {
        assert_eq!(ask(&class, POINT, caller), (EXACT, VTABLE, vec![4]));
    }
    // A call that is recorded says more than the object; a pointer into the table, or below the program, is damaged.
    assert_eq!(ask(&class, POINT, Some(DIRECT)), (EXACT, Some(Evidence::DirectCall), vec![3]));
    for vptr in [POINT + 8, POINT - 1, OTHER, -1, i64::MAX] {
        assert_eq!(ask(&class, vptr, Some(BY_SLOT)), (AMBIGUOUS, None, vec![2, 3, 4]));
    }
}

#[test]
fn a_slot_tells_the_functions_of_a_class_apart() {
    let class = [[POINT, 3, 1 + 4, 0], [POINT, 4, 1 + 5, 0], [OTHER, 2, 1 + 4, 0]];
    assert_eq!(ask(&class, POINT, Some(BY_SLOT)), (EXACT, VTABLE, vec![3]));
    assert_eq!(ask(&class, OTHER, Some(BY_SLOT)), (EXACT, VTABLE, vec![2]));
    for caller in [None, Some(UNKNOWN)] {
        assert_eq!(ask(&class, POINT, caller), (AMBIGUOUS, None, vec![2, 3, 4]));
    }
}

#[test]
fn nothing_is_ruled_out_where_others_may_have_run() {
    assert_eq!(ask(&[[POINT, 4, 0, 1]], POINT, None), (LIKELY, VTABLE, vec![4, 2, 3]));
    let two = [[POINT, 3, 0, 0], [POINT, 4, 0, 0]];
    assert_eq!(ask(&two, POINT, None), (AMBIGUOUS, None, vec![3, 4, 2]));
    // A guess chooses the first of several, and the word stays.
    for (marks, first) in [([1, 2], vec![4, 3, 2]), ([2, 1], vec![3, 4, 2])] {
        let class = [[POINT, 3, 0, marks[0]], [POINT, 4, 0, marks[1]]];
        assert_eq!(ask(&class, POINT, None), (AMBIGUOUS, None, first));
    }
    // Of another group, or of none.
    assert_eq!(ask(&[[POINT, 0, 0, 0]], POINT, None), (AMBIGUOUS, None, vec![2, 3, 4]));
}

#[test]
fn one_function_at_the_slot_of_all_tables_is_likely() {
    const BY_OBJECT: i64 = 1 << 16;
    let of = |slot, overriders: &[[i64; 3]], caller| ask_beside(&[], (slot, overriders), OTHER, caller);
    let slot = Some(Evidence::VirtualSlot);
    let one = [[4, 3, 0], [5, 4, 0]];
    assert_eq!(of(BY_OBJECT + 4, &one, Some(BY_SLOT)), (LIKELY, slot, vec![3, 2, 4]));
    assert_eq!(of(BY_OBJECT + 5, &one, Some(BY_SLOT)), (LIKELY, slot, vec![4, 2, 3]));
    // The code does not take the table from an object; no function is at the slot; another call; no caller.
    let nothing = (AMBIGUOUS, None, vec![2, 3, 4]);
    assert_eq!(of(4, &one, Some(BY_SLOT)), nothing);
    assert_eq!(of(BY_OBJECT + 6, &one, Some(BY_SLOT)), nothing);
    assert_eq!(of(BY_OBJECT + 4, &one, Some(UNKNOWN)), nothing);
    assert_eq!(of(BY_OBJECT + 4, &one, None), nothing);
    // The compiler's record is better evidence.
    let direct = (EXACT, Some(Evidence::DirectCall), vec![3]);
    assert_eq!(of(BY_OBJECT + 5, &one, Some(DIRECT)), direct);
    // Two functions, or one table that may lead to others: they come first, and the word does not change.
    assert_eq!(of(BY_OBJECT + 4, &[[4, 3, 0], [4, 4, 0]], Some(BY_SLOT)), (AMBIGUOUS, None, vec![3, 4, 2]));
    assert_eq!(of(BY_OBJECT + 4, &[[4, 3, 1]], Some(BY_SLOT)), (AMBIGUOUS, None, vec![3, 2, 4]));
}

/// Of a call with the set of its virtual method, and word 4 of vtables beside it.
fn ask_set(
    targets: &[[i64; 4]],
    vtables: &[[i64; 4]],
    vptr: i64,
    caller: Option<u64>,
) -> (Option<Certainty>, Option<Evidence>, Vec<u32>) {
    ask_set_by(0, targets, vtables, vptr, caller)
}

/// As [`ask_set`]; `how` is that of the set.
fn ask_set_by(
    how: i64,
    targets: &[[i64; 4]],
    vtables: &[[i64; 4]],
    vptr: i64,
    caller: Option<u64>,
) -> (Option<Certainty>, Option<Evidence>, Vec<u32>) {
    const BY_OBJECT: i64 = 1 << 16;
    let mut program = Folded::new(2, &[3]);
    program.call(BASE + DIRECT, None, 3, 0);
    let mut contents = program.contents();
    contents.vtables = vtables.to_vec();
    contents.slots = vec![[BY_SLOT as i64, BY_OBJECT + 4]];
    contents.overriders = vec![[4, 2, 0]];
    contents.dispatches = vec![[BY_SLOT as i64, 7, how], [DIRECT as i64, 7, how]];
    contents.targets = targets.to_vec();
    ask_file(&program, &contents, vptr, caller)
}

#[test]
fn the_set_of_a_call_says_more_than_its_slot() {
    let slot = Some(Evidence::VirtualSlot);
    let of = |targets: &[[i64; 4]], caller| ask_set(targets, &[], OTHER, caller);
    // Nothing is ruled out: the compiler may have merged two calls.
    assert_eq!(of(&[[7, 0, 3, 0]], Some(BY_SLOT)), (LIKELY, slot, vec![3, 2, 4]));
    assert_eq!(of(&[[7, 0, 3, 1]], Some(BY_SLOT)), (AMBIGUOUS, None, vec![3, 2, 4]));
    assert_eq!(of(&[[7, 0, 3, 0], [7, 0, 4, 0]], Some(BY_SLOT)), (AMBIGUOUS, None, vec![3, 4, 2]));
    // A set without a member of this group, and that of another call: the slot decides.
    for targets in [[7, 0, 0, 0], [6, 0, 3, 0], [7, 1 + POINT, 3, 0]] {
        assert_eq!(of(&[targets], Some(BY_SLOT)), (LIKELY, slot, vec![2, 3, 4]));
    }
    // The compiler's record of the callee is better evidence.
    assert_eq!(of(&[[7, 0, 4, 0]], Some(DIRECT)), (EXACT, Some(Evidence::DirectCall), vec![3]));
    assert_eq!(of(&[[7, 0, 3, 0]], Some(UNKNOWN)), (AMBIGUOUS, None, vec![2, 3, 4]));
}

#[test]
fn the_type_of_a_call_makes_a_function_likely() {
    let by_type = Some(Evidence::CallType);
    let of =
        |targets: &[[i64; 4]], vtables: &[[i64; 4]]| ask_set_by(1, targets, vtables, POINT, Some(BY_SLOT));
    // Nothing is ruled out: the pointer may be cast.
    assert_eq!(of(&[[7, 0, 3, 0]], &[]), (LIKELY, by_type, vec![3, 2, 4]));
    assert_eq!(of(&[[7, 0, 3, 1]], &[]), (AMBIGUOUS, None, vec![3, 2, 4]));
    assert_eq!(of(&[[7, 0, 3, 0], [7, 0, 4, 0]], &[]), (AMBIGUOUS, None, vec![3, 4, 2]));
    // The object says more.
    assert_eq!(of(&[[7, 0, 3, 0]], &[[POINT, 4, 1 + 4, 0]]), (EXACT, VTABLE, vec![4]));
    assert_eq!(of(&[[7, 0, 3, 0]], &[[POINT, 4, 1 + 4, 1]]), (LIKELY, VTABLE, vec![4, 2, 3]));
}

#[test]
fn the_set_of_a_call_and_the_object_name_one_function() {
    let object = [7, 1 + POINT, 4, 0];
    let of = |targets: &[[i64; 4]], vptr, caller| ask_set(targets, &[[POINT, 3, 1 + 4, 0]], vptr, caller);
    assert_eq!(of(&[object], POINT, Some(BY_SLOT)), (EXACT, VTABLE, vec![4]));
    // Several members may be those of the set: the object leaves one.
    assert_eq!(of(&[[7, 0, 3, 0], [7, 0, 4, 0], object], POINT, Some(BY_SLOT)), (EXACT, VTABLE, vec![4]));
    // Another call, and another object: the word of the table decides, or nothing.
    assert_eq!(of(&[[6, 1 + POINT, 4, 0]], POINT, Some(BY_SLOT)), (EXACT, VTABLE, vec![3]));
    assert_eq!(of(&[object], OTHER, Some(UNKNOWN)), (AMBIGUOUS, None, vec![2, 3, 4]));
    // Others may have run on the object.
    let doubtful = [7, 1 + POINT, 4, 1];
    assert_eq!(of(&[doubtful], POINT, Some(BY_SLOT)), (LIKELY, VTABLE, vec![4, 2, 3]));
    let two = [[7, 1 + POINT, 2, 1], doubtful];
    assert_eq!(of(&two, POINT, Some(BY_SLOT)).2[0], 2);
}

#[test]
fn the_object_says_more_than_the_slot() {
    const BY_OBJECT: i64 = 1 << 16;
    let slot = (BY_OBJECT + 4, &[[4, 3, 0]][..]);
    let of = |vtables: &[[i64; 4]]| ask_beside(vtables, slot, POINT, Some(BY_SLOT));
    assert_eq!(of(&[[POINT, 4, 1 + 4, 0]]), (EXACT, VTABLE, vec![4]));
    assert_eq!(of(&[[POINT, 4, 1 + 4, 1]]), (LIKELY, VTABLE, vec![4, 2, 3]));
    // Several that may run on the object leave the slot's function first.
    let two = [[POINT, 2, 0, 0], [POINT, 4, 0, 0]];
    assert_eq!(of(&two), (LIKELY, Some(Evidence::VirtualSlot), vec![3, 2, 4]));
}
