//! Programs to symbol files, with Python's own progress.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use foldsym_convert::internal::{replaceable, write_whole};
use foldsym_convert::{ConvertError, Options, Progress, Report, convert_bytes, convert_to};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{Source, failed, loads};

/// What a `.fsym` begins with.
const MAGIC: &[u8] = &foldsym_format::header::MAGIC;

/// How often a step says how far it is.
const TIMES_A_STEP: u64 = 100;

/// How long a signal waits for its handler while a program is converted.
const SIGNALS: Duration = Duration::from_millis(50);

/// Tells a callable of the steps, until it raises.
struct Callback {
    callable: Py<PyAny>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    step: &'static str,
    total: u64,
    done: u64,
    /// What was done when the callable was told last.
    told: u64,
    raised: Option<PyErr>,
}

impl Callback {
    /// Changes the state, and calls with it where `change` says so. One thread at a time, so that what is told only grows.
    fn tell(&self, change: impl FnOnce(&mut State) -> bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // After its first exception the callable is not called again: `convert` raises that exception.
        if !change(&mut state) || state.raised.is_some() {
            return;
        }
        state.told = state.done;
        let told = (state.step, state.done, state.total);
        state.raised = Python::attach(|py| self.callable.call1(py, told)).err();
    }

    fn has_raised(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).raised.is_some()
    }
}

/// What ends a conversion early: the callable raised, or the handler of a signal did.
struct Watch<'a> {
    callback: Option<&'a Callback>,
    interrupted: &'a AtomicBool,
}

impl Watch<'_> {
    fn tell(&self, change: impl FnOnce(&mut State) -> bool) {
        if let Some(callback) = self.callback {
            callback.tell(change);
        }
    }
}

impl Progress for Watch<'_> {
    fn step(&self, name: &'static str, total: u64) {
        // `advance` may leave out up to a hundredth of a step. The callable gets that rest of the previous step here.
        self.tell(|state| state.done > state.told);
        self.tell(|state| {
            (state.step, state.total, state.done, state.told) = (name, total, 0, 0);
            true
        });
    }

    fn advance(&self, units: u64) {
        self.tell(|state| {
            state.done = state.done.saturating_add(units);
            // `told` is an earlier value of `done`, or both are 0, so this does not underflow.
            state.done - state.told > state.total / TIMES_A_STEP
        });
    }

    fn is_cancelled(&self) -> bool {
        // The flag guards no other data, so no ordering is needed.
        self.interrupted.load(Ordering::Relaxed) || self.callback.is_some_and(Callback::has_raised)
    }
}

/// A file that is written no further once the conversion is to end.
struct Output<'a> {
    file: &'a mut std::fs::File,
    watch: &'a Watch<'a>,
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.watch.is_cancelled() {
            return Err(io::Error::other(
                "the progress callback or the handler of a signal raised an exception",
            ));
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn write(source: &Source, output: &Path, options: &Options, watch: &Watch<'_>) -> Result<Report, String> {
    let unwritable = |error: io::Error| format!("{}: cannot write: {error}", output.display());
    // Before the work, which may take long.
    replaceable(output, MAGIC, "symbol file").map_err(unwritable)?;
    // `write_whole` passes on only an `io::Error`, so the report and the converter's error leave the closure here.
    let mut report = None;
    let written = write_whole(output, |file| {
        let mut out = Output { file, watch };
        let made = match source {
            Source::Path(path) => convert_to(path, &mut out, options, watch),
            Source::Bytes(bytes) => convert_bytes(Path::new("<bytes>"), bytes, &mut out, options, watch),
        };
        let made = made.map_err(|error| match error {
            ConvertError::Write { error, .. } => unwritable(error),
            error => error.to_string(),
        });
        // The file gets its name only where there is a report.
        let is_whole = made.is_ok() && !watch.is_cancelled();
        report = Some(made);
        if is_whole { Ok(()) } else { Err(io::Error::other("not converted")) }
    });
    match (report, written) {
        // The converter's error comes first: then `written` only has the closure's "not converted".
        (Some(Err(error)), _) => Err(error),
        (_, Err(error)) => Err(unwritable(error)),
        (Some(Ok(report)), Ok(())) => Ok(report),
        (None, Ok(())) => Err(unwritable(io::Error::other("nothing was converted"))),
    }
}

/// Works in a thread of its own, while this one lets Python handle signals: Python does that in its main thread alone. What a handler
/// raises (as Ctrl-C does) is given when the work, which sees `interrupted`, has ended.
fn with_signals<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> R + Send,
    interrupted: &AtomicBool,
) -> PyResult<R> {
    std::thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        let work = move || {
            // Dropped when the work ends, also where it panics.
            let _done = done;
            work()
        };
        // The thread gets as much stack as the command has. Rust's default is 2 MiB.
        let worker =
            std::thread::Builder::new().stack_size(8 << 20).spawn_scoped(scope, work).map_err(failed)?;
        let mut raised = None;
        // A receiver may wait in one thread alone, which this is.
        let ended = Mutex::new(ended);
        let wait = || ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNALS);
        // This thread detaches while it waits: the worker needs the interpreter to call `progress`.
        while matches!(py.detach(wait), Err(mpsc::RecvTimeoutError::Timeout)) {
            if let Err(error) = py.check_signals() {
                interrupted.store(true, Ordering::Relaxed);
                // A second Ctrl-C, while the work ends, changes nothing.
                raised = raised.or(Some(error));
            }
        }
        let result = py.detach(|| worker.join());
        match (raised, result) {
            (Some(error), _) => Err(error),
            (None, Ok(result)) => Ok(result),
            // pyo3 turns it into a `PanicException`, like a panic of this thread.
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}

