//! Converts hostile programs of every shape at growing sizes, and fails if the cost grows faster than the size.
//!
//! `blowup --foldsym PATH [--only SHAPE] [--tenth | --pairs | --all] [--list]`. Each shape ([`foldsym_benches::shapes`]) is converted at
//! two sizes, the second four times the first. Without more, the growth of plain programs is measured, and the bar for each shape
//! alone, plain and compressed. `--pairs` measures both for all of these, and for a fixed tenth of the pairs of shapes, each pair
//! in one program; `--all` does so for every pair, plain and compressed. `--tenth` measures a fixed tenth of what is measured without
//! more.
//!
//! Two things must hold. *Growth*: four times the size costs at most [`MOST_GROWTH`] times four times as much, in instructions and in peak
//! memory, beyond the cost of an empty program. *The bar*: a program [`LARGE`] times as large takes at most [`MOST_CPU`] seconds and 40
//! times its bytes plus 200 MB, decompressed bytes counted up to 64 times the compressed ones. Instructions are counted by `perf` if the
//! machine has counters, else by cachegrind. Without either, processor time is used; it varies, so growth is then printed and fails
//! nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldsym_benches::process;
use foldsym_benches::shapes::{ALL, Made, Shape};

/// How much faster than the size the cost may grow, and its allowed variation: instructions, and KiB of memory.
const MOST_GROWTH: f64 = 1.3;
const SLACK_INSTRUCTIONS: f64 = 4e6;
const SLACK_KB: f64 = 4096.0;

/// How many times the smaller size the program for the bar has.
const LARGE: u64 = 32;
const MOST_CPU: f64 = 10.0;

/// `--pairs` tests one in this many pairs.
const PAIRS_TAKEN: usize = 10;

/// `--tenth` takes one in this many cases. It is odd, since plain and compressed programs alternate in the list.
const TENTH: usize = 11;

/// Seconds after which a conversion is ended.
const TIMEOUT: &str = "120";

type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<String>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("blowup: {message}");
            ExitCode::from(2)
        }
    }
}

/// True where everything holds.
fn run(args: &[String]) -> Result<bool> {
    if let [first, rest @ ..] = args
        && first == "--make"
    {
        return make(rest).map(|()| true);
    }
    let (mut foldsym, mut only, mut tenth, mut pairs, mut all) = (None, None, false, false, false);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--foldsym" => foldsym = rest.next().map(PathBuf::from),
            "--only" => only = rest.next().cloned(),
            "--tenth" => tenth = true,
            "--pairs" => pairs = true,
            "--all" => all = true,
            "--list" => {
                ALL.iter().for_each(|shape| println!("{:26} {}: {}", shape.name, shape.repeats, shape.bound));
                return Ok(true);
            }
            _ => return Err(format!("unknown argument {arg}")),
        }
    }
    let foldsym = foldsym.filter(|path| path.is_file()).ok_or("--foldsym PATH: no such file")?;
    let folder = std::env::temp_dir().join(format!("foldsym-blowup-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let bench = Bench { foldsym, counter: Counter::find(), folder };
    println!("instructions by {}", bench.counter.text());
    let mut cases = cases(only.as_deref(), pairs, all);
    if tenth {
        cases = cases.into_iter().step_by(TENTH).collect();
    }
    let held = bench.all(&cases);
    let _ = std::fs::remove_dir_all(&bench.folder);
    held
}

/// Shapes in one program, and their measurements.
struct Case {
    shapes: Vec<&'static Shape>,
    /// Its sections are compressed.
    compressed: bool,
    growth: bool,
    bar: bool,
}

fn cases(only: Option<&str>, pairs: bool, all: bool) -> Vec<Case> {
    let whole = pairs || all;
    let alone = |shape: &'static Shape| {
        [false, true].map(|compressed| Case {
            shapes: vec![shape],
            compressed,
            growth: whole || !compressed,
            bar: true,
        })
    };
    let mut cases: Vec<Case> = ALL.iter().flat_map(alone).collect();
    let both =
        ALL.iter().enumerate().flat_map(|(at, one)| ALL[at + 1..].iter().map(move |other| [one, other]));
    let of_two = |pair: [&'static Shape; 2], compressed| Case {
        shapes: pair.to_vec(),
        compressed,
        growth: true,
        bar: whole,
    };
    for (_, both) in both.enumerate().filter(|(at, _)| all || (pairs && at % PAIRS_TAKEN == 0)) {
        cases.push(of_two(both, false));
        if all {
            cases.push(of_two(both, true));
        }
    }
    cases.retain(|case| only.is_none_or(|only| case.shapes.iter().any(|shape| shape.name == only)));
    cases
}

