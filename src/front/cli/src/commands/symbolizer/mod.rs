//! `llvm-symbolizer`, `llvm-addr2line` and `addr2line`: speaks the options, input lines and output of these tools, so that
//! programs that start them (sanitizers, perf, pprof, the kernel's scripts) get foldsym's answers without a change.
//!
//! For data that a symbol file lacks, the answers are those of these tools without it: variables (`DATA`) of a file that was converted without
//! them, local variables (`FRAME`),
//! discriminators, and the start of an inlined function.

mod answer;
mod bytes;
mod markup;
mod modules;
mod options;
mod print;
mod request;
mod words;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::commands::tool::Tool;
use crate::io::failure::Failure;
use crate::io::input::{Line, Lines, STANDARD_INPUT};
use crate::io::output::Output;
use answer::Answer;
use modules::Modules;
use options::{FunctionNames, Instead, Options, ToolStyle};
use print::{Asked, Printer};
use request::{Kind, Request, Subject};
use words::NamedModule;

/// The exit code of a command line that cannot be understood, and of a missing `--obj`.
const FAILED: u8 = 1;

/// LLVM's error if no file of a build id is found.
const NO_BUILD_ID: &str = "could not find build ID";

/// Response files may name others, to this depth.
const MAX_NESTED: usize = 8;

/// Runs the tool with these arguments, the name of the program left out. `program` is that name, for messages.
#[inline(never)] // see `perform`
pub(crate) fn run(tool: Tool, program: &str, args: Vec<OsString>) -> Result<u8, Failure> {
    let args = match expanded(tool, args) {
        Ok(args) => args,
        Err(message) => return Ok(failed(&format!("{program}: error: {message}"))),
    };
    // The response files are already expanded: they may contain options.
    let options = match Options::parse(tool, args.into_iter()) {
        Ok(options) => options,
        Err(Instead::Help) => return print(&options::usage(tool)),
        Err(Instead::Version) => return print(&version(tool)),
        Err(Instead::Wrong(message)) => {
            message.lines().for_each(complain);
            return Ok(FAILED);
        }
        Err(Instead::Usage(message)) => {
            // After the error, GNU's tool prints its options.
            complain(&format!("{program}: {message}"));
            options::usage(tool).lines().for_each(complain);
            return Ok(FAILED);
        }
    };
    if let Some(path) = options.dwp.as_ref().filter(|path| !path.exists()) {
        complain(&format!("{program}: warning: '{}': No such file or directory", path.display()));
    }
    let of_arch = options.arch.as_ref().map(|arch| modules::engine(&options, Some(arch)));
    let (engine, of_arch) = match (modules::engine(&options, None), of_arch.transpose()) {
        (Ok(engine), Ok(of_arch)) => (engine, of_arch),
        (Err(message), _) | (_, Err(message)) => {
            return Ok(failed(&format!("{program}: error: {message}")));
        }
    };
    let engines = modules::Engines::default();
    let session = Requests {
        program,
        options: &options,
        modules: Modules::new(&engine, of_arch.as_ref(), &engines, &options),
        printer: Printer::new(&options),
        answer: Answer::default(),
        out: Output::of_tool(options.filter_markup, options.style == ToolStyle::Json),
    };
    session.run()
}

/// The arguments of the environment and of the command line, with response files in the place of their names.
fn expanded(tool: Tool, args: Vec<OsString>) -> Result<Vec<String>, String> {
    let of_environment = tool.variable().and_then(std::env::var_os).unwrap_or_default();
    let of_environment = bytes::text_of(of_environment.as_encoded_bytes());
    let given = args.into_iter().map(|arg| bytes::text_of(arg.as_encoded_bytes()));
    let mut expanded: Vec<String> = words(&of_environment);
    expanded.extend(given);
    for _ in 0..MAX_NESTED {
        if !expanded.iter().any(|arg| response_file(arg).is_some()) {
            break;
        }
        let mut next = Vec::with_capacity(expanded.len());
        for arg in expanded {
            match response_file(&arg) {
                Some(path) => {
                    let text =
                        std::fs::read(bytes::path_of(path)).map_err(|error| format!("{path}: {error}"))?;
                    next.extend(words(&bytes::text_of(&text)));
                }
                None => next.push(arg),
            }
        }
        expanded = next;
    }
    Ok(expanded)
}

/// The path of a response file. One that does not exist is an argument like others.
fn response_file(arg: &str) -> Option<&str> {
    arg.strip_prefix('@').filter(|path| bytes::path_of(path).is_file())
}

/// The words of a text. Blanks separate words, except between quotes or after a backslash.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            // A backslash escapes within quotes too, as in LLVM's GNU-style reader of response files.
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            (end, Some(begin)) if end == begin => quote = None,
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            (other, _) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

fn print(text: &str) -> Result<u8, Failure> {
    io::stdout().write_all(text.as_bytes())?;
    Ok(0)
}

