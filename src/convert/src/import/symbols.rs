//! Turns the lines of a Breakpad symbol file into its tables: what a FUNC has, by the order of the lines.

use super::records::{SymRecord, ranges, record};
use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::MAX_PIECE;
use crate::util::hash::HashMap;

/// A file with more lines that cannot be read is refused: it is damaged, or of another format.
const MOST_BAD_LINES: usize = 100;
/// The problems that a message has; the others count.
const SHOWN_BAD_LINES: usize = 8;

/// A function, or one range of it: writers repeat a FUNC for each range.
#[derive(Clone, Debug)]
pub(super) struct FunctionRecord<'f> {
    pub(super) address: u64,
    /// Bytes of code, at least 1.
    pub(super) len: u32,
    /// Other symbols have this code, too, and the file does not name them.
    pub(super) shared: bool,
    pub(super) name: &'f [u8],
    /// Index ranges into [`SymTables::lines`] and [`SymTables::inlines`].
    pub(super) lines: std::ops::Range<usize>,
    pub(super) inlines: std::ops::Range<usize>,
    /// Where its line begins in the file.
    pub(super) offset: u64,
}

impl FunctionRecord<'_> {
    pub(super) fn end(&self) -> u64 {
        self.address + u64::from(self.len)
    }
}

/// A line record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) address: u64,
    pub(super) end: u64,
    pub(super) line: u32,
    pub(super) file: u32,
}

/// One range of an INLINE record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inline {
    pub(super) address: u64,
    pub(super) end: u64,
    pub(super) depth: u32,
    pub(super) call_line: u32,
    pub(super) call_file: Option<u32>,
    pub(super) origin: u32,
}

/// A PUBLIC record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Public<'f> {
    pub(super) address: u64,
    pub(super) shared: bool,
    pub(super) name: &'f [u8],
    pub(super) offset: u64,
}

/// A STACK CFI INIT record, with the index range of its changes in [`SymTables::frame_changes`].
#[derive(Clone, Debug)]
pub(super) struct FrameStart<'f> {
    pub(super) address: u64,
    pub(super) end: u64,
    pub(super) rules: &'f [u8],
    pub(super) changes: std::ops::Range<usize>,
    pub(super) offset: u64,
}

/// The MODULE record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Module<'f> {
    pub(super) os: &'f [u8],
    pub(super) arch: &'f [u8],
    pub(super) id: &'f [u8],
    pub(super) name: &'f [u8],
}

/// A name and a file of an INLINE_ORIGIN record.
pub(super) type InlineOrigin<'f> = (&'f [u8], Option<u32>);

/// The tables of a file.
#[derive(Default)]
pub(super) struct SymTables<'f> {
    pub(super) module: Module<'f>,
    pub(super) code_id: &'f [u8],
    /// The name of the program's file; empty without one.
    pub(super) code_file: &'f [u8],
    pub(super) files: HashMap<u32, &'f [u8]>,
    pub(super) origins: HashMap<u32, InlineOrigin<'f>>,
    /// In the order of the file.
    pub(super) functions: Vec<FunctionRecord<'f>>,
    pub(super) lines: Vec<Line>,
    pub(super) inlines: Vec<Inline>,
    pub(super) publics: Vec<Public<'f>>,
    pub(super) frames: Vec<FrameStart<'f>>,
    /// Address and rules.
    pub(super) frame_changes: Vec<(u64, &'f [u8])>,
}

/// Which record the next line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belonging {
    Nothing,
    /// The last of [`SymTables::functions`].
    Function,
    /// A FUNC that was left out: its lines are left out with it.
    LeftOut,
    /// The last of [`SymTables::frames`].
    Frame,
    /// The same for a STACK CFI INIT.
    LeftOutFrame,
}

