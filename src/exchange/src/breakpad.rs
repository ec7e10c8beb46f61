//! Writes Breakpad's text symbol file: `MODULE`, `INFO CODE_ID`, `FILE`, `INLINE_ORIGIN`, `FUNC` with `INLINE` and lines, and `STACK CFI`
//! if there are rows of call frame information.
//!
//! The format has one name for an address. So a group of folded functions becomes one `FUNC` with the mark `m` and the name of its first
//! function.

use std::io::Write;

use foldsym_lookup::{FileId, NameId, SymbolFile};
use foldsym_unwind::Unwind;
use rustc_hash::FxHashMap;

use crate::code::{FunctionCode, Source};
use crate::{ExportError, Summary, at_most, stack_cfi};

/// The longest text of a record, in bytes: readers have buffers of a fixed size (minidump-stackwalk's holds a line of 80 KiB,
/// and it skips longer lines).
const MAX_TEXT: usize = 65_535;

/// The most ranges of one `INLINE` record, so that the record fits the same buffers.
const MAX_RANGES: usize = 1024;

/// A number that no `FILE` record has, for an unknown file. It is positive as a signed number, too.
const NO_FILE: usize = 0x7fff_ffff;

/// The fields of the file's first line, which describes the module.
#[derive(Clone, Debug)]
pub struct BreakpadModule<'m> {
    /// The base name of the program.
    pub name: &'m str,
    /// The operating system: `Linux`, `mac`, `Android`, ...
    pub os: &'m str,
    /// The identifier: 32 hexadecimal digits of the GUID, then those of the age.
    pub debug_id: &'m str,
}

/// Writes a `.fsym` as a Breakpad symbol file. `readable` turns a linkage name into a readable one, or returns `None` to keep it. `unwind`
/// has the rows of call frame information, usually those of the file itself ([`SymbolFile::unwind`]).
///
/// # Errors
/// The `.fsym` is damaged, or repeats itself too often; a function has 2^32 bytes or more, which readers refuse; or `out` cannot be
/// written.
pub fn write_breakpad(
    file: &SymbolFile<'_>,
    module: &BreakpadModule<'_>,
    readable: &dyn Fn(&[u8]) -> Option<String>,
    unwind: Option<&Unwind<'_>>,
    out: &mut dyn Write,
) -> Result<Summary, ExportError> {
    let source = Source::new(file);
    let mut writer = BreakpadWriter {
        source: &source,
        readable,
        base: file.image_base().0,
        files: Vec::new(),
        file_numbers: FxHashMap::default(),
        origins: Vec::new(),
        origin_numbers: FxHashMap::default(),
        functions: Vec::new(),
        summary: Summary::default(),
    };
    source.each(|code| {
        let Some(first) = code.functions.first() else { return Ok(()) };
        at_most(code.len, u32::MAX.into(), "bytes of a function")?;
        writer.summary.ranges += 1;
        writer.summary.functions += code.functions.len() as u64;
        writer.summary.merged += code.functions.len() as u64 - 1;
        writer.function(first, code.start, code.len, code.functions.len() > 1)
    })?;
    writeln!(
        out,
        "MODULE {} {} {} {}",
        one_word(module.os),
        processor(file),
        module.debug_id,
        one_line(module.name)
    )?;
    if !file.build_id().is_empty() {
        let id: String = file.build_id().iter().map(|byte| format!("{byte:02X}")).collect();
        writeln!(out, "INFO CODE_ID {id}")?;
    }
    for (number, path) in writer.files.iter().enumerate() {
        writeln!(out, "FILE {number} {path}")?;
    }
    for (number, name) in writer.origins.iter().enumerate() {
        writeln!(out, "INLINE_ORIGIN {number} {name}")?;
    }
    out.write_all(&writer.functions)?;
    if let Some(unwind) = unwind {
        writer.summary.frame_rows_left_out =
            stack_cfi::write(unwind, file.header().machine, file.image_base().0, out)?;
    }
    Ok(writer.summary)
}

struct BreakpadWriter<'f> {
    source: &'f Source<'f>,
    readable: &'f dyn Fn(&[u8]) -> Option<String>,
    /// The address to which addresses in the file are relative.
    base: u64,
    files: Vec<String>,
    file_numbers: FxHashMap<FileId, usize>,
    origins: Vec<String>,
    origin_numbers: FxHashMap<Option<NameId>, usize>,
    /// The `FUNC`, `INLINE` and line records, which follow the tables.
    functions: Vec<u8>,
    summary: Summary,
}

