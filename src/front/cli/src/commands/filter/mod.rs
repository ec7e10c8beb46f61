//! `foldsym filter`: copies a log, and puts function, file and line into the stacks in it.
//!
//! A stack is a run of lines of one form. It is answered as a whole when the run ends, so that callers show which of the functions that
//! share their code ran. All other lines are copied unchanged.

use std::io;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use foldsym_reports::numbered::AroundSignal;
use foldsym_symbolize::symbols::SymbolNames;
use foldsym_symbolize::{
    AddressKind, Answer, Form, Innermost, Module, Names, Query, ReportedAddress, StackFrame, Symbolizer,
    Worker, json,
};

use crate::answer::process::Process;
use crate::answer::text;
use crate::args::{Answering, Filter, Marks};
use crate::io::escape::push_escaped;
use crate::io::failure::{Failure, complain};
use crate::io::input::{Lines, LogLine, STANDARD_INPUT};
use crate::io::output::Output;

mod forms;

use forms::{Form as LineForm, Frame, Markup, Symbol};

/// Frames of one stack; of a longer run of lines the rest is a stack of its own.
const MAX_FRAMES: usize = 1 << 16;

/// Bytes of the lines of one stack, which are kept until it ends; a stack ends at the line that reaches them.
const MAX_STACK_BYTES: usize = 16 << 20;

/// Characters that are kept of a line above a stack.
const MAX_HEADING: usize = 128;

/// Copies standard input, or files in order.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Filter) -> Result<u8, Failure> {
    let answering = Answering { no_demangle: args.no_demangle, check: true, ..Answering::default() };
    let symbolizer = crate::answer::open::symbolizer(&answering, &args.sources)?;
    let mut filter = State {
        process: Process::new(&args.sources)?,
        worker: symbolizer.worker(),
        symbolizer: &symbolizer,
        by_symbol: HashMap::new(),
        out: Output::new(),
        marks: args.certainty.unwrap_or(Marks::Folded),
        pending: Vec::new(),
        pending_bytes: 0,
        markup: Markup::default(),
        heading: String::new(),
    };
    let copied = filter.all(&args.files);
    // Also before an error: a log loses nothing of what was read.
    filter.end();
    filter.out.flush()?;
    crate::answer::open::tell_unused(&symbolizer);
    // Lines without an answer are copied, so nothing else says that a store was of no use.
    symbolizer.store_messages().iter().for_each(|message| complain(message));
    copied.map(|()| 0)
}

/// A frame that waits for the end of its stack.
struct Pending {
    /// Without its carriage return.
    line: String,
    /// The line ended in a carriage return, and so do those that take its place.
    returns: bool,
    form: LineForm,
    frame: Frame,
    place: ReportedAddress,
    /// Lines of the functions that are inlined into this frame's, in a report that has names already. Its answer takes their place.
    repeats: Vec<Pending>,
}

/// Most modules whose functions are kept by name before the list is cleared.
const MAX_BY_SYMBOL: usize = 64;

/// The name by which a module was found, and its functions; `None` if no source has it, or it is damaged.
type OfSymbols = Option<(String, SymbolNames)>;

struct State<'s> {
    process: Process,
    worker: Worker<'s>,
    symbolizer: &'s Symbolizer,
    /// The functions of modules in which lines named some, by name and build id of the module.
    by_symbol: HashMap<(Arc<str>, Option<String>), OfSymbols>,
    out: Output,
    marks: Marks,
    pending: Vec<Pending>,
    /// Bytes of the lines of `pending`.
    pending_bytes: usize,
    markup: Markup,
    /// The start of the last line that was no frame.
    heading: String,
}

