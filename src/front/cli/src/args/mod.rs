//! The command line as types: every command, option and example of `--help`.

mod answering;
#[cfg(feature = "serve")]
pub(crate) mod serve;
mod sources;
pub(crate) mod store;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use glob::Pattern as Glob;

use answering::number_argument;
pub(crate) use answering::{Answering, Functions, Marks};
use sources::SOURCES;
pub(crate) use sources::{Callers, Filter, Sources, Style, Symbolize, Words};

#[derive(Parser)]
#[command(name = "foldsym", version, about = "Converts debug information into small symbol files, and symbolizes addresses, stacks and crash reports", after_help = EXAMPLES)]
#[command(arg_required_else_help = true, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  foldsym convert app                                  once, when the program is built: writes app.fsym
  foldsym lookup app.fsym 0x201180                     which function, file and line
  foldsym stack app.fsym 0x201180 0x201234 0x2012f0    a whole stack, innermost first
  foldsym lookup app.fsym --json < addresses.txt       one JSON object for each line

Exit codes: 0 done, also where lookup, stack or symbolize answer ??; 1 find, dump, blocks or cfi found nothing, or verify \
a difference; 2 wrong usage, or a line that does not parse; 3 a file that cannot \
be read or written, or a folder without a program; 4 some of several inputs failed, or a check of --strict or \
--require-debug-info failed.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Converts programs with debug information into .fsym files
    Convert(Box<Convert>),
    /// Prints function, file and line of each address, with inlined frames
    Lookup(Lookup),
    /// Symbolizes whole stacks, and names the folded functions that ran
    Stack(Stack),
    /// Copies a log and adds functions, files and lines to its stacks
    Filter(Filter),
    /// Prints the stacks of crash reports
    Symbolize(Symbolize),
    /// Finds functions by name, and prints their addresses
    Find(Find),
    /// Prints the contents of a .fsym file
    Info(Info),
    /// Prints the stored record of a function: its inline tree and its rows
    Dump(Dump),
    /// Checks a whole .fsym file, and compares it with the program
    Verify(Verify),
    /// Prints a completion script for a shell
    Completions { shell: Shell },
    /// Writes the manual pages of all commands into a folder
    #[command(after_help = "\
Examples:
  foldsym man ~/.local/share/man/man1 && man foldsym-convert")]
    Man {
        /// Folder for foldsym.1, foldsym-convert.1 and so on; created if missing
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Lists the basic blocks of a function
    Blocks(Blocks),
    /// Prints the row of call frame information that holds at each address
    Cfi(Cfi),
    /// Prints the program counter of each lane of a stopped GPU wave
    Wave(Wave),
    /// Keeps .fsym files by build id: list, check, gc, add, remove, pin, unpin
    Store(store::StoreArgs),
    /// Writes a .fsym as a GSYM file or a Breakpad symbol file
    Export(Export),
    /// Stands in for llvm-symbolizer: same options, input lines and output
    // The tool itself answers `--help` and `--version`.
    #[command(name = "llvm-symbolizer", disable_help_flag = true, disable_version_flag = true)]
    LlvmSymbolizer(Passed),
    /// Stands in for llvm-addr2line
    #[command(name = "llvm-addr2line", disable_help_flag = true, disable_version_flag = true)]
    LlvmAddr2line(Passed),
    /// Stands in for GNU addr2line
    #[command(name = "addr2line", disable_help_flag = true, disable_version_flag = true)]
    Addr2line(Passed),
    /// Makes links named llvm-symbolizer, llvm-addr2line and addr2line that stand in for these tools
    Shims(Shims),
    /// Answers stacks and crash reports over HTTP, with a page
    #[cfg(feature = "serve")]
    Serve(serve::Serve),
}

