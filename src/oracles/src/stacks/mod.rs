//! `cargo xtask stacks`: gdb stops programs at random instructions of their functions and their libraries', and writes a core at each stop.
//! `foldsym symbolize` walks each core only by section UNWIND, and every program counter must be the one that gdb found.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::crashes;
use crate::json::{self, Answered};
use crate::llvm::{dwarfdump, nm};
use crate::results;
use xtask::sh;

const HELP: &str = "cargo xtask stacks [PROGRAM [LIBRARY...] | --testbins] [--stops N] [--foldsym PATH] [--publish] [-- ARGUMENT...]

  PROGRAM      LIBRARY is a library of its process, whose functions are stopped in too. Without one: the programs of testbins that run here,
               a program that calls RocksDB (corpus/rocksdb), and python3, stopped in the C library.
  --testbins   the programs of testbins alone
  --stops N    stops of a program (default 50; without PROGRAM 5 of each of testbins', 200 of each other)
  --foldsym PATH  the command (default: the workspace's release build, which is made)
  --publish    writes the result to benches/results/DATE-stacks.md

Needs gdb with Python, and nm.";

/// Seconds that gdb may take for one program, and for each stop: it may crash or hang.
const LONGEST: usize = 60;
const EACH: usize = 5;
/// Functions that get a breakpoint, for each stop that is wanted: most are never called.
const FOR_EACH: usize = 40;
const STOPS: usize = 50;
/// Of programs that do little, and of programs that do much.
const FEW: usize = 5;
const MANY: usize = 200;
/// A script that calls functions of the C library.
const SCRIPT: &str = "import json, re, locale, time, random, subprocess, os, glob, decimal, socket, threading
def work():
    words = [str(random.random()) for _ in range(3000)]
    json.loads(json.dumps(sorted(words))); re.findall('[0-9]+', ' '.join(words)); time.strftime('%c %Z')
thread = threading.Thread(target=work); thread.start(); work(); thread.join()
[float(str(n / 7)) for n in range(999)]; glob.glob('/usr/lib/*'); os.environ.copy(); socket.getfqdn('localhost')
subprocess.run(['true']); locale.setlocale(locale.LC_ALL, 'C.UTF-8'); open('/proc/self/maps').read(); print(decimal.Decimal(7) / 3)";

struct Options {
    programs: Vec<PathBuf>,
    arguments: Vec<String>,
    stops: Option<usize>,
    foldsym: Option<PathBuf>,
    testbins: bool,
    publish: bool,
}

fn parse(args: &[String]) -> Result<Option<Options>, String> {
    let mut options = Options {
        programs: Vec::new(),
        arguments: Vec::new(),
        stops: None,
        foldsym: None,
        testbins: false,
        publish: false,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" => return Ok(None),
            "--publish" => options.publish = true,
            "--testbins" => options.testbins = true,
            "--stops" => {
                let stops = args.next().and_then(|stops| stops.parse().ok());
                options.stops = Some(stops.ok_or("--stops needs a number")?);
            }
            "--foldsym" => options.foldsym = Some(args.next().ok_or("--foldsym needs a path")?.into()),
            "--" => options.arguments.extend(args.by_ref().cloned()),
            program if !program.starts_with('-') => options.programs.push(program.into()),
            other => return Err(format!("unknown argument {other}\n{HELP}")),
        }
    }
    Ok(Some(options))
}

/// A program that gdb stops.
struct StoppedProgram {
    name: String,
    program: PathBuf,
    /// Libraries in whose functions the program is stopped too.
    libraries: Vec<PathBuf>,
    arguments: Vec<String>,
    stops: usize,
}

/// The programs of testbins for this processor that begin somewhere.
fn of_testbins(scratch: &Path, stops: usize) -> Result<Vec<StoppedProgram>, String> {
    let built = sh::root().join("testbins/built");
    let listed = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let entries = std::fs::read_dir(folder).map_err(failed)?;
        entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
    };
    let mut files = Vec::new();
    for path in listed(&built)? {
        if path.is_dir() { files.extend(listed(&path)?) } else { files.push(path) }
    }
    files.sort();
    let mut cases = Vec::new();
    for path in files.iter().filter(|path| path.is_file()) {
        let head = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let half = |at: usize| head.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        let is_program = head.starts_with(b"\x7fELF\x02\x01") && half(18) == Some(62);
        let begins = head.get(24..32).is_some_and(|entry| entry.iter().any(|&byte| byte != 0));
        let has_code = path.extension().is_none_or(|name| name != "debug");
        if !(is_program && matches!(half(16), Some(2 | 3)) && begins && has_code) {
            continue;
        }
        let name = path.strip_prefix(&built).unwrap_or(path).display().to_string();
        let program = scratch.join("programs").join(name.replace('/', "."));
        std::fs::copy(path, &program).map_err(|error| format!("{name}: {error}"))?;
        sh::run(Command::new("chmod").arg("u+x").arg(&program))?;
        cases.push(StoppedProgram { name, program, libraries: Vec::new(), arguments: Vec::new(), stops });
    }
    Ok(cases)
}

