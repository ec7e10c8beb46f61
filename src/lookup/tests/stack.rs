//! Stacks over folded code: each rule of the specification by a program made for it, and all of them by random programs.

use std::collections::BTreeSet;

use foldsym_lookup::{
    Certainty, Evidence, ImageAddr, MAX_NAMED, Resolved, ReturnAddr, StackAddr, SymbolFile,
};
use foldsym_testkit::writer::Random;
use foldsym_testkit::writer::folded::{BASE, BODY, Folded, Frame, PAD, Place};

fn entry(frame: Frame) -> StackAddr {
    match frame {
        Frame::Exact(address) => StackAddr::Exact(ImageAddr(address)),
        Frame::Return(address) => StackAddr::Return(ReturnAddr(address)),
        Frame::Foreign => StackAddr::Foreign,
    }
}

/// One answered frame.
#[derive(Debug, PartialEq, Eq)]
struct Answered {
    certainty: &'static str,
    evidence: Option<Evidence>,
    /// The functions that it may be, the likeliest first.
    functions: Vec<u32>,
}

fn answered(program: &Folded, file: &SymbolFile<'_>, frame: Frame, resolved: &Resolved) -> Answered {
    let certainty = resolved.certainty.map_or("none", Certainty::text);
    let functions = match resolved.group {
        Some(group) => {
            let group = file.records().group(group).unwrap();
            assert_eq!(resolved.candidate(resolved.candidate_count()), None);
            let candidates = (0..resolved.candidate_count()).map(|index| resolved.candidate(index).unwrap());
            candidates.map(|member| file.records().member(group, member).unwrap().function.0).collect()
        }
        None if certainty == "unique" => Vec::from_iter(program.resolve(&[frame]).1),
        None => Vec::new(),
    };
    Answered { certainty, evidence: resolved.evidence, functions }
}

fn answers(program: &Folded, stack: &[Frame]) -> Vec<Answered> {
    let bytes = program.file();
    let file = SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    let entries: Vec<StackAddr> = stack.iter().copied().map(entry).collect();
    let mut resolved = vec![Resolved::NONE; stack.len()];
    file.resolve_stack(&entries, &mut resolved).unwrap();
    stack.iter().zip(&resolved).map(|(frame, resolved)| answered(program, &file, *frame, resolved)).collect()
}

/// The answer for the innermost frame, at the first byte of group 0, with these callers.
fn innermost(program: &Folded, callers: &[u64]) -> Answered {
    let pc = Frame::Exact(program.start(Place::Group(0)));
    let stack: Vec<Frame> = [pc].into_iter().chain(callers.iter().copied().map(Frame::Return)).collect();
    answers(program, &stack).swap_remove(0)
}

fn said(
    certainty: &'static str,
    evidence: impl Into<Option<Evidence>>,
    functions: impl IntoIterator<Item = u32>,
) -> Answered {
    Answered { certainty, evidence: evidence.into(), functions: functions.into_iter().collect() }
}

#[test]
fn a_call_names_the_one_it_calls() {
    let mut program = Folded::new(2, &[3]);
    let (by_site, by_relocation, nobody) = (BASE + 0x1008, BASE + 0x1028, BASE + 0x1029);
    program.call(by_site, None, 3, 0).call(by_relocation, None, 4, 1);
    assert_eq!(innermost(&program, &[by_site]), said("exact", Evidence::DirectCall, [3]));
    assert_eq!(innermost(&program, &[by_relocation]), said("exact", Evidence::Relocation, [4]));
    assert_eq!(innermost(&program, &[nobody]), said("ambiguous", None, [2, 3, 4]));
    assert_eq!(innermost(&program, &[]), said("ambiguous", None, [2, 3, 4]));
    // A callee that is not in the group, and reaches none of its members: the record says nothing about this frame.
    program.call(nobody, None, 1, 0);
    assert_eq!(innermost(&program, &[nobody]), said("ambiguous", None, [2, 3, 4]));
}

