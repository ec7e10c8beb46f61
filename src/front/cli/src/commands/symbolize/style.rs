//! Prints stacks as gdb's `backtrace` and as `minidump-stackwalk` do, for scripts that read their output.

use foldsym_lookup::{Frame, Frames, ImageAddr, Lookup};
use foldsym_reports::{Report, ReportedName, Thread, Trust};
use foldsym_symbolize::json::{hex, number};
use foldsym_symbolize::{
    AddressKind, Answer, Mapping, Modules, Names, ReportedAddress, StackFrame, Symbolizer,
};

use crate::args::Style;
use crate::io::escape::push_escaped;

/// Puts why the process crashed, as `minidump-stackwalk` does; gdb says it while it loads a core.
pub(super) fn begin(out: &mut Vec<u8>, style: Style, report: &Report) {
    if style == Style::Stackwalk && !report.reason.is_empty() {
        out.extend_from_slice(b"Crash reason:  ");
        push_escaped(out, report.reason.as_bytes());
        if let Some(crash) = report.crash_address {
            out.extend_from_slice(format!("\nCrash address: {crash:#018x}").as_bytes());
        }
        out.push(b'\n');
    }
}

/// Puts the line above a stack.
pub(super) fn thread(out: &mut Vec<u8>, style: Style, index: usize, thread: &Thread) {
    match style {
        // gdb counts threads from 1.
        Style::Gdb => {
            out.extend_from_slice(format!("\nThread {}", index + 1).as_bytes());
            if let Some(id) = thread.id {
                out.extend_from_slice(format!(" (LWP {id})").as_bytes());
            }
            out.extend_from_slice(b":\n");
        }
        _ => {
            out.extend_from_slice(format!("\nThread {index} ").as_bytes());
            push_escaped(out, thread.name.as_bytes());
            if thread.crashed {
                out.extend_from_slice(b" (crashed)");
            }
            if let Some(id) = thread.id {
                out.extend_from_slice(format!(" - tid: {id}").as_bytes());
            }
            out.push(b'\n');
        }
    }
}

/// One frame that is printed.
pub(super) struct Printed<'p> {
    pub(super) answer: &'p Answer,
    pub(super) frame: StackFrame,
    pub(super) modules: &'p Modules,
    pub(super) trust: Option<Trust>,
    /// The names that the report has for it.
    pub(super) own: &'p [ReportedName],
    pub(super) registers: &'p [(&'static str, String)],
    /// A signal made it.
    pub(super) is_signal: bool,
    /// Bytes from the start of the code of its line.
    pub(super) line_offset: Option<u64>,
}

impl<'p> Printed<'p> {
    /// The functions of the answer, if its names are not damaged; else those of the report.
    fn functions(&self, known: bool) -> (&'p [Frame], &'p [ReportedName]) {
        let frames = &self.answer.symbol.frames[..];
        match () {
            () if known && frames.iter().any(|frame| frame.name.is_some()) => (frames, &[]),
            () if !self.own.is_empty() => (&[], self.own),
            () if known => (frames, &[]),
            () => (&[], &[]),
        }
    }
}

/// The offset of an address in the code of its line; `None` if functions that share the code differ in that.
pub(super) fn line_offset(symbolizer: &Symbolizer, modules: &Modules, answer: &Answer) -> Option<u64> {
    let map = symbolizer.file_of(modules.get(answer.module?)?).ok()?;
    let file = map.file();
    let found = file.lookup(ImageAddr(answer.image_address?), &mut Frames::new()).ok()?;
    let Lookup::Found(found) = found else { return None };
    let rows = file.records().piece(found.piece).ok()?.rows?;
    let row = file.records().rows(rows).ok()?.find(found.offset).ok()?;
    found.offset.checked_sub(row.offset)
}

/// Whether a frame returns from a signal handler.
pub(super) fn is_signal(thread: &Thread, index: usize) -> bool {
    thread.signals.binary_search(&index).is_ok()
}

/// Puts the lines of one frame, inlined functions first, each with a number.
pub(super) fn frame(
    out: &mut Vec<u8>,
    style: Style,
    count: &mut usize,
    printed: &Printed<'_>,
    names: &mut Names<'_>,
) {
    // Both tools print nothing at a place where they may have missed frames.
    if printed.trust == Some(Trust::Gap) {
        return;
    }
    let (start, first) = (out.len(), *count);
    names.begin(start);
    let put = if style == Style::Gdb { gdb } else { stackwalk };
    put(out, count, printed, true, names);
    if names.take_damage().is_some() {
        out.truncate(start);
        *count = first;
        put(out, count, printed, false, names);
    }
}

