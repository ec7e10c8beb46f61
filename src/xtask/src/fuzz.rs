//! `cargo xtask fuzz`: builds the targets of `testbins/fuzz` with the compiler's coverage, seeds them, and runs them.
//!
//! The flags are those of `cargo fuzz`, which is not needed: all of them are stable, so the toolchain that builds
//! everything else will do. Without a sanitizer of addresses: our crates have no unsafe code outside of a few lines.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use xtask::sh;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
struct FuzzTarget {
    name: &'static str,
    /// Bytes of the longest input that libFuzzer makes.
    longest: u32,
    /// Inputs of a run with `--same`: about ten seconds.
    same: u32,
}

const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "fsym_bytes", longest: 32_768, same: 5_000 },
    FuzzTarget { name: "fsym_fields", longest: 256, same: 1_000 },
    FuzzTarget { name: "convert_program", longest: 40_000, same: 700 },
    FuzzTarget { name: "convert_split", longest: 20_000, same: 600 },
    FuzzTarget { name: "round_trip", longest: 6_000, same: 250 },
    FuzzTarget { name: "report_core", longest: 16_000, same: 35_000 },
    FuzzTarget { name: "report_minidump", longest: 64_000, same: 10_000 },
    FuzzTarget { name: "report_profile", longest: 16_000, same: 40_000 },
];

/// Where libFuzzer's random numbers begin with `--same`.
const SEED: u32 = 1;

/// Targets that `--seconds` was meant for: it bounds the whole run, so more targets have less time each.
const FULL_TARGETS: u32 = 5;

/// Seconds that one input may take: a hundred times what the slowest takes, on a busy machine.
const TIMEOUT: u32 = 60;
/// Memory that one input may take, in MB.
const MEMORY: u32 = 2048;

/// The part of a log that is shown where a target fails, and the bytes of each of its lines.
const STORY_LINES: usize = 30;
const STORY_LINE: usize = 900;

/// What makes rustc's LLVM count the edges that are taken, as libFuzzer wants them.
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

const HELP: &str = "cargo xtask fuzz [TARGET]... [--seconds N | --same] [--report]

  TARGET       of testbins/fuzz/fuzz_targets; all without one
  --seconds N  for each target, 120 without it; where all are run, the more there are the less each has: 5 times N together
  --same       a fixed number of inputs, which are the same in each run of the same sources: as CI does
  --report     run no input; say which lines of format, lookup, open and read the corpora reach

Targets run side by side, one a core. Corpora are kept in testbins/fuzz/corpus; what each run printed, and inputs that
break an invariant, in testbins/fuzz/artifacts.";

struct FuzzOptions {
    targets: Vec<FuzzTarget>,
    seconds: u32,
    same: bool,
    report: bool,
}

