//! Reads the lines of one form into stacks.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use foldsym_symbolize::symbols::SymbolNames;
use foldsym_symbolize::{Module, ModuleId, Modules, ReportedAddress, StackFrame, number};

use super::line::{AddressBase, AroundSignal, Form, Line};
use crate::names::Texts;
use crate::opened::{FormatReader, ReadWith, ThreadSource};
use crate::{Format, MAX_FRAMES, MAX_NAME, Opened, Options, Report, ReportError, Thread, cut};

/// Most modules that a report may name.
const MAX_MODULES: usize = 1 << 16;

impl FormatReader for Form {
    fn format(&self) -> Format {
        self.format
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        is_one(self, bytes)
    }

    fn open<'b>(&self, bytes: &'b [u8], with: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        open(*self, bytes, with)
    }
}

/// Whether any line is a frame with a module, or one with a name below the heading of a report.
fn is_one(form: &Form, bytes: &[u8]) -> bool {
    let mut is_below = false;
    bytes.split(|byte| *byte == b'\n').any(|line| {
        let Ok(text) = std::str::from_utf8(line) else { return false };
        let Some((_, line)) = form.parse(text, false) else {
            is_below = is_below || (form.says)(text).is_some();
            return false;
        };
        line.place.is_some() || is_below && (form.named)(&line).is_some()
    })
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
    form: Form,
    rest: Option<&'b [u8]>,
    last: Option<Line<'b>>,
    heading: &'b str,
    reason: &'b str,
}

impl<'b> Frames<'b> {
    fn new(form: Form, bytes: &'b [u8]) -> Self {
        Self { form, rest: Some(bytes), last: None, heading: "", reason: "" }
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
        if let Some(says) = (self.form.says)(line)
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
            // A number and an address alone are a frame inside of a stack.
            let is_bare = |line: &Line<'_>| line.place.is_none() && line.names.is_empty();
            // The text was found to be of this form by other lines, or the user says so.
            let parsed = self.form.parse(text, true);
            let parsed = parsed.filter(|(_, line)| self.last.is_some() || !is_bare(line));
            let Some((_, line)) = parsed else {
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

/// Most modules of a report whose functions are searched by name: each search reads all names of a file.
const MAX_SEARCHED: usize = 64;

/// Where the functions are that lines name, by module.
type Symbols = HashMap<usize, SymbolNames>;

/// Reads the stacks, after all modules are known.
struct Stacks<'b> {
    form: Form,
    frames: std::iter::Peekable<Frames<'b>>,
    known: Known<'b>,
    symbols: Symbols,
    is_first: bool,
    texts: Texts<'b>,
}

/// Reads the modules of a text, and hands its stacks on one after another.
///
/// # Errors
/// No line is a frame.
pub(super) fn open<'b>(form: Form, bytes: &'b [u8], with: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
    let (mut modules, mut known) = (Vec::new(), Known::new());
    let mut wanted: Wanted<'b> = HashMap::new();
    let (mut stacks, mut in_stack, mut left_out) = (0usize, 0usize, 0usize);
    let mut frames = Frames::new(form, bytes);
    for FrameOfStack { line, heading, .. } in frames.by_ref().filter(|frame| !frame.repeats) {
        if heading.is_some() {
            (stacks, in_stack) = (stacks + 1, 0);
        }
        in_stack += 1;
        left_out += usize::from(in_stack > MAX_FRAMES);
        if let Some((name, _)) = line.place
            && modules.len() < MAX_MODULES
        {
            let module = *known.entry((name, line.id)).or_insert_with(|| {
                modules.push(module(name, line.id, with.options));
                modules.len() - 1
            });
            if let AddressBase::Symbol(symbol) = line.base {
                wanted.entry(module).or_default().insert(symbol);
            }
        }
    }
    if stacks == 0 {
        let problem = "no line is a frame".to_owned();
        return Err(ReportError::Damaged { format: form.format, problem });
    }
    let mut report = Report::new(form.format, Modules::new(modules), Vec::new());
    report.reason = frames.reason.to_owned();
    if left_out > 0 {
        report
            .warnings
            .push(format!("{left_out} frames were left out: the stack or the list of modules is too long"));
    }
    let symbols = symbols(&wanted, &mut report, with)?;
    let frames = Frames::new(form, bytes).peekable();
    let (is_first, texts) = (true, Texts::default());
    Ok(Opened::new(report, Stacks { form, frames, known, symbols, is_first, texts }))
}

/// The names of functions in lines, by module.
type Wanted<'b> = HashMap<usize, HashSet<&'b str>>;

/// Finds the functions that lines name.
///
/// # Errors
/// The reading was cancelled.
fn symbols(wanted: &Wanted<'_>, report: &mut Report, with: &ReadWith<'_>) -> Result<Symbols, ReportError> {
    let (mut symbols, mut searched) = (Symbols::new(), 0);
    // In the report's order, so that each run searches the same ones.
    for (index, module) in report.modules.iter().enumerate() {
        let Some(names) = wanted.get(&index) else { continue };
        if !(with.is_wanted)() {
            return Err(ReportError::Stopped);
        }
        // Without the file the frames have the report's names, and the answer says why it has none.
        let Ok(map) = with.symbolizer.file_of(module) else { continue };
        // All names of the file are read, and demangled.
        if with.symbolizer.leaves_long_work() {
            return Err(ReportError::Stopped);
        }
        if searched == MAX_SEARCHED {
            let problem = format!("functions are searched by name in {MAX_SEARCHED} modules only");
            report.warnings.push(problem);
            break;
        }
        searched += 1;
        match SymbolNames::of_some(&map, names) {
            Ok(found) => _ = symbols.insert(index, found),
            Err(error) => {
                report.warnings.push(format!("the symbol file of {}: damaged: {error}", module.name))
            }
        }
    }
    Ok(symbols)
}

fn module(name: &str, id: Option<&str>, options: &Options) -> Module {
    let mut module = Module::new(name);
    module.id = id.and_then(|id| ModuleId::parse(id).ok());
    if options.open_paths { module.with_program(Path::new(name)) } else { module }
}

impl Stacks<'_> {
    /// The place of a line, and whether the function there is known not to be the one that the line names: a producer that does not know the
    /// function may name the nearest one before the address.
    fn place(&self, line: &Line<'_>) -> (ReportedAddress, bool) {
        let known = |(name, address)| Some((*self.known.get(&(name, line.id))?, address));
        let Some((module, address)) = line.place.and_then(known) else {
            return (ReportedAddress::Unknown, false);
        };
        match line.base {
            AddressBase::Image => (ReportedAddress::Image { module, address }, false),
            AddressBase::FirstSegment => (ReportedAddress::Offset { module, offset: address }, false),
            AddressBase::Process => (ReportedAddress::Mapped { module, address }, false),
            AddressBase::Symbol(symbol) => {
                let names = self.symbols.get(&module);
                let at =
                    |start: u64| ReportedAddress::Image { module, address: start.saturating_add(address) };
                if let Some(start) = names.and_then(|names| names.start(symbol, address, None)) {
                    return (at(start), false);
                }
                // `backtrace_symbols` of macOS counts from the module where it knows no function.
                if self.form.format == Format::MacOs && line.place.is_some_and(|(name, _)| name == symbol) {
                    return (ReportedAddress::Offset { module, offset: address }, true);
                }
                match names.and_then(|names| names.only_start(symbol)) {
                    Some(start) => (at(start), true),
                    // The module is known all the same.
                    None => match number(line.given) {
                        Some(address) => (ReportedAddress::Mapped { module, address }, false),
                        None => (ReportedAddress::Unknown, false),
                    },
                }
            }
        }
    }
}

