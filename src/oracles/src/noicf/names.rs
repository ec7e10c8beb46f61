//! The symbol tables of both programs to the functions that were folded: symbols at one address here that are at several
//! without folding. Each must be a member of its group.

use std::collections::{BTreeMap, BTreeSet};

use super::counts::Counts;
use super::pair::{Group, Programs, unnumbered};
use crate::diff::answer::Candidate;
use crate::llvm::Symbol;

/// How a folded function is known to us, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Absent,
    /// As another name of another function.
    Alias,
    Member,
}

/// Compares and counts.
pub(super) fn compare(pair: &Programs<'_>, ours: &BTreeMap<u64, Group>) -> Result<Counts, String> {
    let mut counts = Counts::keeping(pair.options.examples);
    let mut at: BTreeMap<u64, Vec<&Symbol>> = BTreeMap::new();
    for symbol in &pair.folded.functions {
        at.entry(symbol.address).or_default().push(symbol);
    }
    let mut groups: BTreeMap<u64, BTreeMap<u64, BTreeSet<&str>>> = BTreeMap::new();
    let (mut several, mut names) = (0, 0);
    for (address, symbols) in at.iter().filter(|(_, symbols)| symbols.len() > 1) {
        several += 1;
        names += symbols.len();
        let mut functions: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
        for symbol in symbols {
            match pair.unfolded.same(symbol) {
                Some(place) => {
                    functions.entry(place).or_default().insert(&symbol.name);
                }
                None => counts.add("symbols not found without folding", || symbol.name.clone()),
            }
        }
        if functions.len() > 1 {
            groups.insert(*address, functions);
        }
    }
    counts.sum("addresses with several symbols", several);
    counts.sum("names at addresses with several", names);
    counts.sum("addresses that are folded by the other link", groups.len());
    let addresses: Vec<u64> = groups.keys().copied().collect();
    let answers =
        pair.asker.tools.ours(&pair.folded.program, &pair.folded.fsym, &addresses, &pair.scratch)?;
    for ((address, functions), answer) in groups.iter().zip(&answers) {
        let mut left: Vec<&Candidate> = answer.candidates.iter().collect();
        for names in functions.values() {
            let (known, kind) = match take(&mut left, &answer.candidates, names) {
                Known::Member => (true, "folded functions: member of the group"),
                Known::Alias => (false, "DEFECT folded functions: an alias of another"),
                Known::Absent => (false, "folded functions: absent"),
            };
            let state = if answer.candidates.is_empty() { ", at an address without a group" } else { "" };
            let kind = if known { kind.to_owned() } else { format!("{kind}{state}") };
            counts.add(&kind, || format!("{} at {address:#x}", names.iter().next().unwrap_or(&"")));
        }
    }
    for (address, group) in ours.iter().filter(|(address, _)| !groups.contains_key(address)) {
        counts.add("groups of ours where the other link shows one function, or no symbols", || {
            format!("{address:#x} with {} members", group.members)
        });
    }
    Ok(counts)
}

/// How a function of these names is known. Local functions of one name are as many candidates.
fn take(left: &mut Vec<&Candidate>, all: &[Candidate], names: &BTreeSet<&str>) -> Known {
    let named = |c: &&Candidate| c.frames.last().is_some_and(|frame| names.contains(frame.name.as_str()));
    if let Some(index) = left.iter().position(named) {
        left.swap_remove(index);
        return Known::Member;
    }
    // A constructor's variants are one function: its first name may be the other variant's.
    let alias = |c: &Candidate| c.aliases.iter().any(|alias| names.contains(alias.as_str()));
    let variant = |c: &&Candidate| {
        let first = c.frames.last().map_or("", |frame| frame.name.as_str());
        alias(c) && names.iter().any(|name| variants(name, first))
    };
    // If functions differ only in a number that LLVM added, nothing shows which symbol belongs to which.
    let base = |c: &&Candidate| {
        let first = c.frames.last().map_or("", |frame| frame.name.as_str());
        names.iter().any(|name| unnumbered(name) == unnumbered(first))
    };
    let found = left.iter().position(variant).or_else(|| left.iter().position(base));
    if let Some(index) = found {
        left.swap_remove(index);
        return Known::Member;
    }
    if all.iter().any(alias) { Known::Alias } else { Known::Absent }
}

/// Names that differ in the number of a constructor or destructor alone.
fn variants(a: &str, b: &str) -> bool {
    let differ: Vec<usize> =
        a.bytes().zip(b.bytes()).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at).collect();
    let [at] = differ.as_slice() else { return false };
    let kind = at.checked_sub(1).and_then(|before| a.as_bytes().get(before));
    a.len() == b.len() && matches!(kind, Some(b'C' | b'D')) && a.as_bytes()[*at].is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::answer::Frame;

    fn candidate(name: &str, aliases: &[&str]) -> Candidate {
        let frame = Frame { name: name.to_owned(), ..Frame::default() };
        Candidate {
            frames: vec![frame],
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            how: String::new(),
        }
    }

    #[test]
    fn each_function_takes_its_candidate() {
        let all = [
            candidate("local", &[]),
            candidate("twin", &[]),
            candidate("_ZN1KC2Ev", &["_ZN1KC1Ev", "_ZN1JC1Ev"]),
        ];
        let mut left: Vec<&Candidate> = all.iter().collect();
        let mut of = |name: &'static str| take(&mut left, &all, &BTreeSet::from([name]));
        assert_eq!(of("local"), Known::Member);
        // A second local function of the name has no candidate of its own.
        assert_eq!(of("local"), Known::Absent);
        assert_eq!((of("twin.llvm.2"), of("twin.llvm.3")), (Known::Member, Known::Absent));
        assert_eq!(of("_ZN1JC1Ev"), Known::Alias);
        assert_eq!(of("_ZN1KC1Ev"), Known::Member);
        assert_eq!(of("other"), Known::Absent);
    }
}
