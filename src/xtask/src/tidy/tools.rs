//! Rule on the oracles: the text of the tools that list programs is read in one module.

use super::tracked::{Finding, Tracked};

/// What lists the contents of programs.
const LISTERS: &[&str] = &["nm", "readelf", "objdump", "dwarfdump"];

/// The module that reads their text, a task that compares a whole listing, and the build id, which a chore needs too.
const READERS: &[&str] = &["src/oracles/src/llvm", "src/oracles/src/cfi.rs", "src/xtask/src/lib.rs"];

/// No other file of the tasks starts one of these tools.
pub(super) fn one_reader(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_reader = |file: &Tracked| READERS.iter().any(|reader| file.path == *reader || file.below(reader));
    let is_task = |file: &&Tracked| file.below("src/oracles") || file.below("src/xtask");
    let starts = |line: &str, tool: &str| {
        line.contains(&format!("llvm(\"llvm-{tool}\"")) || line.contains(&format!("Command::new(\"{tool}\""))
    };
    for file in files.iter().filter(is_task).filter(|file| !is_reader(file)) {
        for (index, line) in file.text().into_iter().flat_map(str::lines).enumerate() {
            if let Some(tool) = LISTERS.iter().find(|tool| starts(line, tool)) {
                let message = format!("starts `{tool}`, whose text src/oracles/src/llvm reads");
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NONE, lines};
    use super::*;

    #[test]
    fn one_module_starts_the_tools() {
        let by_llvm = format!("let a = 1;\nCommand::new(sh::llvm(\"llvm-{}\")?)\n", LISTERS[0]);
        let by_path = format!("Command::new(\"{}\")\n", LISTERS[1]);
        assert_eq!(lines(one_reader, "src/oracles/src/fold/build.rs", &by_llvm), [2]);
        assert_eq!(lines(one_reader, "src/xtask/src/corpus/debian.rs", &by_path), [1]);
        for path in ["src/oracles/src/llvm/nm.rs", "src/xtask/src/lib.rs", "src/front/cli/tests/a.rs"] {
            assert_eq!(lines(one_reader, path, &by_llvm), NONE, "{path}");
        }
        assert_eq!(lines(one_reader, "src/oracles/src/fold/build.rs", "sh::llvm(\"llvm-dwp\")\n"), NONE);
    }
}
