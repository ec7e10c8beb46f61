//! `cargo xtask streams`: the command beside llvm-symbolizer as clients use them: many addresses through one process, and whole
//! stacks over many modules, JSON lines to JSON lines.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci;
use crate::diff::{DiffOptions, Program, SplitMix, choose};
use crate::fold::Foldsym;
use crate::llvm::readelf;
use crate::results;
use xtask::sh;

const HELP: &str = "cargo xtask streams [PROGRAM]... [OPTIONS]
  times user and system seconds of foldsym and of llvm-symbolizer 22, in turn, on the same addresses:
  stream: random addresses of each program through one process of the drop-in, the conversion included, and again from its cache
  stacks: JSON lines to JSON lines, from a store that was filled before; llvm-symbolizer is fed a module and an address a line. Both
  write to /dev/null. Stacks of a program that works with RocksDB (benches/tables/recorder.cpp, needs cargo xtask corpus rocksdb and
  clang and lld 22), again and again; and stacks of 20 frames at random addresses of the programs, over 10 modules, for which
  there is no bar: no program has such stacks
  without a program: the C library
  --addresses N   of the streams (100000)
  --stacks N      of each kind (100000)
  --foldsym BIN   another build of foldsym than this checkout's
  --publish       writes the result to benches/results/DATE-streams.md
  fails where a stream takes more than a tenth of llvm-symbolizer's seconds, or recorded stacks come less than 20 times as fast";

/// Frames of a stack.
const FRAMES: usize = 20;

/// Most modules of a process.
const MODULES: usize = 10;

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails, a bar that is missed.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut programs, mut foldsym, mut addresses, mut stacks) = (Vec::new(), None, 100_000, 100_000);
    let (mut args, mut publish) = (args.iter(), false);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|number| number.parse::<usize>().ok()).ok_or(HELP);
        match arg.as_str() {
            "--addresses" => addresses = number()?,
            "--stacks" => stacks = number()?,
            "--foldsym" => foldsym = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            "--publish" => publish = true,
            other if other.starts_with('-') => return Err(HELP.to_owned()),
            other => {
                programs.push(std::fs::canonicalize(other).map_err(|error| format!("{other}: {error}"))?)
            }
        }
    }
    if programs.is_empty() {
        programs.extend(ci::c_library());
    }
    let given = foldsym.clone();
    let foldsym = Foldsym::build(foldsym)?;
    let mut said = String::new();
    let folder = sh::scratch("streams")?;
    std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    sh::create_dir(&folder)?;
    let mut missed = Vec::new();
    let mut asked = Vec::new();
    for program in &programs {
        let program = Program::open(program, None)?;
        let of_program = choose(&program, &DiffOptions { addresses, ..DiffOptions::default() })?;
        let stream = stream(&foldsym, &program, &of_program, &folder, &mut said)?;
        if stream > 0.1 {
            missed.push(format!("{}: {stream:.3} of its seconds", program.path.display()));
        }
        asked.push((program, of_program));
    }
    random_stacks(&foldsym, &asked, stacks, &folder, &mut said)?;
    match recorded_stacks(&foldsym, stacks, &folder, &mut said)? {
        Some(rate) if rate < 20.0 => missed.push(format!("recorded stacks: {rate:.1} times as fast")),
        Some(_) => {}
        None => println!("recorded stacks skipped: needs corpus/rocksdb (cargo xtask corpus rocksdb)"),
    }
    if publish {
        let named = programs.iter().map(|program| format!(" {}", program.display())).collect::<String>();
        let command = format!("cargo xtask streams{named} --addresses {addresses} --stacks {stacks}");
        let text = format!(
            "User and system seconds of llvm-symbolizer 22 and of foldsym, in turn, on the same addresses. Bars: a stream takes a tenth, \
             the conversion of the program included; recorded stacks come 20 times as fast.\n\n{said}"
        );
        let title = "Streams of addresses and whole stacks";
        let page = results::Page {
            name: "streams",
            title,
            command: &command,
            tools: &[],
            foldsym: given.as_deref(),
        };
        results::publish(&page, &text)?;
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ")) }
}

/// Prints a result, and keeps it for the page.
fn say(said: &mut String, result: &str) {
    println!("{result}");
    let _ = writeln!(said, "- {result}");
}