/// The cases if no program is given.
fn all_cases(scratch: &Path, stops: Option<usize>) -> Result<Vec<StoppedProgram>, String> {
    let mut cases = of_testbins(scratch, stops.unwrap_or(FEW))?;
    let stops = stops.unwrap_or(MANY);
    let (program, library) = crashes::build_program(&scratch.join("programs"))?;
    // Rows are in a section that stays. gdb reads the debug information of each unit that it stops in, for minutes.
    sh::run(Command::new(sh::tool("strip", "binutils")?).arg("-g").arg(&library))?;
    let arguments = vec!["0".to_owned()];
    cases.push(StoppedProgram {
        name: "RocksDB".to_owned(),
        program,
        libraries: vec![library],
        arguments,
        stops,
    });
    // The first one in PATH may be a script.
    let program = PathBuf::from("/usr/bin/python3");
    let loaded = sh::output(Command::new("ldd").arg(&program))?;
    let is_libc = |line: &&str| line.trim_start().starts_with("libc.so");
    let libc =
        loaded.lines().find(is_libc).and_then(|line| line.split(' ').find(|word| word.starts_with('/')));
    let libraries = vec![libc.ok_or("python3 has no C library")?.into()];
    let arguments = vec!["-c".to_owned(), SCRIPT.to_owned()];
    cases.push(StoppedProgram { name: "libc, by python3".to_owned(), program, libraries, arguments, stops });
    Ok(cases)
}

/// Name, offset and size of functions of a program, in an order that has nothing to do with their addresses.
fn functions(program: &Path, count: usize) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for (address, size, name) in nm::functions_by_binutils(program)? {
        let hash = name
            .bytes()
            .fold(0u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3).rotate_left(7));
        found.push((hash, format!("{} {address:016x} {size:016x}", program.display())));
    }
    found.sort();
    Ok(found.into_iter().take(count).map(|(_, line)| line).collect())
}

/// The results of a case, or of all.
#[derive(Clone, Copy, Default)]
struct StackTally {
    programs: usize,
    stops: usize,
    frames: usize,
    differ: usize,
    /// Stacks of gdb's of which a part was left out.
    cut: usize,
    /// Programs that gdb could not run.
    gdb_failed: usize,
}

impl StackTally {
    fn add(&mut self, other: Self) {
        self.programs += usize::from(other.stops > 0);
        self.stops += other.stops;
        self.frames += other.frames;
        self.differ += other.differ;
        self.cut += other.cut;
        self.gdb_failed += other.gdb_failed;
    }

    fn row(&self, name: &str) -> String {
        let Self { programs, stops, frames, differ, .. } = self;
        format!("| {name} | {programs} | {stops} | {frames} | {differ} |\n")
    }
}

/// Has gdb stop a program. How often it did; `None` where gdb itself failed.
fn stop(case: &StoppedProgram, scratch: &Path) -> Result<Option<usize>, String> {
    let _ = std::fs::remove_dir_all(scratch);
    sh::create_dir(scratch)?;
    let mut lines = Vec::new();
    for program in std::iter::once(&case.program).chain(&case.libraries) {
        // A program without symbols is stopped only in its libraries.
        lines.extend(functions(program, case.stops * FOR_EACH).unwrap_or_default());
    }
    let put = |name: &str, text: &str| {
        let path = scratch.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display())).map(|()| path)
    };
    put("functions", &lines.join("\n"))?;
    let script = put("stacks.py", include_str!("gdb.py"))?;
    let mut gdb = Command::new("timeout");
    let longest = (LONGEST + EACH * case.stops).to_string();
    gdb.args(["-k", "5", &longest, "gdb", "-batch", "-nx", "-x"])
        .arg(&script)
        .arg("--args")
        .arg(&case.program);
    gdb.args(&case.arguments).env("FOLDSYM_STACKS", scratch);
    let said = sh::output(gdb.env("FOLDSYM_STOPS", case.stops.to_string()));
    let stops =
        |said: &String| said.lines().find_map(|line| line.strip_prefix("stops ")?.parse::<usize>().ok());
    let stops = said.as_ref().ok().and_then(stops);
    if stops.is_none() {
        println!("stacks: {}: gdb failed", case.name);
    }
    Ok(stops)
}

