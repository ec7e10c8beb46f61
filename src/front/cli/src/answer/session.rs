//! Runs over the lines of a command that answers: each line in, its answer out, at the moment it is due.

use std::io;

use foldsym_lookup::SymbolFile;

use crate::answer::address::Space;
use crate::answer::names::{Form, Names};
use crate::answer::text::Style;
use crate::answer::{Answer, json, text};
use crate::args::{Answering, Functions, Marks};
use crate::io::failure::{Failure, complain, exit, shortened};
use crate::io::input::{Line, Lines};
use crate::io::mapped::Mapped;
use crate::io::output::Output;

/// Why one line has no answer. The lines after it still get theirs.
pub(crate) struct LineError {
    message: String,
    code: u8,
}

impl LineError {
    /// The line does not parse.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: exit::USAGE }
    }

    /// The same where there is one answer alone.
    pub(crate) fn into_failure(self) -> Failure {
        Failure { message: self.message, code: self.code }
    }

    /// The `.fsym` is damaged where the answer should be.
    pub(crate) fn damaged(file: &Mapped, error: foldsym_lookup::Error) -> Self {
        Self { message: crate::answer::open::damage_text(file, error), code: exit::BAD_INPUT }
    }
}

/// What prints the answers of one command.
pub(crate) struct Session<'f> {
    mapped: &'f Mapped,
    /// How addresses are read.
    pub(crate) space: Space,
    pub(crate) names: Names<'f>,
    /// The buffer that answers are printed to.
    pub(crate) out: Output,
    pub(crate) json: bool,
    style: Style,
    /// A line is a stack: it has many answers, and its text ends with a blank line more.
    stacks: bool,
    /// What the answer to this line repeats of it, as JSON.
    pub(crate) echo: Option<String>,
    /// The number of the next answer of this line.
    number: usize,
    /// An address in code was answered; any address was.
    found: bool,
    asked: bool,
    /// What `ModuleName` repeats.
    module: Vec<u8>,
}

impl<'f> Session<'f> {
    pub(crate) fn new(mapped: &'f Mapped, file: &SymbolFile<'f>, args: &Answering) -> Self {
        let out = Output::new();
        let on_terminal = out.is_terminal();
        Self {
            mapped,
            space: Space {
                base: args.base,
                sections: crate::answer::open::sections(file),
                ..Space::default()
            },
            names: Names::new(file, !args.no_demangle, if args.json { Form::Json } else { Form::Plain }),
            out,
            json: args.json,
            style: Style {
                certainty: args.certainty.unwrap_or(if on_terminal { Marks::Folded } else { Marks::None }),
                escape: on_terminal,
                address: args.address,
                pretty: args.pretty_print,
                no_names: args.functions == Functions::None,
                no_inlines: args.no_inlines,
                basenames: args.basenames,
            },
            stacks: false,
            echo: None,
            number: 0,
            found: false,
            asked: false,
            module: mapped.path().as_os_str().as_encoded_bytes().to_vec(),
        }
    }

    /// The same for lines that are stacks: their answers have numbers, and a blank line follows those of a line.
    pub(crate) fn of_stacks(self) -> Self {
        Self { stacks: true, ..self }
    }

    /// Puts one answer: its text, or its object without a line end.
    ///
    /// # Errors
    /// A name in it is damaged, or its names are more than the file can hold.
    pub(crate) fn put(&mut self, answer: &Answer) -> Result<(), LineError> {
        self.names.begin(self.out.text.len());
        (self.asked, self.found) = (true, self.found || answer.certainty.is_some());
        let number = self.stacks.then_some(self.number);
        self.number += 1;
        if self.json {
            json::object(&mut self.out.text, answer, &mut self.names, &self.module);
        } else {
            text::answer(&mut self.out.text, answer, number, &mut self.names, self.style);
        }
        self.names.take_damage().map_or(Ok(()), |error| Err(LineError::damaged(self.mapped, error)))
    }

    /// Answers the arguments' lines, or without any those of standard input. Gives the exit code.
    ///
    /// # Errors
    /// Standard output cannot be written, standard input cannot be read.
    pub(crate) fn run(
        &mut self,
        given: Vec<String>,
        mut answer: impl FnMut(&mut Self, &str) -> Result<(), LineError>,
    ) -> Result<u8, Failure> {
        let mut code = 0;
        if !given.is_empty() {
            for line in &given {
                let start = self.out.text.len();
                self.begin_line();
                let result = answer(self, line);
                code = code.max(self.end_line(result, start, (None, line)));
                self.out.give()?;
            }
            self.out.flush()?;
            self.hint();
            return Ok(code);
        }
        let mut lines = Lines::new(io::stdin().lock());
        let mut number = 0;
        // A failure to write comes back through the reader: what it says must not name the input.
        let mut unwritten = false;
        loop {
            let out = &mut self.out;
            let line = lines.next(|| out.flush().inspect_err(|_| unwritten = true));
            let line = match line {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) if unwritten => return Err(error.into()),
                Err(error) => {
                    return Err(Failure {
                        message: format!("standard input: {error}"),
                        code: exit::BAD_INPUT,
                    });
                }
            };
            number += 1;
            let start = self.out.text.len();
            self.begin_line();
            let (result, text) = match line {
                Line::Text(text) => match std::str::from_utf8(text) {
                    Ok(text) => (answer(self, text), text),
                    Err(_) => (Err(LineError::usage("not UTF-8 text")), ""),
                },
                Line::TooLong => (Err(LineError::usage("longer than a line of addresses may be")), ""),
            };
            code = code.max(self.end_line(result, start, (Some(number), text)));
            self.out.give()?;
        }
        self.out.flush()?;
        self.hint();
        Ok(code)
    }

    fn begin_line(&mut self) {
        (self.echo, self.number) = (None, 0);
    }

    /// Numbers without `0x` that are all outside of the code were perhaps meant to be hexadecimal.
    fn hint(&self) {
        if self.asked && !self.found && self.space.has_decimal.get() {
            complain("no address is in the code; numbers without 0x are decimal");
        }
    }

    /// Ends the object that answers a line.
    pub(crate) fn end_object(&mut self) {
        if let Some(echo) = &self.echo {
            self.out.text.extend_from_slice(b",\"id\":");
            self.out.text.extend_from_slice(echo.as_bytes());
        }
        self.out.text.extend_from_slice(b"}\n");
    }

    /// Ends the answers of a line; gives its exit code.
    fn end_line(&mut self, result: Result<(), LineError>, start: usize, line: (Option<u64>, &str)) -> u8 {
        let code = result.map_or_else(|error| self.unanswered(&error, start, line), |()| 0);
        if self.stacks && !self.json {
            self.out.text.push(b'\n');
        }
        code
    }

    /// Puts what stands for a line without an answer, so that answers stay in step with lines.
    /// `start` is where in the buffer the line's answer begins, which may be there in part; `line` its number and text.
    fn unanswered(&mut self, error: &LineError, start: usize, (line, text): (Option<u64>, &str)) -> u8 {
        self.out.text.truncate(start);
        if self.json {
            let address = (!self.stacks).then_some((shortened(text.trim()), self.module.as_slice()));
            json::error(&mut self.out.text, address, &error.message);
            self.end_object();
        } else {
            text::unknown(&mut self.out.text);
            match line {
                Some(line) => complain(&format!("line {line}: {}", error.message)),
                None => complain(&error.message),
            }
        }
        error.code
    }
}