/// The output of `--version`. Scripts look for LLVM's name, or GNU's.
fn version(tool: Tool) -> String {
    let own = env!("CARGO_PKG_VERSION");
    match tool {
        Tool::GnuAddr2line => format!("GNU addr2line compatible (foldsym {own}) 2.40\n"),
        _ => format!("{}\nLLVM version 22.1.8 compatible (foldsym {own})\n", tool.name()),
    }
}

/// Prints a message as it is, and gives the exit code.
fn failed(message: &str) -> u8 {
    complain(message);
    FAILED
}

fn complain(message: &str) {
    let mut line = Vec::new();
    crate::io::escape::push_escaped(&mut line, &bytes::bytes_of(message.trim_end()));
    line.push(b'\n');
    // If standard error is closed, the error cannot be reported.
    let _ = io::stderr().lock().write_all(&line);
}

/// Answers the requests of one process.
struct Requests<'s> {
    program: &'s str,
    options: &'s Options,
    modules: Modules<'s>,
    printer: Printer<'s>,
    /// Scratch memory.
    answer: Answer,
    out: Output,
}

impl Requests<'_> {
    fn run(mut self) -> Result<u8, Failure> {
        if self.options.filter_markup {
            return self.filter_markup();
        }
        if let Some(module) = &self.options.obj {
            match self.modules.open(&bytes::path_of(module)) {
                Err(message) => return self.without_module(module, &message),
                Ok(opened) => {
                    if let Some(section) = &self.options.section
                        && opened.section_start(section).is_none()
                    {
                        complain(&format!("{}: {module}: cannot find section {section}", self.program));
                        return Ok(FAILED);
                    }
                }
            }
        }
        if !self.options.requests.is_empty() {
            for request in &self.options.requests {
                self.answer(request);
                self.out.give()?;
            }
        } else {
            let mut lines = Lines::new(io::stdin().lock(), STANDARD_INPUT);
            while let Some(line) = lines.next(|| self.out.flush())? {
                match line {
                    Line::Text(text) => {
                        let text = bytes::text_of(text);
                        self.answer(&text);
                    }
                    // Every line must get an answer, or the client would wait for it forever.
                    Line::TooLong => self.answer(""),
                }
                self.out.give()?;
            }
        }
        self.printer.end(&mut self.out.text);
        self.out.flush()?;
        Ok(0)
    }

    /// The module of all requests cannot be opened: no request is read.
    fn without_module(mut self, module: &str, message: &str) -> Result<u8, Failure> {
        match self.options.tool {
            Tool::GnuAddr2line => {
                let message = match message {
                    "No such file or directory" => format!("'{module}': No such file"),
                    "Is a directory" => format!("Warning: '{module}' is a directory"),
                    "The file was not recognized as a valid object file" => {
                        format!("{module}: file format not recognized")
                    }
                    other => format!("{module}: {other}"),
                };
                complain(&format!("{}: {message}", self.program));
            }
            _ if self.options.style == ToolStyle::Json => {
                let asked = Asked { kind: Kind::Code, module, address: Some(0), symbol: None, digits: 16 };
                // Without requests the printer writes an object, not an array.
                let options = Options { requests: Vec::new(), ..self.options.clone() };
                Printer::new(&options).error(&mut self.out.text, &asked, message);
                self.out.flush()?;
            }
            _ => complain(&format!("{}: error: '{module}': {message}", self.program)),
        }
        Ok(FAILED)
    }

    /// Answers a line, and says on standard error why it has no answer.
    fn answer(&mut self, line: &str) {
        match request::parse(line, self.options) {
            Ok(request) => self.answer_request(&request),
            Err(unreadable) => {
                // LLVM answers an empty line without a word.
                if !line.trim().is_empty() {
                    complain(&format!("{}: error: '{line}': {}", self.program, unreadable.message));
                }
                let asked = Asked {
                    kind: unreadable.kind,
                    module: &unreadable.module,
                    address: None,
                    symbol: None,
                    digits: 16,
                };
                self.printer.answer(&mut self.out.text, &asked, &Answer::default());
            }
        }
    }

    fn answer_request(&mut self, request: &Request) {
        let options = self.options;
        let (path, name) = match &request.module {
            NamedModule::Path(path) => (Some(bytes::path_of(path)), path.clone()),
            NamedModule::BuildId(id) => (by_build_id(id, options), hex_upper(id)),
        };
        let (address, symbol) = match &request.place {
            Subject::Address(address) => (Some(*address), None),
            Subject::Symbol(symbol, _) => (None, Some(symbol.as_str())),
        };
        let mut asked = Asked { kind: request.kind, module: &name, address, symbol, digits: 16 };
        let opened = match (&path, &request.module) {
            (Some(path), _) => self.modules.open(path),
            (None, NamedModule::BuildId(id)) => self.modules.open_build(id),
            (None, NamedModule::Path(_)) => Err(NO_BUILD_ID.to_owned()),
        };
        let module = match opened {
            Ok(module) => module,
            Err(message) => return self.without_answer(&asked, &message),
        };
        // GNU's tool prints 8 digits of an address of a 32-bit program, and 16 of a 64-bit one.
        if module.map.file().header().address_size == 4 {
            asked.digits = 8;
        }
        let mut answer = std::mem::take(&mut self.answer);
        answer.clear();
        let found = match &request.place {
            // LLVM's tool finds no variable by its symbol.
            Subject::Address(address) if request.kind == Kind::Data => {
                let place = module.spot(address.wrapping_sub(options.adjust_vma), None);
                let place = place.map(|spot| spot.unwrap_or(modules::Spot::image(*address)));
                place.and_then(|spot| module.variable(spot, options)).map(|found| answer.variable = found)
            }
            // The printers need no answer for FRAME requests.
            _ if request.kind != Kind::Code => Ok(()),
            Subject::Address(address) => {
                // GNU's tool truncates an address to the size that the program's class has.
                let address = match (options.tool, asked.digits) {
                    (Tool::GnuAddr2line, 8) => address & u64::from(u32::MAX),
                    _ => *address,
                };
                asked.address = Some(address);
                // The answer shows the address without this adjustment.
                let address = address.wrapping_sub(options.adjust_vma);
                module.spot(address, options.section.as_deref()).and_then(|spot| match spot {
                    Some(spot) => module.answer(spot, options, &mut answer),
                    None => Ok(()),
                })
            }
            Subject::Symbol(symbol, offset) => {
                of_symbol(module, symbol, *offset, options, &mut answer).map(|address| {
                    if options.tool == Tool::GnuAddr2line {
                        asked.address = Some(address);
                        asked.symbol = None;
                    }
                })
            }
        };
        match found {
            Ok(()) => self.printer.answer(&mut self.out.text, &asked, &answer),
            Err(message) => self.without_answer(&asked, &message),
        }
        self.answer = answer;
    }

    fn without_answer(&mut self, asked: &Asked<'_>, message: &str) {
        if self.options.style == ToolStyle::Json {
            return self.printer.error(&mut self.out.text, asked, message);
        }
        complain(&format!("{}: error: '{}': {message}", self.program, asked.module));
        self.printer.answer(&mut self.out.text, asked, &Answer::default());
    }
}