/// The pairs of a dictionary, in its order.
fn pairs<T: for<'a, 'py> FromPyObject<'a, 'py, Error: Into<PyErr>>>(
    dictionary: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<(T, T)>> {
    let mut pairs = Vec::new();
    for (old, new) in dictionary.into_iter().flatten() {
        pairs.push((old.extract().map_err(Into::into)?, new.extract().map_err(Into::into)?));
    }
    Ok(pairs)
}

/// Converts a program, a path or bytes, into the file `output`. Gives the report, with the keys of `schema/report.md`.
///
/// Options are those of `foldsym convert`. `progress` is called as `progress(step, done, total)`, from other threads; `total` is
/// 0 where it is not known. If it raises, the conversion ends before its next step, nothing is written, and `convert` raises the same. The interpreter lock is
/// free during the work. The output is replaced when it is whole.
///
/// >>> report = foldsym.convert("demo.elf", "demo.fsym", name_index=True)
/// >>> report["debug_info"]
/// 'full'
/// >>> steps = []
/// >>> _ = foldsym.convert("demo.elf", "demo.fsym", progress=lambda step, done, total: steps.append(step))
/// >>> list(dict.fromkeys(steps))
/// ['open', 'read', 'recover', 'place', 'encode', 'write']
#[pyfunction]
#[pyo3(signature = (
    source, output, *, columns = false, locations = false, unwind = false, imports = false, name_index = false, demangled = false, threads = 0,
    arch = None, target = None, dwp = None, dwo_dirs = Vec::new(), debug_dirs = Vec::new(), debug_file = None,
    map_prefix = None, remap_path = None, progress = None
))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python")]
#[expect(clippy::fn_params_excessive_bools, reason = "each is a keyword of Python")]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    output: PathBuf,
    columns: bool,
    locations: bool,
    unwind: bool,
    imports: bool,
    name_index: bool,
    demangled: bool,
    threads: usize,
    arch: Option<String>,
    target: Option<String>,
    dwp: Option<PathBuf>,
    dwo_dirs: Vec<PathBuf>,
    debug_dirs: Vec<PathBuf>,
    debug_file: Option<PathBuf>,
    map_prefix: Option<&Bound<'py, PyDict>>,
    remap_path: Option<&Bound<'py, PyDict>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if imports && demangled {
        return Err(PyValueError::new_err("imports are kept by linkage names: not with demangled"));
    }
    let source = crate::source(source)?;
    let (map_prefix, remap_path) = (pairs(map_prefix)?, pairs(remap_path)?);
    let options = Options::default().with(|options| {
        options.threads = threads;
        options.arch = arch;
        options.target = target;
        options.dwp = dwp;
        options.dwo_dirs = dwo_dirs;
        options.debug_dirs = debug_dirs;
        options.debug_file = debug_file;
        options.map_prefix = map_prefix;
        options.remap_path = remap_path;
        options.columns = columns;
        options.locations = locations;
        options.unwind = unwind;
        options.imports = imports;
        options.name_index = name_index;
        options.demangle = Some(foldsym_demangle::demangle);
        options.readable_names = demangled;
    });
    // `convert_bytes` opens no other file: these options would have no effect.
    let names_files = options.dwp.is_some()
        || options.debug_file.is_some()
        || !(options.dwo_dirs.is_empty() && options.debug_dirs.is_empty() && options.map_prefix.is_empty());
    if names_files && matches!(source, Source::Bytes(_)) {
        return Err(PyValueError::new_err("of bytes no other file is opened: give the path of the program"));
    }
    let callback = progress.map(|callable| Callback { callable, state: Mutex::default() });
    let interrupted = AtomicBool::new(false);
    let watch = Watch { callback: callback.as_ref(), interrupted: &interrupted };
    let work = || write(&source, &output, &options, &watch);
    let report = with_signals(py, work, &interrupted)?;
    // The callable's exception comes before the error of the conversion that it ended.
    let state = callback.map(|callback| callback.state.into_inner().unwrap_or_else(PoisonError::into_inner));
    if let Some(raised) = state.and_then(|state| state.raised) {
        return Err(raised);
    }
    let mut report = report.map_err(failed)?.to_json();
    report["output"] = output.to_string_lossy().into();
    loads(py, report.to_string().as_bytes())
}
