//! `foldsym symbolize`: prints the stacks of crash reports.
//!
//! Reports are read one by one. If one cannot be read, a message goes to standard error, JSON has an object with the error, and the others
//! are still read.

use std::path::Path;

use foldsym_reports::{Opened, Options, Reader, Report, Thread, json};
use foldsym_symbolize::{
    AddressKind, Answer, Fields, Form, Innermost, Modules, Names, Query, StackFrame, Symbolizer, Worker,
};

use crate::answer::open::{Extra, symbolizer_with};
use crate::answer::signature::Signatures;
use crate::args::{Answering, Callers, Marks, Style, Symbolize};
use crate::io::failure::{Failure, complain, exit};
use crate::io::output::Output;
use report_bytes::read_report;

mod by_function;
mod collapsed;
#[cfg(feature = "parquet")]
mod parquet;
mod print;
mod report_bytes;
mod rewrite;
mod samples;
mod style;

/// Prints each report.
// Long because it is one list of the options that exclude each other, and of what each prints.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Symbolize) -> Result<u8, Failure> {
    if args.sources.maps.is_some() {
        return Err(Failure::usage("--maps: the report already lists the modules of its process"));
    }
    #[cfg(feature = "parquet")]
    if let (Some(input), Some(output)) = (&args.parquet, &args.output) {
        return parquet::run(args, input, output);
    }
    // Each candidate costs a lookup.
    let wants_candidates =
        args.json && args.by_function.is_none() && args.fields.is_none_or(Fields::has_candidates);
    #[cfg(feature = "parquet")]
    let wants_candidates = wants_candidates || args.output.is_some();
    let answering = Answering {
        json: wants_candidates,
        no_demangle: args.no_demangle,
        check: true,
        ..Answering::default()
    };
    let extra = Extra { candidates: args.signatures.signature.is_some(), ..Extra::default() };
    let symbolizer = symbolizer_with(&answering, &args.sources, extra)?;
    let mut options = Options::default();
    options.format = args.format;
    options.open_paths = args.sources.open_paths;
    // No other style prints registers.
    options.registers = args.style == Style::Stackwalk;
    options.callers = args.callers.map(|callers| match callers {
        Callers::Adjusted => AddressKind::Adjusted,
        Callers::Return => AddressKind::Return,
    });
    options.event.clone_from(&args.event);
    if let Some(out) = &args.pprof {
        return rewrite::pprof(args, out, &symbolizer, &options);
    }
    if let Some(out) = &args.otlp {
        return rewrite::otlp(args, out, &symbolizer, &options);
    }
    #[cfg(feature = "parquet")]
    if let Some(output) = &args.output {
        return parquet::reports(args, output, &symbolizer, &options);
    }
    let mut counted = match (&args.collapsed, &args.by_function) {
        (Some(kind), _) => Some((Counted::Stacks(collapsed::Collapsed::default()), kind.as_str())),
        (None, Some(kind)) => Some((Counted::Functions(by_function::ByFunction::default()), kind.as_str())),
        (None, None) => None,
    };
    let mut printer = StackPrinter {
        symbolizer: &symbolizer,
        worker: symbolizer.worker(),
        out: Output::new(),
        json: args.json,
        fields: args.fields,
        marks: args.certainty.unwrap_or(Marks::Folded),
        style: args.style,
        signatures: Signatures::of(&args.signatures)?,
    };
    let reader = Reader::new(&symbolizer);
    let (mut failed, mut first) = (0, true);
    for path in &args.inputs {
        let read = read_report(path, &reader, &options, |mut opened| match &mut counted {
            Some((counted, kind)) => {
                let worker = &mut printer.worker;
                let add =
                    |report: &Report, thread: &Thread, count| counted.add(worker, report, thread, count);
                let added = samples::each(&mut opened, kind, args.event.is_none(), add);
                for warning in added? {
                    complain(&format!("{}: {warning}", path.display()));
                }
                Ok(Ok(()))
            }
            None => {
                // A blank line separates reports; a line of JSON needs none.
                if !std::mem::take(&mut first) && !printer.json && printer.has_frames() {
                    printer.out.text.push(b'\n');
                }
                Ok(printer.report(path, &mut opened))
            }
        });
        match read {
            Ok(printed) => printed?,
            Err(message) => {
                failed += 1;
                if args.json && counted.is_none() {
                    print::error(&mut printer.out.text, path, &message);
                }
                // Earlier answers are printed before the error.
                printer.out.flush()?;
                complain(&format!("{}: {message}", path.display()));
            }
        }
        printer.out.flush()?;
    }
    if let Some((counted, _)) = &counted {
        counted.put(&mut printer.out.text, args.json);
        printer.out.flush()?;
    }
    crate::answer::open::tell_unused(&symbolizer);
    Ok(match failed {
        0 => 0,
        // If no report could be read, the code is the same as for a single one.
        all if all == args.inputs.len() => exit::BAD_INPUT,
        _ => exit::SOME_FAILED,
    })
}

