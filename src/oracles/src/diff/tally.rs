//! Reports differences: counted by cause, with one example each; a difference without a cause is counted by its part.

use std::collections::BTreeMap;

use super::answer::{Answer, Difference, Fields, What, differences, show};
use super::causes::{CAUSES, Case, Oracle};
use super::program::{Program, Symbols};

/// The parts that differ, and in which frame.
type DiffParts = Vec<(What, &'static str)>;

/// A group of addresses: how many, and the first few.
#[derive(Debug, Default)]
struct Addresses {
    addresses: u64,
    examples: Vec<String>,
}

/// An oracle, and the address that was compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedAddress<'a> {
    pub(crate) oracle: Oracle,
    pub(crate) address: u64,
    pub(crate) symbols: &'a Symbols,
    pub(crate) columns: bool,
}

/// The comparison of one program with its oracles.
#[derive(Debug, Default)]
pub(crate) struct DiffTally {
    asked: BTreeMap<Oracle, u64>,
    equal: BTreeMap<Oracle, u64>,
    /// By the index of the cause.
    explained: BTreeMap<(Oracle, usize), Addresses>,
    unexplained: BTreeMap<(Oracle, DiffParts), Addresses>,
    /// How many examples an unexplained group keeps.
    examples: usize,
}

impl DiffTally {
    /// An empty tally that keeps this many examples of differences without a cause.
    pub(crate) fn keeping(examples: usize) -> DiffTally {
        DiffTally { examples, ..DiffTally::default() }
    }

    /// Compares one answer of ours with one of an oracle's; `other` is the other oracle's.
    pub(crate) fn add(
        &mut self,
        asked: &AskedAddress,
        ours: &Answer,
        theirs: &Answer,
        other: Option<&Answer>,
    ) {
        let AskedAddress { oracle, address, symbols, columns } = *asked;
        let fields = Fields { columns, starts: columns && oracle == Oracle::Llvm };
        let found = differences(&ours.frames, &theirs.frames, fields);
        *self.asked.entry(oracle).or_default() += 1;
        if found.is_empty() {
            *self.equal.entry(oracle).or_default() += 1;
            return;
        }
        let example = || {
            let theirs = show(&theirs.frames, fields);
            let certainty = if ours.candidates.is_empty() { "" } else { &ours.certainty };
            format!(
                "{address:#x} {certainty}\n      ours   {}\n      theirs {theirs}",
                show(&ours.frames, fields)
            )
        };
        let mut causes = Vec::new();
        let mut left = DiffParts::new();
        for difference in found {
            let case = Case { oracle, address, ours, theirs, other, symbols, fields, difference };
            match CAUSES.iter().position(|cause| (cause.explains)(&case)) {
                Some(cause) => causes.push(cause),
                None => left.push((difference.what, place(difference, ours))),
            }
        }
        // An address counts once for each cause, and as unexplained if any part of it is.
        causes.dedup();
        left.sort_unstable();
        left.dedup();
        if left.is_empty() {
            for cause in causes {
                count(self.explained.entry((oracle, cause)).or_default(), 1, example);
            }
        } else {
            count(self.unexplained.entry((oracle, left)).or_default(), self.examples, example);
        }
    }

    /// How many addresses have a difference without a cause.
    pub(crate) fn unexplained(&self) -> u64 {
        self.unexplained.values().map(|group| group.addresses).sum()
    }

    /// The counts in one line.
    pub(crate) fn line(&self) -> String {
        let one = |(oracle, asked): (&Oracle, &u64)| {
            let equal = self.equal.get(oracle).copied().unwrap_or(0);
            let bad: u64 = self
                .unexplained
                .iter()
                .filter(|((o, _), _)| o == oracle)
                .map(|(_, group)| group.addresses)
                .sum();
            format!(
                "{}: {asked} asked, {equal} equal, {} explained, {bad} unexplained",
                oracle.name(),
                asked - equal - bad
            )
        };
        self.asked.iter().map(one).collect::<Vec<_>>().join("; ")
    }

    /// Each cause with its verdict, its count and an example, then the differences without a cause.
    pub(crate) fn report(&self) -> String {
        let mut text = String::new();
        for ((oracle, cause), group) in &self.explained {
            let cause = &CAUSES[*cause];
            text += &format!(
                "  {}: {} ({})\n    {}\n",
                oracle.name(),
                cause.name,
                group.addresses,
                cause.verdict
            );
            text += &list(group);
        }
        for ((oracle, parts), group) in &self.unexplained {
            let parts: Vec<String> = parts.iter().map(|(what, place)| format!("{what:?} {place}")).collect();
            text += &format!("  {}: UNEXPLAINED {} ({})\n", oracle.name(), parts.join(", "), group.addresses);
            text += &list(group);
        }
        text
    }
}

/// The causes by which an answer differs from llvm-symbolizer's, columns and places of declaration included.
///
/// # Errors
/// The parts that differ without a known cause.
pub(crate) fn causes_of(
    program: &Program,
    address: u64,
    ours: &Answer,
    theirs: &Answer,
) -> Result<Vec<&'static str>, What> {
    let fields = Fields { columns: true, starts: true };
    let (oracle, symbols, other) = (Oracle::Llvm, &program.symbols, None);
    let mut causes = Vec::new();
    for difference in differences(&ours.frames, &theirs.frames, fields) {
        let case = Case { oracle, address, ours, theirs, other, symbols, fields, difference };
        let cause = CAUSES.iter().find(|cause| (cause.explains)(&case)).ok_or(difference.what)?;
        causes.push(cause.name);
    }
    causes.dedup();
    Ok(causes)
}

fn place(difference: Difference, ours: &Answer) -> &'static str {
    match difference.what {
        What::Depth => "of the stack",
        _ if difference.frame + 1 == ours.frames.len() => "of the outermost frame",
        _ => "of an inlined frame",
    }
}

fn count(group: &mut Addresses, keep: usize, example: impl FnOnce() -> String) {
    group.addresses += 1;
    if group.examples.len() < keep {
        group.examples.push(example());
    }
}

fn list(group: &Addresses) -> String {
    group.examples.iter().map(|example| format!("    {example}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::answer::Frame;
    use super::*;

    #[test]
    fn unexplained_differences_are_counted_and_shown() {
        let answer = |line| Answer {
            frames: vec![Frame { name: "f".into(), line, ..Frame::default() }],
            ..Answer::default()
        };
        let mut tally = DiffTally::keeping(1);
        for line in [1, 2, 3] {
            let symbols = Symbols::default();
            let asked =
                AskedAddress { oracle: Oracle::Llvm, address: line, symbols: &symbols, columns: false };
            tally.add(&asked, &answer(1), &answer(line), None);
        }
        assert_eq!(tally.unexplained(), 2);
        assert_eq!(tally.line(), "llvm-symbolizer: 3 asked, 1 equal, 0 explained, 2 unexplained");
        let report = tally.report();
        assert!(report.contains("UNEXPLAINED Line of the outermost frame (2)"), "{report}");
        assert_eq!(report.matches("theirs").count(), 1);
    }
}
