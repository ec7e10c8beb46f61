//! Counts of equal signatures, and the page of results.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::fault::fault;
use crate::fold::stacks::{Stack, Verdict};

/// What may count of an ambiguous frame: a line of rules.
pub(super) const DOUBTS: [&str; 3] = ["smallest", "shared", "pass"];

/// Pairs, and those with equal signatures.
#[derive(Clone, Copy, Default)]
pub(super) struct Equal {
    pub(super) total: usize,
    pub(super) equal: usize,
}

impl Equal {
    fn count(&mut self, equal: bool) {
        self.total += 1;
        self.equal += usize::from(equal);
    }

    fn add(&mut self, other: Equal) {
        self.total += other.total;
        self.equal += other.equal;
    }

    fn share(self) -> f64 {
        100.0 * self.equal as f64 / self.total.max(1) as f64
    }

    fn cell(self) -> String {
        format!("{} of {} ({:.1} %)", self.equal, self.total, self.share())
    }
}

/// Stacks of two builds with the same numbers: ours, and Mozilla's.
#[derive(Clone, Copy, Default)]
pub(super) struct Pairs {
    ours: Equal,
    mozilla: Equal,
}

impl Pairs {
    /// Compares the stacks that both builds have.
    pub(super) fn add(&mut self, one: &[Option<[String; 2]>], other: &[Option<[String; 2]>]) {
        for (one, other) in one.iter().zip(other).filter_map(|(one, other)| one.as_ref().zip(other.as_ref()))
        {
            self.ours.count(one[0] == other[0]);
            self.mozilla.count(one[1] == other[1]);
        }
    }
}

/// Stacks of different faults that have one signature, by a method.
#[derive(Clone, Copy, Default)]
struct Shared {
    pairs: u64,
}

/// A method that gives signatures, for the pairs of different faults.
const METHODS: [&str; 4] =
    ["foldsym, folded", "foldsym, unfolded", "Mozilla, llvm-symbolizer, folded", "Mozilla, true frames"];

/// The counts of one level of optimization.
pub(super) struct LevelTally {
    pub(super) name: &'static str,
    pairs: Pairs,
    /// Pairs whose frames are all `unique` or `exact`, and right.
    pub(super) sure: Equal,
    /// Unequal pairs of ours, by cause.
    misses: BTreeMap<String, usize>,
    /// By what counts of ambiguous frames: with folding and without; folded in one order and in another.
    doubts: BTreeMap<&'static str, [Equal; 2]>,
    /// Of the program at hand: the fault by two definitions, and the signature by each method.
    stacks: Vec<([String; 2], [String; 4])>,
    /// By definition of a fault and method.
    shared: [[Shared; 4]; 2],
    different: [u64; 2],
}

impl LevelTally {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            pairs: Pairs::default(),
            sure: Equal::default(),
            misses: BTreeMap::new(),
            doubts: BTreeMap::new(),
            stacks: Vec::new(),
            shared: Default::default(),
            different: [0; 2],
        }
    }

    /// Counts one stack: `ours` and `theirs` are the signatures with folding and without.
    pub(super) fn stack(
        &mut self,
        stack: &Stack,
        verdicts: &[Verdict],
        ours: [&String; 2],
        theirs: &[String; 2],
    ) {
        let is_equal = ours[0] == ours[1];
        self.pairs.ours.count(is_equal);
        self.pairs.mozilla.count(theirs[0] == theirs[1]);
        let is_sure = |verdict: &Verdict| matches!(verdict, Verdict::Unique | Verdict::Exact);
        if verdicts.iter().all(is_sure) {
            self.sure.count(is_equal);
        }
        if !is_equal {
            let first = verdicts.iter().position(|verdict| !is_sure(verdict) && *verdict != Verdict::Likely);
            let cause = first.map_or("all frames are right".to_owned(), |at| {
                format!("frame {}: {:?}", at.min(3), verdicts[at])
            });
            *self.misses.entry(cause).or_default() += 1;
        }
        let names: Vec<&str> = fault(stack).into_iter().map(|(_, name)| name).collect();
        let faults = [names.first().copied().unwrap_or_default().to_owned(), names.join(" ")];
        self.stacks.push((faults, [ours[0].clone(), ours[1].clone(), theirs[0].clone(), theirs[1].clone()]));
    }

    /// Counts what a rule for ambiguous frames gives, by the numbers of stacks.
    pub(super) fn doubt(
        &mut self,
        doubt: &'static str,
        folded: Vec<Option<String>>,
        reversed: Vec<Option<String>>,
        unfolded: Vec<Option<String>>,
    ) {
        let [without, reordered] = self.doubts.entry(doubt).or_default();
        for (at, text) in folded.iter().enumerate().filter_map(|(at, text)| Some((at, text.as_ref()?))) {
            if let Some(Some(other)) = unfolded.get(at) {
                without.count(text == other);
            }
            if let Some(Some(other)) = reversed.get(at) {
                reordered.count(text == other);
            }
        }
    }

    /// Counts the pairs of stacks of the program that ends here.
    pub(super) fn end_program(&mut self) {
        let stacks = std::mem::take(&mut self.stacks);
        let pairs =
            |counts: BTreeMap<(&str, &str), u64>| counts.values().map(|n| n * (n - 1) / 2).sum::<u64>();
        let count = |key: &dyn Fn(usize) -> (String, String)| {
            let keys: Vec<(String, String)> = (0..stacks.len()).map(key).collect();
            let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
            keys.iter().for_each(|(a, b)| *counts.entry((a, b)).or_default() += 1);
            pairs(counts)
        };
        let none = String::new;
        let all = count(&|_| (none(), none()));
        for fault in 0..2 {
            let same = count(&|at| (stacks[at].0[fault].clone(), none()));
            self.different[fault] += all - same;
            for method in 0..METHODS.len() {
                let one = count(&|at| (none(), stacks[at].1[method].clone()));
                let both = count(&|at| (stacks[at].0[fault].clone(), stacks[at].1[method].clone()));
                self.shared[fault][method].pairs += one - both;
            }
        }
    }

    /// The counts so far, in a line.
    pub(super) fn line(&self) -> String {
        format!("{} {:.1} %, Mozilla {:.1} %", self.name, self.pairs.ours.share(), self.pairs.mozilla.share())
    }
}

