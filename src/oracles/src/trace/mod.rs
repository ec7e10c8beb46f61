//! `cargo xtask trace`: programs stepped beside the same objects linked without folding, against `foldsym stack`.
//!
//! Both links of one program run instruction by instruction, under `ptrace` or `qemu-user`, with a shadow stack of return addresses each. The link without
//! folding says which function each frame of a stack is: the symbol at its address. Where the two programs stop
//! entering the same functions the comparison ends (the module `run`), and the report says so.

mod builds;
mod emulated;
mod entries;
mod make;
mod modules;
mod run;
mod symbols;
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fold::Foldsym;
use crate::fold::stacks::{Answer, same_function};
use crate::results;
use builds::{TracedBuild, builds};
use entries::{Limits, Word};
use make::Made;
use run::Traced;
use xtask::sh;

const HELP: &str = "cargo xtask trace [--foldsym PROGRAM] [--steps N] [--entries N] [--only TEXT] [--all]
  steps each program of src/oracles/src/trace/programs, compiled by clang, gcc and rustc in seventeen forms (merged by
  the compiler, -g1, split, mixed, stripped, ThinLTO, ...) for x86-64, i386, AArch64 and RISC-V 64 and linked by lld, gold and mold with
  --icf=all, beside the same objects linked without folding, and judges every frame of the stacks on which a function of the
  program is entered; on x86-64 Linux, with gcc's cross compilers and qemu-user
  --foldsym PROGRAM  another build of foldsym
  --steps N          instructions of each program (default 1000000)
  --entries N        entries of functions of each program (default 20000)
  --only TEXT        only builds whose name contains TEXT
  --first-wrong N    prints the N commonest triples of caller, first candidate and function that ran where these two differ
  --all              every build, instead of as few as cover each pair of source, compiler, linker, form and target
  --out FILE         writes the table there too, as a page of benches/results";

#[derive(Default)]
struct Tally {
    /// By certainty: frames, and frames whose first candidate is right.
    by_certainty: BTreeMap<String, (u64, u64)>,
    /// Frames in folded code: of all builds, and of the builds of one program, compiler, linker, form, target, or compiler and form.
    folded: FoldedFrames,
    rows: BTreeMap<(&'static str, String), FoldedFrames>,
    /// Frames whose first candidate is another function: the certainty, the caller, that function, and the function that ran.
    other_first: BTreeMap<[String; 4], u64>,
    /// `exact` and `unique` answers with another function, and answers with several functions without the one that ran.
    wrong: Vec<String>,
    /// Answers with several candidates, none of which has the name of the function that ran, and one of which has no name.
    nameless: u64,
    /// Answers of which the right candidate has its plain name alone, while the program has its linkage name.
    plain: u64,
    /// Builds that were judged, and builds whose compiler or linker failed.
    built: usize,
    not_built: usize,
    /// Builds whose two runs entered different functions at some point, where their comparison ended.
    diverged: usize,
}

/// Frames in code of which the linker kept one copy for several functions.
#[derive(Clone, Copy, Default)]
struct FoldedFrames {
    frames: u64,
    /// Frames whose first candidate is right.
    first: u64,
    /// Frames whose stack of addresses, from the frame outwards, occurred with only one function in the program's run.
    ceiling: u64,
    /// Frames that are right by the function that llvm-symbolizer names.
    llvm: u64,
}

impl FoldedFrames {
    fn add(&mut self, other: FoldedFrames) {
        self.frames += other.frames;
        self.first += other.first;
        self.ceiling += other.ceiling;
        self.llvm += other.llvm;
    }

