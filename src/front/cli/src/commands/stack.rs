//! `foldsym stack`: answers whole stacks.
//!
//! A stack is a line: the program counter, then return addresses, innermost first. A return address is that of the instruction after the
//! call. It may already belong to another line or to another function, since a call that never returns can be a function's last
//! instruction. So the byte before it is looked up. A line may also be a JSON object, with registers and memory of the innermost frame.

use std::path::Path;

use foldsym_lookup::{Header, flags};
use foldsym_symbolize::{
    AddressKind, Answer, Form, GivenStack, Innermost, Modules, Names, Query, ReportedAddress, StackFrame,
    Symbolizer, Worker, number,
};
use serde_json::Value;

use crate::answer::address::Space;
use crate::answer::open::{Extra, symbolizer_with};
use crate::answer::process::Process;
use crate::answer::session::{LineError, Session, Source};
use crate::answer::stopped::{Stopped, refuse_unknown};
use crate::args::Stack;
use crate::io::failure::{Failure, json_problem, shortened};

/// Stacks with more frames are refused: no stack of a program is that deep, and answers are kept whole.
const MAX_FRAMES: usize = 1 << 16;

/// Stacks with a longer answer are refused: if hundreds of functions are folded, a frame may have many thousands.
const MAX_ANSWER: usize = 1 << 27;

/// Bytes of answers that are kept for addresses that come again.
const KEPT_TEXTS: usize = 1 << 26;

/// A parsed line.
#[derive(Debug)]
struct Parsed {
    frames: Vec<StackFrame>,
    /// The value of the vtable pointer of the innermost frame's object.
    vptr: Option<ReportedAddress>,
    /// Registers and memory of the innermost frame.
    stopped: Option<Stopped>,
}

impl Parsed {
    fn innermost(&self) -> Innermost<'_> {
        match (self.vptr, &self.stopped) {
            (Some(vptr), _) => Innermost::Vtable(vptr),
            (None, Some(stopped)) => Innermost::State(stopped),
            (None, None) => Innermost::Nothing,
        }
    }
}

/// Answers the arguments as one stack, or else each line of standard input.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Stack) -> Result<u8, Failure> {
    let extra = Extra { candidates: args.signatures.signature.is_some(), ..Extra::default() };
    let symbolizer = symbolizer_with(&args.answering, &args.sources, extra)?;
    let words = args.words();
    let given = if words.addresses.is_empty() { Vec::new() } else { vec![words.addresses.join(" ")] };
    let code = match words.file {
        Some(path) => of_file(args, &symbolizer, path, given),
        None => of_process(args, &symbolizer, given),
    }?;
    crate::answer::open::tell_unused(&symbolizer);
    Ok(code)
}

/// Answers stacks over many modules.
fn of_process(args: &Stack, symbolizer: &Symbolizer, given: Vec<String>) -> Result<u8, Failure> {
    let mut process = Process::new(&args.sources)?;
    let mut session = Session::of_process(&args.answering).of_stacks(&args.signatures, args.fields)?;
    let mut worker = symbolizer.worker();
    worker.keep_texts(KEPT_TEXTS);
    session.run(given, |session, line| {
        if line.trim_start().starts_with('{') {
            let given = GivenStack::parse(line.as_bytes()).map_err(|error| {
                LineError::usage(json_problem(error.to_string(), error.line(), error.column()))
            })?;
            // First, so that an error has it too.
            session.echo.extend(given.echo().map(|(key, value)| (key.to_owned(), value)));
            if given.wants_signature() {
                session.sign_line();
            }
            let request = process.request(&given).map_err(|error| LineError::usage(error.to_string()))?;
            let innermost = request.vptr.map_or(Innermost::Nothing, Innermost::Vtable);
            return put(session, &mut worker, &request.modules, &request.frames, innermost);
        }
        let frames = process.stack(line).map_err(LineError::usage)?;
        put(session, &mut worker, process.modules(), &frames, Innermost::Nothing)
    })
}

/// Answers stacks of one file.
fn of_file(args: &Stack, symbolizer: &Symbolizer, path: &Path, given: Vec<String>) -> Result<u8, Failure> {
    let loaded = crate::answer::open::load(symbolizer, path)?;
    let mut source = Source::new(loaded, path, args.answering.base);
    let map = source.loaded.map.clone();
    let mut session =
        Session::new(path, map.file(), &args.answering).of_stacks(&args.signatures, args.fields)?;
    let mut worker = symbolizer.worker();
    worker.keep_texts(KEPT_TEXTS);
    session.run(given, |session, line| {
        // The line before may have set another base.
        session.space.base = args.answering.base;
        let stack = match line.trim_start().starts_with('{') {
            true => request(line, session, map.file().header()),
            false => parse(line, &session.space),
        };
        let stack = stack.map_err(LineError::usage)?;
        let modules = source.modules(session.space.base);
        put(session, &mut worker, modules, &stack.frames, stack.innermost())
    })
}

