//! `cargo xtask demangle`: compares the readable names of whole programs with llvm-cxxfilt's, and measures the time of a name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::llvm::nm;
use xtask::sh;

const HELP: &str = "cargo xtask demangle [PROGRAM]... [--all] [--sample] [--write]
  compares the readable names of all C++ symbols of each PROGRAM (the C++ library) with llvm-cxxfilt's, prints the share that
  is equal, those that differ by cause, and the time of a name beside that of the demanglers alone
  --all      every name that differs, not three of each cause
  --write    puts the shares of the PROGRAMs into src/demangle/README.md
  --sample   refreshes llvm-cxxfilt's answers in src/demangle/tests/data/llvm.txt, and needs no program
The answers of the sample are those of llvm-cxxfilt 22.";

/// Mangled names and what llvm-cxxfilt makes of them, a line each, in turn.
const SAMPLE: &str = "src/demangle/tests/data/llvm.txt";

/// The file that has the shares, between these lines.
const README: &str = "src/demangle/README.md";
const BEGIN: &str = "<!-- written by `cargo xtask demangle --write` -->\n";
const END: &str = "<!-- end -->\n";

/// The names of one program: how many, and how many differ for which cause.
struct Told {
    program: String,
    names: usize,
    causes: Vec<(&'static str, usize)>,
}

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut programs, mut all, mut sample, mut write) = (Vec::new(), false, false, false);
    for arg in args {
        match arg.as_str() {
            "--help" => {
                println!("{HELP}");
                return Ok(());
            }
            "--all" => all = true,
            "--sample" => sample = true,
            "--write" => write = true,
            other if other.starts_with('-') => return Err(HELP.to_owned()),
            other => programs.push(PathBuf::from(other)),
        }
    }
    if sample {
        return refresh();
    }
    if programs.is_empty() {
        programs.push(PathBuf::from("/usr/lib/x86_64-linux-gnu/libstdc++.so.6"));
    }
    sh::run(sh::cargo().args(["build", "--release", "-p", "foldsym-demangle", "--examples"]))?;
    let mut told = Vec::new();
    for program in &programs {
        println!("{}", program.display());
        told.push(compare(program, all)?);
    }
    if write { write_shares(&told) } else { Ok(()) }
}

/// Puts the table of shares into the README.
fn write_shares(told: &[Told]) -> Result<(), String> {
    let path = sh::root().join(README);
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(failed)?;
    let marked = || format!("{README}: expected the lines {BEGIN}and {END}");
    let (before, rest) = text.split_once(BEGIN).ok_or_else(marked)?;
    let (_, after) = rest.split_once(END).ok_or_else(marked)?;
    std::fs::write(&path, [before, BEGIN, &table(told), END, after].concat()).map_err(failed)
}

/// A line for each cause, the most frequent first, and a column for each program.
fn table(told: &[Told]) -> String {
    let mut sums: Vec<(&str, usize)> = Vec::new();
    for &(cause, count) in told.iter().flat_map(|program| &program.causes) {
        match sums.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum += count,
            None => sums.push((cause, count)),
        }
    }
    sums.sort_by_key(|&(cause, sum)| (std::cmp::Reverse(sum), cause));
    let line = |first: &str, cells: Vec<String>| format!("| {first} | {} |\n", cells.join(" | "));
    let cells = |cell: &dyn Fn(&Told) -> String| told.iter().map(cell).collect::<Vec<_>>();
    let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
    let differ = |program: &Told| program.causes.iter().map(|(_, count)| count).sum::<usize>();
    let mut text = line("", cells(&|program| format!("`{}`", program.program)));
    text += &line("---", cells(&|_| "---".to_owned()));
    text += &line("names", cells(&|program| program.names.to_string()));
    text += &line(
        "equal",
        cells(&|program| format!("{:.3} %", share(program.names - differ(program), program.names))),
    );
    for (cause, _) in sums {
        text += &line(
            cause,
            cells(&|program| {
                let count =
                    program.causes.iter().find(|(known, _)| *known == cause).map_or(0, |(_, count)| *count);
                format!("{count} ({:.3} %)", share(count, program.names))
            }),
        );
    }
    text
}

