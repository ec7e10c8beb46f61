//! Requests that clients send and get wrong (`protocol.txt`): errors, quoting, response files, options of the environment,
//! symbols. Output, errors and the exit code are compared whole.

use std::path::Path;

use serde_json::Value;

use super::causes;
use super::options::Style;
use super::tally::DropinTally;
use super::tools::{GivenInput, Personality, Said, Sides};
use xtask::sh;

/// One command.
#[derive(Debug)]
struct Script {
    tool: Personality,
    asked: GivenInput,
    /// Why the tool's answer is another.
    differs: Option<&'static str>,
}

/// Runs every case. A difference that has a name must be there, at the first word that both print.
///
/// # Errors
/// A tool that cannot be run.
pub(super) fn run(pair: &Sides, folder: &Path, tally: &mut DropinTally) -> Result<(), String> {
    files(folder)?;
    for case in parse(include_str!("protocol.txt"))? {
        let (real, ours) = pair.both(case.tool, &case.asked)?;
        tally.asked(case.tool, 1);
        let shown =
            || format!("{} {:?} < {:?}", case.tool.name(), case.asked.args.join(" ~ "), case.asked.input);
        let (real, ours, causes) = match case.asked.args.iter().any(|arg| arg == "--output-style=JSON") {
            true => without_starts(real, ours),
            false => (real, ours, Vec::new()),
        };
        tally.named(case.tool, &causes);
        match (case.differs, real == ours) {
            (None, true) => {}
            (Some(why), false) if alike(&real, &ours) => tally.named(case.tool, &[why]),
            (Some(_), true) => tally.unnamed(format!("{}: differs no longer", shown()), String::new),
            (_, false) => tally.unnamed(shown(), || super::tally::shown(&real, &ours)),
        }
    }
    Ok(())
}

/// Both without the data that a symbol file lacks, in JSON.
fn without_starts(mut real: Said, mut ours: Said) -> (Said, Said, Vec<&'static str>) {
    let values = |text: &str| {
        let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let values = values.collect::<Result<Vec<Value>, _>>().unwrap_or_default();
        let flat = values.into_iter().flat_map(|value| match value {
            Value::Array(values) => values,
            other => vec![other],
        });
        flat.map(|value| value.to_string()).collect::<Vec<String>>()
    };
    if real.out == ours.out {
        return (real, ours, Vec::new());
    }
    let (of_real, of_ours) = (values(&real.out), values(&ours.out));
    if of_real.len() != of_ours.len() {
        return (real, ours, Vec::new());
    }
    let mut causes = Vec::new();
    let mut texts = (Vec::new(), Vec::new());
    for (one, other) in of_real.iter().zip(&of_ours) {
        let (one, other, found) = causes::alike(Style::Json, one, other);
        causes.extend(found);
        texts.0.push(one);
        texts.1.push(other);
    }
    (real.out, ours.out) = (texts.0.join("\n"), texts.1.join("\n"));
    causes.dedup();
    (real, ours, causes)
}

/// Whether two outputs are of one kind: the same exit code, on the same stream, the same first word.
fn alike(real: &Said, ours: &Said) -> bool {
    let first = |text: &str| text.split_whitespace().next().map(str::to_owned);
    let unknown = ours.out.starts_with("??");
    let same = real.code == ours.code && (unknown || first(&real.out) == first(&ours.out));
    // We may accept input that the tool refuses.
    (same && (real.err.is_empty() || first(&real.err) == first(&ours.err)))
        || (real.code != Some(0) && ours.code == Some(0))
}

fn parse(text: &'static str) -> Result<Vec<Script>, String> {
    let mut cases: Vec<Script> = Vec::new();
    // The case is written once for all styles.
    let mut copies = 1;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (mark, rest) = line.split_at(1);
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        if matches!(mark, "$" | "%") {
            let mut words = rest.split('~').map(|word| word.trim().to_owned());
            let name = words.next().unwrap_or_default();
            let tool = Personality::ALL
                .into_iter()
                .find(|tool| tool.name() == name)
                .ok_or_else(|| line.to_owned())?;
            let args: Vec<String> = words.collect();
            let styles: &[&str] = if mark == "%" { &["LLVM", "GNU", "JSON"] } else { &[""] };
            copies = styles.len();
            for style in styles {
                let mut args = args.clone();
                if !style.is_empty() {
                    args.insert(0, format!("--output-style={style}"));
                }
                cases.push(Script {
                    tool,
                    asked: GivenInput { args, ..GivenInput::default() },
                    differs: None,
                });
            }
            continue;
        }
        let from = cases.len().checked_sub(copies).ok_or("protocol.txt: a command comes first")?;
        for case in &mut cases[from..] {
            match mark {
                "<" => case.asked.input.push_str(&format!("{rest}\n")),
                "=" => {
                    let (name, value) = rest.split_once('=').ok_or(line)?;
                    case.asked.environment.push((name.to_owned(), value.to_owned()));
                }
                "?" => case.differs = Some(rest),
                _ => return Err(format!("protocol.txt: {line}")),
            }
        }
    }
    Ok(cases)
}

/// The files that the cases name.
fn files(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let built = sh::root().join("testbins/built");
    for (name, program) in [
        ("demo", "demo.elf"),
        ("with space", "demo.elf"),
        ("inline", "inline.clang-dwarf5-o1"),
        ("symbols", "inline.clang-symbols-only"),
    ] {
        std::fs::copy(built.join(program), folder.join(name)).map_err(failed)?;
    }
    for (name, text) in [
        ("text.txt", "no program\n"),
        ("empty", ""),
        ("options.rsp", "-a -f\n-e 'with space'\n"),
        ("nested.rsp", "-p @options.rsp"),
    ] {
        std::fs::write(folder.join(name), text).map_err(failed)?;
    }
    sh::create_dir(&folder.join("dir"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read() {
        let text = "# x\n% llvm-symbolizer ~ -a\n< one\n<\n$ addr2line ~ --exe\n= A=b=c\n? a reason\n";
        let cases = parse(text).unwrap();
        assert_eq!(cases.len(), 4);
        assert_eq!(cases[2].asked.args, ["--output-style=JSON", "-a"]);
        assert_eq!(cases[0].asked.input, "one\n\n");
        assert_eq!(cases[3].asked.environment, [("A".to_owned(), "b=c".to_owned())]);
        assert_eq!((cases[3].differs, cases[2].differs), (Some("a reason"), None));
        assert!(parse("< x\n").is_err() && parse("$ nothing\n").is_err());
        assert!(parse(include_str!("protocol.txt")).unwrap().len() > 100);
    }
}
