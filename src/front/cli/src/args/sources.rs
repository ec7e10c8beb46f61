//! Where the files of many modules are, and the arguments of `foldsym filter`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Marks, SignatureOptions};

/// Where the files of modules are, in place of one file.
#[derive(Args, Default)]
#[command(next_help_heading = "Many modules")]
pub(crate) struct Sources {
    /// Folder or address of a store of .fsym files (`foldsym store --help` lists kinds of addresses, and the environment variables
    /// for their credentials); may be repeated, searched in order
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Vec<String>,
    /// Folder of .fsym files, programs and debug files, with all folders below it, or a single file, where modules are searched by
    /// name and build id
    #[arg(long, value_name = "PATH")]
    pub(crate) search: Vec<PathBuf>,
    /// The modules of a process: its /proc/PID/maps, or a copy
    #[arg(long, value_name = "FILE")]
    pub(crate) maps: Option<PathBuf>,
    /// Where sections of a relocatable program are: /sys/module/NAME/sections of a kernel module, a copy of that folder, or a
    /// file of lines SECTION ADDRESS, with addresses in hexadecimal digits
    #[arg(long, value_name = "MODULE=PATH", value_parser = module_sections, hide_short_help = true)]
    pub(crate) sections: Vec<(String, PathBuf)>,
    /// Opens programs at the paths in --maps and in input lines (the paths of a running process's /proc/PID/maps are always opened)
    #[arg(long, hide_short_help = true)]
    pub(crate) open_paths: bool,
    /// Folder for converted programs and for files of remote stores (default: $FOLDSYM_CACHE, else ~/.cache/foldsym), of at most
    /// $FOLDSYM_CACHE_BYTES (default: 10G)
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) cache: Option<PathBuf>,
    /// Does not ask the servers of $DEBUGINFOD_URLS for modules that are not found otherwise
    #[cfg(feature = "debuginfod")]
    #[arg(long, hide_short_help = true)]
    pub(crate) no_debuginfod: bool,
}

impl Sources {
    /// Whether addresses are of many modules.
    pub(crate) fn are_many(&self) -> bool {
        let are_mapped = self.maps.is_some() || !self.sections.is_empty();
        self.open_paths || are_mapped || !self.store.is_empty() || !self.search.is_empty()
    }
}

/// The options for many modules. With one of them, FILE is not needed.
// `cache` is not in the list: it finds no modules.
pub(super) const SOURCES: [&str; 5] = ["store", "search", "maps", "sections", "open_paths"];

fn module_sections(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.into())),
        _ => Err("expected MODULE=PATH".to_owned()),
    }
}

#[derive(Args)]
#[command(after_help = "\
Stacks are recognised in reports of sanitizers, stack dumps of LLVM's tools (#5 0x00005555555551a5 (MODULE+0x11a5)), tombstones of \
Android (#01 pc 00000000000011a5  MODULE), messages of systemd-coredump (#1  0x00005555555551a5 n/a (MODULE + 0x11a5)), symbolizer \
markup ({{{bt:0:0x1234:pc}}} after {{{module:...}}} and {{{mmap:...}}}), output of backtrace_symbols of glibc (MODULE(+0x1234) \
[0x7f...], MODULE(FUNCTION+0x1234), MODULE(+0x1234)) and macOS (3 MODULE 0x0000000100003f50 FUNCTION + 16), and \
messages of the Linux kernel (FUNCTION+0x12/0x40 [MODULE]), whose files are vmlinux and MODULE.ko in --search. Each stack is \
resolved as a whole, so that callers show which folded function ran. All other lines, and frames that are not found, stay as \
they are.

Examples:
  ./app 2>&1 | foldsym filter --open-paths
  foldsym filter --store /srv/symbols crash.log
  dmesg | foldsym filter --search /usr/lib/debug/boot/vmlinux --search modules/")]
pub(crate) struct Filter {
    /// Logs; without any, standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Prints linkage names without demangling them
    #[arg(long)]
    pub(crate) no_demangle: bool,
    /// Prints after the name how certain the function is, for these functions (default: folded)
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "folded")]
    pub(crate) certainty: Option<Marks>,
    // Last: the heading of its options would be that of all options after it.
    #[command(flatten)]
    pub(crate) sources: Sources,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  foldsym symbolize --search build/ report.txt          programs below a folder
  foldsym symbolize --store symbols crash.dmp --json    files of a store")]
#[command(after_long_help = "\
A report lists the modules of its process and the stacks. Its format is recognised by its content. If some of several reports \
cannot be read, the others are printed and the exit code is 4.

