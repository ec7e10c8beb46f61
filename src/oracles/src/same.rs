//! `cargo xtask same`: what an older build of the command and this checkout's make of the same programs, byte by byte.
//!
//! A change that only moves or renames code must leave every section that lookups read as it was. The record of how a file
//! was made, and the report, may say more than before: they are compared apart.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use xtask::sh;

const HELP: &str = "cargo xtask same OLD_BINARY [PROGRAM]... [OPTIONS]
  converts all of testbins/built and testbins/broken, what is there of the corpus and the C library's debug file, and the
  PROGRAMs, with OLD_BINARY and with this checkout's build, without options and with those that store more; fails for a file
  that one build alone makes, for another message or exit code, and for a difference in the header or in a section that
  lookups read. The record (section 15) and the report without its times are compared apart: what differs is printed
  --all          fails for them too
  --only TEXT    only programs whose path contains TEXT
  --new BINARY   another build in place of this checkout's (`cargo build --package foldsym`, the profile for development)";

/// The options of the conversions: none, and nearly all that change what is stored.
const FLAGS: [&[&str]; 2] = [&[], &["--columns", "--locations", "--name-index"]];

/// The section of the conversion record.
const RECORD: u32 = 15;

struct SameOptions {
    old: PathBuf,
    new: Option<PathBuf>,
    programs: Vec<PathBuf>,
    only: String,
    all: bool,
}

fn parse(args: &[String]) -> Result<SameOptions, String> {
    let (mut new, mut only, mut all) = (None, String::new(), false);
    let mut paths = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--all" => all = true,
            "--only" => only.clone_from(args.next().ok_or(HELP)?),
            "--new" => new = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            option if option.starts_with('-') => return Err(HELP.to_owned()),
            path => paths.push(PathBuf::from(path)),
        }
    }
    let mut paths = paths.into_iter();
    Ok(SameOptions { old: paths.next().ok_or(HELP)?, new, programs: paths.collect(), only, all })
}

/// See `HELP`.
///
/// # Errors
/// A usage error, a build that fails, a difference.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    let new = match &options.new {
        Some(new) => new.clone(),
        None => {
            sh::run(sh::cargo().args(["build", "--quiet", "--package", "foldsym"]))?;
            sh::target_dir().join("debug/foldsym")
        }
    };
    for binary in [&options.old, &new] {
        if !binary.is_file() {
            return Err(format!("{} is not there", binary.display()));
        }
    }
    let mut programs = inputs()?;
    programs.extend(options.programs.iter().cloned());
    programs.retain(|path| path.to_string_lossy().contains(&options.only));
    if programs.is_empty() {
        return Err("no program has such a path".to_owned());
    }
    let scratch = sh::scratch(&format!("same-{}", std::process::id()))?;
    let jobs: Vec<(usize, &PathBuf, &[&str])> = programs
        .iter()
        .flat_map(|path| FLAGS.map(|flags| (path, flags)))
        .enumerate()
        .map(|(number, (path, flags))| (number, path, flags))
        .collect();
    let found = Mutex::new(Differences::default());
    let done = sh::parallel("same", &jobs, |(number, path, flags)| {
        let folder = scratch.join(number.to_string());
        let [before, after] = ["old", "new"].map(|side| folder.join(side));
        let before = convert(&options.old, path, flags, &before)?;
        let after = convert(&new, path, flags, &after)?;
        let name = format!("{} {}", path.display(), flags.join(" "));
        if let Ok(mut found) = found.lock() {
            found.compare(name.trim_end(), &before, &after);
        }
        std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))
    });
    let _ = std::fs::remove_dir_all(&scratch);
    done?;
    found.into_inner().map_err(|e| e.to_string())?.verdict(programs.len(), options.all)
}

/// All that a conversion left: its files by name, what it said, and its report.
struct Outcome {
    files: Vec<(String, Vec<u8>)>,
    said: String,
    report: Vec<String>,
}

/// Converts `program` into a folder of its own. A conversion that fails is an outcome too.
fn convert(binary: &Path, program: &Path, flags: &[&str], folder: &Path) -> Result<Outcome, String> {
    sh::create_dir(folder)?;
    let report = folder.join("report.json");
    let mut command = Command::new(binary);
    command.arg("convert").arg(program).arg("--out-dir").arg(folder).args(flags).arg("--report").arg(&report);
    let out = command.output().map_err(|e| format!("{}: {e}", binary.display()))?;
    let here = folder.to_string_lossy();
    // The programs of an archive or of a fat file are converted side by side: whichever is done first speaks first.
    let mut said: Vec<String> =
        String::from_utf8_lossy(&out.stderr).replace(&*here, "OUT").lines().map(str::to_owned).collect();
    said.sort();
    let said = format!("{}\n{}", out.status, said.join("\n"));
    let text = std::fs::read_to_string(&report).unwrap_or_default().replace(&*here, "OUT");
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "fsym")) {
        let bytes = std::fs::read(entry.path()).map_err(|e| format!("{}: {e}", entry.path().display()))?;
        files.push((entry.file_name().to_string_lossy().into_owned(), bytes));
    }
    files.sort();
    let mut report = lasting(&text);
    if text.lines().filter(|line| line.starts_with('{')).count() > 1 {
        report.sort();
    }
    Ok(Outcome { files, said, report })
}

