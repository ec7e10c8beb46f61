//! The measurements of one tool on one input, over all runs, and their medians.

use crate::tools::Tool;
use foldsym_benches::process::Cost;
use serde_json::Value;

/// All measurements of one tool on one input.
pub(crate) struct Figures {
    pub(crate) tool: Tool,
    pub(crate) version: String,
    /// Each conversion, with its thread count.
    pub(crate) converts: Vec<(usize, Cost)>,
    /// Subtracted from addresses for its reader.
    pub(crate) base: u64,
    pub(crate) bytes: Option<u64>,
    pub(crate) zstd19_bytes: Option<u64>,
    /// One object a run each: averages, cold start with the file in memory, and from the disk.
    pub(crate) averages: Vec<Value>,
    pub(crate) colds: Vec<Value>,
    pub(crate) colds_disk: Vec<Value>,
    /// One command that opens, answers one address and ends.
    pub(crate) commands: Vec<Cost>,
    /// Single lookups; measured once.
    pub(crate) tail: Option<Value>,
    pub(crate) note: String,
    /// Why there are no (more) figures.
    pub(crate) error: Option<String>,
}

impl Figures {
    pub(crate) fn new(tool: Tool, version: String) -> Self {
        Self {
            tool,
            version,
            converts: Vec::new(),
            base: 0,
            bytes: None,
            zstd19_bytes: None,
            averages: Vec::new(),
            colds: Vec::new(),
            colds_disk: Vec::new(),
            commands: Vec::new(),
            tail: None,
            note: String::new(),
            error: None,
        }
    }

    /// The median of one figure of the conversions with `threads` threads.
    pub(crate) fn convert(&self, threads: usize, figure: fn(&Cost) -> f64) -> Option<f64> {
        median(self.converts.iter().filter(|(count, _)| *count == threads).map(|(_, cost)| figure(cost)))
    }

    pub(crate) fn cpu_s(&self, threads: usize) -> Option<f64> {
        self.convert(threads, |cost| cost.cpu_s)
    }

    pub(crate) fn wall_s(&self, threads: usize) -> Option<f64> {
        self.convert(threads, |cost| cost.wall_s)
    }

    pub(crate) fn peak_kb(&self, threads: usize) -> Option<f64> {
        self.convert(threads, |cost| cost.peak_kb as f64)
    }

    /// The median of one figure of the lookups, such as `ns_random`.
    pub(crate) fn lookup(&self, key: &str) -> Option<f64> {
        field(&self.averages, key)
    }

    pub(crate) fn cold(&self, key: &str) -> Option<f64> {
        field(&self.colds, key)
    }

    pub(crate) fn cold_disk(&self, key: &str) -> Option<f64> {
        field(&self.colds_disk, key)
    }

    pub(crate) fn command(&self, figure: fn(&Cost) -> f64) -> Option<f64> {
        median(self.commands.iter().map(figure))
    }

    pub(crate) fn tail(&self, key: &str) -> Option<f64> {
        self.tail.as_ref()?.get(key)?.as_f64()
    }
}

fn field(results: &[Value], key: &str) -> Option<f64> {
    median(results.iter().filter_map(|result| result.get(key)?.as_f64()))
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}
