//! What an object's pointer to its virtual functions adds to a stack: each rule of the text by a file made for it.

use foldsym_lookup::{Certainty, Evidence, ImageAddr, Resolved, ReturnAddr, StackAddr, SymbolFile};
use foldsym_testkit::writer::folded::{BASE, Folded, Place};

/// What objects of the class have; another table, whose functions are of no group here.
const POINT: i64 = 0x8000;
const OTHER: i64 = 0x8040;
/// Where a call through slot 4 returns to, a call of function 3, and one of which nothing is known.
const BY_SLOT: u64 = 0x1004;
const DIRECT: u64 = 0x1008;
const UNKNOWN: u64 = 0x100c;

/// Functions 2, 3 and 4 are folded; the certainty, the evidence and the functions, the likeliest first.
fn ask(
    vtables: &[[i64; 4]],
    vptr: i64,
    caller: Option<u64>,
) -> (Option<Certainty>, Option<Evidence>, Vec<u32>) {
    let mut program = Folded::new(2, &[3]);
    program.call(BASE + DIRECT, None, 3, 0);
    let mut contents = program.contents();
    contents.vtables = vtables.to_vec();
    contents.slots = vec![[BY_SLOT as i64, 4]];
    let bytes = contents.file();
    let file = SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    let mut stack = vec![StackAddr::Exact(ImageAddr(program.start(Place::Group(0))))];
    stack.extend(caller.map(|address| StackAddr::Return(ReturnAddr(BASE + address))));
    let mut resolved = vec![Resolved::NONE; stack.len()];
    file.resolve_stack(&stack, &mut resolved).unwrap();
    let mut first = resolved[0];
    let vptr = ImageAddr(BASE.wrapping_add_signed(vptr));
    file.resolve_object(&mut first, vptr, stack.get(1).copied()).unwrap();
    let group = file.group(first.group.unwrap()).unwrap();
    let candidates = (0..first.candidate_count()).map(|index| first.candidate(index).unwrap());
    let functions = candidates.map(|member| file.member(group, member).unwrap().function.0).collect();
    (first.certainty, first.evidence, functions)
}

const EXACT: Option<Certainty> = Some(Certainty::Exact);
const AMBIGUOUS: Option<Certainty> = Some(Certainty::Ambiguous);
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
    assert_eq!(ask(&[[POINT, 4, 0, 1]], POINT, None), (AMBIGUOUS, None, vec![4, 2, 3]));
    let two = [[POINT, 3, 0, 0], [POINT, 4, 0, 0]];
    assert_eq!(ask(&two, POINT, None), (AMBIGUOUS, None, vec![3, 4, 2]));
    // Of another group, or of none.
    assert_eq!(ask(&[[POINT, 0, 0, 0]], POINT, None), (AMBIGUOUS, None, vec![2, 3, 4]));
}
