//! The effect of an instruction of a load/store processor, reduced to what its readers need: its control flow, the
//! registers that it changes, and known values. ARM, AArch64 and RISC-V are decoded into these terms. x86 has its own
//! ([`super::x86`]), since most of its instructions may access memory.

use super::flow::Target;
use crate::model::ImageAddr;

/// Registers, one bit each: 32 general registers, then 32 floating-point and vector registers.
pub(super) type RegisterSet = u64;

/// The number of the first floating-point register.
pub(super) const VECTORS: u8 = 32;

/// The effect of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    /// Changes no register and no memory: a hint, a comparison, a trap.
    Nothing,
    Constant {
        to: u8,
        value: u64,
    },
    /// The upper half of a register of 32 bits (`movt`).
    Upper {
        to: u8,
        value: u64,
    },
    Move {
        to: u8,
        from: u8,
    },
    Add {
        to: u8,
        from: u8,
        by: i64,
    },
    /// The sum of two registers, one of them possibly shifted or extended.
    Sum {
        to: u8,
        from: [u8; 2],
    },
    /// A register, shifted left by a number.
    Shift {
        to: u8,
        from: u8,
    },
    Load {
        to: RegisterSet,
        place: Place,
    },
    Store {
        of: RegisterSet,
        place: Place,
    },
    /// Changes these registers in another way.
    Write(RegisterSet),
    Jump(Goal),
    Call(Goal),
    Return,
    /// Any other effect, and unknown instructions.
    Other,
}

/// The target of a jump or call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goal {
    To(u64),
    /// The sum of a register and a number.
    Register(u8, i64),
    /// The sum of two registers.
    Sum([u8; 2]),
    /// The value of a place in memory.
    Memory(Place),
    /// An element of a table in the code itself (`tbb`).
    Table,
    /// An address plus an unknown number.
    Near(u64),
    Anywhere,
}

/// A place in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// `None` if `offset` is the address.
    pub(super) base: Option<u8>,
    pub(super) offset: i64,
    /// Another register is added.
    pub(super) indexed: bool,
    /// The instruction also writes the base.
    pub(super) writes_back: bool,
    /// The size of the access in bytes.
    pub(super) size: u8,
}

impl Place {
    pub(super) fn based(base: u8, offset: i64, size: u8) -> Place {
        Place { base: Some(base), offset, indexed: false, writes_back: false, size }
    }

    pub(super) fn at(address: u64, size: u8) -> Place {
        Place { base: None, offset: address.cast_signed(), indexed: false, writes_back: false, size }
    }

    /// The base, if the instruction writes it.
    fn written(self) -> RegisterSet {
        self.base.filter(|_| self.writes_back).map_or(0, |base| 1 << base)
    }
}

impl Op {
    pub(super) fn constant(to: u8, value: u64) -> Op {
        Op::Constant { to, value }
    }

    pub(super) fn write(to: u8) -> Op {
        Op::Write(1 << to)
    }

    pub(super) fn load(to: u8, place: Place) -> Op {
        Op::Load { to: 1 << to, place }
    }

    pub(super) fn store(of: u8, place: Place) -> Op {
        Op::Store { of: 1 << of, place }
    }

    /// The registers that it changes; all for an unknown instruction.
    pub(super) fn written(self) -> RegisterSet {
        match self {
            Op::Nothing | Op::Jump(_) | Op::Return => 0,
            Op::Constant { to, .. }
            | Op::Upper { to, .. }
            | Op::Move { to, .. }
            | Op::Add { to, .. }
            | Op::Sum { to, .. }
            | Op::Shift { to, .. } => 1 << to,
            Op::Load { to, place } => to | place.written(),
            Op::Store { place, .. } => place.written(),
            Op::Write(registers) => registers,
            Op::Call(_) | Op::Other => RegisterSet::MAX,
        }
    }
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inst {
    pub(super) len: usize,
    pub(super) op: Op,
    /// It is conditional.
    pub(super) conditional: bool,
}

impl Inst {
    pub(super) fn of(len: usize, op: Op) -> Inst {
        Inst { len, op, conditional: false }
    }

