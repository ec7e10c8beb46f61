//! The disassembly of the program without folding to a list of calls whose callee is known, and that list to counts: a
//! stack of the callee's address and the call's return address must be answered with that callee.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::{Counts, Group, Pair, Symbol};
use crate::fold::stacks::{Answer, same_function};
use crate::sh;

/// A direct call into a group of the folded program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    /// Where the callee is.
    pc: u64,
    return_address: u64,
    callee: String,
    /// The caller is folded too: its return address alone does not tell who it is.
    caller_is_folded: bool,
    caller: String,
}

/// Compares and prints. Gives the number of defects.
pub(super) fn compare(pair: &Pair, groups: &BTreeMap<u64, Group>) -> Result<usize, String> {
    let mut counts = Counts::keeping(pair.options.examples);
    let calls = list(pair, groups, &mut counts)?;
    if let Some(path) = &pair.options.list {
        let line = |call: &Call| format!("{:#x} {:#x} {}\n", call.pc, call.return_address, call.callee);
        let text: String = calls.iter().map(line).collect();
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let calls: Vec<Call> = calls.into_iter().collect();
    for some in calls.chunks(4000) {
        let lines: Vec<String> =
            some.iter().map(|call| format!("{:#x} {:#x}", call.pc, call.return_address)).collect();
        let answers = pair.foldsym.stacks(&pair.folded.fsym, 0, &lines)?;
        for (call, stack) in some.iter().zip(&answers) {
            let (kind, answer) = (kind(call, stack.first()), stack.first());
            let example = || format!("{call:x?} is answered {}", answer.map(show).unwrap_or_default());
            counts.add(&kind, example);
        }
    }
    println!("direct calls into groups: {}", calls.len());
    counts.print();
    Ok(counts.of("DEFECT"))
}

fn show(answer: &Answer) -> String {
    let names: Vec<&str> =
        answer.candidates.iter().take(3).filter_map(|c| c.names.first()).map(String::as_str).collect();
    format!("{} {} of {}", answer.certainty, names.join(", "), answer.candidates.len())
}

fn kind(call: &Call, answer: Option<&Answer>) -> String {
    let Some(answer) = answer else { return "DEFECT no answer".to_owned() };
    let is = |name: &String| same_function(name, &call.callee);
    let right = answer.candidates.iter().any(|candidate| candidate.names.iter().any(is));
    let caller = if call.caller_is_folded { "caller folded" } else { "caller not folded" };
    match (answer.certainty.as_str(), right) {
        ("exact", true) if answer.candidates.len() == 1 => format!("{caller}: exact"),
        ("exact", _) => format!("DEFECT {caller}: exact, and another"),
        (certainty, true) => format!("{caller}: {certainty}"),
        (certainty, false) => format!("DEFECT {caller}: {certainty}, without the callee"),
    }
}

/// Every direct call of the unfolded program whose callee is in a group of the folded one.
fn list(pair: &Pair, groups: &BTreeMap<u64, Group>, counts: &mut Counts) -> Result<BTreeSet<Call>, String> {
    let mut objdump = Command::new(sh::llvm("llvm-objdump")?);
    objdump.args(["--disassemble", "--no-show-raw-insn"]).arg(&pair.unfolded.program.path);
    let mut child = objdump.stdout(Stdio::piped()).spawn().map_err(|e| format!("llvm-objdump: {e}"))?;
    let out = child.stdout.take().ok_or("llvm-objdump: no output")?;
    let mut calls = BTreeSet::new();
    for line in BufReader::new(out).lines() {
        let line = line.map_err(|e| format!("llvm-objdump: {e}"))?;
        if let Some((at, target, symbol)) = direct_call(&line) {
            call(pair, groups, counts, (at, target, symbol), &mut calls);
        }
    }
    let status = child.wait().map_err(|e| format!("llvm-objdump: {e}"))?;
    if status.success() { Ok(calls) } else { Err(format!("llvm-objdump: {status}")) }
}

/// `  448987: \tcallq\t0x4488f0 <name>`: address, target, name.
fn direct_call(line: &str) -> Option<(u64, u64, &str)> {
    let (address, rest) = line.trim_start().split_once(':')?;
    let rest = rest.trim_start().strip_prefix("callq")?.trim_start().strip_prefix("0x")?;
    let (target, symbol) = rest.split_once(" <")?;
    let symbol = symbol.split('>').next()?;
    Some((u64::from_str_radix(address, 16).ok()?, u64::from_str_radix(target, 16).ok()?, symbol))
}

/// The opcode and four bytes of offset.
const CALL_SIZE: u64 = 5;

fn call(
    pair: &Pair,
    groups: &BTreeMap<u64, Group>,
    counts: &mut Counts,
    (at, target, symbol): (u64, u64, &str),
    calls: &mut BTreeSet<Call>,
) {
    let callee: Option<&Symbol> = match symbol.strip_suffix("@plt") {
        // Through the table of a shared library: by name, and only a global function has such an entry.
        Some(name) => pair.unfolded.named(name).next(),
        None => pair.unfolded.covering(target).filter(|function| function.address == target),
    };
    let Some(callee) = callee else { return };
    let Some(pc) = pair.folded.same(callee) else {
        counts.add("callee not found in the folded program", || format!("{} at {at:#x}", callee.name));
        return;
    };
    if !groups.contains_key(&pc) {
        return;
    }
    let Some(caller) = pair.unfolded.covering(at) else { return };
    let Some(folded) = pair.folded.same(caller) else {
        counts.add("caller not found in the folded program", || format!("{} at {at:#x}", caller.name));
        return;
    };
    calls.insert(Call {
        pc,
        return_address: folded + (at - caller.address) + CALL_SIZE,
        callee: callee.name.clone(),
        caller_is_folded: groups.contains_key(&folded),
        caller: caller.name.clone(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_from_a_disassembly() {
        let line = "  448987:      \tcallq\t0x4488f0 <deregister_tm_clones>";
        assert_eq!(direct_call(line), Some((0x44_8987, 0x44_88f0, "deregister_tm_clones")));
        let plt = "  448982:      \tcallq\t0xb2fe90 <__cxa_finalize@plt>";
        assert_eq!(direct_call(plt).map(|(.., name)| name), Some("__cxa_finalize@plt"));
        assert_eq!(direct_call("  44898c:      \tcallq\t*0x738d9d(%rip)    # 0xb81730 <x>"), None);
        assert_eq!(direct_call("  448a47:      \tjmp\t0x4489fc <f+0xc>"), None);
        assert_eq!(direct_call("0000000000448970 <f>:"), None);
    }

    #[test]
    fn kinds_of_answers() {
        let call = Call {
            pc: 1,
            return_address: 2,
            callee: "_Z1av".into(),
            caller_is_folded: false,
            caller: "_Z1cv".into(),
        };
        let answer = |certainty: &str, names: &[&str]| {
            let candidates = names
                .iter()
                .map(|name| crate::fold::stacks::Candidate {
                    names: vec![(*name).to_owned()],
                    frames: vec![],
                })
                .collect();
            Answer { certainty: certainty.to_owned(), candidates }
        };
        let of = |certainty: &str, names: &[&str]| kind(&call, Some(&answer(certainty, names)));
        assert_eq!(of("exact", &["_Z1av"]), "caller not folded: exact");
        assert_eq!(of("narrowed", &["_Z1bv", "_Z1av"]), "caller not folded: narrowed");
        assert!(of("exact", &["_Z1bv"]).starts_with("DEFECT"));
        assert!(of("exact", &["_Z1av", "_Z1bv"]).starts_with("DEFECT"));
        assert!(of("ambiguous", &["_Z1bv"]).starts_with("DEFECT"));
        assert!(kind(&call, None).starts_with("DEFECT"));
    }
}
