//! Steps from a frame to its caller's frame.

use foldsym_format::{FormatError, What};

use crate::expression;
use crate::process::{Process, Step, Stop};
use crate::registers::{Machine, REGISTERS, Registers};
use crate::row::{Cfa, Row, Rule};
use crate::section::Unwind;

/// A frame of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    registers: Registers,
    exact: bool,
}

impl Frame {
    /// The frame that was running: its program counter is exact.
    pub const fn innermost(registers: Registers) -> Self {
        Self { registers, exact: true }
    }

    /// A frame whose program counter is a return address.
    pub const fn caller(registers: Registers) -> Self {
        Self { registers, exact: false }
    }

    /// Its known registers.
    pub const fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Its program counter. It is a return address in all frames but the innermost one and those that a signal interrupted. 0 if it is
    /// unknown.
    #[inline]
    pub fn pc(&self) -> u64 {
        self.registers.get(self.registers.machine().program_counter()).unwrap_or(0)
    }

    /// The program counter is that of the instruction which runs next, not a return address.
    pub const fn is_exact(&self) -> bool {
        self.exact
    }

    /// An address inside of the instruction that runs, or that called: by it modules, rows and lines are found.
    #[inline]
    pub fn lookup_pc(&self) -> u64 {
        self.pc().wrapping_sub(u64::from(!self.exact))
    }

    /// Goes to the caller, by the module that has [`Self::lookup_pc`] and is loaded `bias` bytes above its link-time
    /// addresses. Takes one search in the section and a read of memory for each saved register.
    ///
    /// # Errors
    /// Why not; the frame is as before.
    pub fn step(&mut self, module: &Unwind<'_>, bias: u64, process: &mut impl Process) -> Result<Step, Stop> {
        let row = module.row(self.lookup_pc().wrapping_sub(bias))?.ok_or(Stop::NoEntry)?;
        self.step_by(&row, process)
    }

    /// As [`Self::step`], by a row that the caller has found.
    ///
    /// # Errors
    /// Why not; the frame is as before.
    pub fn step_by(&mut self, row: &Row<'_>, process: &mut impl Process) -> Result<Step, Stop> {
        let here = &self.registers;
        let machine = here.machine();
        let (sp, pc) = (machine.stack_pointer(), machine.program_counter());
        let cfa = match row.cfa {
            Cfa::Unknown => return Err(Stop::Register(sp)),
            Cfa::Register { register, offset } => {
                here.get(register).ok_or(Stop::Register(register))?.wrapping_add_signed(offset)
            }
            Cfa::Expression(bytes) => expression::evaluate(bytes, None, here, process)?,
        };
        // A register without a rule was not changed, or need not be kept (schema, section 11).
        let mut next = *here;
        // The frame address is usually the caller's stack pointer at the call (DWARF 5 6.4). It is set before the rules are applied, so
        // that a rule of the stack pointer replaces it. A signal frame has such a rule.
        next.set(sp, cfa);
        // The program counter is the caller's value of the return address register, by its rule, or the register itself.
        let mut returned = None;
        let mut lost = false;
        let mut rules = row.rules();
        // No more than there are registers.
        // Rules are sorted by register, and no two have the same register (schema, section 11). So these include all registers up to the
        // pc.
        for _ in 0..REGISTERS {
            // Nearly every register is in memory.
            let (register, rule) = match rules.next_saved() {
                Some((register, offset)) => (register, Rule::Offset(offset)),
                None => match rules.next() {
                    Some(rule) => rule,
                    // The iterator also ends at a rule that it cannot read, and then some are left.
                    None if rules.rest().1 != 0 => {
                        return Err(Stop::Damaged(FormatError::new(What::Value, row.at as u64)));
                    }
                    None => break,
                },
            };
            let is_return = register == row.return_register;
            // Registers that are not followed need no memory.
            if !is_return && register > pc {
                continue;
            }
            if let Rule::Offset(offset) = rule {
                let value = word(process, cfa.wrapping_add_signed(offset))?;
                if is_return {
                    returned = Some(value);
                }
                // The return register may be a column that is no register of the processor.
                if register <= pc {
                    next.put(register, value);
                }
                continue;
            }
            let value = other_value(register, rule, cfa, here, process)?;
            match value {
                Some(value) => next.set(register, value),
                None => next.forget(register),
            }
            if is_return {
                // A return address with the rule `undefined` marks the outermost frame (DWARF 5, "Call Frame Calling Address").
                (returned, lost) = (value, rule == Rule::Undefined);
                // The value that a rule gives replaces the register's own one, which is stale.
                if let (None, Rule::Register(other)) = (value, rule) {
                    return Err(Stop::Register(other));
                }
            }
        }
        if lost {
            return Ok(Step::Outermost);
        }
        let returned = match returned {
            Some(returned) => returned,
            // In a leaf function of AArch64 the return address is in the link register, and no rule names it. A function that called
            // another one has its own return there in that register: it would be its own caller for ever.
            None if machine == Machine::Aarch64 && !self.exact => return Err(Stop::Stuck),
            None if machine == Machine::Aarch64 => {
                here.get(row.return_register).ok_or(Stop::Register(row.return_register))?
            }
            None => return Err(Stop::Register(row.return_register)),
        };
        let returned = process.strip(returned);
        if returned == 0 {
            return Ok(Step::Outermost);
        }
        next.set(pc, returned);
        // This check comes before the frame is replaced, since an error must leave the frame unchanged.
        self.is_further_out(&next, row.signal)?;
        // A signal interrupted the caller before the instruction at the pc, so this pc is no return address.
        *self = Frame { registers: next, exact: row.signal };
        Ok(Step::Caller)
    }

    /// The stack grows down: a caller's frame is above that of its callee, unless a signal chose another stack. A leaf function may have no
    /// frame.
    fn is_further_out(&self, next: &Registers, signal: bool) -> Result<(), Stop> {
        let sp = self.registers.machine().stack_pointer();
        let (before, after) = (self.registers.get(sp).unwrap_or(0), next.get(sp).unwrap_or(0));
        let same = after == before && next.get(next.machine().program_counter()).unwrap_or(0) != self.pc();
        if signal || after > before || (self.exact && same) { Ok(()) } else { Err(Stop::Stuck) }
    }
}

/// The caller's value of a register that is not in memory at a fixed place; `None` if it is lost.
#[inline(never)]
fn other_value(
    register: u64,
    rule: Rule<'_>,
    cfa: u64,
    here: &Registers,
    process: &mut impl Process,
) -> Result<Option<u64>, Stop> {
    Ok(match rule {
        Rule::Undefined => None,
        Rule::SameValue => here.get(register),
        Rule::Offset(offset) => Some(word(process, cfa.wrapping_add_signed(offset))?),
        Rule::ValueOffset(offset) => Some(cfa.wrapping_add_signed(offset)),
        Rule::Register(other) => here.get(other),
        Rule::Expression(bytes) => {
            let at = expression::evaluate(bytes, Some(cfa), here, process)?;
            Some(word(process, at)?)
        }
        Rule::ValueExpression(bytes) => Some(expression::evaluate(bytes, Some(cfa), here, process)?),
    })
}

/// Reads a word of memory.
#[inline]
fn word(process: &mut impl Process, address: u64) -> Result<u64, Stop> {
    let mut bytes = [0; 8];
    process.read(address, &mut bytes).ok_or(Stop::Memory(address))?;
    Ok(u64::from_le_bytes(bytes))
}
