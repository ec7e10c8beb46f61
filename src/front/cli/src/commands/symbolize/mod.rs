//! `foldsym symbolize`: prints the stacks of crash reports.
//!
//! Reports are read one by one. One that cannot be read is told of on standard error, and in JSON by an object of its own; the rest go on.

use std::convert::Infallible;
use std::io::Read;
use std::path::Path;

use foldsym_reports::{Options, Reader, Report, Thread, json};
use foldsym_symbolize::{Answer, Form, Innermost, Modules, Names, Place, Query, Worker};

use crate::args::{Answering, Marks, Symbolize};
use crate::io::failure::{Failure, complain, exit};
use crate::io::output::Output;

mod print;

/// Reports are not larger; cores of the kernel are mapped, and do not count.
const MAX_REPORT: u64 = 4 << 30;

/// Prints each report.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Symbolize) -> Result<u8, Failure> {
    if args.sources.maps.is_some() {
        return Err(Failure::usage("--maps: a report says itself which modules its process had"));
    }
    let answering = Answering { json: args.json, no_demangle: args.no_demangle, ..Answering::default() };
    let symbolizer = crate::answer::open::symbolizer(&answering, &args.sources)?;
    let mut options = Options::default();
    options.format = args.format;
    options.open_paths = args.sources.open_paths;
    let mut printer = Printer {
        worker: symbolizer.worker(),
        out: Output::new(),
        json: args.json,
        marks: args.certainty.unwrap_or(Marks::Folded),
    };
    let reader = Reader::new(&symbolizer);
    let (mut failed, mut first) = (0, true);
    for path in &args.inputs {
        match read(path, &reader, &options) {
            Ok(report) => {
                if !first && !args.json {
                    printer.out.text.push(b'\n');
                }
                first = false;
                printer.report(path, &report)?;
            }
            Err(message) => {
                failed += 1;
                if args.json {
                    print::error(&mut printer.out.text, path, &message);
                }
                // What was answered before comes before what is told of it.
                printer.out.flush()?;
                complain(&format!("{}: {message}", path.display()));
            }
        }
        printer.out.flush()?;
    }
    Ok(match failed {
        0 => 0,
        all if all == args.inputs.len() => exit::BAD_INPUT,
        _ => exit::SOME_FAILED,
    })
}

fn read(path: &Path, reader: &Reader<'_>, options: &Options) -> Result<Report, String> {
    let parse = |bytes: &[u8]| reader.read(bytes, options).map_err(|error| error.to_string());
    let failed = |error: std::io::Error| error.to_string();
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_REPORT + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_file() {
            let mapped = crate::io::mapped::Mapped::open(path).map_err(|failure| failure.message)?;
            return parse(&mapped);
        }
        file.take(MAX_REPORT + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    if bytes.len() as u64 > MAX_REPORT {
        return Err(format!("more than {MAX_REPORT} bytes"));
    }
    parse(&bytes)
}

struct Printer<'s> {
    worker: Worker<'s>,
    out: Output,
    json: bool,
    marks: Marks,
}

impl Printer<'_> {
    fn report(&mut self, path: &Path, report: &Report) -> Result<(), Failure> {
        if self.json {
            print::json_begin(&mut self.out.text, path, report);
        } else {
            print::text_begin(&mut self.out.text, path, report);
        }
        for (index, thread) in report.threads.iter().enumerate() {
            if self.json {
                json::thread(&mut self.out.text, index, thread);
            } else {
                print::text_thread(&mut self.out.text, index, thread);
            }
            self.frames(report.modules_of(thread), thread);
            if self.json {
                self.out.text.extend_from_slice(b"]}");
            }
            self.out.give()?;
        }
        if self.json {
            json::end(&mut self.out.text, report);
        } else {
            print::text_end(&mut self.out.text, report);
        }
        Ok(())
    }

    fn frames(&mut self, modules: &Modules, thread: &Thread) {
        let query = Query { modules, frames: &thread.frames, innermost: Innermost::Nothing };
        let form = if self.json { Form::Json } else { Form::Plain };
        let (out, is_json, marks) = (&mut self.out.text, self.json, self.marks);
        let (mut index, mut number) = (0, 0);
        let put = |answer: &Answer, names: &mut Names<'_>| {
            let trust = thread.trust.get(index).copied();
            if is_json {
                json::frame(out, index, answer, names, modules, trust);
            } else {
                let place = thread.frames.get(index).map_or(Place::Unknown, |frame| frame.place);
                print::text_frame(out, (&mut number, place), answer, names, modules, (marks, trust));
            }
            index += 1;
            Ok::<(), Infallible>(())
        };
        let Ok(()) = self.worker.answer(query, form, put);
    }
}
