//! Runs all measurements of each input, interleaved: every tool once, then every tool again, so
//! that a slow minute of the machine falls on all of them.

use crate::beside;
use crate::child::{finish, json_of, progress, this_program, warm};
use crate::figures::Figures;
use crate::options::Options;
use crate::table;
use foldsym_benches::process;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Conversions in a run, with each number of threads in turn. Other programs on the machine change the cost within seconds, by more than
/// the differences that are measured.
const CONVERSIONS: usize = 3;

/// How many addresses a cold start is tried with: one each run would hang on one address.
const COLD_STARTS: usize = 5;

pub(crate) fn compare(options: &Options) -> Result<(), String> {
    let (dir, keep) = match &options.out {
        Some(dir) => (dir.clone(), true),
        None => (std::env::temp_dir().join(format!("foldsym-compare-{}", std::process::id())), false),
    };
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut failed = Vec::new();
    for input in &options.inputs {
        let done = match &options.beside {
            Some(plain) => beside::measure(options, input, plain, &dir),
            None => measure(options, input, &dir),
        };
        if let Err(error) = done {
            failed.push(format!("{}: {error}", input.display()));
        }
    }
    if !keep {
        std::fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Data that the steps of one input share.
struct Job<'a> {
    options: &'a Options,
    input: &'a Path,
    dir: &'a Path,
    addresses: PathBuf,
    /// Few addresses, for the steps that need one.
    some: Vec<u64>,
}

fn measure(options: &Options, input: &Path, dir: &Path) -> Result<(), String> {
    let bytes = warm(input)?;
    let addresses = dir.join("addresses");
    let count = options.addresses.max(options.tail).max(COLD_STARTS);
    let mut sample = this_program()?;
    sample.arg("worker-sample").args([input, &addresses]);
    sample.args([count.to_string(), options.seed.to_string()]);
    finish(&mut sample)?;
    let some = first_addresses(&addresses)?;

    let job = Job { options, input, dir, addresses, some };
    let mut all: Vec<Figures> =
        options.tools.iter().map(|&tool| Figures::new(tool, tool.version(&options.commands))).collect();
    for run in 0..options.runs {
        for figures in &mut all {
            if figures.error.is_some() {
                continue;
            }
            progress(&format!("run {} of {}: {}", run + 1, options.runs, figures.tool.name()));
            if let Err(error) = job.step(figures, run) {
                figures.error = Some(error);
            }
        }
    }
    progress("");
    let name = input.display().to_string();
    if options.json {
        table::print_json(&name, &all);
    } else {
        table::print(&name, bytes, &all);
    }
    Ok(())
}

impl Job<'_> {
    /// One run of everything of one tool.
    fn step(&self, figures: &mut Figures, run: usize) -> Result<(), String> {
        let tool = figures.tool;
        let output = self.dir.join(format!("out.{}", tool.name()));
        // The system may drop unread pages of a file within seconds.
        warm(self.input)?;
        for _ in 0..CONVERSIONS {
            for &threads in tool.threads() {
                let mut command =
                    tool.convert_command(&self.options.commands, self.input, &output, threads)?;
                let finished = finish(&mut command)?;
                figures.converts.push((threads, finished.cost));
                if let Ok(said) = serde_json::from_slice::<Value>(&finished.stdout) {
                    figures.base = said["base"].as_u64().unwrap_or(0);
                    figures.note = said["note"].as_str().unwrap_or("").to_owned();
                }
            }
        }
        if tool.writes() {
            let size = std::fs::metadata(&output).map_err(|error| format!("no output: {error}"))?.len();
            figures.bytes = Some(size);
            if run == 0 && self.options.zstd {
                let mut command = this_program()?;
                let said = json_of(command.arg("worker-zstd").arg(&output))?;
                figures.zstd19_bytes = said["zstd19_bytes"].as_u64();
            }
        }
        if tool.reads() {
            self.look_up(figures, run, if tool.writes() { &output } else { self.input })?;
        }
        Ok(())
    }

    fn look_up(&self, figures: &mut Figures, run: usize, file: &Path) -> Result<(), String> {
        let tool = figures.tool;
        figures.averages.push(self.reader(
            figures,
            "average",
            file,
            &self.addresses,
            self.options.addresses,
        )?);
        for &address in &self.some {
            let one = self.dir.join("one-address");
            std::fs::write(&one, address.to_le_bytes()).map_err(|error| error.to_string())?;
            figures.colds.push(self.reader(figures, "cold", file, &one, 1)?);
            // Inputs stay in memory: the conversions are measured with them there.
            if tool.writes() {
                process::evict(file).map_err(|error| error.to_string())?;
                figures.colds_disk.push(self.reader(figures, "cold", file, &one, 1)?);
            }
            if let Some(mut command) = tool.lookup_command(&self.options.commands, file, address) {
                figures.commands.push(finish(&mut command)?.cost);
            }
        }
        if run == 0 && self.options.tail > 0 {
            figures.tail = Some(self.reader(figures, "tail", file, &self.addresses, self.options.tail)?);
        }
        Ok(())
    }

    fn reader(
        &self,
        figures: &Figures,
        kind: &str,
        file: &Path,
        addresses: &Path,
        count: usize,
    ) -> Result<Value, String> {
        let mut command = this_program()?;
        command.args(["worker-lookup", kind, figures.tool.name()]).arg(file);
        command.arg(figures.base.to_string()).arg(addresses).arg(count.to_string());
        json_of(&mut command)
    }
}

fn first_addresses(path: &Path) -> Result<Vec<u64>, String> {
    let mut bytes = [0; 8 * COLD_STARTS];
    std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
        .map_err(|error| error.to_string())?;
    let (words, _) = bytes.as_chunks::<8>();
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}
