//! `cargo xtask crashes`: minidumps of a program that crashes in folded functions which RocksDB calls, answered by `foldsym symbolize` and by
//! `minidump-stackwalk` with Breakpad files of dump_syms: CPU time, memory, and how often the function that ran is named first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::json::{self, Answered};
use crate::results;
use xtask::sh;

const HELP: &str = "cargo xtask crashes [--count N] [--reuse] [--foldsym PATH] [--publish]

  --count N   minidumps, 1000 without it
  --reuse     those of the last run, with its symbols
  --foldsym PATH  the command (default: the workspace's release build, which is made)
  --publish   writes the result to benches/results/DATE-crashes.md

Needs corpus/rocksdb (cargo xtask corpus rocksdb), clang and lld 22, GNU time, and minidump-stackwalk 0.27 in PATH
(cargo install minidump-stackwalk --version 0.27.0). The writer of minidumps and dump_syms are built from benches/compare/crashes.
Everything is in target/crashes.";

const STACKWALK: &str = "minidump-stackwalk";
/// Its row in the table.
const PEER: &str = "minidump-stackwalk, a process a dump";

struct CrashOptions {
    count: u32,
    reuse: bool,
    foldsym: Option<PathBuf>,
    publish: bool,
}

fn parse(args: &[String]) -> Result<Option<CrashOptions>, String> {
    let mut options = CrashOptions { count: 1000, reuse: false, foldsym: None, publish: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" => return Ok(None),
            "--reuse" => options.reuse = true,
            "--publish" => options.publish = true,
            "--foldsym" => options.foldsym = Some(args.next().ok_or("--foldsym needs a path")?.into()),
            "--count" => {
                let count = args.next().and_then(|count| count.parse().ok()).filter(|count| *count > 0);
                options.count = count.ok_or("--count needs a number")?;
            }
            other => return Err(format!("unknown argument {other}\n{HELP}")),
        }
    }
    Ok(Some(options))
}

/// Where everything is.
struct Places {
    dumps: PathBuf,
    programs: PathBuf,
    store: PathBuf,
    breakpad: PathBuf,
    foldsym: PathBuf,
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let Some(options) = parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    sh::tool("time", "time")?;
    sh::output(Command::new(STACKWALK).arg("--version")).map_err(|error| format!("{error}\n{HELP}"))?;
    let base = sh::target_dir().join("crashes");
    let places = Places {
        dumps: base.join("dumps"),
        programs: base.join("programs"),
        store: base.join("store"),
        breakpad: base.join("breakpad"),
        foldsym: results::command_with_server(options.foldsym.as_deref())?,
    };
    if !options.reuse {
        prepare(&places, options.count)?;
    }
    measure(&places, &options)
}

/// Builds the program into a folder, beside a copy of RocksDB. Where both are.
pub(crate) fn build_program(folder: &Path) -> Result<(PathBuf, PathBuf), String> {
    let corpus = sh::root().join("corpus/rocksdb");
    let library = folder.join("librocksdb.so");
    std::fs::copy(corpus.join("librocksdb.so"), &library)
        .map_err(|error| format!("{}: {error}; run cargo xtask corpus rocksdb", corpus.display()))?;
    let program = folder.join("mail");
    let flags = [
        "-std=c++20",
        "-g",
        "-gdwarf-5",
        "-O2",
        "-ffunction-sections",
        "-mllvm",
        "-emit-func-debug-line-table-offsets",
        "-fuse-ld=lld",
        "-Wl,--icf=all",
        "-Wl,--build-id=sha1",
        "-Wl,-rpath,$ORIGIN",
    ];
    let mut clang = Command::new(sh::llvm("clang++")?);
    clang.args(flags).arg("-I").arg(corpus.join("src/rocksdb/include"));
    // The library has no name of its own: by a path it would be loaded by that path.
    clang.arg(sh::root().join("src/oracles/src/crashes/program.cpp")).arg("-L").arg(folder);
    clang.args(["-l:librocksdb.so", "-o"]).arg(&program);
    sh::run(&mut clang)?;
    Ok((program, library))
}

