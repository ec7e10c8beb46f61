//! Runs a unit's line program, and keeps the rows of its live sequences. A sequence is dead if its first row is not in code.
//!
//! This is our own state machine instead of gimli's, for two reasons. `DW_AT_LLVM_stmt_sequence` refers to the offset of the
//! first opcode of a sequence, which gimli does not give. And rows of dead sequences need not be stored. gimli reads the
//! header with the file and directory tables.

use std::sync::{Arc, OnceLock};

use gimli::Reader as _;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{AddressRange, ImageAddr};
use crate::read::code::CodeSections;
use crate::read::limits::{MAX_FOLDED, MAX_PROGRAM_ROWS};
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::line_machine::{LineMachine, Registers};
use crate::util::budget::Budget;
use crate::util::hash::HashSet;

/// The most rows for which memory is reserved before the program runs.
const RESERVED_ROWS: usize = 1 << 16;

/// One row of the line table (DWARF 5 6.2.2), with the registers that foldsym keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LineRow {
    pub(crate) address: u64,
    /// Index into the file table. Before DWARF 5 it counts from 1.
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u16,
}

/// A sequence: rows at increasing addresses, up to a `DW_LNE_end_sequence`.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Index range into [`Lines::rows`]; addresses increase strictly.
    pub(crate) rows: std::ops::Range<usize>,
    /// Offset in `.debug_line` of the first opcode of the sequence.
    pub(crate) first_opcode: u64,
    /// Offset in `.debug_line` of its first `DW_LNE_set_address`.
    pub(crate) set_address: u64,
}

impl Sequence {
    /// The addresses that it covers.
    pub(crate) fn range(&self) -> AddressRange {
        AddressRange::new(ImageAddr(self.start), ImageAddr(self.end))
    }
}

/// A range of addresses, and the sequence that a lookup in it uses.
#[derive(Clone)]
struct Cover {
    start: u64,
    end: u64,
    /// Index into [`Lines::sequences`].
    sequence: u32,
}

/// The live sequences of one line program, sorted by start, then by offset in the program.
#[derive(Clone, Default)]
pub(crate) struct Lines {
    pub(crate) rows: Vec<LineRow>,
    pub(crate) sequences: Vec<Sequence>,
    /// For each sequence, the largest end of it and all sequences before it.
    ends: Vec<u64>,
    /// (offset, index into `sequences`), sorted, for the offsets `first_opcode` and `set_address` of each sequence.
    by_offset: Vec<(u64, u32)>,
    /// `first_opcode` and `set_address` of the dead sequences, in program order, which sorts them.
    dead: Vec<u64>,
    /// The dead sequences of a program that one unit names.
    pub(super) removed: Vec<RemovedSequence>,
    /// The same as `dead` of a program that several units name, in place of it.
    shared_dead: Arc<[u64]>,
    /// Disjoint, sorted by address. If several sequences cover an address, the first one of them has it here.
    cover: Vec<Cover>,
    /// The lengths of the sequences; made when one is first asked for.
    lens: OnceLock<HashSet<u64>>,
    /// The number of sequences whose rows were not in order and had to be sorted.
    pub(crate) unordered: u64,
    /// True if rows were dropped because there were too many.
    pub(crate) capped: bool,
    /// The number of rows whose line is too large for the file format, and is 0 (unknown) now.
    pub(crate) large_lines: u64,
    /// The same of columns.
    pub(crate) large_columns: u64,
    /// 1 if the last sequence has rows but no end; else 0.
    pub(crate) unended: u32,
    /// Files that the program adds to the table of its header (`DW_LNE_define_file`, DWARF 4 6.2.5.3).
    pub(crate) defined: Arc<Vec<DefinedFile>>,
}

/// A dead sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct RemovedSequence {
    /// Offset in `.debug_line` of its first opcode.
    pub(super) first_opcode: u64,
    /// Bytes of code; 0 if there are too many for a function.
    pub(super) len: u32,
    /// The line of its first row.
    pub(super) line: u32,
}

/// A file that an opcode of the line program defines.
#[derive(Clone, Debug)]
pub(crate) struct DefinedFile {
    pub(crate) name: Vec<u8>,
    /// Index in the directory table.
    pub(crate) directory: u64,
}

impl Lines {
    /// The sequences for the addresses in a range, in address order. If several cover an address, only the first counts.
    /// The search takes logarithmic time, even if sequences overlap.
    pub(crate) fn covering(&self, range: AddressRange) -> impl Iterator<Item = (usize, &Sequence)> {
        let first = self.cover.partition_point(|cover| cover.end <= range.start.0);
        let covers = self.cover[first..].iter().take_while(move |cover| cover.start < range.end.0);
        covers.map(|cover| (cover.sequence as usize, &self.sequences[cover.sequence as usize]))
    }

