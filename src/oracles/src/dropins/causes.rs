//! Explains why an answer of a drop-in may differ from the tool's: by name, the data that a symbol file lacks and the data that ours adds;
//! and, if the two know different things about an address, the named causes of `cargo xtask diff`.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::options::{Line, Style};
use super::shown;
use super::tools::Personality;
use crate::diff::answer::{Answer, Fields, Frame, What, differences};
use crate::diff::{DiffOptions, Oracle, Program, Tools, causes_of};
use xtask::sh;

const DISCRIMINATOR: &str = "a discriminator: a symbol file has none";
const INLINED_START: &str = "where an inlined function starts: a symbol file does not say";
const RELATIVE: &str = "a path below the folder of the compiler: a symbol file has whole paths";
const SHORT: &str = "a short name: ours is cut out of the linkage name, the tool's is DW_AT_name";
const REMOVED: &str = "an address below all code: the tool finds functions there that the linker removed";
const FOLDERS: &str = "--debug-file-directory: ours looks below /usr/lib/debug too";
const GNU_STYLE: &str = "GNU's demangler spells lambdas and templates otherwise than LLVM's, and ours";
const GNU_EMPTY: &str = "GNU addr2line prints the empty name of a file";
pub(super) const GNU_READS_NOT: &str =
    "GNU addr2line cannot read the debug information, and says so (all answers of a run)";
const APPROXIMATE: &str =
    "--skip-line-zero: the line before is in another function: ours says line 0, the tool that line";
const PART_START: &str = "where a function with several ranges starts: ours is the start of the range";
const DEMANGLER: &str =
    "a readable name that our demangler spells otherwise (src/demangle/README.md); linkage names are equal";
const FOLDED: &str = "folded code: ours says in JSON how sure it is, and of how many functions";
const GNU_FRAMES: &str = "GNU addr2line finds other inlined functions; llvm-symbolizer answers as we do";
const GNU_NAME: &str = "GNU addr2line has another name; llvm-symbolizer answers as we do";
const GNU_PLACE: &str = "GNU addr2line has another file or line; llvm-symbolizer answers as we do";
const MIXED: &str = "a relocatable program with code in several sections, which all begin at 0: LLVM's tools mix their functions";
const MIXED_GNU: &str = "a relocatable program with code in several sections: GNU addr2line finds other inlined functions of the same function";

/// The tools' knowledge of the addresses of a program, and ours.
pub(super) struct Knowledge {
    ours: HashMap<u64, Answer>,
    llvm: HashMap<u64, Answer>,
    gnu: HashMap<u64, Vec<Frame>>,
    /// The causes by which ours and llvm-symbolizer's answers differ.
    named: HashMap<u64, Vec<&'static str>>,
    /// The program is relocatable, and has code in several sections.
    mixed: bool,
    /// Where the code begins.
    lowest: u64,
}

impl Knowledge {
    /// Asks all about these addresses. `described` is the file with the symbols and debug information.
    ///
    /// # Errors
    /// A tool that fails.
    pub(super) fn of(
        foldsym: &Path,
        program: &Program,
        described: &Program,
        addresses: &[u64],
        scratch: &Path,
    ) -> Result<Knowledge, String> {
        let options = DiffOptions {
            oracles: vec![Oracle::Llvm],
            foldsym: Some(foldsym.to_owned()),
            columns: true,
            ..DiffOptions::default()
        };
        let tools = Tools::build(&options)?;
        let file = scratch.join("known.fsym");
        tools.convert(program, &file, &["--columns".to_owned()])?;
        let ours = tools.ours(program, &file, addresses, scratch)?;
        let llvm = tools.theirs(Oracle::Llvm, program, addresses, scratch)?;
        let mut named = HashMap::new();
        for ((address, ours), llvm) in addresses.iter().zip(&ours).zip(&llvm) {
            if let Ok(causes) = causes_of(described, *address, ours, llvm)
                .or_else(|_| causes_of(program, *address, ours, llvm))
                && !causes.is_empty()
            {
                named.insert(*address, causes);
            }
        }
        let by_address = |answers: Vec<Answer>| addresses.iter().copied().zip(answers).collect();
        let gnu = gnu(program, addresses, scratch).unwrap_or_default();
        Ok(Knowledge {
            ours: by_address(ours),
            llvm: by_address(llvm),
            gnu,
            named,
            mixed: program.relocatable && program.code.len() > 1,
            lowest: program.code.iter().map(|code| code.start).min().unwrap_or(0),
        })
    }

