//! `cargo xtask crash-doors`: small programs that crash, and one stack by every door: the core by a store and by programs, a minidump, the
//! report of AddressSanitizer, `perf script`, and the server. All must name the functions that ran, and those that gdb names where nothing is folded.
//!
//! A program's source says in its first lines how it is built and which functions ran (`programs`, [`crash::Crash`]). Folded functions are those
//! that the linker replaced by another one of the same code: gdb names either of them.
//!
//! What is not compared, and why:
//!
//! - frames outward of `main`, or of the first function of a thread: the sanitizer's runtime starts threads itself;
//! - frames in the sanitizer's runtime;
//! - gdb's frames of functions that ended with a jump: they have no frame, gdb infers them;
//! - how often a function that calls itself is on the stack, as the sanitizer and perf keep only part of it. Cores are compared with gdb frame by
//!   frame.

mod crash;
mod names;
mod reports;

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::json::{self, Answered};
use crate::served::{self, Server};
use crate::{ours, results};
use crash::Crash;
use names::{OnStack, bare, has_stack, last, of_thread, once, shown, up_to};
use xtask::sh;

const HELP: &str = "cargo xtask crash-doors [NAME]... [--foldsym PATH]
  builds programs that crash (all of src/oracles/src/crash_doors/programs, or those named), and compares the functions of the
  crashed thread by all doors: core by a store and by programs, minidump, report of AddressSanitizer (not of Go), perf script
  (where the kernel lets perf record signals), server; and gdb, where nothing is folded
  --foldsym PATH  the command with the feature `serve` (default: FOLDSYM_BUILT, else the workspace's release build, which is made)

Needs clang and lld 22, gcc, rustc, Go, gdb, perf, and a kernel.core_pattern that is a file name. Everything is in
target/xtask/crash-doors.";

/// Frames of a module of the sanitizer's runtime are left out.
const RUNTIMES: &[&str] = &["libclang_rt.asan", "libasan.so"];

/// What all programs share.
struct CrashTools {
    foldsym: PathBuf,
    /// Writes minidumps.
    writer: PathBuf,
    has_perf: bool,
}

/// What came of a door: how many functions were compared, or why none.
enum DoorOutcome {
    Same(usize),
    Skipped(&'static str),
    Differs(String),
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut wanted, mut foldsym) = (Vec::new(), None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" => {
                println!("{HELP}");
                return Ok(());
            }
            "--foldsym" => foldsym = Some(PathBuf::from(args.next().ok_or("--foldsym needs a path")?)),
            other if other.starts_with('-') => return Err(format!("unknown argument {other}\n{HELP}")),
            name => wanted.push(name.to_owned()),
        }
    }
    let crashes = crashes(&wanted)?;
    let base = sh::scratch("crash-doors")?;
    let built = ours::built(&["foldsym"])?.map(|folder| folder.join("foldsym"));
    let tools = CrashTools {
        foldsym: results::command_with_server(foldsym.or(built).as_deref())?,
        writer: writer()?,
        has_perf: reports::has_perf(&base),
    };
    let mut failed = 0;
    println!(
        "| program | core | core by programs | minidump | sanitizer | perf | server | gdb |\n|---|---|---|---|---|---|---|---|"
    );
    for crash in &crashes {
        let outcomes = compare(&tools, crash, &base.join(&crash.name))?;
        let cells = outcomes.iter().map(|outcome| match outcome {
            DoorOutcome::Same(count) => format!("{count} functions"),
            DoorOutcome::Skipped(why) => format!("skipped: {why}"),
            DoorOutcome::Differs(_) => "DIFFERS".to_owned(),
        });
        println!("| {} | {} |", crash.name, cells.collect::<Vec<_>>().join(" | "));
        for outcome in &outcomes {
            if let DoorOutcome::Differs(how) = outcome {
                failed += 1;
                println!("  {}: {how}", crash.name);
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} doors name other functions")) }
}

/// The programs of these names; without names all.
fn crashes(wanted: &[String]) -> Result<Vec<Crash>, String> {
    let folder = sh::root().join("src/oracles/src/crash_doors/programs");
    let files = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut sources: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    sources.sort();
    let is_crash = |path: &PathBuf| sh::read(path).is_ok_and(|text| text.contains("\n//# stack: "));
    let crashes: Vec<Crash> = sources
        .iter()
        .filter(|path| is_crash(path))
        .map(|path| Crash::read(path))
        .collect::<Result<_, _>>()?;
    if let Some(name) = wanted.iter().find(|name| !crashes.iter().any(|crash| crash.name == **name)) {
        return Err(format!("no program `{name}` in {}", folder.display()));
    }
    Ok(crashes.into_iter().filter(|crash| wanted.is_empty() || wanted.contains(&crash.name)).collect())
}

/// Builds the writer of minidumps.
fn writer() -> Result<PathBuf, String> {
    let manifest = sh::root().join("benches/compare/Cargo.toml");
    let others = sh::target_dir().join("compare");
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--release", "-p", "foldsym-dumps", "--manifest-path"]).arg(manifest);
    sh::run(build.env("CARGO_TARGET_DIR", &others))?;
    Ok(others.join("release/dump-at-crash"))
}

/// Libraries that the loader finds for a program; none for one without a loader.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let listed = sh::output(Command::new("ldd").arg(program)).unwrap_or_default();
    let paths = listed.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    paths.map(PathBuf::from).collect()
}

