//! Turns the inputs of the command line into conversions, each with the file that it writes.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use foldsym_convert::DevicePlace;
use foldsym_convert::internal::is_symbol_file;
use foldsym_convert::internal::open::{DeviceCode, Files, Part, device_code, parts};

use super::inputs::{self, Found, InputFilter, begins_like_elf, is_archive, is_folder};
use crate::args::Convert;
use crate::io::escape::push_escaped;
use crate::io::failure::{Failure, complain, exit};

/// Which program of a file that has several.
#[derive(Clone, Debug, Default)]
pub(crate) enum Which {
    /// The file is the program, or the command line says which of it.
    #[default]
    Whole,
    /// A device program of a container: its target, and its place.
    Device(String, DevicePlace),
    /// A member of an archive: its place, and its name.
    Member(usize, String),
    /// An architecture of a fat file.
    Arch(String),
}

impl Which {
    /// The name of the part, if it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Whole => None,
            Self::Device(name, _) | Self::Member(_, name) | Self::Arch(name) => Some(name),
        }
    }
}

/// One conversion.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) input: PathBuf,
    pub(crate) output: PathBuf,
    /// Below `--out-dir`, the folders of an input folder are made again.
    pub(crate) make_folder: bool,
    pub(crate) which: Which,
    /// The file of the same build that has the program's debug information.
    pub(crate) debug_file: Option<PathBuf>,
    /// Which argument of the command line it comes from.
    argument: usize,
}

impl Job {
    /// The input in a message, and which program of it.
    pub(crate) fn named(&self) -> String {
        let input = self.input.display();
        match &self.which {
            Which::Whole => input.to_string(),
            Which::Device(target, _) => format!("{input} (target {target})"),
            Which::Member(_, name) => format!("{input}({name})"),
            Which::Arch(arch) => format!("{input} (architecture {arch})"),
        }
    }
}

/// An input that is not converted, and why.
pub(crate) struct Refused {
    pub(crate) input: PathBuf,
    pub(crate) failure: Failure,
    /// The system did not let us look at it.
    pub(crate) unreadable: bool,
}

/// A debug file that is converted with its program.
#[derive(Clone)]
pub(crate) struct Companion {
    pub(crate) input: PathBuf,
    pub(crate) program: PathBuf,
}

impl Companion {
    /// Its result, as a line for people.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = Vec::new();
        push_escaped(&mut line, self.input.as_os_str().as_encoded_bytes());
        line.extend_from_slice(b": debug file of ");
        push_escaped(&mut line, self.program.as_os_str().as_encoded_bytes());
        line.extend_from_slice(b", converted with it\n");
        line
    }
}

/// Everything that one command converts.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) jobs: Vec<Job>,
    pub(crate) refused: Vec<Refused>,
    /// Debug files that are converted with their programs, and not for themselves.
    pub(crate) companions: Vec<Companion>,
    /// The command named several inputs, or a folder: then a single failure gives the exit code for some of several.
    pub(crate) several: bool,
    /// The only input is a folder without a program.
    pub(crate) is_empty: bool,
    pub(crate) passed_over: PassedOver,
}

/// What was not converted in folders, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PassedOver {
    /// Object files and archives.
    pub(crate) objects: u64,
    /// Compiler probes of build systems.
    pub(crate) probes: u64,
    /// Files that are not programs, or that the patterns exclude.
    pub(crate) others: u64,
}