/// Reads all lines. Lines that cannot be read are left out and counted.
///
/// # Errors
/// The number of the line at which reading ended, from 1, and the problem: the first line is no MODULE, or too many lines cannot be read.
pub(super) fn symbols<'f>(
    text: &'f [u8],
    diagnostics: &mut Diagnostics,
) -> Result<SymTables<'f>, (usize, String)> {
    let mut reader = LineReader {
        symbols: SymTables::default(),
        diagnostics,
        within: Belonging::Nothing,
        depth: None,
        offset: 0,
    };
    let mut bad: Vec<(usize, &'static str, u64)> = Vec::new();
    for (at, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let whole = line.ends_with(b"\n");
        let read = match record(line) {
            Ok(SymRecord::Nothing) => Ok(()),
            // What is left of a line may be a line of another meaning.
            Ok(_) if !whole => Err("the last line has no end: the file was cut short"),
            Ok(SymRecord::Module { os, arch, id, name }) if at == 0 => {
                reader.symbols.module = Module { os, arch, id, name };
                Ok(())
            }
            _ if at == 0 => {
                return Err((1, "expected MODULE, system, processor, identifier and name".into()));
            }
            Ok(record) => reader.take(record),
            Err(problem) => Err(problem),
        };
        if let Err(problem) = read {
            if bad.len() == MOST_BAD_LINES {
                let problem = format!("{problem}; {MOST_BAD_LINES} lines before it cannot be read either");
                return Err((at + 1, problem));
            }
            bad.push((at + 1, problem, reader.offset));
        }
        reader.offset += line.len() as u64;
    }
    if reader.offset == 0 {
        return Err((1, "an empty file".into()));
    }
    let symbols = reader.symbols;
    for &(.., offset) in &bad {
        diagnostics.add(Kind::BadRecord, offset, || shown(&bad));
    }
    Ok(symbols)
}

