//! Converts the output of three symbolizers, each in its own JSON, to one form; and finds where two answers of that form differ.

use serde_json::Value;

use crate::json::Answered;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The linkage name, not demangled; "" if it is unknown.
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) column: u64,
    pub(crate) start_file: String,
    pub(crate) start_line: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) frames: Vec<Frame>,
    pub(crate) aliases: Vec<String>,
    /// The evidence that it is there.
    pub(crate) how: String,
}

/// The answer for one address, frames innermost first; no frames if nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) frames: Vec<Frame>,
    /// Where the outermost function starts.
    pub(crate) start: Option<u64>,
    /// Only in our answers: other symbols of the outermost function.
    pub(crate) aliases: Vec<String>,
    /// Only in our answers: every function that may be at the address.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) certainty: String,
}

impl Answer {
    /// An answer of ours: llvm-symbolizer's keys and some more.
    ///
    /// # Errors
    /// The answer is an error.
    pub(crate) fn ours(json: &Value) -> Result<Answer, String> {
        error_in(json)?;
        let symbol = &json["Symbol"];
        let aliases = symbol.items().last().map(|frame| texts(&frame["Aliases"])).unwrap_or_default();
        let of = |json: &Value, aliases: Vec<String>| Candidate {
            frames: frames(&json["Symbol"], "LinkageName"),
            aliases,
            how: json["How"].text().to_owned(),
        };
        let candidates = match json["CandidateCount"].number() {
            // The answer is not repeated as its only candidate.
            1 => vec![of(json, aliases.clone())],
            _ => json["Candidates"].items().iter().map(|one| of(one, texts(&one["Aliases"]))).collect(),
        };
        Ok(Answer {
            frames: frames(symbol, "LinkageName"),
            start: start(symbol),
            aliases,
            candidates,
            certainty: json["Certainty"].text().to_owned(),
        })
    }

    /// An answer of llvm-symbolizer run with `--no-demangle`.
    ///
    /// # Errors
    /// The answer is an error.
    pub(crate) fn llvm(json: &Value) -> Result<Answer, String> {
        error_in(json)?;
        let symbol = &json["Symbol"];
        Ok(Answer { frames: frames(symbol, "FunctionName"), start: start(symbol), ..Answer::default() })
    }

    /// An answer of `oracle_addr2line`: an array of frames.
    ///
    /// # Errors
    /// The answer is an error.
    pub(crate) fn addr2line(json: &Value) -> Result<Answer, String> {
        error_in(json)?;
        Ok(Answer { frames: frames(json, "LinkageName"), ..Answer::default() })
    }

    pub(crate) fn outermost(&self) -> Option<&Frame> {
        self.frames.last()
    }
}

fn error_in(json: &Value) -> Result<(), String> {
    match &json["Error"] {
        Value::Null => Ok(()),
        error => Err(error["Message"].text().to_owned()),
    }
}

fn frames(symbol: &Value, name: &str) -> Vec<Frame> {
    let known = |json: &Value| match json.text() {
        "??" | "<invalid>" => String::new(),
        text => text.to_owned(),
    };
    let frames: Vec<Frame> = symbol
        .items()
        .iter()
        .map(|frame| Frame {
            name: known(&frame[name]),
            file: known(&frame["FileName"]),
            line: frame["Line"].number(),
            column: frame["Column"].number(),
            start_file: known(&frame["StartFileName"]),
            start_line: frame["StartLine"].number(),
        })
        .collect();
    // One frame without anything in it is how some say that they know nothing.
    if frames == [Frame::default()] { Vec::new() } else { frames }
}

fn start(symbol: &Value) -> Option<u64> {
    let text = symbol.items().last()?["StartAddress"].text();
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn texts(json: &Value) -> Vec<String> {
    json.items().iter().map(|item| item.text().to_owned()).collect()
}

/// Which parts of a frame are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) columns: bool,
    pub(crate) starts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// The number of frames: nothing else is compared then.
    Depth,
    Name,
    File,
    Line,
    Column,
    StartFile,
    StartLine,
}

/// One part of one frame, counted from the innermost, in which two answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) what: What,
    pub(crate) frame: usize,
}

/// Every part in which two stacks of frames differ.
pub(crate) fn differences(ours: &[Frame], theirs: &[Frame], fields: Fields) -> Vec<Difference> {
    if ours.len() != theirs.len() {
        return vec![Difference { what: What::Depth, frame: 0 }];
    }
    let mut found = Vec::new();
    for (frame, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let parts = [
            (What::Name, a.name != b.name),
            (What::File, a.file != b.file),
            (What::Line, a.line != b.line),
            (What::Column, fields.columns && a.column != b.column),
            (What::StartFile, fields.starts && a.start_file != b.start_file),
            (What::StartLine, fields.starts && a.start_line != b.start_line),
        ];
        found.extend(
            parts.iter().filter(|(_, differs)| *differs).map(|(what, _)| Difference { what: *what, frame }),
        );
    }
    found
}

