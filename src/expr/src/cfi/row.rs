//! Executes the instructions of an entry: the rules that hold at an address (DWARF 5 6.4.2).

use super::entries::{CfiError, CfiProblem, Cie, Fde, FrameSection};
use crate::bytes::Bytes;

/// How the canonical frame address is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cfa<'e> {
    /// No instruction said.
    Unknown,
    /// A register plus an offset.
    Register {
        /// The register.
        register: u64,
        /// Bytes to add.
        offset: i64,
        /// The address space that the sum is in; 0 is the program's memory.
        space: u64,
    },
    /// The value of an expression.
    Expression(&'e [u8]),
}

/// Where a register of the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule<'e> {
    /// Nowhere.
    Undefined,
    /// In itself.
    SameValue,
    /// In memory, at this offset from the canonical frame address.
    Offset(i64),
    /// It is the canonical frame address plus this offset.
    ValueOffset(i64),
    /// In another register.
    Register(u64),
    /// Where an expression says.
    Expression(&'e [u8]),
    /// It is what an expression says.
    ValueExpression(&'e [u8]),
}

/// The rules that hold at an address.
#[derive(Clone, Copy, Debug)]
pub struct Row<'e, const REGISTERS: usize> {
    /// The first address that it holds for.
    pub start: u64,
    /// The canonical frame address.
    pub cfa: Cfa<'e>,
    rules: [Option<(u64, Rule<'e>)>; REGISTERS],
    /// Bytes of arguments on the stack (`DW_CFA_GNU_args_size`).
    pub args_size: u64,
}

impl<'e, const REGISTERS: usize> Row<'e, REGISTERS> {
    /// No rule at all.
    pub const fn new() -> Self {
        Row { start: 0, cfa: Cfa::Unknown, rules: [None; REGISTERS], args_size: 0 }
    }

    /// The rule of a register; `None` if no instruction named it (the architecture's default holds).
    pub fn rule(&self, register: u64) -> Option<Rule<'e>> {
        self.rules().find(|(number, _)| *number == register).map(|(_, rule)| rule)
    }

    /// All rules, in no particular order.
    pub fn rules(&self) -> impl Iterator<Item = (u64, Rule<'e>)> + '_ {
        self.rules.iter().flatten().copied()
    }

    fn set(&mut self, register: u64, rule: Option<Rule<'e>>) -> Result<(), CfiProblem> {
        let named = |slot: &&mut Option<(u64, Rule<'e>)>| slot.is_some_and(|(number, _)| number == register);
        if let Some(slot) = self.rules.iter_mut().find(named) {
            // A register that goes back to no rule frees its slot, so that restores do not use up the room.
            *slot = rule.map(|rule| (register, rule));
            return Ok(());
        }
        let Some(rule) = rule else { return Ok(()) };
        let free = self.rules.iter_mut().find(|slot| slot.is_none()).ok_or(CfiProblem::NoRoom)?;
        *free = Some((register, rule));
        Ok(())
    }
}

impl<const REGISTERS: usize> Default for Row<'_, REGISTERS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'e> FrameSection<'e> {
    /// The row at an address of the entry, with room for `REGISTERS` registers, and for `REMEMBERED` nested states. Takes a step for each
    /// instruction and register.
    ///
    /// # Errors
    /// An instruction is unknown, truncated or not allowed, or needs more room.
    pub fn row<const REGISTERS: usize, const REMEMBERED: usize>(
        &self,
        fde: &Fde<'e>,
        address: u64,
    ) -> Result<Row<'e, REGISTERS>, CfiError> {
        execute::<REGISTERS, REMEMBERED>(self, fde, address)
    }

    /// Visits all rows of an entry in order, each with the address after its last one. Takes a step for each instruction, and for each
    /// register of a row.
    ///
    /// # Errors
    /// As [`Self::row`]; the rows in front of it were given.
    pub fn each_row<const REGISTERS: usize, const REMEMBERED: usize>(
        &self,
        fde: &Fde<'e>,
        take: &mut dyn FnMut(&Row<'e, REGISTERS>, u64),
    ) -> Result<(), CfiError> {
        each::<REGISTERS, REMEMBERED>(self, fde, take)
    }
}

/// The row that holds at an address of the entry.
fn execute<'e, const REGISTERS: usize, const REMEMBERED: usize>(
    section: &FrameSection<'e>,
    fde: &Fde<'e>,
    address: u64,
) -> Result<Row<'e, REGISTERS>, CfiError> {
    let mut machine = Machine::<REGISTERS, REMEMBERED>::at_start(section, fde, address)?;
    let at = |entry: u64| move |problem| CfiError { entry, problem };
    machine.execute(fde.instructions, fde.instructions_at, &fde.cie).map_err(at(fde.offset))?;
    Ok(machine.row)
}

