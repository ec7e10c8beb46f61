//! `--filter-markup`: copies a log, and replaces symbolizer markup by names and places. Output and errors for malformed elements are those
//! of `llvm-symbolizer`.
//!
//! Lines that declare modules and mappings become one line per module. Each line is answered by itself, as LLVM's tool does. `foldsym
//! filter` answers a backtrace as a whole, so that callers show which of several folded functions ran.

mod colors;
mod nodes;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::ops::Range;

use super::answer::{Answer, AnsweredLine};
use super::modules::Spot;
use super::options::{FunctionNames, Options};
use super::words::{build_id, number};
use super::{Requests, by_build_id, print};
use crate::io::failure::Failure;
use crate::io::input::{Lines, LogLine, STANDARD_INPUT};
use colors::Colors;
use nodes::{Node, nodes};

/// Modules, and mappings, that are kept; a log that declares more is not believed.
const MAX_DECLARED: usize = 1 << 16;

/// Errors of one line that are printed, since each prints the line.
const MAX_COMPLAINTS: usize = 64;

/// LLVM's text for an unknown mode.
const UNKNOWN: &[u8] = b"<invalid>";

/// A module that the log declared.
struct Declared {
    name: Vec<u8>,
    id: Vec<u8>,
}

/// A part of a module in memory.
struct Mapping {
    size: u64,
    module: u64,
    /// `r`, `w`, `x`.
    mode: Vec<u8>,
    /// The address in the module of its first byte.
    relative: u64,
}

/// A line about a module that is not ended: mappings that follow are added to it.
struct InfoLine {
    module: u64,
    /// Where the mappings begin.
    mappings: Vec<u64>,
}

/// The declarations up to a place of the log.
struct MarkupFilter {
    modules: BTreeMap<u64, Declared>,
    /// By their first address.
    mappings: BTreeMap<u64, Mapping>,
    info: Option<InfoLine>,
    colors: Colors,
    /// The line, with its end.
    line: Vec<u8>,
    /// Errors in the line so far.
    complaints: Cell<usize>,
}

