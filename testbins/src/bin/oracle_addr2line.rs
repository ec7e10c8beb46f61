//! Prints what the `addr2line` crate answers: addresses on standard input (hexadecimal, one a line), JSON frames out.
//!
//! `oracle_addr2line PROGRAM [--arch A]` prints one line for each address, innermost frame first:
//! `[{"LinkageName": "f", "FileName": "/src/a.c", "Line": 1, "Column": 2}]`. Names are not demangled.
//! The addresses of an `ET_REL` file are those that `Program::open` lays out.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use foldsym_testbins::oracle::Oracle;
use foldsym_testbins::program::Program;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (path, arch) = match args.as_slice() {
        [path] => (PathBuf::from(path), None),
        [path, flag, arch] if flag == "--arch" => (PathBuf::from(path), Some(arch.as_str())),
        _ => return Err("usage: oracle_addr2line PROGRAM [--arch A] < addresses".into()),
    };
    let program = Program::open(&path, arch)?;
    let sections = program.dwarf()?;
    let oracle = Oracle::new(&sections)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let digits = line.trim();
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        let address = u64::from_str_radix(digits, 16).map_err(|_| format!("not an address: {line}"))?;
        let frames: Vec<_> = oracle
            .frames(address)?
            .into_iter()
            .map(|f| {
                serde_json::json!({"LinkageName": f.name, "FileName": f.file, "Line": f.line, "Column": f.column})
            })
            .collect();
        writeln!(out, "{}", serde_json::Value::Array(frames))?;
    }
    out.flush()?;
    Ok(())
}