    pub(super) fn conditional(len: usize, op: Op) -> Inst {
        Inst { len, op, conditional: true }
    }
}

/// The calling convention of a processor.
pub(super) struct Convention {
    /// The registers of arguments.
    pub(super) arguments: RegisterSet,
    /// Callee-saved registers, and the register of the return address.
    pub(super) kept: RegisterSet,
    pub(super) stack: u8,
}

/// Reads code that may only pass a call on: the registers that hold the address of a place in the frame.
pub(super) struct Frame<'c> {
    convention: &'c Convention,
    registers: RegisterSet,
}

impl<'c> Frame<'c> {
    pub(super) fn new(convention: &'c Convention) -> Self {
        Frame { convention, registers: 1 << convention.stack }
    }

    /// Processes an instruction. False if the instruction does more than pass a call on, build a frame, keep the
    /// arguments and compare a guard: none of these gives an argument a new value.
    pub(super) fn passes(&mut self, Inst { op, conditional, .. }: Inst) -> bool {
        let &Convention { arguments, kept, stack } = self.convention;
        let in_frame = |place: Place| place.base.is_some_and(|base| self.registers & 1 << base != 0);
        let beside = |registers: RegisterSet, place: Place| {
            (registers | place.base.map_or(0, |base| 1 << base)) & arguments == 0
        };
        let passes = match op {
            Op::Nothing | Op::Jump(_) | Op::Call(_) | Op::Return => true,
            // An argument may come from a callee-saved register, or be the return address for a profiler.
            Op::Move { to, from } => arguments & 1 << to == 0 || kept & 1 << from != 0,
            // A load from the frame restores an argument or reads one on the stack. Another load must leave arguments alone.
            Op::Load { to, place } => in_frame(place) || beside(to, place),
            Op::Store { of, place } => in_frame(place) || beside(of, place),
            Op::Other => false,
            _ => op.written() & arguments == 0,
        };
        let from_frame = match op {
            Op::Move { to, from } | Op::Add { to, from, .. } if self.registers & 1 << from != 0 => 1 << to,
            _ => 0,
        };
        self.registers &= match op {
            Op::Call(_) => kept,
            _ => !op.written(),
        };
        // Where a condition does not hold, the register keeps its old value.
        self.registers |= 1 << stack | if conditional { 0 } else { from_frame };
        passes
    }
}

/// The known value of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum KnownValue {
    Unknown,
    Address(u64),
    /// The value at an address.
    Slot(u64),
    /// The sum of two numbers, one of them this address.
    Sum(Option<u64>),
    /// An element of a table, with the table's address and element size if they are known.
    Word(Option<(u64, u8)>),
    /// The sum of a table element and another number: a branch of a `switch`.
    Case,
}

/// The known values of registers, along code without a jump into it.
pub(super) struct Values<'a> {
    known: [KnownValue; VECTORS as usize],
    /// Addresses have 32 bits.
    narrow: bool,
    /// A constant in the code at an address.
    constant: &'a dyn Fn(u64) -> Option<u64>,
}

impl<'a> Values<'a> {
    pub(super) fn new(narrow: bool, constant: &'a dyn Fn(u64) -> Option<u64>) -> Self {
        Values { known: [KnownValue::Unknown; VECTORS as usize], narrow, constant }
    }

    pub(super) fn forget(&mut self) {
        self.known = [KnownValue::Unknown; VECTORS as usize];
    }

    fn of(&self, register: u8) -> KnownValue {
        self.known.get(usize::from(register)).copied().unwrap_or(KnownValue::Unknown)
    }

    fn address(&self, address: u64) -> u64 {
        if self.narrow { address & u64::from(u32::MAX) } else { address }
    }

    /// The address of a place, and whether an unknown number is added to it.
    fn place(&self, place: Place) -> (Option<u64>, bool) {
        let (base, summed) = match place.base.map(|base| self.of(base)) {
            None => (Some(0), false),
            Some(KnownValue::Address(base)) => (Some(base), false),
            Some(KnownValue::Sum(base)) => (base, true),
            Some(_) => (None, false),
        };
        (base.map(|base| self.address(base.wrapping_add_signed(place.offset))), summed || place.indexed)
    }

    fn loaded(&self, place: Place) -> KnownValue {
        match self.place(place) {
            (at, true) => KnownValue::Word(at.map(|at| (at, place.size))),
            // A value of less than an address's size is no address.
            (Some(at), false) if place.size == if self.narrow { 4 } else { 8 } => {
                (self.constant)(at).map_or(KnownValue::Slot(at), KnownValue::Address)
            }
            (_, false) => KnownValue::Unknown,
        }
    }