/// Writes a program: its path, whether it is compressed, the factor on the smaller size, and its shapes. It runs in a process of its own,
/// since Linux would count its memory as its child's.
fn make(args: &[String]) -> Result<()> {
    let [path, compressed, times, names @ ..] = args else {
        return Err("--make: too few arguments".to_owned());
    };
    let times: u64 = times.parse().map_err(|_| "--make: no number".to_owned())?;
    let mut made = Made::default();
    for name in names {
        let shape = ALL.iter().find(|shape| shape.name == name).ok_or_else(|| format!("no shape {name}"))?;
        (shape.add)(&mut made, shape.count * times);
    }
    let failed = |error: std::io::Error| format!("{path}: {error}");
    let path = Path::new(path);
    std::fs::write(path, made.program(compressed == "yes").map_err(failed)?).map_err(failed)?;
    for (name, bytes) in &made.beside {
        std::fs::write(path.with_file_name(name), bytes).map_err(failed)?;
    }
    // The bytes that the bar counts: for compressed sections, those after decompression.
    let plain = made.program(false).map_err(failed)?.len();
    let beside: usize = made.beside.iter().map(|(_, bytes)| bytes.len()).sum();
    println!("{}", plain + beside);
    Ok(())
}

/// The cost of a conversion.
#[derive(Clone, Copy)]
struct Taken {
    instructions: f64,
    peak_kb: f64,
}

enum Counter {
    Perf,
    Cachegrind,
    Time,
}

impl Counter {
    fn find() -> Counter {
        let perf = Command::new("perf").args(["stat", "-x,", "-e", "instructions:u", "true"]).output();
        if perf.is_ok_and(|done| count_of_perf(&String::from_utf8_lossy(&done.stderr)).is_some()) {
            return Counter::Perf;
        }
        match Command::new("valgrind").arg("--version").output() {
            Ok(_) => Counter::Cachegrind,
            Err(_) => Counter::Time,
        }
    }

    fn text(&self) -> &'static str {
        match self {
            Counter::Perf => "perf",
            Counter::Cachegrind => "cachegrind",
            Counter::Time => "nothing: processor time stands in, and growth fails nothing",
        }
    }
}

fn count_of_perf(text: &str) -> Option<f64> {
    text.lines().find(|line| line.contains("instructions"))?.split(',').next()?.parse().ok()
}

struct Bench {
    foldsym: PathBuf,
    counter: Counter,
    folder: PathBuf,
}

