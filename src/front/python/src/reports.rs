//! Crash reports and profiles.

use std::io::Read;
use std::path::Path;

use foldsym_reports::{Format, Options, Reader, Thread, json};
use foldsym_symbolize::json::{signature, string};
use foldsym_symbolize::{Answer, Fields, Form, Innermost, Names, Query, Signing};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::{Source, failed, loads};

/// The longest report.
const MAX_REPORT: u64 = 4 << 30;

/// The bytes of a report.
fn bytes(source: Source) -> Result<(String, Vec<u8>), String> {
    match source {
        Source::Bytes(bytes) => Ok(("<bytes>".to_owned(), bytes)),
        Source::Path(path) => {
            let name = path.to_string_lossy().into_owned();
            let bytes = whole(&path).map_err(|error| format!("{name}: {error}"))?;
            Ok((name, bytes))
        }
    }
}

fn whole(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_REPORT + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_REPORT {
        true => Err(std::io::Error::other(format!("more than {MAX_REPORT} bytes"))),
        false => Ok(bytes),
    }
}

/// Writes a report with its answers, as `foldsym symbolize --json` does.
fn write(
    engine: &foldsym_symbolize::Symbolizer,
    (name, bytes): (&str, &[u8]),
    options: &Options,
    fields: Option<Fields>,
    mut signing: Option<Signing>,
) -> Result<Vec<u8>, String> {
    let reader = Reader::new(engine);
    let failed = |error: foldsym_reports::ReportError| format!("{name}: {error}");
    let mut opened = reader.open_while(bytes, options, &|| true).map_err(failed)?;
    if options.event.is_some() && opened.report().events.is_empty() {
        return Err(format!("{name}: event: the report does not say the events of its stacks"));
    }
    let mut worker = engine.worker();
    let mut out = b"{\"File\":".to_vec();
    string(&mut out, name.as_bytes());
    out.push(b',');
    json::begin(&mut out, opened.report());
    let mut index = 0;
    while let Some(thread) = opened.next_thread() {
        let thread: &Thread = &thread;
        json::thread(&mut out, index, thread);
        index += 1;
        let modules = opened.report().modules_of(thread);
        let query = Query { modules, frames: &thread.frames, innermost: Innermost::Nothing };
        // The text of an earlier answer has all keys, and no names for a signature.
        let (mut frame, is_usual) = (0, signing.is_none() && fields.is_none());
        let each = |answer: &Answer, names: &mut Names<'_>| {
            if let Some(signing) = &mut signing {
                json::sign(signing, &out, frame, answer, names, (modules, thread));
            }
            match fields {
                Some(fields) => json::chosen_frame(&mut out, fields, frame, answer, names, (modules, thread)),
                None => json::frame(&mut out, frame, answer, names, modules, thread),
            }
            frame += 1;
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = match is_usual {
            true => worker.answer_json(query, each),
            false => worker.answer(query, Form::Json, each),
        };
        out.push(b']');
        if let Some(signing) = &mut signing {
            out.push(b',');
            signature(&mut out, &signing.finish());
        }
        out.push(b'}');
    }
    json::end(&mut out, opened.report());
    Ok(out)
}

/// A crash report or profile with its answers: a dictionary with the keys of a line of `foldsym symbolize --json` (`schema/answers.md`).
///
/// `source` is the path of a report, or its bytes. Its format is found by its content unless `format` says it, as `"minidump"`. `store` is a
/// Symbolizer, a Store, or the folder of one; without it only the names that the report itself has are there. `event` reads the samples
/// of this event alone. `fields` are words of `foldsym symbolize --fields`, as `["function", "line"]`: each frame has only these keys, where
/// they are known. With `signature` each thread has the bucket of its stack; `signature_rules` is a file of rules, its path or its bytes.
///
/// >>> report = foldsym.read_report(b"Stack trace of thread 7:\n#0  0x000055d0c0de1234 main (/bin/shop + 0x1234)\n", signature=True)
/// >>> report["Format"], report["Threads"][0]["Frames"][0]["Symbol"][0]["FunctionName"]
/// ('systemd', 'main')
/// >>> report["Threads"][0]["Signature"]["Text"]
/// 'main'
#[pyfunction]
#[pyo3(signature = (
    source, store = None, *, format = None, event = None, fields = None, signature = false, signature_rules = None
))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python")]
pub(crate) fn read_report<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    store: Option<&Bound<'py, PyAny>>,
    format: Option<&str>,
    event: Option<String>,
    fields: Option<Vec<String>>,
    signature: bool,
    signature_rules: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let rules = crate::rules(signature, signature_rules)?;
    let mut options = Options::default();
    options.event = event;
    if let Some(word) = format {
        let known = Format::ALL.iter().find(|known| known.text() == word);
        let words = || Format::ALL.iter().map(|known| known.text()).collect::<Vec<_>>().join(", ");
        options.format =
            Some(*known.ok_or_else(|| {
                PyValueError::new_err(format!("format {word:?}: expected one of {}", words()))
            })?);
    }
    let fields = fields.map(|fields| Fields::parse(&fields.join(","))).transpose();
    let fields = fields.map_err(PyValueError::new_err)?;
    let symbolizer = crate::stores::symbolizer(py, store)?;
    let engine = &symbolizer.get().engine;
    if rules.is_some() && !engine.lists_candidates() {
        return Err(PyValueError::new_err("signature=True needs a Symbolizer with candidates"));
    }
    let source = crate::source(source)?;
    let written = py.detach(|| {
        let (name, bytes) = bytes(source)?;
        write(engine, (&name, &bytes), &options, fields, rules.map(Signing::new))
    });
    loads(py, &written.map_err(failed)?)
}