/// Visits each row of the entry, with the address after its last one. Rows without an address are left out.
fn each<'e, const REGISTERS: usize, const REMEMBERED: usize>(
    section: &FrameSection<'e>,
    fde: &Fde<'e>,
    take: &mut dyn FnMut(&Row<'e, REGISTERS>, u64),
) -> Result<(), CfiError> {
    let mut machine = Machine::<REGISTERS, REMEMBERED>::at_start(section, fde, fde.start)?;
    // A damaged entry may claim code beyond the end of the address space.
    let end = fde.start.saturating_add(fde.len);
    let at = |entry: u64| move |problem| CfiError { entry, problem };
    let (mut instructions, mut from) = (fde.instructions, fde.instructions_at);
    // Each turn executes the instructions of one row, and stops before the instruction that begins the next.
    while machine.row.start < end {
        let used = machine.execute(instructions, from, &fde.cie).map_err(at(fde.offset))?;
        let rest = instructions.get(used..).unwrap_or_default();
        let next =
            machine.next_start(rest, from.saturating_add(count(used)), &fde.cie).map_err(at(fde.offset))?;
        // The entry describes no code from its end on, whatever its instructions say.
        let next = next.filter(|&next| next < end);
        take(&machine.row, next.unwrap_or(end));
        let Some(next) = next else { break };
        // The next turn executes the instruction before which this one stopped.
        machine.address = next;
        (instructions, from) = (rest, from.saturating_add(count(used)));
    }
    Ok(())
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

struct Machine<'s, 'e, const REGISTERS: usize, const REMEMBERED: usize> {
    section: &'s FrameSection<'e>,
    cie: &'s Cie<'e>,
    row: Row<'e, REGISTERS>,
    /// The row after the CIE's instructions.
    initial: Option<Row<'e, REGISTERS>>,
    remembered: [Row<'e, REGISTERS>; REMEMBERED],
    depth: usize,
    /// Where to stop.
    address: u64,
}

impl<'s, 'e, const REGISTERS: usize, const REMEMBERED: usize> Machine<'s, 'e, REGISTERS, REMEMBERED> {
    /// The state at the start of an entry, after the instructions of its CIE. Execution stops before the first row after `address`.
    fn at_start(section: &'s FrameSection<'e>, fde: &'s Fde<'e>, address: u64) -> Result<Self, CfiError> {
        let mut machine = Self {
            section,
            cie: &fde.cie,
            row: Row { start: fde.start, ..Row::new() },
            // `None` while the CIE's own instructions run: `DW_CFA_restore` there has no rule to go back to.
            initial: None,
            remembered: [Row::new(); REMEMBERED],
            depth: 0,
            address,
        };
        let Cie { instructions, instructions_at, offset, .. } = fde.cie;
        let executed = machine.execute(instructions, instructions_at, &fde.cie);
        executed.map_err(|problem| CfiError { entry: offset, problem })?;
        machine.initial = Some(machine.row);
        Ok(machine)
    }

    /// Executes instructions up to the first that begins a row after the address; returns how many bytes they have.
    fn execute(&mut self, instructions: &'e [u8], at: u64, cie: &Cie<'e>) -> Result<usize, CfiProblem> {
        let mut bytes = Bytes::new(instructions, self.section.big_endian);
        while !bytes.is_empty() {
            let before = bytes.position();
            let code = bytes.u8().ok_or(CfiProblem::Truncated)?;
            let low = u64::from(code & 0x3f);
            if let Some(next) = self.advanced(code, &mut bytes, at, cie)? {
                if next > self.address {
                    // The position before the instruction: `next_start` reads it again.
                    return Ok(before);
                }
                self.row.start = next;
            } else {
                match code {
                    0x80..=0xbf => {
                        let offset = factored(bytes.uleb(), cie.data_align)?;
                        self.row.set(low, Some(Rule::Offset(offset)))?;
                    }
                    0xc0..=0xff => self.restore(low)?,
                    _ => self.extended(code, &mut bytes)?,
                }
            }
        }
        Ok(bytes.position())
    }

    /// The start of the row that an instruction begins, if it begins one.
    fn advanced(
        &self,
        code: u8,
        bytes: &mut Bytes<'e>,
        at: u64,
        cie: &Cie<'e>,
    ) -> Result<Option<u64>, CfiProblem> {
        let advance = match code {
            0x40..=0x7f => Some(u64::from(code & 0x3f)),
            0x02 => bytes.number(1),
            0x03 => bytes.number(2),
            0x04 => bytes.number(4),
            // `DW_CFA_MIPS_advance_loc8`.
            0x1d => bytes.number(8),
            0x01 => {
                // The base of the pointer counts from the section; the instructions begin at `at`.
                let moved = FrameSection { address: self.section.address.wrapping_add(at), ..*self.section };
                return moved.encoded(cie.pointer_encoding, cie.address_size, bytes).map(Some);
            }
            _ => return Ok(None),
        };
        let advance = advance.ok_or(CfiProblem::Truncated)?;
        // Only a damaged entry makes this wrap. Its rows then do not ascend, and the caller of `each_row` must expect that.
        Ok(Some(self.row.start.wrapping_add(advance.wrapping_mul(cie.code_align))))
    }

    /// The start of the next row, if instructions before it end one; `None` if there are none.
    fn next_start(&self, rest: &'e [u8], at: u64, cie: &Cie<'e>) -> Result<Option<u64>, CfiProblem> {
        let mut bytes = Bytes::new(rest, self.section.big_endian);
        let Some(code) = bytes.u8() else { return Ok(None) };
        self.advanced(code, &mut bytes, at, cie)
    }

    fn restore(&mut self, register: u64) -> Result<(), CfiProblem> {
        let initial = self.initial.as_ref().ok_or(CfiProblem::BadState)?;
        self.row.set(register, initial.rule(register))
    }

    fn extended(&mut self, code: u8, bytes: &mut Bytes<'e>) -> Result<(), CfiProblem> {
        let align = self.cie.data_align;
        match code {
            0x00 => {}
            // Return addresses that are signed (AArch64), or windows that are saved (SPARC): no rule of a register.
            0x2d => {}
            0x2e => self.row.args_size = uleb(bytes)?,
            0x06 => {
                let register = uleb(bytes)?;
                self.restore(register)?;
            }
            0x0a => {
                *self.remembered.get_mut(self.depth).ok_or(CfiProblem::NoRoom)? = self.row;
                self.depth = self.depth.saturating_add(1);
            }
            0x0b => {
                self.depth = self.depth.checked_sub(1).ok_or(CfiProblem::BadState)?;
                let row = *self.remembered.get(self.depth).ok_or(CfiProblem::BadState)?;
                // The instruction restores rules (DWARF 5 6.4.2.4), not the address at which the row starts.
                self.row = Row { start: self.row.start, ..row };
            }
            0x0c..=0x0f | 0x12 | 0x13 | 0x30 | 0x31 => self.define(code, bytes)?,
            _ => {
                let register = match code {
                    0x05 | 0x07..=0x09 | 0x10 | 0x11 | 0x14..=0x16 | 0x2f => uleb(bytes)?,
                    _ => return Err(CfiProblem::Instruction(code)),
                };
                let rule = match code {
                    0x05 => Rule::Offset(factored(bytes.uleb(), align)?),
                    0x07 => Rule::Undefined,
                    0x08 => Rule::SameValue,
                    0x09 => Rule::Register(uleb(bytes)?),
                    0x10 => Rule::Expression(block(bytes)?),
                    0x11 => Rule::Offset(signed_factored(bytes.sleb(), align)?),
                    0x14 => Rule::ValueOffset(factored(bytes.uleb(), align)?),
                    0x15 => Rule::ValueOffset(signed_factored(bytes.sleb(), align)?),
                    0x16 => Rule::ValueExpression(block(bytes)?),
                    // `DW_CFA_GNU_negative_offset_extended`: the operand is the offset without its sign.
                    _ => Rule::Offset(factored(bytes.uleb(), align)?.wrapping_neg()),
                };
                self.row.set(register, Some(rule))?;
            }
        }
        Ok(())
    }

    /// The instructions that define the canonical frame address.
    fn define(&mut self, code: u8, bytes: &mut Bytes<'e>) -> Result<(), CfiProblem> {
        let align = self.cie.data_align;
        let plain = |value: Option<u64>| value.map(u64::cast_signed).ok_or(CfiProblem::Truncated);
        self.row.cfa = match (code, self.row.cfa) {
            (0x0c, _) => Cfa::Register { register: uleb(bytes)?, offset: plain(bytes.uleb())?, space: 0 },
            (0x12, _) => Cfa::Register {
                register: uleb(bytes)?,
                offset: signed_factored(bytes.sleb(), align)?,
                space: 0,
            },
            // `DW_CFA_LLVM_def_aspace_cfa` here, `DW_CFA_LLVM_def_aspace_cfa_sf` below: the frame is in another address space.
            (0x30, _) => {
                Cfa::Register { register: uleb(bytes)?, offset: plain(bytes.uleb())?, space: uleb(bytes)? }
            }
            (0x31, _) => Cfa::Register {
                register: uleb(bytes)?,
                offset: signed_factored(bytes.sleb(), align)?,
                space: uleb(bytes)?,
            },
            (0x0f, _) => Cfa::Expression(block(bytes)?),
            // These change a part of a rule that must be there.
            (0x0d, Cfa::Register { offset, space, .. }) => {
                Cfa::Register { register: uleb(bytes)?, offset, space }
            }
            // clang begins entries of MIPS with this: no offset yet.
            (0x0d, Cfa::Unknown) => Cfa::Register { register: uleb(bytes)?, offset: 0, space: 0 },
            // Not factored, unlike the operand of `DW_CFA_def_cfa_offset_sf` (DWARF 5 6.4.2.2).
            (0x0e, Cfa::Register { register, space, .. }) => {
                Cfa::Register { register, offset: plain(bytes.uleb())?, space }
            }
            (0x13, Cfa::Register { register, space, .. }) => {
                Cfa::Register { register, offset: signed_factored(bytes.sleb(), align)?, space }
            }
            // Instructions that change a part are valid only if the rule is a register and an offset (DWARF 5 6.4.2.2).
            _ => return Err(CfiProblem::BadState),
        };
        Ok(())
    }
}

fn uleb(bytes: &mut Bytes<'_>) -> Result<u64, CfiProblem> {
    bytes.uleb().ok_or(CfiProblem::Truncated)
}

fn block<'e>(bytes: &mut Bytes<'e>) -> Result<&'e [u8], CfiProblem> {
    let len = usize::try_from(uleb(bytes)?).map_err(|_| CfiProblem::Truncated)?;
    bytes.take(len).ok_or(CfiProblem::Truncated)
}

fn factored(value: Option<u64>, align: i64) -> Result<i64, CfiProblem> {
    Ok(value.ok_or(CfiProblem::Truncated)?.cast_signed().wrapping_mul(align))
}

fn signed_factored(value: Option<i64>, align: i64) -> Result<i64, CfiProblem> {
    Ok(value.ok_or(CfiProblem::Truncated)?.wrapping_mul(align))
}