/// The first lines that cannot be read.
fn shown(bad: &[(usize, &'static str, u64)]) -> String {
    let lines = bad.iter().take(SHOWN_BAD_LINES).map(|(line, problem, _)| format!("line {line}: {problem}"));
    let mut text = lines.collect::<Vec<_>>().join("; ");
    if bad.len() > SHOWN_BAD_LINES {
        text += &format!("; and {} more", bad.len() - SHOWN_BAD_LINES);
    }
    text
}

struct LineReader<'f, 'd> {
    symbols: SymTables<'f>,
    diagnostics: &'d mut Diagnostics,
    within: Belonging,
    /// The depth of the INLINE before, in this FUNC.
    depth: Option<u32>,
    /// Where the line begins.
    offset: u64,
}

impl<'f> LineReader<'f, '_> {
    fn take(&mut self, record: SymRecord<'f>) -> Result<(), &'static str> {
        let symbols = &mut self.symbols;
        match record {
            SymRecord::Module { .. } => return Err("a second MODULE"),
            SymRecord::Nothing => {}
            SymRecord::CodeId(id, file) => (symbols.code_id, symbols.code_file) = (id, file),
            SymRecord::File { number, name } => drop(symbols.files.insert(number, name)),
            // They may stand inside of a FUNC, and do not end it.
            SymRecord::InlineOrigin { number, file, name } => {
                symbols.origins.insert(number, (name, file));
            }
            SymRecord::StackWin => {
                self.within = Belonging::Nothing;
                self.diagnostics.add(Kind::StackWin, self.offset, || at(self.offset));
            }
            SymRecord::Public { shared, address, name } => {
                self.within = Belonging::Nothing;
                symbols.publics.push(Public { address, shared, name, offset: self.offset });
            }
            SymRecord::Function { shared, address, size, name } => {
                self.within = Belonging::LeftOut;
                let Some(len) = self.code(address, size)? else { return Ok(()) };
                let symbols = &mut self.symbols;
                (self.within, self.depth) = (Belonging::Function, None);
                let (lines, inlines) = (symbols.lines.len(), symbols.inlines.len());
                symbols.functions.push(FunctionRecord {
                    address,
                    len,
                    shared,
                    name,
                    lines: lines..lines,
                    inlines: inlines..inlines,
                    offset: self.offset,
                });
            }
            SymRecord::Line { address, size, line, file } => return self.line((address, size), line, file),
            SymRecord::Inline { depth, line, file, origin, ranges: text } => {
                let inline = Inline { address: 0, end: 0, depth, call_line: line, call_file: file, origin };
                return self.inline(inline, text);
            }
            SymRecord::FrameStart { address, size, rules } => {
                self.within = Belonging::LeftOutFrame;
                let end = address.checked_add(size).ok_or("STACK CFI INIT: code beyond the last address")?;
                if size == 0 {
                    self.diagnostics.add(Kind::EmptyRange, self.offset, || at(self.offset));
                    return Ok(());
                }
                self.within = Belonging::Frame;
                let changes = symbols.frame_changes.len();
                let changes = changes..changes;
                symbols.frames.push(FrameStart { address, end, rules, changes, offset: self.offset });
            }
            SymRecord::FrameChange { address, rules } => match (self.within, symbols.frames.last_mut()) {
                (Belonging::LeftOutFrame, _) => {}
                (Belonging::Frame, Some(start)) => {
                    symbols.frame_changes.push((address, rules));
                    start.changes.end += 1;
                }
                _ => return Err("STACK CFI without a STACK CFI INIT before it"),
            },
        }
        Ok(())
    }

    /// The bytes of a FUNC that are kept; `None` if it has none.
    fn code(&mut self, address: u64, size: u64) -> Result<Option<u32>, &'static str> {
        address.checked_add(size).ok_or("FUNC: code beyond the last address")?;
        if size == 0 {
            self.diagnostics.add(Kind::EmptyRange, self.offset, || at(self.offset));
            return Ok(None);
        }
        if size > MAX_PIECE {
            self.diagnostics.add(Kind::Cap(Cap::RangeBytes), self.offset, || {
                format!("{}: a FUNC of {size:#x} bytes", at(self.offset))
            });
        }
        Ok(Some(size.min(MAX_PIECE) as u32))
    }

    fn line(&mut self, (address, size): (u64, u64), line: u32, file: u32) -> Result<(), &'static str> {
        let end = address.checked_add(size).ok_or("a line record beyond the last address")?;
        match (self.within, self.symbols.functions.last_mut()) {
            (Belonging::LeftOut, _) => {}
            (Belonging::Function, Some(function)) => {
                // Linkers and PDB files leave line records without code.
                if size == 0 {
                    self.diagnostics.add(Kind::EmptyRange, self.offset, || at(self.offset));
                    return Ok(());
                }
                self.symbols.lines.push(Line { address, end, line, file });
                function.lines.end += 1;
            }
            _ => return Err("a line record without a FUNC before it"),
        }
        Ok(())
    }

    fn inline(&mut self, inline: Inline, text: &'f [u8]) -> Result<(), &'static str> {
        let SymTables { functions, inlines, .. } = &mut self.symbols;
        let (Belonging::Function, Some(function)) = (self.within, functions.last_mut()) else {
            return if self.within == Belonging::LeftOut {
                Ok(())
            } else {
                Err("INLINE without a FUNC before it")
            };
        };
        // The parent of a call is the call before it with the depth above.
        if inline.depth > self.depth.map_or(0, |depth| depth.saturating_add(1)) {
            self.diagnostics.add(Kind::StrayInline, self.offset, || at(self.offset));
            return Ok(());
        }
        self.depth = Some(inline.depth);
        let first = inlines.len();
        for range in ranges(text) {
            let range = range.and_then(|(address, size)| {
                let end = address.checked_add(size).ok_or("INLINE: code beyond the last address")?;
                Ok((address, end))
            });
            let (address, end) = match range {
                Ok(range) => range,
                Err(problem) => {
                    inlines.truncate(first);
                    return Err(problem);
                }
            };
            if end > address {
                inlines.push(Inline { address, end, ..inline });
            } else {
                self.diagnostics.add(Kind::EmptyRange, self.offset, || at(self.offset));
            }
        }
        function.inlines.end = inlines.len();
        Ok(())
    }
}

/// Text of the file for a message: without control characters, and cut.
pub(super) fn quoted(text: &[u8]) -> String {
    text[..text.len().min(200)].escape_ascii().to_string()
}

/// A place in the file, for a diagnostic.
pub(super) fn at(offset: u64) -> String {
    format!("at byte {offset:#x} of the file")
}
