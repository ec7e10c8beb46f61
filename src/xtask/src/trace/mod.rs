//! `cargo xtask trace`: programs stepped beside the same objects linked without folding, against `foldsym stack`.
//!
//! Both links of one program run side by side under `ptrace` (`tracer.c`), with a shadow stack of return addresses each.
//! The link without folding says which function each frame of a stack is: the symbol at its address. Where the two
//! programs stop running the same instructions the trace ends, and the report says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fold::Foldsym;
use crate::fold::stacks::{Answer, same_function};
use crate::sh;

const HELP: &str = "cargo xtask trace [--foldsym PROGRAM] [--steps N] [--stacks N] [--only TEXT]
  steps each program of src/xtask/src/trace/programs, built by clang and gcc and linked by lld, gold and mold with
  --icf=all, beside the same objects linked without folding, and judges every frame of the stacks on which
  a folded function is entered; x86-64 Linux, static programs
  --foldsym PROGRAM  another build of foldsym
  --steps N          instructions of each program (default 2000000)
  --stacks N         distinct stacks of each program (default 1000)
  --only TEXT        only builds whose name contains TEXT";

/// Linkers, and their option for no folding.
const LINKERS: &[(&str, &str)] = &[("lld", "none"), ("gold", "none"), ("mold", "none")];

/// One frame: its address in the folded program and in the other; that of a caller is the return address less 1.
type Pair = (u64, u64);

#[derive(Default)]
struct Tally {
    /// By certainty: frames, and those whose first candidate is right.
    by_certainty: BTreeMap<String, (u64, u64)>,
    /// Folded frames, and those of them whose first candidate is right, and llvm-symbolizer's name.
    folded: (u64, u64, u64),
    wrong: Vec<String>,
}

/// Runs the task; see `HELP`.
///
/// # Errors
/// A usage error, a tool that is missing or fails, or an `exact` or `unique` answer that is wrong.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut steps, mut stacks, mut only, mut other) =
        ("2000000".to_owned(), "1000".to_owned(), String::new(), None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().cloned().ok_or(HELP);
        match arg.as_str() {
            "--foldsym" => other = Some(PathBuf::from(value()?)),
            "--steps" => steps = value()?,
            "--stacks" => stacks = value()?,
            "--only" => only = value()?,
            _ => return Err(HELP.to_owned()),
        }
    }
    let foldsym = Foldsym::build(other)?;
    let dir = sh::scratch("trace")?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trace");
    let tracer = dir.join("tracer");
    sh::run(
        Command::new(sh::llvm("clang")?).arg("-O1").arg(sources.join("tracer.c")).arg("-o").arg(&tracer),
    )?;
    let mut tally = Tally::default();
    for source in ["callbacks.c", "library.cpp"] {
        for compiler in ["clang", "gcc"] {
            for (linker, none) in LINKERS {
                let name = format!("{source}.{compiler}-{linker}");
                if !name.contains(&only) {
                    continue;
                }
                let (folded, plain) = build(
                    &dir.join(format!("{name}.o")),
                    &sources.join("programs").join(source),
                    compiler,
                    linker,
                    none,
                )?;
                let traced = trace(&tracer, &folded, &plain, [&steps, &stacks])?;
                let judged = judge(&foldsym, &folded, &plain, &traced.0, &mut tally)?;
                println!("{name}: {} stacks, {judged} frames; {}", traced.0.len(), traced.1);
            }
        }
    }
    report(&tally)
}

