//! What was counted, by kind.

use std::collections::BTreeMap;

/// Counts by kind, with the first examples of each.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) kinds: BTreeMap<String, (usize, Vec<String>)>,
    pub(super) limit: usize,
}

impl Counts {
    pub(super) fn keeping(limit: usize) -> Counts {
        Counts { limit, ..Counts::default() }
    }

    pub(super) fn add(&mut self, kind: &str, example: impl FnOnce() -> String) {
        let (count, examples) = self.kinds.entry(kind.to_owned()).or_default();
        *count += 1;
        if examples.len() < self.limit {
            examples.push(example());
        }
    }

    pub(super) fn print(&self) {
        for (kind, (count, examples)) in &self.kinds {
            println!("  {count:8} {kind}");
            for example in examples {
                println!("             {example}");
            }
        }
    }

    /// Counts something so many times.
    pub(super) fn sum(&mut self, kind: &str, count: usize) {
        self.kinds.entry(kind.to_owned()).or_default().0 += count;
    }

    pub(super) fn merge(&mut self, other: Counts) {
        for (kind, (count, examples)) in other.kinds {
            let entry = self.kinds.entry(kind).or_default();
            entry.0 += count;
            entry.1.extend(examples);
            entry.1.truncate(self.limit);
        }
    }

    /// How often something was counted that must not be.
    pub(super) fn defects(&self) -> usize {
        self.kinds.iter().filter(|(kind, _)| kind.contains("DEFECT")).map(|(_, (count, _))| count).sum()
    }
}
