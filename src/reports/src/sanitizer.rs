//! Reads the stacks in the text of sanitizers (clang's and gcc's runtimes).
//!
//! The kinds of the addresses, checked on reports of clang 22 with `symbolize=0` against the disassembled programs:
//!
//! | report | frame 0 | callers |
//! |---|---|---|
//! | AddressSanitizer, of a signal (`SEGV on unknown address`) | exact | adjusted |
//! | AddressSanitizer, of a memory access or an allocation | adjusted: inside the call of the runtime | adjusted |
//! | UndefinedBehaviorSanitizer, MemorySanitizer | adjusted | adjusted |
//! | ThreadSanitizer | adjusted | adjusted |
//!
//! On x86 an adjusted address is the return address less 1. Frame 0 calls no other frame of the stack, and both kinds are looked up without
//! adjustment, so it is always given as exact. The runtime subtracts the same amount from the number after `0x` and from the offset in
//! `(MODULE+0x...)`. ThreadSanitizer writes no address of the process.
//!
//! A frame that the runtime symbolized, and that names no module, keeps its place in the stack as an unknown frame with the runtime's names.

use std::collections::HashMap;
use std::path::Path;

use foldsym_symbolize::{
    AddressKind, Module, ModuleId, Modules, ReportedAddress, StackFrame, module_and_offset, number,
};

use crate::names::{Texts, file_and_line, without_offset};
use crate::opened::ThreadSource;
use crate::{Format, MAX_FRAMES, MAX_NAME, Opened, Options, Report, ReportError, Thread, cut};

/// Most modules that a report may name.
const MAX_MODULES: usize = 1 << 16;

/// A line of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line<'l> {
    /// Its number in the stack.
    pub number: u64,
    /// The address in the process, as written; empty if the line has none.
    pub given: &'l str,
    /// The text between the address and the module: function, file and line, if the runtime knew them.
    pub names: &'l str,
    /// The module, and the link-time address in it.
    pub place: Option<(&'l str, u64)>,
    /// The module's build id, as it was written.
    pub id: Option<&'l str>,
    /// The kind of the address.
    pub kind: AddressKind,
}

impl<'l> Line<'l> {
    /// Reads `    #1 0x55d0c1234567 in f app.cpp:3 (/opt/app+0x1567) (BuildId: abcd)`. All parts may be missing but the number, and one of
    /// address and module. `None` if the line is not a frame, or one of another producer: debuggers write two spaces after the number,
    /// Android two digits at least, and LLVM's own stack dumps 16 digits of an address.
    pub fn parse(line: &'l str) -> Option<Self> {
        let rest = line.trim().strip_prefix('#')?;
        let (digits, rest) = rest.split_once(' ')?;
        let index: u64 = digits.parse().ok()?;
        if digits.starts_with('+') || (digits.starts_with('0') && digits != "0") || rest.starts_with(' ') {
            return None;
        }
        let first = rest.split(' ').next().unwrap_or("");
        let given = if first.starts_with("0x") && number(first).is_some() { first } else { "" };
        if given.len() == "0x0123456789abcdef".len() {
            return None;
        }
        // The search begins at the end, since the name of a function may contain this text too.
        let (before, id) = match rest.rsplit_once(" (BuildId:") {
            Some((before, id)) => (before, Some(id.trim_start().strip_suffix(')')?)),
            None => (rest, None),
        };
        let (before, place) = match place_at_end(before) {
            Some((before, module, address)) => (before, Some((module, address))),
            None => (before, None),
        };
        let names = before.get(given.len()..).unwrap_or("");
        if given.is_empty() && place.is_none() {
            return None;
        }
        // The runtime adjusted the addresses of callers to be inside their calls.
        let kind = if index == 0 { AddressKind::Exact } else { AddressKind::Adjusted };
        Some(Self { number: index, given, names: names.trim(), place, id, kind })
    }

    /// Whether this line and the one before it are one frame: the runtime writes one line for each inlined function. The frames of a
    /// recursive call also have the same address twice, but with the same names.
    pub fn repeats(&self, before: &Line<'_>) -> bool {
        self.number > 0
            && (self.place.is_some() || !self.given.is_empty())
            && (self.given, self.place, self.id) == (before.given, before.place, before.id)
            && self.names != before.names
    }

