//! How complete an entry is: what the report beside a `.fsym` says of it, so that nobody has to open the file for it.

use foldsym_format::DebugInfo;
use serde_json::{Map, Value, json};

/// How much of its program an entry has, and with which options it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completeness {
    /// How much of the program's debug information the file has.
    pub level: DebugInfo,
    /// The kinds of debug information that the program has or refers to and the file lacks, by the words of `schema/report.md`
    /// (`missing_dwo`). A program without debug information may lose none.
    pub lost: Vec<String>,
    /// The options with which the file was made, by their names on the command line (`unwind`).
    pub options: Vec<String>,
}

impl Completeness {
    /// An entry of this level, made without options.
    pub fn new(level: DebugInfo, lost: Vec<String>) -> Self {
        Self { level, lost, options: Vec::new() }
    }

    /// Reads it from the report of an entry; `None` if the entry was published without it.
    pub fn of_report(report: &Value) -> Option<Self> {
        let words = |key: &str| -> Vec<String> {
            let list = report[key].as_array().into_iter().flatten();
            list.filter_map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let level = DebugInfo::of_text(report["level"].as_str()?)?;
        Some(Self { level, lost: words("lost"), options: words("options") })
    }

    /// Puts it into a report.
    pub(crate) fn put(&self, report: &mut Map<String, Value>) {
        report.insert("level".into(), json!(self.level.text()));
        report.insert("lost".into(), json!(self.lost));
        report.insert("options".into(), json!(self.options));
    }

    /// The level in words, with the kinds that were lost: `a part of the debug information (lost: missing_dwo)`.
    pub fn words(&self) -> String {
        let lost =
            if self.lost.is_empty() { String::new() } else { format!(" (lost: {})", self.lost.join(", ")) };
        format!("{}{lost}", self.level.words())
    }
}
