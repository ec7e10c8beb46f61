//! Says what became of each program as soon as it is done: a line for people, a line of the manifest, and the total.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use foldsym_convert::Report;
use foldsym_convert::report::DebugInfo;
use foldsym_symbolize::into_store::{Improvement, Outcome};
use serde_json::{Value, json};

use super::plan::{Companion, Job, PassedOver, Plan, Refused, is_stdout};
use super::run::Done;
use super::store::Stored;
use crate::args::Convert;
use crate::io::escape::push_escaped;
use crate::io::failure::{Failure, complain, exit};
use crate::io::progress::Bar;

/// Where the report goes.
enum Manifest {
    None,
    /// One object, pretty, when the one program is done: written whole.
    Whole(PathBuf),
    /// A line for each program when it is done. A line is one write, so that all but the last are whole whenever the command
    /// is ended.
    Lines(PathBuf, Box<dyn Write + Send>),
}

/// What a file lacks.
#[derive(Clone, Copy)]
struct Judged {
    /// The store had it already.
    existing: bool,
    has_losses: bool,
    has_none: bool,
}

/// The results so far.
pub(super) struct Ledger<'a> {
    args: &'a Convert,
    bar: &'a Bar,
    manifest: Manifest,
    /// False where standard output has the symbol file or the report, and after its reader went away.
    prints: bool,
    several: bool,
    converted: u64,
    /// Programs that the store had already.
    existing: u64,
    /// Debug files whose programs are not done yet, by program.
    companions: HashMap<PathBuf, Vec<Companion>>,
    /// Debug files that were converted with their programs.
    joined: u64,
    failed: u64,
    unreadable: u64,
    passed_over: PassedOver,
    /// What the files lack that were converted, or that the store had already.
    judged: HashMap<PathBuf, Judged>,
    /// The exit code of the first failure, and whether an output of the command itself could not be written.
    first_failure: Option<u8>,
    unwritten: bool,
    is_empty: bool,
}

impl<'a> Ledger<'a> {
    /// Opens the report, before the work, which may take long.
    ///
    /// # Errors
    /// The report cannot be written.
    pub(super) fn new(args: &'a Convert, plan: &Plan, bar: &'a Bar) -> Result<Self, Failure> {
        let one = !plan.several && plan.jobs.len() + plan.refused.len() == 1;
        let manifest = match &args.report {
            None => Manifest::None,
            Some(path) if is_stdout(path) && !one => Manifest::Lines(path.clone(), Box::new(io::stdout())),
            Some(path) if is_stdout(path) => Manifest::Whole(path.clone()),
            Some(path) => {
                let unwritable = |error: io::Error| Failure::input(path, format!("cannot write: {error}"));
                // A report must not replace a program that the user named by mistake.
                foldsym_convert::internal::replaceable(path, b"{", "report").map_err(unwritable)?;
                if one {
                    Manifest::Whole(path.clone())
                } else {
                    // An old report is replaced as a whole before the first line.
                    foldsym_convert::internal::write_whole(path, |_| Ok(())).map_err(unwritable)?;
                    let file = File::options().append(true).open(path).map_err(unwritable)?;
                    Manifest::Lines(path.clone(), Box::new(file))
                }
            }
        };
        let mut companions: HashMap<PathBuf, Vec<Companion>> = HashMap::new();
        for companion in &plan.companions {
            companions.entry(companion.program.clone()).or_default().push(companion.clone());
        }
        // Standard output then has a symbol file or a report for a program to read: text for people would damage it.
        let taken = [args.output.as_ref(), args.report.as_ref()];
        let prints = !args.quiet && !taken.into_iter().flatten().any(|path| is_stdout(path));
        Ok(Self {
            args,
            bar,
            manifest,
            prints,
            several: plan.several,
            converted: 0,
            existing: 0,
            companions,
            joined: 0,
            failed: 0,
            unreadable: 0,
            passed_over: plan.passed_over,
            judged: HashMap::new(),
            first_failure: None,
            unwritten: false,
            is_empty: plan.is_empty,
        })
    }

    /// An input of which nothing can be converted.
    pub(super) fn refused(&mut self, refused: &Refused) {
        let Refused { input, failure, unreadable } = refused;
        self.bar.suspend(|| failure.print());
        self.manifest(&failed(input, None, None, failure));
        // An unreadable file may not be a program, so it does not count as a failed conversion.
        if *unreadable {
            self.unreadable += 1;
        } else {
            self.failed += 1;
            self.first_failure.get_or_insert(failure.code);
        }
    }

    /// The debug files of a program that is done. A store may have had the program already, and it may have failed.
    fn joined(&mut self, job: &Job, is_converted: bool) {
        for companion in self.companions.remove(&job.input).unwrap_or_default() {
            let Companion { input, program } = &companion;
            self.manifest(
                &json!({"input": input.to_string_lossy(), "debug_file_of": program.to_string_lossy()}),
            );
            if is_converted {
                self.joined += 1;
                self.print(&companion.line());
            }
        }
    }

