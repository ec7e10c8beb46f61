//! Rules on Rust files: headers, length, and which layer may name what.

use super::text::{code, has_word, names_root, without_tests};
use super::{Finding, Tracked};

const LONGEST: usize = 600;

/// Our own Rust files; the sources of test programs begin with their build directives instead of a header.
fn rust(files: &[Tracked]) -> impl Iterator<Item = (&Tracked, &str)> {
    files
        .iter()
        .filter(|file| {
            file.path.ends_with(".rs") && !file.below("testbins/cases") && !file.below("testbins/fuzz/corpus")
        })
        .filter_map(|file| Some((file, file.text()?)))
}

/// The numbers of the lines, from one, for which `wrong` holds.
fn lines_where(text: &str, wrong: impl Fn(&str) -> bool) -> Vec<usize> {
    text.lines().enumerate().filter(|(_, line)| wrong(line)).map(|(index, _)| index + 1).collect()
}

/// Every file opens by saying what it turns into what.
pub(super) fn headers(files: &[Tracked]) -> Vec<Finding> {
    rust(files)
        .filter(|(_, text)| !text.trim_start().starts_with("//!"))
        .map(|(file, _)| {
            Finding::new(&file.path, 1, "must open with `//!` and one sentence: what it turns into what")
        })
        .collect()
}

/// A file that is long says why in its header.
pub(super) fn length(files: &[Tracked]) -> Vec<Finding> {
    rust(files)
        .filter_map(|(file, text)| {
            let lines = text.lines().count();
            let mut header = text.trim_start().lines().take_while(|line| line.starts_with("//!"));
            let excused = header.any(|line| line.contains("Long because "));
            (lines > LONGEST && !excused).then(|| {
                let message =
                    format!("{lines} lines; over {LONGEST} the header must say why: `//! Long because ...`");
                Finding::new(&file.path, lines, message)
            })
        })
        .collect()
}

/// In `convert`, only `open` knows the crate for containers and only `read` the one for DWARF.
pub(super) fn reading_layers(files: &[Tracked]) -> Vec<Finding> {
    const LAYERS: &[(&str, &str)] = &[("object", "open"), ("gimli", "read")];
    let mut findings = Vec::new();
    for (file, text) in rust(files).filter(|(file, _)| file.below("src/convert/src")) {
        let code = code(text);
        for (name, layer) in LAYERS {
            let folder = format!("src/convert/src/{layer}");
            if file.below(&folder) || file.path == format!("{folder}.rs") {
                continue;
            }
            for line in lines_where(&code, |line| names_root(line, name)) {
                findings.push(Finding::new(&file.path, line, format!("only {folder} may name `{name}`")));
            }
        }
    }
    findings
}

/// Crates that run without the standard library and without an allocator.
const BARE: &[&str] = &["src/lookup", "src/expr", "src/stopped"];

/// The reader and the evaluator run so.
pub(super) fn lookup_is_bare(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in
        rust(files).filter(|(file, _)| BARE.iter().any(|folder| file.below(&format!("{folder}/src"))))
    {
        let code = without_tests(&code(text));
        for name in ["std", "alloc"] {
            for line in lines_where(&code, |line| names_root(line, name)) {
                findings.push(Finding::new(&file.path, line, format!("this crate must not name `{name}`")));
            }
        }
    }
    findings
}

/// `format`, `lookup` and `expr` have no unsafe code and forbid it.
pub(super) fn no_unsafe(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in ["src/format", "src/lookup", "src/expr", "src/stopped"] {
        for (file, text) in rust(files).filter(|(file, _)| file.below(folder)) {
            let code = code(text);
            if file.path == format!("{folder}/src/lib.rs") && !code.contains("#![forbid(unsafe_code)]") {
                findings.push(Finding::new(&file.path, 1, "must have `#![forbid(unsafe_code)]`"));
            }
            for line in lines_where(&code, |line| has_word(line, "unsafe")) {
                findings.push(Finding::new(&file.path, line, format!("{folder} must not have unsafe code")));
            }
        }
    }
    findings
}

