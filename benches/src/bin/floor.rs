//! Times the floor: the bare walk of [`foldsym_benches::floor`] over each given program.
//!
//! `floor [--threads N]... FILE...` prints, for each file and thread count, one line of text on
//! standard error and one JSON object on standard output. Each measurement is a process of its own.

use foldsym_benches::{floor, process};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "usage: floor [--threads N]... FILE...";

fn main() -> ExitCode {
    let mut threads: Vec<usize> = Vec::new();
    let mut files = Vec::new();
    let mut worker = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--threads" => match args.next().and_then(|value| value.parse().ok()) {
                Some(count) => threads.push(count),
                None => return usage(),
            },
            "--worker" => worker = true,
            _ if arg.starts_with('-') => return usage(),
            _ => files.push(arg),
        }
    }
    if files.is_empty() {
        return usage();
    }
    if threads.is_empty() {
        threads.push(1);
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        if all > 1 {
            threads.push(all);
        }
    }
    let mut failed = false;
    for file in &files {
        for &count in &threads {
            let result = if worker { measure(file, count) } else { spawn(file, count) };
            if let Err(error) = result {
                eprintln!("{file}: {error}");
                failed = true;
            }
        }
    }
    if failed { ExitCode::from(3) } else { ExitCode::SUCCESS }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Measures in a fresh process: peak memory is the process's, over its whole life.
fn spawn(file: &str, threads: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    let status = command.args(["--worker", "--threads", &threads.to_string(), file]).status()?;
    if status.success() { Ok(()) } else { Err("the walk failed".into()) }
}

fn measure(file: &str, threads: usize) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let counts = floor::walk_file(Path::new(file), threads)?;
    let wall_s = start.elapsed().as_secs_f64();
    let cost = process::own();
    eprintln!(
        "{file}: {threads} thread(s), {:.3} s CPU, {wall_s:.3} s wall, {:.1} MB peak; \
         {} units, {} entries, {} attributes, {} line programs, {} rows",
        cost.cpu_s,
        cost.peak_kb as f64 / 1024.0,
        counts.units,
        counts.dies,
        counts.attributes,
        counts.line_programs,
        counts.rows,
    );
    println!(
        "{}",
        serde_json::json!({
            "input": file, "tool": "floor", "threads": threads,
            "cpu_s": cost.cpu_s, "wall_s": wall_s, "peak_kb": cost.peak_kb,
            "units": counts.units, "dies": counts.dies, "attributes": counts.attributes,
            "line_programs": counts.line_programs, "rows": counts.rows,
        })
    );
    Ok(())
}
