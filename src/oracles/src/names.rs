//! `cargo xtask names`: the outermost name at random addresses of libraries, by `foldsym lookup` and by the stand-in for
//! `llvm-symbolizer`, beside the name that `llvm-symbolizer` prints.
//!
//! A library has several names for one function, and which of them is shown is a choice. So the shares are printed by cause, and
//! only a name that is none of the function's, nor of another function with its code, fails.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::diff::answer::Answer;
use crate::diff::{DiffOptions, Oracle, Program, Tools, choose};
use xtask::sh;

const HELP: &str = "cargo xtask names [PROGRAM]... [--addresses N] [--seed S] [--examples N] [--foldsym BIN]
  asks llvm-symbolizer, foldsym lookup and foldsym's stand-in for llvm-symbolizer for the outermost name at N random addresses
  of each PROGRAM (libc, libm and libstdc++ of this system; 20,000), and prints which share is equal, and why the others differ;
  fails for a name without a cause, and where the stand-in shows another name of the function
  --examples N   of each cause (3)";

/// Why a name differs from llvm-symbolizer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NameCause {
    Equal,
    /// The tool's has the version of the symbol (`f@V1`), which is no part of a function's name.
    Version,
    /// The tool prints `??`. It reads no symbols of a separate debug file.
    Nameless,
    /// Ours is the symbol of a clone or a part (`f.part.0`), the tool's the name in DWARF (`f`).
    Clone,
    /// Both are names of the function.
    OtherName,
    /// The tool's is the name of another function with the same code.
    OtherMember,
    None,
}

impl NameCause {
    const ALL: [NameCause; 7] = [
        NameCause::Equal,
        NameCause::Version,
        NameCause::Nameless,
        NameCause::Clone,
        NameCause::OtherName,
        NameCause::OtherMember,
        NameCause::None,
    ];

    fn words(self) -> &'static str {
        match self {
            NameCause::Equal => "equal",
            NameCause::Version => "llvm-symbolizer's has the version of the symbol",
            NameCause::Nameless => "llvm-symbolizer has no name",
            NameCause::Clone => {
                "ours is the symbol of a clone or a part, llvm-symbolizer's the name in DWARF"
            }
            NameCause::OtherName => "two names of one function",
            NameCause::OtherMember => "two functions with equal code",
            NameCause::None => "no cause",
        }
    }

    /// `known` is the answer of `lookup`, which has all names of the address.
    fn of(ours: &str, theirs: &str, known: &Answer) -> NameCause {
        let is_clone = ours.strip_prefix(theirs).is_some_and(|ending| ending.starts_with('.'));
        let has = |name: &str, aliases: &[String]| aliases.iter().any(|alias| alias == name);
        let shown = |name: &str| known.frames.last().is_some_and(|frame| frame.name == name);
        let of_member = |name: &str| {
            known.candidates.iter().any(|member| {
                has(name, &member.aliases) || member.frames.last().is_some_and(|frame| frame.name == name)
            })
        };
        let of_function = |name: &str| shown(name) || has(name, &known.aliases);
        match () {
            () if ours == theirs => NameCause::Equal,
            () if theirs.strip_prefix(ours).is_some_and(is_version) => NameCause::Version,
            // The stand-in may show another name than `lookup`, but no other function.
            () if !is_clone && !of_function(ours) && !of_member(ours) => NameCause::None,
            () if theirs.is_empty() => NameCause::Nameless,
            () if is_clone => NameCause::Clone,
            () if of_function(theirs) => NameCause::OtherName,
            () if of_member(theirs) => NameCause::OtherMember,
            () => NameCause::None,
        }
    }
}

/// Whether a name ends with a version of this form: `@V1`, `@@V1`.
fn is_version(ending: &str) -> bool {
    let version = ending.strip_prefix('@').map(|version| version.strip_prefix('@').unwrap_or(version));
    version.is_some_and(|version| {
        version.contains(|letter: char| letter.is_ascii_alphanumeric())
            && version.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.'))
    })
}

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails, a name without a cause.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut programs, mut options) =
        (Vec::new(), DiffOptions { oracles: vec![Oracle::Llvm], ..DiffOptions::default() });
    options.examples = 3;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|number| number.parse::<u64>().ok()).ok_or(HELP);
        match arg.as_str() {
            "--addresses" => options.addresses = number()? as usize,
            "--seed" => options.seed = number()?,
            "--examples" => options.examples = number()? as usize,
            "--foldsym" => options.foldsym = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            other if other.starts_with('-') => return Err(HELP.to_owned()),
            other => programs.push(PathBuf::from(other)),
        }
    }
    if programs.is_empty() {
        let c = crate::ci::c_library().ok_or("needs the C library")?;
        let folder = c.parent().unwrap_or(Path::new("/")).to_owned();
        programs = ["libc.so.6", "libm.so.6", "libstdc++.so.6"].map(|name| folder.join(name)).to_vec();
    }
    let tools = Tools::build(&options)?;
    let mut without = 0;
    for program in &programs {
        let program = program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
        without += compare(&tools, &Program::open(&program, None)?, &options)?;
    }
    if without == 0 { Ok(()) } else { Err(format!("{without} names differ without a cause")) }
}