    /// Function, file and line, if the runtime knew the function: of `in f(int) /src/a b.cpp:3:5`, or without `in` as ThreadSanitizer writes
    /// it.
    pub(crate) fn named(&self) -> Option<(&'l str, &'l str, u32)> {
        let names = self.names.strip_prefix("in ").unwrap_or(self.names);
        // A path may have spaces, and so may a function. A path with folders begins with a slash, and a file without them has a line.
        let (function, place) = match (names.split_once(" /"), names.rsplit_once(' ')) {
            (Some((function, _)), _) => (function, &names[function.len() + 1..]),
            (None, Some((function, place))) if file_and_line(place).1 > 0 || place == "<null>" => {
                (function, place)
            }
            _ => (names, ""),
        };
        let (file, line) = if place == "<null>" { ("", 0) } else { file_and_line(place) };
        let function = without_offset(function.trim());
        (!function.is_empty() && function != "<null>").then_some((function, file, line))
    }
}

/// Reads `(MODULE+0xOFFSET)` at the end of a text: the text before it, the module, and the offset. `None` if there is none: other producers
/// write offsets as decimal numbers, and mean those from the start of a function.
pub fn place_at_end(text: &str) -> Option<(&str, &str, u64)> {
    // The name of a module may contain spaces and parentheses: it begins at the last ` (` before a path, else at the last ` (`.
    let at = text.rfind(" (/").or_else(|| text.rfind(" ("))?;
    let place = text[at + 1..].trim_end();
    let is_hex = place.rsplit('+').next().is_some_and(|offset| offset.starts_with("0x"));
    let (module, address) = module_and_offset(place).ok().filter(|_| is_hex)?;
    Some((&text[..at], module.trim_start_matches('('), address))
}

/// Whether any line is a frame with a module, or one with a name below the heading of a report.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    let mut is_below = false;
    bytes.split(|byte| *byte == b'\n').any(|line| {
        if !line.trim_ascii_start().starts_with(b"#") {
            is_below = is_below || std::str::from_utf8(line).is_ok_and(|line| says(line).is_some());
            return false;
        }
        let line = std::str::from_utf8(line).ok().and_then(Line::parse);
        line.is_some_and(|line| line.place.is_some() || is_below && line.named().is_some())
    })
}

/// What a line says that begins a report.
fn says(line: &str) -> Option<&str> {
    let says = ["ERROR: ", "WARNING: "].iter().find_map(|word| Some(line.split_once(word)?.1));
    let says = says.filter(|text| text.contains("Sanitizer: "));
    says.or_else(|| line.contains(": runtime error: ").then_some(line))
}

/// A line that is a frame.
struct FrameOfStack<'b> {
    line: Line<'b>,
    /// The line above, if this frame is the first of a stack.
    heading: Option<&'b str>,
    /// The line is of the same frame as the one before.
    repeats: bool,
}

/// Reads frames out of lines.
struct Frames<'b> {
    rest: Option<&'b [u8]>,
    last: Option<Line<'b>>,
    heading: &'b str,
    reason: &'b str,
}

impl<'b> Frames<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        Self { rest: Some(bytes), last: None, heading: "", reason: "" }
    }

    fn line(&mut self) -> Option<&'b [u8]> {
        let rest = self.rest?;
        let (line, rest) = match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&rest[..end], Some(&rest[end + 1..])),
            None => (rest, None),
        };
        self.rest = rest;
        Some(line)
    }

    /// Takes a line that is not a frame. The last such line before a stack is its title.
    fn other(&mut self, line: &'b str) {
        self.last = None;
        if line.is_empty() {
            return;
        }
        self.heading = line;
        // A log may have several reports. The first reason is kept, as the first stack is the one that is marked as crashed.
        if let Some(says) = says(line)
            && self.reason.is_empty()
        {
            self.reason = says;
        }
    }
}

impl<'b> Iterator for Frames<'b> {
    type Item = FrameOfStack<'b>;

