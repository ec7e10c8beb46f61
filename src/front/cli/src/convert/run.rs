//! Runs the conversions of a plan: a few at a time, each with its share of the threads.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldsym_convert::{Options, Report};

use super::plan::{Empty, Job};
use crate::failure::Failure;
use crate::progress::Bar;

/// What became of one input.
pub(crate) struct Outcome {
    pub(crate) job: Job,
    pub(crate) result: Result<Report, Failure>,
}

impl Outcome {
    /// A host program whose device code cannot be read; the program itself is another outcome.
    pub(crate) fn of_damaged(input: PathBuf, failure: Failure) -> Self {
        let job = Job { input, output: PathBuf::new(), make_folder: false, target: None, device: None };
        Self { job, result: Err(failure) }
    }

    /// A folder in which nothing can be converted is an input that failed.
    pub(crate) fn of_empty(folder: &Empty) -> Self {
        let Empty { folder, passed_over } = folder;
        let what = match passed_over {
            0 => "an empty folder, expected programs in it".to_owned(),
            others => format!("no program in this folder, only {others} other files"),
        };
        let job = Job {
            input: folder.clone(),
            output: PathBuf::new(),
            make_folder: false,
            target: None,
            device: None,
        };
        Self { job, result: Err(Failure::input(folder, what)) }
    }
}

/// Converts every job. The outcomes are in the order of the jobs, whichever ended first.
pub(crate) fn all(jobs: &[Job], options: &Options, bar: &Bar) -> Vec<Outcome> {
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        given => given,
    };
    let workers = threads.min(jobs.len()).max(1);
    // What does not divide evenly is left unused rather than shared unevenly.
    let options = &Options { threads: (threads / workers).max(1), ..options.clone() };
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Outcome>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((job, place)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(at).zip(outcomes.get(at))
        } {
            let result = one(job, options, bar);
            bar.input_done();
            if let Ok(mut place) = place.lock() {
                *place = Some(Outcome { job: job.clone(), result });
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(work);
        }
        work();
    });
    outcomes.into_iter().filter_map(|place| place.into_inner().ok().flatten()).collect()
}

fn one(job: &Job, options: &Options, bar: &Bar) -> Result<Report, Failure> {
    if job.make_folder
        && let Some(folder) = job.output.parent()
    {
        std::fs::create_dir_all(folder).map_err(|error| Failure::input(folder, error))?;
    }
    let target = job.target.clone().or_else(|| options.target.clone());
    let options = &Options { target, device: job.device, ..options.clone() };
    foldsym_convert::convert(&job.input, &job.output, options, bar).map_err(|error| {
        let of = job.target.as_ref().map(|target| format!(" (of target {target})")).unwrap_or_default();
        Failure { message: format!("{error}{of}"), code: error.exit_code() }
    })
}
