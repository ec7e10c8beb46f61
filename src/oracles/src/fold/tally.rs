//! Verdicts to a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::ask::Gsym;
use foldsym_testkit::stacks::{Lines, Truth, Verdict};

/// What is counted for one group of programs.
#[derive(Clone, Debug, Default)]
pub(super) struct FoldTally {
    pub(super) programs: usize,
    pub(super) stacks: usize,
    /// Stacks of which it is not known who has a frame on them.
    pub(super) left_out: usize,
    pub(super) verdicts: BTreeMap<Verdict, usize>,
    /// Of frames that could be `unique` or `exact` by their call sites: those that are, and all.
    pub(super) sure: (usize, usize),
    /// Frames at folded code: those whose first candidate is the function that ran; of the ceiling those that are so; the ceiling, which is
    /// those of which the program's bytes and the stack leave one function; and all.
    pub(super) first: [usize; 4],
    pub(super) lines: BTreeMap<Lines, usize>,
    /// Functions that share their address: with lines, known by name alone, not known; and all.
    pub(super) folded: [usize; 4],
    pub(super) gsym: Gsym,
}

impl FoldTally {
    pub(super) fn frame(&mut self, truth: &Truth, (verdict, lines): (Verdict, Lines)) {
        *self.verdicts.entry(verdict).or_default() += 1;
        *self.lines.entry(lines).or_default() += 1;
        if truth.sure {
            self.sure.0 += usize::from(verdict.names_it());
            self.sure.1 += 1;
        }
    }

    /// Counts a frame at folded code.
    pub(super) fn folded_frame(&mut self, is_first: bool, can_be_told: bool) {
        for (sum, counts) in self.first.iter_mut().zip([is_first, is_first && can_be_told, can_be_told, true])
        {
            *sum += usize::from(counts);
        }
    }

    pub(super) fn add(&mut self, other: &FoldTally) {
        self.programs += other.programs;
        self.stacks += other.stacks;
        self.left_out += other.left_out;
        for (verdict, count) in &other.verdicts {
            *self.verdicts.entry(*verdict).or_default() += count;
        }
        for (lines, count) in &other.lines {
            *self.lines.entry(*lines).or_default() += count;
        }
        self.sure = (self.sure.0 + other.sure.0, self.sure.1 + other.sure.1);
        for (sum, count) in self.first.iter_mut().zip(other.first) {
            *sum += count;
        }
        for (sum, count) in self.folded.iter_mut().zip(other.folded) {
            *sum += count;
        }
        self.gsym.merged += other.gsym.merged;
        self.gsym.frames += other.gsym.frames;
        self.gsym.right += other.gsym.right;
        self.gsym.among += other.gsym.among;
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.verdicts.get(&verdict).copied().unwrap_or(0)
    }
}

const COLUMNS: &[Verdict] = &[
    Verdict::Unique,
    Verdict::Exact,
    Verdict::Likely,
    Verdict::Narrowed,
    Verdict::Ambiguous,
    Verdict::OtherUnique,
    Verdict::OtherLikely,
    Verdict::WrongExact,
    Verdict::Missing,
    Verdict::Nothing,
    Verdict::Untold,
];

const HEADS: &[&str] = &[
    "unique",
    "exact",
    "likely",
    "narrowed",
    "ambiguous",
    "other unique",
    "other likely",
    "wrong exact",
    "missing",
    "no answer",
    "untold",
];

/// A table in Markdown: what each group of programs has.
pub(super) fn programs(rows: &BTreeMap<String, FoldTally>) -> String {
    let mut text = String::from(
        "| programs | stacks (left out) | folded functions: with lines / name only / lost / all |",
    );
    for head in HEADS {
        let _ = write!(text, " {head} |");
    }
    text.push_str(" of sure frames | gsymutil: merged, named first / given / frames |\n|---|");
    text.push_str(&"---|".repeat(HEADS.len() + 4));
    text.push('\n');
    for (name, tally) in rows {
        let [lines, names, lost, all] = tally.folded;
        let _ = write!(
            text,
            "| {name} ({}) | {} ({}) | {lines} / {names} / {lost} / {all} |",
            tally.programs, tally.stacks, tally.left_out
        );
        for verdict in COLUMNS {
            let _ = write!(text, " {} |", tally.count(*verdict));
        }
        let gsym = &tally.gsym;
        let _ = writeln!(
            text,
            " {} / {} | {}, {} / {} / {} |",
            tally.sure.0, tally.sure.1, gsym.merged, gsym.right, gsym.among, gsym.frames
        );
    }
    text
}

/// A table in Markdown: frames by the way in which they were called.
pub(super) fn shapes(rows: &BTreeMap<String, FoldTally>) -> String {
    let mut text = String::from("| called by |");
    for head in HEADS {
        let _ = write!(text, " {head} |");
    }
    text.push_str(" first right / in the ceiling / ceiling / folded frames | of sure frames | lines right / without inlines / wrong / wrong and marked as a guess / none |\n|---|");
    text.push_str(&"---|".repeat(HEADS.len() + 3));
    text.push('\n');
    for (name, tally) in rows {
        let _ = write!(text, "| {name} |");
        for verdict in COLUMNS {
            let _ = write!(text, " {} |", tally.count(*verdict));
        }
        let lines = |lines: Lines| tally.lines.get(&lines).copied().unwrap_or(0);
        let _ = writeln!(
            text,
            " {} / {} / {} / {} | {} / {} | {} / {} / {} / {} / {} |",
            tally.first[0],
            tally.first[1],
            tally.first[2],
            tally.first[3],
            tally.sure.0,
            tally.sure.1,
            lines(Lines::Right),
            lines(Lines::LineOnly),
            lines(Lines::Wrong),
            lines(Lines::WrongGuess),
            lines(Lines::None)
        );
    }
    text
}