#[test]
fn tail_calls_reach_members() {
    let mut program = Folded::new(4, &[3]);
    let [one, several, unknown, itself] = [0, 1, 2, 3].map(|f| program.inside(Place::Single(f)));
    program
        .call(one, None, 0, 0)
        .call(several, None, 1, 0)
        .call(unknown, None, 2, 0)
        .call(itself, None, 5, 0);
    program.tail(0, Some(6)).tail(1, Some(4)).tail(1, Some(6)).tail(2, None).tail(2, Some(6));
    program.tail(5, Some(4));
    assert_eq!(innermost(&program, &[one]), said("exact", Evidence::TailCall, [6]));
    assert_eq!(innermost(&program, &[several]), said("narrowed", Evidence::TailCall, [4, 6]));
    // The listed one is the likeliest.
    assert_eq!(innermost(&program, &[unknown]), said("ambiguous", None, [6, 4, 5]));
    // The callee is a member, and may call another.
    assert_eq!(innermost(&program, &[itself]), said("narrowed", Evidence::DirectCall, [5, 4]));
}

#[test]
fn a_folded_caller_is_resolved_first() {
    // Functions: 0; group 0: 1, 2, 3; group 1: 4, 5, 6.
    let mut program = Folded::new(1, &[3, 3]);
    let (outer, call) = (program.inside(Place::Single(0)), program.inside(Place::Group(1)));
    program.call(outer, None, 5, 0);
    program.call(call, Some(4), 1, 0).call(call, Some(5), 2, 0).call(call, Some(6), 2, 0);
    assert_eq!(innermost(&program, &[call, outer]), said("exact", Evidence::MergedCaller, [2]));
    // Two of the callers call 2.
    assert_eq!(innermost(&program, &[call]), said("narrowed", Evidence::MergedCaller, [1, 2]));
    // A narrowed caller, by tail calls of the function that the outermost frame calls.
    program.tail(5, Some(6));
    assert_eq!(innermost(&program, &[call, outer]), said("exact", Evidence::MergedCaller, [2]));
    program.tails[0] = (5, 5);
    assert_eq!(innermost(&program, &[call, outer]), said("narrowed", Evidence::MergedCaller, [2, 1]));
    // All of them, and each calls another: nothing is ruled out.
    program.calls.pop();
    program.call(call, Some(6), 3, 0);
    assert_eq!(innermost(&program, &[call]), said("ambiguous", None, [1, 2, 3]));
    // One record is missing.
    program.calls.pop();
    let answer = innermost(&program, &[call]);
    assert_eq!((answer.certainty, answer.functions.len()), ("ambiguous", 3));
    program.tails.clear();
    assert_eq!(innermost(&program, &[call, outer]), said("exact", Evidence::MergedCaller, [2]));
}

#[test]
fn a_record_that_leads_elsewhere_rules_nothing_out() {
    // One of the possible callers calls a function that the group does not list.
    let mut program = Folded::new(1, &[2, 2]);
    let call = program.inside(Place::Group(1));
    program.call(call, Some(3), 0, 0).call(call, Some(4), 1, 0);
    assert_eq!(innermost(&program, &[call]), said("ambiguous", None, [1, 2]));
    let mut program = Folded::new(1, &[2, 2]);
    program.call(call, Some(3), 1, 0).call(call, Some(4), 0, 0);
    assert_eq!(innermost(&program, &[call]), said("ambiguous", None, [1, 2]));
    // The compiler may have merged the callee: it is a member without a DIE, or any.
    let mut program = Folded::new(1, &[3, 2]);
    let call = program.inside(Place::Group(1));
    program.call(call, Some(4), 0, 2).call(call, Some(5), 1, 0);
    assert_eq!(innermost(&program, &[call]).certainty, "ambiguous");
    program.groups[0][2] = 6;
    assert_eq!(innermost(&program, &[call]), said("narrowed", Evidence::MergedCaller, [1, 3]));
}