/// A stack in one line, innermost first.
pub(crate) fn show(frames: &[Frame], fields: Fields) -> String {
    if frames.is_empty() {
        return "nothing".to_owned();
    }
    let known = |text: &str| if text.is_empty() { "??".to_owned() } else { text.to_owned() };
    let one = |frame: &Frame| {
        let mut text = format!("{} {}:{}", known(&frame.name), known(&frame.file), frame.line);
        if fields.columns {
            text += &format!(":{}", frame.column);
        }
        if fields.starts {
            text += &format!(" (from {}:{})", known(&frame.start_file), frame.start_line);
        }
        text
    };
    frames.iter().map(one).collect::<Vec<_>>().join(" <- ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Fields = Fields { columns: false, starts: false };

    #[test]
    fn answers_of_all_three_have_one_shape() {
        let ours = r#"{"Address":"0x8","Certainty":"ambiguous","Symbol":[
            {"FunctionName":"f(int)","LinkageName":"_Z1fi","FileName":"a.c","Line":3,"Column":0,"StartFileName":"a.c",
             "StartLine":2,"StartAddress":"0x4","Aliases":["g"]}],
            "CandidateCount":2,"Candidates":[{"LinkageName":"h","Aliases":["i"],"Symbol":[{"LinkageName":"h"}]}]}"#;
        let llvm = r#"{"Address":"0x8","Symbol":[{"FunctionName":"_Z1fi","FileName":"a.c","Line":3,"Column":9,
            "StartFileName":"a.c","StartLine":2,"StartAddress":"0x4"}]}"#;
        let crate_ = r#"[{"LinkageName":"_Z1fi","FileName":"a.c","Line":3,"Column":9}]"#;
        let ours = Answer::ours(&crate::json::parse(ours).unwrap()).unwrap();
        let llvm = Answer::llvm(&crate::json::parse(llvm).unwrap()).unwrap();
        let crate_ = Answer::addr2line(&crate::json::parse(crate_).unwrap()).unwrap();
        assert_eq!(differences(&ours.frames, &llvm.frames, PLAIN), []);
        assert_eq!(differences(&ours.frames, &crate_.frames, PLAIN), []);
        let all = Fields { columns: true, starts: true };
        assert_eq!(
            differences(&ours.frames, &llvm.frames, all),
            [Difference { what: What::Column, frame: 0 }]
        );
        assert_eq!((ours.start, llvm.start), (Some(4), Some(4)));
        assert_eq!(ours.aliases, ["g"]);
        assert_eq!(ours.candidates[0].aliases, ["i"]);
        assert_eq!(ours.certainty, "ambiguous");
        let alone = r#"{"Address":"0x8","Certainty":"exact","CandidateCount":1,"How":"symbol","Symbol":[
            {"LinkageName":"_Z1fi","FileName":"a.c","Line":3,"StartAddress":"0x4","Aliases":["g"]}]}"#;
        let alone = Answer::ours(&crate::json::parse(alone).unwrap()).unwrap();
        assert_eq!((alone.candidates.len(), &*alone.candidates[0].how), (1, "symbol"));
        assert_eq!(
            (&alone.candidates[0].frames, &alone.candidates[0].aliases),
            (&alone.frames, &alone.aliases)
        );
    }

    #[test]
    fn nothing_known_is_no_frame() {
        let empty = r#"{"Symbol":[{"FunctionName":"","FileName":"??","Line":0}]}"#;
        assert_eq!(Answer::llvm(&crate::json::parse(empty).unwrap()).unwrap(), Answer::default());
        assert_eq!(Answer::addr2line(&crate::json::parse("[]").unwrap()).unwrap(), Answer::default());
        let error = r#"{"Error":{"Message":"no"}}"#;
        assert_eq!(Answer::ours(&crate::json::parse(error).unwrap()), Err("no".to_owned()));
    }

    #[test]
    fn every_part_can_differ() {
        let frame = |name: &str, line| Frame { name: name.into(), line, ..Frame::default() };
        let whats = |a: &[Frame], b: &[Frame]| -> Vec<What> {
            differences(a, b, PLAIN).into_iter().map(|difference| difference.what).collect()
        };
        assert_eq!(whats(&[frame("a", 1)], &[]), [What::Depth]);
        assert_eq!(whats(&[frame("a", 1)], &[frame("b", 2)]), [What::Name, What::Line]);
        let file = Frame { file: "x".into(), ..frame("a", 1) };
        assert_eq!(whats(&[file], &[frame("a", 1)]), [What::File]);
    }
}
