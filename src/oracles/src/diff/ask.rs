//! Addresses to answers: runs the three symbolizers on one program, at the same time, each in one process.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::answer::Answer;
use super::causes::Oracle;
use super::options::DiffOptions;
use super::program::Program;
use serde_json::Value;

use crate::{json, ours};
use xtask::sh;

/// The programs of this workspace that take part.
pub(crate) struct Tools {
    foldsym: PathBuf,
    addr2line: PathBuf,
}

impl Tools {
    /// Builds our command and, if it is an oracle, the program with the `addr2line` crate.
    ///
    /// # Errors
    /// A build that fails.
    pub(crate) fn build(options: &DiffOptions) -> Result<Tools, String> {
        let foldsym = match &options.foldsym {
            Some(other) => other.clone(),
            None => ours::build("foldsym", &["foldsym"])?.join("foldsym"),
        };
        let addr2line = match options.oracles.contains(&Oracle::Addr2line) {
            true => ours::build("foldsym-testbins", &["oracle_addr2line"])?.join("oracle_addr2line"),
            false => PathBuf::new(),
        };
        Ok(Tools { foldsym, addr2line })
    }

    /// Our command.
    pub(crate) fn foldsym(&self) -> &Path {
        &self.foldsym
    }

    /// Converts a program to `out`.
    ///
    /// # Errors
    /// The converter's own message.
    pub(crate) fn convert(&self, program: &Program, out: &Path, args: &[String]) -> Result<(), String> {
        let mut convert = Command::new(&self.foldsym);
        convert.arg("convert").arg(&program.path).arg("-o").arg(out).arg("--quiet").args(args);
        if let Some(arch) = &program.arch {
            convert.args(["--arch", arch]);
        }
        sh::output(&mut convert).map(|_| ())
    }

    /// Our answers.
    ///
    /// # Errors
    /// A process that fails, or output that is not an answer.
    pub(crate) fn ours(
        &self,
        program: &Program,
        fsym: &Path,
        addresses: &[u64],
        scratch: &Path,
    ) -> Result<Vec<Answer>, String> {
        // In ET_REL an address is only one together with its section: the first that has it, as the oracles search.
        let spell = |address: &u64| match program.sections_at(*address).next().or(program.code.first()) {
            Some(code) if program.relocatable => format!("{}:{address:#x}\n", code.name),
            _ => format!("{address:#x}\n"),
        };
        let input = written(&scratch.join("ours.txt"), &addresses.iter().map(spell).collect::<String>())?;
        let mut lookup = Command::new(&self.foldsym);
        lookup.arg("lookup").arg(fsym).args(["--json", "--no-demangle"]);
        parsed("foldsym", &sh::filter(&mut lookup, &input)?, addresses, Answer::ours)
    }

    /// The answers of one oracle.
    ///
    /// # Errors
    /// As [`Tools::ours`].
    pub(crate) fn theirs(
        &self,
        oracle: Oracle,
        program: &Program,
        addresses: &[u64],
        scratch: &Path,
    ) -> Result<Vec<Answer>, String> {
        let text: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
        let input = written(&scratch.join(format!("{}.txt", oracle.name())), &text)?;
        match oracle {
            Oracle::Llvm => {
                let mut llvm = Command::new(sh::llvm("llvm-symbolizer")?);
                llvm.arg(format!("--obj={}", program.file.display()));
                llvm.args(program.arch.as_ref().map(|arch| format!("--default-arch={arch}")));
                llvm.args(["--output-style=JSON", "--no-demangle", "--inlines", "--functions=linkage"]);
                // Neither the network nor a GSYM beside the program may answer for it.
                llvm.args(["--no-debuginfod", "--disable-gsym"]);
                parsed(oracle.name(), &sh::filter(&mut llvm, &input)?, addresses, Answer::llvm)
            }
            Oracle::Addr2line => {
                let mut crate_ = Command::new(&self.addr2line);
                crate_.arg(&program.file);
                if let Some(arch) = &program.arch {
                    crate_.args(["--arch", arch]);
                }
                parsed(oracle.name(), &sh::filter(&mut crate_, &input)?, addresses, Answer::addr2line)
            }
        }
    }
}

fn written(path: &Path, text: &str) -> Result<PathBuf, String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path.to_owned())
}

/// One answer a line, as many as addresses.
fn parsed(
    who: &str,
    text: &str,
    addresses: &[u64],
    answer: fn(&Value) -> Result<Answer, String>,
) -> Result<Vec<Answer>, String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    if lines.len() != addresses.len() {
        return Err(format!("{who}: {} answers for {} addresses", lines.len(), addresses.len()));
    }
    lines
        .iter()
        .zip(addresses)
        .map(|(line, address)| {
            let answered = json::parse(line).and_then(|json| answer(&json));
            answered.map_err(|e| format!("{who} at {address:#x}: {e}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_answer_is_an_error() {
        assert!(parsed("x", "[]\n", &[1, 2], Answer::addr2line).is_err());
        assert!(parsed("x", "[]\n{\n", &[1, 2], Answer::addr2line).is_err());
        assert_eq!(parsed("x", "[]\n[]\n", &[1, 2], Answer::addr2line).map(|answers| answers.len()), Ok(2));
    }
}
