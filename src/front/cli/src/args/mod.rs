//! The command line as types: every command, option and example of `--help`.

mod answering;
mod convert;
mod import;
#[cfg(feature = "serve")]
pub(crate) mod serve;
mod signing;
mod sources;
pub(crate) mod store;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use answering::{AS_LLVM, number_argument};
pub(crate) use answering::{Answering, Functions, Marks};
pub(crate) use convert::{Convert, Reading};
pub(crate) use import::Import;
pub(crate) use signing::{SignatureOptions, SignatureShown};
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
  foldsym convert app                                  once per build: writes app.fsym
  foldsym lookup app.fsym 0x20129b                     which function, file and line
  foldsym stack app.fsym 0x20129b 0x201fbd 0x201e8d    a whole stack, innermost first
  foldsym lookup app.fsym --json < addresses.txt       one JSON object for each line

Exit codes: 0 done, also where lookup, stack or symbolize answer ??; 1 find, dump, blocks or cfi found nothing, or verify \
a difference; 2 wrong usage, or a line that does not parse; 3 a file that cannot \
be read or written, or a folder without a program; 4 some of several inputs failed, or a check of --strict or \
--require-debug-info failed.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Converts programs with debug information into .fsym files
    Convert(Box<Convert>),
    /// Turns Breakpad symbol files (dump_syms) into .fsym files
    Import(Box<Import>),
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
  foldsym export app.fsym --breakpad --program app -o app.sym    with STACK CFI")]
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

#[derive(Args)]
#[command(args_override_self = true)] // scripts give -C, -f and -i twice
#[command(after_help = "\
Examples:
  foldsym lookup app.fsym 0x20129b 0x201fbd
  foldsym lookup app.fsym --json < addresses.txt
  foldsym lookup --search build/ app+0x20129b")]
#[command(after_long_help = "\
The text, and the options -a, -p, -f, -C, -i and -s, are those of llvm-symbolizer.

With the options for many modules, ADDR is an address of the process of --maps, MODULE+OFFSET or BUILDID:OFFSET, and a line of \
standard input may also be FILE ADDRESS (with --open-paths). Offsets are link-time addresses. MODULE alone is enough if a \
--store folder has one build of that name; of several, the answer lists the ids. For an address that is not found, the answer \
is ?? and the reason.

Examples:
  foldsym lookup app.fsym 0x20129b 0x201fbd
  foldsym lookup app.fsym --base 0x555555554000 0x55555575529b
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
    #[arg(short = 'e', long, visible_aliases = ["obj"], value_name = "FILE", conflicts_with_all = SOURCES, help_heading = AS_LLVM, hide_short_help = true)]
    exe: Option<PathBuf>,
    /// Addresses (0x hexadecimal, else decimal) or SECTION:OFFSET; without any, one a line on standard input
    #[arg(value_name = "ADDR")]
    addresses: Vec<String>,
    #[command(flatten)]
    pub(crate) answering: Answering,
    /// Adds the basic block of each address (programs built with -fbasic-block-address-map)
    #[arg(long, conflicts_with_all = SOURCES, hide_short_help = true)]
    pub(crate) blocks: bool,
    /// Answers an address outside of code with the global variable there: name, start and size, file and line (`convert --data` keeps
    /// variables)
    #[arg(long, conflicts_with_all = SOURCES, hide_short_help = true)]
    pub(crate) data: bool,
    // Last: the heading of its options would be that of all options after it.
    #[command(flatten)]
    pub(crate) sources: Sources,
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
Examples:
  foldsym stack app.fsym 0x20129b 0x201fbd 0x201e8d
  foldsym stack app.fsym --json < stacks.txt            one stack a line")]
#[command(after_long_help = "\
The first address is the program counter, the rest are return addresses. `=ADDR` is an exact address further out (a frame \
that a signal interrupted), `?` a frame of another module. `vptr=ADDR` after the first address is the vtable pointer (first \
word) of the object that the innermost function runs on.

