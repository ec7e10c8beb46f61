//! Reads our own JSON: an object for each stack.

use foldsym_symbolize::{Modules, Requests};
use serde_json::Value;

use crate::{Format, Report, ReportError, Thread};

/// Lines that are no stacks are told of, up to so many.
const MAX_WARNINGS: usize = 100;

/// Whether the first line, or the whole text, is an object with `frames`.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    first(bytes).is_some_and(|value| value.get("frames").is_some_and(Value::is_array))
}

/// The first value of the text.
fn first(bytes: &[u8]) -> Option<Value> {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    if bytes[start] != b'{' {
        return None;
    }
    serde_json::Deserializer::from_slice(&bytes[start..]).into_iter::<Value>().next()?.ok()
}

pub(crate) fn read(bytes: &[u8]) -> Result<Report, ReportError> {
    let mut report = Report::new(Format::JsonLines, Modules::new(Vec::new()), Vec::new());
    let mut lost = 0usize;
    let mut lines = Vec::new();
    // One object may be written over several lines.
    match serde_json::from_slice::<Value>(bytes) {
        Ok(whole) => lines.push((1, Ok(whole))),
        Err(_) => {
            for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
                if !line.trim_ascii().is_empty() {
                    lines.push((index + 1, serde_json::from_slice(line)));
                }
            }
        }
    }
    let mut requests = Requests::default();
    for (number, value) in lines {
        let read = value.map_err(|error: serde_json::Error| error.to_string());
        let read = read.and_then(|value| requests.parse(&value).map_err(|error| error.to_string()));
        match read {
            Ok(request) => report.threads.push(Thread {
                name: request.echo.get("thread").and_then(Value::as_str).unwrap_or_default().to_owned(),
                frames: request.frames,
                modules: Some(request.modules),
                echo: request.echo,
                ..Thread::default()
            }),
            Err(problem) if lost < MAX_WARNINGS => {
                lost += 1;
                report.warnings.push(format!("line {number}: {problem}"));
            }
            Err(_) => lost += 1,
        }
    }
    if lost > MAX_WARNINGS {
        report.warnings.push(format!("{} more lines are no stacks", lost - MAX_WARNINGS));
    }
    match report.threads.first() {
        Some(first) => report.modules = first.modules.clone().unwrap_or(report.modules),
        None => {
            let problem = report.warnings.first().cloned().unwrap_or_else(|| "no line is a stack".to_owned());
            return Err(ReportError::Damaged { format: Format::JsonLines, problem });
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_stacks_and_bad_ones_are_told() {
        let text = "{\"modules\":[{\"name\":\"a\",\"base\":16}],\"frames\":[17,18],\"thread\":\"main\",\"k\":1}\n\
                    {\"modules\":[{\"name\":\"a\",\"base\":16}],\"frames\":[19]}\n\
                    {\"frames\":[1]}\n{\n\n";
        assert!(is_one(text.as_bytes()));
        let report = read(text.as_bytes()).unwrap();
        assert_eq!(report.threads.len(), 2);
        assert_eq!((report.threads[0].name.as_str(), &report.threads[0].echo["k"]), ("main", &1.into()));
        assert_eq!(report.modules_of(&report.threads[1]).len(), 1);
        assert_eq!(report.warnings.len(), 2, "{:?}", report.warnings);
        assert!(report.warnings[0].starts_with("line 3: a stack needs \"modules\""));
    }

    #[test]
    fn one_object_over_several_lines() {
        let text = "\n{\n \"modules\": [],\n \"frames\": [1]\n}\n";
        assert!(is_one(text.as_bytes()));
        assert_eq!(read(text.as_bytes()).unwrap().threads.len(), 1);
    }

    #[test]
    fn what_is_none() {
        for text in ["", "[]", "{", "{}", "{\"frames\":1}", "x"] {
            assert!(!is_one(text.as_bytes()), "{text}");
        }
        let error = read(b"{\"frames\":[1]}").unwrap_err().to_string();
        assert!(error.starts_with("json: line 1: a stack needs"), "{error}");
    }
}
