//! Command lines to test: each spelling of each option by itself, and combinations drawn by a generator with a fixed seed.

use super::tools::Personality;
use crate::diff::SplitMix;

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Llvm,
    Gnu,
    Json,
}

/// One line of options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) args: Vec<String>,
    pub(super) style: Style,
    pub(super) pretty: bool,
    pub(super) addresses: bool,
    /// Subtracted from each address by the tool.
    pub(super) shift: u64,
    /// The source's lines are printed too.
    pub(super) context: bool,
    /// Paths are relative, as in the debug information, without the folder of the compiler.
    pub(super) relative: bool,
    /// Names are those of `DW_AT_name`.
    pub(super) short: bool,
    /// Names are printed.
    pub(super) names: bool,
    /// Names are linkage names, made readable or not.
    pub(super) linkage: bool,
    pub(super) inlines: bool,
    pub(super) basenames: bool,
    pub(super) verbose: bool,
    /// Names are made readable.
    pub(super) demangles: bool,
}

/// The spellings of an option; the first is its absence.
type Spellings = &'static [&'static str];

const SYMBOLIZER: &[Spellings] = &[
    &[
        "",
        "--output-style=LLVM",
        "--output-style=GNU",
        "--output-style GNU",
        "--output-style=JSON",
        "--output-style=JSON",
    ],
    &["", "-p", "--pretty-print"],
    &["", "-a", "--addresses", "--print-address"],
    &["", "-i", "--inlines", "--inlining", "--inlining=true", "--no-inlines", "--inlining=false"],
    &[
        "",
        "-f",
        "--functions",
        "--functions=none",
        "--functions=short",
        "--functions=linkage",
        "-f=none",
        "-f=short",
        "-f=linkage",
    ],
    &["", "-C", "--demangle", "-demangle=true", "--no-demangle", "-demangle=false"],
    &["", "-s", "--basenames", "--relativenames", "-s --relativenames", "--relativenames --basenames"],
    &["", "--verbose"],
    &["", "--adjust-vma=0x1000", "--adjust-vma 4096", "--adjust-vma=010000"],
    &["", "--print-source-context-lines=3", "--print-source-context-lines 1"],
    &[
        "",
        "--no-untag-addresses",
        "--skip-line-zero",
        "--relative-address",
        "--cache-size=1",
        "--no-debuginfod",
        "--debuginfod",
        "--disable-gsym",
        "--dia",
        "--color",
        "--color=never",
        "--default-arch=x86_64",
        "--default-arch x86_64",
        "--debug-file-directory=/nowhere",
        "--debug-file-directory /nowhere",
        "--fallback-debug-path=/nowhere",
        "--gsym-file-directory=/nowhere",
        "--dsym-hint=/nowhere.dSYM",
    ],
];

const GNU: &[Spellings] = &[
    &["", "-p", "--pretty-print"],
    &["", "-a", "--addresses"],
    &["", "-i", "--inlines"],
    &["", "-f", "--functions"],
    &["", "-C", "--demangle", "--demangle=auto"],
    &["", "-s", "--basenames"],
    &["", "-r", "-R", "--recurse-limit", "--no-recurse-limit", "-b elf64-x86-64", "--target=elf64-x86-64"],
];

/// Options that are tried with the program in front of addresses.
const PROGRAM: &[&str] = &["-e", "-e", "--exe=", "--exe", "--obj=", "--obj", "-e="];

fn spellings(tool: Personality) -> &'static [Spellings] {
    match tool {
        Personality::GnuAddr2line => GNU,
        _ => SYMBOLIZER,
    }
}

/// Each spelling of each option by itself.
pub(super) fn singles(tool: Personality) -> Vec<Line> {
    let mut lines = vec![line(tool, &[])];
    for option in spellings(tool) {
        lines.extend(option.iter().skip(1).map(|spelling| line(tool, &[spelling])));
    }
    lines
}

/// So many combinations.
pub(super) fn combinations(tool: Personality, count: usize, seed: u64) -> Vec<Line> {
    let mut random = SplitMix(seed);
    let mut draw = |from: Spellings| from[(random.next() % from.len() as u64) as usize];
    (0..count)
        .map(|_| line(tool, &spellings(tool).iter().map(|option| draw(option)).collect::<Vec<_>>()))
        .collect()
}

/// The options that name the program, in one of their spellings.
pub(super) fn program(tool: Personality, number: usize, path: &str) -> Vec<String> {
    let spellings = if tool == Personality::GnuAddr2line { &PROGRAM[..4] } else { PROGRAM };
    match spellings[number % spellings.len()] {
        joined if joined.ends_with('=') => vec![format!("{joined}{path}")],
        separate => vec![separate.to_owned(), path.to_owned()],
    }
}

/// The line of a text.
#[cfg(test)]
pub(super) fn of_text(tool: Personality, text: &str) -> Line {
    line(tool, &[text])
}

fn line(tool: Personality, spelled: &[&str]) -> Line {
    let args: Vec<String> =
        spelled.iter().flat_map(|option| option.split_whitespace()).map(str::to_owned).collect();
    let has = |names: &[&str]| args.iter().any(|arg| names.contains(&&**arg));
    let text = spelled.join(" ");
    let style = match tool {
        _ if text.contains("JSON") => Style::Json,
        _ if text.contains("GNU") => Style::Gnu,
        Personality::Symbolizer => Style::Llvm,
        _ if text.contains("=LLVM") => Style::Llvm,
        _ => Style::Gnu,
    };
    // Of options that contradict each other the last counts.
    let last = |default: bool, on: &[&str], off: &[&str]| {
        let known = args.iter().rev().find(|arg| on.contains(&&***arg) || off.contains(&&***arg));
        known.map_or(default, |arg| on.contains(&&**arg))
    };
    let is_symbolizer = tool == Personality::Symbolizer;
    let with_names =
        ["-f", "--functions", "--functions=short", "--functions=linkage", "-f=short", "-f=linkage"];
    let without = ["--functions=none", "-f=none"];
    let names = last(is_symbolizer, &with_names, &without);
    let short = text.contains("=short");
    let inlines = ["-i", "--inlines", "--inlining", "--inlining=true"];
    Line {
        names,
        linkage: names && !short,
        inlines: last(is_symbolizer, &inlines, &["--no-inlines", "--inlining=false"]),
        basenames: last(false, &["-s", "--basenames"], &["--relativenames"]),
        verbose: has(&["--verbose"]),
        demangles: last(
            is_symbolizer,
            &["-C", "--demangle", "--demangle=auto", "-demangle=true"],
            &["--no-demangle", "-demangle=false"],
        ),
        style,
        pretty: has(&["-p", "--pretty-print"]),
        addresses: has(&["-a", "--addresses", "--print-address"]),
        shift: if text.contains("--adjust-vma") { 0x1000 } else { 0 },
        context: text.contains("context-lines"),
        short,
        relative: text.contains("--relativenames") && !text.ends_with("--basenames"),
        args,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_tried_and_draws_are_the_same() {
        let all = singles(Personality::Symbolizer);
        assert!(all.iter().any(|line| line.args == ["--adjust-vma", "4096"] && line.shift == 0x1000));
        assert!(all.iter().any(|line| line.style == Style::Json));
        assert_eq!(combinations(Personality::Symbolizer, 9, 3), combinations(Personality::Symbolizer, 9, 3));
        assert_ne!(combinations(Personality::Symbolizer, 9, 3), combinations(Personality::Symbolizer, 9, 4));
        assert_eq!(program(Personality::Symbolizer, 4, "x"), ["--obj=x"]);
    }
}
