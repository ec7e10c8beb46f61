//! The arguments of `foldsym convert`, and the options that say where the files of a program are.

use std::path::PathBuf;

use clap::Args;
use glob::Pattern as Glob;

/// The headings of options that few people need.
const WHERE: &str = "Where debug information is";
pub(super) const STORES: &str = "Stores";
pub(super) const FOLDERS: &str = "Folders";
pub(super) const CONTENTS: &str = "What the file has besides functions and lines";
pub(super) const CHECKS: &str = "Reports and checks";

/// Options that select a part of a program, and say where its other files are.
#[derive(Args)]
pub(crate) struct Reading {
    /// Threads to use; 0 takes all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count, hide_short_help = true)]
    pub(crate) threads: usize,
    /// Architecture to take from a fat file; a program of another one is refused
    #[arg(long, value_name = "A", conflicts_with = "target", help_heading = WHERE, hide_short_help = true)]
    pub(crate) arch: Option<String>,
    /// Target to take from an offload bundle, or a host program with one (`gfx90a`, `gfx90a:xnack+`)
    #[arg(long, value_name = "T", help_heading = WHERE, hide_short_help = true)]
    pub(crate) target: Option<String>,
    /// Split debug information package (default: beside the program)
    #[arg(long, value_name = "F", help_heading = WHERE, hide_short_help = true)]
    pub(crate) dwp: Option<PathBuf>,
    /// Folder of .dwo files; nothing outside of these is opened
    #[arg(long, value_name = "D", help_heading = WHERE, hide_short_help = true)]
    pub(crate) dwo_dir: Vec<PathBuf>,
    /// Folder of separate debug files, by build id (default: /usr/lib/debug)
    #[arg(long, value_name = "D", help_heading = WHERE, hide_short_help = true)]
    pub(crate) debug_dir: Vec<PathBuf>,
    /// Separate debug file or dSYM bundle of the program (default: found by build id, debug link, or beside it)
    #[arg(long, value_name = "F", help_heading = WHERE, hide_short_help = true)]
    pub(crate) debug_file: Option<PathBuf>,
    /// Opens debug files whose path begins with OLD under NEW instead
    #[arg(long, value_name = "OLD=NEW", value_parser = path_pair, help_heading = WHERE, hide_short_help = true)]
    pub(crate) map_prefix: Vec<(PathBuf, PathBuf)>,
    /// Replaces OLD at the beginning of stored source paths by NEW
    #[arg(long, value_name = "OLD=NEW", value_parser = text_pair, help_heading = WHERE, hide_short_help = true)]
    pub(crate) remap_path: Vec<(String, String)>,
}

#[derive(Args)]
#[command(disable_version_flag = true)] // --version is the program's
#[command(after_help = "\
Examples:
  foldsym convert app                                   writes app.fsym
  foldsym convert build/ --out-dir symbols --report r.jsonl --strict
  foldsym convert build/ --store symbols                publishes each program under its build id")]
#[command(after_long_help = "\
A separate debug file is searched for in each --debug-dir, in /usr/lib/debug, by the program's debug link, next to the \
program (NAME.debug), and in debuginfod's cache ($DEBUGINFOD_CACHE_PATH); its build id must be the program's.
With --out-dir an archive gives one file per member, and a fat file one per architecture.
A report of several programs has a line of JSON for each, written when it is done.

Examples:
  foldsym convert app                                   writes app.fsym
  foldsym convert app libfoo.so --out-dir symbols       writes both into symbols/
  foldsym convert build/ --out-dir symbols --include '*.so' --report r.jsonl --strict
  find / -name '*.so' -print0 | foldsym convert @- --out-dir symbols
  foldsym convert build/ --store /srv/symbols           publishes each program under its build id
  foldsym convert build/ --store /srv/symbols --product mail --version 4.2 --revision 8f3c2a
  foldsym convert app -o app.fsym --remap-path /build/=/src/
  foldsym convert bundle -o gpu.fsym --target gfx90a    one device program of a container")]
