//! Answers each input line of a command, and flushes when a client waits.

use std::io;

use std::path::Path;

use foldsym_lookup::SymbolFile;
use foldsym_symbolize::{Answer, Fields, Form, Mapping, Module, Modules, Names, Unknown, json};

use crate::answer::address::Space;
use crate::answer::block::{self, Block};
use crate::answer::open::Loaded;
use crate::answer::signature::Signatures;
use crate::answer::text::{self, TextStyle};
use crate::answer::variable::Variable;
use crate::args::{Answering, Marks, SignatureOptions};
use crate::io::failure::{Failure, complain, exit, shortened};
use crate::io::input::{Line, Lines, MAX_LINE, STANDARD_INPUT};
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

    /// The same error, for a command with a single answer.
    pub(crate) fn into_failure(self) -> Failure {
        Failure { message: self.message, code: self.code }
    }

    /// The `.fsym` is damaged at the place of the answer.
    pub(crate) fn damaged(path: &Path, error: foldsym_lookup::Error) -> Self {
        Self { message: format!("{}: damaged: {error}", path.display()), code: exit::BAD_INPUT }
    }

    /// The same in the engine's words.
    fn of(why: &Unknown) -> Self {
        Self { message: why.to_string(), code: exit::BAD_INPUT }
    }
}

/// The one module that all addresses of a command are in.
pub(crate) struct Source {
    pub(crate) loaded: Loaded,
    name: String,
    base: u64,
    modules: Modules,
}

impl Source {
    pub(crate) fn new(loaded: Loaded, path: &Path, base: u64) -> Self {
        let name = path.to_string_lossy().into_owned();
        let modules = Self::at(&loaded, &name, base);
        Self { loaded, name, base, modules }
    }

    /// The module, loaded at this base.
    pub(crate) fn modules(&mut self, base: u64) -> &Modules {
        // Usually all lines have the same base, so the modules are kept.
        if base != self.base {
            self.base = base;
            self.modules = Self::at(&self.loaded, &self.name, base);
        }
        &self.modules
    }

    fn at(loaded: &Loaded, name: &str, bias: u64) -> Modules {
        let module = Module::new(name).with_file(loaded.map.clone());
        Modules::new(vec![module.mapped(Mapping::Everywhere { bias })])
    }
}

/// Prints the answers of one command.
pub(crate) struct Session {
    /// How addresses are read.
    pub(crate) space: Space,
    /// The buffer that answers are printed to.
    pub(crate) out: Output,
    pub(crate) json: bool,
    style: TextStyle,
    /// A line is a stack: it has many answers, and its text ends with a blank line more.
    stacks: bool,
    /// The fields of JSON, if they are chosen.
    fields: Option<Fields>,
    /// Signatures of the stacks, if they are wanted.
    pub(crate) signatures: Option<Signatures>,
    /// Those of stacks that ask for their own, while a line does not; and whether this line does.
    of_line: (Option<Signatures>, bool),
    /// Keys of this line that its answer repeats, with values as JSON.
    pub(crate) echo: Vec<(String, String)>,
    /// The text says of no answer how sure it is, and the user did not ask for that.
    is_silent: bool,
    /// Such answers that are one of several functions.
    unmarked: u64,
    /// The number of the next answer of this line.
    number: usize,
    /// An address in code was answered; any address was.
    found: bool,
    asked: bool,
    /// The file of all addresses; `None` if they belong to many modules.
    module: Option<String>,
}

impl Session {
    /// For addresses of one file.
    pub(crate) fn new(path: &Path, file: &SymbolFile<'_>, args: &Answering) -> Self {
        let sections = crate::answer::open::sections(file);
        Self::with(Some(path), Space { base: args.base, sections, ..Space::default() }, args)
    }

    /// For addresses of many modules.
    pub(crate) fn of_process(args: &Answering) -> Self {
        Self::with(None, Space::default(), args)
    }

    fn with(path: Option<&Path>, space: Space, args: &Answering) -> Self {
        let out = Output::new();
        let on_terminal = out.is_terminal();
        Self {
            space,
            out,
            json: args.is_json(),
            style: TextStyle {
                certainty: args.certainty.unwrap_or(match on_terminal || args.candidates {
                    true => Marks::Folded,
                    false => Marks::None,
                }),
                escape: on_terminal,
                address: args.address,
                pretty: args.pretty_print,
                functions: args.functions,
                candidates: args.candidates,
                no_inlines: args.no_inlines,
                basenames: args.basenames,
            },
            stacks: false,
            fields: None,
            signatures: None,
            of_line: (None, false),
            echo: Vec::new(),
            // JSON always has the certainty. Text has it by default on a terminal and with `--candidates`.
            is_silent: !args.is_json() && !on_terminal && !args.candidates && args.certainty.is_none(),
            unmarked: 0,
            number: 0,
            found: false,
            asked: false,
            module: path.map(|path| path.to_string_lossy().into_owned()),
        }
    }

