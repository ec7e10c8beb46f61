//! Turns the inputs of the command line into conversions, each with the file that it writes.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use foldsym_convert::open::{DeviceCode, DevicePlace, Files, device_code};

use crate::args::Convert;
use crate::failure::{Failure, complain, exit};

/// Folders below an input are followed so deep; symbolic links in them are not followed at all.
const MAX_DEPTH: usize = 64;

/// One conversion.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) input: PathBuf,
    pub(crate) output: PathBuf,
    /// Below `--out-dir`, the folders of an input folder are made again.
    pub(crate) make_folder: bool,
    /// The device program to take of a container that has several; else what the command line says.
    pub(crate) target: Option<String>,
    /// And where it is.
    pub(crate) device: Option<DevicePlace>,
}

impl Job {
    /// The input in a message, and which device program of it.
    pub(crate) fn named(&self) -> String {
        let of = self.target.as_ref().map(|target| format!(", target {target}")).unwrap_or_default();
        format!("{}{of}", self.input.display())
    }
}

/// A folder among the inputs that holds no program.
pub(crate) struct Empty {
    pub(crate) folder: PathBuf,
    /// Files in it that are no programs.
    pub(crate) passed_over: u64,
}

/// Everything that one command converts.
pub(crate) struct Plan {
    pub(crate) jobs: Vec<Job>,
    /// Host programs whose device code cannot be read, and why.
    pub(crate) damaged: Vec<(PathBuf, Failure)>,
    /// Folders that could be looked at, and in which there is nothing to convert.
    pub(crate) empty: Vec<Empty>,
    /// The command named several inputs, or a folder: one that fails does not decide the exit code.
    pub(crate) several: bool,
    /// Files of folders that are no programs.
    pub(crate) passed_over: u64,
    /// Files and folders below an input that could not be looked at.
    pub(crate) unreadable: u64,
}

impl Plan {
    /// Plans the conversions, in the order of the arguments, and by name within a folder.
    ///
    /// # Errors
    /// Usage: one output for several inputs, or two inputs with one output.
    pub(crate) fn new(args: &Convert) -> Result<Self, Failure> {
        let is_folder = |input: &PathBuf| input.is_dir() && !is_bundle(input);
        let several = args.inputs.len() > 1 || args.inputs.iter().any(is_folder);
        let mut plan = Self {
            jobs: Vec::new(),
            damaged: Vec::new(),
            empty: Vec::new(),
            several,
            passed_over: 0,
            unreadable: 0,
        };
        if let Some(output) = &args.output {
            let [input] = args.inputs.as_slice() else {
                return Err(Failure::usage("-o takes a single input; use --out-dir for several"));
            };
            if several {
                return Err(Failure::usage(format!("{}: a folder needs --out-dir", input.display())));
            }
            plan.jobs.push(Job {
                input: input.clone(),
                output: output.clone(),
                make_folder: false,
                target: None,
                device: None,
            });
            plan.refuse_overwriting(args.report.as_deref())?;
            return Ok(plan);
        }
        let Some(out_dir) = &args.out_dir else {
            return Err(Failure::usage("expected -o OUT.fsym or --out-dir DIR"));
        };
        for input in &args.inputs {
            if is_folder(input) {
                let before = (plan.jobs.len(), plan.unreadable, plan.passed_over);
                plan.walk(input, out_dir, args.reading.target.is_some(), 0);
                if (plan.jobs.len(), plan.unreadable) == (before.0, before.1) {
                    let passed_over = plan.passed_over - before.2;
                    plan.empty.push(Empty { folder: input.clone(), passed_over });
                }
            } else {
                let name = input
                    .file_name()
                    .ok_or_else(|| Failure::usage(format!("{}: not a file", input.display())))?;
                plan.add(input.clone(), out_dir, name.to_owned(), args.reading.target.is_some());
            }
        }
        plan.refuse_collisions()?;
        plan.refuse_overwriting(args.report.as_deref())?;
        Ok(plan)
    }

    /// Adds an input, and each device program in it: `NAME.fsym`, `NAME.TARGET.fsym`. With one target chosen there is
    /// one file.
    fn add(&mut self, input: PathBuf, folder: &Path, name: OsString, chosen: bool) {
        let mut job = |target: Option<String>, device: Option<DevicePlace>| {
            let mut name = name.clone();
            if let Some(target) = &target {
                name.push(format!(".{}", file_name(target)));
            }
            name.push(".fsym");
            self.jobs.push(Job {
                input: input.clone(),
                output: folder.join(name),
                make_folder: true,
                target,
                device,
            });
        };
        let files = Files::default();
        let host = begins_like_elf(&input);
        let found = if chosen { Ok(DeviceCode::default()) } else { device_code(&files, &input) };
        let found = match found {
            Ok(found) => found,
            // A container that cannot be read is one conversion, which fails and says why; a host program is converted.
            Err(error) => {
                job(None, None);
                if host {
                    self.damaged.push((input, Failure { message: error.to_string(), code: exit::BAD_INPUT }));
                }
                return;
            }
        };
        if found.objects.is_empty() || host {
            job(None, None);
        }
        if let (true, Some(note)) = (host && found.objects.is_empty(), found.note()) {
            complain(&format!("{}: {note}", input.display()));
        }
        for object in found.objects {
            job(Some(object.target), Some(object.place));
        }
    }