/// Builds a program, has it crash, and asks every door. The outcomes in the order of the table.
fn compare(tools: &CrashTools, crash: &Crash, folder: &Path) -> Result<Vec<DoorOutcome>, String> {
    let _ = std::fs::remove_dir_all(folder);
    let (plain, sanitized, store) = (folder.join("plain"), folder.join("sanitized"), folder.join("store"));
    for folder in [&plain, &sanitized] {
        sh::create_dir(folder)?;
    }
    let mut programs = crash.build(&plain, false)?;
    let program = programs[0].clone();
    programs.extend(libraries(&program).into_iter().filter(|path| !path.starts_with(folder)));
    let sanitized = match crash.has_sanitizer() {
        true => crash.build(&sanitized, true)?,
        false => Vec::new(),
    };
    let mut convert = Command::new(&tools.foldsym);
    convert.args(["convert", "--quiet", "--unwind", "--store"]).arg(&store).args(&programs).args(&sanitized);
    // That the system's libraries have no debug information is a warning.
    sh::output(&mut convert)?;

    let core = reports::core(&program, folder)?;
    let doors = Doors { tools, crash, store: &store };
    let by_core = match doors.crashed(&core, Pick::Crashed, &[]) {
        Ok(names) => names,
        Err(why) => return Ok(vec![DoorOutcome::Differs(format!("core: {why}"))]),
    };
    let dump = reports::minidump(&tools.writer, &program, folder)?;
    let mut outcomes = vec![doors.of_source(&by_core)];
    outcomes.push(same("programs", &by_core, doors.by_programs(&core, &plain)));
    outcomes.push(same("minidump", &by_core, doors.crashed(&dump, Pick::Crashed, &[])));
    outcomes.push(match sanitized.first() {
        Some(program) => {
            let log = reports::log(program, folder)?;
            same("sanitizer", &by_core, doors.crashed(&log, Pick::Crashed, &sanitized))
        }
        None => DoorOutcome::Skipped("Go handles signals itself"),
    });
    outcomes.push(match tools.has_perf {
        true => doors.perf(&by_core, &program, folder)?,
        false => DoorOutcome::Skipped("needs perf events"),
    });
    outcomes.push(same("server", &by_core, doors.served(&dump, &plain)));
    outcomes.push(gdb(crash, &by_core, &reports::gdb(&program, &core, folder)?));
    Ok(outcomes)
}

/// Which of a report's stacks is the crash.
#[derive(Clone, Copy)]
enum Pick {
    /// The thread that the report says has crashed.
    Crashed,
    /// The first or the last one.
    First,
    Last,
}

/// What a program's doors share.
struct Doors<'d> {
    tools: &'d CrashTools,
    crash: &'d Crash,
    store: &'d Path,
}

