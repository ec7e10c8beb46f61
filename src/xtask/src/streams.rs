//! `cargo xtask streams`: the command beside llvm-symbolizer as clients use them: many addresses through one process, and whole
//! stacks over many modules, JSON lines to JSON lines.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::diff::{DiffOptions, Program, SplitMix, choose};
use crate::fold::Foldsym;
use crate::{ci, sh};

const HELP: &str = "cargo xtask streams [PROGRAM]... [OPTIONS]
  times user and system seconds of foldsym and of llvm-symbolizer 22, in turn, on the same addresses:
  stream: random addresses of each program through one process of the drop-in, the conversion included, and again from its cache
  stacks: stacks of 20 frames over up to 10 modules, JSON lines to JSON lines from a store that was filled before; llvm-symbolizer
  is fed a module and an address a line
  without a program: the C library
  --addresses N   of the streams (100000)
  --stacks N      (50000)
  --foldsym BIN   another build of foldsym than this checkout's
  fails where a stream takes more than a tenth of llvm-symbolizer's seconds, or stacks come less than 20 times as fast";

/// Frames of a stack.
const FRAMES: usize = 20;

/// Most modules of a process.
const MODULES: usize = 10;

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails, a bar that is missed.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut programs, mut foldsym, mut addresses, mut stacks) = (Vec::new(), None, 100_000, 50_000);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|number| number.parse::<usize>().ok()).ok_or(HELP);
        match arg.as_str() {
            "--addresses" => addresses = number()?,
            "--stacks" => stacks = number()?,
            "--foldsym" => foldsym = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            other if other.starts_with('-') => return Err(HELP.to_owned()),
            other => {
                programs.push(std::fs::canonicalize(other).map_err(|error| format!("{other}: {error}"))?)
            }
        }
    }
    if programs.is_empty() {
        programs.extend(ci::c_library());
    }
    let foldsym = Foldsym::build(foldsym)?;
    let folder = sh::scratch("streams")?;
    std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    sh::create_dir(&folder)?;
    let mut missed = Vec::new();
    let mut asked = Vec::new();
    for program in &programs {
        let program = Program::open(program, None)?;
        let of_program = choose(&program, &DiffOptions { addresses, ..DiffOptions::default() })?;
        let stream = stream(&foldsym, &program, &of_program, &folder)?;
        if stream > 0.1 {
            missed.push(format!("{}: {stream:.3} of its seconds", program.path.display()));
        }
        asked.push((program, of_program));
    }
    let rate = whole_stacks(&foldsym, &asked, stacks, &folder)?;
    if rate < 20.0 {
        missed.push(format!("stacks: {rate:.1} times as fast"));
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ")) }
}

/// The seconds of the drop-in over llvm-symbolizer's, the first answer included.
fn stream(foldsym: &Foldsym, program: &Program, addresses: &[u64], folder: &Path) -> Result<f64, String> {
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
    println!(
        "{}, {} addresses: llvm-symbolizer {theirs:.2} s; foldsym {first:.2} s ({:.3}), from its cache {again:.2} s ({:.3})",
        program.path.display(),
        addresses.len(),
        first / theirs,
        again / theirs
    );
    Ok(first / theirs)
}

/// How many times as fast as llvm-symbolizer stacks are answered.
fn whole_stacks(
    foldsym: &Foldsym,
    programs: &[(Program, Vec<u64>)],
    count: usize,
    folder: &Path,
) -> Result<f64, String> {
    let store = folder.join("store");
    let mut convert = Command::new(foldsym.path());
    convert.arg("convert").args(programs.iter().map(|(program, _)| &program.file));
    sh::run(convert.arg("--store").arg(&store).args(["--quiet", "--columns"]))?;
    // A process of ten modules: those that were named, each as often as it takes.
    let mut lines = String::new();
    let mut requests = String::new();
    let mut modules = String::new();
    let ids = programs.iter().map(|(program, _)| crate::corpus::build_id(&program.file));
    let ids = ids.collect::<Result<Vec<String>, String>>()?;
    for module in 0..MODULES {
        let id = &ids[module % programs.len()];
        let base = base_of(module);
        let comma = if module > 0 { "," } else { "" };
        let _ =
            write!(modules, "{comma}{{\"id\":\"{id}\",\"name\":\"module{module}\",\"base\":\"{base:#x}\"}}");
    }
    let firsts = programs.iter().map(|(program, _)| first_address(&program.file));
    let firsts = firsts.collect::<Result<Vec<u64>, String>>()?;
    let mut random = SplitMix(7);
    for _ in 0..count {
        let mut frames = String::new();
        for frame in 0..FRAMES {
            let module = (random.next() % MODULES as u64) as usize;
            let (program, addresses) = &programs[module % programs.len()];
            let address = addresses[(random.next() % addresses.len() as u64) as usize];
            let comma = if frame > 0 { "," } else { "" };
            let at = base_of(module) + address.saturating_sub(firsts[module % programs.len()]);
            let _ = write!(frames, "{comma}\"{at:#x}\"");
            let _ = writeln!(requests, "CODE \"{}\" {address:#x}", program.file.display());
        }
        let _ = writeln!(lines, "{{\"modules\":[{modules}],\"frames\":[{frames}]}}");
    }
    let (stacks, requested) = (folder.join("stacks.jsonl"), folder.join("requests"));
    write(&stacks, &lines)?;
    write(&requested, &requests)?;
    let mut ours = Command::new(foldsym.path());
    let ours = seconds(ours.args(["stack", "--json", "--store"]).arg(&store), &stacks, &folder.join("out"))?;
    let mut llvm = Command::new(sh::llvm("llvm-symbolizer")?);
    let theirs = seconds(llvm.arg("--output-style=JSON"), &requested, &folder.join("out"))?;
    let rate = theirs / ours;
    println!(
        "{count} stacks of {FRAMES} frames over {MODULES} modules of {} programs: llvm-symbolizer {theirs:.2} s, foldsym {ours:.2} s: \
         {rate:.1} times as fast, {:.2} us a frame",
        programs.len(),
        ours * 1e6 / (count * FRAMES) as f64
    );
    Ok(rate)
}

/// Where a module begins in memory.
fn base_of(module: usize) -> u64 {
    0x7f00_0000_0000 + (module as u64) * 0x1_0000_0000
}

/// The address of a program's first segment.
fn first_address(program: &Path) -> Result<u64, String> {
    let text = sh::output(Command::new(sh::llvm("llvm-readelf")?).arg("-lW").arg(program))?;
    let load = text.lines().find_map(|line| line.trim().strip_prefix("LOAD"));
    let digits = load.and_then(|line| line.split_whitespace().nth(1)).unwrap_or("0x0");
    u64::from_str_radix(digits.trim_start_matches("0x"), 16).map_err(|error| format!("{digits}: {error}"))
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

/// User and system seconds of a command.
fn seconds(command: &mut Command, input: &Path, out: &Path) -> Result<f64, String> {
    let mut shell = Command::new("bash");
    let script = "TIMEFORMAT='%U %S'; out=$1; shift; time \"$@\" > \"$out\" 2> /dev/null";
    shell.args(["-c", &format!("{{ {script}; }} 2>&1"), "bash"]).arg(out);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let times = sh::filter(&mut shell, input)?;
    let size = std::fs::metadata(out).map_err(|error| format!("{}: {error}", out.display()))?.len();
    let words: Vec<f64> = times.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match words[..] {
        [user, system] if size > 0 => Ok(user + system),
        _ => Err(format!("{command:?}: {times}")),
    }
}