/// The lines of a report without what no two runs have alike: the times of the steps and the memory after each.
fn lasting(report: &str) -> Vec<String> {
    let mut kept = report.to_owned();
    for key in ["\"seconds\":", "\"peak_kib_after\":", "\"peak_kib\":"] {
        while let Some(at) = kept.find(key) {
            let value = kept[at + key.len()..].trim_start();
            // An object of numbers, or a number.
            let end = value.find(if value.starts_with('{') { '}' } else { ',' }).unwrap_or(value.len());
            let end = kept.len() - value.len() + end;
            kept.replace_range(at..end, "");
        }
    }
    kept.lines().map(str::to_owned).collect()
}

/// The differences.
#[derive(Default)]
struct Differences {
    /// In what lookups read, in which files there are, or in what was said.
    wrong: Vec<String>,
    /// In records and reports.
    apart: BTreeSet<String>,
    files: usize,
}

impl Differences {
    fn compare(&mut self, name: &str, before: &Outcome, after: &Outcome) {
        let names =
            |outcome: &Outcome| outcome.files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        if names(before) != names(after) {
            self.wrong.push(format!("{name}: {:?} before, {:?} now", names(before), names(after)));
            return;
        }
        if before.said != after.said {
            self.wrong.push(format!("{name}: said before\n{}\nand now\n{}", before.said, after.said));
        }
        if before.report != after.report {
            self.apart.insert(format!("{name}: the report"));
        }
        for ((file, old), (_, new)) in before.files.iter().zip(&after.files) {
            self.files += 1;
            match (Parts::of(old), Parts::of(new)) {
                (Some(old), Some(new)) => {
                    for what in old.differences(&new) {
                        let difference = format!("{name}: {file}: {what}");
                        if what == record() {
                            self.apart.insert(difference);
                        } else {
                            self.wrong.push(difference);
                        }
                    }
                }
                _ => self.wrong.push(format!("{name}: {file} is no symbol file")),
            }
        }
    }

    fn verdict(mut self, programs: usize, all: bool) -> Result<(), String> {
        self.wrong.sort();
        for difference in self.wrong.iter().chain(&self.apart) {
            println!("{difference}");
        }
        let (wrong, apart) = (self.wrong.len(), self.apart.len());
        println!(
            "{programs} inputs, {} files: {wrong} differences, {apart} in records and reports",
            self.files
        );
        if wrong > 0 || (all && apart > 0) {
            return Err(format!("{} differences", if all { wrong + apart } else { wrong }));
        }
        Ok(())
    }
}

/// A `.fsym` file cut up: what the header says but for lengths and checksums, and the sections by id.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'f> {
    header: Vec<u8>,
    sections: Vec<(u32, &'f [u8])>,
}

fn record() -> String {
    format!("section {RECORD}")
}

impl<'f> Parts<'f> {
    /// Reads the directory (`schema/README.md`, section 2); `None` if the file is shorter than it says.
    fn of(file: &'f [u8]) -> Option<Parts<'f>> {
        let number = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?));
        let long =
            |at: usize| usize::try_from(u64::from_le_bytes(file.get(at..at + 8)?.try_into().ok()?)).ok();
        // Magic and version; then features to the number of sections, and the bounds of answers.
        let header = [file.get(..12)?, file.get(24..60)?].concat();
        let mut sections = Vec::new();
        for entry in (0..number(48)? as usize).map(|index| 64 + 32 * index) {
            let (start, len) = (long(entry + 8)?, long(entry + 16)?);
            sections.push((number(entry)?, file.get(start..start.checked_add(len)?)?));
        }
        Some(Parts { header, sections })
    }

    /// What is not the same in another file.
    fn differences(&self, other: &Parts<'_>) -> Vec<String> {
        let mut found = Vec::new();
        if self.header != other.header {
            found.push("the header".to_owned());
        }
        let ids: BTreeSet<u32> = self.sections.iter().chain(&other.sections).map(|(id, _)| *id).collect();
        for id in ids {
            let bytes = |parts: &Parts<'_>| {
                let section = parts.sections.iter().find(|(other, _)| *other == id);
                section.map(|(_, bytes)| bytes.to_vec())
            };
            if bytes(self) != bytes(other) {
                found.push(format!("section {id}"));
            }
        }
        found
    }
}

