//! `foldsym convert`: turns programs into `.fsym` files, several at once. `foldsym import` does so with Breakpad symbol files.

mod companions;
mod inputs;
mod ledger;
mod plan;
mod probes;
mod run;
mod store;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use foldsym_convert::Options;
use foldsym_store::debuginfod_cache;

use crate::args::{Convert, Import, Reading};
use crate::io::escape::push_escaped;
use crate::io::failure::Failure;
use crate::io::progress::Bar;
use ledger::Ledger;
use plan::{Plan, is_stdout};

/// Converts every input, and says of each what became of it when it is done.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Convert) -> Result<u8, Failure> {
    bound_memory(args.memory)?;
    refuse_stdout(args)?;
    find_folders(&args.reading)?;
    let mut plan = Plan::new(args)?;
    if args.dry_run {
        return dry_run(&plan);
    }
    // With a store, `join` removes the jobs of debug files whose programs are inputs, so it runs before the jobs are counted.
    plan.companions = companions::join(&mut plan.jobs, args.store.is_some());
    let store = args.store.as_deref().map(|store| store::Target::open(store, args)).transpose()?;
    let bar = Bar::new(plan.jobs.len(), args.quiet);
    let options = options(&args.reading).with(|options| {
        options.columns = args.columns;
        options.locations = args.locations;
        options.unwind = args.unwind;
        options.imports = args.imports;
        options.data = args.data;
        options.name_index = args.name_index;
        options.readable_names = args.demangled;
    });
    let ledger = Mutex::new(Ledger::new(args, &plan, &bar)?);
    let lock = || ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for refused in &plan.refused {
        lock().refused(refused);
    }
    run::all(&plan.jobs, (&options, store.as_ref()), &bar, &|job, result| lock().done(job, result));
    bar.clear();
    Ok(ledger.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).end())
}

/// Turns Breakpad symbol files into `.fsym` files, as `convert` does with programs.
pub(crate) fn import(args: &Import) -> Result<u8, Failure> {
    run(&args.conversion())
}

/// Fails if a folder that an option names is not there: its files would only seem to be missing.
///
/// # Errors
/// Which folder, and why it cannot be searched.
pub(crate) fn find_folders(reading: &Reading) -> Result<(), Failure> {
    for (option, folders) in [("--dwo-dir", &reading.dwo_dir), ("--debug-dir", &reading.debug_dir)] {
        for folder in folders {
            match folder.metadata() {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(Failure::input(folder, format!("not a folder, for {option}"))),
                Err(error) => return Err(Failure::input(folder, format!("folder of {option}: {error}"))),
            }
        }
    }
    Ok(())
}

/// The options that `verify --against` has as well.
pub(crate) fn options(reading: &Reading) -> Options {
    Options::default().with(|options| {
        options.threads = reading.threads;
        options.arch = reading.arch.clone();
        options.target = reading.target.clone();
        options.dwp = reading.dwp.clone();
        options.dwo_dirs = reading.dwo_dir.clone();
        options.debug_dirs = reading.debug_dir.clone();
        options.debug_file = reading.debug_file.clone();
        options.debuginfod_dirs = debuginfod_cache().into_iter().collect();
        options.map_prefix = reading.map_prefix.clone();
        options.remap_path = reading.remap_path.clone();
        options.demangle = Some(foldsym_demangle::demangle);
    })
}

/// Bounds the memory of this process. What it maps of files does not count.
fn bound_memory(bytes: Option<u64>) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    if let Some(bytes) = bytes {
        let limit = rustix::process::Rlimit { current: Some(bytes), maximum: Some(bytes) };
        rustix::process::setrlimit(rustix::process::Resource::Data, limit)
            .map_err(|error| Failure::usage(format!("--memory {bytes}: {error}")))?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
    Ok(())
}

/// Standard output takes one thing, and a terminal no symbol file.
fn refuse_stdout(args: &Convert) -> Result<(), Failure> {
    let is_stdout = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_stdout);
    if is_stdout(&args.output) && is_stdout(&args.report) {
        return Err(Failure::usage("-o - and --report -: standard output takes one of them"));
    }
    if is_stdout(&args.output) && std::io::stdout().is_terminal() {
        return Err(Failure::usage("-o -: a terminal shows no symbol file; redirect standard output"));
    }
    Ok(())
}

/// Prints what would be converted into what, and what could not be.
fn dry_run(plan: &Plan) -> Result<u8, Failure> {
    let mut text = Vec::new();
    for job in &plan.jobs {
        push_escaped(&mut text, job.named().as_bytes());
        text.extend_from_slice(b" -> ");
        push_escaped(&mut text, job.output.as_os_str().as_encoded_bytes());
        text.push(b'\n');
    }
    std::io::stdout().lock().write_all(&text)?;
    for refused in &plan.refused {
        refused.failure.print();
    }
    let failed = plan.refused.first().map(|refused| refused.failure.code);
    Ok(match failed {
        // The same code as from `Ledger::end`.
        Some(_) if plan.several && !plan.is_empty => crate::io::failure::exit::SOME_FAILED,
        Some(code) => code,
        None => 0,
    })
}
