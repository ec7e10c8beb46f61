//! `cargo xtask demangle`: the readable names of whole programs against those of llvm-cxxfilt, and what a name costs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sh;

const HELP: &str = "cargo xtask demangle [PROGRAM]... [--all] [--sample]
  compares the readable names of all C++ symbols of each PROGRAM (the C++ library) with llvm-cxxfilt's, prints the share that
  is equal, those that differ by cause, and the time of a name beside that of the demanglers alone
  --all      every name that differs, not three of each cause
  --sample   refreshes llvm-cxxfilt's answers in src/demangle/tests/data/llvm.txt, and needs no program
The answers of the sample are those of llvm-cxxfilt 22.";

/// Mangled names and what llvm-cxxfilt makes of them, a line each, in turn.
const SAMPLE: &str = "src/demangle/tests/data/llvm.txt";

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut programs, mut all, mut sample) = (Vec::new(), false, false);
    for arg in args {
        match arg.as_str() {
            "--help" => {
                println!("{HELP}");
                return Ok(());
            }
            "--all" => all = true,
            "--sample" => sample = true,
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
    for program in &programs {
        println!("{}", program.display());
        compare(program, all)?;
    }
    Ok(())
}

fn compare(program: &Path, all: bool) -> Result<(), String> {
    let names: Vec<String> = names(program)?.into_iter().collect();
    let theirs = lines(&mut cxxfilt()?, &names)?;
    let ours = lines(&mut example("demangle"), &names)?;
    let mut causes: Vec<(&str, Vec<[&str; 3]>)> = Vec::new();
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
    Ok(())
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

/// The mangled C++ names of a program, without versions, sorted. Rust's are none.
fn names(program: &Path) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for table in [&[][..], &["-D"]] {
        // A program may lack one of its symbol tables.
        let Ok(listed) = sh::output(Command::new("nm").args(table).arg(program)) else { continue };
        for line in listed.lines() {
            let name = line.rsplit(' ').next().unwrap_or_default();
            let name = name.split('@').next().unwrap_or_default();
            let hash = name.len().checked_sub(20).and_then(|at| name.get(at..));
            if name.starts_with("_Z") && !hash.is_some_and(|hash| hash.starts_with("17h")) {
                names.insert(name.to_owned());
            }
        }
    }
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

/// What a filter makes of these lines.
fn lines(filter: &mut Command, names: &[String]) -> Result<Vec<String>, String> {
    let path = sh::scratch("demangle")?.join("names");
    std::fs::write(&path, names.join("\n") + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(sh::filter(filter, &path)?.lines().map(str::to_owned).collect())
}