    /// Whether GNU addr2line can read the program.
    pub(super) fn gnu_reads_it(&self) -> bool {
        !self.gnu.is_empty()
    }

    /// Why two answers about an address differ; nothing if no cause is known.
    pub(super) fn why(
        &self,
        tool: Personality,
        line: &Line,
        address: u64,
        real: &str,
        ours: &str,
    ) -> Option<Vec<&'static str>> {
        let (real, ours, mut causes) = alike(line.style, real, ours);
        if real == ours {
            return Some(causes);
        }
        if line.relative && relative(line.style, &real, &ours) {
            causes.push(RELATIVE);
            return Some(causes);
        }
        let places = (without_names(&real).join("\n"), without_names(&ours).join("\n"));
        if line.short
            && (places.0 == places.1 || (line.relative && relative(line.style, &places.0, &places.1)))
        {
            causes.push(SHORT);
            return Some(causes);
        }
        if real.to_ascii_lowercase().contains("approximate")
            && line.args.iter().any(|arg| arg == "--skip-line-zero")
            && shown::differs_at_line_0(line, &real, &ours)
        {
            causes.push(APPROXIMATE);
            return Some(causes);
        }
        let address = address.wrapping_sub(line.shift);
        if address < self.lowest && shown::frames(line, &ours).is_some_and(|frames| frames.is_empty()) {
            causes.push(REMOVED);
            return Some(causes);
        }
        let folders = |arg: &String| arg.starts_with("--debug-file-directory");
        let fields = Fields { columns: true, starts: false };
        let known = (self.ours.get(&address), self.llvm.get(&address));
        if let (Some(own), Some(llvm)) = known
            && line.args.iter().any(folders)
            && real.contains("??")
            && shown::says(line, &ours, &own.frames, true)
            && (self.named.contains_key(&address)
                || differences(&own.frames, &llvm.frames, fields).is_empty())
        {
            causes.push(FOLDERS);
            causes.extend(self.named.get(&address).into_iter().flatten());
            return Some(causes);
        }
        if let (true, Some(own)) = (self.mixed, known.0) {
            let says = shown::says(line, &ours, &own.frames, tool != Personality::GnuAddr2line);
            let outermost = |frames: &[Frame]| frames.last().map(|frame| frame.name.clone());
            let gnu = self.gnu.get(&address).and_then(|frames| outermost(frames));
            if says && (tool != Personality::GnuAddr2line || gnu == outermost(&own.frames)) {
                causes.push(if tool == Personality::GnuAddr2line { MIXED_GNU } else { MIXED });
                return Some(causes);
            }
        }
        if tool == Personality::GnuAddr2line {
            causes.extend(self.why_gnu(line, address, &real, &ours)?);
        } else if let (Some(own), Some(llvm)) = known {
            let respelled = shown::agree(line, (&real, &llvm.frames), (&ours, &own.frames), true)?;
            causes.extend(self.named.get(&address).into_iter().flatten());
            if respelled {
                causes.push(DEMANGLER);
            }
        }
        (!causes.is_empty()).then_some(causes)
    }

    fn why_gnu(&self, line: &Line, address: u64, real: &str, ours: &str) -> Option<Vec<&'static str>> {
        let (own, llvm, gnu) = (self.ours.get(&address)?, self.llvm.get(&address)?, self.gnu.get(&address)?);
        let respelled = shown::agree(line, (real, gnu), (ours, &own.frames), false)?;
        let fields = Fields { columns: false, starts: false };
        if !differences(&own.frames, &llvm.frames, fields).is_empty() {
            return self.named.get(&address).cloned();
        }
        let found = differences(&own.frames, gnu, fields);
        let cause = |difference: &crate::diff::answer::Difference| match difference.what {
            What::Depth => GNU_FRAMES,
            What::Name => GNU_NAME,
            _ => GNU_PLACE,
        };
        let mut causes: Vec<&'static str> = found.iter().map(cause).collect();
        causes.dedup();
        // The two print different text though they know the same.
        if causes.is_empty() && real.lines().any(|line| line == ":?" || line.ends_with(" :?")) {
            causes.push(GNU_EMPTY);
        }
        if respelled {
            causes.push(GNU_STYLE);
        }
        (!causes.is_empty()).then_some(causes)
    }
}

