//! Compares the answers of other readers from files that `foldsym export` wrote with those of `foldsym lookup` for the same addresses.
//!
//! The crates among them live in `benches/compare/readback`, a program that is built here and gives all of their answers in
//! one form; LLVM's tools are run as installed.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::why::{EXAMPLES, Reader, ReaderAnswer, ReaderFrame, why};
use crate::fold::Foldsym;
use serde_json::Value;

use crate::json::{self, Answered};
use crate::llvm::readelf;
use xtask::sh;

/// The program with the readers that are crates. It is large, and written in Rust, so it also serves as a program to look up.
///
/// # Errors
/// It cannot be built.
pub(super) fn build() -> Result<PathBuf, String> {
    let target = sh::target_dir().join("peers");
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--package", "foldsym-readback", "--manifest-path"]);
    build.arg(sh::root().join("benches/compare/Cargo.toml")).arg("--target-dir").arg(&target);
    // With lines, whatever the environment says of other builds.
    sh::run(build.env("CARGO_PROFILE_DEV_DEBUG", "2"))?;
    Ok(target.join("debug/readback"))
}

/// One program with its exported files.
pub(super) struct Exported<'e> {
    pub(super) foldsym: &'e Foldsym,
    /// The program with the crates.
    pub(super) readers: &'e Path,
    /// Where the files are written.
    pub(super) folder: &'e Path,
    /// A copy of the program in `folder`.
    pub(super) program: &'e Path,
    pub(super) file: &'e Path,
    pub(super) addresses: &'e [u64],
}

