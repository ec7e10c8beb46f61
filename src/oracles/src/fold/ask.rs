//! Stacks to answers: our own, and those of `llvm-gsymutil`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use foldsym_testkit::stacks::{Answer, Candidate, Stack, same_function};
use serde_json::Value;

use crate::json::{self, Answered};
use crate::ours;
use xtask::sh;

/// Runs the converter and the reader that were built.
pub(crate) struct Foldsym {
    program: PathBuf,
}

impl Foldsym {
    /// Builds ours, or takes another build.
    ///
    /// # Errors
    /// A build that fails.
    pub(crate) fn build(other: Option<PathBuf>) -> Result<Foldsym, String> {
        if let Some(program) = other {
            return Ok(Foldsym { program });
        }
        Ok(Foldsym { program: ours::build("foldsym", &["foldsym"])?.join("foldsym") })
    }

    /// The command.
    pub(crate) fn path(&self) -> &Path {
        &self.program
    }

    /// # Errors
    /// The converter's own message.
    pub(crate) fn convert(&self, program: &Path, out: &Path) -> Result<(), String> {
        let mut convert = Command::new(&self.program);
        convert.arg("convert").arg(program).arg("-o").arg(out).args(["--quiet"]);
        sh::output(&mut convert).map(|_| ())
    }

    /// The answers to lines of `stack`, one for each address.
    ///
    /// # Errors
    /// A process that fails, or answers that are none.
    pub(crate) fn stacks(
        &self,
        fsym: &Path,
        base: u64,
        lines: &[String],
    ) -> Result<Vec<Vec<Answer>>, String> {
        let answers = self.ask("stack", fsym, base, lines)?;
        Ok(answers.iter().map(|stack| stack["Frames"].items().iter().map(answer).collect()).collect())
    }

    /// The answers to requests over modules, whose files are given; one for each frame.
    ///
    /// # Errors
    /// As [`Foldsym::stacks`].
    pub(crate) fn processes(&self, fsyms: &[PathBuf], lines: &[String]) -> Result<Vec<Vec<Answer>>, String> {
        let first = fsyms.first().ok_or("no module")?;
        let mut command = Command::new(&self.program);
        command.args(["stack", "--json", "--no-demangle"]);
        fsyms.iter().for_each(|fsym| _ = command.arg("--search").arg(fsym));
        let answers = asked(&mut command, "stack", first, lines)?;
        Ok(answers.iter().map(|stack| stack["Frames"].items().iter().map(answer).collect()).collect())
    }

    /// The answers to addresses.
    ///
    /// # Errors
    /// As [`Foldsym::stacks`].
    pub(crate) fn lookup(&self, fsym: &Path, addresses: &[u64]) -> Result<Vec<Value>, String> {
        let lines: Vec<String> = addresses.iter().map(|address| format!("{address:#x}")).collect();
        self.ask("lookup", fsym, 0, &lines)
    }

    /// The basic blocks of addresses; `Null` for one in none.
    ///
    /// # Errors
    /// As [`Foldsym::stacks`].
    pub(crate) fn blocks(&self, fsym: &Path, addresses: &[u64]) -> Result<Vec<Value>, String> {
        let input = fsym.with_extension("blocks.in");
        let text: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
        std::fs::write(&input, text).map_err(|e| format!("{}: {e}", input.display()))?;
        let mut command = Command::new(&self.program);
        command.arg("lookup").arg(fsym).args(["--json", "--no-demangle", "--blocks"]);
        let output = sh::filter(&mut command, &input)?;
        // The last member of each answer; the frames before it need not be read.
        let block = |line: &str| match line.rsplit_once("\"BasicBlock\":") {
            Some((_, rest)) => json::parse(rest.strip_suffix('}').unwrap_or(rest)),
            None => Err(format!("foldsym lookup --blocks: {line}")),
        };
        let blocks: Vec<Value> = output.lines().map(block).collect::<Result<_, _>>()?;
        let count = addresses.len();
        if blocks.len() == count { Ok(blocks) } else { Err(format!("{} answers to {count}", blocks.len())) }
    }

    fn ask(&self, word: &str, fsym: &Path, base: u64, lines: &[String]) -> Result<Vec<Value>, String> {
        let mut command = Command::new(&self.program);
        command.arg(word).arg(fsym).args(["--json", "--no-demangle", "--base", &format!("{base:#x}")]);
        asked(&mut command, word, fsym, lines)
    }
}

/// What a command answers to lines, which are put beside `fsym`.
fn asked(command: &mut Command, word: &str, fsym: &Path, lines: &[String]) -> Result<Vec<Value>, String> {
    let input = fsym.with_extension(format!("{word}.in"));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&input, text).map_err(|e| format!("{}: {e}", input.display()))?;
    let output = sh::filter(command, &input)?;
    let answers: Vec<Value> = output.lines().map(json::parse).collect::<Result<_, _>>()?;
    if answers.len() != lines.len() {
        return Err(format!("foldsym {word}: {} answers to {} lines", answers.len(), lines.len()));
    }
    Ok(answers)
}