Examples:
  foldsym symbolize --store /srv/symbols crash.dmp
  foldsym symbolize --search build/ core.1234 --json
  foldsym symbolize --store /srv/symbols reports/*.txt --json > answers.jsonl
  foldsym symbolize --search app cpu.pb.gz --pprof named.pb.gz     for go tool pprof
  foldsym symbolize --search app cpu.pb.gz --collapsed | flamegraph.pl > cpu.svg
  perf script --header --show-mmap-events --no-inline | foldsym symbolize --search app -")]
pub(crate) struct Symbolize {
    /// Reports; - is standard input
    #[cfg_attr(not(feature = "parquet"), arg(required = true, value_name = "INPUT"))]
    #[cfg_attr(feature = "parquet", arg(required_unless_present = "parquet", value_name = "INPUT"))]
    pub(crate) inputs: Vec<PathBuf>,
    /// Reads a Parquet file with one stack per row instead of reports
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "IN.parquet", requires = "output", conflicts_with_all = ["inputs", "json", "text", "format", "certainty", "style", "collapsed", "by_function", "pprof", "otlp", "callers", "event", "open_paths", "sections"], hide_short_help = true)]
    pub(crate) parquet: Option<PathBuf>,
    /// A Parquet file in place of text: the rows of --parquet with their answers, or a row for each thread of the reports; - is standard
    /// output
    #[cfg(feature = "parquet")]
    #[arg(short, long, value_name = "OUT.parquet", conflicts_with_all = ["json", "text", "certainty", "style", "collapsed", "by_function", "pprof", "otlp"])]
    pub(crate) output: Option<PathBuf>,
    /// Format of the reports (default: found by content)
    #[arg(long, value_name = "F", value_parser = report_format, hide_short_help = true)]
    pub(crate) format: Option<foldsym_reports::Format>,
    /// Prints one JSON object per report, each on one line
    #[arg(long, conflicts_with_all = ["text", "collapsed", "pprof", "otlp"])]
    pub(crate) json: bool,
    /// Writes only these keys of each frame in --json, where they are known: the words of `foldsym stack --fields`, and trust
    #[arg(long, value_name = "LIST", value_parser = foldsym_symbolize::Fields::parse, requires = "json", hide_short_help = true)]
    pub(crate) fields: Option<foldsym_symbolize::Fields>,
    /// Prints text: the default
    #[arg(long, hide_short_help = true)]
    pub(crate) text: bool,
    /// How text prints stacks
    #[arg(long, value_name = "STYLE", default_value = "plain", conflicts_with_all = ["json", "collapsed", "pprof", "otlp"])]
    pub(crate) style: Style,
    /// Lines of flame graphs, OUTERMOST;...;INNERMOST COUNT, over all reports; of a profile the sums of VALUE (default: as the profile says)
    #[arg(long, value_name = "VALUE", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["text", "pprof", "otlp", "signature"])]
    pub(crate) collapsed: Option<String>,
    /// Counts samples by the function that ran, over all reports, beside the function that the linker kept in its place: how many are exact, of
    /// the only known function (alone), likely, or undecided; of a profile the sums of VALUE (default: as the profile says)
    #[arg(long, value_name = "VALUE", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["collapsed", "pprof", "otlp", "signature", "fields", "style", "certainty"])]
    pub(crate) by_function: Option<String>,
    /// Writes the profile again, with functions and lines; - is standard output
    #[arg(long, value_name = "OUT.pb.gz", conflicts_with_all = ["text", "signature"], hide_short_help = true)]
    pub(crate) pprof: Option<PathBuf>,
    /// Writes the profile of OpenTelemetry again, in its form, with functions and lines; - is standard output
    #[arg(long, value_name = "OUT.otlp", conflicts_with_all = ["text", "pprof", "signature"], hide_short_help = true)]
    pub(crate) otlp: Option<PathBuf>,
    /// How a profile stores callers: as addresses inside the call (adjusted) or as return addresses (default: adjusted; for the text of
    /// perf script what its header says, otherwise return)
    #[arg(long, value_name = "KIND", hide_short_help = true)]
    pub(crate) callers: Option<Callers>,
    /// Reads the samples of this event alone, of reports that have several (default: all; for --collapsed the first)
    #[arg(long, value_name = "EVENT", hide_short_help = true)]
    pub(crate) event: Option<String>,
    /// Prints linkage names without demangling them
    #[arg(long, hide_short_help = true)]
    pub(crate) no_demangle: bool,
    /// Prints after the name how certain the function is, for these functions (default: folded)
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "folded")]
    pub(crate) certainty: Option<Marks>,
    #[command(flatten)]
    pub(crate) signatures: SignatureOptions,
    // Last: the heading of its options would be that of all options after it.
    #[command(flatten)]
    pub(crate) sources: Sources,
}

/// How text prints stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    /// With certainty, and how each frame was found
    #[default]
    Plain,
    /// As gdb's `backtrace`
    Gdb,
    /// As `minidump-stackwalk`
    Stackwalk,
}

/// The kind of a caller's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Callers {
    /// Inside the call: one less than a return address
    Adjusted,
    /// The return address
    Return,
}

/// The format of a word of `--format`.
fn report_format(word: &str) -> Result<foldsym_reports::Format, String> {
    let words =
        || foldsym_reports::Format::ALL.iter().map(|format| format.text()).collect::<Vec<_>>().join(", ");
    foldsym_reports::Format::parse(word).ok_or_else(|| format!("expected one of {}", words()))
}

/// The words of a command line whose first is a file, unless addresses are of many modules.
pub(crate) struct Words<'a> {
    pub(crate) file: Option<&'a Path>,
    pub(crate) addresses: Vec<String>,
}

impl<'a> Words<'a> {
    /// `file` is the first word, `exe` the file of `-e`.
    pub(super) fn of(
        file: Option<&'a PathBuf>,
        exe: Option<&'a Path>,
        addresses: &[String],
        sources: &Sources,
    ) -> Self {
        match file {
            Some(first) if exe.is_some() || sources.are_many() => {
                // clap gives the first word to FILE, but here it is an address.
                let first = first.to_string_lossy().into_owned();
                Self { file: exe, addresses: [first].into_iter().chain(addresses.to_vec()).collect() }
            }
            file => Self { file: exe.or(file.map(PathBuf::as_path)), addresses: addresses.to_vec() },
        }
    }
}