impl Exported<'_> {
    /// Exports and runs every reader. Returns how many answers differ for no known reason, and whether code was folded.
    ///
    /// # Errors
    /// A tool that fails, or a file that a reader refuses.
    pub(super) fn ask(&self) -> Result<(usize, bool), String> {
        let own: Vec<ReaderAnswer> =
            self.foldsym.lookup(self.file, self.addresses)?.iter().map(of_lookup).collect();
        let gsym = self.export("--gsym", "program.gsym")?;
        let gsym2 = self.export("--gsym2", "program.gsym2")?;
        let breakpad = self.export("--breakpad", "program.sym")?;
        let base = base_of(self.program)?;
        let mut bad = 0;
        let mut judge = |reader: Reader, version: &str, found: Vec<ReaderAnswer>| {
            bad += self.judge(reader, version, base, &own, &found);
        };
        judge(Reader::Symbolizer, "1", self.symbolizer(self.program)?);
        judge(Reader::Gsymutil, "1", self.gsymutil(&gsym, false)?);
        judge(Reader::GsymutilMerged, "1", self.gsymutil(&gsym, true)?);
        judge(Reader::Blazesym, "1", self.by_crate(Reader::Blazesym, &gsym, 0)?);
        for (version, gsym) in [("1", &gsym), ("2", &gsym2)] {
            for reader in [Reader::GsymRs, Reader::GsymRsMerged] {
                judge(reader, version, self.by_crate(reader, gsym, 0)?);
            }
        }
        for reader in [Reader::Symbolic, Reader::Minidump] {
            judge(reader, "Breakpad", self.by_crate(reader, &breakpad, base)?);
        }
        // The other tests of this program need the symbolizer without the file beside it.
        std::fs::remove_file(&gsym).map_err(|error| format!("{}: {error}", gsym.display()))?;
        bad += self.survivors(&own)?;
        Ok((bad, own.iter().any(|own| own.len() > 1)))
    }

    fn export(&self, format: &str, name: &str) -> Result<PathBuf, String> {
        let out = self.folder.join(name);
        let mut command = Command::new(self.foldsym.path());
        command.args(["export", "--no-demangle", format, "-o"]).arg(&out).arg(self.file);
        sh::output(&mut command)?;
        Ok(out)
    }

    /// Prints how a reader's answers differ from ours. Returns how many differ for no known reason. Breakpad's addresses count from `base`.
    fn judge(
        &self,
        reader: Reader,
        version: &str,
        base: u64,
        own: &[ReaderAnswer],
        found: &[ReaderAnswer],
    ) -> usize {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        let mut unnamed = Vec::new();
        let mut functions = 0;
        for ((own, found), address) in own.iter().zip(found).zip(self.addresses) {
            functions += found.len();
            let beyond = address.wrapping_sub(base) > u32::MAX.into();
            match why(reader, own, found) {
                Ok(None) => {}
                Err(_) if reader == Reader::Symbolic && beyond && found.is_empty() => {
                    *reasons.entry("symbolic has 32 bits for an address").or_insert(0) += 1;
                }
                Ok(Some(reason)) => *reasons.entry(reason).or_insert(0) += 1,
                Err(what) => {
                    unnamed.push(format!("{address:#x} {what}\n      ours {own:?}\n      its  {found:?}"))
                }
            }
        }
        let version = if version == "Breakpad" { version.to_owned() } else { format!("GSYM {version}") };
        println!(
            "  {version} by {}: {functions} functions, {} differ without a reason; with one: {reasons:?}",
            reader.name(),
            unnamed.len()
        );
        for example in unnamed.iter().take(EXAMPLES) {
            println!("    {example}");
        }
        unnamed.len() + own.len().abs_diff(found.len())
    }

    /// llvm-symbolizer, which takes the GSYM file beside the program.
    fn symbolizer(&self, program: &Path) -> Result<Vec<ReaderAnswer>, String> {
        let mut command = Command::new(sh::llvm("llvm-symbolizer")?);
        command.args(["--output-style=JSON", "--no-demangle", "--obj"]).arg(program);
        let text = sh::filter(&mut command, &self.input("symbolizer.in", "")?)?;
        let answer = |line: &str| json::parse(line).map(|json| present(vec![frames(&json["Symbol"])]));
        text.lines().map(answer).collect()
    }

    fn by_crate(&self, reader: Reader, file: &Path, base: u64) -> Result<Vec<ReaderAnswer>, String> {
        let input = self.folder.join("readback.in");
        let lines = self.addresses.iter().map(|address| format!("{:#x}\n", address.wrapping_sub(base)));
        std::fs::write(&input, lines.collect::<String>())
            .map_err(|error| format!("{}: {error}", input.display()))?;
        let mut command = Command::new(self.readers);
        let text = sh::filter(command.arg(reader.name()).arg(file), &input)?;
        let mut answers = vec![Vec::new()];
        for line in text.lines() {
            let Some(answer) = answers.last_mut() else { break };
            match line.split('\t').collect::<Vec<_>>()[..] {
                [""] => answers.push(Vec::new()),
                ["+"] => answer.push(Vec::new()),
                [name, path, line] => {
                    if answer.is_empty() {
                        answer.push(Vec::new());
                    }
                    let line = line.parse().map_err(|_| format!("readback: {line}"))?;
                    let frame = ReaderFrame { name: name.to_owned(), path: path.to_owned(), line };
                    answer.last_mut().ok_or("readback: no function")?.push(frame);
                }
                _ => return Err(format!("readback: {line}")),
            }
        }
        // An empty line follows the last answer, too.
        answers.pop();
        Ok(answers)
    }

    /// `llvm-gsymutil --address`. It is silent about an address that it does not know, or says so.
    fn gsymutil(&self, gsym: &Path, merged: bool) -> Result<Vec<ReaderAnswer>, String> {
        let mut command = Command::new(sh::llvm("llvm-gsymutil")?);
        command.arg("--addresses-from-stdin").args(merged.then_some("--merged-functions"));
        let text = sh::filter(&mut command, &self.input("gsymutil.in", &format!(" {}", gsym.display()))?)?;
        let mut found: HashMap<u64, ReaderAnswer> = HashMap::new();
        for block in text.split("\n\n") {
            if let Some((address, frames)) = gsymutil_frames(block)? {
                found.entry(address).or_default().push(frames);
            }
        }
        Ok(self.addresses.iter().map(|address| found.get(address).cloned().unwrap_or_default()).collect())
    }

    /// The addresses, each followed by `after`.
    fn input(&self, name: &str, after: &str) -> Result<PathBuf, String> {
        let input = self.folder.join(name);
        let lines = self.addresses.iter().map(|address| format!("{address:#x}{after}\n"));
        std::fs::write(&input, lines.collect::<String>())
            .map_err(|error| format!("{}: {error}", input.display()))?;
        Ok(input)
    }

    /// For folded code: whether the outer function of the GSYM file is the survivor. Only the survivor's code has an address in the debug
    /// information, and llvm-symbolizer finds it there unless a symbol overrides the name. Returns how often it is another function.
    fn survivors(&self, own: &[ReaderAnswer]) -> Result<usize, String> {
        if own.iter().all(|own| own.len() < 2) {
            return Ok(0);
        }
        let bare = self.folder.join("program.bare");
        let mut strip = Command::new(sh::llvm("llvm-objcopy")?);
        sh::output(strip.args(["--strip-all", "--keep-section=.debug*"]).arg(self.program).arg(&bare))?;
        let real = self.symbolizer(&bare)?;
        // The debug information of a part that the compiler split off (`.cold`) has the name of the whole.
        let name = |answer: &ReaderAnswer| {
            let outer = answer.first().and_then(|frames| frames.last())?;
            outer.name.split('.').next().map(str::to_owned)
        };
        let folded = own.iter().zip(&real).filter(|(own, real)| own.len() > 1 && !real.is_empty());
        let (same, other): (Vec<_>, Vec<_>) = folded.partition(|(own, real)| name(own) == name(real));
        // gold and other linkers keep the address of every function in the debug information, so the function that is found there proves
        // nothing.
        let lld = readelf::comment(self.program)?.contains("Linker: LLD");
        println!(
            "  folded code: the outer function is that of the debug information at {} addresses, another at {}{}",
            same.len(),
            other.len(),
            if lld { "" } else { " (no fault where the linker is not known to be lld)" }
        );
        if !lld {
            return Ok(0);
        }
        for (own, real) in other.iter().take(EXAMPLES) {
            println!("    ours {:?}, in the debug information {:?}", name(own), name(real));
        }
        Ok(other.len())
    }
}

