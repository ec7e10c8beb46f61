//! `foldsym convert`: turns programs into `.fsym` files, several at once.

mod plan;
mod run;

use std::path::Path;

use foldsym_convert::Options;
use serde_json::{Value, json};

use crate::args::{Convert, Reading};
use crate::failure::{Failure, exit};
use crate::progress::Bar;
use plan::Plan;
use run::Outcome;

/// Converts every input, and says at the end what became of each.
pub(crate) fn run(args: &Convert) -> Result<u8, Failure> {
    for (given, name) in [(args.demangled, "--demangled"), (args.locations, "--locations")] {
        if given {
            return Err(Failure::not_in_this_version(name));
        }
    }
    let plan = Plan::new(args)?;
    let bar = Bar::new(plan.jobs.len(), args.quiet);
    let options =
        Options { columns: args.columns, name_index: !args.no_name_index, ..options(&args.reading) };
    let outcomes = run::all(&plan.jobs, &options, &bar);
    bar.clear();

    let failed = outcomes.iter().filter(|outcome| outcome.result.is_err()).count();
    for outcome in &outcomes {
        if let Err(failure) = &outcome.result {
            failure.print();
        }
    }
    if let Some(path) = &args.report {
        write_report(path, &plan, &outcomes)?;
    }
    if !args.quiet {
        print_summary(&plan, &outcomes, failed)?;
    }
    match outcomes.into_iter().find_map(|outcome| outcome.result.err()) {
        None if plan.unreadable > 0 => Ok(exit::SOME_FAILED),
        None => Ok(0),
        // Each message is printed by now.
        Some(_) if plan.several => Ok(exit::SOME_FAILED),
        Some(failure) => Ok(failure.code),
    }
}

/// What of the options `verify --against` has as well.
pub(crate) fn options(reading: &Reading) -> Options {
    Options {
        threads: reading.threads,
        arch: reading.arch.clone(),
        target: reading.target.clone(),
        dwp: reading.dwp.clone(),
        dwo_dirs: reading.dwo_dir.clone(),
        debug_dirs: reading.debug_dir.clone(),
        map_prefix: reading.map_prefix.clone(),
        remap_path: reading.remap_path.clone(),
        columns: false,
        name_index: false,
        demangle: Some(foldsym_convert::demangle::demangle),
    }
}

fn print_summary(plan: &Plan, outcomes: &[Outcome], failed: usize) -> Result<(), Failure> {
    let mut text = String::new();
    for outcome in outcomes {
        if let Ok(report) = &outcome.result {
            text += &format!("{}: {}\n", outcome.job.output.display(), report.summary());
        }
    }
    if plan.several {
        text += &format!("{} converted, {failed} failed", outcomes.len() - failed);
        if plan.unreadable > 0 {
            text += &format!(", {} could not be looked at", plan.unreadable);
        }
        if plan.passed_over > 0 {
            text += &format!(", {} other files passed over", plan.passed_over);
        }
        text.push('\n');
    }
    Ok(std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes())?)
}

/// Writes the report of the one input, or of all: to a temporary file that is renamed, as every output.
fn write_report(path: &Path, plan: &Plan, outcomes: &[Outcome]) -> Result<(), Failure> {
    let entry = |outcome: &Outcome| match &outcome.result {
        Ok(report) => json!({
            "input": outcome.job.input.to_string_lossy(),
            "output": outcome.job.output.to_string_lossy(),
            "report": report.to_json(),
        }),
        Err(failure) => json!({
            "input": outcome.job.input.to_string_lossy(),
            "error": {"message": failure.message, "exit_code": failure.code},
        }),
    };
    let value = match outcomes {
        [Outcome { result: Ok(report), .. }] if !plan.several => report.to_json(),
        [outcome] if !plan.several => entry(outcome),
        _ => json!({"inputs": outcomes.iter().map(entry).collect::<Vec<Value>>()}),
    };
    let write = || -> std::io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file =
            tempfile::Builder::new().prefix(".foldsym-").permissions_of_a_new_file().tempfile_in(folder)?;
        serde_json::to_writer_pretty(&mut file, &value)?;
        std::io::Write::write_all(&mut file, b"\n")?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| Failure::input(path, error))
}

/// `tempfile` makes files that only their owner may read; a report is an output as any other.
trait Permissions {
    fn permissions_of_a_new_file(&mut self) -> &mut Self;
}

impl Permissions for tempfile::Builder<'_, '_> {
    #[cfg(unix)]
    fn permissions_of_a_new_file(&mut self) -> &mut Self {
        use std::os::unix::fs::PermissionsExt;
        // The umask takes from this, as for any file.
        self.permissions(std::fs::Permissions::from_mode(0o666))
    }

    #[cfg(not(unix))]
    fn permissions_of_a_new_file(&mut self) -> &mut Self {
        self
    }
}
