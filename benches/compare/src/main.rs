//! Measures foldsym and its peers side by side, each step of each tool in a process of its own.
//!
//! A person runs `compare [--input FILE]... [--json] [--only TOOL]... [--runs N]`. It runs the `worker-*` words itself, so that the system
//! accounts for one tool at a time.
//!
//! This process reads neither inputs nor outputs: on Linux a child's peak memory counts what its
//! parent held (see [`foldsym_benches::process`]).

mod bars;
mod beside;
mod child;
mod commands;
mod figures;
mod lookup;
mod options;
mod run;
mod sample;
mod table;
mod tools;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some(word) if word.starts_with("worker-") => worker::work(word, &args[1..]),
        _ => match options::parse(&args) {
            Ok(options) => run::compare(&options),
            Err(text) => {
                eprintln!("{text}");
                return ExitCode::from(2);
            }
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}
