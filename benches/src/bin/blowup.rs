//! Converts hostile programs of every shape, and symbolizes hostile reports of every format, at growing sizes, and fails if the cost grows
//! faster than the size.
//!
//! `blowup --foldsym PATH [--only NAME | --reports] [--tenth | --pairs | --all] [--list]`. Each shape ([`foldsym_benches::shapes`]) is converted at
//! two sizes, the second four times the first. Without more, the growth of plain programs is measured, and the bar for each shape
//! alone, plain and compressed. `--pairs` measures both for all of these, and for a fixed tenth of the pairs of shapes, each pair
//! in one program; `--all` does so for every pair, plain and compressed. `--tenth` measures a fixed tenth of what is measured without
//! more.
//!
//! Each report ([`foldsym_benches::reports`]) is printed as text and as JSON. Some are also written as a table, and that table is
//! answered, if the command has the feature `parquet`. A report is always measured for both, growth and the bar.
//!
//! Two things must hold. *Growth*: four times the size costs at most [`MOST_GROWTH`] times four times as much, in instructions and in peak
//! memory, beyond the cost of an empty program or report. *The bar*: a program or report [`LARGE`] times as large takes at most
//! [`MOST_CPU`] seconds and 40 times its bytes plus 200 MB, decompressed bytes of programs counted up to 64 times the compressed ones.
//! Instructions are counted by `perf` if the machine has counters, else by cachegrind. Without either, processor time is used; it varies,
//! so growth is then printed and fails nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldsym_benches::process;
use foldsym_benches::reports::{self, HostileReport};
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
    let mut reports_alone = false;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--foldsym" => foldsym = rest.next().map(PathBuf::from),
            "--only" => only = rest.next().cloned(),
            "--reports" => reports_alone = true,
            "--tenth" => tenth = true,
            "--pairs" => pairs = true,
            "--all" => all = true,
            "--list" => {
                ALL.iter().for_each(|shape| println!("{:26} {}: {}", shape.name, shape.repeats, shape.bound));
                reports::ALL.iter().for_each(|report| println!("{:26} {}", report.name, report.repeats));
                return Ok(true);
            }
            _ => return Err(format!("unknown argument {arg}")),
        }
    }
    let foldsym = foldsym.filter(|path| path.is_file()).ok_or("--foldsym PATH: no such file")?;
    let folder = std::env::temp_dir().join(format!("foldsym-blowup-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let bench = Bench { foldsym, counter: Counter::find(), folder, empty: Mutex::default() };
    println!("instructions by {}", bench.counter.text());
    let has_tables = bench.has_tables();
    if !has_tables {
        println!("no tables: this build of the command lacks the feature `parquet`");
    }
    let mut cases = if reports_alone { Vec::new() } else { cases(pairs, all) };
    cases.extend(reports::ALL.iter().flat_map(|report| of_report(report, has_tables)));
    cases.retain(|case| only.as_ref().is_none_or(|only| case.input.names().contains(&only.as_str())));
    if tenth {
        cases = cases.into_iter().step_by(TENTH).collect();
    }
    let held = bench.all(&cases);
    let _ = std::fs::remove_dir_all(&bench.folder);
    held
}

/// What the command reads.
#[derive(Clone)]
enum Input {
    /// Shapes in one program.
    Program {
        shapes: Vec<&'static Shape>,
        /// Its sections are compressed.
        compressed: bool,
    },
    /// Without a report: one of a single frame.
    Report { report: Option<&'static HostileReport>, form: Form },
}

/// What `foldsym symbolize` makes of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    /// The table of a report.
    Written,
    /// The answers of that table.
    Answered,
}

/// A report of one frame, beyond which others cost something.
const SMALL_REPORT: &[u8] = b"{\"modules\":[{\"name\":\"a\",\"base\":\"0x1000\"}],\"frames\":[\"0x1001\"]}\n";

impl Input {
    fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Program { shapes, .. } => shapes.iter().map(|shape| shape.name).collect(),
            Self::Report { report, .. } => report.iter().map(|report| report.name).collect(),
        }
    }

    /// How a line that is printed calls it.
    fn text(&self) -> String {
        let names = self.names().join(" + ");
        match self {
            Self::Program { compressed: false, .. } => names,
            Self::Program { compressed: true, .. } => names + ", compressed",
            Self::Report { form, .. } => format!("{names}, {form:?}").to_lowercase(),
        }
    }

    /// The smallest input that the command treats in the same way.
    fn empty(&self) -> Self {
        match self {
            Self::Program { .. } => Self::Program { shapes: Vec::new(), compressed: false },
            Self::Report { form, .. } => Self::Report { report: None, form: *form },
        }
    }
}

/// An input, and its measurements.
struct Case {
    input: Input,
    growth: bool,
    bar: bool,
}

