//! The expressions that compilers, linkers and C libraries write into call frame information (DWARF 5 2.5).
//!
//! A stack of numbers, registers and memory: what procedure linkage tables, signal trampolines and functions that realign
//! their stack need. Operations that call, name types or pieces are not allowed in call frame information (6.4.2).

use foldsym_format::{bits, varint};

use crate::process::{Process, Stop};
use crate::registers::Registers;

/// Numbers on the stack, and operations of one evaluation, at most.
const DEPTH: usize = 32;
const STEPS: u32 = 1000;

struct Stack {
    values: [u64; DEPTH],
    len: usize,
}

impl Stack {
    fn push(&mut self, value: u64) -> Option<()> {
        *self.values.get_mut(self.len)? = value;
        self.len = self.len.wrapping_add(1);
        Some(())
    }

    fn pop(&mut self) -> Option<u64> {
        self.len = self.len.checked_sub(1)?;
        self.values.get(self.len).copied()
    }

    /// The value `below` entries below the top.
    fn peek(&self, below: usize) -> Option<u64> {
        self.values.get(self.len.checked_sub(below)?.checked_sub(1)?).copied()
    }
}

/// The top of the stack at the end; `initial` is on it at first.
pub(crate) fn evaluate(
    code: &[u8],
    initial: Option<u64>,
    registers: &Registers,
    process: &mut impl Process,
) -> Result<u64, Stop> {
    let mut stack = Stack { values: [0; DEPTH], len: 0 };
    // An expression of a register's rule starts with the frame address on the stack. The expression of the frame address itself starts
    // with an empty stack (DWARF 5 6.4.2).
    if let Some(value) = initial {
        stack.push(value).ok_or(Stop::Expression)?;
    }
    let mut at = 0usize;
    let mut steps = 0u32;
    while at < code.len() {
        // A branch may go back, so the number of steps is bounded.
        steps = steps.wrapping_add(1);
        if steps > STEPS {
            return Err(Stop::Expression);
        }
        let op = *code.get(at).ok_or(Stop::Expression)?;
        at = at.wrapping_add(1);
        at = match op {
            // breg, bregx
            0x70..=0x8f | 0x92 => {
                let (register, from) = match op {
                    0x92 => varint::read(code, at).ok_or(Stop::Expression)?,
                    _ => (u64::from(op.wrapping_sub(0x70)), at),
                };
                let (offset, next) = sleb(code, from).ok_or(Stop::Expression)?;
                let value = registers.get(register).ok_or(Stop::Register(register))?;
                stack.push(value.wrapping_add_signed(offset)).ok_or(Stop::Expression)?;
                next
            }
            // deref, deref_size
            0x06 | 0x94 => {
                let (len, next) = match op {
                    0x94 => (code.get(at).copied().map_or(9, usize::from), at.wrapping_add(1)),
                    _ => (8, at),
                };
                let address = stack.pop().ok_or(Stop::Expression)?;
                let mut bytes = [0; 8];
                let place = bytes.get_mut(..len).filter(|place| !place.is_empty()).ok_or(Stop::Expression)?;
                process.read(address, place).ok_or(Stop::Memory(address))?;
                stack.push(u64::from_le_bytes(bytes)).ok_or(Stop::Expression)?;
                next
            }
            _ => plain(op, code, at, &mut stack).ok_or(Stop::Expression)?,
        };
    }
    stack.pop().ok_or(Stop::Expression)
}