/// Builds the program, its symbols in both forms, and the minidumps.
fn prepare(places: &Places, count: u32) -> Result<(), String> {
    for folder in [&places.dumps, &places.programs, &places.store, &places.breakpad] {
        let _ = std::fs::remove_dir_all(folder);
        sh::create_dir(folder)?;
    }
    let (program, library) = build_program(&places.programs)?;
    let compare = sh::root().join("benches/compare");
    let others = sh::target_dir().join("compare");
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--release", "-p", "foldsym-crashes", "--manifest-path"]);
    sh::run(build.arg(compare.join("Cargo.toml")).env("CARGO_TARGET_DIR", &others))?;
    let mut convert = Command::new(&places.foldsym);
    sh::run(
        convert
            .args(["convert", "--quiet", "--unwind", "--store"])
            .arg(&places.store)
            .args([&program, &library]),
    )?;
    let release = others.join("release");
    sh::run(Command::new(release.join("dump-syms")).arg(&places.breakpad).args([&program, &library]))?;
    sh::run(Command::new(release.join("write-dumps")).arg(&program).arg(&places.dumps).arg(count.to_string()))
}

/// The total time of some processes, and the most memory that one had.
#[derive(Clone, Copy, Default)]
struct Cost {
    seconds: f64,
    kilobytes: u64,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.kilobytes = self.kilobytes.max(other.kilobytes);
    }
}

/// Seconds of processor time that ended children of this process had.
fn seconds_of_children() -> Result<f64, String> {
    let text = sh::read(Path::new("/proc/self/stat"))?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    // cutime and cstime (proc_pid_stat(5)), in ticks of a hundredth of a second.
    match (ticks(13), ticks(14)) {
        (Some(user), Some(system)) => Ok((user + system) / 100.0),
        _ => Err("/proc/self/stat has no times".to_owned()),
    }
}

/// Runs a command under GNU time; returns its output and its cost.
fn timed(command: &mut Command, scratch: &Path) -> Result<(String, Cost), String> {
    let memory = scratch.join("memory");
    let mut time = Command::new("time");
    time.args(["-q", "-f", "%M", "-o"]).arg(&memory).arg(command.get_program()).args(command.get_args());
    let before = seconds_of_children()?;
    let printed = sh::output(&mut time)?;
    let seconds = seconds_of_children()? - before;
    let kilobytes = sh::read(&memory)?.trim().parse().map_err(|_| "time printed no number".to_owned())?;
    Ok((printed, Cost { seconds, kilobytes }))
}

/// How the functions that ran were named.
#[derive(Clone, Copy, Default)]
struct CrashTally {
    frames: u32,
    right: u32,
    /// Frames of folded functions, and of these the ones that are right.
    folded: u32,
    folded_right: u32,
    /// Frames that were said to be certain, and were not right.
    wrong_exact: u32,
}

impl CrashTally {
    /// Compares the functions of a thread, innermost first, with the functions that ran.
    fn note(&mut self, truth: &[&str], answered: &[(String, bool)]) {
        for (at, ran) in truth.iter().enumerate() {
            let is_folded = ran.contains('_') && *ran != "compare_keys";
            let named = answered.get(at);
            let is_right = named.is_some_and(|(name, _)| name.split('(').next() == Some(ran));
            self.frames += 1;
            self.right += u32::from(is_right);
            self.folded += u32::from(is_folded);
            self.folded_right += u32::from(is_folded && is_right);
            self.wrong_exact += u32::from(!is_right && named.is_some_and(|(_, is_exact)| *is_exact));
        }
    }
}

/// The functions of our answer's crashed thread, and whether each is said to be certain.
fn ours(answer: &Value) -> Vec<(String, bool)> {
    let threads = answer["Threads"].items();
    let crashed = threads.iter().find(|thread| matches!(thread["Crashed"], Value::Bool(true)));
    let mut names = Vec::new();
    for frame in crashed.map_or(&[][..], |thread| thread["Frames"].items()) {
        let is_exact = matches!(frame["Certainty"].text(), "exact" | "unique");
        names.extend(
            frame["Symbol"].items().iter().map(|one| (one["FunctionName"].text().to_owned(), is_exact)),
        );
    }
    names
}

/// The functions of minidump-stackwalk's crashing thread.
fn theirs(answer: &Value) -> Vec<(String, bool)> {
    let mut names = Vec::new();
    for frame in answer["crashing_thread"]["frames"].items() {
        let inlines = frame["inlines"].items().iter();
        names.extend(inlines.map(|one| (one["function"].text().to_owned(), false)));
        names.push((frame["function"].text().to_owned(), false));
    }
    names
}