/// The serialization framework of the cold data stands behind one module.
pub(super) fn one_codec(files: &[Tracked]) -> Vec<Finding> {
    let users: Vec<Finding> = rust(files)
        .filter_map(|(file, text)| {
            let line = *lines_where(&code(text), |line| has_word(line, "bincode")).first()?;
            Some(Finding::new(&file.path, line, "bincode is named in more than one module"))
        })
        .collect();
    if users.len() > 1 { users } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{file, lines};
    use super::*;

    #[test]
    fn a_file_needs_a_header() {
        assert_eq!(lines(headers, "src/a.rs", "\n//! Says.\nfn a() {}\n"), []);
        assert_eq!(lines(headers, "src/a.rs", "use b;\n//! Late.\n"), [1]);
        assert_eq!(lines(headers, "src/a.rs", "// Not a header.\n"), [1]);
        assert_eq!(lines(headers, "testbins/cases/a.rs", "//# build\n"), []);
    }

    #[test]
    fn a_long_file_needs_a_reason() {
        let body = "x\n".repeat(LONGEST);
        assert_eq!(lines(length, "a.rs", &body), []);
        assert_eq!(lines(length, "a.rs", &format!("//! Short.\n{body}")), [601]);
        assert_eq!(
            lines(length, "a.rs", &format!("//! A table.\n//! Long because it is one table.\n{body}")),
            []
        );
        assert_eq!(lines(length, "a.rs", &format!("//! A.\n{body}//! Long because late.\n")), [602]);
    }

    #[test]
    fn layers_hold() {
        let uses = "use gimli::Reader;\nfn f(x: object::File) {}\n// gimli::x\nlet s = \"object::y\";\n";
        assert_eq!(lines(reading_layers, "src/convert/src/open/elf.rs", uses), [1]);
        assert_eq!(lines(reading_layers, "src/convert/src/read/unit.rs", uses), [2]);
        assert_eq!(lines(reading_layers, "src/convert/src/model.rs", uses), [2, 1]);
        assert_eq!(lines(reading_layers, "src/convert/src/opening.rs", uses), [2, 1]);
        assert_eq!(lines(reading_layers, "benches/src/floor.rs", uses), []);
        assert_eq!(
            lines(reading_layers, "src/convert/src/model.rs", "use crate::open::object::Image;\n"),
            []
        );
    }

    #[test]
    fn lookup_stays_bare() {
        let text = "use core::fmt;\nuse alloc::vec::Vec;\nlet x = std::mem::take(y);\n";
        assert_eq!(lines(lookup_is_bare, "src/lookup/src/lib.rs", text), [3, 2]);
        assert_eq!(lines(lookup_is_bare, "src/lookup/tests/all.rs", text), []);
        assert_eq!(
            lines(lookup_is_bare, "src/lookup/src/a.rs", "#[cfg(test)]\nmod tests { use std::fs; }\n"),
            []
        );
        assert_eq!(lines(lookup_is_bare, "src/lookup/src/a.rs", "//! use std::fs;\n"), []);
    }

    #[test]
    fn unsafe_code_is_found() {
        let good = "//! A.\n#![forbid(unsafe_code)]\n// unsafe is not here\n";
        assert_eq!(lines(no_unsafe, "src/format/src/lib.rs", good), []);
        assert_eq!(lines(no_unsafe, "src/format/src/lib.rs", "//! A.\n"), [1]);
        assert_eq!(lines(no_unsafe, "src/format/src/lib.rs", "//! A.\n// #![forbid(unsafe_code)]\n"), [1]);
        assert_eq!(lines(no_unsafe, "src/lookup/src/a.rs", "fn a() {\n    unsafe { b() }\n}\n"), [2]);
        assert_eq!(lines(no_unsafe, "src/convert/src/map.rs", "unsafe {}\n"), []);
    }

    #[test]
    fn two_codecs_are_found() {
        let (a, b) =
            (file("src/a.rs", "use bincode::encode;\n"), file("src/b.rs", "x\nbincode::decode();\n"));
        let c = file("src/c.rs", "// bincode stands in a.rs\n");
        assert_eq!(one_codec(&[a, c]).len(), 0);
        let a = file("src/a.rs", "use bincode::encode;\n");
        assert_eq!(one_codec(&[a, b]).len(), 2);
    }
}