impl BreakpadWriter<'_> {
    fn function(
        &mut self,
        function: &FunctionCode,
        start: u64,
        len: u64,
        shared: bool,
    ) -> Result<(), ExportError> {
        let start = start.wrapping_sub(self.base);
        let name = self.name(function.name)?;
        let mark = if shared { "m " } else { "" };
        // The size of the parameters is 0: only unwinding of 32-bit Windows programs uses it.
        self.line(&format!("FUNC {mark}{start:x} {len:x} 0 {name}"));
        // Node 0 is the function itself, so its children have depth 0 in this format.
        for node in function.nodes.iter().skip(1).filter(|node| !node.ranges.is_empty()) {
            let depth = node.depth - 1;
            let origin = self.origin(node.name)?;
            let call_file = self.path(node.call_file.or_else(|| function.rows.first()?.file))?;
            // A call may have several records: readers find its parent by the addresses.
            for ranges in node.ranges.chunks(MAX_RANGES) {
                let mut text = format!("INLINE {depth} {} {call_file} {origin}", node.call_line);
                for (from, to) in ranges {
                    text.push_str(&format!(" {:x} {:x}", start.wrapping_add(*from), to - from));
                }
                self.line(&text);
            }
        }
        for (at, row) in function.rows.iter().enumerate() {
            let end = function.rows.get(at + 1).map_or(len, |next| next.offset);
            // A row without a known line or file is written, too: without a record, a reader may take its code for the line before.
            let file = self.path(row.file)?;
            let (from, bytes) = (start.wrapping_add(row.offset), end - row.offset);
            self.line(&format!("{from:x} {bytes:x} {} {file}", row.line));
        }
        Ok(())
    }

    fn line(&mut self, text: &str) {
        self.functions.extend_from_slice(text.as_bytes());
        self.functions.push(b'\n');
    }

    fn name(&self, name: Option<NameId>) -> Result<String, ExportError> {
        let bytes = self.source.name(name)?;
        // A readable name that is cut could name another function, so the linkage name replaces it.
        let readable = (self.readable)(&bytes).filter(|text| text.len() <= MAX_TEXT);
        // A readable name may be far longer than the linkage name.
        self.source.spend(readable.as_ref().map_or(0, String::len) as u64)?;
        let text = readable.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
        Ok(match one_line(&text) {
            text if text.is_empty() => "<name omitted>".to_owned(),
            text => text,
        })
    }

    fn origin(&mut self, name: Option<NameId>) -> Result<usize, ExportError> {
        if let Some(&number) = self.origin_numbers.get(&name) {
            return Ok(number);
        }
        self.origins.push(self.name(name)?);
        self.origin_numbers.insert(name, self.origins.len() - 1);
        Ok(self.origins.len() - 1)
    }

    fn path(&mut self, file: Option<FileId>) -> Result<usize, ExportError> {
        let Some(id) = file else { return Ok(NO_FILE) };
        if let Some(&number) = self.file_numbers.get(&id) {
            return Ok(number);
        }
        let path = self.source.path(file)?;
        self.files.push(one_line(&String::from_utf8_lossy(&path)));
        self.file_numbers.insert(id, self.files.len() - 1);
        Ok(self.files.len() - 1)
    }
}

/// Text without line ends and surrounding spaces, cut to [`MAX_TEXT`] bytes. A name of a hostile program must not begin a new record, nor
/// look like a separator of fields.
fn one_line(text: &str) -> String {
    let text: String =
        text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    let text = text.trim();
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim_end().to_owned()
}

fn one_word(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Breakpad's word for the processor.
fn processor(file: &SymbolFile<'_>) -> &'static str {
    // ELF's `e_machine`; a `.fsym` of a Mach-O program has it, too.
    let header = file.header();
    match (header.machine, header.address_size) {
        (8, 8) => return "mips64",
        (243, 4) => return "riscv",
        _ => {}
    }
    match header.machine {
        3 => "x86",
        8 => "mips",
        20 => "ppc",
        21 => "ppc64",
        22 => "s390x",
        40 => "arm",
        62 => "x86_64",
        183 => "arm64",
        243 => "riscv64",
        _ => "unknown",
    }
}