    fn share(self, right: u64) -> f64 {
        100.0 * right as f64 / self.frames.max(1) as f64
    }
}

/// Runs the task; see `HELP`.
///
/// # Errors
/// A usage error, a tool that is missing or fails, or an `exact` or `unique` answer that is wrong.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut limits, mut only) = (Limits { steps: 1_000_000, entries: 20_000 }, String::new());
    let (mut other, mut all, mut out, mut first_wrong) = (None, false, None, 0);
    let given = args;
    let number = |text: String| text.parse::<usize>().map_err(|_| HELP.to_owned());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().cloned().ok_or(HELP);
        match arg.as_str() {
            "--foldsym" => other = Some(PathBuf::from(value()?)),
            "--steps" => limits.steps = number(value()?)?,
            "--entries" => limits.entries = number(value()?)?,
            "--only" => only = value()?,
            "--first-wrong" => first_wrong = number(value()?)?,
            "--all" => all = true,
            "--out" => out = Some(PathBuf::from(value()?)),
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
    let write = |tally: &Tally| {
        let Some(out) = &out else { return Ok(()) };
        let tools = ["clang", "gcc", "rustc", "ld.lld", "mold", "ld.gold", "qemu-aarch64"];
        let head = results::head("Stepped programs", "trace", given, &tools);
        std::fs::write(out, head + &page(tally)).map_err(|error| format!("{}: {error}", out.display()))
    };
    for build in builds(all).iter().filter(|build| build.name().contains(&only)) {
        one(build, &foldsym, [&sources, &dir, &tracer], limits, &mut tally)?;
        // The counts are written even if the rest is stopped.
        write(&tally)?;
    }
    let mut commonest: Vec<_> = tally.other_first.iter().collect();
    commonest.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for ([certainty, caller, first, ran], count) in commonest.into_iter().take(first_wrong) {
        println!("{count} {certainty}: {caller}\n    first {first}\n    ran   {ran}");
    }
    report(&tally)
}

/// The counts, as a page.
fn page(tally: &Tally) -> String {
    let mut text = format!(
        "{} builds, each stepped beside the same objects linked without folding; {} more could not be made, or do not run.\n\n\
         Where the two enter different functions the comparison ends, as clang's `-fmerge-functions` makes it: in {} builds.\n\n\
         | certainty | frames | first candidate right |\n|---|---|---|\n",
        tally.built, tally.not_built, tally.diverged
    );
    for (certainty, (frames, right)) in &tally.by_certainty {
        let word = if certainty.is_empty() { "no answer".to_owned() } else { format!("`{certainty}`") };
        text += &format!("| {word} | {frames} | {right} |\n");
    }
    let all = tally.folded;
    text += &format!(
        "\nWrong (an `exact` or `unique` of another function, or several candidates without the one that ran): {}. \
         In {} more answers no candidate has the name of the function that ran, and one has no name: nothing shows whether it is \
         that function. In {} the right candidate has a plain name alone, while the program has the linkage name.\n\n\
         Of {} frames in folded code the first candidate is right in {} ({:.1} %), what `llvm-symbolizer` names in \
         {} ({:.1} %). The *ceiling* counts frames whose stack, from the frame outwards, was seen with one function alone while \
         the program ran: where it was seen with two, no rule can be right for both.\n\n\
         | | frames | first right | % | ceiling | % | `llvm-symbolizer` | % |\n|---|---|---|---|---|---|---|---|\n",
        tally.wrong.len(),
        tally.nameless,
        tally.plain,
        all.frames,
        all.first,
        all.share(all.first),
        all.llvm,
        all.share(all.llvm),
    );
    let mut line = |name: &str, row: FoldedFrames| {
        text += &format!(
            "| {name} | {} | {} | {:.1} | {} | {:.1} | {} | {:.1} |\n",
            row.frames,
            row.first,
            row.share(row.first),
            row.ceiling,
            row.share(row.ceiling),
            row.llvm,
            row.share(row.llvm)
        );
    };
    line("all", all);
    for ((kind, name), row) in &tally.rows {
        line(&format!("{kind}: {name}"), *row);
    }
    text
}

/// Makes, runs and judges one build.
fn one(
    build: &TracedBuild,
    foldsym: &Foldsym,
    [sources, dir, tracer]: [&Path; 3],
    limits: Limits,
    tally: &mut Tally,
) -> Result<(), String> {
    let name = build.name();
    let made = match build.make(&sources.join("programs"), &dir.join(&name)) {
        Ok(made) => made,
        // Linkers fail on some of these: mold 1.10 ends by an assertion if it keeps relocations of exception tables.
        Err(error) => {
            println!("{name}: not built: {}", error.lines().next().unwrap_or_default());
            tally.not_built += 1;
            return Ok(());
        }
    };
    let traced = run::trace(tracer, build.target, &made, limits)?;
    // mold 1.10 makes static programs of rustc that end in a segmentation fault.
    if traced.entries == 0 {
        println!("{name}: does not run: {}", traced.end);
        tally.not_built += 1;
        return Ok(());
    }
    tally.built += 1;
    tally.diverged += usize::from(traced.is_diverged);
    let wrong = tally.wrong.len();
    let before = std::mem::take(&mut tally.folded);
    let judged = judge(foldsym, &name, &made, &traced, tally)?;
    let row = tally.folded;
    tally.folded.add(before);
    let rows = [
        ("program", build.source.to_owned()),
        ("compiler", build.compiler.to_owned()),
        ("linker", build.linker.to_owned()),
        ("form", build.form().to_owned()),
        ("target", build.target.name.to_owned()),
        ("compiler and form", format!("{} {}", build.compiler, build.form())),
    ];
    rows.into_iter().for_each(|key| tally.rows.entry(key).or_default().add(row));
    println!(
        "{name}: {} entries, {} stacks, {} unlike, {judged} frames, {} wrong; first right {} of {} folded, ceiling {}; {}",
        traced.entries,
        traced.stacks.len(),
        traced.unequal,
        tally.wrong.len() - wrong,
        row.first,
        row.frames,
        row.ceiling,
        traced.end
    );
    Ok(())
}

/// Asks for each stack and judges each frame; gives how many.
fn judge(
    foldsym: &Foldsym,
    name: &str,
    made: &Made,
    traced: &Traced,
    tally: &mut Tally,
) -> Result<u64, String> {
    let folded: Vec<&Path> = made.modules.iter().map(|links| links.folded.as_path()).collect();
    let answers = modules::ask(foldsym, &folded, traced)?;
    let others = modules::by_llvm(&folded, traced)?;
    let seen = Seen::new(traced);
    let mut judged = 0;
    for (number, (stack, answers)) in traced.stacks.iter().zip(&answers).enumerate() {
        for (at, ((ours, theirs), answer)) in stack.iter().zip(answers).enumerate() {
            let names = traced.truth.at(theirs.address());
            // Assembly without a size, the linker's own code.
            if names.is_empty() {
                continue;
            }
            judged += 1;
            let ran = Ran { names: &names, is_held: names.iter().any(|name| traced.held.contains(*name)) };
            let other = others.get(&ours.address()).is_some_and(|name| ran.is(name));
            let caller =
                stack.get(at + 1).and_then(|(_, theirs)| traced.truth.at(theirs.address()).first().copied());
            let is_folded = traced.is_folded(ours.address());
            let says = Says { other, alone: seen.is_one(number, at), is_folded, caller };
            count(tally, answer, ran, says, || format!("{name}: {:#x}", ours.address()));
        }
    }
    Ok(judged)
}

/// Which functions each stack of addresses was seen with.
struct Seen<'t> {
    stacks: Vec<Vec<Word>>,
    /// By the addresses of a frame and of the frames outwards of it: the functions of the frame, by their symbols in the link without
    /// folding.
    functions: BTreeMap<Vec<Word>, BTreeSet<Option<&'t str>>>,
}