/// Executes an operation that needs only the stack. Returns the offset of the next one; `None` if it cannot be executed.
fn plain(op: u8, code: &[u8], at: usize, stack: &mut Stack) -> Option<usize> {
    match op {
        // lit0 to lit31, const1u to const8s, addr, constu, consts
        0x30..=0x4f => stack.push(u64::from(op.wrapping_sub(0x30))).map(|()| at),
        0x03 | 0x08..=0x0f => {
            let (log2, signed) = match op {
                0x03 => (3, false),
                _ => (u32::from(op.wrapping_sub(0x08) >> 1), op & 1 != 0),
            };
            let len = 1usize.wrapping_shl(log2);
            let end = at.checked_add(len)?;
            let mut bytes = [0; 8];
            // Not `copy_from_slice`, whose panic for lengths that differ stays in small builds.
            for (to, from) in bytes.iter_mut().zip(code.get(at..end)?) {
                *to = *from;
            }
            let unused = 64u32.wrapping_sub(8u32.wrapping_shl(log2));
            let value = u64::from_le_bytes(bytes);
            let extended = (value.wrapping_shl(unused).cast_signed()).wrapping_shr(unused).cast_unsigned();
            stack.push(if signed { extended } else { value }).map(|()| end)
        }
        0x10 => varint::read(code, at).and_then(|(value, next)| stack.push(value).map(|()| next)),
        0x11 => sleb(code, at).and_then(|(value, next)| stack.push(value.cast_unsigned()).map(|()| next)),
        // dup, drop, over, pick, swap, rot
        0x12 => stack.push(stack.peek(0)?).map(|()| at),
        0x13 => stack.pop().map(|_| at),
        0x14 => stack.push(stack.peek(1)?).map(|()| at),
        0x15 => stack.push(stack.peek(usize::from(*code.get(at)?))?).map(|()| at.wrapping_add(1)),
        0x16 => {
            let (top, second) = (stack.pop()?, stack.pop()?);
            [top, second].into_iter().try_for_each(|value| stack.push(value)).map(|()| at)
        }
        0x17 => {
            // The top becomes the third, so it is pushed first (DWARF 5 2.5.1.3).
            let (top, second, third) = (stack.pop()?, stack.pop()?, stack.pop()?);
            [top, third, second].into_iter().try_for_each(|value| stack.push(value)).map(|()| at)
        }
        // abs, neg, not, plus_uconst
        0x19 => stack.pop().and_then(|value| stack.push(value.cast_signed().unsigned_abs())).map(|()| at),
        0x1f => stack.pop().and_then(|value| stack.push(value.wrapping_neg())).map(|()| at),
        0x20 => stack.pop().and_then(|value| stack.push(!value)).map(|()| at),
        0x23 => {
            let (add, next) = varint::read(code, at)?;
            let value = stack.pop()?.wrapping_add(add);
            stack.push(value).map(|()| next)
        }
        // skip, bra
        0x2f | 0x28 => {
            let offset = bits::u16_at(code, at)?.cast_signed();
            // The offset counts from the byte after the operand (DWARF 5 2.5.1.5).
            let next = at.wrapping_add(2);
            let goes = op == 0x2f || stack.pop()? != 0;
            let target = if goes { next.checked_add_signed(offset.into())? } else { next };
            // A branch to the end of the code is allowed: it ends the evaluation.
            (target <= code.len()).then_some(target)
        }
        0x96 => Some(at),
        _ => {
            let (right, left) = (stack.pop()?, stack.pop()?);
            stack.push(binary(op, left, right)?).map(|()| at)
        }
    }
}

fn binary(op: u8, left: u64, right: u64) -> Option<u64> {
    let (a, b) = (left.cast_signed(), right.cast_signed());
    // The count saturates: the low 32 bits of 2^32 would give a shift by 0.
    let shift = u32::try_from(right).unwrap_or(u32::MAX);
    Some(match op {
        0x1a => left & right,
        0x1b => a.checked_div(b)?.cast_unsigned(),
        0x1c => left.wrapping_sub(right),
        // `DW_OP_div` is signed (DWARF 5 2.5.1.4), and so are comparisons (2.5.1.5). `DW_OP_mod` is unsigned here.
        0x1d => left.checked_rem(right)?,
        0x1e => left.wrapping_mul(right),
        0x21 => left | right,
        0x22 => left.wrapping_add(right),
        0x24 => left.checked_shl(shift).unwrap_or(0),
        0x25 => left.checked_shr(shift).unwrap_or(0),
        0x26 => a.wrapping_shr(shift.min(63)).cast_unsigned(),
        0x27 => left ^ right,
        0x29 => u64::from(a == b),
        0x2a => u64::from(a >= b),
        0x2b => u64::from(a > b),
        0x2c => u64::from(a <= b),
        0x2d => u64::from(a < b),
        0x2e => u64::from(a != b),
        _ => return None,
    })
}

/// Signed LEB128 (DWARF 5 7.6), and its end.
fn sleb(code: &[u8], at: usize) -> Option<(i64, usize)> {
    let (mut value, mut shift, mut at) = (0u64, 0u32, at);
    loop {
        let byte = *code.get(at)?;
        at = at.wrapping_add(1);
        if shift >= u64::BITS {
            return None;
        }
        value |= u64::from(byte & 0x7f).wrapping_shl(shift);
        shift = shift.wrapping_add(7);
        if byte & 0x80 == 0 {
            if byte & 0x40 != 0 && shift < u64::BITS {
                value |= u64::MAX.wrapping_shl(shift);
            }
            return Some((value.cast_signed(), at));
        }
    }
}