impl Requests<'_> {
    /// Copies standard input.
    pub(super) fn filter_markup(mut self) -> Result<u8, Failure> {
        let options = self.options;
        let enabled = options.always_color || options.color.unwrap_or_else(|| io::stdout().is_terminal());
        let mut filter = MarkupFilter {
            modules: BTreeMap::new(),
            mappings: BTreeMap::new(),
            info: None,
            colors: Colors::new(enabled),
            line: Vec::new(),
            complaints: Cell::new(0),
        };
        let mut lines = Lines::of_log(io::stdin().lock(), STANDARD_INPUT);
        while let Some(line) = lines.next_of_log(|| self.out.flush())? {
            let out = &mut self.out;
            match line {
                LogLine::Text(text) => {
                    filter.line.clear();
                    filter.line.extend_from_slice(text);
                    filter.line.push(b'\n');
                }
                LogLine::Part(part, is_last) => {
                    filter.end_info(&mut out.text);
                    out.text.extend_from_slice(part);
                    out.text.extend(is_last.then_some(b'\n'));
                    out.give()?;
                    continue;
                }
            }
            self.filter_line(&mut filter);
            self.out.give()?;
        }
        filter.end_info(&mut self.out.text);
        filter.colors.reset(&mut self.out.text);
        self.out.flush()?;
        Ok(0)
    }

    fn filter_line(&mut self, filter: &mut MarkupFilter) {
        filter.complaints.set(0);
        filter.colors.reset(&mut self.out.text);
        let nodes = nodes(&filter.line);
        // An element that declares something takes the rest of its line with it.
        for (at, node) in nodes.iter().enumerate() {
            let before = &nodes[..at];
            match &filter.line[node.tag.clone()] {
                b"mmap" => return self.mmap(filter, node, before),
                b"reset" => return self.reset(filter, node, before),
                b"module" => return self.module(filter, node, before),
                _ => {}
            }
        }
        filter.end_info(&mut self.out.text);
        self.nodes(filter, &nodes);
    }

    fn mmap(&mut self, filter: &mut MarkupFilter, node: &Node, before: &[Node]) {
        let Some((start, mapping)) = filter.parse_mmap(node) else { return };
        if let Some((other, found)) = filter.overlapping(start, mapping.size) {
            let (module, end) = (found.module, other.wrapping_add(found.size).wrapping_sub(1));
            let message = format!("error: overlapping mmap: #{module:#x} [{other:#x}-{end:#x}]");
            return filter.complain(&message, node.fields[0].start);
        }
        // The user must see this: addresses in the mapping will have no answer.
        if filter.mappings.len() == MAX_DECLARED {
            return filter.complain("error: too many mmaps", node.fields[0].start);
        }
        // One of no bytes overlaps nothing, also where another begins at its address: the first stays.
        let module = filter.mappings.entry(start).or_insert(mapping).module;
        if filter.info.as_ref().is_none_or(|info| info.module != module) {
            filter.end_info(&mut self.out.text);
            self.nodes(filter, before);
            filter.begin_info(&mut self.out.text, module);
            self.out.text.extend_from_slice(b"; adds");
        }
        if let Some(info) = &mut filter.info {
            // `end_info` prints the mappings when the line ends, sorted by address.
            info.mappings.push(start);
        }
    }

    fn reset(&mut self, filter: &mut MarkupFilter, node: &Node, before: &[Node]) {
        if !filter.has_fields(node, 0) || (filter.modules.is_empty() && filter.mappings.is_empty()) {
            return;
        }
        filter.end_info(&mut self.out.text);
        self.nodes(filter, before);
        filter.put_raw(&mut self.out.text, node);
        self.out.text.extend_from_slice(filter.line_end());
        filter.modules.clear();
        filter.mappings.clear();
    }

    fn module(&mut self, filter: &mut MarkupFilter, node: &Node, before: &[Node]) {
        let Some((number, declared)) = filter.parse_module(node) else { return };
        if filter.modules.contains_key(&number) {
            return filter.complain("error: duplicate module ID", node.fields[0].start);
        }
        if filter.modules.len() == MAX_DECLARED {
            return filter.complain("error: too many modules", node.fields[0].start);
        }
        let id: String = declared.id.iter().map(|byte| format!("{byte:02x}")).collect();
        filter.modules.insert(number, declared);
        filter.end_info(&mut self.out.text);
        self.nodes(filter, before);
        let out = &mut self.out.text;
        filter.begin_info(out, number);
        out.extend_from_slice(b"; BuildID=");
        filter.colors.value(out, id.as_bytes());
    }

    /// Puts nodes of a line that declare nothing.
    fn nodes(&mut self, filter: &mut MarkupFilter, nodes: &[Node]) {
        for node in nodes {
            // Text has an empty tag, which passes this check.
            if !filter.line[node.tag.clone()].iter().all(u8::is_ascii_lowercase) {
                filter.complain("error: tags must be all lowercase characters", node.tag.start);
                continue;
            }
            let text = filter.line[node.text.clone()].to_vec();
            match &filter.line[node.tag.clone()] {
                b"symbol" => self.symbol(filter, node),
                b"pc" => self.pc(filter, node),
                b"bt" => self.bt(filter, node),
                b"data" => self.data(filter, node),
                _ if filter.colors.code(&mut self.out.text, &text) => {}
                _ => self.out.text.extend_from_slice(&text),
            }
        }
    }

    fn symbol(&mut self, filter: &MarkupFilter, node: &Node) {
        if !filter.has_fields(node, 1) {
            return;
        }
        let out = &mut self.out.text;
        filter.colors.highlight(out);
        let name = &filter.line[node.fields[0].clone()];
        // Names of Mach-O have one `_` more.
        let readable = foldsym_demangle::demangle(name)
            .or_else(|| name.strip_prefix(b"_").and_then(foldsym_demangle::demangle));
        out.extend_from_slice(readable.as_ref().map_or(name, |readable| readable.as_bytes()));
        filter.colors.restore(out);
    }

    fn pc(&mut self, filter: &MarkupFilter, node: &Node) {
        if !filter.has_at_least(node, 1) {
            return;
        }
        filter.warn_of_more(node, 2);
        let Some(given) = filter.address(&node.fields[0]) else { return };
        let Some(back) = filter.back(node, 1, false) else { return };
        let Some((_, answer)) = self.known(filter, node, given.wrapping_sub(back), self.options) else {
            return;
        };
        let options = self.options;
        let line = match options.functions {
            FunctionNames::Linkage => print::joined(answer.lines()),
            _ => answer.lines().first().cloned(),
        };
        let out = &mut self.out.text;
        match line.filter(is_known) {
            None => filter.put_raw(out, node),
            Some(line) => {
                let colors = &filter.colors;
                colors.highlight(out);
                colors.value(out, or_unknown(&line.function));
                out.push(b'[');
                colors.value(out, or_unknown(print::path_of(&line.file, options)));
                out.push(b':');
                colors.value(out, line.line.to_string().as_bytes());
                out.push(b']');
                colors.restore(out);
            }
        }
    }

    fn bt(&mut self, filter: &MarkupFilter, node: &Node) {
        if !filter.has_at_least(node, 2) {
            return;
        }
        filter.warn_of_more(node, 3);
        let Some(frame) = filter.number(&node.fields[0], "frame number", |text| {
            text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten()
        }) else {
            return;
        };
        let Some(given) = filter.address(&node.fields[1]) else { return };
        let Some(back) = filter.back(node, 2, true) else { return };
        let address = given.wrapping_sub(back);
        let Some((place, answer)) = self.known(filter, node, address, self.options) else { return };
        let (out, colors, options) = (&mut self.out.text, &filter.colors, self.options);
        let nothing = [AnsweredLine::default()];
        let lines = if answer.lines().is_empty() { &nothing } else { answer.lines() };
        colors.highlight(out);
        for (at, line) in lines.iter().enumerate() {
            let digits = frame.to_string();
            out.resize(out.len() + 5_usize.saturating_sub(digits.len()), b' ');
            out.push(b'#');
            colors.value(out, digits.as_bytes());
            let is_outermost = at + 1 == lines.len();
            match is_outermost {
                true => out.extend_from_slice(b"   "),
                false => {
                    out.push(b'.');
                    colors.value(out, format!("{:<2}", at + 1).as_bytes());
                }
            }
            colors.value(out, format!(" {address:#018x} ").as_bytes());
            if is_known(line) {
                colors.value(out, or_unknown(&line.function));
                out.push(b' ');
                colors.value(out, or_unknown(print::path_of(&line.file, options)));
                for number in [line.line, line.column] {
                    out.push(b':');
                    colors.value(out, number.to_string().as_bytes());
                }
                out.push(b' ');
            }
            out.push(b'(');
            colors.value(out, &place.name);
            out.push(b'+');
            colors.value(out, format!("{:#x}", place.relative).as_bytes());
            out.push(b')');
            if !is_outermost {
                out.extend_from_slice(filter.line_end());
            }
        }
        colors.restore(out);
    }

    /// A symbol file has no variables; of an address of code LLVM's tool gives the function, and so is done here.
    fn data(&mut self, filter: &MarkupFilter, node: &Node) {
        if !filter.has_fields(node, 1) {
            return;
        }
        let Some(address) = filter.address(&node.fields[0]) else { return };
        let options = Options { functions: FunctionNames::Linkage, ..self.options.clone() };
        let Some((_, answer)) = self.known(filter, node, address, &options) else { return };
        let out = &mut self.out.text;
        filter.colors.highlight(out);
        out.extend_from_slice(or_unknown(answer.lines().last().map_or(&[], |line| &line.function)));
        filter.colors.restore(out);
    }

    /// The answer for an address of the process. `None` if an error was printed, and the element.
    fn known(
        &mut self,
        filter: &MarkupFilter,
        node: &Node,
        address: u64,
        options: &Options,
    ) -> Option<(ModulePlace, Answer)> {
        let Some((module, relative)) = filter.place(address) else {
            filter.complain("error: no mmap covers address", node.fields[0].start);
            filter.put_raw(&mut self.out.text, node);
            return None;
        };
        let mut answer = Answer::default();
        let opened = match by_build_id(&module.id, options) {
            Some(path) => self.modules.open(&path),
            None => self.modules.open_build(&module.id),
        };
        // `place` has already translated the address to a link-time address of the module.
        let found = opened.and_then(|opened| opened.answer(Spot::image(relative), options, &mut answer));
        if let Err(message) = found {
            say(format!("error: {message}\n").as_bytes());
            filter.put_raw(&mut self.out.text, node);
            return None;
        }
        Some((ModulePlace { name: module.name.clone(), relative }, answer))
    }
}

