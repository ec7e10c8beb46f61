//! Reads our own JSON: an object for each stack.

use foldsym_symbolize::{GivenStack, Modules, Request, Requests};

use crate::opened::{FormatReader, ReadWith, ThreadSource};
use crate::{Format, Opened, Report, ReportError, Thread};

/// Most warnings about lines that are not stacks.
const MAX_WARNINGS: usize = 100;

/// Reads our own JSON.
pub(crate) struct JsonLinesReader;

impl FormatReader for JsonLinesReader {
    fn format(&self) -> Format {
        Format::JsonLines
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        is_one(bytes)
    }

    fn open<'b>(&self, bytes: &'b [u8], _: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        open(bytes)
    }
}

/// Whether the first line, or the whole text, is an object with `frames`.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    // Further lines follow the first value, so a text with more than one value is no error here.
    let first = serde_json::Deserializer::from_slice(bytes).into_iter::<GivenStack<'_>>().next();
    first.is_some_and(|first| first.is_ok_and(|given| given.has_frames()))
}

/// Reads lines.
struct Lines<'b> {
    rest: Option<&'b [u8]>,
    /// The number of the next line.
    number: usize,
    /// One object may extend over several lines.
    is_one: bool,
    requests: Requests,
    lost: usize,
    first: Option<Thread>,
}

pub(crate) fn open(bytes: &[u8]) -> Result<Opened<'_>, ReportError> {
    let mut report = Report::new(Format::JsonLines, Modules::new(Vec::new()), Vec::new());
    let is_one = GivenStack::parse(bytes).is_ok();
    let mut lines =
        Lines { rest: Some(bytes), number: 1, is_one, requests: Requests::default(), lost: 0, first: None };
    lines.first = lines.thread(&mut report);
    match &lines.first {
        // Each stack has modules of its own. A report has one list, so it gets that of the first stack.
        Some(first) => report.modules = first.modules.clone().unwrap_or(report.modules),
        None => {
            let problem = report.warnings.first().cloned().unwrap_or_else(|| "no line is a stack".to_owned());
            return Err(ReportError::Damaged { format: Format::JsonLines, problem });
        }
    }
    Ok(Opened::new(report, lines))
}

impl<'b> Lines<'b> {
    /// The next line that is not blank, and its number.
    fn line(&mut self) -> Option<(usize, &'b [u8])> {
        loop {
            let rest = self.rest?;
            let end = rest.iter().position(|byte| *byte == b'\n').filter(|_| !self.is_one);
            let (line, rest) = end.map_or((rest, None), |end| (&rest[..end], Some(&rest[end + 1..])));
            let number = self.number;
            (self.rest, self.number) = (rest, number + 1);
            if !line.trim_ascii().is_empty() {
                return Some((number, line));
            }
        }
    }

    /// The next line that is a stack.
    fn thread(&mut self, report: &mut Report) -> Option<Thread> {
        while let Some((number, line)) = self.line() {
            let read = GivenStack::parse(line).map_err(|error| error.to_string());
            let read = read.and_then(|given| {
                Ok((self.requests.parse(&given, None).map_err(|error| error.to_string())?, given))
            });
            match read {
                Ok((request, given)) => return Some(thread(request, &given)),
                // A large file of another kind would give a warning for each of its lines.
                Err(problem) if self.lost < MAX_WARNINGS => {
                    self.lost += 1;
                    report.warnings.push(format!("line {number}: {problem}"));
                }
                Err(_) => self.lost += 1,
            }
        }
        if self.lost > MAX_WARNINGS {
            let more = std::mem::take(&mut self.lost) - MAX_WARNINGS;
            report.warnings.push(format!("{more} more lines are not stacks"));
        }
        None
    }
}

impl ThreadSource for Lines<'_> {
    fn next(&mut self, report: &mut Report) -> Option<Thread> {
        self.first.take().or_else(|| self.thread(report))
    }
}

fn thread(request: Request, given: &GivenStack<'_>) -> Thread {
    let mut thread = Thread { frames: request.frames, modules: Some(request.modules), ..Thread::default() };
    for (key, value) in given.echo() {
        if key == "thread" {
            thread.name = serde_json::from_str(&value).unwrap_or_default();
        }
        thread.echo.push((key.to_owned(), value));
    }
    thread
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Report, ReportError> {
        open(bytes).map(Opened::read)
    }

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
