//! Reads the calls with a known callee from the disassembly of the program without folding, and counts the answers for them: a stack of the
//! callee's address and the call's return address must be answered with that callee. If the callee jumps to the start of another function,
//! that one is above the return address too. If the caller is folded, a second stack also has a return address of the caller's own caller.

use std::collections::{BTreeMap, BTreeSet};

use super::counts::Counts;
use super::pair::{Group, Programs};
use crate::fold::stacks::{Answer, same_function};
use crate::llvm::Symbol;
use crate::llvm::objdump::{disassemble, transfer};
use crate::llvm::readelf::{Pointer, pointers};

/// A direct call into a group of the folded program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FoldedCall {
    /// Where the callee is.
    pc: u64,
    return_address: u64,
    callee: String,
    /// The caller is folded too: its return address alone does not identify it.
    caller_is_folded: bool,
    caller: String,
    /// Where the callee and the caller are without folding: names may be those of several local functions.
    callee_apart: u64,
    caller_apart: u64,
    /// The function that is called jumps to this one, or to one that does.
    through_jumps: bool,
}

/// A call, and for a folded caller the return address of a call of it by code that is not folded.
struct AskedCall<'a> {
    call: &'a FoldedCall,
    outer: Option<u64>,
}

/// Compares and counts.
pub(super) fn compare(pair: &Programs<'_>, groups: &BTreeMap<u64, Group>) -> Result<Counts, String> {
    let mut counts = Counts::keeping(pair.options.examples);
    let calls = list(pair, groups, &mut counts)?;
    let mut outer: BTreeMap<u64, u64> = BTreeMap::new();
    for call in calls.iter().filter(|call| !call.caller_is_folded && !call.through_jumps) {
        outer.entry(call.callee_apart).or_insert(call.return_address);
    }
    let mut asked: Vec<AskedCall<'_>> = Vec::new();
    for call in &calls {
        asked.push(AskedCall { call, outer: None });
        let known = outer.get(&call.caller_apart).filter(|_| call.caller_is_folded);
        asked.extend(known.map(|&outer| AskedCall { call, outer: Some(outer) }));
    }
    for some in asked.chunks(4000) {
        let line = |one: &AskedCall<'_>| {
            let outer = one.outer.map(|outer| format!(" {outer:#x}")).unwrap_or_default();
            format!("{:#x} {:#x}{outer}", one.call.pc, one.call.return_address)
        };
        let lines: Vec<String> = some.iter().map(line).collect();
        let answers = pair.asker.foldsym.stacks(&pair.folded.fsym, 0, &lines)?;
        for (one, stack) in some.iter().zip(&answers) {
            let at_callee =
                || pair.unfolded.beginning(one.call.callee_apart).map(|symbol| symbol.name.as_str());
            let (kind, answer) = (kind(one, stack.first(), at_callee), stack.first());
            let example = || format!("{:x?} is answered {}", one.call, answer.map(show).unwrap_or_default());
            counts.add(&kind, example);
        }
    }
    counts.sum("calls and ways through jumps compared", asked.len());
    Ok(counts)
}

fn show(answer: &Answer) -> String {
    let names: Vec<&str> =
        answer.candidates.iter().take(3).filter_map(|c| c.names.first()).map(String::as_str).collect();
    format!("{} {} of {}", answer.certainty, names.join(", "), answer.candidates.len())
}

/// `at_callee`: the names of functions that begin where the callee does without folding. Compilers make some names of one
/// function's code; which of them the source called is not known.
fn kind<'n, N: Iterator<Item = &'n str>>(
    asked: &AskedCall<'_>,
    answer: Option<&Answer>,
    at_callee: impl Fn() -> N,
) -> String {
    let Some(answer) = answer else { return "DEFECT no answer".to_owned() };
    let call = asked.call;
    let is = |name: &String| same_function(name, &call.callee);
    let right = answer.candidates.iter().position(|candidate| candidate.names.iter().any(is));
    let is_there = |name: &String| at_callee().any(|other| same_function(name, other));
    let caller = match (call.caller_is_folded, asked.outer) {
        (false, _) => "caller not folded",
        (true, None) => "caller folded",
        (true, Some(_)) => "caller folded, with its caller",
    };
    let caller = if call.through_jumps { format!("{caller}, through jumps") } else { caller.to_owned() };
    match (answer.certainty.as_str(), right) {
        ("exact", Some(_)) if answer.candidates.len() == 1 => format!("{caller}: exact"),
        ("exact", None)
            if answer.candidates.len() == 1 && answer.candidates[0].names.iter().any(is_there) =>
        {
            format!("{caller}: exact, another name of the callee's code")
        }
        ("exact", _) => format!("DEFECT {caller}: exact, and another"),
        (certainty, Some(0)) => format!("{caller}: {certainty}, the callee first"),
        (certainty, Some(_)) => format!("{caller}: {certainty}"),
        (certainty, None) => format!("DEFECT {caller}: {certainty}, without the callee"),
    }
}

