//! Answers addresses from an exported file by the readers of others, all in one text form.
//!
//! `readback READER FILE < ADDRESSES`: one address per line, hexadecimal. An answer has one line per frame, the innermost first: name, path
//! and line, separated by tabs; then an empty line. If a reader has merged functions at one address, each but the first follows a line `+`.
//! No frame means that the reader found nothing.

mod breakpad;
mod gsym;

use std::io::{BufRead, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "readback gsym-rs|gsym-rs-merged|blazesym|symbolic|breakpad-symbols FILE < ADDRESSES";

/// A frame as a reader gives it.
struct Frame {
    name: String,
    /// Empty if it gives none.
    path: String,
    /// 0 if it gives none.
    line: u32,
}

/// The functions at an address, each with its frames from the inside out.
type Answer = Vec<Vec<Frame>>;

/// An opened file.
trait Reader {
    fn answer(&mut self, address: u64) -> Result<Answer, String>;
}

fn open(reader: &str, path: &Path) -> Result<Box<dyn Reader>, String> {
    Ok(match reader {
        "gsym-rs" => Box::new(gsym::GsymRs::open(path)?),
        "gsym-rs-merged" => Box::new(gsym::Merged::open(path)?),
        "blazesym" => Box::new(gsym::Blazesym::open(path)?),
        "symbolic" => Box::new(breakpad::Symbolic::open(path)?),
        "breakpad-symbols" => Box::new(breakpad::Minidump::open(path)?),
        _ => return Err(HELP.to_owned()),
    })
}

/// A folder and a name as one path.
fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder if folder.ends_with('/') => format!("{folder}{name}"),
        folder => format!("{folder}/{name}"),
    }
}

fn run(args: &[String]) -> Result<(), String> {
    let [reader, file] = args else { return Err(HELP.to_owned()) };
    let mut reader = open(reader, file.as_ref()).map_err(|error| format!("{file}: {error}"))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let digits = line.trim_start_matches("0x");
        let address = u64::from_str_radix(digits, 16).map_err(|error| format!("{line}: {error}"))?;
        let answer = reader.answer(address).map_err(|error| format!("{line}: {error}"))?;
        let mut text = String::new();
        for (number, function) in answer.iter().enumerate() {
            if number > 0 {
                text.push_str("+\n");
            }
            for frame in function {
                text.push_str(&format!("{}\t{}\t{}\n", frame.name, frame.path, frame.line));
            }
        }
        writeln!(out, "{text}").map_err(|error| error.to_string())?;
    }
    out.flush().map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