    /// The same for lines that are stacks: their answers are numbered, and a blank line follows the answers of each line.
    ///
    /// # Errors
    /// The file of rules for signatures cannot be read.
    pub(crate) fn of_stacks(
        self,
        options: &SignatureOptions,
        fields: Option<Fields>,
    ) -> Result<Self, Failure> {
        if fields.is_some() && !self.json {
            return Err(Failure::usage("--fields: chooses keys of --json"));
        }
        let signatures = Signatures::of(options)?;
        // A signature does not depend on which candidate is first.
        let is_silent = self.is_silent && signatures.as_ref().is_none_or(|signatures| !signatures.only);
        Ok(Self { stacks: true, signatures, fields, is_silent, ..self })
    }

    /// Has this line's answer get its signature, if it is JSON. Lines that do not ask have what the options say.
    pub(crate) fn sign_line(&mut self) {
        if self.json && self.signatures.is_none() {
            self.signatures = Some(self.of_line.0.take().unwrap_or_else(Signatures::shipped));
            self.of_line.1 = true;
        }
    }

    /// Whether JSON has all keys of frames, and nothing else that needs their names.
    pub(crate) fn is_usual(&self) -> bool {
        self.fields.is_none() && self.signatures.is_none()
    }

    /// Whether frames are printed.
    pub(crate) fn has_frames(&self) -> bool {
        self.signatures.as_ref().is_none_or(|signatures| !signatures.only)
    }

    /// Puts the signature of the stack whose answers were put, if it is wanted.
    pub(crate) fn put_signature(&mut self) {
        let has_frames = self.has_frames();
        let Some(signatures) = &mut self.signatures else { return };
        match self.json {
            true => {
                self.out.text.extend_from_slice(if has_frames { b"," } else { b"" });
                signatures.put_json(&mut self.out.text);
            }
            false => signatures.put_text(&mut self.out.text),
        }
    }