/// Arguments of another tool's command line.
#[derive(Args)]
pub(crate) struct Passed {
    /// Options and requests of that tool; `--help` lists them
    // clap must not read them: the tools also take long options with one dash (`-obj=FILE`).
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    pub(crate) args: Vec<OsString>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  foldsym export app.fsym --gsym -o app.gsym        llvm-symbolizer reads it if it is next to app
  foldsym export app.fsym --breakpad --program app -o app.sym    with STACK CFI, for minidump-stackwalk")]
pub(crate) struct Export {
    /// File to read
    #[arg(value_name = "FILE.fsym")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) format: ExportFormat,
    /// File to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The program, for a Breakpad file: source of STACK CFI if FILE was converted without --unwind, and of the identifier if
    /// there is no build id
    // Of the formats, only Breakpad's has rows of call frame information and needs an identifier.
    #[arg(long, value_name = "PROGRAM", requires = "breakpad")]
    pub(crate) program: Option<PathBuf>,
    /// Name of the module in a Breakpad file (default: the name of FILE without .fsym)
    #[arg(long, value_name = "NAME")]
    pub(crate) module: Option<String>,
    /// Writes linkage names into a Breakpad file
    #[arg(long)]
    pub(crate) no_demangle: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ExportFormat {
    /// GSYM, version 1: llvm-symbolizer, llvm-gsymutil, blazesym and gsym-rs read it
    #[arg(long)]
    pub(crate) gsym: bool,
    /// GSYM, version 2: LLVM 23 and gsym-rs read it
    #[arg(long)]
    pub(crate) gsym2: bool,
    /// Breakpad's text file
    #[arg(long)]
    pub(crate) breakpad: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  foldsym shims ~/foldsym-bin && PATH=~/foldsym-bin:$PATH perf report
  ASAN_SYMBOLIZER_PATH=~/foldsym-bin/llvm-symbolizer ./app")]
pub(crate) struct Shims {
    /// Folder for the links; created if missing
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// Options that select a part of a program, and say where its other files are.
#[derive(Args)]
pub(crate) struct Reading {
    /// Threads to use; 0 takes all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    pub(crate) threads: usize,
    /// Architecture to take from a fat file; a program of another one is refused
    #[arg(long, value_name = "A", conflicts_with = "target")]
    pub(crate) arch: Option<String>,
    /// Target to take from an offload bundle, or a host program with one (`gfx90a`, `gfx90a:xnack+`)
    #[arg(long, value_name = "T")]
    pub(crate) target: Option<String>,
    /// Split debug information package (default: beside the program)
    #[arg(long, value_name = "F")]
    pub(crate) dwp: Option<PathBuf>,
    /// Folder of .dwo files; nothing outside of these is opened
    #[arg(long, value_name = "D")]
    pub(crate) dwo_dir: Vec<PathBuf>,
    /// Folder of separate debug files, by build id (default: /usr/lib/debug)
    #[arg(long, value_name = "D")]
    pub(crate) debug_dir: Vec<PathBuf>,
    /// Separate debug file or dSYM bundle of the program (default: found by build id, debug link, or beside it)
    #[arg(long, value_name = "F")]
    pub(crate) debug_file: Option<PathBuf>,
    /// Opens debug files whose path begins with OLD under NEW instead
    #[arg(long, value_name = "OLD=NEW", value_parser = path_pair)]
    pub(crate) map_prefix: Vec<(PathBuf, PathBuf)>,
    /// Replaces OLD at the beginning of stored source paths by NEW
    #[arg(long, value_name = "OLD=NEW", value_parser = text_pair)]
    pub(crate) remap_path: Vec<(String, String)>,
}

#[derive(Args)]
#[command(disable_version_flag = true)] // --version is the program's
#[command(after_help = "\
A separate debug file is searched for in each --debug-dir, in /usr/lib/debug, by the program's debug link, next to the \
program (NAME.debug), and in debuginfod's cache ($DEBUGINFOD_CACHE_PATH); its build id must be the program's.
With --out-dir an archive gives one file per member, and a fat file one per architecture.
A report of several programs has a line of JSON for each, written when it is done.

Examples:
  foldsym convert app                                   writes app.fsym
  foldsym convert app libfoo.so --out-dir symbols       writes symbols/app.fsym, symbols/libfoo.so.fsym
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
    #[arg(short, value_name = "OUT.fsym", conflicts_with = "out_dir")]
    pub(crate) output: Option<PathBuf>,
    /// Folder to write NAME.fsym into, for each input
    #[arg(long, value_name = "DIR")]
    pub(crate) out_dir: Option<PathBuf>,
    /// Folder or address of a store (see `foldsym store --help`): publishes each program there under its build id. A program is converted again
    /// unless the store's file is complete and has what the options ask for; then the better of the two files stays
    // The store names the file, and its place is known only after the program is identified.
    #[arg(long, value_name = "STORE", conflicts_with_all = ["output", "out_dir", "dry_run"])]
    pub(crate) store: Option<String>,
    /// Also converts programs that the store has all of, and replaces their files, unless the new ones have less
    #[arg(long, requires = "store")]
    pub(crate) force: bool,
    /// Notes in the store that the programs belong to a release of this product; `store gc --keep-releases` counts releases
    #[arg(long, value_name = "P", requires = "store")]
    pub(crate) product: Option<String>,
    /// Version of the product
    #[arg(long, value_name = "V", requires = "product")]
    pub(crate) version: Option<String>,
    /// Revision of the sources
    #[arg(long, value_name = "R", requires = "product")]
    pub(crate) revision: Option<String>,
    /// Converts only those files of a folder that match the pattern: by name, or, if it has a /, by path below the folder
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) include: Vec<Glob>,
    /// Leaves out files and folders that match the pattern
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) exclude: Vec<Glob>,
    /// Converts the object files and archives of a folder too. Their code is that of the folder's programs
    #[arg(long)]
    pub(crate) objects: bool,
    /// Prints what would be converted into what, and writes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Keeps column numbers
    #[arg(long)]
    pub(crate) columns: bool,
    /// Stores readable names without parameters, for crash handlers that cannot demangle
    #[arg(long)]
    pub(crate) demangled: bool,
    /// Keeps the location of `this` in methods that share code, for stacks with registers and memory
    #[arg(long)]
    pub(crate) locations: bool,
    /// Keeps the rows of call frame information, for walking frames in a crash handler or a reader of crash reports
    #[arg(long)]
    pub(crate) unwind: bool,
    /// Keeps the calls to functions of other modules, for stacks over many modules (ELF only)
    // The file keeps such calls by linkage name.
    #[arg(long, conflicts_with = "demangled")]
    pub(crate) imports: bool,
    /// Writes an index of all names, which makes `find` faster and the file larger
    #[arg(long)]
    pub(crate) name_index: bool,
    /// Writes a report of what was kept, repaired and skipped to F.json; - is standard output
    #[arg(long, value_name = "F.json")]
    pub(crate) report: Option<PathBuf>,
    /// Exit code 4 if debug information of a program is missing or damaged; files are written anyway
    #[arg(long)]
    pub(crate) strict: bool,
    /// Exit code 4 if a program has no debug information; files are written anyway
    #[arg(long)]
    pub(crate) require_debug_info: bool,
    /// No progress bar and no summary; warnings are printed
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
#[command(args_override_self = true)] // scripts give -C, -f and -i twice
#[command(after_help = "\
The text, and the options -a, -p, -f, -C, -i and -s, are those of llvm-symbolizer.

With the options for many modules, ADDR is an address of the process of --maps, MODULE+OFFSET or BUILDID:OFFSET, and a line of \
standard input may also be FILE ADDRESS (with --open-paths). Offsets are link-time addresses. MODULE alone is enough if a \
--store folder has one build of that name; of several, the answer lists the ids. For an address that is not found, the answer \
is ?? and the reason.

Examples:
  foldsym lookup app.fsym 0x201180 0x2011c4
  foldsym lookup app.fsym --base 0x555555554000 0x555555556180
  foldsym lookup foo.o.fsym .text.bar:0x10
  foldsym lookup app.fsym --json < addresses.txt
  foldsym lookup --maps /proc/1234/maps 0x7f12a4c5e3b0
  foldsym lookup --store /srv/symbols libfoo.so+0x1234
  foldsym lookup --store /srv/symbols 8f3c2a90d1b7e05c:0x5678    by build id")]
pub(crate) struct Lookup {
    /// A .fsym file, or a program (converted on the fly, with columns). Cannot be combined with the options under "Many modules"
    #[arg(value_name = "FILE", required_unless_present_any = SOURCES, required_unless_present = "exe")]
    file: Option<PathBuf>,
    /// FILE by an option, as in addr2line (`-e`) and llvm-symbolizer; all other arguments are then addresses
    #[arg(short = 'e', long, visible_aliases = ["obj"], value_name = "FILE", conflicts_with_all = SOURCES)]
    exe: Option<PathBuf>,
    /// Addresses (0x hexadecimal, else decimal) or SECTION:OFFSET; without any, one a line on standard input
    #[arg(value_name = "ADDR")]
    addresses: Vec<String>,
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) answering: Answering,
    /// Adds the basic block of each address (programs built with -fbasic-block-address-map)
    #[arg(long, conflicts_with_all = SOURCES)]
    pub(crate) blocks: bool,
}

impl Lookup {
    pub(crate) fn words(&self) -> Words<'_> {
        Words::of(self.file.as_ref(), self.exe.as_deref(), &self.addresses, &self.sources)
    }
}