/// Converts all files with code in the process, with rows: files with a build id into the store, the program into a file of its name.
fn convert(
    foldsym: &Path,
    case: &StoppedProgram,
    stops: &Path,
    store: &Path,
    files: &Path,
) -> Result<(), String> {
    let modules = sh::read(&stops.join("modules"))?;
    let mut command = Command::new(foldsym);
    command.args(["convert", "--quiet", "--unwind", "--store"]).arg(store).args(modules.lines());
    // A file without debug information is reported, and is not a failure.
    sh::output(&mut command)?;
    let _ = std::fs::remove_dir_all(files);
    sh::create_dir(files)?;
    let name = case.program.file_name().unwrap_or_default().to_string_lossy();
    let output = files.join(format!("{name}.fsym"));
    let mut command = Command::new(foldsym);
    sh::output(command.args(["convert", "--quiet", "--unwind"]).arg(&case.program).arg("-o").arg(output))
        .map(drop)
}

/// The program counters of a thread of an answer, no more than `limit`, and whether each but the first was found by call frame information.
fn counters(thread: &Value, limit: usize) -> (Vec<u64>, bool) {
    let frames = thread["Frames"].items();
    let frames = &frames[..frames.len().min(limit)];
    let address = |frame: &Value| {
        let text = frame["Address"].text().trim_start_matches("0x").to_owned();
        u64::from_str_radix(&text, 16).ok()
    };
    let by_rows = |frame: &Value| matches!(frame["Trust"].text(), "context" | "cfi");
    (frames.iter().filter_map(address).collect(), frames.iter().all(by_rows))
}

/// Ranges of code that call frame entries of files cover, as llvm-dwarfdump prints them.
#[derive(Default)]
struct Covered {
    by_file: HashMap<String, Vec<(u64, u64)>>,
}

impl Covered {
    fn has(&mut self, path: &str, address: u64) -> Result<bool, String> {
        if !self.by_file.contains_key(path) {
            self.by_file.insert(path.to_owned(), dwarfdump::covered(Path::new(path))?);
        }
        Ok(self.by_file[path].iter().any(|&(start, end)| (start..end).contains(&address)))
    }
}

/// The frames that gdb found at a stop, up to the first frame whose code no entry covers, or whose caller is not code: gdb guesses there.
/// Also whether that cut it.
fn truth(text: &str, covered: &mut Covered) -> Result<(Vec<u64>, bool), String> {
    let mut counters = Vec::new();
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(Ok(counter)), Some(Ok(address)), Some(path)) =
            (words.next().map(str::parse), words.next().map(str::parse), words.next())
        else {
            return Err(format!("gdb's script wrote {line}"));
        };
        if path == "-" {
            return Ok((counters, true));
        }
        counters.push(counter);
        if !covered.has(path, address)? {
            return Ok((counters, true));
        }
    }
    Ok((counters, false))
}