    /// A program that was converted, or could not be.
    pub(super) fn done(&mut self, job: &Job, result: Result<Done, Failure>) {
        let is_converted = match &result {
            Ok(Done::Written(_)) => true,
            Ok(Done::Stored(stored)) => stored.is_new(),
            Err(_) => false,
        };
        self.joined(job, is_converted);
        match result {
            Ok(Done::Written(report)) => self.converted(job, &report, (&job.output, None)),
            Ok(Done::Stored(stored)) => match &stored.report {
                Some(report) if stored.is_new() => {
                    self.converted(job, report, (&stored.output, Some(&stored)));
                }
                _ => self.existing(job, &stored),
            },
            Err(failure) => {
                self.failed += 1;
                self.first_failure.get_or_insert(failure.code);
                self.bar.suspend(|| failure.print());
                // In a store the place depends on the identity, which the conversion may have failed to find.
                let output = Some(job.output.as_path()).filter(|_| self.args.store.is_none());
                self.manifest(&failed(&job.input, job.which.name(), output, &failure));
            }
        }
    }

    /// A program of which the store has a file already that is as good or better.
    fn existing(&mut self, job: &Job, stored: &Stored) {
        self.existing += 1;
        let mut entry = json!({
            "input": job.input.to_string_lossy(),
            "output": stored.output.to_string_lossy(),
            "identity": stored.identity.to_string(),
            "existing": true,
            "debug_info": stored.stands.level.text(),
            "lost": stored.stands.lost,
        });
        if let Outcome::Kept(_) = &stored.outcome {
            entry["kept"] = json!(true);
        }
        if let Some(part) = job.which.name() {
            entry["part"] = json!(part);
        }
        self.manifest(&entry);
        let mut line = Vec::new();
        push_escaped(&mut line, stored.output.as_os_str().as_encoded_bytes());
        let stands = &stored.stands;
        let text = match &stored.outcome {
            Outcome::Kept(new) => format!(": kept, it has {}; {} has {new}\n", stands.words(), job.named()),
            _ if stands.level == DebugInfo::Full => ": already in the store\n".to_owned(),
            _ => format!(": already in the store, with {}\n", stands.words()),
        };
        push_escaped(&mut line, text.trim_end().as_bytes());
        line.push(b'\n');
        self.print(&line);
        if !stored.without.is_empty() {
            let message =
                format!("{}: warning: the store's file lacks {}", job.named(), stored.without.join(", "));
            self.bar.suspend(|| complain(&message));
        }
        let (has_losses, has_none) = (!stands.lost.is_empty(), stands.level == DebugInfo::None);
        self.judge(&stored.output, Judged { existing: true, has_losses, has_none });
        if self.is_refused(has_losses, has_none) {
            let message = format!("{}: warning: the store has {}", job.named(), stands.words());
            self.bar.suspend(|| complain(&message));
        }
    }

    /// Notes what a file lacks. Several inputs may be of one file of a store, which only gets better: what one of them does not lack is
    /// there at the end.
    fn judge(&mut self, output: &Path, judged: Judged) {
        let known = self.judged.entry(output.to_owned()).or_insert(judged);
        known.has_losses &= judged.has_losses;
        known.has_none &= judged.has_none;
    }

    /// How many of the files that were converted, or were in the store already, have no debug information, and how many lost some.
    fn lacking(&self, existing: bool) -> (u64, u64) {
        let of = || self.judged.values().filter(|judged| judged.existing == existing);
        let count = |is: fn(&Judged) -> bool| of().filter(|judged| is(judged)).count() as u64;
        (count(|judged| judged.has_none), count(|judged| judged.has_losses))
    }

    /// True if the options refuse a file that lost debug information, or has none.
    fn is_refused(&self, has_losses: bool, has_none: bool) -> bool {
        self.args.strict && has_losses || self.args.require_debug_info && has_none
    }