A line of standard input may be a JSON object, with registers and memory of the innermost frame:
  {\"pcs\": [\"0x20129b\", \"0x201fbd\"], \"regs\": {\"rdi\": \"0x7ffe10\"},
   \"mem\": [{\"addr\": \"0x7ffe10\", \"hex\": \"684d400000000000\"}]}
It may also have \"base\", the load bias of this line, and \"id\", which the answer repeats; other keys are errors. If the \
file was converted with --locations, registers and memory give the object that a folded method runs on, and the object's \
class shows which method that is. Otherwise the answer says what is missing.

With the options for many modules, addresses are written as for `lookup`. A JSON line has its own modules, each with an \
identity or a name, and its load address; the answer repeats `id` and keys that foldsym does not know:
  {\"id\": 7, \"modules\": [{\"id\": \"8f3c2a\", \"name\": \"libfoo.so\", \"base\": \"0x7f12a4c00000\"}],
   \"frames\": [\"0x7f12a4c5e3b0\", \"0x7f12a4c11008\"]}

Examples:
  foldsym stack app.fsym 0x20129b 0x201fbd 0x201e8d
  foldsym stack app.fsym --json < stacks.txt            one stack a line
  foldsym stack --store /srv/symbols --json < stacks.jsonl
  foldsym stack --store /srv/symbols --signature=only < stacks.jsonl | sort | uniq -c | sort -rn")]
pub(crate) struct Stack {
    /// A .fsym file, or a program (converted on the fly, with columns). Cannot be combined with the options under "Many modules"
    #[arg(value_name = "FILE", required_unless_present_any = SOURCES, required_unless_present = "exe")]
    file: Option<PathBuf>,
    /// FILE by an option, as in addr2line (`-e`) and llvm-symbolizer; all other arguments are then addresses
    #[arg(short = 'e', long, visible_aliases = ["obj"], value_name = "FILE", conflicts_with_all = SOURCES, help_heading = AS_LLVM, hide_short_help = true)]
    exe: Option<PathBuf>,
    /// One stack, innermost first; without any, one stack a line on standard input
    #[arg(value_name = "ADDR")]
    addresses: Vec<String>,
    #[command(flatten)]
    pub(crate) answering: Answering,
    /// Writes only these keys of each frame in --json, where they are known: words with commas between them, of address, module, id,
    /// module-offset, function-offset, function, qualified, linkage, file, line, column, declaration, certainty, evidence, candidates,
    /// unknown, trust
    #[arg(long, value_name = "LIST", value_parser = foldsym_symbolize::Fields::parse, hide_short_help = true)]
    pub(crate) fields: Option<foldsym_symbolize::Fields>,
    #[command(flatten)]
    pub(crate) signatures: SignatureOptions,
    // Last: the heading of its options would be that of all options after it.
    #[command(flatten)]
    pub(crate) sources: Sources,
}

#[derive(Args)]
#[command(override_usage = "foldsym find [OPTIONS] <FILE.fsym> <NAME|--prefix <P>|--regex <R>>")]
#[command(after_help = "\
A readable name may leave out the return type, template arguments and parameters; spaces do not matter.
Without an index (convert --name-index) all names are read, which takes a fraction of a second for a large program.

Examples:
  foldsym find app.fsym demo_main
  foldsym find app.fsym demo::operation                 all overloads, all instances
  foldsym find app.fsym 'demo::operation(demo::Kind)'    one of them
  foldsym find app.fsym --prefix demo::
  foldsym find app.fsym --regex '^_ZN4demo.*Ev$'       anywhere in the name, unless ^ and $ say so")]
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
  foldsym dump app.fsym --function demo_main
  foldsym dump app.fsym --function 17
  foldsym dump app.fsym --address 0x20129b")]
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
  foldsym verify app.fsym --against app
  foldsym verify --sequences app")]
pub(crate) struct Verify {
    /// A .fsym file; with --sequences a program
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Compares the answers with the program's debug information
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) against: Option<PathBuf>,
    /// Counts the wrong line sequences that functions of the program FILE name (DW_AT_LLVM_stmt_sequence)
    #[arg(long, conflicts_with = "against")]
    pub(crate) sequences: bool,
    /// Prints one JSON object
    #[arg(long, requires = "sequences")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