/// Stops one program and walks its cores.
fn measure(
    foldsym: &Path,
    case: &StoppedProgram,
    scratch: &Path,
    covered: &mut Covered,
) -> Result<StackTally, String> {
    let (folder, store, files) = (scratch.join("stops"), scratch.join("store"), scratch.join("files"));
    let stops = stop(case, &folder)?;
    let mut tally = StackTally {
        stops: stops.unwrap_or(0),
        gdb_failed: usize::from(stops.is_none()),
        ..StackTally::default()
    };
    if tally.stops == 0 {
        return Ok(tally);
    }
    convert(foldsym, case, &folder, &store, &files)?;
    for nth in 0..tally.stops {
        let (truth, is_cut) = truth(&sh::read(&folder.join(format!("{nth}.truth")))?, covered)?;
        tally.cut += usize::from(is_cut);
        let core = folder.join(format!("{nth}.core"));
        let mut command = Command::new(foldsym);
        command.args(["symbolize", "--json", "--store"]).arg(&store).arg("--search").arg(&files).arg(&core);
        let answer = json::parse(sh::output(&mut command)?.trim_end())?;
        // A core does not say which thread stopped: it is the one whose program counter is gdb's.
        let limit = if is_cut { truth.len() } else { usize::MAX };
        let threads: Vec<_> =
            answer["Threads"].items().iter().map(|thread| counters(thread, limit)).collect();
        let is_it = |thread: &&(Vec<u64>, bool)| thread.0.first() == truth.first();
        let (ours, by_rows) = match threads.iter().find(|thread| thread.0 == truth) {
            Some(same) => same.clone(),
            None => threads.iter().find(is_it).cloned().unwrap_or_default(),
        };
        tally.frames += truth.len();
        if ours != truth || !by_rows {
            tally.differ += 1;
            let kept = scratch.join(format!("{}.{nth}.core", case.name.replace(['/', ' '], ".")));
            std::fs::rename(&core, &kept).map_err(|error| format!("{}: {error}", core.display()))?;
            let at = ours.iter().zip(&truth).take_while(|(ours, truth)| ours == truth).count();
            let (ours, truth) = (ours.get(at..).unwrap_or(&[]), truth.get(at..).unwrap_or(&[]));
            println!(
                "stacks: {}: from frame {at} on {ours:x?}, gdb {truth:x?}{}",
                kept.display(),
                if by_rows { "" } else { ", not by rows" }
            );
        } else {
            let _ = std::fs::remove_file(&core);
        }
    }
    Ok(tally)
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let Some(options) = parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    let foldsym = results::command_with_server(options.foldsym.as_deref())?;
    let scratch = sh::scratch("stacks")?;
    let _ = std::fs::remove_dir_all(&scratch);
    for folder in ["store", "programs"] {
        sh::create_dir(&scratch.join(folder))?;
    }
    let cases = match options.programs.split_first() {
        None if options.testbins => of_testbins(&scratch, options.stops.unwrap_or(FEW))?,
        None => all_cases(&scratch, options.stops)?,
        Some((program, libraries)) => vec![StoppedProgram {
            name: program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            program: program.clone(),
            libraries: libraries.to_vec(),
            arguments: options.arguments.clone(),
            stops: options.stops.unwrap_or(STOPS),
        }],
    };
    let mut covered = Covered::default();
    let mut small = StackTally::default();
    let mut total = StackTally::default();
    let mut text =
        String::from("| | programs | stops | frames | stacks that differ |\n|---|---|---|---|---|\n");
    for case in &cases {
        let tally = measure(&foldsym, case, &scratch, &mut covered)?;
        println!(
            "stacks: {}: {} stops, {} frames, {} differ",
            case.name, tally.stops, tally.frames, tally.differ
        );
        let mut one = StackTally::default();
        one.add(tally);
        total.add(tally);
        if case.libraries.is_empty() { small.add(tally) } else { text += &one.row(&case.name) }
    }
    if small.programs > 0 {
        text += &small.row("testbins");
    }
    text += "\nEvery program counter of a stack is compared, and every frame but the first must be found by rows of section UNWIND.\n";
    text += &format!(
        "{} stacks were compared up to a frame in code that no call frame entry covers (by llvm-dwarfdump), or whose caller is no code: gdb guesses there. \
         gdb itself failed with {} programs.\n",
        total.cut, total.gdb_failed
    );
    print!("{text}");
    if options.publish {
        let gdb = sh::output(Command::new("gdb").arg("--version"))?;
        let tools = [gdb.lines().next().unwrap_or_default().to_owned()];
        let (name, title) = ("stacks", "Stacks of cores beside gdb's");
        let (command, foldsym) = ("cargo xtask stacks", options.foldsym.as_deref());
        results::publish(&results::Page { name, title, command, tools: &tools, foldsym }, &text)?;
    }
    match total {
        StackTally { stops: 0, .. } => Err("gdb stopped nowhere".to_owned()),
        StackTally { differ: 0, .. } => Ok(()),
        _ => Err(format!("{} stacks differ from gdb's", total.differ)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gdb_is_asked_up_to_code_without_entries() {
        let ranges = vec![(0x10, 0x20), (0x40, 0x50)];
        let mut covered = Covered { by_file: HashMap::from([("a b".to_owned(), ranges)]) };
        let mut of = |text: &str| truth(text, &mut covered);
        assert_eq!(of("1016 16 a b\n1070 69 a b\n").unwrap(), (vec![1016, 1070], false));
        assert_eq!(of("1016 16 a b\n1048 48 a b\n1070 69 a b").unwrap(), (vec![1016, 1048], true));
        assert_eq!(of("1016 16 a b\n1 0 -").unwrap(), (vec![1016], true));
        assert!(of("1016 a b").is_err());
    }

    #[test]
    fn arguments() {
        let of = |args: &[&str]| parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        let options = of(&["a", "b", "--stops", "3", "--", "--help"]).unwrap().unwrap();
        assert_eq!((options.programs.len(), options.stops, options.arguments.len()), (2, Some(3), 1));
        assert!(of(&[]).unwrap().unwrap().programs.is_empty() && of(&["--help"]).unwrap().is_none());
        assert!(of(&["--testbins"]).unwrap().unwrap().testbins);
        assert!(of(&["--stops", "x"]).is_err() && of(&["--x"]).is_err());
    }
}
