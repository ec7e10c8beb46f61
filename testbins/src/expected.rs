//! The committed answers of a program: what `llvm-symbolizer` 22 says at every code address, in runs of equal answers.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// One frame as llvm-symbolizer prints it. `""` and 0 mean that it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PrintedFrame {
    pub name: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub start_file: String,
    pub start_line: u32,
    /// Where llvm-symbolizer says the outer function's symbol starts; 0 if it does not say.
    pub start_address: u64,
}

/// Addresses `start..end` that have one answer: `stacks[stack]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub start: u64,
    pub end: u64,
    pub stack: usize,
}

/// A difference from llvm-symbolizer that the outermost name may, or must, have at `start..end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// A kind of [`KINDS`].
    pub kind: String,
    pub start: u64,
    pub end: u64,
    /// What the name may be instead.
    pub names: Vec<String>,
}

/// The kinds of accepted differences: name, whether llvm-symbolizer's own name is right as well, and the reason.
pub const KINDS: &[(&str, bool, &str)] = &[
    (
        "label",
        false,
        "llvm-symbolizer takes the nearest symbol below the address, also a label in the middle of a function; \
         we name the function by the FUNC symbol at the start of its piece, else by its DIE",
    ),
    ("alias", true, "several FUNC symbols stand at the start of the piece; each of them names the function"),
    (
        "notype-piece",
        false,
        "only a NOTYPE symbol starts the piece (clang's `.cold` and `.__part`): the DIE names the function",
    ),
    ("no-symbol", false, "no symbol starts the piece, and llvm-symbolizer takes another one below it"),
    ("inner-symbol", true, "no DIE covers the address, and a smaller FUNC symbol stands inside a larger one"),
    (
        "past-symbol",
        true,
        "no DIE covers the address, and the symbol has no size, or shares its address, or holds a label",
    ),
];

/// Whether llvm-symbolizer's own name is accepted as well under `kind`.
pub fn keeps_llvm_name(kind: &str) -> bool {
    KINDS.iter().any(|(name, keeps, _)| *name == kind && *keeps)
}

/// The answers of one program, or of one architecture of a fat file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// The file in `built/`.
    pub program: String,
    /// The architecture of a fat file, as llvm-symbolizer names it.
    pub arch: Option<String>,
    /// The version line and the flags of the oracle.
    pub oracle: String,
    /// Whether every code address was looked up, or only starts, ends, row addresses and a sample.
    pub every_address: bool,
    /// Index, name, address (synthetic in `ET_REL`) and size of each section with code.
    pub sections: Vec<(usize, String, u64, u64)>,
    /// Whether the addresses are synthetic.
    pub relocatable: bool,
    pub stacks: Vec<Vec<PrintedFrame>>,
    pub runs: Vec<Run>,
    pub accepted: Vec<Accepted>,
}

/// `expected/inline.clang.json`, and `expected/fat@arm64.json` for one architecture of a fat file.
pub fn path_of(root: &Path, program: &str, arch: Option<&str>) -> PathBuf {
    let arch = arch.map(|a| format!("@{a}")).unwrap_or_default();
    root.join("expected").join(format!("{program}{arch}.json"))
}

/// Gives each distinct item a number.
#[derive(Default)]
struct Table<T> {
    items: Vec<T>,
    ids: HashMap<T, usize>,
}

impl<T: Clone + Eq + std::hash::Hash> Table<T> {
    fn id(&mut self, item: T) -> usize {
        *self.ids.entry(item.clone()).or_insert_with(|| {
            self.items.push(item);
            self.items.len() - 1
        })
    }
}

impl Expected {
    /// The frames at an address, innermost first; `None` if it was not looked up.
    pub fn frames(&self, address: u64) -> Option<&[PrintedFrame]> {
        let run = self.runs.get(self.runs.partition_point(|run| run.start <= address).checked_sub(1)?)?;
        (address < run.end).then(|| self.stacks[run.stack].as_slice())
    }

    /// The accepted difference at an address, if there is one.
    pub fn accepted_at(&self, address: u64) -> Option<&Accepted> {
        let at = self.accepted.partition_point(|a| a.start <= address).checked_sub(1)?;
        self.accepted.get(at).filter(|a| address < a.end)
    }

