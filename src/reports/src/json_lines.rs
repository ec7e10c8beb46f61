//! Reads our own JSON: an object for each stack.

use foldsym_symbolize::{GivenStack, Modules, Requests};

use crate::{Format, Report, ReportError, Thread};

/// Most warnings about lines that are not stacks.
const MAX_WARNINGS: usize = 100;

/// Whether the first line, or the whole text, is an object with `frames`.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    // Further lines follow the first value, so a text with more than one value is no error here.
    let first = serde_json::Deserializer::from_slice(bytes).into_iter::<GivenStack<'_>>().next();
    first.is_some_and(|first| first.is_ok_and(|given| given.has_frames()))
}

pub(crate) fn read(bytes: &[u8]) -> Result<Report, ReportError> {
    let mut report = Report::new(Format::JsonLines, Modules::new(Vec::new()), Vec::new());
    let mut lost = 0usize;
    let mut requests = Requests::default();
    // One object may extend over several lines.
    let is_one = GivenStack::parse(bytes).is_ok();
    let lines = bytes.split(|byte| *byte == b'\n' && !is_one).enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let number = index + 1;
        let read = GivenStack::parse(line).map_err(|error| error.to_string());
        let read = read
            .and_then(|given| Ok((requests.parse(&given, None).map_err(|error| error.to_string())?, given)));
        match read {
            Ok((request, given)) => {
                let mut thread =
                    Thread { frames: request.frames, modules: Some(request.modules), ..Thread::default() };
                for (key, value) in given.echo() {
                    if key == "thread" {
                        thread.name = serde_json::from_str(&value).unwrap_or_default();
                    }
                    thread.echo.push((key.to_owned(), value));
                }
                report.threads.push(thread);
            }
            // A large file of another kind would give a warning for each of its lines.
            Err(problem) if lost < MAX_WARNINGS => {
                lost += 1;
                report.warnings.push(format!("line {number}: {problem}"));
            }
            Err(_) => lost += 1,
        }
    }
    if lost > MAX_WARNINGS {
        report.warnings.push(format!("{} more lines are not stacks", lost - MAX_WARNINGS));
    }
    match report.threads.first() {
        // Each stack has modules of its own. A report has one list, so it gets that of the first stack.
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
        assert_eq!(report.threads[0].name, "main");
        let echo =
            [("k", "1"), ("thread", "\"main\"")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(report.threads[0].echo, echo);
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
