//! The examples in C and C++ of the READMEs compile unchanged.

mod common;

use std::path::Path;
use std::process::Command;

use common::{compiler, crate_dir, folder};

/// The first code block of a language after a text.
fn example(readme: &Path, behind: &str, language: &str) -> String {
    let text = std::fs::read_to_string(readme).unwrap();
    let (_, rest) = text.split_once(behind).unwrap_or_else(|| panic!("{}: no {behind:?}", readme.display()));
    let (_, rest) = rest.split_once(&format!("```{language}\n")).unwrap();
    let (code, _) = rest.split_once("\n```").unwrap();
    code.to_owned()
}

fn compiles(name: &str, standard: &str, file: &str, source: &str) {
    let Some(compiler) = compiler(name) else { return };
    let path = folder("readme").join(file);
    std::fs::write(&path, source).unwrap();
    let mut command = Command::new(compiler);
    command.args([standard, "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]);
    let output = command.arg("-I").arg(crate_dir().join("include")).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}\n{source}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_crash_handler_in_c() {
    let code = example(&crate_dir().join("../../../README.md"), "From C or C++, a handler", "c");
    compiles("cc", "-std=c99", "handler.c", &code);
}

#[test]
fn the_lookup_in_c() {
    let code = example(&crate_dir().join("../../../README.md"), "The reader itself, inside a signal", "c");
    assert!(code.contains("foldsym_lookup(") && code.contains("foldsym_write_name("), "{code}");
    let source = format!(
        "#include \"foldsym.h\"\nvoid report(uint64_t pc);\nvoid report(uint64_t pc) {{\n{code}\n}}\n"
    );
    compiles("cc", "-std=c99", "lookup.c", &source);
}

#[test]
fn the_stack_in_cpp() {
    let code = example(&crate_dir().join("README.md"), "## Whole stacks, outside of handlers", "cpp");
    let (include, code) = code.split_once('\n').unwrap();
    assert!(include.starts_with("#include") && code.contains("answer.symbolize("), "{code}");
    let around = "foldsym::modules<8> table;\nvoid report(const foldsym_stack_entry *entries, std::size_t count);\n\
                  void report(const foldsym_stack_entry *entries, std::size_t count)";
    let source = format!("{include}\n#include <cstdio>\n{around} {{\n{code}\n}}\n");
    compiles("c++", "-std=c++17", "stack.cpp", &source);
}