/// An address of a module, by the name that the log gave the module.
struct ModulePlace {
    name: Vec<u8>,
    relative: u64,
}

fn is_known(line: &AnsweredLine) -> bool {
    !line.function.is_empty() || !line.file.is_empty()
}

fn or_unknown(text: &[u8]) -> &[u8] {
    if text.is_empty() { UNKNOWN } else { text }
}

/// Writes to standard error. A log may hold codes that a terminal would obey.
fn say(text: &[u8]) {
    let mut stderr = io::stderr().lock();
    let written = match stderr.is_terminal() {
        false => stderr.write_all(text),
        true => text.split_inclusive(|byte| *byte == b'\n').try_for_each(|line| {
            let mut escaped = Vec::new();
            let (line, end) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |line| (line, b"\n"));
            crate::io::escape::push_escaped(&mut escaped, line);
            escaped.extend_from_slice(end);
            stderr.write_all(&escaped)
        }),
    };
    // If standard error is closed, the error cannot be reported.
    let _ = written;
}

impl MarkupFilter {
    /// Prints an error, and its position in the line.
    fn complain(&self, message: &str, at: usize) {
        self.complaints.set(self.complaints.get() + 1);
        match self.complaints.get() {
            count if count < MAX_COMPLAINTS => {}
            MAX_COMPLAINTS => return say(b"error: further errors in this line are not shown\n"),
            _ => return,
        }
        let mut text = format!("{message}\n").into_bytes();
        text.extend_from_slice(&self.line);
        text.resize(text.len() + at, b' ');
        text.extend_from_slice(b"^\n");
        say(&text);
    }