/// Our answer: every function of a group, the first of which others take for the one.
fn of_lookup(answer: &Value) -> ReaderAnswer {
    match &answer["Candidates"] {
        Value::Array(candidates) => candidates.iter().map(|candidate| frames(&candidate["Symbol"])).collect(),
        _ => present(vec![frames(&answer["Symbol"])]),
    }
}

fn frames(symbol: &Value) -> Vec<ReaderFrame> {
    let frame = |frame: &Value| ReaderFrame {
        name: frame["FunctionName"].text().to_owned(),
        path: frame["FileName"].text().to_owned(),
        line: frame["Line"].number(),
    };
    symbol.items().iter().map(frame).collect()
}

/// No function if the only frame has no data.
fn present(answer: ReaderAnswer) -> ReaderAnswer {
    match &answer[..] {
        [frames] if frames.iter().all(|frame| *frame == ReaderFrame::default()) => Vec::new(),
        _ => answer,
    }
}

/// One function of llvm-gsymutil's text, with its address.
fn gsymutil_frames(block: &str) -> Result<Option<(u64, Vec<ReaderFrame>)>, String> {
    let mut asked = None;
    let mut frames = Vec::new();
    for line in block.lines().map(str::trim) {
        if line.is_empty() || line.starts_with("Found ") || line.starts_with("CallSites:") {
            continue;
        }
        let line = match line.strip_prefix("0x").and_then(|rest| rest.split_once(": ")) {
            Some((digits, rest)) => {
                asked = Some(u64::from_str_radix(digits, 16).map_err(|_| line.to_owned())?);
                rest
            }
            None => line,
        };
        if line.starts_with("error: ") {
            return Ok(None);
        }
        let line = line.strip_suffix(" [inlined]").unwrap_or(line);
        let (name, place) = line.rsplit_once(" @ ").unwrap_or((line, ""));
        let (path, number) = place.rsplit_once(':').unwrap_or(("", "0"));
        let name = match name.rsplit_once(" + ") {
            Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => name,
        };
        let number = number.parse().map_err(|_| format!("llvm-gsymutil: {line}"))?;
        frames.push(ReaderFrame { name: name.to_owned(), path: path.to_owned(), line: number });
    }
    Ok(asked.map(|address| (address, frames)))
}

/// The address of the first segment that is loaded, from which Breakpad counts.
fn base_of(program: &Path) -> Result<u64, String> {
    readelf::first_segment(program)?.ok_or_else(|| format!("{}: no segment is loaded", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_gsymutil() {
        let text = "0x0000000000001010: inner + 3 @ a/b.c:7 [inlined]\n    outer(int) + 16 @ c.c:9";
        let frame = |name: &str, path: &str, line| ReaderFrame { name: name.into(), path: path.into(), line };
        let frames = vec![frame("inner", "a/b.c", 7), frame("outer(int)", "c.c", 9)];
        assert_eq!(gsymutil_frames(text), Ok(Some((0x1010, frames))));
        let bare = "Found 1 function at address 0x0000000000001010:\n   0x0000000000001010: _start";
        assert_eq!(gsymutil_frames(bare), Ok(Some((0x1010, vec![frame("_start", "", 0)]))));
        assert_eq!(gsymutil_frames("0x0000000000000001: error: address 0x1 is not in GSYM"), Ok(None));
    }
}