fn cases(pairs: bool, all: bool) -> Vec<Case> {
    let whole = pairs || all;
    let alone = |shape: &'static Shape| {
        [false, true].map(|compressed| Case {
            input: Input::Program { shapes: vec![shape], compressed },
            growth: whole || !compressed,
            bar: true,
        })
    };
    let mut cases: Vec<Case> = ALL.iter().flat_map(alone).collect();
    let both =
        ALL.iter().enumerate().flat_map(|(at, one)| ALL[at + 1..].iter().map(move |other| [one, other]));
    let of_two = |pair: [&'static Shape; 2], compressed| Case {
        input: Input::Program { shapes: pair.to_vec(), compressed },
        growth: true,
        bar: whole,
    };
    for (_, both) in both.enumerate().filter(|(at, _)| all || (pairs && at % PAIRS_TAKEN == 0)) {
        cases.push(of_two(both, false));
        if all {
            cases.push(of_two(both, true));
        }
    }
    cases
}

fn of_report(report: &'static HostileReport, has_tables: bool) -> Vec<Case> {
    let tables: &[Form] = if report.table && has_tables { &[Form::Written, Form::Answered] } else { &[] };
    let case =
        |&form: &Form| Case { input: Input::Report { report: Some(report), form }, growth: true, bar: true };
    [Form::Text, Form::Json].iter().chain(tables).map(case).collect()
}