/// The seconds of the drop-in over llvm-symbolizer's, the first answer included.
fn stream(
    foldsym: &Foldsym,
    program: &Program,
    addresses: &[u64],
    folder: &Path,
    said: &mut String,
) -> Result<f64, String> {
    let input = folder.join("addresses");
    // In no order, as clients ask.
    let mut mixed = addresses.to_vec();
    shuffle(&mut mixed);
    write(&input, &mixed.iter().map(|address| format!("{address:#x}\n")).collect::<String>())?;
    let cache = folder.join("cache");
    let _ = std::fs::remove_dir_all(&cache);
    let ask = |command: &mut Command| {
        command.arg("--obj").arg(&program.file).env("FOLDSYM_CACHE", &cache);
        seconds(command, &input, &folder.join("out"))
    };
    let first = ask(Command::new(foldsym.path()).arg("llvm-symbolizer"))?;
    let again = ask(Command::new(foldsym.path()).arg("llvm-symbolizer"))?;
    let theirs = ask(&mut Command::new(sh::llvm("llvm-symbolizer")?))?;
    let result = format!(
        "{}, {} addresses: llvm-symbolizer {theirs:.2} s; foldsym {first:.2} s ({:.3}), from its cache {again:.2} s ({:.3})",
        program.path.display(),
        addresses.len(),
        first / theirs,
        again / theirs
    );
    say(said, &result);
    Ok(first / theirs)
}

/// Stacks, and the same frames as llvm-symbolizer takes them.
#[derive(Default)]
struct Asked {
    stacks: String,
    requests: String,
    frames: usize,
}

impl Asked {
    /// Adds a stack of a process. Each frame has its address, and the file and the link-time address for llvm-symbolizer.
    fn add(&mut self, modules: &str, frames: impl Iterator<Item = (u64, String, u64)>) {
        let _ = write!(self.stacks, "{{\"modules\":[{modules}],\"frames\":[");
        for (index, (at, file, address)) in frames.enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(self.stacks, "{comma}\"{at:#x}\"");
            let _ = writeln!(self.requests, "CODE \"{file}\" {address:#x}");
            self.frames += 1;
        }
        self.stacks.push_str("]}\n");
    }

    /// How many times as fast as llvm-symbolizer foldsym answers, from a store of these programs.
    fn rate(
        &self,
        foldsym: &Foldsym,
        what: &str,
        programs: &[PathBuf],
        folder: &Path,
        said: &mut String,
    ) -> Result<f64, String> {
        let store = folder.join(what);
        let mut convert = Command::new(foldsym.path());
        convert.arg("convert").args(programs).arg("--store").arg(&store);
        sh::run(convert.args(["--quiet", "--columns"]))?;
        let (stacks, requests) = (folder.join("stacks.jsonl"), folder.join("requests"));
        write(&stacks, &self.stacks)?;
        write(&requests, &self.requests)?;
        let none = Path::new("/dev/null");
        let mut ours = Command::new(foldsym.path());
        ours.args(["stack", "--json", "--store"]).arg(&store);
        let mut llvm = Command::new(sh::llvm("llvm-symbolizer")?);
        llvm.arg("--output-style=JSON");
        // Once into files, to see that both answer.
        let mut before = Vec::new();
        for (command, input) in [(&mut ours, &stacks), (&mut llvm, &requests)] {
            seconds(command, input, &folder.join("out"))?;
            before.push(seconds_into(command, input, none)?);
        }
        let (ours, theirs) = (before[0], before[1]);
        let rate = theirs / ours;
        let result = format!(
            "{what} stacks, {} frames over {} programs: llvm-symbolizer {theirs:.2} s, foldsym {ours:.2} s: {rate:.1} times as fast, \
             {:.2} us a frame",
            self.frames,
            programs.len(),
            ours * 1e6 / self.frames as f64
        );
        say(said, &result);
        Ok(rate)
    }
}

/// Stacks of random addresses, over ten modules: the programs, each as often as it takes.
fn random_stacks(
    foldsym: &Foldsym,
    programs: &[(Program, Vec<u64>)],
    count: usize,
    folder: &Path,
    said: &mut String,
) -> Result<f64, String> {
    let ids = programs.iter().map(|(program, _)| xtask::build_id(&program.file));
    let ids = ids.collect::<Result<Vec<String>, String>>()?;
    let modules: Vec<String> = (0..MODULES)
        .map(|module| {
            module_object(&ids[module % programs.len()], &format!("module{module}"), base_of(module))
        })
        .collect();
    let modules = modules.join(",");
    let firsts = programs.iter().map(|(program, _)| first_address(&program.file));
    let firsts = firsts.collect::<Result<Vec<u64>, String>>()?;
    let mut random = SplitMix(7);
    let mut asked = Asked::default();
    for _ in 0..count {
        let frames = (0..FRAMES).map(|_| {
            let module = (random.next() % MODULES as u64) as usize;
            let (program, addresses) = &programs[module % programs.len()];
            let address = addresses[(random.next() % addresses.len() as u64) as usize];
            let at = base_of(module) + address.saturating_sub(firsts[module % programs.len()]);
            (at, program.file.display().to_string(), address)
        });
        asked.add(&modules, frames);
    }
    let files: Vec<PathBuf> = programs.iter().map(|(program, _)| program.file.clone()).collect();
    asked.rate(foldsym, "random", &files, folder, said)
}