/// A `how` that rules nothing out is no reason to stop: the members of later callers' records come first, too.
#[test]
fn an_open_set_does_not_hide_later_records() {
    for how in [4, 6] {
        let mut program = Folded::new(1, &[3, 2]);
        let call = program.inside(Place::Group(1));
        program.call(call, Some(4), 2, how).call(call, Some(5), 3, how);
        assert_eq!(innermost(&program, &[call]), said("ambiguous", None, [2, 3, 1]), "how {how}");
    }
    // TAILS lists 0 for the first callee, which is no member.
    let mut program = Folded::new(1, &[3, 2]);
    let call = program.inside(Place::Group(1));
    program.call(call, Some(4), 0, 0).call(call, Some(5), 3, 0).tail(0, None).tail(0, Some(2));
    assert_eq!(innermost(&program, &[call]), said("ambiguous", None, [2, 3, 1]));
    // A record that is missing, or gives no member, does stop.
    program.calls[0].1 = 1;
    assert_eq!(innermost(&program, &[call]), said("ambiguous", None, [1, 2, 3]));
    program.calls[0].1 = 5;
    program.tails.clear();
    assert_eq!(innermost(&program, &[call]), said("ambiguous", None, [1, 2, 3]));
    // So does a doubtful one in a group without a member that only a symbol names.
    program.calls[0].3 = 2;
    assert_eq!(innermost(&program, &[call]), said("ambiguous", None, [1, 2, 3]));
    program.groups[0][1] = 6;
    assert_eq!(innermost(&program, &[call]), said("narrowed", Evidence::MergedCaller, [3, 2]));
}

#[test]
fn the_record_of_whoever_calls_comes_first() {
    let mut program = Folded::new(1, &[2, 2]);
    let call = program.inside(Place::Group(1));
    program.call(call, Some(3), 1, 0).call(call, Some(4), 1, 0).call(call, None, 2, 0);
    assert_eq!(innermost(&program, &[call]), said("exact", Evidence::DirectCall, [2]));
    // One of a caller is none for code that is not folded.
    let mut program = Folded::new(1, &[2]);
    let call = program.inside(Place::Single(0));
    program.call(call, Some(0), 1, 0);
    assert_eq!(innermost(&program, &[call]), said("ambiguous", None, [1, 2]));
}

#[test]
fn what_a_compiler_merged_is_never_exact() {
    let mut program = Folded::new(1, &[4]);
    let call = program.inside(Place::Single(0));
    program.call(call, None, 2, 2);
    assert_eq!(innermost(&program, &[call]), said("likely", Evidence::DirectCall, [2]));
    program.groups[0][3] = 6;
    assert_eq!(innermost(&program, &[call]), said("likely", Evidence::DirectCall, [2, 4]));
    program.groups[0][0] = 6;
    program.groups[0][2] = 6;
    assert_eq!(innermost(&program, &[call]), said("likely", Evidence::DirectCall, [2, 1, 3, 4]));
    // The callee is another function: the members without a DIE are left.
    program.groups[0] = vec![0, 1, 1, 6];
    program.calls[0].2 = 0;
    // The record is the evidence, since no tail call is known.
    for (how, evidence) in [(2, Evidence::DirectCall), (5, Evidence::DirectCall), (3, Evidence::Relocation)] {
        program.calls[0].3 = how;
        assert_eq!(innermost(&program, &[call]), said("narrowed", evidence, [4]), "how {how}");
    }
}

#[test]
fn more_than_a_frame_names_are_all() {
    let most = MAX_NAMED as u32;
    for reached in [most - 1, most, most + 1, most + 3] {
        let mut program = Folded::new(1, &[24]);
        let call = program.inside(Place::Single(0));
        program.call(call, None, 0, 0);
        (0..reached).for_each(|index| {
            program.tail(0, Some(24 - index));
        });
        let expected = if reached <= most {
            said("narrowed", Evidence::TailCall, 25 - reached..25)
        } else {
            said("ambiguous", None, 1..25)
        };
        assert_eq!(innermost(&program, &[call]), expected, "{reached}");
    }
}

