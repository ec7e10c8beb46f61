//! Reads the directives at the head of a case's source: how each variant is built and what the case is about.
//!
//! It needs nothing but `std`, as `xtask` uses it too.
//!
//! ```text
//! //# about: one sentence
//! //# let: NAME = text that replaces $NAME in later directives
//! //# variant: NAME: a command for `sh -e`, run in cases/, that writes $OUT
//! //# same: NAME: OTHER        the oracle cannot read NAME (see the comment there): its answers are OTHER's
//! //# exact: NAME: PERCENT     of the frames of NAME's stacks that can be answered `exact`, so many must be
//! //# lost: NAME: COUNT        answers to NAME's stacks that must not be, and are known: at most so many
//! //#| continues the line above
//! ```
//! In assembly, whose comments begin with `#`, the marker is `##` (continued by `##|`).

use std::path::{Path, PathBuf};

/// A source in `cases/` that has directives.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// The file name up to its first dot: `inline` for `inline.c`.
    pub name: String,
    pub source: PathBuf,
    /// What the case shows, in one sentence.
    pub about: String,
    pub variants: Vec<Variant>,
    /// Files whose answers are those of another file, which has the same code.
    pub same: Vec<(String, String)>,
    /// Of files with recorded stacks: the least percentage of exact answers.
    pub exact: Vec<(String, u32)>,
    /// Of files with recorded stacks: known wrong answers.
    pub lost: Vec<(String, u32)>,
}

/// One way to build a case, and so one file in `built/`.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The file name in `built/`: `inline.clang-dwarf5`.
    pub file: String,
    /// The command with the case's own `let`s expanded; `$OUT`, `$T`, `$MAP` and the tools are still in it.
    pub command: String,
}

/// The text after the marker, and whether it continues the directive above.
fn directive(line: &str) -> Option<(bool, &str)> {
    let rest = line.strip_prefix("//#").or_else(|| line.strip_prefix("##"))?;
    match rest.strip_prefix('|') {
        Some(more) => Some((true, more.trim())),
        None => Some((false, rest.trim())),
    }
}

/// Replaces each `$NAME` of `vars` in `text`; the longest name that fits wins, unknown ones stay for the shell.
pub fn expand(text: &str, vars: &[(String, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let end =
            after[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(after.len(), |n| n + 1);
        let name = &after[1..end];
        match vars.iter().find(|(n, _)| n == name) {
            Some((_, value)) => out.push_str(value),
            None => out.push_str(&after[..end]),
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

/// Parses the directives of one source. `None` if it has none: a file that other cases include.
///
/// # Errors
/// A directive that is not known or lacks a part, with its line number.
pub fn parse(source: &Path, text: &str) -> Result<Option<Case>, String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        match directive(line) {
            Some((true, more)) => match lines.last_mut() {
                Some((_, last)) => {
                    last.push(' ');
                    last.push_str(more);
                }
                None => return Err(format!("{}:{}: nothing to continue", source.display(), number + 1)),
            },
            Some((false, rest)) if !rest.is_empty() => lines.push((number + 1, rest.to_owned())),
            _ => {}
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let file_name = source.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let name = file_name.split('.').next().unwrap_or_default().to_owned();
    let mut case = Case { name, source: source.to_owned(), about: String::new(), ..Case::default() };
    let mut vars: Vec<(String, String)> = Vec::new();
    for (number, line) in lines {
        let bad = |what: &str| format!("{}:{number}: {what}: {line}", source.display());
        let (key, value) = line.split_once(':').ok_or_else(|| bad("no `key:`"))?;
        let value = value.trim();
        match key {
            "about" => case.about = value.to_owned(),
            "let" => {
                let (name, text) = value.split_once('=').ok_or_else(|| bad("no `=`"))?;
                let text = expand(text.trim(), &vars);
                vars.push((name.trim().to_owned(), text));
            }
            "variant" => {
                let (name, command) = value.split_once(':').ok_or_else(|| bad("no command"))?;
                let file = format!("{}.{}", case.name, name.trim());
                if case.variants.iter().any(|v| v.file == file) {
                    return Err(bad("a second variant of this name"));
                }
                case.variants.push(Variant { file, command: expand(command.trim(), &vars) });
            }
            "same" => {
                let (name, other) = value.split_once(':').ok_or_else(|| bad("no other variant"))?;
                let file = |variant: &str| format!("{}.{}", case.name, variant.trim());
                case.same.push((file(name), file(other)));
            }
            "exact" | "lost" => {
                let (name, number) = value.split_once(':').ok_or_else(|| bad("no number"))?;
                let number = number.trim().parse().map_err(|_| bad("no number"))?;
                let file = format!("{}.{}", case.name, name.trim());
                if key == "exact" { &mut case.exact } else { &mut case.lost }.push((file, number));
            }
            _ => return Err(bad("unknown directive")),
        }
    }
    if case.about.is_empty() || case.variants.is_empty() {
        return Err(format!("{}: a case needs `about` and a `variant`", source.display()));
    }
    Ok(Some(case))
}

/// All cases of `dir` and of the folders in it, by name.
///
/// # Errors
/// A source that cannot be read or parsed.
pub fn read_all(dir: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        let entries = std::fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        for entry in entries {
            let path = entry.map_err(|e| format!("{}: {e}", dir.display()))?.path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                cases.extend(parse(&path, &text)?);
            }
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lets_expand_in_order_and_tools_stay() {
        let text =
            "//# about: x\n//# let: A = $CC -g\n//# let: B = $A -O2\n//# variant: v: $B a.c\n//#| -o $OUT\n";
        let case = parse(Path::new("cases/a.c"), text).unwrap().unwrap();
        assert_eq!(case.variants[0].file, "a.v");
        assert_eq!(case.variants[0].command, "$CC -g -O2 a.c -o $OUT");
    }

    #[test]
    fn a_source_without_directives_is_no_case() {
        assert!(parse(Path::new("a.h"), "/* nothing */\n").unwrap().is_none());
    }

    #[test]
    fn claims_are_of_a_variant() {
        let text = "//# about: x\n//# variant: v: $CC -o $OUT\n//# exact: v: 90\n//# lost: v: 2\n";
        let case = parse(Path::new("cases/a.c"), text).unwrap().unwrap();
        assert_eq!((case.exact, case.lost), (vec![("a.v".into(), 90)], vec![("a.v".into(), 2)]));
        assert!(parse(Path::new("a.c"), &text.replace("90", "most")).is_err());
    }

    #[test]
    fn a_wrong_directive_names_its_line() {
        let error = parse(Path::new("a.c"), "//# about: x\n//# flavour: y\n").unwrap_err();
        assert!(error.starts_with("a.c:2:"), "{error}");
    }
}