impl FuzzOptions {
    /// Seconds of each target.
    fn share(&self) -> u32 {
        let count = self.targets.len() as u32;
        (self.seconds * FULL_TARGETS.min(count)).div_ceil(count.max(1))
    }
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let Some(options) = parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    // libFuzzer is C++.
    sh::tool("c++", "g++")?;
    let fuzz = sh::root().join("testbins/fuzz");
    if options.report {
        return report(&options, &fuzz);
    }
    let programs = build("fuzz", COVERAGE)?;
    let seeds = sh::scratch("fuzz-seeds")?;
    sh::run(Command::new(programs.join("fsym_fields")).env("FOLDSYM_SEEDS", &seeds))?;
    let count = options.targets.len();
    if options.same {
        println!("fuzz: {count} targets, as many at a time as there are cores");
    } else {
        let seconds = options.share();
        println!("fuzz: {count} targets, each for {seconds} seconds, as many at a time as there are cores");
    }
    let broken = Mutex::new(Vec::new());
    sh::parallel("fuzz", &options.targets, |&FuzzTarget { name: target, longest, same }| {
        let artifacts = fuzz.join("artifacts").join(target);
        // With `--same` the corpus begins empty: libFuzzer makes its inputs from those in the corpus.
        let corpus = if options.same {
            let corpus = sh::scratch("fuzz-same")?.join(target);
            if corpus.exists() {
                std::fs::remove_dir_all(&corpus).map_err(|e| format!("{}: {e}", corpus.display()))?;
            }
            corpus
        } else {
            fuzz.join("corpus").join(target)
        };
        sh::create_dir(&corpus)?;
        sh::create_dir(&artifacts)?;
        let log = artifacts.join("log");
        let file = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let result = sh::run(
            Command::new(programs.join(target))
                .arg(&corpus)
                .arg(seeds.join(target))
                .arg(format!("-artifact_prefix={}/", artifacts.display()))
                .args(if options.same {
                    [format!("-runs={same}"), format!("-seed={SEED}")]
                } else {
                    [format!("-max_total_time={}", options.share()), "-seed=0".into()]
                })
                .arg(format!("-max_len={longest}"))
                .arg(format!("-timeout={TIMEOUT}"))
                .arg(format!("-rss_limit_mb={MEMORY}"))
                .args(["-print_final_stats=1", "-verbosity=1"])
                .stderr(file),
        );
        let text = sh::read(&log)?;
        println!("fuzz: {target}: {}", summary(&text));
        if let (Err(error), Ok(mut broken)) = (result, broken.lock()) {
            let story = story(&text);
            broken.push(format!(
                "{target}: {error}; the input and the log are in {}\n{story}",
                artifacts.display()
            ));
        }
        Ok(())
    })?;
    let broken = broken.into_inner().unwrap_or_default();
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

/// What libFuzzer says at the end of a run: inputs executed, and the edges that the corpus takes.
fn summary(log: &str) -> String {
    let stat = |name: &str| {
        let line = log.lines().rev().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
        line.and_then(|rest| rest.strip_prefix(':')).map_or("?", str::trim)
    };
    // `#123 DONE cov: 45 ft: 67 corp: 8/9Kb ...`
    let word = |name: &str| {
        let done = log.lines().rev().find(|line| line.starts_with('#') && line.contains(" cov: "));
        let mut words = done.unwrap_or_default().split_whitespace();
        words.find(|word| *word == name).and_then(|_| words.next()).unwrap_or("?")
    };
    format!(
        "{} executions, {} a second; {} edges, corpus {}, {} MB",
        stat("number_of_executed_units"),
        stat("average_exec_per_sec"),
        word("cov:"),
        word("corp:"),
        stat("peak_rss_mb")
    )
}

/// What a run says of the input that broke an invariant: its panic, or the end of its log without the lines of
/// progress. Where only the output is left, as of CI, it must be enough to know the promise that was broken.
fn story(log: &str) -> String {
    let said: Vec<&str> =
        log.lines().filter(|line| !line.starts_with(['#', '\t']) && !line.starts_with("stat::")).collect();
    let panic = said.iter().rposition(|line| line.contains(" panicked at "));
    let from = panic.unwrap_or(said.len().saturating_sub(STORY_LINES));
    // A line may hold the input itself.
    let lines = said[from..].iter().take(STORY_LINES);
    lines.flat_map(|line| [line.get(..STORY_LINE).unwrap_or(line), "\n"]).collect()
}

fn parse(args: &[String]) -> Result<Option<FuzzOptions>, String> {
    let mut options = FuzzOptions { targets: Vec::new(), seconds: 120, same: false, report: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" => return Ok(None),
            "--report" => options.report = true,
            "--same" => options.same = true,
            "--seconds" => {
                let value = args.next().and_then(|value| value.parse().ok());
                options.seconds = value.ok_or("--seconds needs a number")?;
            }
            name => {
                let found = TARGETS.iter().find(|target| target.name == name);
                options.targets.push(*found.ok_or_else(|| format!("no target `{name}`"))?);
            }
        }
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.to_vec();
    }
    Ok(Some(options))
}

/// Builds all targets with these flags, in a target folder of their own; the folder of the programs.
fn build(name: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let host = host()?;
    let dir = sh::target_dir().join(name);
    sh::run(
        sh::cargo()
            // With a target named, build scripts and macros are built without the flags.
            .args(["build", "--quiet", "--release", "--target", &host, "--manifest-path"])
            .arg(sh::root().join("testbins/fuzz/Cargo.toml"))
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .env("CARGO_TARGET_DIR", &dir),
    )?;
    Ok(dir.join(host).join("release"))
}