    fn next(&mut self) -> Option<FrameOfStack<'b>> {
        loop {
            // A line that is not UTF-8 has no frame with a name.
            let Ok(text) = std::str::from_utf8(self.line()?) else {
                self.last = None;
                continue;
            };
            let Some(line) = Line::parse(text) else {
                self.other(text.trim());
                continue;
            };
            let heading = (line.number == 0 || self.last.is_none()).then_some(self.heading);
            let repeats = heading.is_none() && self.last.as_ref().is_some_and(|last| line.repeats(last));
            if !repeats {
                self.last = Some(line.clone());
            }
            return Some(FrameOfStack { line, heading, repeats });
        }
    }
}

/// Modules by name and build id.
type Known<'b> = HashMap<(&'b str, Option<&'b str>), usize>;

/// Reads the stacks, after all modules are known.
struct Stacks<'b> {
    frames: std::iter::Peekable<Frames<'b>>,
    known: Known<'b>,
    is_first: bool,
    texts: Texts<'b>,
}

pub(crate) fn open<'b>(bytes: &'b [u8], options: &Options) -> Result<Opened<'b>, ReportError> {
    let (mut modules, mut known) = (Vec::new(), Known::new());
    let (mut stacks, mut in_stack, mut left_out) = (0usize, 0usize, 0usize);
    let mut frames = Frames::new(bytes);
    for FrameOfStack { line, heading, .. } in frames.by_ref().filter(|frame| !frame.repeats) {
        if heading.is_some() {
            (stacks, in_stack) = (stacks + 1, 0);
        }
        in_stack += 1;
        left_out += usize::from(in_stack > MAX_FRAMES);
        if let Some((name, _)) = line.place
            && modules.len() < MAX_MODULES
        {
            known.entry((name, line.id)).or_insert_with(|| {
                modules.push(module(name, line.id, options));
                modules.len() - 1
            });
        }
    }
    if stacks == 0 {
        let problem = "no line is a frame".to_owned();
        return Err(ReportError::Damaged { format: Format::Sanitizer, problem });
    }
    let mut report = Report::new(Format::Sanitizer, Modules::new(modules), Vec::new());
    report.reason = frames.reason.to_owned();
    if left_out > 0 {
        report
            .warnings
            .push(format!("{left_out} frames were left out: the stack or the list of modules is too long"));
    }
    let frames = Frames::new(bytes).peekable();
    Ok(Opened::new(report, Stacks { frames, known, is_first: true, texts: Texts::default() }))
}

fn module(name: &str, id: Option<&str>, options: &Options) -> Module {
    let mut module = Module::new(name);
    module.id = id.and_then(|id| ModuleId::parse(id).ok());
    if options.open_paths { module.with_program(Path::new(name)) } else { module }
}

impl ThreadSource for Stacks<'_> {
    fn next(&mut self, _: &mut Report) -> Option<Thread> {
        let first = self.frames.next()?;
        // The first stack is that of the error. Further ones show where memory was allocated or freed, or where a thread was made.
        let crashed = std::mem::take(&mut self.is_first);
        let name = cut(first.heading.unwrap_or(""), MAX_NAME).to_owned();
        let mut thread = Thread { name, crashed, ..Thread::default() };
        let mut next = Some(first);
        let mut is_full = false;
        while let Some(FrameOfStack { line, repeats, .. }) = next {
            if !repeats {
                is_full = thread.frames.len() == MAX_FRAMES;
                let place =
                    match line.place.map(|(name, address)| (self.known.get(&(name, line.id)), address)) {
                        Some((Some(&module), address)) => ReportedAddress::Image { module, address },
                        _ => ReportedAddress::Unknown,
                    };
                if !is_full {
                    thread.frames.push(StackFrame { place, kind: line.kind });
                }
            }
            if let (Some((function, file, number)), false) = (line.named(), is_full) {
                let (function, file) = (self.texts.of(function), self.texts.of(file));
                thread.name(thread.frames.len().saturating_sub(1), function, file, number);
            }
            next = self.frames.next_if(|frame| frame.heading.is_none());
        }
        Some(thread)
    }
}

#[cfg(test)]
#[path = "sanitizer_tests.rs"]
mod tests;