/// The figures, and their ratio to the peer's.
fn tables(costs: &BTreeMap<&str, Cost>, tallies: &[(&str, CrashTally)], count: u32) -> String {
    let mut text = format!(
        "{count} minidumps, with RocksDB in the process and on the stacks: CPU time and memory of both readers, and whether the functions that the \
         program says were innermost are named.\n\n| | CPU, ms a dump | of the peer's | peak memory, MB | of the peer's |\n|---|---|---|---|---|\n"
    );
    let peer = costs.get(PEER).copied().unwrap_or_default();
    for (name, cost) in costs {
        let milliseconds = cost.seconds * 1000.0 / f64::from(count);
        let (time, memory) = (cost.seconds / peer.seconds, cost.kilobytes as f64 / peer.kilobytes as f64);
        let megabytes = cost.kilobytes as f64 / 1024.0;
        text += &format!("| {name} | {milliseconds:.1} | {time:.2} | {megabytes:.1} | {memory:.2} |\n");
    }
    text += "\nBars: half of the peer's CPU time, a third of its memory.\n\n\
             | | frames | right at first | folded | right at first | certain and wrong |\n|---|---|---|---|---|---|\n";
    for (name, tally) in tallies {
        let CrashTally { frames, right, folded, folded_right, wrong_exact } = tally;
        text += &format!("| {name} | {frames} | {right} | {folded} | {folded_right} | {wrong_exact} |\n");
    }
    text
}

fn measure(places: &Places, options: &CrashOptions) -> Result<(), String> {
    let count = options.count;
    let scratch = sh::scratch("crashes")?;
    let mut costs: BTreeMap<&str, Cost> = BTreeMap::new();
    let (mut mine, mut peer) = (CrashTally::default(), CrashTally::default());
    let foldsym = |dumps: &[PathBuf]| {
        let mut command = Command::new(&places.foldsym);
        command
            .args(["symbolize", "--json", "--store"])
            .arg(&places.store)
            .arg("--search")
            .arg(&places.programs);
        command.args(dumps);
        command
    };
    let dumps: Vec<PathBuf> = (0..count).map(|number| places.dumps.join(format!("{number}.dmp"))).collect();
    for (number, dump) in dumps.iter().enumerate() {
        let truth = sh::read(&dump.with_extension("truth"))?;
        let truth: Vec<&str> = truth.lines().collect();
        let (printed, cost) = timed(&mut foldsym(std::slice::from_ref(dump)), &scratch)?;
        costs.entry("foldsym, a process a dump").or_default().add(cost);
        mine.note(&truth, &ours(&json::parse(printed.trim_end())?));
        let mut stackwalk = Command::new(STACKWALK);
        stackwalk.args(["--json", "--symbols-path"]).arg(&places.breakpad).arg(dump);
        let (printed, cost) = timed(&mut stackwalk, &scratch)?;
        costs.entry(PEER).or_default().add(cost);
        peer.note(&truth, &theirs(&json::parse(&printed)?));
        if (number + 1) % 100 == 0 {
            println!("crashes: {} of {count}", number + 1);
        }
    }
    let (_, cost) = timed(&mut foldsym(&dumps), &scratch)?;
    costs.insert("foldsym, one process for all", cost);
    let text = tables(&costs, &[("foldsym", mine), ("minidump-stackwalk", peer)], count);
    print!("{text}");
    if options.publish {
        let version = sh::output(Command::new(STACKWALK).arg("--version"))?.trim().to_owned();
        let tools = [version, "dump_syms 2.3.9".to_owned(), "minidump-writer 0.13".to_owned()];
        let title = "Minidumps of a program that crashes in folded functions";
        let command = format!("cargo xtask crashes --count {count}");
        let foldsym = options.foldsym.as_deref();
        results::publish(
            &results::Page { name: "crashes", title, command: &command, tools: &tools, foldsym },
            &text,
        )?;
    }
    if mine.wrong_exact > 0 {
        return Err(format!("{} frames were said to be certain and are not right", mine.wrong_exact));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_parameters() {
        let mut tally = CrashTally::default();
        let named = |name: &str, is_exact| (name.to_owned(), is_exact);
        let answered = [
            named("weigh_3(Mail const*)", true),
            named("price_0(Mail const*)", true),
            named("dispatch", false),
        ];
        tally.note(&["weigh_3", "price_3", "dispatch", "compare_keys"], &answered);
        assert_eq!((tally.frames, tally.right, tally.folded, tally.folded_right), (4, 2, 2, 1));
        assert_eq!(tally.wrong_exact, 1);
    }

    #[test]
    fn arguments() {
        let of = |args: &[&str]| parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]).unwrap().unwrap().count, 1000);
        assert!(of(&["--reuse", "--count", "5"]).unwrap().unwrap().reuse);
        assert!(of(&["--count", "0"]).is_err() && of(&["x"]).is_err() && of(&["--help"]).unwrap().is_none());
    }
}