impl Stack {
    pub(crate) fn words(&self) -> Words<'_> {
        Words::of(self.file.as_ref(), self.exe.as_deref(), &self.addresses, &self.sources)
    }
}

#[derive(Args)]
#[command(args_override_self = true)] // scripts give -C, -f and -i twice
#[command(after_help = "\
The first address is the program counter, the rest are return addresses. `=ADDR` is an exact address further out (a frame \
that a signal interrupted), `?` a frame of another module. `vptr=ADDR` after the first address is the vtable pointer (first \
word) of the object that the innermost function runs on.

A line of standard input may be a JSON object, with registers and memory of the innermost frame:
  {\"pcs\": [\"0x201180\", \"0x201234\"], \"regs\": {\"rdi\": \"0x7ffe10\"},
   \"mem\": [{\"addr\": \"0x7ffe10\", \"hex\": \"684d400000000000\"}]}
It may also have \"base\", the load bias of this line, and \"id\", which the answer repeats; other keys are errors. If the \
file was converted with --locations, registers and memory give the object that a folded method runs on, and the object's \
class shows which method that is. Otherwise the answer says what is missing.

With the options for many modules, addresses are written as for `lookup`. A JSON line has its own modules, each with an \
identity or a name, and its load address; the answer repeats `id` and keys that foldsym does not know:
  {\"id\": 7, \"modules\": [{\"id\": \"8f3c2a\", \"name\": \"libfoo.so\", \"base\": \"0x7f12a4c00000\"}],
   \"frames\": [\"0x7f12a4c5e3b0\", \"0x7f12a4c11008\"]}

Examples:
  foldsym stack app.fsym 0x201180 0x201234 0x2012f0
  foldsym stack app.fsym --json < stacks.txt            one stack a line
  foldsym stack --store /srv/symbols --json < stacks.jsonl")]
pub(crate) struct Stack {
    /// A .fsym file, or a program (converted on the fly, with columns). Cannot be combined with the options under "Many modules"
    #[arg(value_name = "FILE", required_unless_present_any = SOURCES, required_unless_present = "exe")]
    file: Option<PathBuf>,
    /// FILE by an option, as in addr2line (`-e`) and llvm-symbolizer; all other arguments are then addresses
    #[arg(short = 'e', long, visible_aliases = ["obj"], value_name = "FILE", conflicts_with_all = SOURCES)]
    exe: Option<PathBuf>,
    /// One stack, innermost first; without any, one stack a line on standard input
    #[arg(value_name = "ADDR")]
    addresses: Vec<String>,
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) answering: Answering,
}

#[derive(Args)]
#[command(override_usage = "foldsym find [OPTIONS] <FILE.fsym> <NAME|--prefix <P>|--regex <R>>")]
#[command(after_help = "\
A readable name may leave out the return type, template arguments and parameters; spaces do not matter.
Without an index (convert --name-index) all names are read, which takes a fraction of a second for a large program.

Examples:
  foldsym find app.fsym main
  foldsym find app.fsym geo::crashy                     all overloads, and all instances of a template
  foldsym find app.fsym 'geo::Left::Left(int)'          one of them
  foldsym find app.fsym --prefix geo::
  foldsym find app.fsym --regex '^_ZN3geo.*D[012]Ev$'   anywhere in the name, unless ^ and $ say so")]
pub(crate) struct Find {
    #[arg(value_name = "FILE.fsym")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) pattern: Pattern,
    /// Prints linkage names without demangling them
    #[arg(long)]
    pub(crate) no_demangle: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Pattern {
    /// A linkage name, or a readable one with its namespaces and classes
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Finds every name that begins with P
    // An Objective-C name may begin with a hyphen (`-[Class method]`).
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub(crate) prefix: Option<String>,
    /// Finds every name that matches the regular expression
    // An expression may begin with a hyphen.
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    pub(crate) regex: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Blocks are listed in the compiler's order, each with its number, its addresses (end excluded) and its flags, in the words of \
llvm-readobj --bb-addr-map.

Examples:
  foldsym blocks app.fsym main
  foldsym blocks app.fsym main --json                   one object for each function of that name")]
pub(crate) struct Blocks {
    #[arg(value_name = "FILE.fsym")]
    pub(crate) file: PathBuf,
    /// A whole name, linkage or readable
    pub(crate) function: String,
    /// Prints one JSON object per function
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints linkage names without demangling them
    #[arg(long)]
    pub(crate) no_demangle: bool,
}

#[derive(Args)]
pub(crate) struct Info {
    #[arg(value_name = "FILE.fsym")]
    pub(crate) file: PathBuf,
    /// Prints one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints an HTML page with a treemap of the file's bytes by section, folder and function
    #[arg(long, conflicts_with = "json")]
    pub(crate) html: bool,
}

#[derive(Args)]
#[command(after_help = "\
Without --function or --address, prints every function.

Examples:
  foldsym dump app.fsym --function main
  foldsym dump app.fsym --function 17
  foldsym dump app.fsym --address 0x201180")]
pub(crate) struct Dump {
    #[arg(value_name = "FILE.fsym")]
    pub(crate) file: PathBuf,
    /// A name, or the number of a function in the file
    #[arg(long, value_name = "N", conflicts_with = "address")]
    pub(crate) function: Option<String>,
    /// An address, or SECTION:OFFSET
    #[arg(long, value_name = "A")]
    pub(crate) address: Option<String>,
    /// Rows of section UNWIND in place of functions: how the frame's address (CFA) and the caller's registers are found
    // A row belongs to an address, not to a function.
    #[arg(long, conflicts_with = "function")]
    pub(crate) unwind: bool,
}

#[derive(Args)]
#[command(after_help = "\
Registers are DWARF's numbers. `[CFA-8]` is memory 8 bytes below the frame's address, `CFA-8` that number.

Examples:
  foldsym cfi app 0x401180
  foldsym cfi bundle --target gfx90a 0x1600")]
pub(crate) struct Cfi {
    /// A program, an object file, or a container of device code
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: PathBuf,
    /// Addresses: 0x hexadecimal, else decimal
    #[arg(value_name = "ADDR", required = true, value_parser = number_argument)]
    pub(crate) addresses: Vec<u64>,
    /// Target to take from an offload bundle
    #[arg(long, value_name = "T")]
    pub(crate) target: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Lanes that execute are at PC. The program's DW_AT_LLVM_lane_pc, if it has one, gives the program counters of the others.
FILE.json: {\"regs\": {\"s34\": \"0xff\", \"66\": 255, \"v3\": [1, 2, ...]},
            \"mem\": [{\"addr\": \"0x100\", \"hex\": \"ff00\", \"space\": 6}]}
Registers are s0, v0, a0, vcc or DWARF's numbers; v and a registers have 4 bytes for each lane. `space` is a DWARF address space, \
default 0.

Examples:
  foldsym wave kernel.fsym --pc 0x1640 --exec 0xff
  foldsym wave kernel.fsym --pc 0x1640 --exec 0xff --regs wave.json --json")]
pub(crate) struct Wave {
    #[arg(value_name = "FILE.fsym")]
    pub(crate) file: PathBuf,
    /// The wave's program counter
    #[arg(long, value_name = "PC")]
    pub(crate) pc: String,
    /// Mask of the executing lanes; lane 0 is the lowest bit
    #[arg(long, value_name = "MASK", value_parser = number_argument)]
    pub(crate) exec: u64,
    /// The wave's registers and memory
    #[arg(long, value_name = "FILE.json")]
    pub(crate) regs: Option<PathBuf>,
    /// How many lanes the wave has (default: as many as the program says, else 32 or 64, as MASK needs)
    // The mask has 64 bits.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) lanes: Option<u32>,
    /// Prints one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints linkage names without demangling them
    #[arg(long)]
    pub(crate) no_demangle: bool,
    /// Load bias: load address minus link-time address
    #[arg(long, value_name = "A", default_value = "0", value_parser = number_argument)]
    pub(crate) base: u64,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  foldsym verify app.fsym
  foldsym verify app.fsym --against app")]
pub(crate) struct Verify {
    #[arg(value_name = "FILE.fsym")]
    pub(crate) file: PathBuf,
    /// Compares the answers with the program's debug information
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// As the converter has it.
#[cfg(feature = "convert")]
const MAX_THREADS: usize = foldsym_convert::Options::MAX_THREADS;
/// The same number: `convert` says that it is missing, whatever its options are.
#[cfg(not(feature = "convert"))]
const MAX_THREADS: usize = 1024;

fn thread_count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count <= MAX_THREADS);
    count.ok_or_else(|| format!("expected a number up to {MAX_THREADS}"))
}

fn glob(text: &str) -> Result<Glob, String> {
    Glob::new(text).map_err(|error| error.to_string())
}

fn path_pair(text: &str) -> Result<(PathBuf, PathBuf), String> {
    text_pair(text).map(|(old, new)| (old.into(), new.into()))
}

fn text_pair(text: &str) -> Result<(String, String), String> {
    // The first `=` ends OLD: NEW may contain more of them.
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() => Ok((old.to_owned(), new.to_owned())),
        _ => Err("expected OLD=NEW".to_owned()),
    }
}
