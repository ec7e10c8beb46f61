//! A report as JSON, as the command line and the server print it. `schema/answers.md` says what the keys are.
//!
//! The caller writes an object in this order: [`begin`], then for each thread [`thread`], its frames by [`frame`], and `]}`, then [`end`].

use foldsym_symbolize::json::{GivenName, address, list, named_object, number, object, string};
use foldsym_symbolize::{Answer, Fields, Mapping, Modules, Names, Signing, Unknown};

use crate::{About, Report, ReportedName, Thread};

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
    about(out, &report.about);
    out.extend_from_slice(b",\"Modules\":");
    list(out, report.modules.iter().enumerate(), |out, (index, module)| {
        out.extend_from_slice(b"{\"Name\":");
        string(out, module.name.as_bytes());
        out.extend_from_slice(b",\"Id\":");
        match &module.id {
            Some(id) => string(out, id.to_string().as_bytes()),
            None => out.extend_from_slice(b"null"),
        }
        if let Mapping::LoadAddress { address: base, size } = module.mapping {
            out.extend_from_slice(b",\"Base\":");
            address(out, base);
            if let Some(size) = size {
                out.extend_from_slice(b",\"Size\":");
                address(out, size);
            }
        }
        text(out, "Version", report.about.versions.get(index).map_or("", String::as_str));
        out.push(b'}');
    });
    out.extend_from_slice(b",\"Threads\":[");
}

/// Puts the keys of what a report says about the process and its system.
fn about(out: &mut Vec<u8>, about: &About) {
    text(out, "Os", &about.os);
    text(out, "OsVersion", &about.os_version);
    text(out, "Cpu", &about.cpu);
    for (key, value) in [("ProcessId", about.process), ("Time", about.time)] {
        if let Some(value) = value {
            out.extend_from_slice(format!(",\"{key}\":").as_bytes());
            number(out, value);
        }
    }
    let Some(signal) = &about.signal else { return };
    out.extend_from_slice(b",\"Signal\":{\"Number\":");
    number(out, signal.number);
    text(out, "Name", signal.name());
    if let Some(code) = signal.code {
        out.extend_from_slice(format!(",\"Code\":{code}").as_bytes());
    }
    text(out, "CodeName", signal.code_name());
    if let Some(place) = signal.address {
        out.extend_from_slice(b",\"Address\":");
        address(out, place);
    }
    out.push(b'}');
}

/// Puts a key with its text, unless the text is empty.
fn text(out: &mut Vec<u8>, key: &str, text: &str) {
    if !text.is_empty() {
        out.extend_from_slice(format!(",\"{key}\":").as_bytes());
        string(out, text.as_bytes());
    }
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
    if !thread.crash_registers.is_empty() {
        out.extend_from_slice(b",\"Registers\":{");
        for (index, (name, value)) in thread.crash_registers.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            out.extend_from_slice(format!("{comma}\"{name}\":\"{value}\"").as_bytes());
        }
        out.push(b'}');
    }
    // If a stack has keys with the names of ours, they are left out: an object has each key once.
    let is_ours = |key: &str| {
        ["Id", "Name", "Crashed"].contains(&key)
            || key == "Event" && thread.event.is_some()
            || key == "Registers" && !thread.crash_registers.is_empty()
    };
    for (key, value) in thread.echo.iter().filter(|(key, _)| !is_ours(key)) {
        out.push(b',');
        string(out, key.as_bytes());
        out.extend_from_slice(format!(":{value}").as_bytes());
    }
    out.extend_from_slice(b",\"Frames\":[");
}

/// Gives the answer for a frame to what makes signatures. `index` is the frame's index in its stack. The report's names stand where the answer
/// has none. Who then writes the frame by [`frame`] finds damage of names again.
pub fn sign(
    signing: &mut Signing,
    out: &[u8],
    index: usize,
    answer: &Answer,
    names: &mut Names<'_>,
    (modules, thread): (&Modules, &Thread),
) {
    names.begin(out.len());
    let own = thread.names_for(index, answer).iter();
    let own = own.map(|name| GivenName::new(&name.function, &name.file, name.line));
    signing.add(answer, names, modules, own);
    _ = names.take_damage();
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

/// As [`frame`], with the chosen keys alone, each only where its value is known.
pub fn chosen_frame(
    out: &mut Vec<u8>,
    fields: Fields,
    index: usize,
    answer: &Answer,
    names: &mut Names<'_>,
    (modules, thread): (&Modules, &Thread),
) {
    if index > 0 {
        out.push(b',');
    }
    let start = out.len();
    names.begin(start);
    let module = answer.module.and_then(|module| modules.get(module));
    let trust = thread.trust.get(index).map(|trust| trust.text());
    let put = |out: &mut Vec<u8>, answer: &Answer, names: &mut Names<'_>, own: &[ReportedName]| {
        let own = own.iter().map(|name| GivenName::new(&name.function, &name.file, name.line));
        let own: Vec<GivenName<'_>> = own.collect();
        fields.report_object(out, answer, names, module, (ReportedName::SOURCE, &own), trust);
    };
    put(out, answer, names, thread.names_for(index, answer));
    if let Some(why) = names.take_damage() {
        out.truncate(start);
        put(out, &answer.without(why), names, thread.names_of(index));
    }
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