    /// The sequences that start at `start`. There are several if functions were folded.
    pub(crate) fn starting(&self, start: u64) -> impl Iterator<Item = (usize, &Sequence)> {
        let first = self.sequences.partition_point(|s| s.start < start);
        let at_start = self.sequences[first..].iter().take_while(move |s| s.start == start);
        at_start.enumerate().map(move |(i, s)| (first + i, s))
    }

    /// The sequences that start before `start` and have a row there. dsymutil joins the sequences of consecutive functions, so
    /// a function may begin in the middle of a sequence. Each sequence that is checked takes one of `steps`.
    pub(crate) fn passing(&self, start: u64, steps: &Budget) -> Vec<usize> {
        let first = self.sequences.partition_point(|s| s.start < start);
        // `ends` has the largest end so far. So once it is not after `start`, no sequence before that one reaches
        // `start`.
        let before = (0..first).rev().take_while(|&index| self.ends[index] > start).take(MAX_FOLDED);
        let mut found: Vec<usize> = before
            .take_while(|_| steps.spend(1))
            .filter(|&index| {
                let sequence = &self.sequences[index];
                let rows = &self.rows[sequence.rows.clone()];
                sequence.end > start && rows.binary_search_by_key(&start, |row| row.address).is_ok()
            })
            .collect();
        found.reverse();
        found
    }

    /// The rows of a sequence with addresses in a range.
    pub(crate) fn rows_within(&self, index: usize, range: AddressRange) -> std::ops::Range<usize> {
        let rows = self.sequences[index].rows.clone();
        let from =
            |address| rows.start + self.rows[rows.clone()].partition_point(|row| row.address < address);
        from(range.start.0)..from(range.end.0)
    }

    /// The live sequence that a `DW_AT_LLVM_stmt_sequence` value refers to. The value may be the offset of its first opcode or
    /// of its first `DW_LNE_set_address`, since producers write either.
    pub(crate) fn at_offset(&self, offset: u64) -> Option<usize> {
        // No two sequences share an offset, since each has bytes of its own. So whichever element is found, it is the
        // only one.
        let found = self.by_offset.binary_search_by_key(&offset, |&(o, _)| o).ok()?;
        Some(self.by_offset[found].1 as usize)
    }

    /// True if a `DW_AT_LLVM_stmt_sequence` value refers to a dead sequence.
    pub(crate) fn is_dead(&self, offset: u64) -> bool {
        self.dead.binary_search(&offset).is_ok() || self.shared_dead.binary_search(&offset).is_ok()
    }

    /// The offsets of the dead sequences.
    pub(crate) fn dead(&self) -> &[u64] {
        &self.dead
    }

    /// Ends the part that one unit has of a program that several units name.
    pub(crate) fn finish_part(&mut self, dead: Arc<[u64]>, capped: bool) {
        (self.shared_dead, self.capped) = (dead, capped);
        self.finish();
    }

    /// True if a sequence has this length.
    pub(crate) fn any_has_len(&self, len: u64) -> bool {
        let lens = || self.sequences.iter().map(|sequence| sequence.end - sequence.start).collect();
        self.lens.get_or_init(lens).contains(&len)
    }

    fn finish(&mut self) {
        self.sequences.sort_by_key(|s| (s.start, s.first_opcode));
        let mut end = 0;
        for (index, sequence) in self.sequences.iter().enumerate() {
            // A sequence that ends inside the ones before it is the first for no address.
            if sequence.end > end {
                let start = sequence.start.max(end);
                self.cover.push(Cover { start, end: sequence.end, sequence: index as u32 });
                end = sequence.end;
            }
            self.ends.push(end);
        }
        let offsets = |(i, s): (usize, &Sequence)| [(s.first_opcode, i as u32), (s.set_address, i as u32)];
        self.by_offset = self.sequences.iter().enumerate().flat_map(offsets).collect();
        self.by_offset.sort_unstable();
        self.by_offset.dedup();
    }
}

/// A sequence that has not ended yet.
struct OpenSequence {
    first_opcode: u64,
    set_address: Option<u64>,
    first_row: usize,
    /// `None` before the first row. After that, true if the address of the first row is in code.
    live: Option<bool>,
    /// Of a dead sequence, the address and the line of the first row.
    removed: (u64, u64),
    ordered: bool,
}