/// Compiles one source and links it twice.
fn build(
    stem: &Path,
    source: &Path,
    compiler: &str,
    linker: &str,
    none: &str,
) -> Result<(PathBuf, PathBuf), String> {
    let is_cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let driver = match (compiler, is_cpp) {
        ("clang", false) => sh::llvm("clang")?,
        ("clang", true) => sh::llvm("clang++")?,
        (_, false) => sh::tool("gcc", "gcc")?,
        (_, true) => sh::tool("g++", "g++")?,
    };
    let object = stem.with_extension("o");
    let mut compile = Command::new(&driver);
    compile.args(["-O2", "-g", "-ffunction-sections", "-fno-pie"]);
    if compiler == "gcc" {
        // What the compiler merges has one symbol in both links.
        compile.arg("-fno-ipa-icf");
    }
    sh::run(compile.arg("-c").arg(source).arg("-o").arg(&object))?;
    // Names of one length: the program's path is on its stack.
    let link = |icf: &str, extension: &str| {
        let out = stem.with_extension(extension);
        let mut link = Command::new(&driver);
        link.arg("-static").arg(format!("-fuse-ld={linker}")).arg(format!("-Wl,--icf={icf}"));
        sh::run(link.arg(&object).arg("-o").arg(&out)).map(|()| out)
    };
    Ok((link("all", "folded")?, link(none, "single")?))
}

/// The function symbols of a program: address, size, name.
fn symbols(program: &Path) -> Result<Vec<(u64, u64, String)>, String> {
    let mut nm = Command::new(sh::llvm("llvm-nm")?);
    let text = sh::output(nm.args(["--defined-only", "--print-size", "--numeric-sort"]).arg(program))?;
    let mut all = Vec::new();
    for line in text.lines() {
        if let [address, size, "t" | "T" | "w" | "W", name] =
            line.split_ascii_whitespace().collect::<Vec<_>>()[..]
        {
            let hex =
                |word| u64::from_str_radix(word, 16).map_err(|error| format!("llvm-nm: {line}: {error}"));
            all.push((hex(address)?, hex(size)?, name.to_owned()));
        }
    }
    Ok(all)
}

/// The distinct stacks, and how the trace ended.
fn trace(
    tracer: &Path,
    folded: &Path,
    plain: &Path,
    limits: [&str; 2],
) -> Result<(Vec<Vec<Pair>>, String), String> {
    let all = symbols(folded)?;
    let shared = all.chunk_by(|a, b| a.0 == b.0).filter(|names| names.len() > 1);
    let entries: String = shared.map(|names| format!("{:x}\n", names[0].0)).collect();
    let input = folded.with_extension("entries");
    std::fs::write(&input, entries).map_err(|error| format!("{}: {error}", input.display()))?;
    let output = sh::filter(Command::new(tracer).arg(folded).arg(plain).args(limits), &input)?;
    let (mut stacks, mut end) = (Vec::new(), String::new());
    for line in output.lines() {
        if let Some(rest) = line.strip_prefix("end ") {
            end = rest
                .split_once(' ')
                .map_or(rest.to_owned(), |(why, steps)| format!("{why} after {steps} steps"));
            continue;
        }
        let list = |text: &str| {
            let numbers = text.split(',').map(|number| u64::from_str_radix(number, 16));
            numbers.collect::<Result<Vec<_>, _>>().map_err(|error| format!("tracer: {line}: {error}"))
        };
        let (ours, theirs) = line.split_once(' ').ok_or_else(|| format!("tracer: {line}"))?;
        let pairs = list(ours)?.into_iter().zip(list(theirs)?).enumerate();
        let inside = |(at, (a, b)): (usize, Pair)| (a - u64::from(at > 0), b - u64::from(at > 0));
        stacks.push(pairs.map(inside).collect());
    }
    Ok((stacks, end))
}