/// Every direct call of the unfolded program whose callee, or a function that this jumps to, is in a group of the folded
/// one.
fn list(
    pair: &Programs<'_>,
    groups: &BTreeMap<u64, Group>,
    counts: &mut Counts,
) -> Result<BTreeSet<FoldedCall>, String> {
    let pointers = pointers(&pair.unfolded.program.path)?;
    let function_at = |address| pair.unfolded.covering(address).filter(|found| found.address == address);
    let mut direct: Vec<(u64, &Symbol)> = Vec::new();
    let mut jumps: BTreeMap<u64, Vec<&Symbol>> = BTreeMap::new();
    disassemble(&pair.unfolded.program.path, |line| {
        let Some(transfer) = transfer(line) else { return };
        let target = match transfer.symbol.strip_suffix("@plt") {
            _ if transfer.through_pointer => match pointers.get(&transfer.target) {
                Some(Pointer::Address(address)) => function_at(*address),
                Some(Pointer::Name(name)) => pair.unfolded.named(name).next(),
                None => None,
            },
            // Through the table of a shared library: by name, and only a global function has such an entry.
            Some(name) => pair.unfolded.named(name).next(),
            None => function_at(transfer.target),
        };
        let Some(target) = target else { return };
        match transfer.size {
            Some(size) => direct.push((transfer.at + size, target)),
            None => {
                let from = pair.unfolded.covering(transfer.at).map(|from| from.address);
                if let Some(from) = from.filter(|from| *from != target.address) {
                    jumps.entry(from).or_default().push(target);
                }
            }
        }
    })?;
    let mut calls = BTreeSet::new();
    for (return_address, callee) in direct {
        for (at, function) in reached(callee, &jumps).into_iter().enumerate() {
            call(pair, groups, counts, (return_address, function, at > 0), &mut calls);
        }
    }
    Ok(calls)
}

/// A function and what jumps lead to from it, itself first.
fn reached<'a>(from: &'a Symbol, jumps: &BTreeMap<u64, Vec<&'a Symbol>>) -> Vec<&'a Symbol> {
    const MOST: usize = 64;
    let mut found = vec![from];
    let mut next = 0;
    while let Some(at) = found.get(next).filter(|_| found.len() < MOST) {
        next += 1;
        for to in jumps.get(&at.address).into_iter().flatten() {
            if !found.iter().any(|known| known.address == to.address) {
                found.push(to);
            }
        }
    }
    found
}

fn call(
    pair: &Programs<'_>,
    groups: &BTreeMap<u64, Group>,
    counts: &mut Counts,
    (return_address, callee, through_jumps): (u64, &Symbol, bool),
    calls: &mut BTreeSet<FoldedCall>,
) {
    let Some(pc) = pair.folded.same(callee) else {
        counts.add("callee not found in the folded program", || {
            format!("{} before {return_address:#x}", callee.name)
        });
        return;
    };
    if !groups.contains_key(&pc) {
        return;
    }
    let Some(caller) = pair.unfolded.covering(return_address - 1) else { return };
    let Some(caller_at) = pair.folded.same(caller) else {
        counts.add("caller not found in the folded program", || {
            format!("{} before {return_address:#x}", caller.name)
        });
        return;
    };
    calls.insert(FoldedCall {
        pc,
        return_address: caller_at + (return_address - caller.address),
        callee: callee.name.clone(),
        caller_is_folded: groups.contains_key(&caller_at),
        caller: caller.name.clone(),
        callee_apart: callee.address,
        caller_apart: caller.address,
        through_jumps,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llvm::Kind;

    #[test]
    fn jumps_are_followed() {
        let symbol =
            |address| Symbol { address, size: 1, kind: Kind::Function, name: String::new(), file: None };
        let all = [symbol(1), symbol(2), symbol(3)];
        let jumps = BTreeMap::from([(1, vec![&all[1]]), (2, vec![&all[2], &all[0]])]);
        let of = |at: usize| reached(&all[at], &jumps).iter().map(|found| found.address).collect::<Vec<_>>();
        assert_eq!((of(0), of(1), of(2)), (vec![1, 2, 3], vec![2, 3, 1], vec![3]));
    }

    #[test]
    fn kinds_of_answers() {
        let call = FoldedCall {
            pc: 1,
            return_address: 2,
            callee: "_Z1av".into(),
            caller_is_folded: false,
            caller: "_Z1cv".into(),
            callee_apart: 0,
            caller_apart: 0,
            through_jumps: false,
        };
        let asked = AskedCall { call: &call, outer: None };
        let answer = |certainty: &str, names: &[&str]| {
            let candidates = names
                .iter()
                .map(|name| crate::fold::stacks::Candidate {
                    names: vec![(*name).to_owned()],
                    frames: vec![],
                    guessed_lines: false,
                })
                .collect();
            Answer { certainty: certainty.to_owned(), candidates }
        };
        let there = || ["_Z1av", "_Z1dv"].into_iter();
        let of = |certainty: &str, names: &[&str]| kind(&asked, Some(&answer(certainty, names)), there);
        assert_eq!(of("exact", &["_Z1av"]), "caller not folded: exact");
        assert_eq!(of("narrowed", &["_Z1bv", "_Z1av"]), "caller not folded: narrowed");
        assert_eq!(of("ambiguous", &["_Z1av", "_Z1bv"]), "caller not folded: ambiguous, the callee first");
        assert!(of("exact", &["_Z1bv"]).starts_with("DEFECT"));
        assert_eq!(of("exact", &["_Z1dv"]), "caller not folded: exact, another name of the callee's code");
        assert!(of("exact", &["_Z1av", "_Z1bv"]).starts_with("DEFECT"));
        assert!(of("ambiguous", &["_Z1bv"]).starts_with("DEFECT"));
        assert!(kind(&asked, None, there).starts_with("DEFECT"));
    }
}