/// Writes a program or a report: its path, which of these it is, the factor on the smaller size, and its shapes or the report's name. It
/// runs in a process of its own, since Linux would count its memory as its child's.
fn make(args: &[String]) -> Result<()> {
    let [path, kind, times, names @ ..] = args else {
        return Err("--make: too few arguments".to_owned());
    };
    let times: u64 = times.parse().map_err(|_| "--make: no number".to_owned())?;
    if kind == "report" {
        let bytes = match names {
            [] => SMALL_REPORT.to_vec(),
            [name, ..] => {
                let report = reports::ALL.iter().find(|report| report.name == name);
                let report = report.ok_or_else(|| format!("no report {name}"))?;
                (report.make)(report.count * times)
            }
        };
        println!("{}", bytes.len());
        return std::fs::write(path, bytes).map_err(|error| format!("{path}: {error}"));
    }
    let mut made = Made::default();
    for name in names {
        let shape = ALL.iter().find(|shape| shape.name == name).ok_or_else(|| format!("no shape {name}"))?;
        (shape.add)(&mut made, shape.count * times);
    }
    let failed = |error: std::io::Error| format!("{path}: {error}");
    let path = Path::new(path);
    std::fs::write(path, made.program(kind == "compressed").map_err(failed)?).map_err(failed)?;
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

/// An input that is made.
struct MadeInput {
    path: PathBuf,
    /// Where the command writes.
    out: PathBuf,
    /// The bytes of it that count.
    bytes: u64,
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
    /// What the smallest inputs cost, by their kind.
    empty: Mutex<Vec<(String, Taken)>>,
}

impl Bench {
    fn all(&self, cases: &[Case]) -> Result<bool> {
        let (next, held) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (next, held) = (&next, &held);
                scope.spawn(move || {
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let told = self.case(&thread.to_string(), case);
                        let (line, holds) = told.unwrap_or_else(|problem| (problem, false));
                        let word = if holds { "ok  " } else { "FAIL" };
                        println!("{word} {}: {line}", case.input.text());
                        held.lock().unwrap_or_else(|held| held.into_inner()).push(holds);
                    }
                });
            }
        });
        Ok(held.into_inner().unwrap_or_else(|held| held.into_inner()).into_iter().all(|holds| holds))
    }

    /// The text that is printed for a case, and whether everything holds.
    fn case(&self, thread: &str, case: &Case) -> Result<(String, bool)> {
        let (mut line, mut problems) = (Vec::new(), Vec::new());
        let input = &case.input;
        if case.growth {
            let empty = self.empty(thread, input)?;
            let [one, four] = [1, 4].map(|times| self.taken(thread, input, times));
            let (one, four) = (one?, four?);
            let growth = |of: fn(Taken) -> f64, slack: f64| {
                let [one, four] = [one, four].map(|taken| (of(taken) - of(empty)).max(0.0));
                (four / (4.0 * one).max(slack), four <= MOST_GROWTH * 4.0 * one + slack)
            };
            let (instructions, fine) = growth(|taken| taken.instructions, SLACK_INSTRUCTIONS);
            let (memory, small) = growth(|taken| taken.peak_kb, SLACK_KB);
            line.push(format!("grows {instructions:.2} in instructions, {memory:.2} in memory"));
            let counted = !matches!(self.counter, Counter::Time);
            problems.extend((counted && !fine).then_some("instructions grow faster than the size"));
            problems.extend((!small).then_some("memory grows faster than the size"));
        }
        if case.bar {
            let made = self.make(thread, input, LARGE)?;
            let (bytes, cost) = (made.bytes, self.cost(input, &made, LARGE)?);
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

    /// The cost of the smallest input of this kind, which is measured once.
    fn empty(&self, thread: &str, input: &Input) -> Result<Taken> {
        let empty = input.empty();
        let kind = empty.text();
        // Two threads that need the same one wait for each other.
        let mut known = self.empty.lock().unwrap_or_else(|known| known.into_inner());
        if let Some((_, taken)) = known.iter().find(|(known, _)| *known == kind) {
            return Ok(*taken);
        }
        let taken = self.taken(thread, &empty, 1)?;
        known.push((kind, taken));
        Ok(taken)
    }

    fn has_tables(&self) -> bool {
        let help = Command::new(&self.foldsym).args(["symbolize", "--help"]).output();
        help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--parquet"))
    }

    /// Makes an input so many times the smaller size.
    fn make(&self, thread: &str, input: &Input, times: u64) -> Result<MadeInput> {
        let folder = self.folder.join(thread);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let path = folder.join("input");
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let kind = match input {
            Input::Program { compressed: false, .. } => "plain",
            Input::Program { compressed: true, .. } => "compressed",
            Input::Report { .. } => "report",
        };
        let mut command = Command::new(own);
        command.arg("--make").arg(&path).arg(kind).arg(times.to_string()).args(input.names());
        let done = command.output().map_err(|error| error.to_string())?;
        let plain: u64 = String::from_utf8_lossy(&done.stdout).trim().parse().map_err(|_| {
            format!("the input is not made: {}", String::from_utf8_lossy(&done.stderr).trim())
        })?;
        let len =
            |path: &Path| std::fs::metadata(path).map(|file| file.len()).map_err(|error| error.to_string());
        if let Input::Report { report, form: Form::Answered } = input {
            let table = folder.join("table.parquet");
            let written = Input::Report { report: *report, form: Form::Written };
            let done =
                self.command(&[], &written, &path, &table).output().map_err(|error| error.to_string())?;
            if !done.status.success() {
                let text = String::from_utf8_lossy(&done.stderr);
                return Err(format!("the table is not made at {times} times the size: {}", text.trim()));
            }
            let bytes = len(&table)?;
            return Ok(MadeInput { path: table, out: folder.join("out.parquet"), bytes });
        }
        let bytes = plain.min(64 * len(&path)?);
        let out = match input {
            Input::Program { .. } => "out.fsym",
            Input::Report { .. } => "out.parquet",
        };
        Ok(MadeInput { path, out: folder.join(out), bytes })
    }

    fn command(&self, around: &[&str], input: &Input, path: &Path, out: &Path) -> Command {
        let mut command = Command::new("timeout");
        // What is printed goes nowhere: this program must stay small (`process`).
        command.args([TIMEOUT, "sh", "-c", "exec \"$@\" >/dev/null", "sh"]).args(around).arg(&self.foldsym);
        match input {
            Input::Program { .. } => {
                command.arg("convert").arg(path).arg("-o").arg(out).args(["--threads", "1"]);
            }
            Input::Report { form, .. } => {
                command.arg("symbolize");
                match form {
                    Form::Text => command.arg(path),
                    Form::Json => command.arg("--json").arg(path),
                    Form::Written => command.arg(path).arg("-o").arg(out),
                    Form::Answered => command.arg("--parquet").arg(path).arg("-o").arg(out),
                };
            }
        }
        command
    }

    fn cost(&self, input: &Input, made: &MadeInput, times: u64) -> Result<process::Cost> {
        let mut command = self.command(&[], input, &made.path, &made.out);
        let done = process::run(&mut command).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        // Refused for its cost: that is a bound too.
        let is_refused = match input {
            Input::Program { .. } => text.contains("bytes of memory, and"),
            Input::Report { .. } => times == LARGE && text.contains("more than"),
        };
        if done.success || is_refused {
            Ok(done.cost)
        } else {
            Err(format!("not read at {times} times the size: {}", text.trim()))
        }
    }

    fn taken(&self, thread: &str, input: &Input, times: u64) -> Result<Taken> {
        let made = self.make(thread, input, times)?;
        let cost = self.cost(input, &made, times)?;
        let around: &[&str] = match self.counter {
            Counter::Perf => &["perf", "stat", "-x,", "-e", "instructions:u"],
            Counter::Cachegrind => {
                &["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
            }
            Counter::Time => {
                return Ok(Taken { instructions: cost.cpu_s * 1e9, peak_kb: cost.peak_kb as f64 });
            }
        };
        let done =
            self.command(around, input, &made.path, &made.out).output().map_err(|error| error.to_string())?;
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
