//! `cargo xtask signatures`: the buckets of stacks in generated programs that are linked with folding and without.
//!
//! The two links of one program have the same objects and print the same stacks, so a stack must have one signature in both. Mozilla's rules
//! on the frames of `llvm-symbolizer` are measured beside ours. The programs print who was on each stack, so that stacks of different
//! faults are known too: they should have different signatures.

mod fault;
mod mozilla;
mod tally;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::fold::stacks::{Answer, Stack, Verdict};
use crate::fold::{Foldsym, Recorded, answer, pair};
use crate::json::{Answered, parse};
use crate::results;
use fault::{RECORDER, fault};
use tally::{DOUBTS, LevelTally, Pairs};
use xtask::sh;

const HELP: &str = "cargo xtask signatures [OPTIONS]
  makes programs by clang and lld, with folding and without, and compares the signatures of their stacks; fails where a stack
  whose folded frames are all `exact` and right has two
  --seeds N         programs (4)
  --first S         the first seed (1)
  --stacks N        stacks of each program (400)
  --rules FILE      rules in addition to the built-in ones
  --python PROGRAM  a Python with the package siggen (python3)
  --foldsym BIN     another build of foldsym than this checkout's
  --out FILE        writes the tables there too, as a page of benches/results";

/// The levels of optimization, each a program of its own.
const LEVELS: [&str; 3] = ["-O1", "-O2", "-O3"];

struct SignatureRun {
    seeds: u64,
    first: u64,
    stacks: usize,
    rules: Option<PathBuf>,
    python: PathBuf,
    foldsym: Option<PathBuf>,
    out: Option<PathBuf>,
}

fn options(args: &[String]) -> Result<SignatureRun, String> {
    let mut options = SignatureRun {
        seeds: 4,
        first: 1,
        stacks: 400,
        rules: None,
        python: "python3".into(),
        foldsym: None,
        out: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next().ok_or(HELP)?;
        let number = || value.parse::<u64>().map_err(|_| format!("{arg}: `{value}` is not a number"));
        match arg.as_str() {
            "--seeds" => options.seeds = number()?,
            "--first" => options.first = number()?,
            "--stacks" => options.stacks = number()? as usize,
            "--rules" => options.rules = Some(value.into()),
            "--python" => options.python = value.into(),
            "--foldsym" => options.foldsym = Some(value.into()),
            "--out" => options.out = Some(value.into()),
            _ => return Err(HELP.to_owned()),
        }
    }
    Ok(options)
}

/// Runs the task; see `HELP`.
///
/// # Errors
/// A usage error, a tool that is missing or fails, or a stack with two signatures though all is known of it.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = options(args)?;
    let foldsym = Foldsym::build(options.foldsym.clone())?;
    let dir = sh::scratch(&format!("signatures-{}", std::process::id()))?;
    let mut levels = LEVELS.map(LevelTally::new);
    let mut across = Pairs::default();
    for seed in options.first..options.first + options.seeds {
        let mut by_level = Vec::new();
        for level in &mut levels {
            let signed = program(&options, &foldsym, (seed, level.name), &dir, level)?;
            by_level.push(signed);
        }
        // Without folding: what the compiler alone changes.
        across.add(&by_level[0], &by_level[2]);
        println!("seed {seed}: {}", levels.iter().map(LevelTally::line).collect::<Vec<_>>().join("; "));
    }
    std::fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let page = tally::page(&levels, &across);
    println!("{page}");
    if let Some(out) = &options.out {
        let head = results::head(
            "Signatures of stacks",
            "signatures",
            args,
            &["clang", "ld.lld", "llvm-symbolizer"],
        );
        std::fs::write(out, head + &page).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    match levels.iter().map(|level| level.sure.total - level.sure.equal).sum::<usize>() {
        0 => Ok(()),
        count => Err(format!("{count} stacks whose frames are all known have two signatures")),
    }
}

/// A stack as `foldsym stack --signature` answers it.
struct Signed {
    text: String,
    frames: Vec<Answer>,
}

