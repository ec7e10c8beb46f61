//! Turns the vtables of the program without folding into calls whose callee is known: each slot of each vtable names one. A stack of the
//! callee's address with an object's pointer to the same vtable of the folded program must be answered with that callee, without a caller
//! and with one that calls through that slot.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::counts::Counts;
use super::pair::{Group, Programs};
use crate::fold::stacks::{Answer, same_function};
use crate::llvm::objdump::{disassemble, indirect_call};
use crate::llvm::readelf::{self, Pointer, pointers};

/// Bytes of a word of a table.
const WORD: u64 = 8;

/// A method in a slot of an object's table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    /// Where the method is in the folded program, and what the object has there.
    pc: u64,
    vptr: u64,
    slot: u64,
    method: String,
    /// The pointer is that of another part of the object than the one through which it was called.
    adjusted: bool,
}

/// Compares and counts.
pub(super) fn compare(pair: &Programs<'_>, groups: &BTreeMap<u64, Group>) -> Result<Counts, String> {
    let mut counts = Counts::keeping(pair.options.examples);
    let slots = list(pair, groups, &mut counts)?;
    let callers = callers(pair, groups)?;
    counts.sum("slots of tables that lead into groups", slots.len());
    let slots: Vec<Slot> = slots.into_iter().collect();
    for some in slots.chunks(4000) {
        ask(pair, some, &mut counts, "without a caller", |_| Some(String::new()))?;
        ask(pair, some, &mut counts, "called through the slot", |slot| {
            callers.get(&slot.slot).map(|caller| format!(" {caller:#x}"))
        })?;
    }
    Ok(counts)
}

fn ask(
    pair: &Programs<'_>,
    slots: &[Slot],
    counts: &mut Counts,
    how: &str,
    caller: impl Fn(&Slot) -> Option<String>,
) -> Result<(), String> {
    let line = |slot: &Slot| Some(format!("{:#x} vptr={:#x}{}", slot.pc, slot.vptr, caller(slot)?));
    let (asked, lines): (Vec<&Slot>, Vec<String>) =
        slots.iter().filter_map(|slot| Some((slot, line(slot)?))).unzip();
    let answers = pair.asker.foldsym.stacks(&pair.folded.fsym, 0, &lines)?;
    for ((slot, line), stack) in asked.iter().zip(&lines).zip(&answers) {
        let kind = kind(slot, stack.first());
        let kind = kind
            .strip_prefix("DEFECT ")
            .map_or(format!("{how}: {kind}"), |kind| format!("DEFECT {how}: {kind}"));
        let first = || {
            let named = |answer: &Answer| answer.candidates.first()?.names.first().cloned();
            stack.first().and_then(named).unwrap_or_default()
        };
        counts.add(&kind, || format!("{line}: {slot:x?} is answered {}", first()));
    }
    Ok(())
}

fn kind(slot: &Slot, answer: Option<&Answer>) -> String {
    let Some(answer) = answer else { return "DEFECT no answer".to_owned() };
    let is = |name: &String| same_method(name, &slot.method);
    let right = |candidate: &crate::fold::stacks::Candidate| candidate.names.iter().any(is);
    let view = if slot.adjusted { "adjusted object, " } else { "" };
    match (answer.certainty.as_str(), answer.candidates.iter().position(right)) {
        ("exact", Some(_)) if answer.candidates.len() == 1 => format!("{view}exact"),
        ("exact", _) => format!("DEFECT {view}exact, and another"),
        (certainty, Some(0)) => format!("{view}{certainty}, the method first"),
        (certainty, Some(_)) => format!("{view}{certainty}"),
        (certainty, None) => format!("DEFECT {view}{certainty}, without the method"),
    }
}

/// Names of one function: the variants of a destructor are.
fn same_method(a: &str, b: &str) -> bool {
    same_function(a, b) || a.replace("D1E", "D2E") == b.replace("D1E", "D2E")
}

/// The name of what a thunk leads to.
fn target(name: &str) -> &str {
    let thunk = ["_ZThn", "_ZTv0_n", "_ZTch"].iter().any(|start| name.starts_with(start));
    match name.find("_N").filter(|_| thunk) {
        // The letters after `_Z` are the thunk's.
        Some(at) => &name[at..],
        None => name,
    }
}