/// Runs the line program and counts its damage.
pub(crate) fn run<'f, E: Endianity>(
    header: &gimli::LineProgramHeader<Bytes<'f, E>>,
    code: &CodeSections,
    diagnostics: &mut Diagnostics,
) -> Lines {
    let (lines, error) = run_to_damage(header, code);
    let offset = header.offset().0 as u64;
    if let Some(error) = error {
        diagnostics.add(Kind::BadLineProgram, offset, || {
            format!("line program at .debug_line+{offset:#x}: {error}")
        });
    }
    if lines.unordered > 0 {
        diagnostics.add(Kind::UnorderedSequence, offset, || {
            format!("line program at .debug_line+{offset:#x} has rows out of order")
        });
    }
    // Nothing shows where the code of such a sequence ends, so its last row could cover the code of another function.
    if lines.unended > 0 {
        diagnostics.add(Kind::UnendedSequence, offset, || {
            format!("line program at .debug_line+{offset:#x}: its last sequence has no end, and is left out")
        });
    }
    if lines.large_lines > 0 {
        diagnostics.add(Kind::Cap(Cap::LineNumbers), offset, || {
            let rows = lines.large_lines;
            format!("line program at .debug_line+{offset:#x}: {rows} rows with a line of 2^32 or more, which is unknown now")
        });
    }
    if lines.large_columns > 0 {
        diagnostics.add(Kind::Cap(Cap::ColumnNumbers), offset, || {
            let rows = lines.large_columns;
            format!("line program at .debug_line+{offset:#x}: {rows} rows with a column over 65535, which is unknown now")
        });
    }
    if lines.capped {
        diagnostics.add(Kind::Cap(Cap::LineRows), offset, || {
            format!("line program at .debug_line+{offset:#x} has more than {MAX_PROGRAM_ROWS} rows")
        });
    }
    lines
}

/// Runs the line program. Damage ends it: then the result has the sequences before the damage, and the error.
fn run_to_damage<'f, E: Endianity>(
    header: &gimli::LineProgramHeader<Bytes<'f, E>>,
    code: &CodeSections,
) -> (Lines, Option<gimli::Error>) {
    let mut lines = Lines::default();
    let error = interpret(header, code, &mut lines).err();
    lines.finish();
    (lines, error)
}

/// A cursor over the opcodes of a line program. It is fast for operands of one or two bytes, which nearly all have.
struct Opcodes<'f, E: Endianity> {
    bytes: &'f [u8],
    at: usize,
    /// Offset in `.debug_line` of the first opcode.
    base: u64,
    endian: E,
}

impl<'f, E: Endianity> Opcodes<'f, E> {
    /// Offset in `.debug_line`.
    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The rest of the program, as a reader for `gimli`.
    fn rest(&self) -> Bytes<'f, E> {
        Bytes::new(self.bytes.get(self.at..).unwrap_or_default(), self.endian)
    }

    #[inline(always)]
    fn uleb128(&mut self) -> gimli::Result<u64> {
        match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
            (Some(&byte @ ..0x80), _) => {
                self.at += 1;
                Ok(byte.into())
            }
            (Some(&low), Some(&high @ ..0x80)) => {
                self.at += 2;
                Ok(u64::from(low & 0x7f) | u64::from(high) << 7)
            }
            _ => self.by_gimli(Bytes::read_uleb128),
        }
    }

    #[inline(always)]
    fn sleb128(&mut self) -> gimli::Result<i64> {
        match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
            // Bit 6 is the sign.
            (Some(&byte @ ..0x80), _) => {
                self.at += 1;
                Ok(i64::from((byte << 1).cast_signed() >> 1))
            }
            // Bit 6 of the second byte is the sign.
            (Some(&low), Some(&high @ ..0x80)) => {
                self.at += 2;
                let number = u16::from(low & 0x7f) | u16::from(high) << 7;
                Ok(i64::from((number << 2).cast_signed() >> 2))
            }
            _ => self.by_gimli(Bytes::read_sleb128),
        }
    }

    #[inline(never)]
    fn by_gimli<T>(&mut self, read: impl FnOnce(&mut Bytes<'f, E>) -> gimli::Result<T>) -> gimli::Result<T> {
        let mut rest = self.rest();
        let value = read(&mut rest)?;
        self.at = self.bytes.len() - rest.len();
        Ok(value)
    }
}

/// The offset in `.debug_line` of the first opcode.
fn base<E: Endianity>(header: &gimli::LineProgramHeader<Bytes<'_, E>>) -> u64 {
    // The opcodes go up to the end that the length gives.
    let whole = u64::from(header.encoding().format.initial_length_size()) + header.unit_length() as u64;
    (header.offset().0 as u64 + whole).saturating_sub(header.raw_program_buf().len() as u64)
}

