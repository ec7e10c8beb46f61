//! Prints answers as `llvm-symbolizer` (styles LLVM, GNU and JSON) and GNU `addr2line` print them, byte for byte.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::answer::{Answer, AnsweredLine};
use super::bytes::shown;
use super::options::{FunctionNames, Options, ToolStyle};
use super::request::Kind;
use crate::commands::tool::Tool;

/// The subject of a request, for the printers that repeat it.
pub(super) struct Asked<'r> {
    pub(super) kind: Kind,
    /// The path or build id as it was given.
    pub(super) module: &'r str,
    /// As it was given, before options adjust it.
    pub(super) address: Option<u64>,
    /// The symbol, if no address was given.
    pub(super) symbol: Option<&'r str>,
    /// Hexadecimal digits of an address of the module, as GNU prints it.
    pub(super) digits: usize,
}

/// The text that is printed, and the JSON objects that wait for the end.
pub(super) struct Printer<'o> {
    options: &'o Options,
    /// The objects of requests on the command line, which are one array.
    array: Option<Vec<Value>>,
}

impl<'o> Printer<'o> {
    pub(super) fn new(options: &'o Options) -> Printer<'o> {
        // LLVM prints one array for the command line, and an object for each line of standard input.
        let is_array = options.style == ToolStyle::Json && !options.requests.is_empty();
        Printer { options, array: is_array.then(Vec::new) }
    }

    /// Puts the answer to a request.
    pub(super) fn answer(&mut self, out: &mut Vec<u8>, asked: &Asked<'_>, answer: &Answer) {
        let lines = match asked.symbol {
            Some(_) if !answer.lines().is_empty() => Cow::Borrowed(answer.lines()),
            _ => self.chosen(answer.lines()),
        };
        if self.options.style == ToolStyle::Json {
            let object = self.object(asked, &lines, answer);
            return self.put(out, object);
        }
        self.header(out, asked);
        match asked.kind {
            Kind::Code => {
                for (at, line) in lines.iter().enumerate() {
                    self.line(out, line, at > 0 && asked.symbol.is_none());
                }
            }
            Kind::Data => answer.variable.clone().unwrap_or_default().put_text(out, false),
            Kind::Frame => out.extend_from_slice(b"??\n"),
        }
        self.footer(out);
    }

    /// Puts an error in place of the answer. In JSON an error of the module is an object of its own.
    pub(super) fn error(&mut self, out: &mut Vec<u8>, asked: &Asked<'_>, message: &str) {
        let mut object = Map::new();
        if let Some(address) = asked.address {
            object.insert("Address".to_owned(), hex(address));
        }
        if let Some(symbol) = asked.symbol {
            object.insert("SymName".to_owned(), shown(symbol).into());
        }
        object.insert("ModuleName".to_owned(), shown(asked.module).into());
        object.insert("Error".to_owned(), json!({ "Message": shown(message) }));
        self.put(out, Value::Object(object));
    }

    /// Puts what ends the answers to the command line.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if let Some(array) = self.array.take() {
            self.write(out, &Value::Array(array));
        }
    }

    /// The lines that options select: only one if inlined functions are not requested.
    fn chosen<'l>(&self, lines: &'l [AnsweredLine]) -> Cow<'l, [AnsweredLine]> {
        match self.options {
            // An unknown address gets one line of `??`, or in JSON one object with empty texts.
            _ if lines.is_empty() => vec![AnsweredLine::default()].into(),
            options if options.inlines => lines.into(),
            options if options.style == ToolStyle::Gnu || options.functions != FunctionNames::Linkage => {
                lines[..1].into()
            }
            _ => joined(lines).into_iter().collect(),
        }
    }

    fn header(&self, out: &mut Vec<u8>, asked: &Asked<'_>) {
        let Some(address) = asked.address.filter(|_| self.options.addresses) else { return };
        let text = match self.options.tool {
            Tool::GnuAddr2line => format!("0x{address:0width$x}", width = asked.digits),
            _ => format!("{address:#x}"),
        };
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(if self.options.pretty { b": " } else { b"\n" });
    }

    fn footer(&self, out: &mut Vec<u8>) {
        if self.options.style == ToolStyle::Llvm {
            out.push(b'\n');
        }
    }

    fn line(&self, out: &mut Vec<u8>, line: &AnsweredLine, inlined: bool) {
        let options = self.options;
        let gnu = options.tool == Tool::GnuAddr2line;
        let unknown = line.function.is_empty() && line.file.is_empty();
        if options.pretty && inlined && (gnu || options.functions != FunctionNames::None) {
            out.extend_from_slice(b" (inlined by) ");
        }
        if options.functions != FunctionNames::None {
            out.extend_from_slice(or_unknown(&line.function));
            out.extend_from_slice(match options.pretty {
                // GNU's tool prints no `at` before `??:0`.
                true if gnu && unknown => b" ",
                true => b" at ",
                false => b"\n",
            });
        }
        if options.verbose {
            return self.verbose(out, line);
        }
        out.extend_from_slice(or_unknown(self.path(&line.file)));
        out.push(b':');
        match line.line {
            // GNU's own tool distinguishes an address in a function without lines from an address without a function.
            0 if gnu && !unknown => out.push(b'?'),
            number => foldsym_symbolize::json::number(out, number),
        }
        if options.style == ToolStyle::Llvm {
            out.push(b':');
            foldsym_symbolize::json::number(out, line.column);
        }
        if line.is_approximate {
            out.extend_from_slice(b" (approximate)");
        }
        out.push(b'\n');
        if options.context > 0 {
            out.extend_from_slice(self.source(line).as_bytes());
        }
    }

    fn verbose(&self, out: &mut Vec<u8>, line: &AnsweredLine) {
        let mut field = |name: &str, value: &[u8]| {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(value);
            out.push(b'\n');
        };
        field("  Filename: ", or_unknown(self.path(&line.file)));
        if line.start_line > 0 {
            field("  Function start filename: ", self.path(&line.start_file));
            field("  Function start line: ", line.start_line.to_string().as_bytes());
        }
        if let Some(start) = line.start.filter(|_| self.options.style == ToolStyle::Llvm) {
            field("  Function start address: ", format!("{start:#x}").as_bytes());
        }
        field("  Line: ", line.line.to_string().as_bytes());
        field("  Column: ", line.column.to_string().as_bytes());
        if line.is_approximate {
            field("  Approximate: ", b"true");
        }
    }

    fn path<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        path_of(path, self.options)
    }

    /// Lines of the source file, if it can be read.
    fn source(&self, line: &AnsweredLine) -> String {
        let (count, at) = (self.options.context, u64::from(line.line));
        if count == 0 {
            return String::new();
        }
        // As LLVM does: of line 0 the file's first lines, and with `--basenames` the file of that name here.
        let Ok(path) = std::str::from_utf8(self.path(&line.file)) else { return String::new() };
        let Some(text) = source_text(path) else { return String::new() };
        let text = String::from_utf8_lossy(&text);
        // The function's line is in the middle of the printed lines.
        let first = at.saturating_sub(count / 2).max(1);
        let last = first.saturating_add(count - 1);
        // As LLVM counts the digits of the last line: one too few for a power of ten.
        let width = (last as f64).log10().ceil() as usize;
        let numbered = (1_u64..).zip(text.lines()).skip_while(|(number, _)| *number < first);
        let mut shown = String::new();
        for (number, text) in numbered.take_while(|(number, _)| *number <= last) {
            let mark = if number == at { " >: " } else { "  : " };
            shown.push_str(&format!("{number:<width$}{mark}{text}\n"));
        }
        shown
    }

    fn object(&self, asked: &Asked<'_>, lines: &[AnsweredLine], answer: &Answer) -> Value {
        let mut object = Map::new();
        if let Some(address) = asked.address {
            object.insert("Address".to_owned(), hex(address));
        }
        if let Some(symbol) = asked.symbol {
            object.insert("SymName".to_owned(), shown(symbol).into());
        }
        object.insert("ModuleName".to_owned(), shown(asked.module).into());
        let known = lines.iter().any(|line| !line.function.is_empty() || !line.file.is_empty());
        let frames = || lines.iter().map(|line| self.frame(line)).collect::<Vec<Value>>();
        let (key, value) = match asked.kind {
            // LLVM uses another key for answers to a symbol.
            Kind::Code if asked.symbol.is_some() => ("Loc", if known { frames() } else { Vec::new() }.into()),
            Kind::Code => ("Symbol", frames().into()),
            Kind::Data => {
                let known = answer.variable.clone().unwrap_or_default();
                let name = String::from_utf8_lossy(&known.name).into_owned();
                ("Data", json!({ "Name": name, "Size": hex(known.size), "Start": hex(known.start) }))
            }
            Kind::Frame => ("Frame", json!([])),
        };
        object.insert(key.to_owned(), value);
        if let Some((certainty, count)) = answer.folded.filter(|_| asked.kind == Kind::Code) {
            object.insert("Certainty".to_owned(), certainty.into());
            object.insert("CandidateCount".to_owned(), count.into());
        }
        Value::Object(object)
    }

    fn frame(&self, line: &AnsweredLine) -> Value {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut frame = json!({
            "Column": line.column,
            "Discriminator": 0,
            "FileName": text(self.path(&line.file)),
            "FunctionName": text(&line.function),
            "Line": line.line,
            "StartAddress": line.start.map_or_else(|| "".into(), hex),
            "StartFileName": text(self.path(&line.start_file)),
            "StartLine": line.start_line,
        });
        if line.is_approximate {
            frame["Approximate"] = true.into();
        }
        let source = self.source(line);
        if !source.is_empty() {
            frame["Source"] = source.into();
        }
        frame
    }

    fn put(&mut self, out: &mut Vec<u8>, object: Value) {
        match &mut self.array {
            Some(array) => array.push(object),
            None => self.write(out, &object),
        }
    }

    fn write(&self, out: &mut Vec<u8>, value: &Value) {
        let text = if self.options.pretty { format!("{value:#}") } else { value.to_string() };
        out.extend_from_slice(text.as_bytes());
        out.push(b'\n');
    }
}

