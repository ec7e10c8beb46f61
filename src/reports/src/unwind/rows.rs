//! Unwinds frames by the section UNWIND of a `.fsym`.

use std::sync::Arc;

use foldsym_symbolize::SymbolMap;
use foldsym_unwind::{Cfa, Frame, Machine, Process, Registers, Step};

use super::program::{Caller, ThreadState};

/// A file with the section, of a processor whose frames can be unwound.
pub(super) struct Rows {
    map: Arc<SymbolMap>,
    machine: Machine,
    /// Link-time address of the page that the first segment begins in.
    pub(super) first: u64,
}

impl Rows {
    /// `None` for a file without the section.
    pub(super) fn of(map: Arc<SymbolMap>) -> Option<Self> {
        let file = map.file();
        file.unwind().ok().flatten()?;
        let header = file.header();
        let machine = Machine::of_elf(header.machine)?;
        let segments = file.records().segments().into_iter().flatten();
        let first = segments.map(|segment| segment.start.0).min().unwrap_or(header.image_base);
        // The loader maps whole pages, so the load address in a report is that of a page.
        Some(Self { machine, first: first & !0xfff, map })
    }

    /// Whether a row covers the address: then it is code.
    pub(super) fn covers(&self, address: u64) -> bool {
        let unwind = self.map.file().unwind().ok().flatten();
        unwind.is_some_and(|unwind| unwind.row(address).is_ok_and(|row| row.is_some()))
    }

    /// Unwinds the frame whose program counter is a link-time address. `None` if no row describes how.
    pub(super) fn leave(&self, address: u64, state: &dyn ThreadState) -> Option<Caller> {
        let unwind = self.map.file().unwind().ok().flatten()?;
        let row = unwind.row(address).ok().flatten()?;
        let mut registers = Registers::new(self.machine);
        for number in 0..self.machine.program_counter() {
            if let Some(value) = state.register(number) {
                registers.set(number, value);
            }
        }
        // `minidump-unwind` itself checks that a frame leads outwards.
        registers.set(self.machine.program_counter(), 0);
        let mut frame = Frame::innermost(registers);
        let return_address = match frame.step_by(&row, &mut Memory(state)).ok()? {
            Step::Caller => Some(frame.pc()),
            Step::Outermost => None,
        };
        let after = frame.registers();
        let cfa = match (return_address, row.cfa) {
            (Some(_), _) => after.get(self.machine.stack_pointer())?,
            // The outermost frame keeps its registers.
            (None, Cfa::Register { register, offset }) => {
                state.register(register)?.wrapping_add_signed(offset)
            }
            (None, _) => state.register(self.machine.stack_pointer())?,
        };
        let rules = row.rules().filter(|(register, _)| *register != row.return_register);
        let registers = rules.map(|(register, _)| (register, after.get(register))).collect();
        Some(Caller { cfa, return_address, registers, is_signal: row.signal })
    }
}

/// A [`ThreadState`] as `foldsym-unwind` reads it.
struct Memory<'s>(&'s dyn ThreadState);

impl Process for Memory<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
        let word = self.0.memory(address)?.to_le_bytes();
        bytes.copy_from_slice(word.get(..bytes.len())?);
        Some(())
    }
}
