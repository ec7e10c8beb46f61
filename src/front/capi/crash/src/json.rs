//! Turns a report into the line of JSON that `foldsym symbolize` reads (`schema/answers.md`, a request over many modules).

use core::sync::atomic::Ordering;

use crate::cause::Cause;
use crate::modules::{MODULES, Module};
use crate::out::Out;
use crate::signal_names;
use crate::walk::Stack;

/// Writes the line.
pub(crate) fn write(out: &mut Out, cause: &Cause, thread: i32, process: i32, stack: &Stack) {
    head(out, cause, thread, process);
    modules(out);
    frames(out, stack);
    out.text("}").end_line();
}

fn head(out: &mut Out, cause: &Cause, thread: i32, process: i32) {
    out.text("{\"process\":").decimal(process.unsigned_abs().into());
    out.text(",\"thread\":").decimal(thread.unsigned_abs().into());
    out.text(",\"signal\":");
    match signal_names::signal(cause.signal) {
        Some(name) => out.json(name.as_bytes()),
        None => out.decimal(cause.signal.unsigned_abs().into()),
    };
    if let Some((name, _)) = signal_names::code(cause.signal, cause.code) {
        out.text(",\"code\":").json(name.as_bytes());
    }
    if cause.is_fault() {
        out.text(",\"fault\":\"").hex(cause.address, 1).text("\"");
    }
}

fn modules(out: &mut Out) {
    out.text(",\"modules\":[");
    let is_loaded = |module: &&Module| module.is_loaded.load(Ordering::Acquire);
    for (index, module) in MODULES.all().iter().filter(is_loaded).enumerate() {
        out.text(if index == 0 { "{\"name\":" } else { ",{\"name\":" }).json(module.name);
        if !module.build_id().is_empty() {
            out.text(",\"id\":\"").bytes(module.build_id()).text("\"");
        }
        out.text(",\"bias\":\"").hex(module.bias, 1);
        out.text("\",\"start\":\"").hex(module.range.start, 1);
        out.text("\",\"size\":\"").hex(module.range.end.wrapping_sub(module.range.start), 1).text("\"}");
    }
    out.text("]");
}

/// A return address is the common case; an address that is exact is marked, and so is a gap.
fn frames(out: &mut Out, stack: &Stack) {
    out.text(",\"frames\":[");
    let mut index = 0usize;
    while let Some(entry) = stack.get(index) {
        out.text(if index == 0 { "" } else { "," });
        if stack.is_after_gap(index) {
            out.text("\"?\",");
        }
        out.text(if entry.is_return { "\"" } else { "\"=" }).hex(entry.address, 1).text("\"");
        index = index.wrapping_add(1);
    }
    out.text("]");
}