/// A path as options want it.
pub(super) fn path_of<'p>(path: &'p [u8], options: &Options) -> &'p [u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) if options.basenames => &path[slash + 1..],
        _ => path,
    }
}

/// The function that was compiled, at the line that runs: what LLVM answers without inlined functions.
pub(super) fn joined(lines: &[AnsweredLine]) -> Option<AnsweredLine> {
    let (innermost, outermost) = (lines.first()?, lines.last()?);
    Some(AnsweredLine { function: outermost.function.clone(), start: outermost.start, ..innermost.clone() })
}

fn or_unknown(text: &[u8]) -> &[u8] {
    if text.is_empty() { b"??" } else { text }
}

fn hex(address: u64) -> Value {
    format!("{address:#x}").into()
}

/// Bytes of a source file that are read, at most: a path of debug information may name a file of any length.
const MAX_SOURCE: u64 = 64 << 20;

/// The bytes of a regular file; nothing if it is longer than [`MAX_SOURCE`]. A pipe or a device would never end.
fn source_text(path: &str) -> Option<Vec<u8>> {
    use std::io::Read;

    let mut text = Vec::new();
    let file = foldsym_symbolize::open_regular(path.as_ref()).ok()?;
    file.metadata().ok().filter(|data| data.len() <= MAX_SOURCE)?;
    file.take(MAX_SOURCE + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= MAX_SOURCE).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{MAX_SOURCE, source_text};

    #[test]
    fn sources_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.c");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(MAX_SOURCE).unwrap();
        assert_eq!(source_text(path.to_str().unwrap()).map(|text| text.len() as u64), Some(MAX_SOURCE));
        file.set_len(MAX_SOURCE + 1).unwrap();
        assert_eq!(source_text(path.to_str().unwrap()), None);
        assert_eq!(source_text("/dev/zero"), None);
    }
}