impl Doors<'_> {
    /// The functions of the crash in a report, by `foldsym symbolize`. `programs` are those of a report that does not say which build ran:
    /// runtimes of gcc's sanitizer before 13 do not.
    fn crashed(&self, report: &Path, pick: Pick, programs: &[PathBuf]) -> Result<Vec<OnStack>, String> {
        let mut command = Command::new(&self.tools.foldsym);
        command.args(["symbolize", "--json", "--store"]).arg(self.store).arg(report);
        command.args(programs.iter().flat_map(|program| [Path::new("--search"), program]));
        self.of_answer(&json::parse(sh::output(&mut command)?.trim_end())?, pick)
    }

    /// The functions of the crash in a core on the machine that crashed: by the programs in a folder and the libraries where the core says,
    /// without a store.
    fn by_programs(&self, core: &Path, folder: &Path) -> Result<Vec<OnStack>, String> {
        let mut command = Command::new(&self.tools.foldsym);
        command.args(["symbolize", "--json", "--open-paths", "--search"]).arg(folder).arg(core);
        command.env("FOLDSYM_CACHE", folder.with_extension("cache"));
        self.of_answer(&json::parse(sh::output(&mut command)?.trim_end())?, Pick::Crashed)
    }

    fn of_answer(&self, answer: &Value, pick: Pick) -> Result<Vec<OnStack>, String> {
        let threads = answer["Threads"].items();
        let thread = match pick {
            Pick::Crashed => threads.iter().find(|thread| matches!(thread["Crashed"], Value::Bool(true))),
            Pick::First => threads.first(),
            Pick::Last => threads.last(),
        };
        let mut names = of_thread(thread.ok_or("no stack of a crash")?);
        names.retain(|one| !RUNTIMES.iter().any(|runtime| one.module.contains(runtime)));
        up_to(self.crash.entry(), names)
    }

    /// Whether the functions are those that the source says ran, and those are folded that it says are.
    fn of_source(&self, names: &[OnStack]) -> DoorOutcome {
        let is_folded = |name: &String| names.iter().any(|one| one.is_folded && bare(&one.name) == *name);
        if let Some(name) = self.crash.folded.iter().find(|name| !is_folded(name)) {
            return DoorOutcome::Differs(format!(
                "core: nothing shows that the folded `{name}` ran: {}",
                shown(names)
            ));
        }
        match has_stack(names, &self.crash.stack) {
            true => DoorOutcome::Same(names.len()),
            false => DoorOutcome::Differs(format!(
                "core: {}, but {} ran",
                shown(names),
                self.crash.stack.join(" < ")
            )),
        }
    }

    fn perf(&self, by_core: &[OnStack], program: &Path, folder: &Path) -> Result<DoorOutcome, String> {
        let has = |word: &str| self.crash.perf.iter().any(|one| one == word);
        let text = reports::perf(program, if has("fp") { "fp" } else { "" }, folder)?;
        if !has("first") {
            return Ok(same("perf", by_core, self.crashed(&text, Pick::Last, &[])));
        }
        // The first signal interrupted a function that is further out in the core.
        let found = self.crashed(&text, Pick::First, &[]);
        let outer = found.as_ref().map_or(0, |names| by_core.len().saturating_sub(names.len()));
        let is_whole = found.as_ref().is_ok_and(|names| has_stack(names, &self.crash.stack));
        Ok(match same("perf", &by_core[outer..], found) {
            DoorOutcome::Same(_) if !is_whole => {
                DoorOutcome::Differs("perf: functions that ran are missing".to_owned())
            }
            outcome => outcome,
        })
    }

    /// The functions of the crash in a minidump, by the server.
    fn served(&self, dump: &Path, folder: &Path) -> Result<Vec<OnStack>, String> {
        let store = self.store.display().to_string();
        let server = Server::start(&self.tools.foldsym, folder, folder, &["--store", &store])?;
        let mut stream = BufReader::new(served::connect(&server.address)?);
        let report = std::fs::read(dump).map_err(|error| format!("{}: {error}", dump.display()))?;
        let answer = served::ask(&mut stream, &server.address, &report)?;
        self.of_answer(&json::parse(&String::from_utf8_lossy(&answer))?, Pick::Crashed)
    }
}

/// Compares the functions that two doors name.
fn same(door: &str, by_core: &[OnStack], found: Result<Vec<OnStack>, String>) -> DoorOutcome {
    match found {
        Err(why) => DoorOutcome::Differs(format!("{door}: {why}")),
        Ok(found) if once(&found) == once(by_core) => DoorOutcome::Same(found.len()),
        Ok(found) => {
            DoorOutcome::Differs(format!("{door}: {}, but by the core {}", shown(&found), shown(by_core)))
        }
    }
}

/// Compares the functions of a core with gdb's, but the folded ones. gdb names a function by its debug information, by which some functions of
/// the C library and of Rust have another name than by their symbol; one of both must be ours.
fn gdb(crash: &Crash, by_core: &[OnStack], frames: &[reports::GdbFrame]) -> DoorOutcome {
    let mut frames: Vec<_> = frames.iter().filter(|frame| !frame.is_tail_call()).collect();
    let end = crash.gdb.as_deref().unwrap_or(crash.entry());
    let Some(at) = frames.iter().rposition(|frame| bare(&frame.function) == end) else {
        return DoorOutcome::Differs(format!("gdb: no frame of `{end}`"));
    };
    frames.truncate(at + 1);
    let ours = match &crash.gdb {
        None => by_core,
        Some(_) => &by_core[..frames.len().min(by_core.len())],
    };
    let is_same = |(one, frame): (&OnStack, &&reports::GdbFrame)| {
        let symbol = frame.symbol.split(" + ").next().unwrap_or_default();
        let known = if frame.function.is_empty() && symbol.is_empty() { "?" } else { &frame.function };
        crash.folded.contains(&bare(&one.name))
            || [known, symbol].iter().any(|name| last(name) == last(&one.name))
    };
    if ours.len() == frames.len() && ours.iter().zip(&frames).all(is_same) {
        return DoorOutcome::Same(frames.len());
    }
    let theirs: Vec<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
    DoorOutcome::Differs(format!("gdb: {}, by the core {}", theirs.join(" < "), shown(ours)))
}
