//! Runs the conversions of a plan: a few at a time, each with its share of the threads.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldsym_convert::{Options, Report};

use super::plan::{Job, Which, is_stdout};
use super::store::{Stored, Target};
use crate::io::failure::Failure;
use crate::io::limits;
use crate::io::progress::Bar;

/// The result of a conversion.
pub(super) enum Done {
    /// The job's output was written.
    Written(Box<Report>),
    /// A store has the file.
    Stored(Box<Stored>),
}

/// Converts every job and hands each on as soon as it is done, from the thread that converted it.
pub(crate) fn all(
    jobs: &[Job],
    (options, store): (&Options, Option<&Target>),
    bar: &Bar,
    done: &(dyn Fn(&Job, Result<Done, Failure>) + Sync),
) {
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        given => given,
    };
    let workers = threads.min(jobs.len()).max(1);
    // Threads that cannot be divided evenly stay unused.
    let options = &options.clone().with(|options| options.threads = (threads / workers).max(1));
    let is_large = |job: &Job| std::fs::metadata(&job.input).is_ok_and(|input| input.len() >= LARGE);
    // The allocator's option must be set before any thread converts.
    if jobs.iter().any(is_large) {
        limits::give_memory_back_at_once();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        // The number guards no other data, so no ordering is needed.
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = one(job, (options, store), bar);
            bar.input_done();
            done(job, result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // If the system cannot start more threads, the threads that were started do the work.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

/// For programs of at least this many bytes, the command trades a little time for less memory.
const LARGE: u64 = 512 << 20;

fn one(job: &Job, (options, store): (&Options, Option<&Target>), bar: &Bar) -> Result<Done, Failure> {
    // The folder is made only when a job needs it, so that a command without a program leaves no folder.
    if job.make_folder
        && store.is_none()
        && let Some(folder) = job.output.parent()
    {
        std::fs::create_dir_all(folder).map_err(|error| Failure::input(folder, error))?;
    }
    let mut options = options.clone();
    match &job.which {
        Which::Whole => {}
        Which::Device(target, place) => {
            (options.target, options.device) = (Some(target.clone()), Some(*place));
        }
        Which::Member(index, _) => options.member = Some(*index),
        Which::Arch(arch) => options.arch = Some(arch.clone()),
    }
    if job.debug_file.is_some() {
        options.debug_file.clone_from(&job.debug_file);
    }
    let _named = limits::name(&job.named());
    let written = |report| Done::Written(Box::new(report));
    let converted = if let Some(store) = store {
        store.convert(job, &options, bar).map(|stored| Done::Stored(Box::new(stored)))
    } else if is_stdout(&job.output) {
        to_stdout(job, &options, bar).map(written).map_err(Failure::from)
    } else {
        let converted = foldsym_convert::convert(&job.input, &job.output, &options, bar);
        converted.map(written).map_err(Failure::from)
    };
    converted.map_err(|mut failure| {
        if let Which::Device(target, _) = &job.which {
            // The error names only the file, which may have several device programs.
            failure.message += &format!(" (of target {target})");
        }
        failure
    })
}

/// All at once, when nothing can go wrong any more but the writing.
fn to_stdout(job: &Job, options: &Options, bar: &Bar) -> Result<Report, foldsym_convert::ConvertError> {
    let mut bytes = Vec::new();
    let report = foldsym_convert::convert_to(&job.input, &mut bytes, options, bar)?;
    let mut out = std::io::stdout().lock();
    let written = out.write_all(&bytes).and_then(|()| out.flush());
    let unwritable = |error| foldsym_convert::ConvertError::Write { path: "standard output".into(), error };
    written.map_err(unwritable)?;
    Ok(report)
}
