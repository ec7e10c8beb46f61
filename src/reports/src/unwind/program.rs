//! The call frame information of a program on this machine.

use std::io::Read;
use std::path::Path;

use flate2::read::ZlibDecoder;
use foldsym_expr::cfi::{Cfa, Fde, FrameSection, Row, Rule};
use foldsym_expr::{Buffers, Context, Entry, Evaluation, Settings, Want};
use foldsym_symbolize::{BuildId, DebugId, ModuleId, open_regular, text_id};
use object::{CompressionFormat, Object, ObjectSection, ObjectSegment, ReadCache, ReadRef};

/// Bytes of the code that an id is derived from.
const TEXT_OF_ID: u64 = 4096;
/// A larger `.debug_frame` is not read.
const MAX_DEBUG_FRAME: u64 = 128 << 20;
/// Larger sections are not read.
const MAX_SECTION: u64 = 512 << 20;
/// Registers that a row has room for; the rows of x86-64 and AArch64 name fewer.
const REGISTERS: usize = 128;
/// The depth of nested `DW_CFA_remember_state`.
const REMEMBERED: usize = 16;

/// `.eh_frame` and `.debug_frame` of a program, with their entries by address.
pub(crate) struct Program {
    sections: Vec<OwnedSection>,
    address_size: u8,
    big_endian: bool,
    entries: Vec<ProgramEntry>,
    /// Link-time address of the page that the first segment begins in.
    pub(crate) first: u64,
}

/// A section with call frame information.
struct OwnedSection {
    bytes: Vec<u8>,
    eh: bool,
    address: u64,
}

/// Where the entry of some code is.
struct ProgramEntry {
    /// The first and the last address of the code.
    start: u64,
    last: u64,
    /// The index of the section, and the offset in it.
    section: usize,
    offset: u64,
}

/// Registers and memory of the frame that is unwound.
pub(crate) trait ThreadState {
    fn register(&self, number: u64) -> Option<u64>;
    fn memory(&self, address: u64) -> Option<u64>;
}

/// What is known of the frame's caller.
pub(crate) struct Caller {
    pub(crate) cfa: u64,
    /// `None`: the entry says that the frame is the outermost one.
    pub(crate) return_address: Option<u64>,
    /// Registers by number; `None` if its value is lost.
    pub(crate) registers: Vec<(u64, Option<u64>)>,
    /// The kernel made the frame for a signal: the caller was interrupted at its return address, and made no call.
    pub(crate) is_signal: bool,
}

/// Whether a program has an identity.
pub(super) fn is_of<'f>(file: &object::File<'f, impl ReadRef<'f>>, id: Option<&ModuleId>) -> bool {
    let own = || match file.build_id().ok().flatten() {
        Some(id) => BuildId::new(id).ok(),
        // Writers of minidumps derive an id from the code.
        None => {
            let text = file.section_by_name(".text")?;
            text_id(text.data_range(text.address(), text.size().min(TEXT_OF_ID)).ok()??)
        }
    };
    match id {
        None => true,
        Some(ModuleId::Build(id)) => own().as_ref() == Some(id),
        Some(ModuleId::Debug(id)) => {
            own().is_some_and(|own| DebugId::of_elf(&own, !file.is_little_endian()) == *id)
        }
        Some(_) => false,
    }
}

/// The loaded section of a program.
fn eh_frame<'f>(file: &object::File<'f, impl ReadRef<'f>>) -> Option<OwnedSection> {
    let section = file.section_by_name(".eh_frame").filter(|section| section.size() <= MAX_SECTION)?;
    let bytes = section.data().ok().filter(|bytes| !bytes.is_empty())?.to_vec();
    Some(OwnedSection { bytes, eh: true, address: section.address() })
}

