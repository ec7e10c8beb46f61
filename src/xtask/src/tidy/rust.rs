//! Rules on Rust files: headers, length, and which layer may name what.

use super::text::{code, has_word, names_root, without_tests};
use super::tracked::{Finding, Tracked};

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

/// Every file begins with a sentence on what it does.
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

/// In `convert`, only `open` names the crate for containers and only `read` the one for DWARF; the second reader of `verify` uses that one
/// too.
pub(super) fn reading_layers(files: &[Tracked]) -> Vec<Finding> {
    const LAYERS: &[(&str, &str)] = &[("object", "open"), ("gimli", "read")];
    let mut findings = Vec::new();
    for (file, text) in rust(files).filter(|(file, _)| file.below("src/convert/src")) {
        let code = code(text);
        for (name, layer) in LAYERS {
            let folder = format!("src/convert/src/{layer}");
            let is_second_reader = file.path == "src/convert/src/verify/by_addr2line.rs" && *name == "gimli";
            if file.below(&folder) || file.path == format!("{folder}.rs") || is_second_reader {
                continue;
            }
            for line in lines_where(&code, |line| names_root(line, name)) {
                findings.push(Finding::new(&file.path, line, format!("only {folder} may name `{name}`")));
            }
        }
    }
    findings
}

/// Names are read by one crate, so that they are spelled alike everywhere.
pub(super) fn one_demangler(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in rust(files).filter(|(file, _)| file.below("src") && !file.below("src/demangle")) {
        let code = code(text);
        for name in ["cpp_demangle", "rustc_demangle"] {
            for line in lines_where(&code, |line| names_root(line, name)) {
                findings.push(Finding::new(&file.path, line, format!("only src/demangle may name `{name}`")));
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
        // The one method of the reader that returns owned texts; it needs the feature `alloc`.
        let may_allocate = file.path == "src/lookup/src/symbolize.rs";
        for name in ["std", "alloc"].into_iter().filter(|name| *name == "std" || !may_allocate) {
            for line in lines_where(&code, |line| names_root(line, name)) {
                findings.push(Finding::new(&file.path, line, format!("this crate must not name `{name}`")));
            }
        }
    }
    findings
}

/// The reader's crates and the engine have no unsafe code and forbid it.
pub(super) fn no_unsafe(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in ["src/format", "src/lookup", "src/expr", "src/stopped", "src/symbolize"] {
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

/// Who may name what in the crates around the core: (crate, what, the modules that may).
const AROUND: &[(&str, &str, &[&str])] = &[
    ("src/store/src", "memmap2", &["mapped.rs"]),
    ("src/store/src", "object_store", &["objects.rs", "remote_setup.rs"]),
    ("src/store/src", "tokio", &["objects.rs"]),
    ("src/store/src", "foldsym_convert", &[]),
    ("src/symbolize/src", "foldsym_convert", &["into_store.rs", "program.rs"]),
    ("src/symbolize/src", "memmap2", &[]),
    ("src/symbolize/src", "gimli", &[]),
    ("src/symbolize/src", "object", &[]),
];

/// The store maps files in one module and reaches the network in another; the engine converts in one, so that a service that only reads
/// builds no converter.
pub(super) fn layers_around(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in rust(files) {
        let code = code(text);
        for (folder, name, allowed) in AROUND {
            if !file.below(folder) || allowed.iter().any(|module| file.path == format!("{folder}/{module}")) {
                continue;
            }
            for line in lines_where(&code, |line| names_root(line, name)) {
                let only = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(" and ") };
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("in {folder} {only} may name `{name}`"),
                ));
            }
        }
        let may = !file.below("src/store/src") || file.path == "src/store/src/mapped.rs";
        for line in lines_where(&code, |line| !may && has_word(line, "unsafe")) {
            findings.push(Finding::new(&file.path, line, "in src/store only mapped.rs may have unsafe code"));
        }
    }
    findings
}

/// The serialization framework of the conversion record is used in one module.
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
    use super::super::tests::{NONE, file, lines};
    use super::*;

    #[test]
    fn a_file_needs_a_header() {
        assert_eq!(lines(headers, "src/a.rs", "\n//! Says.\nfn a() {}\n"), NONE);
        assert_eq!(lines(headers, "src/a.rs", "use b;\n//! Late.\n"), [1]);
        assert_eq!(lines(headers, "src/a.rs", "// Not a header.\n"), [1]);
        assert_eq!(lines(headers, "testbins/cases/a.rs", "//# build\n"), NONE);
    }

    #[test]
    fn a_long_file_needs_a_reason() {
        let body = "x\n".repeat(LONGEST);
        assert_eq!(lines(length, "a.rs", &body), NONE);
        assert_eq!(lines(length, "a.rs", &format!("//! Short.\n{body}")), [601]);
        assert_eq!(
            lines(length, "a.rs", &format!("//! A table.\n//! Long because it is one table.\n{body}")),
            NONE
        );
        assert_eq!(lines(length, "a.rs", &format!("//! A.\n{body}//! Long because late.\n")), [602]);
    }

    #[test]
    fn layers_hold() {
        let uses = "use gimli::Reader;\nfn f(x: object::File) {}\n// gimli::x\nlet s = \"object::y\";\n";
        assert_eq!(lines(reading_layers, "src/convert/src/open/elf.rs", uses), [1]);
        assert_eq!(lines(reading_layers, "src/convert/src/read/unit.rs", uses), [2]);
        assert_eq!(lines(reading_layers, "src/convert/src/model/mod.rs", uses), [2, 1]);
        assert_eq!(lines(reading_layers, "src/convert/src/opening.rs", uses), [2, 1]);
        assert_eq!(lines(reading_layers, "benches/src/floor.rs", uses), NONE);
        assert_eq!(
            lines(reading_layers, "src/convert/src/model/mod.rs", "use crate::open::object::Image;\n"),
            NONE
        );
    }

    #[test]
    fn names_have_one_demangler() {
        let uses = "use cpp_demangle::Symbol;\nlet x = rustc_demangle::demangle(y);\n// cpp_demangle::x\n";
        assert_eq!(lines(one_demangler, "src/front/cli/src/names.rs", uses), [1, 2]);
        assert_eq!(lines(one_demangler, "src/demangle/src/lib.rs", uses), NONE);
    }

    #[test]
    fn lookup_stays_bare() {
        let text = "use core::fmt;\nuse alloc::vec::Vec;\nlet x = std::mem::take(y);\n";
        assert_eq!(lines(lookup_is_bare, "src/lookup/src/lib.rs", text), [3, 2]);
        assert_eq!(lines(lookup_is_bare, "src/lookup/tests/all.rs", text), NONE);
        let owned = "extern crate alloc;\nuse alloc::vec::Vec;\nuse std::fs;\n";
        assert_eq!(lines(lookup_is_bare, "src/lookup/src/symbolize.rs", owned), [3]);
        assert_eq!(
            lines(lookup_is_bare, "src/lookup/src/a.rs", "#[cfg(test)]\nmod tests { use std::fs; }\n"),
            NONE
        );
        assert_eq!(lines(lookup_is_bare, "src/lookup/src/a.rs", "//! use std::fs;\n"), NONE);
    }

    #[test]
    fn unsafe_code_is_found() {
        let good = "//! A.\n#![forbid(unsafe_code)]\n// unsafe is not here\n";
        assert_eq!(lines(no_unsafe, "src/format/src/lib.rs", good), NONE);
        assert_eq!(lines(no_unsafe, "src/format/src/lib.rs", "//! A.\n"), [1]);
        assert_eq!(lines(no_unsafe, "src/format/src/lib.rs", "//! A.\n// #![forbid(unsafe_code)]\n"), [1]);
        assert_eq!(lines(no_unsafe, "src/lookup/src/a.rs", "fn a() {\n    unsafe { b() }\n}\n"), [2]);
        assert_eq!(lines(no_unsafe, "src/convert/src/map.rs", "unsafe {}\n"), NONE);
    }

    #[test]
    fn crates_around_the_core_have_layers() {
        let maps = "use memmap2::Mmap;\nunsafe { f() }\n";
        assert_eq!(lines(layers_around, "src/store/src/mapped.rs", maps), NONE);
        assert_eq!(lines(layers_around, "src/store/src/cache.rs", maps), [1, 2]);
        assert_eq!(lines(layers_around, "src/front/cli/src/mapped.rs", maps), NONE);
        let converts = "let x = foldsym_convert::convert(y);\n";
        assert_eq!(lines(layers_around, "src/symbolize/src/program.rs", converts), NONE);
        assert_eq!(lines(layers_around, "src/symbolize/src/worker.rs", converts), [1]);
        assert_eq!(lines(layers_around, "src/store/src/local/gc.rs", converts), [1]);
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