impl<'t> Seen<'t> {
    fn new(traced: &'t Traced) -> Self {
        let stacks: Vec<Vec<Word>> =
            traced.stacks.iter().map(|stack| stack.iter().map(|(ours, _)| *ours).collect()).collect();
        let mut functions: BTreeMap<Vec<Word>, BTreeSet<_>> = BTreeMap::new();
        for (ours, stack) in stacks.iter().zip(&traced.stacks) {
            for (at, (_, theirs)) in stack.iter().enumerate() {
                let name = traced.truth.at(theirs.address()).first().copied();
                functions.entry(ours[at..].to_vec()).or_default().insert(name);
            }
        }
        Self { stacks, functions }
    }

    fn is_one(&self, stack: usize, at: usize) -> bool {
        self.functions.get(&self.stacks[stack][at..]).is_some_and(|functions| functions.len() == 1)
    }
}

/// What is known of a frame, in addition to foldsym's answer.
struct Says<'t> {
    /// llvm-symbolizer names the function.
    other: bool,
    /// Its stack occurred with only one function.
    alone: bool,
    /// Several functions have its code.
    is_folded: bool,
    caller: Option<&'t str>,
}

/// The function that ran.
#[derive(Clone, Copy)]
struct Ran<'t> {
    /// Its symbols in the link without folding.
    names: &'t [&'t str],
    /// The program still has one of them.
    is_held: bool,
}

