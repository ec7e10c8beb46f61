//! Writes GSYM, versions 1 and 2 (LLVM's `llvm/DebugInfo/GSYM`).
//!
//! The first function of a range becomes a `FunctionInfo`, and further functions with the same range go into its
//! `MergedFunctionsInfo`. Readers that do not read merged functions see only the first function, which is also the first in
//! answers of foldsym. A call site has its callee's linkage name as a regular expression with special characters escaped. The
//! expression is anchored: otherwise the name `fold_b` would also match `fold_b2`.

use std::collections::HashMap;
use std::io::Write;

use foldsym_lookup::{Error, FileId, NameId, SectionId, SymbolFile, What, flags};
use rustc_hash::FxHashMap;

use crate::code::{Code, FunctionCode, Line, Source};
use crate::{ExportError, Summary, at_most};

/// The version of the format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GsymVersion {
    /// Every reader reads version 1. The file must be smaller than 4 GiB.
    V1,
    /// Version 2, since LLVM 23, has 64-bit offsets and build ids of any length.
    V2,
}

const MAGIC: u32 = 0x4753_594d;
/// Bytes of a build id in the header of version 1.
const MAX_ID_V1: usize = 20;

const LINE_TABLE: u32 = 1;
const INLINE_INFO: u32 = 2;
const MERGED: u32 = 3;
const CALL_SITES: u32 = 4;

// The operation codes of a line table.
const END: u8 = 0;
const SET_FILE: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const FIRST_SPECIAL: i64 = 4;
/// The largest difference between the least and the greatest line delta of special opcodes, which also code a delta of addresses.
const WINDOW: i64 = 14;

/// Writes a `.fsym` as a GSYM file, in the byte order of the program.
///
/// # Errors
/// The `.fsym` is damaged, or repeats itself too often; the format cannot hold the program (4 GiB in version 1, 2^32 bytes of one
/// function); or `out` cannot be written.
pub fn write_gsym(
    file: &SymbolFile<'_>,
    version: GsymVersion,
    out: &mut dyn Write,
) -> Result<Summary, ExportError> {
    let source = Source::new(file);
    let mut writer = GsymWriter::new(file, &source, version);
    let calls = calls(file)?;
    let mut at = 0;
    source.each(|code| {
        while calls.get(at).is_some_and(|call| call.address <= code.start) {
            at += 1;
        }
        // If the last instruction of a function is a call that never returns, its return address is in the next function. It is left
        // out: readers refuse such a file, and could not find the call, since they search the function first.
        let end = code.start.saturating_add(code.len);
        let here = calls[at..].iter().take_while(|call| call.address < end);
        writer.function(&code, &calls[at..at + here.count()])
    })?;
    writer.finish(out)
}

/// A call whose callee is known.
struct Callee {
    /// Return address.
    address: u64,
    /// The calling function, if the code is folded; `None` for any function there.
    caller: Option<foldsym_lookup::FunctionId>,
    name: Option<NameId>,
}

fn calls(file: &SymbolFile<'_>) -> Result<Vec<Callee>, ExportError> {
    let mut calls = Vec::new();
    for (record, call) in (0..).zip(file.records().calls()) {
        let call = call?;
        // The writer searches them once, from the first range to the last.
        if calls.last().is_some_and(|before: &Callee| before.address > call.address.0) {
            return Err(Error { section: SectionId::CALLS, what: What::Order, offset: record }.into());
        }
        calls.push(Callee {
            address: call.address.0,
            caller: call.caller,
            name: file.records().function_name(call.callee)?,
        });
    }
    Ok(calls)
}

struct GsymWriter<'f> {
    file: &'f SymbolFile<'f>,
    source: &'f Source<'f>,
    version: GsymVersion,
    big_endian: bool,
    strings: Vec<u8>,
    names: FxHashMap<NameId, u64>,
    /// Anchored expressions of callees.
    expressions: FxHashMap<NameId, u64>,
    /// A map with keyed hashes: the author of a program chooses its names.
    texts: HashMap<Vec<u8>, u64>,
    files: Vec<(u64, u64)>,
    paths: FxHashMap<FileId, u32>,
    /// Start addresses, with the offsets of their records.
    starts: Vec<(u64, u64)>,
    infos: Vec<u8>,
    summary: Summary,
}