/// Asks for each stack and judges each frame; gives how many.
fn judge(
    foldsym: &Foldsym,
    folded: &Path,
    plain: &Path,
    stacks: &[Vec<Pair>],
    tally: &mut Tally,
) -> Result<u64, String> {
    let fsym = folded.with_extension("fsym");
    foldsym.convert(folded, &fsym)?;
    let truth = symbols(plain)?;
    let line = |stack: &Vec<Pair>| {
        let words =
            stack.iter().enumerate().map(|(at, (ours, _))| format!("{:#x}", ours + u64::from(at > 0)));
        words.collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = stacks.iter().map(line).collect();
    let answers = foldsym.stacks(&fsym, 0, &lines)?;
    let others = by_llvm(folded, stacks)?;
    let mut judged = 0;
    for (stack, answers) in stacks.iter().zip(&answers) {
        for (&(ours, theirs), answer) in stack.iter().zip(answers) {
            let end = truth.partition_point(|(start, ..)| *start <= theirs);
            let near = truth[end.saturating_sub(64)..end].iter();
            let names: Vec<&str> = near
                .filter(|(start, size, _)| theirs - start < *size)
                .map(|(.., name)| name.as_str())
                .collect();
            // Assembly without a size, the linker's own code.
            if names.is_empty() {
                continue;
            }
            judged += 1;
            let other = others.get(&ours).is_some_and(|name| is_one(name, &names));
            count(tally, answer, &names, other, || format!("{}: {ours:#x}", folded.display()));
        }
    }
    Ok(judged)
}

/// True for the name of one of these functions.
fn is_one(name: &str, names: &[&str]) -> bool {
    names.iter().any(|truth| same_function(name, truth))
}

fn count(tally: &mut Tally, answer: &Answer, names: &[&str], other: bool, place: impl Fn() -> String) {
    let is_right = |at: usize| {
        answer
            .candidates
            .get(at)
            .is_some_and(|candidate| candidate.names.iter().any(|name| is_one(name, names)))
    };
    let first = is_right(0);
    let (frames, right) = tally.by_certainty.entry(answer.certainty.clone()).or_default();
    *frames += 1;
    *right += u64::from(first);
    let is_folded = answer.certainty != "unique" && !answer.certainty.is_empty();
    if is_folded {
        tally.folded.0 += 1;
        tally.folded.1 += u64::from(first);
        tally.folded.2 += u64::from(other);
    }
    let claims_one = matches!(answer.certainty.as_str(), "unique" | "exact");
    let wrong = if claims_one { !first } else { !(0..answer.candidates.len()).any(is_right) };
    if wrong {
        let found: Vec<&str> = answer.candidates.iter().take(4).map(|c| c.names[0].as_str()).collect();
        tally.wrong.push(format!("{} {}: {found:?}, and {names:?} ran", place(), answer.certainty));
    }
}

/// The function that llvm-symbolizer names at each address.
fn by_llvm(program: &Path, stacks: &[Vec<Pair>]) -> Result<BTreeMap<u64, String>, String> {
    let mut addresses: Vec<u64> = stacks.iter().flatten().map(|pair| pair.0).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let input = program.with_extension("addresses");
    let text: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    std::fs::write(&input, text).map_err(|error| format!("{}: {error}", input.display()))?;
    let mut symbolizer = Command::new(sh::llvm("llvm-symbolizer")?);
    symbolizer.args(["--no-inlines", "--no-demangle", "--functions=linkage"]).arg("--obj").arg(program);
    let output = sh::filter(&mut symbolizer, &input)?;
    let names = output.split("\n\n").map(|answer| answer.lines().next().unwrap_or_default().to_owned());
    Ok(addresses.into_iter().zip(names).collect())
}

fn report(tally: &Tally) -> Result<(), String> {
    println!("\ncertainty     frames  first right");
    for (certainty, (frames, right)) in &tally.by_certainty {
        let word = if certainty.is_empty() { "(no answer)" } else { certainty };
        println!("{word:12} {frames:7} {right:12}");
    }
    let (frames, ours, llvm) = tally.folded;
    println!("folded or doubtful: {frames} frames; first right {ours}, llvm-symbolizer {llvm}");
    for wrong in tally.wrong.iter().take(20) {
        println!("wrong: {wrong}");
    }
    match tally.wrong.len() {
        0 => Ok(()),
        count => Err(format!("{count} answers without the function that ran")),
    }
}