fn gdb(out: &mut Vec<u8>, count: &mut usize, printed: &Printed<'_>, known: bool, names: &mut Names<'_>) {
    let Printed { answer, frame, modules, .. } = printed;
    if printed.is_signal {
        out.extend_from_slice(format!("#{count:<2} <signal handler called>\n").as_bytes());
        *count += 1;
        return;
    }
    let (frames, own) = printed.functions(known);
    let given = |out: &mut Vec<u8>| {
        if let Some(address) = number_of(frame.place) {
            out.extend_from_slice(format!("{address:#018x} in ").as_bytes());
        }
    };
    for (at, found) in frames.iter().enumerate() {
        out.extend_from_slice(format!("#{count:<2} ").as_bytes());
        *count += 1;
        // Of inlined functions gdb gives the address once, for the innermost.
        if at == 0 {
            given(out);
        }
        match names.function(found.name) {
            b"" => out.extend_from_slice(b"??"),
            name => push_escaped(out, without_parameters(name)),
        }
        out.extend_from_slice(b" ()");
        match names.path(found.file) {
            b"" => from(out, answer, modules),
            path => {
                out.extend_from_slice(b" at ");
                push_escaped(out, path);
                out.push(b':');
                number(out, found.line);
            }
        }
        out.push(b'\n');
    }
    for (at, name) in own.iter().enumerate() {
        out.extend_from_slice(format!("#{count:<2} ").as_bytes());
        *count += 1;
        if at == 0 {
            given(out);
        }
        push_escaped(out, without_parameters(names.shown(&name.function).as_bytes()));
        out.extend_from_slice(b" ()");
        if name.file.is_empty() {
            from(out, answer, modules);
        } else {
            out.extend_from_slice(b" at ");
            push_escaped(out, name.file.as_bytes());
            out.extend_from_slice(format!(":{}", name.line).as_bytes());
        }
        out.push(b'\n');
    }
    if frames.is_empty() && own.is_empty() {
        out.extend_from_slice(format!("#{count:<2} ").as_bytes());
        *count += 1;
        given(out);
        out.extend_from_slice(b"?? ()");
        from(out, answer, modules);
        out.push(b'\n');
    }
}

fn from(out: &mut Vec<u8>, answer: &Answer, modules: &Modules) {
    if let Some(module) = answer.module.and_then(|module| modules.get(module)) {
        out.extend_from_slice(b" from ");
        push_escaped(out, module.name.as_bytes());
    }
}

/// A readable name without its last list of parameters, as gdb prints their values there.
fn without_parameters(name: &[u8]) -> &[u8] {
    // `const` follows the parameters.
    let name = name.strip_suffix(b" const").unwrap_or(name);
    if !name.ends_with(b")") {
        return name;
    }
    let mut depth = 0usize;
    for (at, byte) in name.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => {
                depth = depth.saturating_sub(1);
                // `(anonymous namespace)` and `operator()` are parts of a name.
                if depth == 0 {
                    let is_list =
                        at > 0 && !name[at..].starts_with(b"(anonymous") && !name[..at].ends_with(b"::");
                    return if is_list && !name[..at].ends_with(b"operator") { &name[..at] } else { name };
                }
            }
            _ => {}
        }
    }
    name
}