/// The test programs, and what of the corpus is there.
fn inputs() -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for folder in ["testbins/built", "testbins/broken"] {
        below(&sh::root().join(folder), 3, &mut paths)?;
    }
    let corpus = sh::root().join("corpus");
    if corpus.is_dir() {
        below(&corpus, 2, &mut paths)?;
    }
    paths.extend(crate::ci::libc());
    // Sources, lists of answers and similar files are not programs. A program that cannot be read is converted anyway.
    let foreign = ["md", "txt", "json", "fsym", "map", "csv", "s", "c", "cpp", "rs"];
    paths.retain(|path| {
        path.is_dir() || !path.extension().is_some_and(|end| foreign.iter().any(|no| end == *no))
    });
    paths.sort();
    Ok(paths)
}

/// Adds the files below a folder, and the bundles, which are folders themselves.
fn below(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let bundle = path.extension().is_some_and(|end| end == "dSYM");
        if path.is_dir() && !bundle {
            if depth > 1 {
                below(&path, depth - 1, paths)?;
            }
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of these sections.
    fn file(features: u8, sections: &[(u32, &[u8])]) -> Vec<u8> {
        let mut file = vec![0; 64 + 32 * sections.len()];
        file[..12].copy_from_slice(b"\x7ffsym\r\n\x1a\x02\0\0\0");
        file[24] = features;
        file[48] = sections.len() as u8;
        for (index, (id, bytes)) in sections.iter().enumerate() {
            let (entry, start) = (64 + 32 * index, file.len() as u64);
            file[entry..entry + 4].copy_from_slice(&id.to_le_bytes());
            file[entry + 8..entry + 16].copy_from_slice(&start.to_le_bytes());
            file[entry + 16..entry + 24].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            file.extend_from_slice(bytes);
        }
        let len = file.len() as u64;
        file[16..24].copy_from_slice(&len.to_le_bytes());
        file
    }

    fn outcome(bytes: Vec<u8>, said: &str, report: &str) -> Outcome {
        Outcome { files: vec![("a.fsym".into(), bytes)], said: said.into(), report: lasting(report) }
    }

    /// How many differences two outcomes have: in what lookups read, and apart.
    fn counts(before: &Outcome, after: &Outcome) -> (usize, usize) {
        let mut found = Differences::default();
        found.compare("a", before, after);
        (found.wrong.len(), found.apart.len())
    }

    #[test]
    fn sections_are_compared_and_the_record_apart() {
        let old = outcome(file(0, &[(2, b"pieces"), (15, b"record")]), "", "");
        let longer = outcome(file(0, &[(15, b"a longer record"), (2, b"pieces")]), "", "");
        let other = outcome(file(0, &[(2, b"piecez"), (15, b"record")]), "", "");
        let more = outcome(file(0, &[(2, b"pieces"), (3, b""), (15, b"record")]), "", "");
        let featured = outcome(file(1, &[(2, b"pieces"), (15, b"record")]), "", "");
        let cut = outcome(file(0, &[(2, b"pieces")])[..70].to_vec(), "", "");
        assert_eq!(counts(&old, &old), (0, 0));
        assert_eq!(counts(&old, &longer), (0, 1));
        assert_eq!(counts(&old, &other), (1, 0));
        // The header counts the sections.
        assert_eq!(counts(&old, &more), (2, 0));
        assert_eq!(counts(&old, &featured), (1, 0));
        assert_eq!(counts(&old, &cut), (1, 0));
    }

    #[test]
    fn messages_and_reports_are_compared() {
        let file = || file(0, &[(2, b"pieces")]);
        let old = outcome(
            file(),
            "exit status: 0",
            "{\"units\": 5, \"peak_kib\": 7, \"seconds\": {\n  \"read\": 0.1\n}}",
        );
        let later = outcome(
            file(),
            "exit status: 0",
            "{\"units\": 5, \"peak_kib\": 8, \"seconds\": {\n  \"read\": 0.2\n}}",
        );
        let fewer = outcome(
            file(),
            "exit status: 0",
            "{\"units\": 4, \"peak_kib\": 7, \"seconds\": {\n  \"read\": 0.1\n}}",
        );
        let failed = outcome(
            file(),
            "exit status: 4",
            "{\"units\": 5, \"peak_kib\": 7, \"seconds\": {\n  \"read\": 0.1\n}}",
        );
        assert_eq!(counts(&old, &later), (0, 0));
        assert_eq!(counts(&old, &fewer), (0, 1));
        assert_eq!(counts(&old, &failed), (1, 0));
        let none = Outcome { files: Vec::new(), ..failed };
        assert_eq!(counts(&old, &none), (1, 0));
    }

    #[test]
    fn arguments_are_read() {
        let args = |words: &str| parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let options = args("old a --only x b --all").unwrap();
        assert_eq!((options.old, options.only, options.all), ("old".into(), "x".to_owned(), true));
        assert_eq!(options.programs, [PathBuf::from("a"), PathBuf::from("b")]);
        assert!(args("").is_err() && args("old --what").is_err() && args("old --only").is_err());
    }
}
