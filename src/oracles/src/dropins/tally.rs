//! Counts the comparisons, the named differences, and the differences without a name.

use std::collections::BTreeMap;

use super::tools::{Personality, Said};

/// Groups of what has no name that are printed.
const SHOWN: usize = 60;

#[derive(Default)]
pub(super) struct DropinTally {
    asked: BTreeMap<&'static str, usize>,
    named: BTreeMap<(&'static str, &'static str), usize>,
    /// By the line of options: how many answers, and the first of them.
    unnamed: BTreeMap<String, (usize, String)>,
}

impl DropinTally {
    pub(super) fn asked(&mut self, tool: Personality, count: usize) {
        *self.asked.entry(tool.name()).or_default() += count;
    }

    /// One answer with these causes.
    pub(super) fn named(&mut self, tool: Personality, causes: &[&'static str]) {
        for cause in causes {
            *self.named.entry((tool.name(), cause)).or_default() += 1;
        }
    }

    /// One answer that differs for no known reason.
    pub(super) fn unnamed(&mut self, line: String, example: impl FnOnce() -> String) {
        self.unnamed.entry(line).or_insert_with(|| (0, example())).0 += 1;
    }

    pub(super) fn join(&mut self, other: DropinTally) {
        for (tool, count) in other.asked {
            *self.asked.entry(tool).or_default() += count;
        }
        for (key, count) in other.named {
            *self.named.entry(key).or_default() += count;
        }
        for (line, (count, example)) in other.unnamed {
            self.unnamed.entry(line).or_insert((0, example)).0 += count;
        }
    }

    pub(super) fn bad(&self) -> usize {
        self.unnamed.values().map(|(count, _)| count).sum()
    }

    pub(super) fn report(&self) -> String {
        let mut text = String::new();
        for (tool, asked) in &self.asked {
            text += &format!("{tool}: {asked} requests\n");
            for ((_, cause), count) in self.named.iter().filter(|((of, _), _)| of == tool) {
                text += &format!("  {count:8}  {cause}\n");
            }
        }
        for (line, (count, example)) in self.unnamed.iter().take(SHOWN) {
            text += &format!("NO NAME: {line}: {count} answers, the first:\n{example}\n");
        }
        if self.unnamed.len() > SHOWN {
            text += &format!("NO NAME: {} more lines of options\n", self.unnamed.len() - SHOWN);
        }
        text
    }
}

/// Two outputs, where they begin to differ.
pub(super) fn shown(real: &Said, ours: &Said) -> String {
    let end = |said: &Said| format!("{}(exit code {:?})", said.err, said.code);
    match real.out == ours.out {
        true => apart(&end(real), &end(ours)),
        false => apart(&real.out, &ours.out),
    }
}

/// Two texts, where they begin to differ.
pub(super) fn apart(real: &str, ours: &str) -> String {
    // Keys of JSON are compared one by one.
    let lines = |text: &str| text.replace(",\"", ",\n\"").lines().map(str::to_owned).collect::<Vec<_>>();
    let (real, ours) = (lines(real), lines(ours));
    let at = real.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    let part = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().skip(at.saturating_sub(1)).take(4).map(String::as_str).collect();
        lines.join("\n  ")
    };
    format!("  the tool:\n  {}\n  ours:\n  {}", part(&real), part(&ours))
}