    /// How names are wanted.
    pub(crate) fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Plain }
    }

    /// Puts one answer: its text, or its object without a line end. `found` is its basic block, if that was requested.
    ///
    /// # Errors
    /// The file is damaged at the place of the answer, or its names are longer than a file can have.
    pub(crate) fn put(
        &mut self,
        answer: &Answer,
        names: &mut Names<'_>,
        modules: &Modules,
        found: Option<&Option<Block>>,
    ) -> Result<(), LineError> {
        // With one file, damage is the error of the line. With many modules the answer reports it in `Unknown`.
        if let (Some(why @ Unknown::Damaged(_)), Some(_)) = (&answer.unknown, &self.module) {
            return Err(LineError::of(why));
        }
        names.begin(self.out.text.len());
        let is_one_of_several = answer.candidate_count.is_some_and(|count| count > 1);
        self.unmarked += u64::from(self.is_silent && is_one_of_several);
        (self.asked, self.found) = (true, self.found || answer.certainty.is_some());
        let number = self.stacks.then_some(self.number);
        self.number += 1;
        let start = self.out.text.len();
        if let Some(signatures) = &mut self.signatures {
            signatures.signing.add(answer, names, modules, []);
        }
        if self.has_frames() {
            self.write(answer, names, modules, found, number);
        }
        let Some(why) = names.take_damage() else { return Ok(()) };
        if !self.stacks {
            return Err(LineError::of(&why));
        }
        // The other frames of the stack are as good as they were.
        self.out.text.truncate(start);
        if self.has_frames() {
            self.write(&answer.without(why), names, modules, found.map(|_| &None), number);
        }
        Ok(())
    }

    /// Puts the variable at an address, as reported: its text, or its object with the line end.
    pub(crate) fn put_variable(&mut self, address: u64, variable: &Variable) {
        (self.asked, self.found) = (true, true);
        if self.json {
            variable.put_object(&mut self.out.text, address, self.module.as_deref().unwrap_or_default());
        } else {
            if self.style.address {
                let end = if self.style.pretty { ": " } else { "\n" };
                self.out.text.extend_from_slice(format!("{address:#x}{end}").as_bytes());
            }
            variable.put_text(&mut self.out.text, self.style.escape);
        }
        self.out.text.push(b'\n');
    }

    /// The text of an answer, or its object.
    fn write(
        &mut self,
        answer: &Answer,
        names: &mut Names<'_>,
        modules: &Modules,
        found: Option<&Option<Block>>,
        number: Option<usize>,
    ) {
        if self.json {
            let module = answer.module.and_then(|module| modules.get(module));
            if let Some(fields) = self.fields {
                return fields.object(&mut self.out.text, answer, names, module);
            }
            json::object(&mut self.out.text, answer, names, module.map_or("", |module| &module.name));
            if let Some(found) = found {
                self.out.text.extend_from_slice(b",\"BasicBlock\":");
                match found {
                    Some(found) => block::object(&mut self.out.text, found, names),
                    None => self.out.text.extend_from_slice(b"null"),
                }
            }
            self.out.text.push(b'}');
        } else {
            text::answer(&mut self.out.text, answer, found, number, names, self.style);
        }
    }

    /// Answers the lines of the arguments, or without arguments those of standard input. Returns the exit code.
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
                // The exit code for a damaged file outranks that for a line that does not parse.
                code = code.max(self.end_line(result, start, (None, line)));
                self.out.give()?;
            }
            self.out.flush()?;
            self.hint();
            return Ok(code);
        }
        let mut lines = Lines::new(io::stdin().lock(), STANDARD_INPUT);
        let mut number = 0;
        while let Some(line) = lines.next(|| self.out.flush())? {
            number += 1;
            let start = self.out.text.len();
            self.begin_line();
            let (result, text) = match line {
                Line::Text(text) => match std::str::from_utf8(text) {
                    Ok(text) => (answer(self, text), text),
                    Err(_) => (Err(LineError::usage("not UTF-8 text")), ""),
                },
                Line::TooLong => {
                    // The text is empty: the reader did not keep the line.
                    let message = format!("line too long (at most {MAX_LINE} bytes)");
                    (Err(LineError::usage(message)), "")
                }
            };
            code = code.max(self.end_line(result, start, (Some(number), text)));
            self.out.give()?;
        }
        self.out.flush()?;
        self.hint();
        Ok(code)
    }

    fn begin_line(&mut self) {
        self.number = 0;
        if std::mem::take(&mut self.of_line.1) {
            self.of_line.0 = self.signatures.take();
        }
        self.echo.clear();
    }

    /// Prints hints after the answers. If no address was in the code, numbers without `0x` were perhaps meant to be hexadecimal.
    fn hint(&self) {
        if self.asked && !self.found && self.space.has_decimal.get() {
            complain("no address is in the code; numbers without 0x are decimal");
        }
        if self.unmarked > 0 {
            complain(&format!(
                "{} answers are one of several functions that share their code: --certainty marks them, --candidates lists all",
                self.unmarked
            ));
        }
    }

    /// Ends the object that answers a line.
    pub(crate) fn end_object(&mut self) {
        for (key, value) in &self.echo {
            self.out.text.push(b',');
            json::string(&mut self.out.text, key.as_bytes());
            self.out.text.push(b':');
            self.out.text.extend_from_slice(value.as_bytes());
        }
        self.out.text.extend_from_slice(b"}\n");
    }

    /// Ends the answers of a line; gives its exit code.
    fn end_line(&mut self, result: Result<(), LineError>, start: usize, line: (Option<u64>, &str)) -> u8 {
        let code = result.map_or_else(|error| self.unanswered(&error, start, line), |()| 0);
        if self.stacks && !self.json && self.has_frames() {
            // An unanswered stack gets this blank line too, so that a program can find the end of each stack.
            self.out.text.push(b'\n');
        }
        code
    }

    /// Prints the placeholder of an unanswered line, so that answers stay in step with lines. The answer may have been printed in part:
    /// the placeholder replaces everything from `start` on in the buffer. `line` is the line's number and text.
    fn unanswered(&mut self, error: &LineError, start: usize, (line, text): (Option<u64>, &str)) -> u8 {
        self.out.text.truncate(start);
        // The frames before the error belong to no signature.
        _ = self.signatures.as_mut().map(|signatures| signatures.signing.finish());
        if !self.json && !self.has_frames() {
            complain_of_line(line, &error.message);
            self.out.text.extend_from_slice(b"?? ??\n");
        } else if self.json {
            let address = (!self.stacks)
                .then_some((shortened(text.trim()), self.module.as_deref().unwrap_or_default()));
            json::error(&mut self.out.text, address, &error.message);
            self.end_object();
        } else {
            text::unknown(&mut self.out.text);
            complain_of_line(line, &error.message);
        }
        error.code
    }
}

/// Says what is wrong with a line. Words of the command line have no line number.
fn complain_of_line(line: Option<u64>, message: &str) {
    match line {
        Some(line) => complain(&format!("line {line}: {message}")),
        None => complain(message),
    }
}