/// A text without the names of functions.
fn without_names(text: &str) -> Vec<String> {
    if let Ok(mut value) = serde_json::from_str::<Value>(text) {
        for key in ["Symbol", "Loc"] {
            for frame in value.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                frame["FunctionName"] = "".into();
            }
        }
        return vec![value.to_string()];
    }
    let places = text.lines().map(|line| line.rsplit_once(" at ").map_or(line, |(_, place)| place));
    // Of the remaining lines, places end in numbers, and lines about a place begin with two blanks.
    let is_place = |line: &&str| {
        let number = line.rsplit(':').next().unwrap_or_default();
        let numbered = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'?');
        line.starts_with("  ") || (line.contains(':') && numbered)
    };
    places.filter(is_place).map(str::to_owned).collect()
}

/// Whether the texts differ only in paths, and ours are longer at the front.
fn relative(style: Style, real: &str, ours: &str) -> bool {
    let lines = |text: &str| match style {
        Style::Json => text.replace("\",\"", "\",\n\"").replace(",\"", ",\n\""),
        _ => text.to_owned(),
    };
    let (real, ours) = (lines(real), lines(ours));
    let longer = |(real, ours): (&str, &str)| {
        // The path is the end of the line, after a word that both have.
        let same = real.bytes().zip(ours.bytes()).take_while(|(a, b)| a == b).count();
        real == ours
            || (0..=same).any(|at| {
                let (Some(real), Some(ours)) = (real.get(at..), ours.get(at..)) else { return false };
                !real.starts_with('/')
                    && ours.ends_with(real)
                    && ours[..ours.len() - real.len()].ends_with('/')
            })
    };
    real.lines().count() == ours.lines().count() && real.lines().zip(ours.lines()).all(longer)
}

/// Both texts without what differs by nature, and what that was.
pub(super) fn alike(style: Style, real: &str, ours: &str) -> (String, String, Vec<&'static str>) {
    match style {
        Style::Json => alike_json(real, ours),
        _ => alike_text(real, ours),
    }
}

fn alike_text(real: &str, ours: &str) -> (String, String, Vec<&'static str>) {
    let mut causes = Vec::new();
    let is_start = |text: &str| text.starts_with("  Function start address: ");
    let starts = |text: &str| text.lines().filter(|line| is_start(line)).count();
    let (fewer, more) = (starts(ours) < starts(real), starts(ours) > starts(real));
    let clean = |text: &str, causes: &mut Vec<&'static str>| {
        let mut lines = Vec::new();
        for line in text.lines() {
            if line.starts_with("  Discriminator: ") {
                causes.push(DISCRIMINATOR);
                continue;
            }
            if (fewer || more) && is_start(line) {
                causes.push(if fewer { INLINED_START } else { PART_START });
                continue;
            }
            match line.split_once(" (discriminator ").filter(|(_, rest)| rest.ends_with(')')) {
                Some((line, _)) => {
                    causes.push(DISCRIMINATOR);
                    lines.push(line.to_owned());
                }
                None => lines.push(line.to_owned()),
            }
        }
        lines.join("\n")
    };
    let real = clean(real, &mut causes);
    causes.sort_unstable();
    causes.dedup();
    let ours = clean(ours, &mut Vec::new());
    if more {
        causes.push(PART_START);
    }
    (real, ours, causes)
}

