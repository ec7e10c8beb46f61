//! The options of a conversion, and how a caller observes its progress.

use std::path::{Path, PathBuf};

use crate::encode::Demangle;
use crate::error::ConvertError;
use crate::open::{DevicePlace, OpenOptions};
pub use crate::place::Naming;

/// What to convert and how. The default keeps no columns and writes no name index. Fields may be added, so other
/// crates begin with the default and set the fields that they need.
///
/// ```
/// use foldsym_convert::Options;
///
/// let options = Options::default().with(|options| {
///     options.columns = true;
///     options.threads = 1;
/// });
/// assert!(options.columns && !options.name_index);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Number of threads; 0 for one per core, at most [`Options::MAX_THREADS`]. The bytes of the file do not depend on it.
    pub threads: usize,
    /// The architecture to take from a fat Mach-O file; a program of another is refused.
    pub arch: Option<String>,
    /// The device target to take from a GPU bundle.
    pub target: Option<String>,
    /// Where in the program's file that target is, if several containers have it. The command's list of device targets
    /// gives it; other callers name the target alone.
    pub device: Option<DevicePlace>,
    /// The `.dwp` to use instead of the one beside the program.
    pub dwp: Option<PathBuf>,
    /// Directories of `.dwo` files; if any is given, files outside of them are not opened.
    pub dwo_dirs: Vec<PathBuf>,
    /// Roots of separate debug files, searched before `/usr/lib/debug`.
    pub debug_dirs: Vec<PathBuf>,
    /// The separate debug file or dSYM bundle to use instead of searching for one. It must be of the same build.
    pub debug_file: Option<PathBuf>,
    /// Caches of debuginfod (`DIR/BUILDID/debuginfo`), searched last.
    pub debuginfod_dirs: Vec<PathBuf>,
    /// The archive member to take, counted from 0 in the order of the archive.
    pub member: Option<usize>,
    /// Prefixes of paths in the debug information, with where they are on this machine.
    pub map_prefix: Vec<(PathBuf, PathBuf)>,
    /// Leave out the folder in which the compiler ran (`DW_AT_comp_dir`) where a path does not have it itself, as llvm-symbolizer's
    /// `--relativenames` does.
    pub relative_paths: bool,
    /// Prefixes of stored paths, with their replacements.
    pub remap_path: Vec<(String, String)>,
    /// Keep columns.
    pub columns: bool,
    /// Keep the locations of the object pointer of methods that share their code with others.
    pub locations: bool,
    /// Keep the rows of call frame information, for unwinding.
    pub unwind: bool,
    /// Keep the names to which calls of other modules' functions were linked, for whole stacks over many modules. Not
    /// together with `readable_names`, which several functions may share.
    pub imports: bool,
    /// Keep global variables (ELF only). Not together with `readable_names`.
    pub data: bool,
    /// Write the index for `find`.
    pub name_index: bool,
    /// Give the index readable names.
    pub demangle: Option<Demangle>,
    /// Which of the names of a function answers show.
    pub naming: Naming,
    /// Store readable names without parameters in place of linkage names, for readers that cannot demangle.
    pub readable_names: bool,
}

/// Receives the progress of a conversion. Called from several threads.
///
/// ```
/// use std::path::Path;
/// use std::sync::Mutex;
///
/// use foldsym_convert::{Options, Progress, convert_to};
///
/// #[derive(Default)]
/// struct Steps(Mutex<Vec<&'static str>>);
///
/// impl Progress for Steps {
///     fn step(&self, name: &'static str, _total: u64) {
///         self.0.lock().unwrap().push(name);
///     }
///     fn advance(&self, _units: u64) {}
/// }
///
/// let steps = Steps::default();
/// let program = Path::new("../../testbins/built/demo.elf");
/// convert_to(program, &mut Vec::new(), &Options::default(), &steps)?;
/// assert_eq!(steps.0.into_inner()?, ["open", "read", "recover", "place", "encode", "write"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Progress: Sync {
    /// A step begins that has `total` units of work (bytes of debug information; 0 if unknown).
    fn step(&self, name: &'static str, total: u64);
    /// Work was done: this much of the step.
    fn advance(&self, units: u64);
    /// True once nobody wants the result: the conversion ends with [`ConvertError::Cancelled`] before its next step.
    ///
    /// [`ConvertError::Cancelled`]: crate::ConvertError::Cancelled
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Begins a step, unless the conversion was cancelled.
pub(crate) fn begin(
    progress: &dyn Progress,
    path: &Path,
    step: &'static str,
    total: u64,
) -> Result<(), ConvertError> {
    if progress.is_cancelled() {
        return Err(ConvertError::Cancelled { path: path.to_owned() });
    }
    progress.step(step, total);
    Ok(())
}

/// Ignores progress.
pub struct NoProgress;

impl Progress for NoProgress {
    fn step(&self, _: &'static str, _: u64) {}
    fn advance(&self, _: u64) {}
}

impl Options {
    /// More threads than this are not started: they would wait for each other for minutes.
    pub const MAX_THREADS: usize = 1024;

    /// These options with some fields set.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Options)) -> Options {
        set(&mut self);
        self
    }

    /// Runs `work` on a thread pool of its own, so that simultaneous conversions do not share one.
    pub(crate) fn on_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, ConvertError> {
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(self.threads.min(Options::MAX_THREADS)).build();
        let pool = pool.map_err(|problem| ConvertError::Threads { problem: problem.to_string() })?;
        Ok(pool.install(work))
    }

    /// The options of `open`.
    pub(crate) fn open(&self) -> OpenOptions {
        OpenOptions {
            arch: self.arch.clone(),
            target: self.target.clone(),
            device: self.device,
            debug_dirs: self.debug_dirs.clone(),
            debug_file: self.debug_file.clone(),
            debuginfod_dirs: self.debuginfod_dirs.clone(),
            member: self.member,
            dwo_dirs: self.dwo_dirs.clone(),
            map_prefix: self.map_prefix.clone(),
            dwp: self.dwp.clone(),
            ..OpenOptions::default()
        }
    }

    /// Prefixes of stored paths with their replacements, as bytes.
    pub(crate) fn remapped_paths(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let bytes = |text: &String| text.clone().into_bytes();
        self.remap_path.iter().map(|(old, new)| (bytes(old), bytes(new))).collect()
    }
}