impl Bench {
    fn all(&self, cases: &[Case]) -> Result<bool> {
        let nothing = Case { shapes: Vec::new(), compressed: false, growth: false, bar: false };
        let empty = self.taken("empty", &nothing, 1)?;
        let (next, held) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (next, held) = (&next, &held);
                scope.spawn(move || {
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let told = self.case(&thread.to_string(), case, empty);
                        let (line, holds) = told.unwrap_or_else(|problem| (problem, false));
                        let shapes: Vec<&str> = case.shapes.iter().map(|shape| shape.name).collect();
                        let compressed = if case.compressed { ", compressed" } else { "" };
                        let word = if holds { "ok  " } else { "FAIL" };
                        println!("{word} {}{compressed}: {line}", shapes.join(" + "));
                        held.lock().unwrap_or_else(|held| held.into_inner()).push(holds);
                    }
                });
            }
        });
        Ok(held.into_inner().unwrap_or_else(|held| held.into_inner()).into_iter().all(|holds| holds))
    }

    /// The text that is printed for a case, and whether everything holds.
    fn case(&self, thread: &str, case: &Case, empty: Taken) -> Result<(String, bool)> {
        let (mut line, mut problems) = (Vec::new(), Vec::new());
        if case.growth {
            let [one, four] = [1, 4].map(|times| self.taken(thread, case, times));
            let (one, four) = (one?, four?);
            let growth = |of: fn(Taken) -> f64, slack: f64| {
                let [one, four] = [one, four].map(|taken| (of(taken) - of(empty)).max(0.0));
                (four / (4.0 * one).max(1.0), four <= MOST_GROWTH * 4.0 * one + slack)
            };
            let (instructions, fine) = growth(|taken| taken.instructions, SLACK_INSTRUCTIONS);
            let (memory, small) = growth(|taken| taken.peak_kb, SLACK_KB);
            line.push(format!("grows {instructions:.2} in instructions, {memory:.2} in memory"));
            let counted = !matches!(self.counter, Counter::Time);
            problems.extend((counted && !fine).then_some("instructions grow faster than the size"));
            problems.extend((!small).then_some("memory grows faster than the size"));
        }
        if case.bar {
            let (bytes, cost) = self.convert(thread, case, LARGE)?;
            let allowed_kb = (40 * bytes + (200 << 20)) >> 10;
            let megabytes = bytes as f64 / 1e6;
            line.push(format!("{:.2} s and {} MB for {megabytes:.1} MB", cost.cpu_s, cost.peak_kb >> 10));
            problems.extend((cost.cpu_s > MOST_CPU).then_some("it takes too long"));
            problems.extend((cost.peak_kb > allowed_kb).then_some("it takes too much memory"));
        }
        let holds = problems.is_empty();
        line.extend(problems.into_iter().map(str::to_owned));
        Ok((line.join("; "), holds))
    }

    /// Makes the program of a case; returns its path, the path of its output, and the bytes that count.
    fn make(&self, thread: &str, case: &Case, times: u64) -> Result<(PathBuf, PathBuf, u64)> {
        let folder = self.folder.join(thread);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let path = folder.join("program");
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(own);
        command
            .arg("--make")
            .arg(&path)
            .arg(if case.compressed { "yes" } else { "no" })
            .arg(times.to_string());
        command.args(case.shapes.iter().map(|shape| shape.name));
        let done = command.output().map_err(|error| error.to_string())?;
        let plain: u64 = String::from_utf8_lossy(&done.stdout).trim().parse().map_err(|_| {
            format!("the program is not made: {}", String::from_utf8_lossy(&done.stderr).trim())
        })?;
        let len = std::fs::metadata(&path).map_err(|error| error.to_string())?.len();
        Ok((path, folder.join("out.fsym"), plain.min(64 * len)))
    }

    fn command(&self, around: &[&str], path: &Path, out: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.arg(TIMEOUT).args(around).arg(&self.foldsym).arg("convert").arg(path).arg("-o").arg(out);
        command.args(["--threads", "1"]);
        command
    }

    fn convert(&self, thread: &str, case: &Case, times: u64) -> Result<(u64, process::Cost)> {
        let (path, out, bytes) = self.make(thread, case, times)?;
        let done = process::run(&mut self.command(&[], &path, &out)).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        // Refused for its cost: that is a bound too.
        if done.success || text.contains("bytes of memory, and") {
            Ok((bytes, done.cost))
        } else {
            Err(format!("not converted at {times} times the size: {}", text.trim()))
        }
    }

    fn taken(&self, thread: &str, case: &Case, times: u64) -> Result<Taken> {
        let (_, cost) = self.convert(thread, case, times)?;
        let (path, out) =
            (self.folder.join(thread).join("program"), self.folder.join(thread).join("out.fsym"));
        let around: &[&str] = match self.counter {
            Counter::Perf => &["perf", "stat", "-x,", "-e", "instructions:u"],
            Counter::Cachegrind => {
                &["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
            }
            Counter::Time => {
                return Ok(Taken { instructions: cost.cpu_s * 1e9, peak_kb: cost.peak_kb as f64 });
            }
        };
        let done = self.command(around, &path, &out).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&done.stderr);
        let counted = match self.counter {
            Counter::Perf => count_of_perf(&text),
            _ => {
                text.lines().find_map(|line| line.split_once("refs:")?.1.trim().replace(',', "").parse().ok())
            }
        };
        let instructions =
            counted.ok_or_else(|| format!("no count at {times} times the size: {}", text.trim()))?;
        Ok(Taken { instructions, peak_kb: cost.peak_kb as f64 })
    }
}