/// Puts the answer to one stack.
fn put(
    session: &mut Session,
    worker: &mut Worker<'_>,
    modules: &Modules,
    frames: &[StackFrame],
    innermost: Innermost<'_>,
) -> Result<(), LineError> {
    let start = session.out.text.len();
    let (query, form, with_frames) =
        (Query { modules, frames, innermost }, session.form(), session.has_frames());
    if session.json {
        session.out.text.extend_from_slice(if with_frames { b"{\"Frames\":[" } else { b"{" });
    }
    let (mut first, is_usual) = (true, session.is_usual());
    let each = |answer: &Answer, names: &mut Names<'_>| {
        if session.json && with_frames && !std::mem::take(&mut first) {
            session.out.text.push(b',');
        }
        session.put(answer, names, modules, None)?;
        // A line is kept in memory until it ends, so that an error can replace it. This bounds the memory.
        if session.out.text.len() - start > MAX_ANSWER {
            let message = format!("an answer of more than {MAX_ANSWER} bytes: give fewer frames a line");
            return Err(LineError::usage(message));
        }
        Ok(())
    };
    match form {
        // The text of an earlier answer has all keys, and no names for a signature.
        Form::Json if is_usual => worker.answer_json(query, each)?,
        _ => worker.answer(query, form, each)?,
    }
    if session.json {
        if with_frames {
            session.out.text.push(b']');
        }
        session.put_signature();
        session.end_object();
    } else {
        session.put_signature();
    }
    Ok(())
}

/// Reads a line.
///
/// # Errors
/// The fault of the line, for the user.
fn parse(line: &str, space: &Space) -> Result<Parsed, String> {
    let mut stack = Parsed { frames: Vec::new(), vptr: None, stopped: None };
    for (at, word) in line.split_ascii_whitespace().enumerate() {
        if stack.frames.len() == MAX_FRAMES && !word.starts_with("vptr=") {
            return Err(format!("more than {MAX_FRAMES} frames"));
        }
        if let Some(vptr) = word.strip_prefix("vptr=") {
            if at != 1 || stack.frames == [StackFrame::UNKNOWN] {
                return Err("vptr= belongs after the first address".to_owned());
            }
            stack.vptr = Some(space.parse_in(word, vptr)?);
        } else if word == "?" {
            stack.frames.push(StackFrame::UNKNOWN);
        } else if let Some(address) = word.strip_prefix('=') {
            stack.frames.push(StackFrame { place: space.parse_in(word, address)?, kind: AddressKind::Exact });
        } else {
            let kind = if at == 0 { AddressKind::Exact } else { AddressKind::Return };
            stack.frames.push(StackFrame { place: space.parse(word)?, kind });
        }
    }
    if stack.frames.is_empty() {
        return Err("a stack needs an address".to_owned());
    }
    Ok(stack)
}

/// The keys of a line that is a JSON object.
const KEYS: [&str; 5] = ["pcs", "regs", "mem", "base", "id"];

/// Reads a line that is a JSON object: what its answer repeats, the load bias of this line, and the stack.
///
/// # Errors
/// The fault of the line, for the user.
fn request(line: &str, session: &mut Session, header: &Header) -> Result<Parsed, String> {
    let json: Value = serde_json::from_str(line)
        .map_err(|error| json_problem(error.to_string(), error.line(), error.column()))?;
    // First, so that an error has it too.
    session.echo.extend(json.get("id").map(|id| ("id".to_owned(), id.to_string())));
    if let Some(base) = json.get("base") {
        let given = base.as_u64().or_else(|| number(base.as_str()?));
        session.space.base =
            given.ok_or_else(|| format!("\"base\": {} is not a number", shortened(&base.to_string())))?;
    }
    parse_object(&json, &session.space, header)
}