impl PassedOver {
    /// The counts, and how to include what they count.
    pub(super) fn words(&self) -> Vec<String> {
        [
            (self.others, "other files skipped"),
            (self.objects, "object files and archives passed over (--objects converts them)"),
            (self.probes, "compiler probes of build systems passed over (to convert one, name it)"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
    }

    /// What these are beside the ones counted before.
    fn since(self, before: Self) -> Self {
        Self {
            objects: self.objects - before.objects,
            probes: self.probes - before.probes,
            others: self.others - before.others,
        }
    }
}

/// Standard output as an output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

impl Plan {
    /// Plans the conversions, in the order of the arguments, and by name within a folder.
    ///
    /// # Errors
    /// Usage: one output for several inputs, or two inputs with one output. Or a list of inputs cannot be read.
    pub(crate) fn new(args: &Convert) -> Result<Self, Failure> {
        let inputs = inputs::listed(&args.inputs)?;
        // A list (`@FILE`) may name one input, or none.
        let several = inputs.len() != 1 || inputs.iter().any(|input| is_folder(input));
        let mut plan = Self { several, ..Self::default() };
        if args.reading.debug_file.is_some() && several {
            return Err(Failure::usage("--debug-file belongs to a single program"));
        }
        if args.store.is_some() {
            // The store gives names: outputs cannot collide.
            plan.fill(args, &inputs, Path::new(""))?;
            return Ok(plan);
        }
        if let Some(out_dir) = &args.out_dir {
            plan.fill(args, &inputs, out_dir)?;
        } else {
            plan.jobs.push(single(args, &inputs)?);
        }
        plan.refuse_collisions()?;
        plan.refuse_overwriting(args.report.as_deref())?;
        Ok(plan)
    }

    fn fill(&mut self, args: &Convert, inputs: &[PathBuf], out_dir: &Path) -> Result<(), Failure> {
        let filter =
            InputFilter { include: &args.include, exclude: &args.exclude, symbol_files: args.import };
        for (argument, input) in inputs.iter().enumerate() {
            if !is_folder(input) {
                let name = input
                    .file_name()
                    // A path such as `missing/..` has no file name to name the output by.
                    .ok_or_else(|| Failure::usage(format!("{}: not a file", input.display())))?;
                self.add(args, input.clone(), out_dir, name.to_owned(), (argument, false));
                continue;
            }
            let before = (self.jobs.len(), self.refused.len(), self.passed_over);
            inputs::walk(input, filter, |found| match found {
                Found::Program { path, name, below } => {
                    self.add(args, path, &out_dir.join(below), name, (argument, true));
                }
                Found::Object { path, name, below } if args.objects => {
                    self.add(args, path, &out_dir.join(below), name, (argument, true));
                }
                Found::Object { .. } => self.passed_over.objects += 1,
                Found::Probe => self.passed_over.probes += 1,
                Found::Other => self.passed_over.others += 1,
                Found::Unreadable(path, error) => {
                    let failure = Failure::input(&path, error);
                    self.refused.push(Refused { input: path, failure, unreadable: true });
                }
            });
            // Each folder without a program is an error: its path may be wrong.
            if (self.jobs.len(), self.refused.len()) == (before.0, before.1) {
                let passed_over = self.passed_over.since(before.2);
                let what = match passed_over.words().as_slice() {
                    _ if args.import => "no Breakpad symbol file in this folder".to_owned(),
                    [] => "an empty folder, expected programs in it".to_owned(),
                    _ if passed_over
                        == (PassedOver { others: passed_over.others, ..PassedOver::default() }) =>
                    {
                        format!("no program in this folder, only {} other files", passed_over.others)
                    }
                    words => format!("no program in this folder: {}", words.join(", ")),
                };
                let failure = Failure::input(input, what);
                self.refused.push(Refused { input: input.clone(), failure, unreadable: false });
            }
        }
        self.is_empty = self.jobs.is_empty() && inputs.len() == 1;
        Ok(())
    }

    /// Adds an input, and each program in it: `NAME.fsym`, `NAME.PART.fsym`. With one chosen there is one file. It is the
    /// argument of this number, or is in the folder that is.
    fn add(
        &mut self,
        args: &Convert,
        input: PathBuf,
        folder: &Path,
        name: OsString,
        (argument, in_folder): (usize, bool),
    ) {
        let mut job = |which: Which, part: Option<&str>| {
            let mut name = name.clone();
            if let Some(part) = part {
                name.push(format!(".{}", file_name(part)));
            }
            name.push(".fsym");
            let output = folder.join(name);
            self.jobs.push(Job {
                input: input.clone(),
                output,
                make_folder: true,
                which,
                debug_file: None,
                argument,
            });
        };
        if args.import {
            if is_symbol_file(&input) || !input.exists() {
                // The conversion says why a file that is not there cannot be opened.
                job(Which::Whole, None);
            } else {
                let failure = Failure::input(&input, NO_SYMBOL_FILE);
                self.refused.push(Refused { input, failure, unreadable: false });
            }
            return;
        }
        let files = Files::default();
        let chosen = args.reading.target.is_some();
        // `--arch` chooses one slice, which is one program.
        let inside = if args.reading.arch.is_some() { Ok(Vec::new()) } else { parts(&files, &input) };
        let inside = match inside {
            Ok(inside) => inside,
            Err(error) => {
                let failure = Failure { message: error.to_string(), code: exit::BAD_INPUT };
                self.refused.push(Refused { input, failure, unreadable: false });
                return;
            }
        };
        let mut seen: HashMap<String, usize> = HashMap::new();
        for part in &inside {
            match part {
                Part::Member { index, name } => {
                    let count = seen.entry(name.clone()).or_default();
                    *count += 1;
                    // Archives may have several members of one name.
                    let numbered = if *count > 1 { format!("{name}#{count}") } else { name.clone() };
                    job(Which::Member(*index, numbered.clone()), Some(&numbered));
                }
                Part::Arch(arch) => job(Which::Arch(arch.clone()), Some(arch)),
                _ => {}
            }
        }
        if !inside.is_empty() {
            return;
        }
        if in_folder && is_archive(&input) {
            // An archive without object files is not an input.
            self.passed_over.others += 1;
            return;
        }
        let host = begins_like_elf(&input);
        let found = if chosen { Ok(DeviceCode::default()) } else { device_code(&files, &input) };
        let found = match found {
            Ok(found) => found,
            // A container that cannot be read is one conversion, which fails and says why; a host program is converted.
            Err(error) => {
                job(Which::Whole, None);
                if host {
                    let failure = Failure { message: error.to_string(), code: exit::BAD_INPUT };
                    self.refused.push(Refused { input, failure, unreadable: false });
                }
                return;
            }
        };
        // A host program has code of its own. Other containers have only device programs.
        if found.objects.is_empty() || host {
            job(Which::Whole, None);
        }
        if let (true, Some(note)) = (host && found.objects.is_empty(), found.note()) {
            complain(&format!("{}: {note}", input.display()));
        }
        for object in found.objects {
            let part = object.target.clone();
            job(Which::Device(object.target, object.place), Some(&part));
        }
    }

    /// Two programs with one output: of two arguments it is a mistake in the command line; within a folder or a container
    /// neither is converted, and the others are.
    fn refuse_collisions(&mut self) -> Result<(), Failure> {
        let places: Vec<PathBuf> = self.jobs.iter().map(|job| place(&job.output)).collect();
        let mut first: HashMap<&Path, usize> = HashMap::new();
        let mut colliding: HashMap<usize, usize> = HashMap::new();
        for (at, place) in places.iter().enumerate() {
            let Some(&other) = first.get(place.as_path()) else {
                first.insert(place, at);
                continue;
            };
            let (one, two) = (&self.jobs[other], &self.jobs[at]);
            // Two arguments are a mistake in the command line. Within one argument the user cannot choose the names.
            if one.argument != two.argument {
                return Err(Failure::usage(collision(one, two)));
            }
            colliding.insert(at, other);
            // Of three colliding jobs, the first one's message names the second, and the other messages name the first.
            colliding.entry(other).or_insert(at);
        }
        if colliding.is_empty() {
            return Ok(());
        }
        let jobs = std::mem::take(&mut self.jobs);
        for (at, job) in jobs.iter().enumerate() {
            match colliding.get(&at) {
                Some(&other) => {
                    let message = collision(job, &jobs[other]);
                    let failure = Failure { message, code: exit::BAD_INPUT };
                    self.refused.push(Refused { input: job.input.clone(), failure, unreadable: false });
                }
                None => self.jobs.push(job.clone()),
            }
        }
        Ok(())
    }

    /// No program is replaced by symbols, and nothing by the report.
    fn refuse_overwriting(&self, report: Option<&Path>) -> Result<(), Failure> {
        let report = report.filter(|report| !is_stdout(report)).map(place);
        // Each output is compared with all inputs: one job may write the file that another reads.
        let inputs: HashSet<PathBuf> = self.jobs.iter().map(|job| place(&job.input)).collect();
        for Job { input, output, .. } in &self.jobs {
            if is_stdout(output) {
                continue;
            }
            let is_report = |path: &&PathBuf| report.as_ref() == Some(&place(path));
            if let Some(path) = [input, output].into_iter().find(is_report) {
                return Err(Failure::usage(format!("{}: the report would replace it", path.display())));
            }
            // `place` follows links, so that two names of one file are equal.
            let real = place(output);
            if inputs.contains(&real) {
                return Err(Failure::usage(format!("{} is input and output", real.display())));
            }
        }
        Ok(())
    }
}

const NO_SYMBOL_FILE: &str = "not a Breakpad symbol file, whose first line begins with MODULE";

/// The one conversion of a command without `--out-dir`: to `-o`, or beside the input.
fn single(args: &Convert, inputs: &[PathBuf]) -> Result<Job, Failure> {
    let [input] = inputs else {
        return Err(Failure::usage(match args.output {
            Some(_) => "-o takes a single input; use --out-dir for several",
            None => "several inputs need --out-dir DIR",
        }));
    };
    if is_folder(input) {
        return Err(Failure::usage(format!("{}: a folder needs --out-dir", input.display())));
    }
    if args.import && input.exists() && !is_symbol_file(input) {
        return Err(Failure::input(input, NO_SYMBOL_FILE));
    }
    let output = args.output.clone().unwrap_or_else(|| {
        let mut name = input.clone().into_os_string();
        name.push(".fsym");
        PathBuf::from(name)
    });
    let (input, which) = (input.clone(), Which::Whole);
    Ok(Job { input, output, make_folder: false, which, debug_file: None, argument: 0 })
}

fn collision(one: &Job, two: &Job) -> String {
    format!("{} and {} would both become {}", one.named(), two.named(), one.output.display())
}

/// One path for each file, also if the file does not exist yet: the existing part with all links followed, and the rest without `.` and
/// `..`.
fn place(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for (count, there) in path.ancestors().enumerate() {
        let Ok(mut real) = there.canonicalize() else { continue };
        let skipped = path.components().count() - count;
        for part in path.components().skip(skipped) {
            match part {
                Component::ParentDir => drop(real.pop()),
                Component::Normal(name) => real.push(name),
                _ => {}
            }
        }
        return real;
    }
    path
}

/// A part's name as a part of a file name: what file systems or shells may refuse becomes `_`.
fn file_name(part: &str) -> String {
    // Above all this replaces `/`: a member's name must not lead out of the folder.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '+' | '#');
    part.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_for_a_file_that_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let places = ["new/x", "./new/./x", "new/y/../x", "new/../new/x"];
        assert!(places.iter().all(|name| place(&folder.path().join(name)) == real.join("new/x")));
        assert_ne!(place(&folder.path().join("x")), place(&folder.path().join("y")));
    }
}
