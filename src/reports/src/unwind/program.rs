//! The call frame information of a program on this machine.

use std::path::Path;

use foldsym_expr::cfi::{Cfa, Fde, FrameSection, Row, Rule};
use foldsym_expr::{Buffers, Context, Entry, Evaluation, Settings, Want};
use foldsym_symbolize::{BuildId, DebugId, ModuleId, open_regular};
use object::{Object, ObjectSection, ObjectSegment, ReadCache, ReadRef};

/// Larger sections are not read.
const MAX_SECTION: u64 = 512 << 20;
/// Registers that a row has room for; the rows of x86-64 and AArch64 name fewer.
const REGISTERS: usize = 128;
/// The depth of nested `DW_CFA_remember_state`.
const REMEMBERED: usize = 16;

/// `.eh_frame` of a program, with its entries by address.
pub(crate) struct Program {
    bytes: Vec<u8>,
    address: u64,
    address_size: u8,
    big_endian: bool,
    /// First and last address, and offset of the entry.
    entries: Vec<(u64, u64, u64)>,
    /// Link-time address of the page that the first segment begins in.
    pub(crate) first: u64,
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
    let own = || file.build_id().ok().flatten().and_then(|id| BuildId::new(id).ok());
    match id {
        None => true,
        Some(ModuleId::Build(id)) => own().as_ref() == Some(id),
        Some(ModuleId::Debug(id)) => {
            own().is_some_and(|own| DebugId::of_elf(&own, !file.is_little_endian()) == *id)
        }
        Some(_) => false,
    }
}

impl Program {
    /// Opens a program of this identity. `None` if its identity differs, or it has no call frame information.
    pub(crate) fn open(path: &Path, id: Option<&ModuleId>) -> Option<Self> {
        // A program may have gigabytes of debug information. The cache reads only the parts that are used.
        let cache = ReadCache::new(open_regular(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        if is_of(&file, id) { Self::of(&file) } else { None }
    }

    /// The call frame information of an image that the report itself has.
    pub(crate) fn of_image(bytes: &[u8]) -> Option<Self> {
        Self::of(&object::File::parse(bytes).ok()?)
    }

    fn of<'f>(file: &object::File<'f, impl ReadRef<'f>>) -> Option<Self> {
        let section = file.section_by_name(".eh_frame").filter(|section| section.size() <= MAX_SECTION)?;
        let bytes = section.data().ok().filter(|bytes| !bytes.is_empty())?.to_vec();
        let first = file.segments().map(|segment| segment.address()).min()?;
        let mut program = Self {
            bytes,
            address: section.address(),
            address_size: if file.is_64() { 8 } else { 4 },
            big_endian: !file.is_little_endian(),
            entries: Vec::new(),
            first: first & !0xfff,
        };
        // An entry of no length covers nothing, and `len - 1` would wrap.
        let entries = program.section().fdes().flatten().filter(|fde| fde.len > 0);
        let mut entries: Vec<_> =
            entries.map(|fde| (fde.start, fde.start.saturating_add(fde.len - 1), fde.offset)).collect();
        entries.sort_unstable();
        program.entries = entries;
        Some(program)
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> u64 {
        (self.bytes.capacity() + self.entries.capacity() * size_of::<(u64, u64, u64)>()) as u64
    }

    fn section(&self) -> FrameSection<'_> {
        FrameSection {
            bytes: &self.bytes,
            eh: true,
            address: self.address,
            address_size: self.address_size,
            big_endian: self.big_endian,
        }
    }

    fn entry(&self, address: u64) -> Option<Fde<'_>> {
        let behind = self.entries.partition_point(|&(start, ..)| start <= address);
        let &(_, last, offset) = self.entries.get(behind.checked_sub(1)?)?;
        if address > last {
            return None;
        }
        self.section().fde_at(offset)?.ok()
    }

    /// Whether an entry covers the address: then it is code.
    pub(crate) fn covers(&self, address: u64) -> bool {
        self.entry(address).is_some()
    }

    /// Unwinds the frame whose program counter is a link-time address. `None` if the program does not describe how.
    pub(crate) fn leave(&self, address: u64, state: &dyn ThreadState) -> Option<Caller> {
        let fde = self.entry(address)?;
        let row: Row<'_, REGISTERS> = self.section().row::<REGISTERS, REMEMBERED>(&fde, address).ok()?;
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