/// What is counted in place of printing stacks.
enum Counted {
    Stacks(collapsed::Collapsed),
    Functions(by_function::ByFunction),
}

impl Counted {
    fn add(&mut self, worker: &mut Worker<'_>, report: &Report, thread: &Thread, count: i64) {
        match self {
            Self::Stacks(collapsed) => collapsed.add(worker, report, thread, count),
            Self::Functions(functions) => functions.add(worker, report, thread, count),
        }
    }

    fn put(&self, out: &mut Vec<u8>, is_json: bool) {
        match self {
            Self::Stacks(collapsed) => collapsed.put(out),
            Self::Functions(functions) if is_json => functions.put_json(out),
            Self::Functions(functions) => functions.put_text(out),
        }
    }
}

struct StackPrinter<'s> {
    symbolizer: &'s Symbolizer,
    worker: Worker<'s>,
    out: Output,
    json: bool,
    /// The fields of JSON, if they are chosen.
    fields: Option<Fields>,
    marks: Marks,
    style: Style,
    signatures: Option<Signatures>,
}

impl StackPrinter<'_> {
    fn report(&mut self, path: &Path, opened: &mut Opened<'_>) -> Result<(), Failure> {
        if self.json {
            print::json_begin(&mut self.out.text, path, opened.report());
        } else if self.has_frames() {
            print::text_begin(&mut self.out.text, path, opened.report());
            style::begin(&mut self.out.text, self.style, opened.report());
        }
        let (mut index, mut others, mut has_crashed) = (0, Vec::new(), false);
        while let Some(thread) = opened.next_thread() {
            if self.json {
                json::thread(&mut self.out.text, index, &thread);
            } else if self.has_frames() && self.style == Style::Plain {
                print::text_thread(&mut self.out.text, index, &thread, opened.report());
            } else if self.has_frames() {
                style::thread(&mut self.out.text, self.style, index, &thread);
            }
            index += 1;
            self.frames(opened.report().modules_of(&thread), &thread)?;
            if self.json {
                self.out.text.push(b']');
            }
            if let Some(signatures) = &mut self.signatures {
                match self.json {
                    true => {
                        self.out.text.push(b',');
                        signatures.put_json(&mut self.out.text);
                    }
                    // Where a thread crashed, the stacks of the others say nothing of the fault.
                    false if signatures.only && !thread.crashed => signatures.put_text(&mut others),
                    false => signatures.put_text(&mut self.out.text),
                }
                has_crashed |= thread.crashed;
            }
            if self.json {
                self.out.text.push(b'}');
            }
            self.out.give()?;
        }
        if !has_crashed {
            self.out.text.append(&mut others);
        }
        if self.json {
            json::end(&mut self.out.text, opened.report());
        } else if self.has_frames() {
            print::text_end(&mut self.out.text, opened.report());
        }
        Ok(())
    }

    fn has_frames(&self) -> bool {
        self.signatures.as_ref().is_none_or(|signatures| !signatures.only)
    }

    fn frames(&mut self, modules: &Modules, thread: &Thread) -> Result<(), Failure> {
        let query = Query { modules, frames: &thread.frames, innermost: Innermost::Nothing };
        let form = if self.json { Form::Json } else { Form::Plain };
        let (symbolizer, with_frames) = (self.symbolizer, self.has_frames());
        let (output, is_json, marks, style) = (&mut self.out, self.json, self.marks, self.style);
        let (signatures, fields) = (&mut self.signatures, self.fields);
        let (mut index, mut number) = (0, 0);
        let put = |answer: &Answer, names: &mut Names<'_>| {
            let out = &mut output.text;
            if let Some(Signatures { signing, .. }) = signatures.as_mut() {
                json::sign(signing, out, index, answer, names, (modules, thread));
            }
            if !with_frames {
                index += 1;
                return Ok(());
            }
            if let Some(fields) = fields {
                json::chosen_frame(out, fields, index, answer, names, (modules, thread));
            } else if is_json {
                json::frame(out, index, answer, names, modules, thread);
            } else {
                let frame = thread.frames.get(index).copied().unwrap_or(StackFrame::UNKNOWN);
                if style == Style::Plain {
                    print::text_frame(
                        out,
                        (&mut number, frame.place),
                        answer,
                        names,
                        modules,
                        (marks, thread, index),
                    );
                } else {
                    let registers = thread.registers.get(index).map_or(&[][..], Vec::as_slice);
                    let is_signal = style::is_signal(thread, index);
                    let line_offset = match style {
                        Style::Stackwalk => style::line_offset(symbolizer, modules, answer),
                        _ => None,
                    };
                    let trust = thread.trust.get(index).copied();
                    let own = thread.names_of(index);
                    let printed = style::Printed {
                        answer,
                        frame,
                        modules,
                        trust,
                        own,
                        registers,
                        is_signal,
                        line_offset,
                    };
                    style::frame(out, style, &mut number, &printed, names);
                }
            }
            index += 1;
            // One stack may be long.
            output.give()
        };
        Ok(self.worker.answer(query, form, put)?)
    }
}