/// The section with the debug information, which may be compressed: Go has no other one.
fn debug_frame<'f>(file: &object::File<'f, impl ReadRef<'f>>) -> Option<OwnedSection> {
    let section = file.section_by_name(".debug_frame")?;
    let compressed =
        section.compressed_data().ok().filter(|data| data.uncompressed_size <= MAX_DEBUG_FRAME)?;
    let mut bytes = Vec::new();
    match compressed.format {
        CompressionFormat::None => bytes.extend_from_slice(compressed.data),
        CompressionFormat::Zlib => {
            let stream = ZlibDecoder::new(compressed.data);
            stream.take(compressed.uncompressed_size).read_to_end(&mut bytes).ok()?;
        }
        CompressionFormat::Zstandard => {
            let stream = zstd::stream::read::Decoder::with_buffer(compressed.data).ok()?;
            stream.take(compressed.uncompressed_size).read_to_end(&mut bytes).ok()?;
        }
        _ => return None,
    }
    (!bytes.is_empty()).then_some(OwnedSection { bytes, eh: false, address: section.address() })
}

impl Program {
    /// Opens a program of this identity. `None` if its identity differs, or it has no call frame information.
    pub(crate) fn open(path: &Path, id: Option<&ModuleId>) -> Option<Self> {
        // A program may have gigabytes of debug information. The cache reads only the parts that are used.
        let cache = ReadCache::new(open_regular(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        if !is_of(&file, id) {
            return None;
        }
        let sections = eh_frame(&file).into_iter().chain(debug_frame(&file)).collect();
        Self::of(&file, sections)
    }

    /// The call frame information of an image that the report itself has.
    pub(crate) fn of_image(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        Self::of(&file, eh_frame(&file).into_iter().collect())
    }

    fn of<'f>(file: &object::File<'f, impl ReadRef<'f>>, sections: Vec<OwnedSection>) -> Option<Self> {
        let first = file.segments().map(|segment| segment.address()).min()?;
        let mut program = Self {
            sections,
            address_size: if file.is_64() { 8 } else { 4 },
            big_endian: !file.is_little_endian(),
            entries: Vec::new(),
            first: first & !0xfff,
        };
        let mut entries = Vec::new();
        for (section, of) in program.sections.iter().enumerate() {
            for fde in program.section(of).fdes().flatten() {
                // An entry of no length covers nothing, and `len - 1` would wrap. The linker leaves the entries of functions that it removed
                // in `.debug_frame`, with an address in front of all code.
                if fde.len > 0 && (of.eh || fde.start > first) {
                    let last = fde.start.saturating_add(fde.len - 1);
                    entries.push(ProgramEntry { start: fde.start, last, section, offset: fde.offset });
                }
            }
        }
        entries.sort_unstable_by_key(|entry| (entry.section, entry.start, entry.last, entry.offset));
        program.entries = entries;
        (!program.entries.is_empty()).then_some(program)
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> u64 {
        let sections: usize = self.sections.iter().map(|section| section.bytes.capacity()).sum();
        (sections + self.entries.capacity() * size_of::<ProgramEntry>()) as u64
    }

    fn section<'s>(&self, section: &'s OwnedSection) -> FrameSection<'s> {
        FrameSection {
            bytes: &section.bytes,
            eh: section.eh,
            address: section.address,
            address_size: self.address_size,
            big_endian: self.big_endian,
        }
    }

    fn entry(&self, address: u64) -> Option<(FrameSection<'_>, Fde<'_>)> {
        let of_section = |section: usize| {
            let behind =
                self.entries.partition_point(|entry| (entry.section, entry.start) <= (section, address));
            let entry = self.entries.get(behind.checked_sub(1)?)?;
            (entry.section == section && address <= entry.last).then_some(entry)
        };
        // `.eh_frame` is the first one. `.debug_frame` may have entries of functions that the linker removed.
        let entry = (0..self.sections.len()).find_map(of_section)?;
        let section = self.section(&self.sections[entry.section]);
        let fde = section.fde_at(entry.offset)?.ok()?;
        Some((section, fde))
    }

