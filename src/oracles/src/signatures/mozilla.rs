//! Signatures by Mozilla's rules (the package `siggen`) on the frames that `llvm-symbolizer` names.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::fault::fault;
use crate::fold::Recorded;
use crate::json::{Answered, parse};
use xtask::sh;

/// Reads a stack a line and prints its signature.
const SCRIPT: &str = "
import json, sys
from siggen.generator import SignatureGenerator
generator = SignatureGenerator()
for line in sys.stdin:
    frames = json.loads(line)
    crash = {'os': 'Linux', 'crashing_thread': 0, 'threads': [{'frames': frames}]}
    print(json.dumps(generator.generate(crash).signature))
";

/// The signature of each stack; empty for one that was not printed whole.
///
/// # Errors
/// Python has no `siggen`, or a tool fails.
pub(super) fn signatures(python: &Path, program: &Recorded, dir: &Path) -> Result<Vec<String>, String> {
    let known = symbolized(program, dir)?;
    let name = program.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut input = String::new();
    for stack in &program.stacks {
        let frame = |(address, _): (u64, &str)| {
            let symbols = known.get(&address).map_or(&[][..], |answer| answer["Symbol"].items());
            let (outer, inlined) = symbols.split_last()?;
            let function = |symbol: &Value| json!({"function": symbol["FunctionName"], "file": symbol["FileName"], "line": symbol["Line"]});
            let mut frame = function(outer);
            frame["module"] = json!(name);
            frame["inlines"] = inlined.iter().map(function).collect();
            Some(frame)
        };
        let frames: Vec<Value> = stack.iter().flat_map(fault).filter_map(frame).collect();
        input += &format!("{}\n", Value::from(frames));
    }
    let path = dir.join("siggen.in");
    std::fs::write(&path, input).map_err(|error| format!("{}: {error}", path.display()))?;
    let output = sh::filter(Command::new(python).args(["-c", SCRIPT]), &path)?;
    output.lines().map(|line| Ok(parse(line)?.text().to_owned())).collect()
}

/// What `llvm-symbolizer` answers to each address of the stacks.
fn symbolized(program: &Recorded, dir: &Path) -> Result<HashMap<u64, Value>, String> {
    let all = program.stacks.iter().flatten();
    let mut addresses: Vec<u64> = all.flat_map(fault).map(|(address, _)| address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let path = dir.join("symbolizer.in");
    let text: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut command = Command::new(sh::llvm("llvm-symbolizer")?);
    let output = sh::filter(command.arg("--output-style=JSON").arg("--obj").arg(&program.path), &path)?;
    let answers = output.lines().map(parse).collect::<Result<Vec<Value>, _>>()?;
    Ok(addresses.into_iter().zip(answers).collect())
}