fn alike_json(real: &str, ours: &str) -> (String, String, Vec<&'static str>) {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (mut real, mut ours) = (parsed(real), parsed(ours));
    let mut causes = Vec::new();
    if let Some(object) = ours.as_object_mut() {
        for key in ["Certainty", "CandidateCount"] {
            if object.remove(key).is_some() {
                causes.push(FOLDED);
            }
        }
    }
    for key in ["Symbol", "Loc"] {
        let (Some(frames), Some(own)) = (real[key].as_array_mut(), ours[key].as_array()) else { continue };
        for (number, frame) in frames.iter_mut().enumerate() {
            if frame["Discriminator"].as_u64() > Some(0) {
                frame["Discriminator"] = 0.into();
                causes.push(DISCRIMINATOR);
            }
            let unknown = own.get(number).is_some_and(|own| own["StartAddress"] == "");
            if unknown && frame["StartAddress"] != "" {
                frame["StartAddress"] = "".into();
                causes.push(INLINED_START);
            } else if frame["StartAddress"] == "" && !unknown {
                frame["StartAddress"] =
                    own.get(number).map_or(Value::Null, |own| own["StartAddress"].clone());
                causes.push(PART_START);
            }
        }
    }
    // Indexing created missing values.
    for value in [&mut real, &mut ours] {
        if let Some(object) = value.as_object_mut() {
            object.retain(|_, value| !value.is_null());
        }
    }
    causes.sort_unstable();
    causes.dedup();
    (real.to_string(), ours.to_string(), causes)
}

/// GNU addr2line's answers by address; `None` for a program that it refuses.
fn gnu(program: &Program, addresses: &[u64], scratch: &Path) -> Option<HashMap<u64, Vec<Frame>>> {
    let input = scratch.join("gnu.txt");
    let text: String = addresses.iter().map(|address| format!("{address:x}\n")).collect();
    std::fs::write(&input, text).ok()?;
    let mut command = Command::new(sh::tool("addr2line", "binutils").ok()?);
    command.args(["-afi", "-e"]).arg(&program.file);
    let out = sh::filter(&mut command, &input).ok()?;
    let mut found: HashMap<u64, Vec<Frame>> = HashMap::new();
    let mut lines = out.lines();
    let mut address = None;
    while let Some(line) = lines.next() {
        if let Some(digits) = line.strip_prefix("0x")
            && let Ok(number) = u64::from_str_radix(digits, 16)
        {
            address = Some(number);
            found.entry(number).or_default().clear();
            continue;
        }
        let place = lines.next()?;
        let place = place.split_once(" (discriminator ").map_or(place, |(place, _)| place);
        let (file, number) = place.rsplit_once(':')?;
        let known = |text: &str| if text == "??" { String::new() } else { text.to_owned() };
        let (name, file) = (known(line), known(file));
        if !name.is_empty() || !file.is_empty() {
            let line = number.parse().unwrap_or(0);
            found.get_mut(&address?)?.push(Frame { name, file, line, ..Frame::default() });
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_longer_by_their_front() {
        assert!(relative(Style::Gnu, "f at ./a.c:1", "f at /src/./a.c:1"));
        assert!(relative(
            Style::Json,
            r#"{"a":1,"FileName":"a.c","z":0}"#,
            r#"{"a":1,"FileName":"/src/a.c","z":0}"#
        ));
        assert!(!relative(Style::Gnu, "f at a.c:1", "f at /src/b.c:1"));
        assert!(!relative(Style::Gnu, "f at a.c:1", "g at /src/a.c:1"));
    }

    #[test]
    fn what_a_symbol_file_lacks_is_named_and_nothing_else() {
        let (real, ours, causes) = alike(Style::Gnu, "f\na.c:1 (discriminator 2)", "f\na.c:1");
        assert_eq!((real == ours, causes), (true, vec![DISCRIMINATOR]));
        let (real, ours, _) = alike(Style::Gnu, "f\na.c:1 (discriminator 2)", "f\na.c:2");
        assert_ne!(real, ours);
        let real = r#"{"Symbol":[{"Discriminator":3,"StartAddress":"0x1"},{"Discriminator":0,"StartAddress":"0x0"}]}"#;
        let own = r#"{"Certainty":"exact","Symbol":[{"Discriminator":0,"StartAddress":""},{"Discriminator":0,"StartAddress":"0x0"}]}"#;
        let (real, ours, causes) = alike(Style::Json, real, own);
        assert_eq!((real == ours, causes.len()), (true, 3), "{real} {ours}");
        let verbose = "f\n  Filename: a\n  Function start address: 0x1\n  Line: 1\n  Discriminator: 1";
        let (real, ours, causes) = alike(Style::Llvm, verbose, "f\n  Filename: a\n  Line: 1");
        assert_eq!((real == ours, causes), (true, vec![DISCRIMINATOR, INLINED_START]));
    }
}
