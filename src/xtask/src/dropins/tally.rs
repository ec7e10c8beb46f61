//! Counts of what was asked, of named differences, and of those without a name.

use std::collections::BTreeMap;

use super::tools::Tool;

/// Groups of what has no name that are printed.
const SHOWN: usize = 60;

#[derive(Default)]
pub(super) struct Tally {
    asked: BTreeMap<&'static str, usize>,
    named: BTreeMap<(&'static str, &'static str), usize>,
    /// By the line of options: how many answers, and the first of them.
    unnamed: BTreeMap<String, (usize, String)>,
}

impl Tally {
    pub(super) fn asked(&mut self, tool: Tool, count: usize) {
        *self.asked.entry(tool.name()).or_default() += count;
    }

    /// One answer with these causes.
    pub(super) fn named(&mut self, tool: Tool, causes: &[&'static str]) {
        for cause in causes {
            *self.named.entry((tool.name(), cause)).or_default() += 1;
        }
    }

    /// One answer that differs for no known reason.
    pub(super) fn unnamed(&mut self, line: String, example: impl FnOnce() -> String) {
        self.unnamed.entry(line).or_insert_with(|| (0, example())).0 += 1;
    }

    pub(super) fn join(&mut self, other: Tally) {
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
