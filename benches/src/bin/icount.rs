//! Counts the instructions of `foldsym convert` and `foldsym lookup` on small committed programs, so
//! that a regression is seen without a clock.
//!
//! `icount [--foldsym PATH] [--save] [PROGRAM]...` runs each command under callgrind and prints the
//! counts beside those of `benches/icount.json` as ratios; `--save` writes that file. It never fails
//! because of a ratio: a person judges. Without PROGRAM it takes `testbins/built/demo*`, or one
//! program of the test suite where there is none. Without valgrind it prints
//! `skipped: needs valgrind`.
//!
//! The cost of starting a process is subtracted from the lookups: two runs differ by [`LOOKUPS`] addresses, and the difference of their
//! counts is used.

use foldsym_benches::process;
use object::{Object, ObjectSection};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Addresses by which the two runs of `lookup` differ.
const LOOKUPS: u64 = 500;

/// Programs taken without an argument: the first prefix that has files.
const DEFAULTS: [&str; 2] = ["demo", "objects.clang-o2"];

/// The counts in the file, in the order of the printed lines.
const COUNTS: [&str; 3] = ["convert", "lookup_one", "lookup_each"];

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut foldsym = root.join("target/release/foldsym");
    let mut programs = Vec::new();
    let mut save = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--foldsym" => match args.next() {
                Some(path) => foldsym = path.into(),
                None => return usage(),
            },
            "--save" => save = true,
            _ if arg.starts_with('-') => return usage(),
            _ => programs.push(PathBuf::from(arg)),
        }
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: needs valgrind");
        return ExitCode::SUCCESS;
    }
    if !foldsym.is_file() {
        println!("skipped: {} is not built", foldsym.display());
        return ExitCode::SUCCESS;
    }
    match count_all(&root, &foldsym, programs, save) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: icount [--foldsym PATH] [--save] [PROGRAM]...");
    ExitCode::from(2)
}

fn count_all(root: &Path, foldsym: &Path, mut programs: Vec<PathBuf>, save: bool) -> Result<()> {
    if programs.is_empty() {
        programs = default_programs(&root.join("testbins/built"))?;
    }
    let store = root.join("benches/icount.json");
    let mut stored: Map<String, Value> = match std::fs::read(&store) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(_) => Map::new(),
    };
    let mut measured = Map::new();
    for program in &programs {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let counts = count(foldsym, program)?;
        for key in COUNTS {
            let now = counts[key].as_u64().unwrap_or(0);
            match stored.get(&name).and_then(|old| old[key].as_u64()) {
                Some(old) => {
                    println!("{name}: {key} {now}, stored {old}, ratio {:.4}", now as f64 / old as f64)
                }
                None => println!("{name}: {key} {now}, none stored"),
            }
        }
        measured.insert(name, counts);
    }
    if save {
        stored.extend(measured);
        stored.insert("versions".into(), json!(versions()));
        std::fs::write(&store, serde_json::to_string_pretty(&stored)? + "\n")?;
        println!("saved benches/icount.json");
    }
    Ok(())
}

fn default_programs(built: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(built)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    files.sort();
    for prefix in DEFAULTS {
        // Only ELF files: there are texts next to the programs.
        let matches = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
                && std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
        };
        let found: Vec<PathBuf> = files.iter().filter(matches).cloned().collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(format!("{}: no {}; name a program", built.display(), DEFAULTS.join("*, no ")).into())
}

/// Counts change with the compiler and the C library as well as with our code.
fn versions() -> Vec<String> {
    let first_line = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
    };
    ["valgrind", "rustc"].iter().filter_map(|program| first_line(program)).collect()
}

fn count(foldsym: &Path, program: &Path) -> Result<Value> {
    let dir = std::env::temp_dir().join(format!("foldsym-icount-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let counts = count_in(&dir, foldsym, program);
    std::fs::remove_dir_all(&dir)?;
    counts
}

fn count_in(dir: &Path, foldsym: &Path, program: &Path) -> Result<Value> {
    let output = dir.join("out.fsym");
    let mut convert = under_callgrind(foldsym, dir);
    convert.arg("convert").arg(program).arg("-o").arg(&output);
    convert.args(["--threads", "1", "--quiet"]);
    let convert = instructions(&mut convert)?;

    let addresses = spread_addresses(&std::fs::read(program)?, LOOKUPS + 1)?;
    let look_up = |addresses: &[u64]| {
        let mut command = under_callgrind(foldsym, dir);
        command.arg("lookup").arg(&output).args(addresses.iter().map(|address| format!("{address:#x}")));
        instructions(&mut command)
    };
    let one = look_up(addresses.get(..1).ok_or("no code")?)?;
    let many = look_up(&addresses)?;
    Ok(json!({
        "convert": convert,
        "lookup_one": one,
        "lookup_each": many.saturating_sub(one) / LOOKUPS,
    }))
}

fn under_callgrind(foldsym: &Path, dir: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind");
    command.arg(format!("--callgrind-out-file={}", dir.join("callgrind.out").display()));
    command.arg(foldsym);
    command
}

/// Runs a command under callgrind and reads the `Collected : N` line that it ends with.
fn instructions(command: &mut Command) -> Result<u64> {
    let finished = process::run(command)?;
    let text = String::from_utf8_lossy(&finished.stderr);
    if !finished.success {
        return Err(format!("{command:?} failed:\n{text}").into());
    }
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    let (_, number) = line.ok_or("callgrind said no count")?;
    Ok(number.trim().parse()?)
}

/// `count` addresses at equal steps through the code sections.
fn spread_addresses(bytes: &[u8], count: u64) -> Result<Vec<u64>> {
    let object = object::File::parse(bytes)?;
    let sections: Vec<(u64, u64)> = object
        .sections()
        .filter(|section| section.kind() == object::SectionKind::Text && section.size() > 0)
        .map(|section| (section.address(), section.size()))
        .collect();
    let total: u64 = sections.iter().map(|(_, size)| size).sum();
    let at = |place: u64| {
        let mut rest = place;
        sections.iter().find_map(|&(address, size)| {
            if rest < size {
                return Some(address + rest);
            }
            rest -= size;
            None
        })
    };
    Ok((0..count).filter_map(|index| at(total * index / count)).collect())
}