/// Measures one program. Gives the texts of the signatures of both methods without folding, for comparison with other levels.
fn program(
    options: &SignatureRun,
    foldsym: &Foldsym,
    (seed, level): (u64, &'static str),
    dir: &Path,
    tally: &mut LevelTally,
) -> Result<Vec<Option<[String; 2]>>, String> {
    let made = pair(seed, options.stacks, level, dir)?;
    let rules = options.rules.as_deref();
    let folded = signed(foldsym, &made.folded, rules)?;
    let unfolded = signed(foldsym, &made.unfolded, rules)?;
    let theirs = [&made.folded, &made.unfolded]
        .map(|program| mozilla::signatures(&options.python, program, dir).map(Vec::into_iter));
    let [their_folded, their_unfolded] = theirs;
    let theirs: Vec<[String; 2]> = their_folded?.zip(their_unfolded?).map(|(a, b)| [a, b]).collect();
    for doubt in DOUBTS {
        let file = dir.join("doubt.rules");
        let own = rules.map_or(Ok(String::new()), sh::read)?;
        std::fs::write(&file, format!("{own}\nversion doubt\ndoubt {doubt}\n"))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let texts = |program: &Recorded| {
            let signed = signed(foldsym, program, Some(&file))?;
            Ok::<_, String>(signed.into_iter().map(|signed| signed.map(|signed| signed.text)).collect())
        };
        tally.doubt(doubt, texts(&made.folded)?, texts(&made.reversed)?, texts(&made.unfolded)?);
    }
    let mut whole = Vec::new();
    for (at, stack) in made.folded.stacks.iter().enumerate() {
        let (Some(stack), Some(Some(ours)), Some(Some(other)), Some(theirs)) =
            (stack, folded.get(at), unfolded.get(at), theirs.get(at))
        else {
            whole.push(None);
            continue;
        };
        tally.stack(stack, &verdicts(stack, ours), [&ours.text, &other.text], theirs);
        whole.push(Some([other.text.clone(), theirs[1].clone()]));
    }
    tally.end_program();
    Ok(whole)
}

/// What each answer of a stack is worth.
fn verdicts(stack: &Stack, signed: &Signed) -> Vec<Verdict> {
    let frames = stack.frames.iter().skip_while(|truth| truth.name == RECORDER);
    frames.zip(&signed.frames).map(|(truth, answer)| truth.judge(answer, false).0).collect()
}

/// The answers to the stacks of a program, with signatures.
fn signed(
    foldsym: &Foldsym,
    program: &Recorded,
    rules: Option<&Path>,
) -> Result<Vec<Option<Signed>>, String> {
    let fsym = program.path.with_extension("fsym");
    if !fsym.exists() {
        foldsym.convert(&program.path, &fsym)?;
    }
    let input = program.path.with_extension("stacks");
    // An address inside of a call is exact, but for the callers, whose return addresses are given.
    let word = |(at, (address, _)): (usize, (u64, &str))| match at {
        0 => format!("={address:#x} "),
        _ => format!("{:#x} ", address + 1),
    };
    let line = |stack: &Stack| fault(stack).into_iter().enumerate().map(word).collect::<String>();
    let text: String = program.stacks.iter().flatten().map(|stack| line(stack) + "\n").collect();
    std::fs::write(&input, text).map_err(|error| format!("{}: {error}", input.display()))?;
    let mut command = Command::new(foldsym.path());
    command.arg("stack").arg(&fsym).args(["--json", "--no-demangle", "--signature"]);
    rules.into_iter().for_each(|rules| _ = command.arg("--signature-rules").arg(rules));
    let output = sh::filter(&mut command, &input)?;
    let mut lines = output.lines();
    let mut next = || {
        let json: Value = parse(lines.next().ok_or("foldsym stack: too few answers")?)?;
        let frames = json["Frames"].items().iter().map(answer).collect();
        Ok::<_, String>(Signed { text: json["Signature"]["Text"].text().to_owned(), frames })
    };
    program.stacks.iter().map(|stack| stack.as_ref().map(|_| next()).transpose()).collect()
}