    /// Takes the programs of a folder. What cannot be looked at is said and left out.
    fn walk(&mut self, folder: &Path, into: &Path, chosen: bool, depth: usize) {
        let entries = std::fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.note_unreadable(folder, &error),
        };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && is_bundle(&path) => self.add(path, into, name, chosen),
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    self.walk(&path, &into.join(name), chosen, depth + 1)
                }
                Ok(kind) if kind.is_file() => match is_program(&path) {
                    Ok(true) => self.add(path, into, name, chosen),
                    Ok(false) => self.passed_over += 1,
                    Err(error) => self.note_unreadable(&path, &error),
                },
                Ok(_) => self.passed_over += 1,
                Err(error) => self.note_unreadable(&path, &error),
            }
        }
    }

    fn note_unreadable(&mut self, path: &Path, error: &io::Error) {
        self.unreadable += 1;
        complain(&format!("{}: {error}", path.display()));
    }

    fn refuse_collisions(&self) -> Result<(), Failure> {
        let mut writers: HashMap<&Path, &Job> = HashMap::new();
        for job in &self.jobs {
            if let Some(other) = writers.insert(&job.output, job) {
                return Err(Failure::usage(format!(
                    "{} and {} would both become {}",
                    other.named(),
                    job.named(),
                    job.output.display()
                )));
            }
        }
        Ok(())
    }

    /// No program is replaced by symbols, and nothing by the report.
    fn refuse_overwriting(&self, report: Option<&Path>) -> Result<(), Failure> {
        let real = report.and_then(|report| report.canonicalize().ok());
        for Job { input, output, .. } in &self.jobs {
            let is_report =
                |path: &Path| report == Some(path) || real.is_some() && real == path.canonicalize().ok();
            if let Some(path) = [input, output].into_iter().find(|path| is_report(path)) {
                return Err(Failure::usage(format!("{}: the report would replace it", path.display())));
            }
        }
        let inputs: HashSet<PathBuf> =
            self.jobs.iter().filter_map(|job| job.input.canonicalize().ok()).collect();
        for Job { output, .. } in &self.jobs {
            // An output that is not there yet is no input.
            if let Ok(real) = output.canonicalize()
                && inputs.contains(&real)
            {
                return Err(Failure::usage(format!("{} is input and output", real.display())));
            }
        }
        Ok(())
    }
}

/// A folder that is one input: the debug information of a Mach-O program.
fn is_bundle(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dSYM")
}

/// True for a host program, which is converted beside the device programs that it holds.
fn begins_like_elf(path: &Path) -> bool {
    let mut head = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *b"\x7fELF"
}

/// A target as a part of a file name: what file systems or shells may refuse becomes `_`.
fn file_name(target: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '+' | '#');
    target.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

/// True for what a folder is searched for: ELF programs, libraries and objects, Mach-O files, and containers of
/// GPU code, by their first bytes. Parts of other programs (`.dwo`, `.dwp`) and core dumps are not converted for themselves.
fn is_program(path: &Path) -> io::Result<bool> {
    if path.extension().is_some_and(|extension| extension == "dwo" || extension == "dwp") {
        return Ok(false);
    }
    let mut head = [0; 20];
    let mut file = File::open(path)?;
    let mut filled = 0;
    while filled < head.len() {
        match file.read(&mut head[filled..])? {
            0 => return Ok(false),
            read => filled += read,
        }
    }
    Ok(looks_like_a_program(&head))
}

fn looks_like_a_program(head: &[u8; 20]) -> bool {
    const ET_CORE: u8 = 4;
    match head {
        [0x7f, b'E', b'L', b'F', _, encoding, ..] => {
            let kind = if *encoding == 2 { [head[17], head[16]] } else { [head[16], head[17]] };
            kind != [ET_CORE, 0]
        }
        [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] => true,
        // Fat files share their magic with Java classes, whose next number is a version from 45 up.
        [0xca, 0xfe, 0xba, 0xbe | 0xbf, 0, 0, 0, count, ..] => *count < 45,
        [b'C', b'C', b'O', b'B', 1..=3, 0, ..] | [0x10, 0xff, 0x10, 0xad, ..] => true,
        _ if head.starts_with(b"__CLANG_OFFLOAD_BUN") => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(start: &[u8], kind: [u8; 2]) -> [u8; 20] {
        let mut head = [0; 20];
        head[..start.len()].copy_from_slice(start);
        if start[0] == 0x7f {
            head[16..18].copy_from_slice(&kind);
        }
        head
    }

    #[test]
    fn programs_by_their_first_bytes() {
        assert!(looks_like_a_program(&head(b"\x7fELF\x02\x01", [3, 0])));
        assert!(looks_like_a_program(&head(b"\x7fELF\x01\x02", [0, 1])));
        assert!(!looks_like_a_program(&head(b"\x7fELF\x02\x01", [4, 0])));
        assert!(!looks_like_a_program(&head(b"\x7fELF\x02\x02", [0, 4])));
        assert!(looks_like_a_program(&head(b"\xcf\xfa\xed\xfe", [0, 0])));
        assert!(looks_like_a_program(&head(b"\xca\xfe\xba\xbe\0\0\0\x02", [0, 0])));
        assert!(!looks_like_a_program(&head(b"\xca\xfe\xba\xbe\0\0\0\x34", [0, 0])));
        assert!(looks_like_a_program(&head(b"__CLANG_OFFLOAD_BUND", [0, 0])));
        assert!(looks_like_a_program(&head(b"CCOB\x03\0\x01\0", [0, 0])));
        assert!(looks_like_a_program(&head(b"\x10\xff\x10\xad\x01", [0, 0])));
        assert!(!looks_like_a_program(&head(b"#!/bin/sh\n", [0, 0])));
    }
}