pub(crate) struct Convert {
    /// Programs, libraries, object files, archives, dSYM bundles; folders, of which programs, libraries, debug files and dSYM
    /// bundles are taken; @FILE lists some, one a line (@- on standard input)
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// File to write, of a single input (default: INPUT.fsym); - is standard output
    #[arg(short, long, value_name = "OUT.fsym", conflicts_with = "out_dir")]
    pub(crate) output: Option<PathBuf>,
    /// Folder to write NAME.fsym into, for each input
    #[arg(long, value_name = "DIR")]
    pub(crate) out_dir: Option<PathBuf>,
    /// Folder or address of a store (see `foldsym store --help`): publishes each program there under its build id. A program is converted again
    /// unless the store's file is complete and has what the options ask for; then the better of the two files stays
    // The store names the file, and its place is known only after the program is identified.
    #[arg(long, value_name = "STORE", conflicts_with_all = ["output", "out_dir", "dry_run"], help_heading = STORES)]
    pub(crate) store: Option<String>,
    /// Also converts programs that the store has all of, and replaces their files, unless the new ones have less
    #[arg(long, requires = "store", help_heading = STORES, hide_short_help = true)]
    pub(crate) force: bool,
    /// Notes in the store that the programs belong to a release of this product; `store gc --keep-releases` counts releases
    #[arg(long, value_name = "P", requires = "store", help_heading = STORES, hide_short_help = true)]
    pub(crate) product: Option<String>,
    /// Version of the product
    #[arg(long, value_name = "V", requires = "product", help_heading = STORES, hide_short_help = true)]
    pub(crate) version: Option<String>,
    /// Revision of the sources
    #[arg(long, value_name = "R", requires = "product", help_heading = STORES, hide_short_help = true)]
    pub(crate) revision: Option<String>,
    /// Converts only those files of a folder that match the pattern: by name, or, if it has a /, by path below the folder
    #[arg(long, value_name = "GLOB", value_parser = glob, help_heading = FOLDERS, hide_short_help = true)]
    pub(crate) include: Vec<Glob>,
    /// Leaves out files and folders that match the pattern
    #[arg(long, value_name = "GLOB", value_parser = glob, help_heading = FOLDERS, hide_short_help = true)]
    pub(crate) exclude: Vec<Glob>,
    /// Converts the object files and archives of a folder too. Their code is that of the folder's programs
    #[arg(long, help_heading = FOLDERS, hide_short_help = true)]
    pub(crate) objects: bool,
    /// Prints what would be converted into what, and writes nothing
    #[arg(long, help_heading = FOLDERS)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Keeps column numbers
    #[arg(long, help_heading = CONTENTS)]
    pub(crate) columns: bool,
    /// Stores readable names without parameters, for crash handlers that cannot demangle
    #[arg(long, help_heading = CONTENTS, hide_short_help = true)]
    pub(crate) demangled: bool,
    /// Keeps the location of `this` in methods that share code, for stacks with registers and memory
    #[arg(long, help_heading = CONTENTS, hide_short_help = true)]
    pub(crate) locations: bool,
    /// Keeps the rows of call frame information, for walking frames in a crash handler or a reader of crash reports
    #[arg(long, help_heading = CONTENTS)]
    pub(crate) unwind: bool,
    /// Keeps the calls to functions of other modules, for stacks over many modules (ELF only)
    // The file keeps such calls by linkage name.
    #[arg(long, conflicts_with = "demangled", help_heading = CONTENTS, hide_short_help = true)]
    pub(crate) imports: bool,
    /// Keeps global variables: name, size, file and line, for `lookup --data` and reports of thread sanitizer
    // The file keeps them by linkage name.
    #[arg(long, conflicts_with = "demangled", help_heading = CONTENTS, hide_short_help = true)]
    pub(crate) data: bool,
    /// Writes an index of all names, which makes `find` faster and the file larger
    #[arg(long, help_heading = CONTENTS)]
    pub(crate) name_index: bool,
    /// Writes a report of what was kept, repaired and skipped to F.json; - is standard output
    #[arg(long, value_name = "F.json", help_heading = CHECKS)]
    pub(crate) report: Option<PathBuf>,
    /// Exit code 4 if debug information that a program refers to is missing, or some is damaged (a program without any passes); files
    /// are written anyway
    #[arg(long, help_heading = CHECKS)]
    pub(crate) strict: bool,
    /// Exit code 4 if a program has no debug information; files are written anyway
    #[arg(long, help_heading = CHECKS, hide_short_help = true)]
    pub(crate) require_debug_info: bool,
    /// Ends by a signal where it would take more memory than this, in bytes: `serve` converts programs so (Linux)
    #[arg(long, value_name = "BYTES", hide = true)]
    pub(crate) memory: Option<u64>,
    /// No progress bar and no summary; warnings are printed
    #[arg(long, short, help_heading = CHECKS)]
    pub(crate) quiet: bool,
    /// The inputs are Breakpad symbol files: the command is `import`.
    #[arg(skip)]
    pub(crate) import: bool,
}

/// As the converter has it.
#[cfg(feature = "convert")]
const MAX_THREADS: usize = foldsym_convert::Options::MAX_THREADS;
/// The same number: `convert` says that it is missing, whatever its options are.
#[cfg(not(feature = "convert"))]
const MAX_THREADS: usize = 1024;

pub(super) fn thread_count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count <= MAX_THREADS);
    count.ok_or_else(|| format!("expected a number up to {MAX_THREADS}"))
}

pub(super) fn glob(text: &str) -> Result<Glob, String> {
    Glob::new(text).map_err(|error| error.to_string())
}

fn path_pair(text: &str) -> Result<(PathBuf, PathBuf), String> {
    text_pair(text).map(|(old, new)| (old.into(), new.into()))
}

pub(super) fn text_pair(text: &str) -> Result<(String, String), String> {
    // The first `=` ends OLD: NEW may contain more of them.
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() => Ok((old.to_owned(), new.to_owned())),
        _ => Err("expected OLD=NEW".to_owned()),
    }
}