#[test]
fn only_a_return_address_tells() {
    let mut program = Folded::new(1, &[2]);
    let (start, call) = (program.start(Place::Group(0)), program.inside(Place::Single(0)));
    program.call(call, None, 2, 0);
    let first = |stack: &[Frame]| answers(&program, stack).swap_remove(0);
    let pc = Frame::Exact(start);
    let exact = said("exact", Evidence::DirectCall, [2]);
    let ambiguous = || said("ambiguous", None, [1, 2]);
    assert_eq!(first(&[pc, Frame::Return(call)]), exact);
    // A signal's frame, and one of another module.
    assert_eq!(first(&[pc, Frame::Exact(call)]), ambiguous());
    assert_eq!(first(&[pc, Frame::Foreign, Frame::Return(call)]), ambiguous());
    // A frame further in than a signal's frame does not hide its caller.
    let stack = [Frame::Exact(call), pc, Frame::Return(call)];
    assert_eq!(answers(&program, &stack)[1], exact);
    assert_eq!(answers(&program, &[Frame::Foreign, pc, Frame::Return(call)])[1], exact);
    // The last byte of the code, exact and as the end of a call; then padding, and bytes without an owner.
    let end = start + BODY;
    for (frame, inside) in [
        (Frame::Exact(end - 1), true),
        (Frame::Return(end), true),
        (Frame::Return(start + 1), true),
        (Frame::Return(start), false),
        (Frame::Exact(end), false),
        (Frame::Exact(end + PAD - 1), false),
        (Frame::Exact(end + PAD), false),
        (Frame::Exact(start - 1), false),
        (Frame::Exact(0), false),
        (Frame::Exact(u64::MAX), false),
        (Frame::Return(0), false),
        (Frame::Return(BASE), false),
    ] {
        let expected = if inside { said("exact", Evidence::DirectCall, [2]) } else { said("none", None, []) };
        assert_eq!(first(&[frame, Frame::Return(call)]), expected, "{frame:x?}");
    }
    // A caller in padding, or outside of code, still counts as a caller.
    for place in [BASE + 0x1000 + BODY + 1, BASE + 0x1000 + 0x1c] {
        program.calls = vec![(place, 0, 2, 0)];
        assert_eq!(innermost(&program, &[place]), exact);
    }
}

#[test]
fn the_shorter_slice_counts() {
    let mut program = Folded::new(1, &[2]);
    let call = program.inside(Place::Single(0));
    program.call(call, None, 2, 0);
    let bytes = program.file();
    let file = SymbolFile::open(&bytes).unwrap();
    let stack = [Frame::Exact(program.start(Place::Group(0))), Frame::Return(call)].map(entry);
    let certainties = |stack: &[StackAddr], len: usize| {
        // The previous content of the slice is overwritten.
        let mut resolved = vec![Resolved::NONE; 4];
        file.resolve_stack(&[stack[1]; 4], &mut resolved).unwrap();
        assert!(resolved.iter().all(|frame| frame.certainty == Some(Certainty::Unique)));
        resolved.truncate(len);
        file.resolve_stack(stack, &mut resolved).unwrap();
        resolved.iter().map(|frame| frame.certainty).collect::<Vec<_>>()
    };
    assert_eq!(certainties(&stack, 0), []);
    assert_eq!(certainties(&stack, 1), [Some(Certainty::Ambiguous)]);
    assert_eq!(certainties(&stack, 2), [Some(Certainty::Exact), Some(Certainty::Unique)]);
    assert_eq!(certainties(&stack, 3), [Some(Certainty::Exact), Some(Certainty::Unique), None]);
}

