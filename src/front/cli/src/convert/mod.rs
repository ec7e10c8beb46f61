//! `foldsym convert`: turns programs into `.fsym` files, several at once.

mod plan;
mod run;

use std::path::Path;

use foldsym_convert::Options;
use foldsym_convert::open::OpenDiagnosticKind;
use serde_json::{Value, json};

use crate::args::{Convert, Reading};
use crate::failure::{Failure, complain, exit};
use crate::progress::Bar;
use plan::Plan;
use run::Outcome;

/// Converts every input, and says at the end what became of each.
pub(crate) fn run(args: &Convert) -> Result<u8, Failure> {
    let mut plan = Plan::new(args)?;
    if let Some(path) = &args.report {
        // Before the work, which may take long.
        foldsym_convert::output_file(path).map_err(|error| unwritable(path, &error))?;
    }
    let bar = Bar::new(plan.jobs.len(), args.quiet);
    let options = Options {
        columns: args.columns,
        locations: args.locations,
        name_index: !args.no_name_index,
        readable_names: args.demangled,
        ..options(&args.reading)
    };
    let mut outcomes = run::all(&plan.jobs, &options, &bar);
    bar.clear();
    outcomes.extend(plan.damaged.drain(..).map(|(input, failure)| Outcome::of_damaged(input, failure)));
    outcomes.extend(plan.empty.iter().map(Outcome::of_empty));

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
        print_notes(&outcomes);
        print_summary(&plan, &outcomes, failed)?;
    }
    match outcomes.into_iter().find_map(|outcome| outcome.result.err()) {
        None if plan.unreadable > 0 => Ok(exit::SOME_FAILED),
        None => Ok(0),
        // Each message is printed by now. A single folder without a program is one bad input.
        Some(_) if plan.several && !(plan.jobs.is_empty() && args.inputs.len() == 1) => Ok(exit::SOME_FAILED),
        Some(failure) => Ok(failure.code),
    }
}

/// What of the options `verify --against` has as well.
pub(crate) fn options(reading: &Reading) -> Options {
    Options {
        threads: reading.threads,
        arch: reading.arch.clone(),
        target: reading.target.clone(),
        device: None,
        dwp: reading.dwp.clone(),
        dwo_dirs: reading.dwo_dir.clone(),
        debug_dirs: reading.debug_dir.clone(),
        map_prefix: reading.map_prefix.clone(),
        remap_path: reading.remap_path.clone(),
        columns: false,
        locations: false,
        name_index: false,
        demangle: Some(foldsym_convert::demangle::demangle),
        readable_names: false,
    }
}

/// Says on standard error what makes answers less sure and can be helped.
fn print_notes(outcomes: &[Outcome]) {
    for outcome in outcomes {
        let notes = outcome.result.iter().flat_map(|report| &report.notes);
        for note in notes.filter(|note| note.kind == OpenDiagnosticKind::NoCode) {
            let input = outcome.job.input.display();
            complain(&format!("{input}: no code, so answers are less sure: {}", note.first));
        }
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
    let mut bytes = serde_json::to_vec_pretty(&value)
        .map_err(|error| Failure::input(path, format!("cannot write: {error}")))?;
    bytes.push(b'\n');
    foldsym_convert::write_whole(path, |file| std::io::Write::write_all(file, &bytes))
        .map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(path, format!("cannot write: {error}"))
}