impl ThreadSource for Stacks<'_> {
    fn next(&mut self, _: &mut Report) -> Option<Thread> {
        let first = self.frames.next()?;
        // The first stack is that of the error. Further ones show where memory was allocated or freed, or where a thread was made.
        let crashed = std::mem::take(&mut self.is_first);
        let name = cut(first.heading.unwrap_or(""), MAX_NAME).to_owned();
        let above = first.heading.and_then(self.form.kind_below);
        let mut thread = Thread { name, crashed, ..Thread::default() };
        let mut next = Some(first);
        let (mut is_full, mut signals) = (false, AroundSignal::default());
        while let Some(FrameOfStack { line, repeats, .. }) = next {
            let mut is_before = false;
            if !repeats {
                is_full = thread.frames.len() == MAX_FRAMES;
                let place;
                (place, is_before) = self.place(&line);
                if !is_full {
                    let at = thread.frames.len();
                    let by_line = above.filter(|_| line.number == 0).unwrap_or(line.kind);
                    let kind = signals.kind(at, line.signal, by_line);
                    thread.frames.push(StackFrame { place, kind });
                }
            }
            if let (Some((function, file, number)), false) = ((self.form.named)(&line), is_full) {
                // With its offset the name says where the frame is.
                let function = if is_before { line.names } else { function };
                let (function, file) = (self.texts.of(function), self.texts.of(file));
                thread.name(thread.frames.len().saturating_sub(1), function, file, number);
            }
            next = self.frames.next_if(|frame| frame.heading.is_none());
        }
        Some(thread)
    }
}
