//! Writes stacks of processes with eight modules as JSON lines, as a crash service keeps them: 100,000 stacks have 120 MB.
//!
//! `stacks [--count N] [--seed S] > stacks.jsonl`. The modules are eight programs of `testbins/built`; each line loads them at other addresses. A
//! stack is one that a program recorded when it ran, with callers in a second module; some come far more often than others. The same options give the same bytes. `--programs` prints the paths of the programs instead, for `foldsym convert`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use foldsym_benches::stacks::{Fleet, Numbers};

/// Options of the command line.
struct Args {
    count: u64,
    seed: u64,
    programs: bool,
}

fn args() -> Result<Args, String> {
    let mut args = Args { count: 100_000, seed: 1, programs: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            value.parse().map_err(|_| format!("{word}: {value:?} is not a number"))
        };
        match word.as_str() {
            "--count" => args.count = number()?,
            "--seed" => args.seed = number()?,
            "--programs" => args.programs = true,
            _ => return Err(format!("{word:?}: usage: stacks [--count N] [--seed S] [--programs]")),
        }
    }
    Ok(args)
}

fn run() -> Result<(), String> {
    let args = args()?;
    let built: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbins/built");
    let mut out = BufWriter::new(io::stdout().lock());
    let failed = |error: io::Error| format!("standard output: {error}");
    let fleet = Fleet::of(&built)?;
    if args.programs {
        for module in &fleet.modules {
            writeln!(out, "{}", module.program.display()).map_err(failed)?;
        }
        return out.flush().map_err(failed);
    }
    let mut numbers = Numbers::new(args.seed);
    for id in 0..args.count {
        writeln!(out, "{}", fleet.line(id, &mut numbers)).map_err(failed)?;
    }
    out.flush().map_err(failed)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