/// The tables of all levels.
pub(super) fn page(levels: &[LevelTally], across: &Pairs) -> String {
    let mut text = "A pair is a stack of a program that is linked with folding (lld, `--icf=all`) and the same stack of the same objects \
                    without. *Sure* pairs have only frames that are `unique` or `exact`, and right.\n\n\
                    | | foldsym equal | sure pairs equal | Mozilla's rules on llvm-symbolizer's frames, equal |\n|---|---|---|---|\n"
        .to_owned();
    let (mut all, mut sure) = (Pairs::default(), Equal::default());
    for level in levels {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            level.name,
            level.pairs.ours.cell(),
            level.sure.cell(),
            level.pairs.mozilla.cell()
        );
        all.ours.add(level.pairs.ours);
        all.mozilla.add(level.pairs.mozilla);
        sure.add(level.sure);
    }
    let _ = writeln!(text, "| all | {} | {} | {} |\n", all.ours.cell(), sure.cell(), all.mozilla.cell());
    let _ = writeln!(
        text,
        "Without folding, -O1 beside -O3: foldsym {}, Mozilla's rules {}.\n",
        across.ours.cell(),
        across.mozilla.cell()
    );
    text += "What counts of a frame that several functions may have run in (`doubt`): equal with folding and without, and equal in two \
             folded links whose objects are in opposite order.\n\n| `doubt` | folded, unfolded | two orders |\n|---|---|---|\n";
    for doubt in DOUBTS {
        let mut sum = [Equal::default(); 2];
        for level in levels {
            let found = level.doubts.get(doubt).copied().unwrap_or_default();
            sum.iter_mut().zip(found).for_each(|(sum, found)| sum.add(found));
        }
        let _ = writeln!(text, "| {doubt} | {} | {} |", sum[0].cell(), sum[1].cell());
    }
    text +=
        "\nPairs of stacks of different faults in one program that share a signature.\n\n| fault | pairs |";
    METHODS.iter().for_each(|method| _ = write!(text, " {method} |"));
    text += "\n|---|---|---|---|---|---|\n";
    for (fault, name) in ["the innermost function", "all functions of the stack"].into_iter().enumerate() {
        let different: u64 = levels.iter().map(|level| level.different[fault]).sum();
        let _ = write!(text, "| {name} | {different} |");
        for method in 0..METHODS.len() {
            let shared: u64 = levels.iter().map(|level| level.shared[fault][method].pairs).sum();
            let _ = write!(text, " {shared} ({:.2} %) |", 100.0 * shared as f64 / different.max(1) as f64);
        }
        text += "\n";
    }
    text += "\nPairs with two signatures, by the innermost frame that is not known (frame 3: the fourth or further out).\n\n| cause | pairs |\n|---|---|\n";
    let mut misses: BTreeMap<&str, usize> = BTreeMap::new();
    for (cause, count) in levels.iter().flat_map(|level| &level.misses) {
        *misses.entry(cause).or_default() += count;
    }
    misses.iter().for_each(|(cause, count)| _ = writeln!(text, "| {cause} | {count} |"));
    text
}