fn interpret<'f, E: Endianity>(
    header: &gimli::LineProgramHeader<Bytes<'f, E>>,
    code: &CodeSections,
    lines: &mut Lines,
) -> gimli::Result<()> {
    let input = header.raw_program_buf();
    let mut program = Opcodes { bytes: input.slice(), at: 0, base: base(header), endian: input.endian() };
    let address_size = header.address_size();
    let machine = LineMachine {
        min_instruction_length: u64::from(header.minimum_instruction_length()),
        max_operations: u64::from(header.maximum_operations_per_instruction()).max(1),
        line_base: i64::from(header.line_base()),
        line_range: header.line_range().max(1),
        opcode_base: header.opcode_base(),
        address_mask: if address_size >= 8 { u64::MAX } else { (1u64 << (8 * u32::from(address_size))) - 1 },
    };
    let special = machine.special();
    let lengths = header.standard_opcode_lengths().slice();
    let mut registers = Registers::reset();
    // Most rows take more than four bytes of the program.
    lines.rows.reserve((program.bytes.len() / 4).min(RESERVED_ROWS));
    // A sequence begins at the first opcode after the header or after an end of sequence. The opcodes before its
    // `DW_LNE_set_address` count: clang begins with `DW_LNS_set_file`, and `DW_AT_LLVM_stmt_sequence` refers to that.
    let mut building = start_sequence(lines, program.offset());
    while let Some(&opcode) = program.bytes.get(program.at) {
        program.at += 1;
        // Tested first: a header with fewer standard opcodes has special opcodes below 13 (DWARF 5 6.2.4).
        if opcode >= machine.opcode_base {
            let (operations, by) = special[usize::from(opcode)];
            machine.advance(&mut registers, u64::from(operations));
            registers.line = registers.line.wrapping_add_signed(by.into());
            row(lines, &registers, &mut building, code);
            continue;
        }
        match gimli::DwLns(opcode) {
            gimli::DwLns(0) => {
                let opcode_offset = program.offset() - 1;
                let len = program.uleb128()?;
                if len == 0 {
                    continue;
                }
                let mut operands = program.by_gimli(|rest| rest.split(len as usize))?;
                match gimli::DwLne(operands.read_u8()?) {
                    gimli::DW_LNE_end_sequence => {
                        end_sequence(lines, &registers, building);
                        registers = Registers::reset();
                        building = start_sequence(lines, program.offset());
                    }
                    gimli::DW_LNE_set_address => {
                        // The opcode's length gives the size of the address. Some producers write another size in the header.
                        let size = operands.len().min(8) as u8;
                        registers.address = operands.read_address(size)?;
                        registers.op_index = 0;
                        building.set_address.get_or_insert(opcode_offset);
                    }
                    opcode => define_file(opcode, header.version(), operands, lines),
                }
            }
            gimli::DW_LNS_copy => row(lines, &registers, &mut building, code),
            gimli::DW_LNS_advance_pc => {
                let operations = program.uleb128()?;
                machine.advance(&mut registers, operations);
            }
            gimli::DW_LNS_advance_line => {
                let by = program.sleb128()?;
                registers.line = registers.line.wrapping_add_signed(by);
            }
            gimli::DW_LNS_set_file => registers.file = program.uleb128()?,
            gimli::DW_LNS_set_column => registers.column = program.uleb128()?,
            gimli::DW_LNS_negate_stmt
            | gimli::DW_LNS_set_basic_block
            | gimli::DW_LNS_set_prologue_end
            | gimli::DW_LNS_set_epilogue_begin => {}
            gimli::DW_LNS_const_add_pc => {
                let operations = u64::from((255 - machine.opcode_base) / machine.line_range);
                machine.advance(&mut registers, operations);
            }
            // A plain number (DWARF 5 6.2.5.2). RISC-V assemblers write it: a linker that shortens code can relocate a fixed size.
            gimli::DW_LNS_fixed_advance_pc => {
                let by = u64::from(program.by_gimli(Bytes::read_u16)?);
                registers.address = registers.address.wrapping_add(by) & machine.address_mask;
                registers.op_index = 0;
            }
            gimli::DW_LNS_set_isa => {
                program.uleb128()?;
            }
            _ => {
                // An opcode of a later standard. The header has its number of operands.
                for _ in 0..lengths.get(usize::from(opcode) - 1).copied().unwrap_or(0) {
                    program.uleb128()?;
                }
            }
        }
    }
    lines.unended += u32::from(lines.rows.len() > building.first_row);
    lines.rows.truncate(building.first_row);
    Ok(())
}