    fn line_end(&self) -> &'static [u8] {
        if self.line.ends_with(b"\r\n") { b"\r\n" } else { b"\n" }
    }

    fn begin_info(&mut self, out: &mut Vec<u8>, module: u64) {
        self.colors.highlight(out);
        out.extend_from_slice(b"[[[ELF module");
        self.colors.value(out, format!(" #{module:#x} ").as_bytes());
        out.push(b'"');
        self.colors.value(out, self.modules.get(&module).map_or(&[], |module| &module.name));
        out.push(b'"');
        self.info = Some(InfoLine { module, mappings: Vec::new() });
    }

    fn end_info(&mut self, out: &mut Vec<u8>) {
        let Some(mut info) = self.info.take() else { return };
        // LLVM prints the mappings by address too, whatever their order in the log.
        info.mappings.sort_unstable();
        for start in &info.mappings {
            let Some(mapping) = self.mappings.get(start) else { continue };
            out.extend_from_slice(if info.mappings.first() == Some(start) { b" [" } else { b",[" });
            self.colors.value(out, format!("{start:#x}").as_bytes());
            out.push(b'-');
            let last = start.wrapping_add(mapping.size).wrapping_sub(1);
            self.colors.value(out, format!("{last:#x}").as_bytes());
            out.extend_from_slice(b"](");
            self.colors.value(out, &mapping.mode);
            out.push(b')');
        }
        out.extend_from_slice(b"]]]");
        out.extend_from_slice(self.line_end());
        self.colors.restore(out);
    }

    /// Puts an element that has no answer.
    fn put_raw(&self, out: &mut Vec<u8>, node: &Node) {
        self.colors.highlight(out);
        out.extend_from_slice(b"[[[");
        self.colors.value(out, &self.line[node.tag.clone()]);
        for field in &node.fields {
            out.push(b':');
            self.colors.value(out, &self.line[field.clone()]);
        }
        out.extend_from_slice(b"]]]");
        self.colors.restore(out);
    }

    fn parse_module(&self, node: &Node) -> Option<(u64, Declared)> {
        if !self.has_at_least(node, 3) {
            return None;
        }
        let id = self.number(&node.fields[0], "module ID", number)?;
        if &self.line[node.fields[2].clone()] != b"elf" {
            self.complain("error: unknown module type", node.fields[2].start);
            return None;
        }
        if !self.has_fields(node, 4) {
            return None;
        }
        let build_id = self.number(&node.fields[3], "build ID", build_id)?;
        Some((id, Declared { name: self.line[node.fields[1].clone()].to_vec(), id: build_id }))
    }

    fn parse_mmap(&self, node: &Node) -> Option<(u64, Mapping)> {
        if !self.has_at_least(node, 3) {
            return None;
        }
        let start = self.address(&node.fields[0])?;
        let size = self.number(&node.fields[1], "size", number)?;
        if &self.line[node.fields[2].clone()] != b"load" {
            self.complain("error: unknown mmap type", node.fields[2].start);
            return None;
        }
        if !self.has_fields(node, 6) {
            return None;
        }
        let module = self.number(&node.fields[3], "module ID", number)?;
        let mode = self.number(&node.fields[4], "mode", mode)?;
        if !self.modules.contains_key(&module) {
            self.complain("error: unknown module ID", node.fields[3].start);
            return None;
        }
        let relative = self.address(&node.fields[5])?;
        Some((start, Mapping { size, module, mode, relative }))
    }

    /// Reads a field; if it is malformed, prints what was expected.
    fn number<T>(&self, field: &Range<usize>, what: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = &self.line[field.clone()];
        let read = std::str::from_utf8(text).ok().filter(|text| !text.is_empty()).and_then(read);
        if read.is_none() {
            let message = format!("error: expected {what}; found '{}'", String::from_utf8_lossy(text));
            self.complain(&message, field.start);
        }
        read
    }

    fn address(&self, field: &Range<usize>) -> Option<u64> {
        self.number(field, "address", |text| match text.strip_prefix("0x") {
            _ if text.bytes().all(|digit| digit == b'0') => Some(0),
            Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
            _ => None,
        })
    }

    /// The number that is subtracted from an address: 1 for a return address, so that the result is inside the call.
    fn back(&self, node: &Node, last: usize, default: bool) -> Option<u64> {
        // LLVM's tool reads no kind from an element with more fields.
        let is_return = match node.fields.get(last) {
            Some(field) if node.fields.len() == last + 1 => {
                self.number(field, "PC type", |text| match text {
                    "ra" => Some(true),
                    "pc" => Some(false),
                    _ => None,
                })?
            }
            _ => default,
        };
        Some(u64::from(is_return))
    }

    /// Whether an element has at least this many fields. Prints an error if it has fewer, and a warning if it has more.
    fn has_fields(&self, node: &Node, count: usize) -> bool {
        let found = node.fields.len();
        if found != count {
            let word = if found > count { "warning" } else { "error" };
            self.complain(&format!("{word}: expected {count} field(s); found {found}"), node.tag.end);
        }
        found >= count
    }

    fn has_at_least(&self, node: &Node, count: usize) -> bool {
        let found = node.fields.len();
        if found < count {
            let message = format!("error: expected at least {count} field(s); found {found}");
            self.complain(&message, node.tag.end);
        }
        found >= count
    }

    fn warn_of_more(&self, node: &Node, count: usize) {
        let found = node.fields.len();
        if found > count {
            let message = format!("warning: expected at most {count} field(s); found {found}");
            self.complain(&message, node.tag.end);
        }
    }

    /// A mapping with an address that one of `size` bytes at `start` would have too.
    fn overlapping(&self, start: u64, size: u64) -> Option<(u64, &Mapping)> {
        let behind =
            self.mappings.range((std::ops::Bound::Excluded(start), std::ops::Bound::Unbounded)).next();
        // The kept mappings do not overlap each other, so only the two neighbours can overlap the new one.
        let behind = behind.filter(|(other, _)| **other < start.wrapping_add(size));
        let before =
            || self.mappings.range(..=start).next_back().filter(|(other, of)| has(**other, of, start));
        behind.or_else(before).map(|(other, of)| (*other, of))
    }

    /// The module of an address of the process, and the address in it.
    fn place(&self, address: u64) -> Option<(&Declared, u64)> {
        // Mappings do not overlap, so no earlier one can contain the address.
        let (start, mapping) = self.mappings.range(..=address).next_back()?;
        let module = self.modules.get(&mapping.module).filter(|_| has(*start, mapping, address))?;
        Some((module, address.wrapping_sub(*start).wrapping_add(mapping.relative)))
    }
}

fn has(start: u64, mapping: &Mapping, address: u64) -> bool {
    start <= address && address < start.wrapping_add(mapping.size)
}

/// Letters of a mode, each at most once, in this order.
fn mode(text: &str) -> Option<Vec<u8>> {
    let lower = text.to_ascii_lowercase();
    let rest =
        ["r", "w", "x"].iter().fold(lower.as_str(), |rest, letter| rest.strip_prefix(letter).unwrap_or(rest));
    rest.is_empty().then(|| lower.clone().into_bytes())
}