#[test]
fn random_programs_answer_as_sets_do() {
    let (mut seen, mut of_callers) = (std::collections::BTreeMap::<_, u32>::new(), 0);
    for seed in 0..1500 {
        let mut random = Random(seed);
        let program = Folded::random(&mut random);
        let bytes = program.file();
        let file = SymbolFile::open(&bytes).unwrap();
        file.verify().unwrap();
        let returns = program.returns();
        for _ in 0..20 {
            let stack: Vec<Frame> = (0..1 + random.below(6))
                .map(|_| {
                    let address = returns[random.below(returns.len() as u64) as usize];
                    match random.below(12) {
                        0 => Frame::Foreign,
                        1 => Frame::Exact(address),
                        _ => Frame::Return(address),
                    }
                })
                .collect();
            let entries: Vec<StackAddr> = stack.iter().copied().map(entry).collect();
            let mut resolved = vec![Resolved::NONE; stack.len()];
            file.resolve_stack(&entries, &mut resolved).unwrap();
            for (at, frame) in resolved.iter().enumerate() {
                let answer = answered(&program, &file, stack[at], frame);
                let (certainty, functions) = program.resolve(&stack[at..]);
                let told = answer.functions.iter().copied().collect::<BTreeSet<u32>>();
                assert_eq!(
                    (answer.certainty, &told),
                    (certainty, &functions),
                    "seed {seed}: {stack:x?} {at}"
                );
                assert_eq!(told.len(), answer.functions.len(), "seed {seed}: one twice");
                let rests = matches!(certainty, "exact" | "likely" | "narrowed");
                assert_eq!(answer.evidence.is_some(), rests, "seed {seed}: {stack:x?} {at}");
                *seen.entry(certainty).or_default() += 1;
                of_callers += u32::from(answer.evidence == Some(Evidence::MergedCaller));
            }
        }
    }
    // Without one of them the comparison leaves a rule out.
    for kind in ["none", "unique", "exact", "likely", "narrowed", "ambiguous"] {
        assert!(seen.get(kind).is_some_and(|&count| count > 1000), "{kind}: {seen:?}");
    }
    assert!(of_callers > 500, "{of_callers}: {seen:?}");
}

/// Group 0 of functions 0, 1 and 2, named `f000`, `f001` and `f002`, with other names of each.
fn imported(aliases: &[(usize, &str)], import: &str) -> (&'static str, Option<u32>) {
    let program = Folded::new(0, &[3]);
    let mut contents = program.contents();
    let mut names: Vec<Vec<u8>> = aliases.iter().map(|alias| alias.1.as_bytes().to_vec()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !contents.names.contains(name));
    let before = names.partition_point(|name| *name < contents.names[0]);
    for origin in &mut contents.origins {
        origin[0] += before as i64;
    }
    let behind = names.split_off(before);
    names.append(&mut contents.names);
    names.extend(behind);
    let id = |text: &str| names.iter().position(|name| name == text.as_bytes()).unwrap() as i64;
    // At most one of each function.
    for &(function, name) in aliases {
        contents.aliases.push([id(name), 1]);
        contents.functions[function][3] = contents.aliases.len() as i64;
    }
    contents.names = names;
    let bytes = contents.file();
    let file = SymbolFile::open(&bytes).unwrap();
    let pc = StackAddr::Exact(ImageAddr(program.start(Place::Group(0))));
    let mut resolved = file.resolve_one(pc, None).unwrap();
    file.resolve_import(&mut resolved, import.as_bytes()).unwrap();
    assert_eq!(resolved.candidate_count(), 3, "nothing is ruled out");
    let first = resolved.evidence.map(|evidence| {
        assert_eq!(evidence, Evidence::Relocation);
        resolved.candidate(0).unwrap()
    });
    (resolved.certainty.unwrap().text(), first)
}

#[test]
fn the_name_of_an_import_is_that_of_one_function() {
    let nothing = ("ambiguous", None);
    assert_eq!(imported(&[], "f001"), ("likely", Some(1)));
    assert_eq!(imported(&[], "f003"), nothing);
    // A converter gives a plain alias of unknown owner to the first function.
    assert_eq!(imported(&[(0, "other")], "other"), nothing);
    assert_eq!(imported(&[(0, "f001")], "f001"), nothing);
    // A mangled name is that of the function that it was given to.
    for name in ["_ZN1aC1Ev", "_RNvC1a1b", "__ZN1aC1Ev"] {
        assert_eq!(imported(&[(1, name)], name), ("likely", Some(1)));
        // Two functions with the name.
        assert_eq!(imported(&[(1, name), (2, name)], name), nothing);
    }
}