    /// Whether an entry covers the address: then it is code.
    pub(crate) fn covers(&self, address: u64) -> bool {
        self.entry(address).is_some()
    }

    /// Unwinds the frame whose program counter is a link-time address. `None` if the program does not describe how.
    pub(crate) fn leave(&self, address: u64, state: &dyn ThreadState) -> Option<Caller> {
        let (section, fde) = self.entry(address)?;
        let row: Row<'_, REGISTERS> = section.row::<REGISTERS, REMEMBERED>(&fde, address).ok()?;
        let cfa = match row.cfa {
            Cfa::Register { register, offset, space: 0 } => {
                state.register(register)?.wrapping_add_signed(offset)
            }
            Cfa::Expression(expression) => self.evaluate(expression, None, state)?,
            _ => return None,
        };
        let value = |register: u64, rule: Rule<'_>| match rule {
            Rule::Undefined => None,
            Rule::SameValue => state.register(register),
            Rule::Offset(offset) => state.memory(cfa.wrapping_add_signed(offset)),
            Rule::ValueOffset(offset) => Some(cfa.wrapping_add_signed(offset)),
            Rule::Register(other) => state.register(other),
            Rule::Expression(expression) => state.memory(self.evaluate(expression, Some(cfa), state)?),
            Rule::ValueExpression(expression) => self.evaluate(expression, Some(cfa), state),
        };
        let link = fde.cie.return_register;
        let return_address = match row.rule(link) {
            // DWARF 5 6.4.4: if the rule of the return address is undefined, the frame is the outermost one.
            Some(Rule::Undefined) => None,
            // A leaf function leaves the return address where the call put it.
            None => Some(state.register(link)?),
            Some(rule) => Some(value(link, rule)?),
        };
        let rules = row.rules().filter(|(register, _)| *register != link);
        let registers = rules.map(|(register, rule)| (register, value(register, rule))).collect();
        Some(Caller { cfa, return_address, registers, is_signal: fde.is_signal() })
    }

    fn evaluate(&self, expression: &[u8], cfa: Option<u64>, state: &dyn ThreadState) -> Option<u64> {
        let settings = Settings {
            address_size: self.address_size,
            big_endian: self.big_endian,
            // An expression may loop (`DW_OP_bra`, `DW_OP_skip`).
            max_steps: 1000,
            ..Settings::default()
        };
        let mut buffers: Buffers<'_, 32, 4, 1> = Buffers::new();
        let mut evaluation = Evaluation::new(expression, Want::Value, settings, buffers.scratch());
        // DWARF 5 6.4.2.3: the expression of a register begins with the CFA on the stack. The expression of the CFA itself (6.4.2.2) does
        // not.
        if let Some(cfa) = cfa {
            evaluation.push(Entry::Value(foldsym_expr::Value::new(evaluation.generic(), cfa))).ok()?;
        }
        let machine = Machine { state, big_endian: self.big_endian };
        match evaluation.run(&machine).ok()? {
            Entry::Value(value) => value.integer(),
            _ => None,
        }
    }
}

/// A [`ThreadState`] as the evaluator of expressions reads it.
struct Machine<'s> {
    state: &'s dyn ThreadState,
    big_endian: bool,
}

impl Machine<'_> {
    /// Copies a part of a word.
    fn copy(&self, word: u64, offset: u64, bytes: &mut [u8]) -> Option<()> {
        let word = if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
        let start = usize::try_from(offset).ok()?;
        bytes.copy_from_slice(word.get(start..start.checked_add(bytes.len())?)?);
        Some(())
    }
}

impl<'e> Context<'e> for Machine<'_> {
    fn read_register(&self, register: u64, offset: u64, bytes: &mut [u8]) -> Option<()> {
        self.copy(self.state.register(register)?, offset, bytes)
    }

    fn read_memory(&self, space: u64, address: u64, bytes: &mut [u8]) -> Option<()> {
        if space != 0 {
            return None;
        }
        self.copy(self.state.memory(address)?, 0, bytes)
    }
}