impl<'f> GsymWriter<'f> {
    fn new(file: &'f SymbolFile<'f>, source: &'f Source<'f>, version: GsymVersion) -> GsymWriter<'f> {
        GsymWriter {
            file,
            source,
            version,
            big_endian: file.header().flags & flags::BIG_ENDIAN != 0,
            // Offset 0 is the empty string, file 0 the empty path.
            strings: vec![0],
            names: FxHashMap::default(),
            expressions: FxHashMap::default(),
            texts: HashMap::from([(Vec::new(), 0)]),
            files: vec![(0, 0)],
            paths: FxHashMap::default(),
            starts: Vec::new(),
            infos: Vec::new(),
            summary: Summary::default(),
        }
    }

    fn function(&mut self, code: &Code, calls: &[Callee]) -> Result<(), ExportError> {
        let len = at_most(code.len, u32::MAX.into(), "bytes of a function")? as u32;
        let Some((first, others)) = code.functions.split_first() else { return Ok(()) };
        if code.functions.iter().all(|function| function.name.is_none()) {
            // The format does not allow a record without a name.
            self.summary.unnamed_left_out += 1;
            return Ok(());
        }
        // Records begin at multiples of 4. Records of merged functions are inside another record, and are not aligned.
        self.infos.resize(self.infos.len().next_multiple_of(4), 0);
        self.starts.push((code.start, self.infos.len() as u64));
        self.summary.ranges += 1;
        let mut info = Vec::new();
        self.info(&mut info, first, (code.start, len), calls, others)?;
        self.infos.extend_from_slice(&info);
        Ok(())
    }

    /// Writes one record, which contains the records of the other functions with the same code.
    fn info(
        &mut self,
        out: &mut Vec<u8>,
        function: &FunctionCode,
        (start, len): (u64, u32),
        calls: &[Callee],
        others: &[FunctionCode],
    ) -> Result<(), ExportError> {
        self.summary.functions += 1;
        self.u32(out, len);
        let name = match self.name(function.name)? {
            // A member of a group without a name.
            0 => self.text(b"??".to_vec()),
            name => name,
        };
        self.offset(out, name)?;
        if !function.rows.is_empty() {
            let table = self.line_table(&function.rows)?;
            self.part(out, LINE_TABLE, &table)?;
            // LLVM's reader ignores the inlined calls of a function without lines.
            if function.nodes.len() > 1 {
                let inlined = self.inline_info(function, name, len)?;
                self.part(out, INLINE_INFO, &inlined)?;
            }
        }
        if !others.is_empty() {
            let mut merged = Vec::new();
            self.u32(&mut merged, others.len() as u32);
            for other in others {
                let mut info = Vec::new();
                self.info(&mut info, other, (start, len), calls, &[])?;
                let len = at_most(info.len() as u64, u32::MAX.into(), "bytes of a merged function")?;
                self.u32(&mut merged, len as u32);
                merged.extend_from_slice(&info);
            }
            self.summary.merged += others.len() as u64;
            self.part(out, MERGED, &merged)?;
        }
        // Each function of a group goes through all calls of the range.
        self.source.spend(calls.len() as u64)?;
        let own = |call: &&Callee| call.caller.is_none_or(|caller| caller == function.id);
        let own: Vec<&Callee> = calls.iter().filter(own).collect();
        if !own.is_empty() {
            let mut sites = Vec::new();
            self.u32(&mut sites, own.len() as u32);
            for call in own {
                self.u64(&mut sites, call.address.wrapping_sub(start));
                // The flags: neither internal nor external, since DWARF does not say which.
                sites.push(0);
                let expression = self.expression(call.name)?;
                self.u32(&mut sites, u32::from(expression != 0));
                if expression != 0 {
                    self.offset(&mut sites, expression)?;
                    self.summary.calls += 1;
                }
            }
            self.part(out, CALL_SITES, &sites)?;
        }
        self.u32(out, 0);
        self.u32(out, 0);
        Ok(())
    }

    fn part(&self, out: &mut Vec<u8>, kind: u32, bytes: &[u8]) -> Result<(), ExportError> {
        let len = at_most(bytes.len() as u64, u32::MAX.into(), "bytes of one part of a function")?;
        self.u32(out, kind);
        self.u32(out, len as u32);
        out.extend_from_slice(bytes);
        Ok(())
    }

    fn line_table(&mut self, rows: &[Line]) -> Result<Vec<u8>, ExportError> {
        let mut kept: Vec<(u64, u32, i64)> = Vec::with_capacity(rows.len());
        for row in rows {
            let (file, line) = (self.path(row.file)?, i64::from(row.line));
            // A row holds up to the next one, so a row with the same file and line adds nothing.
            if kept.last().is_none_or(|last| (last.1, last.2) != (file, line)) {
                kept.push((row.offset, file, line));
            }
        }
        let (min, max) = window(&kept);
        let mut out = Vec::new();
        sleb(&mut out, min);
        sleb(&mut out, max);
        // A reader begins with file 1, the start address and the first line of the header.
        let (mut address, mut file, mut line) = (0, 1, kept[0].2);
        uleb(&mut out, line.cast_unsigned());
        for (offset, row_file, row_line) in kept {
            // The opcode that advances the address also emits the row, so the file and the line are set before it.
            if row_file != file {
                file = row_file;
                out.push(SET_FILE);
                uleb(&mut out, file.into());
            }
            let (lines, bytes) = (row_line - line, offset - address);
            let range = max - min + 1;
            let special = i64::try_from(bytes).ok().and_then(|bytes| bytes.checked_mul(range));
            let special = special.and_then(|bytes| bytes.checked_add(FIRST_SPECIAL + lines - min));
            match special.and_then(|code| u8::try_from(code).ok()).filter(|_| (min..=max).contains(&lines)) {
                Some(code) => out.push(code),
                None => {
                    if lines != 0 {
                        out.push(ADVANCE_LINE);
                        sleb(&mut out, lines);
                    }
                    out.push(ADVANCE_PC);
                    uleb(&mut out, bytes);
                }
            }
            (address, line) = (offset, row_line);
        }
        out.push(END);
        Ok(out)
    }

    /// The inline tree in preorder, without nodes that no row has. `name` is that of the function.
    fn inline_info(&mut self, function: &FunctionCode, name: u64, len: u32) -> Result<Vec<u8>, ExportError> {
        let nodes = &function.nodes;
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (number, node) in nodes.iter().enumerate().skip(1).filter(|(_, node)| !node.ranges.is_empty()) {
            children[node.parent as usize].push(number as u32);
        }
        for siblings in &mut children {
            siblings.sort_by_key(|&child| nodes[child as usize].ranges[0]);
        }
        let mut out = Vec::new();
        // The root has one range, the whole function. It has no call, so file and line are 0.
        uleb(&mut out, 1);
        uleb(&mut out, 0);
        uleb(&mut out, len.into());
        out.push(u8::from(!children[0].is_empty()));
        // LLVM takes the function's name from the record. gsym-rs and blazesym skip a node without a name, and would lose the function.
        self.offset(&mut out, name)?;
        uleb(&mut out, 0);
        uleb(&mut out, 0);
        // The nodes whose children are being written: node, number of children written so far, and the start to which ranges are relative.
        let mut path: Vec<(u32, usize, u64)> = vec![(0, 0, 0)];
        while let Some((parent, next, base)) = path.last_mut() {
            let (siblings, from) = (&children[*parent as usize], *base);
            let Some(&child) = siblings.get(*next) else {
                // A node without ranges ends a list of siblings.
                if !siblings.is_empty() {
                    uleb(&mut out, 0);
                }
                path.pop();
                continue;
            };
            *next += 1;
            let node = &nodes[child as usize];
            uleb(&mut out, node.ranges.len() as u64);
            for (start, end) in &node.ranges {
                uleb(&mut out, start - from);
                uleb(&mut out, end - start);
            }
            out.push(u8::from(!children[child as usize].is_empty()));
            let name = self.name(node.name)?;
            self.offset(&mut out, name)?;
            // Readers drop the frame of a call without a file, so such a call gets the file of the function's first row.
            let file = node.call_file.or(function.rows[0].file);
            uleb(&mut out, self.path(file)?.into());
            uleb(&mut out, node.call_line.into());
            path.push((child, 0, node.ranges[0].0));
        }
        Ok(out)
    }

    fn name(&mut self, name: Option<NameId>) -> Result<u64, ExportError> {
        let Some(id) = name else { return Ok(0) };
        if let Some(&offset) = self.names.get(&id) {
            return Ok(offset);
        }
        let offset = self.text(self.source.name(name)?);
        self.names.insert(id, offset);
        Ok(offset)
    }

    /// The string offset of the expression that matches only this name.
    fn expression(&mut self, name: Option<NameId>) -> Result<u64, ExportError> {
        let Some(id) = name else { return Ok(0) };
        if let Some(&offset) = self.expressions.get(&id) {
            return Ok(offset);
        }
        let mut text = vec![b'^'];
        for byte in self.source.name(name)? {
            // The special characters of `llvm::Regex` (POSIX extended). Names have them: `.cold`, `$` in Rust.
            if br"\^$.[]|()*+?{}".contains(&byte) {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.push(b'$');
        let offset = self.text(text);
        self.expressions.insert(id, offset);
        Ok(offset)
    }

    fn path(&mut self, file: Option<FileId>) -> Result<u32, ExportError> {
        let Some(id) = file else { return Ok(0) };
        if let Some(&index) = self.paths.get(&id) {
            return Ok(index);
        }
        let path = self.source.path(file)?;
        let (folder, base) = match path.iter().rposition(|byte| *byte == b'/') {
            // The root is a folder, too.
            Some(0) => (&path[..1], &path[1..]),
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&[][..], &path[..]),
        };
        let entry = (self.text(folder.to_vec()), self.text(base.to_vec()));
        let index = self.files.len() as u32;
        self.files.push(entry);
        self.paths.insert(id, index);
        Ok(index)
    }

    /// The offset of a string. Equal strings are stored once.
    fn text(&mut self, text: Vec<u8>) -> u64 {
        if let Some(&offset) = self.texts.get(&text) {
            return offset;
        }
        let offset = self.strings.len() as u64;
        // A string ends at its first zero byte, so zero bytes of a hostile name are replaced.
        self.strings.extend(text.iter().map(|&byte| if byte == 0 { b'?' } else { byte }));
        self.strings.push(0);
        self.texts.insert(text, offset);
        offset
    }

    fn finish(mut self, out: &mut dyn Write) -> Result<Summary, ExportError> {
        let id = self.file.build_id();
        // Start addresses are stored as unsigned offsets from the base, so no start may be below it.
        let base = self.file.image_base().0.min(self.starts.first().map_or(u64::MAX, |first| first.0));
        let widest = self.starts.last().map_or(0, |last| last.0 - base);
        let width = match widest {
            0..=0xff => 1_u8,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 4,
            _ => 8,
        };
        let count = at_most(self.starts.len() as u64, u32::MAX.into(), "functions")? as u32;
        let mut bytes = Vec::new();
        self.u32(&mut bytes, MAGIC);
        self.int(&mut bytes, if self.version == GsymVersion::V1 { 1 } else { 2 }, 2);
        bytes.push(width);
        match self.version {
            GsymVersion::V1 => {
                // A truncated build id would be a different id, so a longer one is left out.
                let kept = if id.len() <= MAX_ID_V1 { id } else { &[] };
                self.summary.build_id_left_out = kept.len() < id.len();
                bytes.push(kept.len() as u8);
                self.u64(&mut bytes, base);
                self.u32(&mut bytes, count);
                let place = bytes.len();
                bytes.resize(place + 8, 0);
                bytes.extend_from_slice(kept);
                bytes.resize(place + 8 + MAX_ID_V1, 0);
                self.body_v1(&mut bytes, base, width.into(), place)?;
            }
            GsymVersion::V2 => {
                bytes.push(0);
                self.u64(&mut bytes, base);
                self.u32(&mut bytes, count);
                self.body_v2(&mut bytes, base, width.into());
            }
        }
        out.write_all(&bytes)?;
        out.write_all(&self.infos)?;
        Ok(self.summary)
    }

    /// Writes the tables of version 1. The records follow them; their offsets are relative to the start of the file.
    fn body_v1(&self, bytes: &mut Vec<u8>, base: u64, width: usize, place: usize) -> Result<(), ExportError> {
        bytes.resize(bytes.len().next_multiple_of(width), 0);
        for (start, _) in &self.starts {
            self.int(bytes, start - base, width);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let offsets = bytes.len();
        let strings = offsets + 4 * self.starts.len() + 4 + 8 * self.files.len();
        let infos = (strings + self.strings.len()).next_multiple_of(4);
        let last = self.starts.last().map_or(0, |last| last.1).saturating_add(infos as u64);
        at_most(last, u32::MAX.into(), "bytes of the file")?;
        for (_, offset) in &self.starts {
            self.u32(bytes, (offset + infos as u64) as u32);
        }
        self.u32(bytes, self.files.len() as u32);
        for (folder, name) in &self.files {
            self.u32(bytes, *folder as u32);
            self.u32(bytes, *name as u32);
        }
        debug_assert_eq!(bytes.len(), strings);
        bytes.extend_from_slice(&self.strings);
        bytes.resize(infos, 0);
        let mut sizes = Vec::new();
        self.u32(&mut sizes, strings as u32);
        self.u32(&mut sizes, self.strings.len() as u32);
        bytes[place..place + 8].copy_from_slice(&sizes);
        Ok(())
    }

    /// Writes the directory and the tables of version 2. The offsets of records are relative to the start of their section.
    fn body_v2(&self, bytes: &mut Vec<u8>, base: u64, width: usize) {
        const ENTRY: usize = 20;
        let id = self.file.build_id();
        let mut sections: Vec<(u32, usize, Vec<u8>)> = Vec::new();
        // gsym-rs refuses a section without bytes.
        if !id.is_empty() {
            sections.push((6, 1, id.to_vec()));
        }
        let (mut starts, mut offsets, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for (start, offset) in &self.starts {
            self.int(&mut starts, start - base, width);
            self.u64(&mut offsets, *offset);
        }
        self.u32(&mut files, self.files.len() as u32);
        for (folder, name) in &self.files {
            self.u64(&mut files, *folder);
            self.u64(&mut files, *name);
        }
        // In LLVM's order: build id (6), starts (1), offsets of records (2), files (4), strings (3). Records (5) follow below.
        sections.extend([(1, width, starts), (2, 8, offsets), (4, 4, files), (3, 1, self.strings.clone())]);
        let directory = bytes.len();
        // Two more entries follow: one for the records, and one of zeros, which ends the directory.
        bytes.resize(directory + ENTRY * (sections.len() + 2), 0);
        let mut entries = Vec::new();
        for (kind, align, section) in &sections {
            bytes.resize(bytes.len().next_multiple_of(*align), 0);
            self.u32(&mut entries, *kind);
            self.u64(&mut entries, bytes.len() as u64);
            self.u64(&mut entries, section.len() as u64);
            bytes.extend_from_slice(section);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        self.u32(&mut entries, 5);
        self.u64(&mut entries, bytes.len() as u64);
        self.u64(&mut entries, self.infos.len() as u64);
        bytes[directory..directory + entries.len()].copy_from_slice(&entries);
    }

    /// Writes the offset of a string.
    fn offset(&self, out: &mut Vec<u8>, offset: u64) -> Result<(), ExportError> {
        match self.version {
            GsymVersion::V1 => {
                self.u32(out, at_most(offset, u32::MAX.into(), "bytes of strings")? as u32);
            }
            GsymVersion::V2 => self.u64(out, offset),
        }
        Ok(())
    }

    fn u32(&self, out: &mut Vec<u8>, value: u32) {
        self.int(out, value.into(), 4);
    }

    fn u64(&self, out: &mut Vec<u8>, value: u64) {
        self.int(out, value, 8);
    }

    fn int(&self, out: &mut Vec<u8>, value: u64, width: usize) {
        match self.big_endian {
            true => out.extend_from_slice(&value.to_be_bytes()[8 - width..]),
            false => out.extend_from_slice(&value.to_le_bytes()[..width]),
        }
    }
}

/// The least and the greatest line delta that special opcodes can code: those of all deltas if they are near each other, and otherwise
/// those of the window that contains the most deltas.
fn window(rows: &[(u64, u32, i64)]) -> (i64, i64) {
    let mut deltas: Vec<i64> = rows.windows(2).map(|pair| pair[1].2 - pair[0].2).collect();
    deltas.sort_unstable();
    let (Some(&first), Some(&last)) = (deltas.first(), deltas.last()) else { return (0, 0) };
    let (mut min, mut max) = (first, last);
    if last - first > WINDOW {
        let mut best = 0;
        let mut end = 0;
        for start in 0..deltas.len() {
            while end < deltas.len() && deltas[end] - deltas[start] <= WINDOW {
                end += 1;
            }
            if end - start > best {
                best = end - start;
                (min, max) = (deltas[start], deltas[end - 1]);
            }
        }
    }
    // LLVM's writer does the same.
    if min == max && (1..WINDOW).contains(&min) {
        min = 0;
    }
    // The delta of the first row is 0, which may be outside; it then takes separate opcodes.
    (min, max)
}

fn uleb(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

fn sleb(out: &mut Vec<u8>, mut value: i64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0) {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}