    /// The text of the file: JSON, a few entries a line, so that a change reads well as a diff.
    pub fn to_json(&self) -> String {
        let (mut strings, mut frames) = (Table::<String>::default(), Table::<[u64; 7]>::default());
        let mut stacks = Vec::new();
        for stack in &self.stacks {
            let ids = stack.iter().map(|frame| {
                let mut text = |s: &str| strings.id(s.to_owned()) as u64;
                let (name, file, start_file) =
                    (text(&frame.name), text(&frame.file), text(&frame.start_file));
                let (line, column, start_line) = (frame.line, frame.column, frame.start_line);
                let numbers = [name, file, line.into(), column.into(), start_file, start_line.into()];
                let mut row = [frame.start_address; 7];
                row[..6].copy_from_slice(&numbers);
                frames.id(row)
            });
            stacks.push(ids.collect::<Vec<_>>());
        }
        let quoted = |s: &str| Value::from(s).to_string();
        let mut out = String::new();
        let _ = write!(out, "{{\n\"program\": {},\n", quoted(&self.program));
        if let Some(arch) = &self.arch {
            let _ = writeln!(out, "\"arch\": {},", quoted(arch));
        }
        let _ = writeln!(out, "\"oracle\": {},", quoted(&self.oracle));
        let _ = writeln!(
            out,
            "\"every_address\": {},\n\"relocatable\": {},",
            self.every_address, self.relocatable
        );
        let sections = self.sections.iter().map(|(i, n, a, s)| format!("[{i}, {}, {a}, {s}]", quoted(n)));
        rows(&mut out, "sections", sections, 1, ",");
        rows(&mut out, "strings", strings.items.iter().map(|s| quoted(s)), 1, ",");
        rows(&mut out, "frames", frames.items.iter().map(|f| format!("{f:?}").replace(' ', "")), 5, ",");
        rows(&mut out, "stacks", stacks.iter().map(|s| format!("{s:?}").replace(' ', "")), 10, ",");
        rows(
            &mut out,
            "runs",
            self.runs.iter().map(|r| format!("[{},{},{}]", r.start, r.end, r.stack)),
            5,
            ",",
        );
        let used = KINDS.iter().filter(|(kind, ..)| self.accepted.iter().any(|a| a.kind == *kind));
        let notes = used.map(|(kind, keeps, reason)| {
            let of_kind = self.accepted.iter().filter(|a| a.kind == *kind);
            let at = of_kind.map(|a| format!("[{}, {}, {}]", a.start, a.end, Value::from(a.names.clone())));
            let at: Vec<String> = at.collect();
            let head =
                format!("\"kind\": {}, \"or_llvm\": {keeps}, \"reason\": {}", quoted(kind), quoted(reason));
            format!("{{{head},\n  \"at\": [\n  {}]}}", at.join(",\n  "))
        });
        rows(&mut out, "accepted", notes, 1, "");
        out.push_str("}\n");
        out
    }

    /// Reads what [`Expected::to_json`] wrote.
    ///
    /// # Errors
    /// Text that is not of that form; says which part.
    pub fn from_json(text: &str) -> Result<Expected, String> {
        let json: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |key: &str| json[key].as_array().ok_or(format!("no list `{key}`"));
        let number = |value: &Value| value.as_u64().ok_or(format!("not a number: {value}"));
        let strings: Vec<String> = list("strings")?.iter().map(text).collect();
        let string = |value: &Value| -> Result<String, String> {
            Ok(strings.get(number(value)? as usize).ok_or("no such string")?.clone())
        };
        let mut frames = Vec::new();
        for row in list("frames")? {
            frames.push(PrintedFrame {
                name: string(&row[0])?,
                file: string(&row[1])?,
                line: number(&row[2])? as u32,
                column: number(&row[3])? as u32,
                start_file: string(&row[4])?,
                start_line: number(&row[5])? as u32,
                start_address: number(&row[6])?,
            });
        }
        let mut stacks = Vec::new();
        for row in list("stacks")? {
            let mut stack = Vec::new();
            for id in row.as_array().ok_or("a stack is a list")? {
                stack.push(frames.get(number(id)? as usize).ok_or("no such frame")?.clone());
            }
            stacks.push(stack);
        }
        let mut runs = Vec::new();
        for row in list("runs")? {
            let stack = number(&row[2])? as usize;
            if stack >= stacks.len() {
                return Err("no such stack".to_owned());
            }
            runs.push(Run { start: number(&row[0])?, end: number(&row[1])?, stack });
        }
        let mut sections = Vec::new();
        for row in list("sections")? {
            sections.push((number(&row[0])? as usize, text(&row[1]), number(&row[2])?, number(&row[3])?));
        }
        let mut accepted = Vec::new();
        for note in list("accepted")? {
            for at in note["at"].as_array().ok_or("no `at`")? {
                let names = at[2].as_array().ok_or("no names")?.iter().map(text).collect();
                let (start, end) = (number(&at[0])?, number(&at[1])?);
                accepted.push(Accepted { kind: text(&note["kind"]), start, end, names });
            }
        }
        accepted.sort_by_key(|a| a.start);
        Ok(Expected {
            program: text(&json["program"]),
            arch: json["arch"].as_str().map(str::to_owned),
            oracle: text(&json["oracle"]),
            every_address: json["every_address"] == true,
            relocatable: json["relocatable"] == true,
            sections,
            stacks,
            runs,
            accepted,
        })
    }

    /// Reads a file of `expected/`.
    ///
    /// # Errors
    /// A file that cannot be read or parsed.
    pub fn load(path: &Path) -> Result<Expected, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Expected::from_json(&text).map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// Writes `"key": [...]`, with `per_line` items a line.
fn rows(out: &mut String, key: &str, items: impl Iterator<Item = String>, per_line: usize, after: &str) {
    let items: Vec<String> = items.collect();
    let lines: Vec<String> = items.chunks(per_line).map(|line| line.join(",")).collect();
    let _ = write!(out, "\"{key}\": [\n{}]{after}\n", lines.join(",\n"));
}
