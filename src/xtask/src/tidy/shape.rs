//! Rules on the shape of crates: one meaning for each type name, no file of another crate, functions that fit a look.

use std::collections::BTreeMap;

use super::text::{code, has_word, without_tests};
use super::tracked::{Finding, Tracked};

/// The most lines of a function.
const LONGEST: usize = 100;

/// The folders of crates, the longest first, so that the first that holds a file is the file's own.
fn crates(files: &[Tracked]) -> Vec<&str> {
    let mut folders: Vec<&str> =
        files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml")).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
    folders
}

fn crate_of<'f>(crates: &[&'f str], path: &str) -> Option<&'f str> {
    crates.iter().copied().find(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

fn rust(files: &[Tracked]) -> impl Iterator<Item = (&Tracked, &str)> {
    let ours = |file: &&Tracked| {
        file.path.ends_with(".rs") && !file.below("testbins/cases") && !file.below("testbins/fuzz/corpus")
    };
    files.iter().filter(ours).filter_map(|file| Some((file, file.text()?)))
}

/// A type name means one thing in the sources of a crate, but for the `Error` of a module.
pub(super) fn type_names(files: &[Tracked]) -> Vec<Finding> {
    let crates = crates(files);
    let mut places: BTreeMap<(&str, String), Vec<(String, usize)>> = BTreeMap::new();
    for (file, text) in rust(files) {
        let Some(krate) = crate_of(&crates, &file.path) else { continue };
        // Tests, examples and binaries beside the library are crates of their own.
        let inner = &file.path[krate.len()..];
        let is_test = inner.ends_with("/tests.rs") || inner.contains("/tests/");
        if !inner.starts_with("/src/") || inner.starts_with("/src/bin/") || is_test {
            continue;
        }
        for (index, line) in without_tests(&code(text)).lines().enumerate() {
            if let Some(name) = defined(line).filter(|name| *name != "Error") {
                places.entry((krate, name.to_owned())).or_default().push((file.path.clone(), index + 1));
            }
        }
    }
    let mut findings = Vec::new();
    for ((_, name), found) in places.iter().filter(|(_, found)| found.len() > 1) {
        let (path, line) = &found[found.len() - 1];
        let first = &found[0].0;
        findings.push(Finding::new(path, *line, format!("`{name}` is another type in {first}")));
    }
    findings
}

/// The name of the type or trait whose definition begins on a line; not an associated type, which is indented.
fn defined(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    let indented = rest.len() < line.len();
    if let Some(after) = rest.strip_prefix("pub") {
        let after = after.trim_start();
        let scope = after.strip_prefix('(').and_then(|scope| scope.split_once(')'));
        rest = scope.map_or(after, |(_, after)| after).trim_start();
    }
    let (word, after) = rest.split_once(' ')?;
    let defines = match word {
        "struct" | "enum" | "union" | "trait" => true,
        "type" => !indented,
        _ => false,
    };
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
    (defines && end > 0).then(|| &after[..end])
}

/// No file is part of two crates.
pub(super) fn own_files(files: &[Tracked]) -> Vec<Finding> {
    let crates = crates(files);
    let mut findings = Vec::new();
    for (file, text) in rust(files) {
        for (index, line) in text.lines().enumerate() {
            let Some(path) = line.trim().strip_prefix("#[path = \"").and_then(|rest| rest.split('"').next())
            else {
                continue;
            };
            let Some(target) = joined(&file.path, path) else { continue };
            if crate_of(&crates, &file.path) == crate_of(&crates, &target) {
                continue;
            }
            findings.push(Finding::new(&file.path, index + 1, format!("{target} is of another crate")));
        }
    }
    findings
}

/// A path from the folder of a file, without `..`.
fn joined(file: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.rsplit_once('/').map_or("", |(folder, _)| folder).split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A function that is long says why above it: `// Long because ...`.
pub(super) fn functions(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in rust(files) {
        let code = code(text);
        let (lines, original): (Vec<&str>, Vec<&str>) = (code.lines().collect(), text.lines().collect());
        let mut at = 0;
        while at < lines.len() {
            let Some(end) = has_word(lines[at], "fn").then(|| body_end(&lines, at)).flatten() else {
                at += 1;
                continue;
            };
            let above = original[..at].iter().rev().take_while(|line| {
                let line = line.trim_start();
                line.starts_with("//") || line.starts_with("#[")
            });
            let mut above = above.map(|line| line.trim_start());
            if end - at + 1 > LONGEST && !above.any(|line| line.contains("Long because ")) {
                let message = format!(
                    "{} lines; a function over {LONGEST} must say why above it: `// Long because ...`",
                    end - at + 1
                );
                findings.push(Finding::new(&file.path, at + 1, message));
            }
            // Nested functions are counted with it.
            at = end.max(at) + 1;
        }
    }
    findings
}

/// The line on which the body of the function that a line begins ends; `None` if it has none.
fn body_end(lines: &[&str], from: usize) -> Option<usize> {
    let (mut depth, mut opened) = (0_usize, false);
    let mut brackets = 0_usize;
    for (index, line) in lines.iter().enumerate().skip(from) {
        for c in line.chars() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets = brackets.saturating_sub(1),
                ';' if !opened && brackets == 0 => return None,
                '{' => (depth, opened) = (depth + 1, true),
                '}' => {
                    depth = depth.saturating_sub(1);
                    if opened && depth == 0 {
                        return Some(index);
                    }
                }
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NONE, file, lines};
    use super::*;

    fn two(a: &str, b: &str) -> [Tracked; 4] {
        [
            file("one/Cargo.toml", ""),
            file("two/Cargo.toml", ""),
            file("one/src/a.rs", a),
            file("one/src/b.rs", b),
        ]
    }

    #[test]
    fn type_names_are_defined_once() {
        let count = |a: &str, b: &str| type_names(&two(a, b)).len();
        assert_eq!(count("struct A;", "struct B;"), 0);
        for again in ["pub(crate) enum A {", "trait A {", "pub type A = u8;", "    pub struct A<'f> {"] {
            assert_eq!(count("struct A;", again), 1, "{again}");
        }
        for other in ["impl A {", "    type A = u8;", "// struct A;", "#[cfg(test)]\nmod tests { struct A; }"]
        {
            assert_eq!(count("struct A;", other), 0, "{other}");
        }
        assert_eq!(count("struct Error;", "enum Error {"), 0);
        let apart = [
            file("one/Cargo.toml", ""),
            file("one/two/Cargo.toml", ""),
            file("one/src/a.rs", "struct A;"),
            file("one/two/src/a.rs", "struct A;"),
        ];
        assert_eq!(type_names(&apart).len(), 0);
    }

    #[test]
    fn files_are_of_one_crate() {
        let count = |path: &str| own_files(&two(&format!("#[path = \"{path}\"]\nmod x;"), "")).len();
        assert_eq!(count("other.rs"), 0);
        assert_eq!(count("../other.rs"), 0);
        assert_eq!(count("../../two/src/other.rs"), 1);
    }

    #[test]
    fn a_long_function_needs_a_reason() {
        let body = "    x;\n".repeat(LONGEST);
        assert_eq!(
            lines(functions, "a.rs", &format!("fn a() {{\n{}}}\n", "    x;\n".repeat(LONGEST - 2))),
            NONE
        );
        assert_eq!(lines(functions, "a.rs", &format!("\nfn a(\n    b: [u8; 2],\n) {{\n{body}}}\n")), [2]);
        assert_eq!(
            lines(functions, "a.rs", &format!("// Long because a table.\n#[x]\nfn a() {{\n{body}}}\n")),
            NONE
        );
        assert_eq!(
            lines(functions, "a.rs", &format!("// Long because a table.\n\nfn a() {{\n{body}}}\n")),
            [3]
        );
        assert_eq!(
            lines(functions, "a.rs", &format!("trait A {{\n    fn a();\n{}}}\n", "// x\n".repeat(200))),
            NONE
        );
    }
}