/// Stacks of a program that works with RocksDB, as a timer found them. `None` without RocksDB.
fn recorded_stacks(
    foldsym: &Foldsym,
    count: usize,
    folder: &Path,
    said: &mut String,
) -> Result<Option<f64>, String> {
    let rocksdb = sh::root().join("corpus/rocksdb");
    let library = rocksdb.join("librocksdb.so");
    if !library.exists() {
        return Ok(None);
    }
    let recorder = folder.join("recorder");
    let mut build = Command::new(sh::llvm("clang++")?);
    build.args([
        "-std=c++20",
        "-O2",
        "-g",
        "-ffunction-sections",
        "-fuse-ld=lld",
        "-Wl,--icf=all",
        "-Wl,--build-id",
        "-I",
    ]);
    build
        .arg(rocksdb.join("src/rocksdb/include"))
        .arg(sh::root().join("benches/tables/recorder.cpp"))
        .arg(&library);
    sh::run(build.arg(format!("-Wl,-rpath,{}", rocksdb.display())).arg("-o").arg(&recorder))?;
    let text = sh::output(Command::new(&recorder).arg(folder.join("database")).arg("20000"))?;
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0);
    // (base, build id, path) of each module that is a file
    let mut modules: Vec<(u64, String, PathBuf)> = Vec::new();
    let mut stacks: Vec<Vec<u64>> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["module", base, id, path] if Path::new(path).is_file() => {
                modules.push((hex(base), id.to_owned(), PathBuf::from(path)));
            }
            ["stack", ref frames @ ..] => stacks.push(frames.iter().map(|word| hex(word)).collect()),
            _ => {}
        }
    }
    if stacks.is_empty() || modules.is_empty() {
        return Err(format!("{}: printed no stacks", recorder.display()));
    }
    modules.sort();
    let objects: Vec<String> = modules
        .iter()
        .map(|(base, id, path)| module_object(id, &path.display().to_string(), *base))
        .collect();
    let objects = objects.join(",");
    let mut asked = Asked::default();
    for stack in stacks.iter().cycle().take(count) {
        let frames = stack.iter().enumerate().filter_map(|(index, &at)| {
            // The modules of this process are linked to 0. Callers are looked up at the byte before the return address.
            let (base, _, path) = modules.iter().rev().find(|(base, ..)| *base <= at)?;
            Some((at, path.display().to_string(), at - base - u64::from(index > 0)))
        });
        asked.add(&objects, frames);
    }
    let files: Vec<PathBuf> = modules.into_iter().map(|(_, _, path)| path).collect();
    asked.rate(foldsym, "recorded", &files, folder, said).map(Some)
}

fn module_object(id: &str, name: &str, base: u64) -> String {
    format!("{{\"id\":\"{id}\",\"name\":\"{name}\",\"base\":\"{base:#x}\"}}")
}

/// Where a module begins in memory.
fn base_of(module: usize) -> u64 {
    0x7f00_0000_0000 + (module as u64) * 0x1_0000_0000
}

/// The address of a program's first segment.
fn first_address(program: &Path) -> Result<u64, String> {
    Ok(readelf::first_segment(program)?.unwrap_or(0))
}

fn shuffle(addresses: &mut [u64]) {
    let mut random = SplitMix(3);
    for at in (1..addresses.len()).rev() {
        addresses.swap(at, (random.next() % (at as u64 + 1)) as usize);
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// User and system seconds of a command, which must write something to `out`.
fn seconds(command: &mut Command, input: &Path, out: &Path) -> Result<f64, String> {
    let seconds = seconds_into(command, input, out)?;
    let size = std::fs::metadata(out).map_err(|error| format!("{}: {error}", out.display()))?.len();
    if size > 0 { Ok(seconds) } else { Err(format!("{command:?}: no output")) }
}

/// The same, without reading the output.
fn seconds_into(command: &mut Command, input: &Path, out: &Path) -> Result<f64, String> {
    let mut shell = Command::new("bash");
    let script = "TIMEFORMAT='%U %S'; out=$1; shift; time \"$@\" > \"$out\" 2> /dev/null";
    shell.args(["-c", &format!("{{ {script}; }} 2>&1"), "bash"]).arg(out);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let times = sh::filter(&mut shell, input)?;
    let words: Vec<f64> = times.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match words[..] {
        [user, system] => Ok(user + system),
        _ => Err(format!("{command:?}: {times}")),
    }
}