fn compare(program: &Path, all: bool) -> Result<Told, String> {
    let names: Vec<String> = names(program)?.into_iter().collect();
    let theirs = lines(&mut cxxfilt()?, &names)?;
    let ours = lines(&mut example("demangle"), &names)?;
    let mut causes: Vec<(&'static str, Vec<[&str; 3]>)> = Vec::new();
    for ((name, theirs), ours) in names.iter().zip(&theirs).zip(&ours).filter(|(pair, ours)| pair.1 != *ours)
    {
        let cause = cause(name, theirs, ours);
        let at = causes.iter().position(|(known, _)| *known == cause).unwrap_or_else(|| {
            causes.push((cause, Vec::new()));
            causes.len() - 1
        });
        causes[at].1.push([name, theirs, ours]);
    }
    causes.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let share = |count: usize| 100.0 * count as f64 / names.len().max(1) as f64;
    let differ: usize = causes.iter().map(|(_, names)| names.len()).sum();
    println!("{} names, {:.2} % equal", names.len(), share(names.len() - differ));
    for (cause, names) in &causes {
        println!("{:7} {:.3} % {cause}", names.len(), share(names.len()));
        for [name, theirs, ours] in names.iter().take(if all { usize::MAX } else { 3 }) {
            println!("          {name}\n            LLVM {theirs}\n            ours {ours}");
        }
    }
    for line in lines(&mut example("cost"), &names)? {
        println!("{line}");
    }
    Ok(Told {
        program: program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        names: names.len(),
        causes: causes.iter().map(|(cause, names)| (*cause, names.len())).collect(),
    })
}

/// Why a name differs. The first that fits.
fn cause(name: &str, theirs: &str, ours: &str) -> &'static str {
    if name == theirs {
        return "LLVM leaves it mangled";
    }
    if name == ours {
        let declares = ["Tn", "Ty", "Tt", "Tp", "Tk"].iter().any(|word| name.contains(word));
        return if declares { "template parameter declarations" } else { "cpp_demangle does not parse it" };
    }
    if ["decltype", "sizeof", "enable_if", " && "].iter().any(|word| theirs.contains(word)) {
        return "expressions";
    }
    if theirs.contains("'lambda") {
        return "lambdas of templates";
    }
    if ["(*", "::*", "(&"].iter().any(|word| theirs.contains(word)) {
        return "functions that return pointers to functions";
    }
    "other"
}

/// The mangled C++ names of a program, without versions, sorted. Rust's names are left out.
fn names(program: &Path) -> Result<BTreeSet<String>, String> {
    let mut names = nm::names(program);
    names.retain(|name| {
        let hash = name.len().checked_sub(20).and_then(|at| name.get(at..));
        name.starts_with("_Z") && !hash.is_some_and(|hash| hash.starts_with("17h"))
    });
    if names.is_empty() { Err(format!("{}: no C++ names", program.display())) } else { Ok(names) }
}

/// Asks llvm-cxxfilt again about the names of the sample.
fn refresh() -> Result<(), String> {
    let path = sh::root().join(SAMPLE);
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(failed)?;
    let names: Vec<String> = text.lines().step_by(2).map(str::to_owned).collect();
    let answers = lines(&mut cxxfilt()?, &names)?;
    let text: String =
        names.iter().zip(&answers).map(|(name, answer)| format!("{name}\n{answer}\n")).collect();
    std::fs::write(&path, text).map_err(failed)
}

fn cxxfilt() -> Result<Command, String> {
    sh::llvm("llvm-cxxfilt").map(Command::new)
}

fn example(name: &str) -> Command {
    Command::new(sh::target_dir().join("release/examples").join(name))
}

/// The output of a filter for these lines.
fn lines(filter: &mut Command, names: &[String]) -> Result<Vec<String>, String> {
    let path = sh::scratch("demangle")?.join("names");
    std::fs::write(&path, names.join("\n") + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(sh::filter(filter, &path)?.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_for_each_program() {
        let told = |program: &str, names, causes| Told { program: program.to_owned(), names, causes };
        let text = table(&[told("a.so", 1000, vec![("x", 5)]), told("b.so", 10, vec![("y", 1), ("x", 1)])]);
        assert_eq!(
            text,
            "|  | `a.so` | `b.so` |\n| --- | --- | --- |\n| names | 1000 | 10 |\n| equal | 99.500 % | 80.000 % |\n\
            | x | 5 (0.500 %) | 1 (10.000 %) |\n| y | 0 (0.000 %) | 1 (10.000 %) |\n"
        );
    }
}