impl State<'_> {
    fn all(&mut self, files: &[PathBuf]) -> Result<(), Failure> {
        if files.is_empty() {
            self.copy(io::stdin().lock(), STANDARD_INPUT)?;
        }
        for path in files {
            let file = std::fs::File::open(path).map_err(|error| Failure::input(path, error))?;
            self.copy(file, &path.display().to_string())?;
        }
        Ok(())
    }

    fn copy(&mut self, from: impl io::Read, name: &str) -> Result<(), Failure> {
        let mut lines = Lines::of_log(from, name);
        // A stack is printed at its end. Until then, the command may wait for the program that writes the log.
        while let Some(line) = lines.next_of_log(|| self.out.flush())? {
            match line {
                LogLine::Text(text) => match std::str::from_utf8(text) {
                    Ok(line) => {
                        let line = line.to_owned();
                        self.line(&line);
                    }
                    Err(_) => {
                        let text = text.to_vec();
                        self.other(&text);
                    }
                },
                LogLine::Part(part, is_last) => {
                    let part = part.to_vec();
                    self.end();
                    self.out.text.extend_from_slice(&part);
                    // The parts of one long line are written without line ends between them.
                    self.out.text.extend(is_last.then_some(b'\n'));
                }
            }
            self.out.give()?;
        }
        self.end();
        Ok(())
    }

    fn line(&mut self, whole: &str) {
        let (line, returns) = whole.strip_suffix('\r').map_or((whole, false), |line| (line, true));
        self.markup.context(line);
        let above = self.pending.last().map(|last| last.form);
        let Some((form, mut frame)) = forms::parse(line, &self.markup, above) else {
            self.heading.clear();
            self.heading.extend(whole.chars().take(MAX_HEADING));
            return self.other(whole.as_bytes());
        };
        if frame.number == Some(0)
            && let Some(kind) = forms::kind_below(form, &self.heading)
        {
            frame.kind = Some(kind);
        }
        // A frame 0 begins a stack, even right after another stack.
        let begins = frame.number == Some(0)
            || self.pending.len() == MAX_FRAMES
            || self.pending_bytes >= MAX_STACK_BYTES
            || self.pending.last().is_some_and(|last| last.form != form);
        if begins {
            self.end();
        }
        let place = match (&frame.symbol, &frame.module) {
            (_, None) => ReportedAddress::Unknown,
            (Some(symbol), Some(module)) => self.place_of_symbol(&frame, symbol, module),
            (None, Some(module)) => self.process.place(module, frame.id.as_deref(), frame.address),
        };
        let place = match place {
            ReportedAddress::Image { module, address } if frame.is_offset => {
                ReportedAddress::Offset { module, offset: address }
            }
            other => other,
        };
        self.pending_bytes += line.len();
        let repeats = Vec::new();
        self.pending.push(Pending { line: line.to_owned(), returns, form, frame, place, repeats });
    }

    /// The place in a function that a line names.
    fn place_of_symbol(&mut self, frame: &Frame, symbol: &Symbol, module: &str) -> ReportedAddress {
        let place = self.process.place(module, frame.id.as_deref(), 0);
        let ReportedAddress::Image { module: index, .. } = place else { return ReportedAddress::Unknown };
        let Some(found) = self.process.modules().get(index) else { return ReportedAddress::Unknown };
        // The first spelling of a path: each other is the same module.
        let key = (found.name.clone(), frame.id.clone());
        if !self.by_symbol.contains_key(&key) {
            // The names of one program may take many megabytes.
            if self.by_symbol.len() == MAX_BY_SYMBOL {
                self.by_symbol.clear();
            }
            let names = self.functions_of(module, frame.id.as_deref());
            self.by_symbol.insert(key.clone(), names);
        }
        let Some(Some((name, functions))) = self.by_symbol.get(&key) else { return ReportedAddress::Unknown };
        let start = functions.start(&symbol.name, frame.address, symbol.size);
        // `backtrace_symbols` of macOS counts from the module where it knows no function.
        if start.is_none() && symbol.is_nearest && symbol.name == module {
            return ReportedAddress::Offset { module: index, offset: frame.address };
        }
        let before = || functions.only_start(&symbol.name).filter(|_| symbol.is_nearest);
        match start.or_else(before) {
            Some(start) => self.process.place(name, frame.id.as_deref(), start.wrapping_add(frame.address)),
            None => ReportedAddress::Unknown,
        }
    }

    /// The functions of the module of a line. The kernel has `_` in names of modules whose files have `-`.
    fn functions_of(&mut self, module: &str, id: Option<&str>) -> OfSymbols {
        let dashed = module.replace('_', "-");
        [module.to_owned(), dashed].into_iter().find_map(|name| {
            let place = self.process.place(&name, id, 0);
            let ReportedAddress::Image { module, .. } = place else { return None };
            let module: &Module = self.process.modules().get(module)?;
            let map = self.symbolizer.file_of(module).ok()?;
            let names = SymbolNames::of(&map);
            // Said once: the lines that name functions of the module are copied unchanged.
            let names = names.inspect_err(|error| {
                complain(&format!("{}: damaged: {error}", map.path().display()));
            });
            Some((name, names.ok()?))
        })
    }

    /// A line that is not a frame: it ends the stack before it.
    fn other(&mut self, line: &[u8]) {
        self.end();
        self.out.text.extend_from_slice(line);
        self.out.text.push(b'\n');
    }

    /// Answers the stack that waits.
    fn end(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        // Reports that are symbolized in part repeat an address for each function that is inlined there. A function that called itself
        // has the same address and the same names.
        let mut last = String::new();
        pending.dedup_by(|next, first| {
            if last.is_empty() {
                last.clone_from(&first.frame.names);
            }
            let repeats = next.form == LineForm::Sanitizer
                && next.frame.module.is_some()
                && next.frame.module == first.frame.module
                && next.place == first.place
                && next.frame.given == first.frame.given
                && next.frame.names != last;
            last.clone_from(&next.frame.names);
            if repeats {
                let (line, frame) = (std::mem::take(&mut next.line), std::mem::take(&mut next.frame));
                let Pending { returns, form, place, .. } = *next;
                first.repeats.push(Pending { line, returns, form, frame, place, repeats: Vec::new() });
            }
            repeats
        });
        let mut signals = AroundSignal::default();
        let kind = |(index, waiting): (usize, &Pending)| {
            let by_position = if index == 0 { AddressKind::Exact } else { AddressKind::Return };
            signals.kind(index, waiting.frame.signal, waiting.frame.kind.unwrap_or(by_position))
        };
        let kinds: Vec<AddressKind> = pending.iter().enumerate().map(kind).collect();
        let modules = self.process.modules();
        let (out, marks) = (&mut self.out.text, self.marks);
        let (sure, doubtful): (Vec<_>, Vec<_>) =
            pending.iter().enumerate().partition(|(_, waiting)| !waiting.frame.is_doubtful);
        // A frame that may not be a caller proves nothing about the others: each is a stack of its own.
        let stacks = std::iter::once(sure).chain(doubtful.into_iter().map(|one| vec![one]));
        let has_doubtful = pending.iter().any(|waiting| waiting.frame.is_doubtful);
        let mut texts: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut number = pending.first().and_then(|first| first.frame.number).unwrap_or(0);
        for stack in stacks {
            let frames: Vec<StackFrame> = stack
                .iter()
                .map(|(index, waiting)| StackFrame { place: waiting.place, kind: kinds[*index] })
                .collect();
            let query = Query { modules, frames: &frames, innermost: Innermost::Nothing };
            let mut waiting = stack.iter();
            let Ok(()) = self.worker.answer(query, Form::Plain, |answer, names| {
                let Some((index, waiting)) = waiting.next() else { return Ok(()) };
                if has_doubtful {
                    let mut text = Vec::new();
                    put(&mut text, waiting, answer, names, marks, &mut number);
                    texts.push((*index, text));
                } else {
                    put(out, waiting, answer, names, marks, &mut number);
                }
                Ok::<(), std::convert::Infallible>(())
            });
        }
        // The loop answered the doubtful frames last. Sorting puts them back in their places.
        texts.sort_by_key(|(index, _)| *index);
        texts.iter().for_each(|(_, text)| out.extend_from_slice(text));
        // Here no frame waits, so no index of a module is in use.
        self.process.forget();
    }
}