fn list(
    pair: &Programs<'_>,
    groups: &BTreeMap<u64, Group>,
    counts: &mut Counts,
) -> Result<BTreeSet<Slot>, String> {
    let unfolded = &pair.unfolded.program.path;
    let pointers = pointers(unfolded)?;
    let here = tables(&pair.folded.program.path)?;
    let mut slots = BTreeSet::new();
    for (name, (address, size)) in tables(unfolded)? {
        let Some(&(folded, _)) = here.get(&name) else { continue };
        let mut first = None;
        let mut slot = 0;
        let mut point = address;
        for at in (0..size / WORD).map(|at| address + at * WORD) {
            let Some(pointer) = pointers.get(&at) else {
                point = at + WORD;
                slot = 0;
                continue;
            };
            if slot == 0 {
                point = at;
                first.get_or_insert(point);
            }
            let function = match pointer {
                Pointer::Name(name) => Some(name.clone()),
                Pointer::Address(address) => {
                    let at = pair.unfolded.covering(*address).filter(|f| f.address == *address);
                    at.map(|function| function.name.clone())
                }
            };
            let number = slot;
            slot += 1;
            let Some(function) = function else { continue };
            let method = target(&function).trim_start_matches("_N");
            let method =
                if method.len() < function.len() { format!("_ZN{method}") } else { function.clone() };
            let Some(symbol) = pair.unfolded.named(&method).next() else { continue };
            let Some(pc) = pair.folded.same(symbol) else {
                counts.add("method not found in the folded program", || method.clone());
                continue;
            };
            if !groups.contains_key(&pc) {
                continue;
            }
            let add = |point: u64, adjusted: bool| Slot {
                pc,
                vptr: folded + (point - address),
                slot: number,
                method: method.clone(),
                adjusted,
            };
            slots.insert(add(point, false));
            // A thunk hands the object on as a whole.
            if let Some(first) = first.filter(|_| method != function) {
                slots.insert(add(first, true));
            }
        }
    }
    Ok(slots)
}

/// The tables by name: address and bytes. Those of one name in several units are left out.
fn tables(program: &Path) -> Result<BTreeMap<String, (u64, u64)>, String> {
    let mut found: BTreeMap<String, BTreeSet<(u64, u64)>> = BTreeMap::new();
    for (name, address, size) in readelf::objects(program)? {
        if name.starts_with("_ZTV") && address > 0 {
            found.entry(name).or_default().insert((address, size));
        }
    }
    let alone = found.into_iter().filter(|(_, places)| places.len() == 1);
    Ok(alone.filter_map(|(name, places)| Some((name, places.into_iter().next()?))).collect())
}

/// The return address of a call through each slot in the folded program, if the code of the call is not folded.
fn callers(pair: &Programs<'_>, groups: &BTreeMap<u64, Group>) -> Result<BTreeMap<u64, u64>, String> {
    let mut callers = BTreeMap::new();
    let mut call = None;
    disassemble(&pair.folded.program.path, |line| {
        let Some((address, text)) = line.trim_start().split_once(':') else {
            call = None;
            return;
        };
        let Ok(address) = u64::from_str_radix(address, 16) else { return };
        if let Some(slot) = call.take() {
            let single = |function: &crate::llvm::Symbol| !groups.contains_key(&function.address);
            if pair.folded.covering(address - 1).is_some_and(single) {
                callers.entry(slot).or_insert(address);
            }
        }
        call = indirect_call(text).filter(|offset| offset.is_multiple_of(WORD)).map(|offset| offset / WORD);
    })?;
    Ok(callers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_thunks_and_destructors() {
        assert_eq!(target("_ZThn16_N1C2q1Ei"), "_N1C2q1Ei");
        assert_eq!(target("_ZN1C2_NEi"), "_ZN1C2_NEi");
        assert!(same_method("_ZN1CD1Ev", "_ZN1CD2Ev") && !same_method("_ZN1CD0Ev", "_ZN1CD2Ev"));
    }

    #[test]
    fn kinds_of_answers() {
        let slot = Slot { pc: 1, vptr: 2, slot: 0, method: "_ZN1C1mEv".into(), adjusted: false };
        let answer = |certainty: &str, names: &[&str]| Answer {
            certainty: certainty.to_owned(),
            candidates: names
                .iter()
                .map(|name| crate::fold::stacks::Candidate {
                    names: vec![(*name).to_owned()],
                    frames: vec![],
                    guessed_lines: false,
                })
                .collect(),
        };
        let of = |certainty: &str, names: &[&str]| kind(&slot, Some(&answer(certainty, names)));
        assert_eq!(of("exact", &["_ZN1C1mEv"]), "exact");
        assert_eq!(of("ambiguous", &["_ZN1C1mEv", "_ZN1D1mEv"]), "ambiguous, the method first");
        assert!(of("exact", &["_ZN1D1mEv"]).starts_with("DEFECT"));
        assert!(of("narrowed", &["_ZN1D1mEv"]).starts_with("DEFECT"));
        assert!(kind(&slot, None).starts_with("DEFECT"));
    }
}