    fn converted(&mut self, job: &Job, report: &Report, (output, stored): (&Path, Option<&Stored>)) {
        self.converted += 1;
        let warnings = report.warnings();
        let has_losses = warnings.iter().any(|warning| warning.kind.is_loss());
        let has_none = report.debug_info() == DebugInfo::None;
        self.judge(output, Judged { existing: false, has_losses, has_none });
        let mut entry = report.to_json();
        entry["input"] = json!(job.input.to_string_lossy());
        entry["output"] = json!(output.to_string_lossy());
        // Only conversions into a store compare with an earlier file.
        let improvement = stored.and_then(|stored| match &stored.outcome {
            Outcome::Replaced(improvement) => Some(improvement),
            _ => None,
        });
        let lacked = match improvement {
            Some(Improvement::Options(words)) => &words[..],
            Some(Improvement::Level(_)) => &["debug information"],
            _ => &[],
        };
        if let Some(stored) = stored {
            entry["identity"] = json!(stored.identity.to_string());
            entry["lost"] = json!(stored.stands.lost);
        }
        if !lacked.is_empty() {
            entry["lacked"] = json!(lacked);
        }
        if let Some(part) = job.which.name() {
            entry["part"] = json!(part);
        }
        self.manifest(&entry);
        // The report already has the printed values.
        let mut line = Vec::new();
        push_escaped(&mut line, output.as_os_str().as_encoded_bytes());
        match improvement {
            Some(Improvement::Level(was)) => {
                line.extend_from_slice(format!(": replaces one that has {was}").as_bytes());
            }
            Some(Improvement::Options(lacked)) if !lacked.is_empty() => {
                line.extend_from_slice(format!(": replaces one without {}", lacked.join(", ")).as_bytes());
            }
            Some(Improvement::More) => line.extend_from_slice(b": replaces one that has less"),
            _ => {}
        }
        line.extend_from_slice(format!(": {}\n", report.summary()).as_bytes());
        self.print(&line);
        // With `--quiet` too: it hides progress, and not what is lost.
        let named = job.named();
        self.bar.suspend(|| {
            for warning in &warnings {
                complain(&format!("{named}: warning: {}", warning.message));
            }
            if let Some(stored) = stored.filter(|stored| !stored.without.is_empty()) {
                let without = stored.without.join(", ");
                complain(&format!(
                    "{named}: warning: the file that it replaces had {without}; the options of this conversion have not"
                ));
            }
        });
    }

    /// Prints the total and gives the exit code.
    pub(super) fn end(mut self) -> u8 {
        if self.several {
            let total = self.total();
            self.print(total.as_bytes());
        }
        let is_refused = self.judged.values().any(|file| self.is_refused(file.has_losses, file.has_none));
        match self.first_failure {
            _ if self.unwritten => exit::BAD_INPUT,
            // A single folder without a program is one bad input.
            Some(code) if !self.several || self.is_empty => code,
            Some(_) => exit::SOME_FAILED,
            None if self.unreadable > 0 || is_refused => exit::SOME_FAILED,
            None => 0,
        }
    }

    fn total(&self) -> String {
        let mut text = format!("{} converted", self.converted);
        let (without, losses) = self.lacking(false);
        text += &of_these(without, losses);
        if self.existing > 0 {
            text += &format!(", {} already in the store", self.existing);
            let (without, losses) = self.lacking(true);
            text += &of_these(without, losses);
        }
        if self.joined > 0 {
            text += &format!(", {} debug files converted with their programs", self.joined);
        }
        text += &format!(", {} failed", self.failed);
        if self.unreadable > 0 {
            text += &format!(", {} could not be read", self.unreadable);
        }
        for words in self.passed_over.words() {
            text += &format!(", {words}");
        }
        text + "\n"
    }

    /// Prints text for people. If the reader of standard output is gone, the programs are converted anyway.
    fn print(&mut self, text: &[u8]) {
        if !self.prints {
            return;
        }
        let written = self.bar.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text).and_then(|()| out.flush())
        });
        if let Err(error) = written {
            self.prints = false;
            self.unwritten |= Failure::from(error).code != 0;
        }
    }

    fn manifest(&mut self, entry: &Value) {
        let written = match &mut self.manifest {
            Manifest::None => Ok(()),
            Manifest::Whole(path) if is_stdout(path) => {
                let mut out = io::stdout().lock();
                out.write_all(format!("{entry:#}\n").as_bytes()).and_then(|()| out.flush())
            }
            Manifest::Whole(path) => foldsym_convert::internal::write_whole(path, |file| {
                file.write_all(format!("{entry:#}\n").as_bytes())
            }),
            Manifest::Lines(_, out) => {
                out.write_all(format!("{entry}\n").as_bytes()).and_then(|()| out.flush())
            }
        };
        if let Err(error) = written {
            // The failure is reported once: the next entry would probably fail too.
            let manifest = std::mem::replace(&mut self.manifest, Manifest::None);
            if let Manifest::Whole(path) | Manifest::Lines(path, _) = manifest {
                self.unwritten = true;
                self.bar.suspend(|| complain(&format!("{}: cannot write: {error}", path.display())));
            }
        }
    }
}

/// How many of some programs have no debug information, or lost a part of it.
fn of_these(without: u64, with_losses: u64) -> String {
    let mut parts = Vec::new();
    if without > 0 {
        parts.push(format!("{without} without debug information"));
    }
    if with_losses > 0 {
        parts.push(format!("{with_losses} with losses"));
    }
    if parts.is_empty() { String::new() } else { format!(" (of these {})", parts.join(", ")) }
}

/// The entry of an input that was not converted.
fn failed(input: &Path, part: Option<&str>, output: Option<&Path>, failure: &Failure) -> Value {
    let mut entry = json!({
        "input": input.to_string_lossy(),
        "error": {"message": failure.message, "exit_code": failure.code},
    });
    if let Some(output) = output {
        entry["output"] = json!(output.to_string_lossy());
    }
    if let Some(part) = part {
        entry["part"] = json!(part);
    }
    entry
}