fn host() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = sh::output(Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}

/// Runs every input of the corpora once, built with the compiler's line coverage, and prints what they reach.
fn report(options: &FuzzOptions, fuzz: &Path) -> Result<(), String> {
    let (profdata, cov) = (sh::llvm("llvm-profdata")?, sh::llvm("llvm-cov")?);
    let programs =
        build("fuzz-report", &["-Cinstrument-coverage", "--cfg=fuzzing", "-Cpasses=sancov-module"])?;
    let scratch = sh::scratch("fuzz-report")?;
    let seeds = sh::scratch("fuzz-seeds")?;
    let mut raw = Vec::new();
    let mut objects = Vec::new();
    for FuzzTarget { name: target, .. } in &options.targets {
        let profile = scratch.join(format!("{target}.profraw"));
        let program = programs.join(target);
        let mut command = Command::new(&program);
        command.env("LLVM_PROFILE_FILE", &profile).args(["-runs=0", "-verbosity=0"]);
        command.args([fuzz.join("corpus").join(target), seeds.join(target)]);
        sh::run(&mut command)?;
        raw.push(profile);
        objects.extend(["-object".into(), program.into_os_string()]);
    }
    let merged = scratch.join("all.profdata");
    sh::run(Command::new(profdata).args(["merge", "-sparse", "-o"]).arg(&merged).args(raw))?;
    for part in ["format", "lookup", "convert/src/open", "convert/src/read"] {
        let mut command = Command::new(&cov);
        command.args(["report", "-instr-profile"]).arg(&merged).args(&objects[1..]);
        let text = sh::output(command.arg(sh::root().join("src").join(part)))?;
        let total = text.lines().find(|line| line.starts_with("TOTAL")).unwrap_or("nothing");
        println!("{part}\n{}\n{total}", text.lines().next().unwrap_or_default());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let of = |args: &[&str]| parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        let options = of(&["fsym_bytes", "--seconds", "5"]).unwrap().unwrap();
        assert_eq!((options.targets.len(), options.seconds, options.report), (1, 5, false));
        assert!(of(&["--same"]).unwrap().unwrap().same);
        assert_eq!(options.share(), 5);
        let all = of(&["--seconds", "120"]).unwrap().unwrap();
        assert_eq!((all.targets.len(), all.share()), (TARGETS.len(), 75));
        assert!(of(&["--help"]).unwrap().is_none());
        assert!(of(&["nothing"]).is_err() && of(&["--seconds", "x"]).is_err());
    }

    #[test]
    fn the_end_of_a_run_in_one_line() {
        let log = "#2 INITED cov: 3 ft: 4 corp: 1/1b exec/s: 0 rss: 40Mb\n\
                   #64\tDONE   cov: 5 ft: 6 corp: 7/80Kb lim: 9 exec/s: 10 rss: 41Mb\n\
                   stat::number_of_executed_units: 64\nstat::average_exec_per_sec:     10\nstat::peak_rss_mb:   42\n";
        assert_eq!(summary(log), "64 executions, 10 a second; 5 edges, corpus 7/80Kb, 42 MB");
        assert_eq!(summary(""), "? executions, ? a second; ? edges, corpus ?, ? MB");
    }

    #[test]
    fn a_failure_tells_the_broken_promise() {
        let log = "INFO: Seed: 1\n#2 INITED cov: 3\nthread 'main' panicked at convert.rs:62:17:\nleft: 1\n\
                   stat::peak_rss_mb:   42\n";
        assert_eq!(story(log), "thread 'main' panicked at convert.rs:62:17:\nleft: 1\n");
        assert_eq!(story("#1\nERROR: out-of-memory\n"), "ERROR: out-of-memory\n");
        assert_eq!(story(&"x\n".repeat(100)).lines().count(), STORY_LINES);
    }

    #[test]
    fn every_target_is_listed() {
        let folder = sh::root().join("testbins/fuzz/fuzz_targets");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort();
        let mut listed: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        listed.sort_unstable();
        assert_eq!(found, listed);
    }
}
