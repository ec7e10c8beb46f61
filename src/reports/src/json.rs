//! A report as JSON, as the command line and the server print it. `schema/answers.md` says what the keys are.
//!
//! The caller writes an object in this order: [`begin`], then for each thread [`thread`], its frames by [`frame`], and `]}`, then [`end`].

use foldsym_symbolize::json::{GivenName, address, list, named_object, number, object, string};
use foldsym_symbolize::{Answer, Modules, Names, Unknown};

use crate::{Report, ReportedName, Thread};

/// Puts the keys of a report before its threads, and the start of their list; not the opening brace of the object.
pub fn begin(out: &mut Vec<u8>, report: &Report) {
    out.extend_from_slice(b"\"Format\":");
    string(out, report.format.text().as_bytes());
    out.extend_from_slice(b",\"Reason\":");
    string(out, report.reason.as_bytes());
    out.extend_from_slice(b",\"CrashAddress\":");
    match report.crash_address {
        Some(crash) => address(out, crash),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"Modules\":");
    list(out, report.modules.iter(), |out, module| {
        out.extend_from_slice(b"{\"Name\":");
        string(out, module.name.as_bytes());
        out.extend_from_slice(b",\"Id\":");
        match &module.id {
            Some(id) => string(out, id.to_string().as_bytes()),
            None => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
    });
    out.extend_from_slice(b",\"Threads\":[");
}

/// Puts the keys of a thread before its frames, and the start of their list. `index` is the thread's index in the report.
pub fn thread(out: &mut Vec<u8>, index: usize, thread: &Thread) {
    if index > 0 {
        out.push(b',');
    }
    out.extend_from_slice(b"{\"Id\":");
    match thread.id {
        Some(id) => number(out, id),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"Name\":");
    string(out, thread.name.as_bytes());
    out.extend_from_slice(format!(",\"Crashed\":{}", thread.crashed).as_bytes());
    if let Some(event) = &thread.event {
        out.extend_from_slice(b",\"Event\":");
        string(out, event.as_bytes());
    }
    // If a stack has keys with the names of ours, they are left out: an object has each key once.
    for (key, value) in
        thread.echo.iter().filter(|(key, _)| !["Id", "Name", "Crashed", "Event"].contains(&key.as_str()))
    {
        out.push(b',');
        string(out, key.as_bytes());
        out.extend_from_slice(format!(":{value}").as_bytes());
    }
    out.extend_from_slice(b",\"Frames\":[");
}

/// Puts the answer for a frame. `index` is the frame's index in its stack. The report's names stand where the answer has none.
pub fn frame(
    out: &mut Vec<u8>,
    index: usize,
    answer: &Answer,
    names: &mut Names<'_>,
    modules: &Modules,
    thread: &Thread,
) {
    if index > 0 {
        out.push(b',');
    }
    let start = out.len();
    names.begin(start);
    let module = answer.module.and_then(|module| modules.get(module)).map_or("", |module| &module.name);
    object_of(out, answer, names, module, thread.names_for(index, answer));
    // Damage in a name is found only when the name is written. Then the object is written again, without an answer.
    if let Some(why) = names.take_damage() {
        out.truncate(start);
        object_of(out, &without(answer, why), names, module, thread.names_of(index));
    }
    // `object` leaves the object open for this key.
    if let Some(trust) = thread.trust.get(index) {
        out.extend_from_slice(b",\"Trust\":");
        string(out, trust.text().as_bytes());
    }
    out.push(b'}');
}

fn object_of(out: &mut Vec<u8>, answer: &Answer, names: &mut Names<'_>, module: &str, own: &[ReportedName]) {
    if own.is_empty() {
        return object(out, answer, names, module);
    }
    let own = own.iter().map(|name| GivenName::new(&name.function, &name.file, name.line));
    named_object(out, answer, names, module, (ReportedName::SOURCE, own));
}

/// The same frame as one without an answer.
fn without(answer: &Answer, why: Unknown) -> Answer {
    let mut bare = Answer::default();
    (bare.address, bare.module, bare.image_address) = (answer.address, answer.module, answer.image_address);
    bare.unknown = Some(why);
    bare
}

/// Puts the end of the list of threads, the warnings, and the end of the object with a line end.
pub fn end(out: &mut Vec<u8>, report: &Report) {
    out.extend_from_slice(b"],\"Warnings\":");
    list(out, &report.warnings, |out, warning| string(out, warning.as_bytes()));
    out.extend_from_slice(b"}\n");
}
