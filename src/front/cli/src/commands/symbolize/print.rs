//! Prints a report as text, as gdb prints stacks, or as a line of JSON (`schema/answers.md` describes the keys).

use std::path::Path;

use foldsym_reports::{Report, ReportedName, Thread, Trust, json};
use foldsym_symbolize::json::{hex, number, string};
use foldsym_symbolize::{Answer, Modules, Names, ReportedAddress, Unknown};

use crate::answer::text;
use crate::args::Marks;
use crate::io::escape::push_escaped;

/// Puts the format of a report, and why its process crashed.
pub(super) fn text_begin(out: &mut Vec<u8>, path: &Path, report: &Report) {
    push_escaped(out, path.as_os_str().as_encoded_bytes());
    out.extend_from_slice(format!(": {}", report.format.text()).as_bytes());
    if !report.reason.is_empty() {
        out.extend_from_slice(b": ");
        push_escaped(out, report.reason.as_bytes());
    }
    if let Some(crash) = report.crash_address {
        out.extend_from_slice(b" at ");
        hex(out, crash);
    }
    out.push(b'\n');
}

pub(super) fn text_end(out: &mut Vec<u8>, report: &Report) {
    for warning in &report.warnings {
        out.extend_from_slice(b"warning: ");
        push_escaped(out, warning.as_bytes());
        out.push(b'\n');
    }
}

pub(super) fn text_thread(out: &mut Vec<u8>, index: usize, thread: &Thread, report: &Report) {
    out.extend_from_slice(format!("\nThread {index}").as_bytes());
    if let Some(id) = thread.id {
        out.extend_from_slice(format!(" ({id})").as_bytes());
    }
    if !thread.name.is_empty() {
        out.push(b' ');
        push_escaped(out, thread.name.as_bytes());
    }
    if let Some(event) = thread.event.as_ref().filter(|_| report.events.len() > 1) {
        out.extend_from_slice(b" (event ");
        push_escaped(out, event.as_bytes());
        out.push(b')');
    }
    out.extend_from_slice(if thread.crashed { b" (crashed)\n" } else { b"\n" });
}

/// Puts the lines of one frame: `#1  0x55a2 in mid at a.c:3`, inlined functions first, each with a number.
pub(super) fn text_frame(
    out: &mut Vec<u8>,
    (count, place): (&mut usize, ReportedAddress),
    answer: &Answer,
    names: &mut Names<'_>,
    modules: &Modules,
    (marks, thread, index): (Marks, &Thread, usize),
) {
    let trust = thread.trust.get(index).copied();
    if trust == Some(Trust::Gap) {
        return out.extend_from_slice(b"    (frames may be missing here)\n");
    }
    let start = out.len();
    let first = *count;
    names.begin(start);
    let own = thread.names_for(index, answer);
    let frames = if own.is_empty() { answer.symbol.frames.as_slice() } else { &[] };
    for (at, frame) in frames.iter().enumerate() {
        begin(out, count, place);
        match names.function(frame.name) {
            b"" => out.extend_from_slice(b"??"),
            name => push_escaped(out, name),
        }
        if at + 1 < frames.len() {
            out.extend_from_slice(b" (inlined)");
        } else if marks != Marks::None {
            text::certainty(out, answer, marks);
        }
        match names.path(frame.file) {
            b"" => from(out, answer, modules),
            path => {
                out.extend_from_slice(b" at ");
                push_escaped(out, path);
                out.push(b':');
                number(out, frame.line);
            }
        }
        if at + 1 == frames.len() {
            text::no_line(out, answer);
            found_by(out, trust);
        }
        out.push(b'\n');
    }
    if frames.is_empty() || names.take_damage().is_some() {
        out.truncate(start);
        // The removed lines had used numbers.
        *count = first;
        let own = thread.names_of(index);
        if !own.is_empty() {
            return own_names(out, (count, place), own, (answer, names), modules, trust);
        }
        begin(out, count, place);
        out.extend_from_slice(b"??");
        from(out, answer, modules);
        because(out, answer);
        text::no_line(out, answer);
        found_by(out, trust);
        out.push(b'\n');
    }
}

/// Puts the lines of a frame that the report alone names.
fn own_names(
    out: &mut Vec<u8>,
    (count, place): (&mut usize, ReportedAddress),
    own: &[ReportedName],
    (answer, names): (&Answer, &mut Names<'_>),
    modules: &Modules,
    trust: Option<Trust>,
) {
    for (at, name) in own.iter().enumerate() {
        begin(out, count, place);
        push_escaped(out, names.shown(&name.function).as_bytes());
        let is_outermost = at + 1 == own.len();
        out.extend_from_slice(if is_outermost {
            b" (named by the report)"
        } else {
            b" (inlined, named by the report)"
        });
        if name.file.is_empty() {
            from(out, answer, modules);
        } else {
            out.extend_from_slice(b" at ");
            push_escaped(out, name.file.as_bytes());
            if name.line > 0 {
                out.push(b':');
                number(out, name.line);
            }
        }
        if is_outermost {
            because(out, answer);
            found_by(out, trust);
        }
        out.push(b'\n');
    }
}

/// Puts why there is no answer. For the other reasons the module name, which `from` has printed, is enough.
fn because(out: &mut Vec<u8>, answer: &Answer) {
    if let Some(why) = &answer.unknown
        && !matches!(why, Unknown::NoAddress | Unknown::NoModule | Unknown::NoFunction)
    {
        out.extend_from_slice(b" [");
        push_escaped(out, why.to_string().as_bytes());
        out.push(b']');
    }
}

fn begin(out: &mut Vec<u8>, count: &mut usize, place: ReportedAddress) {
    out.extend_from_slice(format!("#{count:<3} ").as_bytes());
    *count += 1;
    let given = match place {
        ReportedAddress::Memory(address)
        | ReportedAddress::Mapped { address, .. }
        | ReportedAddress::Image { address, .. } => address,
        ReportedAddress::Offset { offset, .. } | ReportedAddress::Section { offset, .. } => offset,
        _ => return,
    };
    out.extend_from_slice(format!("{given:#018x} in ").as_bytes());
}

/// Puts the module, if there is no file.
fn from(out: &mut Vec<u8>, answer: &Answer, modules: &Modules) {
    if let Some(module) = answer.module.and_then(|module| modules.get(module)) {
        out.extend_from_slice(b" from ");
        push_escaped(out, module.name.as_bytes());
    }
}

/// Puts how a frame was found, if that is a guess.
fn found_by(out: &mut Vec<u8>, trust: Option<Trust>) {
    if trust == Some(Trust::Scan) {
        out.extend_from_slice(b" (found by scanning)");
    }
}

fn text_of(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Puts the object of a report up to its threads.
pub(super) fn json_begin(out: &mut Vec<u8>, path: &Path, report: &Report) {
    out.extend_from_slice(b"{\"File\":");
    string(out, text_of(path));
    out.push(b',');
    json::begin(out, report);
}

/// Puts the object of a report that could not be read.
pub(super) fn error(out: &mut Vec<u8>, path: &Path, message: &str) {
    out.extend_from_slice(b"{\"File\":");
    string(out, text_of(path));
    out.extend_from_slice(b",\"Error\":{\"Message\":");
    string(out, message.as_bytes());
    out.extend_from_slice(b"}}\n");
}