fn stackwalk(
    out: &mut Vec<u8>,
    count: &mut usize,
    printed: &Printed<'_>,
    known: bool,
    names: &mut Names<'_>,
) {
    let Printed { answer, frame, modules, trust, .. } = printed;
    let (frames, own) = printed.functions(known);
    let module = answer.module.and_then(|module| modules.get(module));
    // For a caller, Breakpad prints an address inside the call instruction.
    let back = u64::from(frame.kind == AddressKind::Return);
    let mut begin = |out: &mut Vec<u8>| {
        out.extend_from_slice(format!("{count:2}  ").as_bytes());
        *count += 1;
        if let Some(module) = module {
            push_escaped(out, module.file_name().as_bytes());
        }
    };
    for (at, found) in frames.iter().enumerate() {
        let is_outermost = at + 1 == frames.len();
        begin(out);
        out.push(b'!');
        push_escaped(out, names.function(found.name));
        match (names.path(found.file), found.line) {
            (path, line) if !path.is_empty() && line > 0 => {
                out.extend_from_slice(b" [");
                let name = path.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or(path);
                push_escaped(out, name);
                match printed.line_offset.filter(|_| is_outermost) {
                    Some(offset) => out.extend_from_slice(format!(" : {line} + {offset:#x}]").as_bytes()),
                    None => out.extend_from_slice(format!(" : {line}]").as_bytes()),
                }
            }
            _ => {
                if let (true, Some(address), Some(start)) = (is_outermost, answer.image_address, answer.start)
                {
                    out.extend_from_slice(b" + ");
                    hex(out, address.wrapping_sub(start));
                }
            }
        }
        out.push(b'\n');
        if !is_outermost {
            out.extend_from_slice(b"    Found by: inlining\n");
        }
    }
    for (at, name) in own.iter().enumerate() {
        begin(out);
        out.push(b'!');
        push_escaped(out, names.shown(&name.function).as_bytes());
        if name.line > 0 {
            out.extend_from_slice(b" [");
            push_escaped(out, name.file.rsplit(['/', '\\']).next().unwrap_or_default().as_bytes());
            out.extend_from_slice(format!(" : {}]", name.line).as_bytes());
        }
        out.push(b'\n');
        if at + 1 < own.len() {
            out.extend_from_slice(b"    Found by: inlining\n");
        }
    }
    if frames.is_empty() && own.is_empty() {
        begin(out);
        let address = number_of(frame.place).map(|address| address.wrapping_sub(back));
        let offset = module.and_then(|module| match (module.mapping, frame.place) {
            (Mapping::LoadAddress { address: base, .. }, ReportedAddress::Memory(_)) => {
                Some(address?.wrapping_sub(base))
            }
            (_, ReportedAddress::Offset { .. } | ReportedAddress::Image { .. }) => address,
            _ => None,
        });
        match (offset, address) {
            (Some(offset), _) => {
                out.extend_from_slice(b" + ");
                hex(out, offset);
            }
            (None, Some(address)) if module.is_none() => hex(out, address),
            _ => {}
        }
        out.push(b'\n');
    }
    registers(out, printed.registers);
    out.extend_from_slice(match trust {
        Some(Trust::Context) => b"    Found by: given as instruction pointer in context\n".as_slice(),
        Some(Trust::Cfi) => b"    Found by: call frame info\n",
        Some(Trust::FramePointer) => b"    Found by: previous frame's frame pointer\n",
        Some(Trust::Scan) => b"    Found by: stack scanning\n",
        _ => b"    Found by: recovered by external stack walker\n",
    });
}

/// Puts lines of registers, as many in each as 80 letters hold.
fn registers(out: &mut Vec<u8>, registers: &[(&str, String)]) {
    let mut line = String::new();
    for (name, value) in registers {
        let next = format!(" {name: >6} = {value}");
        // minidump-stackwalk breaks its lines at the same width.
        if line.len() + next.len() > 80 {
            out.extend_from_slice(format!(" {line}\n").as_bytes());
            line.clear();
        }
        line += &next;
    }
    if !line.is_empty() {
        out.extend_from_slice(format!(" {line}\n").as_bytes());
    }
}

/// The number that the report gave.
fn number_of(place: ReportedAddress) -> Option<u64> {
    match place {
        ReportedAddress::Memory(address)
        | ReportedAddress::Mapped { address, .. }
        | ReportedAddress::Image { address, .. } => Some(address),
        ReportedAddress::Offset { offset, .. } | ReportedAddress::Section { offset, .. } => Some(offset),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gdb_s_names_have_no_parameters() {
        for (name, short) in [
            ("twice(int)", "twice"),
            ("main", "main"),
            ("a::b<int (*)(int)>::c(int (*)(long)) const", "a::b<int (*)(int)>::c"),
            ("(anonymous namespace)::f()", "(anonymous namespace)::f"),
            ("a::operator()(int)", "a::operator()"),
            ("a::operator()", "a::operator()"),
            ("a::(anonymous namespace)", "a::(anonymous namespace)"),
            ("f)", "f)"),
            ("(f)", "(f)"),
        ] {
            assert_eq!(without_parameters(name.as_bytes()), short.as_bytes(), "{name}");
        }
    }
}