/// Prints the shares of a program, and returns how many names have no cause.
fn compare(tools: &Tools, program: &Program, options: &DiffOptions) -> Result<usize, String> {
    let scratch = sh::scratch("names")?;
    let fsym = scratch.join("program.fsym");
    tools.convert(program, &fsym, &[])?;
    let addresses = choose(program, options)?;
    let known = tools.ours(program, &fsym, &addresses, &scratch)?;
    let theirs = tools.theirs(Oracle::Llvm, program, &addresses, &scratch)?;
    let stand_in = stand_in(tools, program, &addresses, &scratch)?;
    let name = |answer: &Answer| answer.frames.last().map(|frame| frame.name.clone()).unwrap_or_default();
    let mut without = 0;
    for (door, ours) in [("lookup", &known), ("stand-in", &stand_in)] {
        let mut by_cause: BTreeMap<NameCause, (usize, Vec<String>)> = BTreeMap::new();
        for (index, address) in addresses.iter().enumerate() {
            let (ours, theirs) = (name(&ours[index]), name(&theirs[index]));
            let (count, examples) = by_cause.entry(NameCause::of(&ours, &theirs, &known[index])).or_default();
            *count += 1;
            if examples.len() < options.examples {
                examples.push(format!("{address:#x}: `{ours}`, llvm-symbolizer `{theirs}`"));
            }
        }
        println!("{}, {door}, {} addresses", program.file.display(), addresses.len());
        for cause in NameCause::ALL {
            let Some((count, examples)) = by_cause.get(&cause) else { continue };
            println!("  {:6.2} %  {}", 100.0 * *count as f64 / addresses.len() as f64, cause.words());
            let shown = examples.iter().filter(|_| cause != NameCause::Equal);
            shown.for_each(|example| println!("            {example}"));
        }
        // The stand-in has the tool's choice of a function's names.
        let wrong = match door {
            "stand-in" => &[NameCause::None, NameCause::Clone, NameCause::OtherName][..],
            _ => &[NameCause::None],
        };
        without +=
            wrong.iter().filter_map(|cause| by_cause.get(cause)).map(|(count, _)| *count).sum::<usize>();
    }
    Ok(without)
}

/// The answers of foldsym, started as `llvm-symbolizer`.
fn stand_in(
    tools: &Tools,
    program: &Program,
    addresses: &[u64],
    scratch: &Path,
) -> Result<Vec<Answer>, String> {
    let input = scratch.join("stand-in.txt");
    let text: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    std::fs::write(&input, text).map_err(|error| format!("{}: {error}", input.display()))?;
    let mut command = Command::new(tools.foldsym());
    command.arg0("llvm-symbolizer").arg(format!("--obj={}", program.file.display()));
    command.args([
        "--output-style=JSON",
        "--no-demangle",
        "--inlines",
        "--functions=linkage",
        "--no-debuginfod",
    ]);
    // An older build of foldsym may have converted the program too.
    let cache = scratch.join("cache");
    let _ = std::fs::remove_dir_all(&cache);
    let said = sh::filter(command.env("FOLDSYM_CACHE", cache), &input)?;
    let answer = |line: &str| {
        let json: Value = serde_json::from_str(line).map_err(|error| format!("stand-in: {error}: {line}"))?;
        Answer::llvm(&json)
    };
    let answers: Vec<Answer> = said.lines().map(answer).collect::<Result<_, String>>()?;
    match answers.len() == addresses.len() {
        true => Ok(answers),
        false => Err(format!("stand-in: {} answers for {} addresses", answers.len(), addresses.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::answer::{Candidate, Frame};

    #[test]
    fn each_difference_has_its_cause() {
        let frame = |name: &str| Frame { name: name.to_owned(), ..Frame::default() };
        let known = Answer {
            frames: vec![frame("abort")],
            aliases: vec!["__GI_abort".to_owned()],
            candidates: vec![Candidate { frames: vec![frame("exit")], ..Candidate::default() }],
            ..Answer::default()
        };
        for (ours, theirs, cause) in [
            ("abort", "abort", NameCause::Equal),
            ("abort", "abort@@V_1.2", NameCause::Version),
            ("abort", "abort@Base#f", NameCause::None),
            ("abort", "", NameCause::Nameless),
            ("abort.part.0", "abort", NameCause::Clone),
            ("abort", "__GI_abort", NameCause::OtherName),
            ("__GI_abort", "abort", NameCause::OtherName),
            ("abort", "exit", NameCause::OtherMember),
            ("abort", "raise", NameCause::None),
            ("", "abort", NameCause::None),
            ("raise", "abort", NameCause::None),
        ] {
            assert_eq!(NameCause::of(ours, theirs, &known), cause, "{ours} {theirs}");
        }
    }
}