/// One answer in the form that is judged.
pub(crate) fn answer(json: &Value) -> Answer {
    let candidates = match &json["Candidates"] {
        Value::Array(candidates) => {
            let one = |c: &Value| Candidate {
                guessed_lines: c["How"].text() == "symbol_order",
                ..candidate(c["LinkageName"].text(), &c["Aliases"], &c["Symbol"])
            };
            candidates.iter().map(one).collect()
        }
        _ => {
            let frames = json["Symbol"].items();
            let outermost = frames.last().unwrap_or(&Value::Null);
            let name = outermost["LinkageName"].text();
            vec![Candidate {
                // Of a candidate that is the only one.
                guessed_lines: json["How"].text() == "symbol_order",
                ..candidate(name, &outermost["Aliases"], &json["Symbol"])
            }]
        }
    };
    Answer { certainty: json["Certainty"].text().to_owned(), candidates }
}

fn candidate(name: &str, aliases: &Value, symbol: &Value) -> Candidate {
    let mut names = vec![name.to_owned()];
    names.extend(aliases.items().iter().map(|alias| alias.text().to_owned()));
    let frame = |frame: &Value| {
        let text = |key: &str| frame[key].text().to_owned();
        // The file of an inlined frame is its own; of the outermost it is where the function is declared.
        let file = if text("StartFileName").is_empty() { text("FileName") } else { text("StartFileName") };
        (text("LinkageName"), file, frame["Line"].number())
    };
    Candidate { names, frames: symbol.items().iter().map(frame).collect(), guessed_lines: false }
}

/// What `llvm-gsymutil --merged-functions` makes of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gsym {
    /// Functions that it stores beside the first one of their address.
    pub(super) merged: usize,
    pub(super) frames: usize,
    /// Frames whose function it names first.
    pub(super) right: usize,
    /// Frames whose function is one of those that it gives for the address.
    pub(super) among: usize,
}

/// # Errors
/// The tool is missing or fails.
pub(super) fn gsym(program: &Path, stacks: &[Stack]) -> Result<Gsym, String> {
    let file = program.with_extension("gsym");
    let tool = sh::llvm("llvm-gsymutil")?;
    let mut convert = Command::new(&tool);
    convert.args(["--quiet", "--merged-functions", "--num-threads=1", "--convert"]);
    sh::output(convert.arg(program).arg("--out-file").arg(&file))?;
    let dump = sh::output(Command::new(&tool).arg(&file))?;
    let merged =
        dump.lines().filter(|line| line.trim_start().starts_with("++ Merged FunctionInfos[")).count();
    let asked = stacks.iter().flat_map(|stack| {
        let places = stack.addresses.iter().zip(&stack.frames).enumerate();
        places.map(|(at, (address, truth))| (address - stack.bias - u64::from(at > 0), truth))
    });
    let asked: Vec<_> = asked.filter(|(_, truth)| truth.line > 0).collect();
    let mut addresses: Vec<u64> = asked.iter().map(|(address, _)| *address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let mut answers: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    // The tool reads all addresses of one run from its arguments.
    for some in addresses.chunks(500) {
        let mut lookup = Command::new(&tool);
        lookup.args(["--merged-functions"]).args(some.iter().map(|a| format!("--address={a:#x}"))).arg(&file);
        collect(&sh::output(&mut lookup)?, &mut answers);
    }
    let mut found = Gsym { merged, frames: asked.len(), ..Gsym::default() };
    for (address, truth) in &asked {
        let names = answers.get(address).map_or(&[][..], |names| names.as_slice());
        found.right += usize::from(names.first().is_some_and(|name| same_function(name, &truth.name)));
        found.among += usize::from(names.iter().any(|name| same_function(name, &truth.name)));
    }
    Ok(found)
}

/// The outermost names for each address, from what the tool prints: `ADDRESS: NAME + OFFSET @ FILE:LINE`, inlined frames
/// first and marked, then the function that holds them; with merged functions a block for each.
fn collect(text: &str, answers: &mut BTreeMap<u64, Vec<String>>) {
    let mut address = None;
    for line in text.lines() {
        let mut rest = line.trim_start();
        if let Some((number, after)) = rest.strip_prefix("0x").and_then(|rest| rest.split_once(": "))
            && let Ok(number) = u64::from_str_radix(number, 16)
        {
            address = Some(number);
            rest = after;
        }
        let (Some(address), false) = (address, rest.contains("[inlined]")) else { continue };
        let name = rest.split([' ', ':']).next().unwrap_or_default();
        let known = rest.contains(" @ ") || rest.contains(" + ");
        if known && !name.is_empty() {
            answers.entry(address).or_default().push(name.to_owned());
        }
    }
}