    /// Processes an instruction.
    pub(super) fn follow(&mut self, Inst { op, conditional, .. }: Inst) {
        let now = match op {
            Op::Constant { to, value } => Some((to, KnownValue::Address(self.address(value)))),
            Op::Upper { to, value } => match self.of(to) {
                // `movw; movt` writes an address in two halves (Arm ARM F5.1).
                KnownValue::Address(low) => Some((to, KnownValue::Address(value << 16 | low & 0xffff))),
                _ => None,
            },
            Op::Move { to, from } => Some((to, self.of(from))),
            Op::Add { to, from, by } => match self.of(from) {
                KnownValue::Address(from) => {
                    Some((to, KnownValue::Address(self.address(from.wrapping_add_signed(by)))))
                }
                KnownValue::Sum(Some(from)) => {
                    Some((to, KnownValue::Sum(Some(self.address(from.wrapping_add_signed(by))))))
                }
                KnownValue::Case => Some((to, KnownValue::Case)),
                // A table element that is counted from here.
                KnownValue::Word(_) if by != 0 => Some((to, KnownValue::Case)),
                _ => None,
            },
            Op::Sum { to, from } => {
                let sum = match from.map(|register| self.of(register)) {
                    // A `switch` adds the element of its table to the address of the table or of the code.
                    [KnownValue::Word(_), _] | [_, KnownValue::Word(_)] => KnownValue::Case,
                    [KnownValue::Address(a), KnownValue::Address(b)] => {
                        KnownValue::Address(self.address(a.wrapping_add(b)))
                    }
                    [KnownValue::Address(known), _] | [_, KnownValue::Address(known)] => {
                        KnownValue::Sum(Some(known))
                    }
                    _ => KnownValue::Sum(None),
                };
                Some((to, sum))
            }
            Op::Shift { to, from } => match self.of(from) {
                KnownValue::Word(_) => Some((to, KnownValue::Word(None))),
                _ => None,
            },
            Op::Load { to, place } if to.is_power_of_two() => {
                Some((to.trailing_zeros() as u8, self.loaded(place)))
            }
            _ => None,
        };
        let mut changed = op.written();
        while changed != 0 {
            // Vector registers (from bit 32 on) have no entry.
            if let Some(known) = self.known.get_mut(changed.trailing_zeros() as usize) {
                *known = KnownValue::Unknown;
            }
            changed &= changed - 1;
        }
        // A conditional instruction may keep the old value, so the register has one of two values.
        if let Some((to, value)) = now.filter(|_| !conditional)
            && let Some(known) = self.known.get_mut(usize::from(to))
        {
            *known = value;
        }
    }

    /// The target of a jump or call.
    pub(super) fn goal(&self, goal: Goal) -> Target {
        let (value, by) = match goal {
            Goal::To(address) => return Target::To(ImageAddr(address)),
            Goal::Table => return Target::Table,
            Goal::Near(address) => return Target::Near(ImageAddr(address)),
            Goal::Anywhere => return Target::Anywhere,
            Goal::Register(register, by) => (self.of(register), by),
            Goal::Memory(place) => (self.loaded(place), 0),
            Goal::Sum(from) => match from.map(|register| self.of(register)) {
                [KnownValue::Word(_), _] | [_, KnownValue::Word(_)] => return Target::Table,
                _ => return Target::Anywhere,
            },
        };
        match (value, by) {
            // Bit 0 of the address selects the instruction set.
            (KnownValue::Address(address), by) => {
                Target::To(ImageAddr(self.address(address.wrapping_add_signed(by)) & !1))
            }
            (KnownValue::Slot(slot), 0) => Target::Through(ImageAddr(slot)),
            (KnownValue::Sum(Some(address)), _) => Target::Near(ImageAddr(address)),
            (KnownValue::Word(Some((table, size))), 0) => Target::TableAt(ImageAddr(table), size),
            // A table element that is counted from the jump.
            (KnownValue::Word(_), 1..) | (KnownValue::Case, _) => Target::Table,
            _ => Target::Anywhere,
        }
    }
}
