//! The options of the commands that print frames.

use clap::{Args, ValueEnum};

use foldsym_symbolize::number;

/// The heading of options that llvm-symbolizer and addr2line have too.
pub(super) const AS_LLVM: &str = "As in llvm-symbolizer and addr2line";

/// Options of the commands that print frames.
#[derive(Args, Default)]
pub(crate) struct Answering {
    /// Prints one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// llvm-symbolizer's name for --json (JSON) or text (LLVM)
    #[arg(long, value_name = "STYLE", ignore_case = true, help_heading = AS_LLVM, hide_short_help = true)]
    pub(crate) output_style: Option<OutputStyle>,
    /// Prints linkage names without demangling them
    #[arg(long, hide_short_help = true)]
    pub(crate) no_demangle: bool,
    /// Prints after the name how certain the function is, for these functions (default: folded on a terminal or with --candidates, else none)
    // `=` is required: without it clap would take the next word, which may be FILE, for WHICH.
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "folded")]
    pub(crate) certainty: Option<Marks>,
    /// Also prints every other folded function that may have run, after the first: ` (or) NAME`
    #[arg(long)]
    pub(crate) candidates: bool,
    /// Demangles names: the default, accepted for compatibility
    #[arg(short = 'C', long = "demangle", conflicts_with = "no_demangle", help_heading = AS_LLVM, hide_short_help = true)]
    pub(crate) _demangle: bool,
    /// Prints the address before its frames
    #[arg(short, long = "addresses", visible_alias = "print-address", help_heading = AS_LLVM, hide_short_help = true)]
    pub(crate) address: bool,
    /// One line for each frame: NAME at FILE:LINE:COLUMN; in stacks with the number of the address
    #[arg(short, long)]
    pub(crate) pretty_print: bool,
    /// Which names are printed
    #[arg(short, long = "functions", value_name = "WHICH", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "linkage", default_missing_value = "linkage", conflicts_with = "json", help_heading = AS_LLVM, hide_short_help = true)]
    pub(crate) functions: Functions,
    /// Prints inlined frames: the default, accepted for compatibility
    #[arg(short, long = "inlines", visible_alias = "inlining", conflicts_with = "no_inlines", help_heading = AS_LLVM, hide_short_help = true)]
    pub(crate) _inlines: bool,
    /// Prints one frame: the function that contains the address, with the innermost line
    #[arg(long, conflicts_with = "json", help_heading = AS_LLVM, hide_short_help = true)]
    pub(crate) no_inlines: bool,
    /// File names without their folders
    #[arg(short = 's', long, conflicts_with = "json", help_heading = AS_LLVM, hide_short_help = true)]
    pub(crate) basenames: bool,
    /// Compares the checksums of a file before its first answer (`symbolize`, `filter` and `serve` always do): a damaged file may
    /// give wrong answers without
    // It reads the whole file, which takes longer than the first answer.
    #[arg(long, hide_short_help = true)]
    pub(crate) check: bool,
    /// Load bias: load address minus link-time address
    #[arg(long, value_name = "A", value_parser = number_argument, default_value = "0", hide_default_value = true)]
    pub(crate) base: u64,
}

impl Answering {
    /// Whether answers are JSON objects.
    pub(crate) fn is_json(&self) -> bool {
        self.json || self.output_style == Some(OutputStyle::Json)
    }

    /// An option that chooses what text shows, given for JSON by the name that llvm-symbolizer has for it. With `--json` the parser refuses it.
    pub(crate) fn without_effect(&self) -> Option<&'static str> {
        let given = [
            (self.functions != Functions::Linkage, "--functions"),
            (self.no_inlines, "--no-inlines"),
            (self.basenames, "--basenames"),
        ];
        // clap's `conflicts_with` sees only that `--output-style` is given, not its value.
        given.iter().find(|(given, _)| *given && self.is_json()).map(|(_, option)| *option)
    }
}

/// The styles of llvm-symbolizer. Only `foldsym llvm-symbolizer` prints the GNU style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputStyle {
    /// Text
    #[value(name = "LLVM")]
    Llvm,
    /// Prints one JSON object per line
    #[value(name = "JSON")]
    Json,
}

/// Which answers the text marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Marks {
    /// None
    #[default]
    None,
    /// Folded functions
    Folded,
    /// Folded functions, functions that may have been folded with others, and why a line is missing
    All,
}

/// Which names of functions are printed.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Functions {
    /// No names
    None,
    /// Without namespaces, classes and parameters
    Short,
    /// Linkage names, demangled unless --no-demangle is given
    #[default]
    Linkage,
}

/// [`number`] as clap wants it.
pub(super) fn number_argument(text: &str) -> Result<u64, String> {
    number(text).ok_or_else(|| "expected 0x and hexadecimal digits, or decimal digits".to_owned())
}
