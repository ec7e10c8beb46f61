//! `cargo xtask stacks`: gdb stops a program at random instructions of its functions and its libraries', and writes a core at each stop;
//! `foldsym symbolize` walks each core by section UNWIND alone, and every program counter must be the one that gdb found.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::json::{self, Answered};
use crate::sh;

const HELP: &str = "cargo xtask stacks PROGRAM [LIBRARY...] [--stops N] [--foldsym PATH] [-- ARGUMENT...]

Needs gdb with Python, and nm. LIBRARY is a library of the process, whose functions are stopped in too.";

/// Functions that get a breakpoint, for each stop that is wanted: most are never called.
const FOR_EACH: usize = 40;

struct Options {
    programs: Vec<PathBuf>,
    arguments: Vec<String>,
    stops: usize,
    foldsym: Option<PathBuf>,
}

fn parse(args: &[String]) -> Result<Option<Options>, String> {
    let mut options = Options { programs: Vec::new(), arguments: Vec::new(), stops: 50, foldsym: None };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" => return Ok(None),
            "--stops" => {
                let stops = args.next().and_then(|stops| stops.parse().ok());
                options.stops = stops.ok_or("--stops needs a number")?;
            }
            "--foldsym" => options.foldsym = Some(args.next().ok_or("--foldsym needs a path")?.into()),
            "--" => options.arguments.extend(args.by_ref().cloned()),
            program if !program.starts_with('-') => options.programs.push(program.into()),
            other => return Err(format!("unknown argument {other}\n{HELP}")),
        }
    }
    Ok(Some(options).filter(|options| !options.programs.is_empty()))
}

/// Name, offset and size of functions of a program, in an order that has nothing to do with their addresses.
fn functions(program: &Path, count: usize) -> Result<Vec<String>, String> {
    let list = |dynamic: &[&str]| {
        sh::output(Command::new("nm").args(dynamic).args(["--defined-only", "-S"]).arg(program))
    };
    let mut text = list(&[]).unwrap_or_default();
    if text.trim().is_empty() {
        text = list(&["-D"])?;
    }
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [address, size, "t" | "T" | "W" | "i", name, ..] = words.as_slice() else { continue };
        let number = |text| u64::from_str_radix(text, 16).ok();
        if let (Some(address), Some(size @ 1..)) = (number(address), number(size)) {
            let hash = name.bytes().fold(0u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3).rotate_left(7)
            });
            found.push((hash, format!("{} {address} {size}", program.display())));
        }
    }
    found.sort();
    Ok(found.into_iter().take(count).map(|(_, line)| line).collect())
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let Some(options) = parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    let foldsym = sh::command_with_server(options.foldsym.as_deref())?;
    let scratch = sh::scratch("stacks")?;
    let _ = std::fs::remove_dir_all(&scratch);
    let store = scratch.join("store");
    sh::create_dir(&store)?;
    let mut lines = Vec::new();
    for program in &options.programs {
        lines.extend(functions(program, options.stops * FOR_EACH)?);
    }
    let put = |name: &str, text: &str| {
        let path = scratch.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display())).map(|()| path)
    };
    put("functions", &lines.join("\n"))?;
    let script = put("stacks.py", include_str!("gdb.py"))?;
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-x"]).arg(&script).arg("--args").arg(&options.programs[0]);
    gdb.args(&options.arguments).env("FOLDSYM_STACKS", &scratch);
    let said = sh::output(gdb.env("FOLDSYM_STOPS", options.stops.to_string()))?;
    let stops = said.lines().find_map(|line| line.strip_prefix("stops ")?.parse::<usize>().ok());
    let stops = stops.filter(|stops| *stops > 0).ok_or_else(|| format!("gdb stopped nowhere: {said}"))?;
    // All modules that have code, as their rows are needed above the functions too.
    let mut convert = Command::new(&foldsym);
    convert.args(["convert", "--quiet", "--unwind", "--store"]).arg(&store).args(&options.programs);
    let loaded = sh::output(Command::new("ldd").arg(&options.programs[0]))?;
    for path in loaded.lines().filter_map(|line| line.split(" => ").nth(1)?.split(' ').next()) {
        let path = PathBuf::from(path);
        if !options.programs.contains(&path) && path.is_absolute() {
            convert.arg(path);
        }
    }
    sh::run(&mut convert)?;
    let (mut frames, mut differ) = (0, 0);
    for stop in 0..stops {
        let truth = sh::read(&scratch.join(format!("{stop}.truth")))?;
        let truth: Vec<u64> = truth.lines().filter_map(|line| line.parse().ok()).collect();
        let core = scratch.join(format!("{stop}.core"));
        let printed = sh::output(
            Command::new(&foldsym).args(["symbolize", "--json", "--store"]).arg(&store).arg(&core),
        )?;
        let answer = json::parse(printed.trim_end())?;
        let found = |thread: &Value| -> Vec<u64> {
            let address = |frame: &Value| {
                let text = frame["Address"].text().trim_start_matches("0x").to_owned();
                u64::from_str_radix(&text, 16).ok()
            };
            thread["Frames"].items().iter().filter_map(address).collect()
        };
        // A core does not say which thread stopped: it is the one that stands where gdb stood.
        let threads: Vec<Vec<u64>> = answer["Threads"].items().iter().map(found).collect();
        let ours = threads.iter().find(|thread| thread.first() == truth.first()).cloned().unwrap_or_default();
        frames += truth.len();
        if ours != truth {
            differ += 1;
            println!("stacks: {}: {ours:x?}, gdb {truth:x?}", core.display());
        } else {
            let _ = std::fs::remove_file(&core);
        }
    }
    println!("stacks: {stops} stops, {frames} frames, {differ} stacks differ");
    if differ > 0 { Err("stacks differ from gdb's".to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let of = |args: &[&str]| parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        let options = of(&["a", "b", "--stops", "3", "--", "--help"]).unwrap().unwrap();
        assert_eq!((options.programs.len(), options.stops, options.arguments.len()), (2, 3, 1));
        assert!(of(&[]).unwrap().is_none() && of(&["--help"]).unwrap().is_none());
        assert!(of(&["--stops", "x"]).is_err() && of(&["--x"]).is_err());
    }
}