/// Adds the answers for a symbol of this name, at an offset from its start. LLVM's tools print one line for each function of
/// the name, GNU's answers for the first of them as for an address, which is given.
fn of_symbol(
    module: &mut modules::Module<'_>,
    symbol: &str,
    offset: u64,
    options: &Options,
    answer: &mut Answer,
) -> Result<u64, String> {
    let starts = module.starts_of(symbol)?;
    if options.tool == Tool::GnuAddr2line {
        let Some(start) = starts.first() else { return Ok(0) };
        let spot = start.forward(offset);
        module.answer(spot, options, answer)?;
        return Ok(spot.address);
    }
    for start in starts {
        let mut found = Answer::default();
        module.answer(start.forward(offset), options, &mut found)?;
        let line = match options.functions {
            FunctionNames::Short => found.lines().first().cloned(),
            _ => print::joined(found.lines()),
        };
        if let Some(line) = line {
            *answer.push() = line;
        }
    }
    Ok(0)
}

/// The folders that are searched for files by build id: the named ones; if none is named, the system's.
fn debug_folders(options: &Options) -> Vec<PathBuf> {
    match &options.debug_dirs[..] {
        [] => vec![PathBuf::from("/usr/lib/debug")],
        named => named.to_vec(),
    }
}

/// The debug file of a build id, below the folders that hold such files: `DIR/.build-id/ab/cdef.debug`.
fn by_build_id(id: &[u8], options: &Options) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let name = format!("{}.debug", digits(rest));
    let paths = debug_folders(options)
        .into_iter()
        .map(|folder| folder.join(".build-id").join(digits(&[*first])).join(&name));
    paths.into_iter().find(|path| path.is_file())
}

fn hex_upper(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Options, Tool, debug_folders, words};

    #[test]
    fn folders_that_are_named_replace_the_one_of_the_system() {
        let mut options = Options::new(Tool::Symbolizer);
        assert_eq!(debug_folders(&options), [Path::new("/usr/lib/debug")]);
        options.debug_dirs.push(PathBuf::from("/elsewhere"));
        assert_eq!(debug_folders(&options), [Path::new("/elsewhere")]);
    }

    #[test]
    fn words_of_a_response_file() {
        assert_eq!(words("-a  'b c'\n\"d\\\"e\" f\\ g"), ["-a", "b c", "d\"e", "f g"]);
        assert_eq!(words("''"), [""]);
        assert!(words(" \n").is_empty());
    }
}