/// Reads `{"pcs": [...], "regs": {...}, "mem": [...]}`: the entries of a line, and the state of the innermost frame.
///
/// # Errors
/// The fault of the object, for the user.
fn parse_object(json: &Value, space: &Space, header: &Header) -> Result<Parsed, String> {
    if json.get("modules").is_some() {
        return Err(
            "\"modules\" is of a stack over many modules: leave out FILE, and say by --store, --search or \
                    --open-paths where their files are"
                .to_owned(),
        );
    }
    // Without this check, a misspelled `regs` would silently make the answer less certain.
    refuse_unknown(json, &KEYS)?;
    let entries =
        json.get("pcs").and_then(Value::as_array).ok_or("a stack needs \"pcs\", a list of addresses")?;
    let mut words = String::new();
    for entry in entries {
        match (entry.as_str(), entry.as_u64()) {
            (Some(word), _) if !word.is_empty() && !word.contains(char::is_whitespace) => {
                words.push_str(word)
            }
            (_, Some(number)) => words.push_str(&number.to_string()),
            _ => return Err(format!("\"pcs\": {} is not an address", shortened(&entry.to_string()))),
        }
        words.push(' ');
    }
    // Entries of `pcs` have the same grammar as the words of a line.
    let mut stack = parse(&words, space)?;
    if json.get("regs").is_some() || json.get("mem").is_some() {
        if stack.vptr.is_some() {
            return Err("vptr= says what \"regs\" and \"mem\" are to show: give one of them".to_owned());
        }
        let big_endian = header.flags & flags::BIG_ENDIAN != 0;
        stack.stopped = Some(Stopped::parse(json, header.machine, big_endian, true)?);
    }
    Ok(stack)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(given: u64) -> StackFrame {
        StackFrame::exact(given)
    }

    fn returns_to(given: u64) -> StackFrame {
        StackFrame::returns_to(given)
    }

    #[test]
    fn every_kind_of_entry() {
        let space = Space::default();
        let parsed = parse(" 0x10 vptr=0x100 0x20\t=0x30 ? 64 ", &space).unwrap();
        let frames = vec![exact(0x10), returns_to(0x20), exact(0x30), StackFrame::UNKNOWN, returns_to(64)];
        assert_eq!((parsed.frames, parsed.vptr), (frames, Some(ReportedAddress::Memory(0x100))));
        assert!(parsed.stopped.is_none());
        assert_eq!(parse("=16", &space).unwrap().frames, [exact(16)]);
    }

    #[test]
    fn objects() {
        let (space, header) = (Space::default(), Header { machine: 62, ..Header::default() });
        let parse = |text: &str| {
            let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            parse_object(&json, &space, &header)
        };
        let stack = parse(r#"{"pcs": ["0x10", 32, "?", "=48"], "regs": {"rdi": "0x5"}}"#).unwrap();
        assert_eq!(stack.frames, [exact(16), returns_to(32), StackFrame::UNKNOWN, exact(48)]);
        assert!(stack.stopped.is_some());
        let stack = parse(r#"{"pcs": ["0x10", "vptr=0x20"]}"#).unwrap();
        assert!(stack.vptr == Some(ReportedAddress::Memory(32)) && stack.stopped.is_none());
        for (text, says) in [
            (r#"{"modules": [], "frames": []}"#, "--store"),
            ("{", "EOF"),
            ("{}", "\"pcs\""),
            (r#"{"pcs": []}"#, "needs an address"),
            (r#"{"pcs": "0x10"}"#, "\"pcs\""),
            (r#"{"pcs": ["0x10"], "reg": {}}"#, "unknown key \"reg\""),
            (r#"{"pcs": [-1]}"#, "-1 is not an address"),
            (r#"{"pcs": [""]}"#, "is not an address"),
            (r#"{"pcs": ["0x10 0x20"]}"#, "is not an address"),
            (r#"{"pcs": ["0x10", "vptr=0x20"], "regs": {}}"#, "vptr="),
            (r#"{"pcs": ["0x10"], "regs": {"x0": 1}}"#, "\"x0\" is not a register"),
            (r#"{"pcs": ["0x10"], "mem": [{}]}"#, "\"addr\""),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn what_does_not_parse() {
        let space = Space::default();
        for line in [
            "",
            "  ",
            "x",
            "0x10 x",
            "vptr=0x10",
            "0x10 0x20 vptr=0x10",
            "? vptr=0x10",
            "0x10 vptr=",
            "=",
            "0x10 vptr=1 vptr=1",
        ] {
            assert!(parse(line, &space).is_err(), "{line:?}");
        }
        let more = "1 ".repeat(MAX_FRAMES - 1);
        for (first, fits) in [("1 ", true), ("1 vptr=1 ", true), ("1 1 ", false), ("1 vptr=1 1 ", false)] {
            let parsed = parse(&format!("{first}{more}"), &space).map(|parsed| parsed.frames.len());
            match fits {
                true => assert_eq!(parsed, Ok(MAX_FRAMES), "{first}"),
                false => assert!(parsed.unwrap_err().contains("frames"), "{first}"),
            }
        }
    }
}