impl Ran<'_> {
    /// True for its linkage name. Where the program has lost that, its plain name counts too: gcc writes only that for a function that is
    /// local to a file, and so does `-g1`, and gold and mold drop symbols.
    fn is(self, name: &str) -> bool {
        self.names.iter().any(|truth| same_function(name, truth))
            || (!self.is_held && self.has_plain_name(name))
    }

    /// True for its plain name.
    fn has_plain_name(self, name: &str) -> bool {
        // gcc spells template arguments in it.
        let source = name.split('<').next().unwrap_or(name);
        let part = format!("{}{source}", source.len());
        // The operator of a lambda.
        let part = if name == "operator()" { "cl" } else { &*part };
        !name.is_empty() && !name.starts_with("_Z") && self.names.iter().any(|truth| truth.contains(part))
    }
}

fn count(tally: &mut Tally, answer: &Answer, ran: Ran<'_>, says: Says<'_>, place: impl Fn() -> String) {
    let is_right = |at: usize| {
        answer.candidates.get(at).is_some_and(|candidate| candidate.names.iter().any(|name| ran.is(name)))
    };
    let first = is_right(0);
    let (frames, right) = tally.by_certainty.entry(answer.certainty.clone()).or_default();
    *frames += 1;
    *right += u64::from(first);
    if says.is_folded {
        let [first, ceiling, llvm] = [first, says.alone, says.other].map(u64::from);
        if first == 0 {
            let candidate = answer.candidates.first().map_or("", |one| &*one.names[0]);
            let key = [&*answer.certainty, says.caller.unwrap_or_default(), candidate, ran.names[0]];
            *tally.other_first.entry(key.map(str::to_owned)).or_default() += 1;
        }
        tally.folded.add(FoldedFrames { frames: 1, first, ceiling, llvm });
    }
    let has_plain_name = |at: usize| {
        let candidate = answer.candidates.get(at);
        candidate.is_some_and(|candidate| candidate.names.iter().any(|name| ran.has_plain_name(name)))
    };
    let is_plain =
        !(0..answer.candidates.len()).any(is_right) && (0..answer.candidates.len()).any(has_plain_name);
    tally.plain += u64::from(is_plain);
    let wrong = match answer.certainty.as_str() {
        "unique" | "exact" => !first && !has_plain_name(0),
        // It says itself that another function may have left nothing; the table shows how often that is so.
        "likely" | "" => false,
        _ => {
            let is_there = (0..answer.candidates.len()).any(is_right);
            // A candidate whose name is not in the program: it may be the function that ran, but nothing shows it.
            let is_nameless = !is_there && answer.candidates.iter().any(|one| one.names[0].is_empty());
            tally.nameless += u64::from(is_nameless);
            !is_there && !is_nameless && !is_plain
        }
    };
    if wrong {
        let found: Vec<&str> = answer.candidates.iter().take(4).map(|c| c.names[0].as_str()).collect();
        tally.wrong.push(format!("{} {}: {found:?}, and {:?} ran", place(), answer.certainty, ran.names));
    }
}

fn report(tally: &Tally) -> Result<(), String> {
    println!("\ncertainty     frames  first right");
    for (certainty, (frames, right)) in &tally.by_certainty {
        let word = if certainty.is_empty() { "(no answer)" } else { certainty };
        println!("{word:12} {frames:7} {right:12}");
    }
    let FoldedFrames { frames, first, ceiling, llvm } = tally.folded;
    println!("folded: {frames} frames; first right {first}, ceiling {ceiling}, llvm-symbolizer {llvm}");
    if tally.not_built > 0 {
        println!("{} builds could not be made, or do not run", tally.not_built);
    }
    println!(
        "without the name of the function that ran, beside a candidate without a name: {}",
        tally.nameless
    );
    println!(
        "with the plain name of the function that ran alone, while the program has its linkage name: {}",
        tally.plain
    );
    for wrong in tally.wrong.iter().take(20) {
        println!("wrong: {wrong}");
    }
    match tally.wrong.len() {
        0 => Ok(()),
        count => Err(format!("{count} answers without the function that ran")),
    }
}
