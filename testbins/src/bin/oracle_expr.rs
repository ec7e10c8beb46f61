//! Compares our evaluator with gimli's on every location expression of programs; fails if any differs.
//!
//! `oracle_expr PROGRAM... [--seed N]`

use std::path::Path;
use std::process::ExitCode;

use foldsym_testbins::expressions::compare;
use foldsym_testbins::program::Program;

fn main() -> Result<ExitCode, Box<dyn std::error::Error + Send + Sync>> {
    let (mut seed, mut paths) = (1, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seed" => seed = args.next().ok_or("--seed needs a number")?.parse()?,
            _ => paths.push(arg),
        }
    }
    let mut code = ExitCode::SUCCESS;
    for path in &paths {
        let tally = compare(&Program::open(Path::new(path), None)?, seed)?;
        println!("{path}: {}", tally.line());
        for example in &tally.examples {
            println!("  {example}");
            code = ExitCode::FAILURE;
        }
    }
    if paths.is_empty() { Err("usage: oracle_expr PROGRAM... [--seed N]".into()) } else { Ok(code) }
}