/// Adds the file of a `DW_LNE_define_file`. Other opcodes do nothing; DWARF 5 (6.2.5.3) reserves this one. Damaged operands define
/// nothing: they have a length of their own, so the program goes on after them.
fn define_file<E: Endianity>(
    opcode: gimli::DwLne,
    version: u16,
    mut operands: Bytes<'_, E>,
    lines: &mut Lines,
) {
    if opcode == gimli::DW_LNE_define_file
        && version < 5
        && let Ok(name) = operands.read_null_terminated_slice()
        && let Ok(directory) = operands.read_uleb128()
    {
        let name = name.slice().to_vec();
        Arc::make_mut(&mut lines.defined).push(DefinedFile { name, directory });
    }
}

fn start_sequence(lines: &Lines, first_opcode: u64) -> OpenSequence {
    OpenSequence {
        first_opcode,
        set_address: None,
        first_row: lines.rows.len(),
        live: None,
        removed: (0, 0),
        ordered: true,
    }
}

#[inline(always)]
fn row(lines: &mut Lines, registers: &Registers, building: &mut OpenSequence, code: &CodeSections) {
    match building.live {
        Some(true) => {}
        Some(false) => {
            // The last of several rows at one address counts.
            if registers.address == building.removed.0 {
                building.removed.1 = registers.line;
            }
            return;
        }
        None => {
            // The first row decides for all: a sequence mostly has one `DW_LNE_set_address`, which is a tombstone or is
            // not.
            let live = code.contains(registers.address);
            building.live = Some(live);
            if !live {
                building.removed = (registers.address, registers.line);
                return;
            }
        }
    }
    add_row(lines, registers, building);
}

fn add_row(lines: &mut Lines, registers: &Registers, building: &mut OpenSequence) {
    let (line, column) = (u32::try_from(registers.line), u16::try_from(registers.column));
    lines.large_lines += u64::from(line.is_err());
    lines.large_columns += u64::from(column.is_err());
    let row = LineRow {
        address: registers.address,
        // `u32::MAX` is `NO_FILE`, so a damaged index means an unknown file.
        file: u32::try_from(registers.file).unwrap_or(u32::MAX),
        line: line.unwrap_or(0),
        column: column.unwrap_or(0),
    };
    if let Some(last) = lines.rows[building.first_row..].last_mut() {
        // The last of several rows at one address counts, as in llvm-symbolizer and addr2line.
        if last.address == row.address {
            *last = row;
            return;
        }
        building.ordered &= last.address < row.address;
    }
    if lines.rows.len() >= MAX_PROGRAM_ROWS {
        lines.capped = true;
        return;
    }
    lines.rows.push(row);
}

fn end_sequence(lines: &mut Lines, registers: &Registers, building: OpenSequence) {
    // A sequence without rows (`None`) is not dead: it does not show that the linker removed anything.
    if building.live == Some(false) {
        lines.dead.push(building.first_opcode);
        lines.dead.extend(building.set_address);
        let (start, line) = building.removed;
        lines.removed.push(RemovedSequence {
            first_opcode: building.first_opcode,
            len: u32::try_from(registers.address.wrapping_sub(start)).unwrap_or(0),
            line: u32::try_from(line).unwrap_or(0),
        });
        return;
    }
    let rows = &mut lines.rows[building.first_row..];
    if !building.ordered {
        lines.unordered += 1;
        // Stable: of several rows at one address the last one counts, as in a program that is in order.
        rows.sort_by_key(|row| row.address);
        // There is a first row: only a row that was compared with an earlier one makes a sequence unordered.
        let mut kept = 0;
        for i in 1..rows.len() {
            if rows[i].address != rows[kept].address {
                kept += 1;
            }
            rows[kept] = rows[i];
        }
        lines.rows.truncate(building.first_row + kept + 1);
    }
    let end = registers.address;
    // A row at the end covers no code. A sequence that has no other row is empty.
    while lines.rows[building.first_row..].last().is_some_and(|row| row.address >= end) {
        lines.rows.pop();
    }
    let Some(first) = lines.rows.get(building.first_row) else { return };
    lines.sequences.push(Sequence {
        start: first.address,
        end,
        rows: building.first_row..lines.rows.len(),
        first_opcode: building.first_opcode,
        // A sequence without `DW_LNE_set_address` begins at address 0, and an attribute can name only its first opcode.
        set_address: building.set_address.unwrap_or(building.first_opcode),
    });
}