/// Puts the lines of one frame, one line for each function. A frame without an answer is copied unchanged.
fn put(
    out: &mut Vec<u8>,
    waiting: &Pending,
    answer: &Answer,
    names: &mut Names<'_>,
    marks: Marks,
    number: &mut u64,
) {
    let start = out.len();
    names.begin(start);
    let count = answer.symbol.frames.len();
    let Frame { prefix, given, module, address, id, .. } = &waiting.frame;
    let module = module.as_deref().unwrap_or("??");
    let end = if waiting.returns { "\r\n" } else { "\n" };
    for (at, frame) in answer.symbol.frames.iter().enumerate() {
        let inlined = at + 1 < count;
        match waiting.form {
            LineForm::Sanitizer => {
                // Frames get new numbers: each inlined function has one, as in symbolized reports.
                out.extend_from_slice(format!("{prefix}#{number} ").as_bytes());
                if !given.is_empty() {
                    out.extend_from_slice(format!("{given} in ").as_bytes());
                }
                *number += 1;
            }
            LineForm::Markup => {
                let of = waiting.frame.number.unwrap_or(0);
                let label = if inlined { format!("#{of}.{}", count - 1 - at) } else { format!("#{of}") };
                out.extend_from_slice(format!("   {label:<5} {given} ").as_bytes());
            }
            _ if at == 0 => out.extend_from_slice(format!("{} ", waiting.line).as_bytes()),
            _ => out.extend_from_slice(format!("{prefix}    (inlined by) ").as_bytes()),
        }
        match names.function(frame.name) {
            b"" => out.extend_from_slice(b"??"),
            name => push_escaped(out, name),
        }
        // The certainty is that of the outermost function, which determines the inlined ones.
        if !inlined && marks != Marks::None {
            text::certainty(out, answer, marks);
        }
        // What the line has already stays.
        let is_appended = !matches!(waiting.form, LineForm::Sanitizer | LineForm::Markup);
        out.extend_from_slice(if is_appended { b" at " } else { b" " });
        match names.path(frame.file) {
            b"" => out.extend_from_slice(b"??"),
            path => push_escaped(out, path),
        }
        out.push(b':');
        json::number(out, frame.line);
        if frame.column > 0 {
            out.push(b':');
            json::number(out, frame.column);
        }
        if !is_appended {
            out.extend_from_slice(format!(" ({module}+{address:#x})").as_bytes());
            if let (Some(id), LineForm::Sanitizer) = (id, waiting.form) {
                out.extend_from_slice(format!(" (BuildId: {id})").as_bytes());
            }
        }
        out.extend_from_slice(end.as_bytes());
    }
    // A line without an answer is copied, so that the log loses nothing.
    if count == 0 || names.take_damage().is_some() {
        out.truncate(start);
        std::iter::once(waiting).chain(&waiting.repeats).for_each(|one| copy(out, one, number));
    }
}

/// Copies a line without an answer.
fn copy(out: &mut Vec<u8>, waiting: &Pending, number: &mut u64) {
    let (prefix, end) = (&waiting.frame.prefix, if waiting.returns { "\r\n" } else { "\n" });
    match waiting.form {
        LineForm::Sanitizer => {
            // The number in the log no longer fits if an earlier frame became several lines.
            let rest = waiting.line.get(prefix.len() + 1..).unwrap_or("");
            let rest = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
            out.extend_from_slice(format!("{prefix}#{number}{rest}{end}").as_bytes());
            *number += 1;
        }
        _ => out.extend_from_slice(format!("{}{end}", waiting.line).as_bytes()),
    }
}
