//! Instructions of AArch64, decoded by `yaxpeax-arm` into the terms of [`super::inst`].

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Opcode, Operand, ShiftStyle, SizeCode};

use super::inst::{Convention, Goal, Inst, Op, Place, RegisterSet, VECTORS};

const LINK: u16 = 30;
/// The stack pointer as a general register. The zero register has no number here.
const STACK: u8 = 31;

/// `x0` to `x7` and `v0` to `v7`; `x19` to `x30` and `v8` to `v15` (AAPCS64 6.1).
pub(super) const CONVENTION: Convention =
    Convention { arguments: 0xff | 0xff << VECTORS, kept: 0xfff << 19 | 0xff << (8 + VECTORS), stack: STACK };

/// True if a word may be a direct jump or call: it is of the class of branches and system instructions, and neither a
/// hint nor a return (Arm ARM C4.1). Most words are not.
pub(super) fn may_branch(word: u32) -> bool {
    word & 0x1c00_0000 == 0x1400_0000 && !matches!(word >> 24, 0xd4..=0xd7)
}

/// The instruction at an address.
pub(super) fn decode(word: u32, address: u64) -> Inst {
    let op = match InstDecoder::default().decode(&mut U8Reader::new(&word.to_le_bytes())) {
        Ok(found) => operation(&found, word, address),
        // The decoder does not know CB<cc> (FEAT_CMPBR): bits 13 to 5 are the distance in words.
        Err(_) if word & 0x7e00_0000 == 0x7400_0000 => {
            let by = i64::from((word << 18).cast_signed() >> 23) * 4;
            Op::Jump(Goal::To(address.wrapping_add_signed(by)))
        }
        Err(_) => Op::Other,
    };
    // Neither B (bits 31 to 26 are 000101) nor a branch to a register (bits 31 to 25 are 1101011). All other jumps are
    // conditional.
    let conditional = matches!(op, Op::Jump(_)) && word >> 26 != 5 && word >> 25 != 0x6b;
    Inst { len: 4, op, conditional }
}

fn operation(found: &Instruction, word: u32, address: u64) -> Op {
    let goal = |operand: Operand| match operand {
        Operand::PCOffset(by) => Goal::To(address.wrapping_add_signed(by)),
        Operand::Register(_, register) => Goal::Register(register as u8, 0),
        _ => Goal::Anywhere,
    };
    let [first, second, third, _] = found.operands;
    match found.opcode {
        Opcode::B | Opcode::Bcc(_) | Opcode::BCcc(_) => Op::Jump(goal(first)),
        Opcode::CBZ | Opcode::CBNZ => Op::Jump(goal(second)),
        Opcode::TBZ | Opcode::TBNZ => Op::Jump(goal(third)),
        Opcode::BR | Opcode::BRAA | Opcode::BRAAZ | Opcode::BRAB | Opcode::BRABZ => Op::Jump(goal(first)),
        Opcode::BL | Opcode::BLR | Opcode::BLRAA | Opcode::BLRAAZ | Opcode::BLRAB | Opcode::BLRABZ => {
            Op::Call(goal(first))
        }
        Opcode::RET => match first {
            Operand::Register(_, LINK) => Op::Return,
            // RET of another register is no return of this function: it goes on where that register points.
            other => Op::Jump(goal(other)),
        },
        // RETAA and RETAB check the signature of X30 and return by it (FEAT_PAuth).
        Opcode::RETAA | Opcode::RETAB => Op::Return,
        // Padding, and instructions that trap.
        Opcode::UDF | Opcode::BRK | Opcode::HLT => Op::Nothing,
        Opcode::ADR => match (general(first), second) {
            (Some(to), Operand::PCOffset(by)) => Op::constant(to, address.wrapping_add_signed(by)),
            _ => written(found),
        },
        Opcode::ADRP => match (general(first), second) {
            (Some(to), Operand::PCOffset(by)) => Op::constant(to, (address & !0xfff).wrapping_add_signed(by)),
            _ => written(found),
        },
        // The class of the instruction: bits 28 to 25 (Arm ARM C4.1).
        _ => match word >> 25 & 15 {
            8 | 9 | 5 | 13 => computed(found),
            4 | 6 | 12 | 14 => moved(found),
            // Hints, barriers and system registers; not SVC, HVC, SMC and ERET.
            10 | 11 if word >> 24 == 0xd5 => written(found),
            7 | 15 => of_vectors(found),
            _ => Op::Other,
        },
    }
}

/// A general register; `None` for the zero register.
fn general(operand: Operand) -> Option<u8> {
    match operand {
        Operand::Register(_, register) => (register < 31).then_some(register as u8),
        Operand::RegisterOrSP(_, register) => Some(register as u8),
        _ => None,
    }
}

/// The register of an operand as a bit mask.
fn register(operand: Operand) -> RegisterSet {
    match operand {
        Operand::SIMDRegister(_, register) => 1 << (VECTORS + (register as u8 & 31)),
        other => general(other).map_or(0, |register| 1 << register),
    }
}

/// An instruction that changes its first register.
fn written(found: &Instruction) -> Op {
    match register(found.operands[0]) {
        0 => Op::Nothing,
        registers => Op::Write(registers),
    }
}

/// An instruction that computes from constants and general registers.
fn computed(found: &Instruction) -> Op {
    let [first, second, third, _] = found.operands;
    let is_wide = matches!(first, Operand::Register(SizeCode::X, _) | Operand::RegisterOrSP(SizeCode::X, _));
    let (Some(to), true) = (general(first), is_wide) else { return of_half(found) };
    let constant = match third {
        Operand::Immediate(by) => Some(i64::from(by)),
        Operand::ImmShift(by, shift) => i64::from(by).checked_shl(shift.into()),
        _ => None,
    };
    match (found.opcode, general(second), third) {
        (Opcode::ADD, Some(from), _) if constant == Some(0) => Op::Move { to, from },
        (Opcode::ADD, Some(from), _) if let Some(by) = constant => Op::Add { to, from, by },
        (Opcode::SUB, Some(from), _) if let Some(by) = constant => Op::Add { to, from, by: -by },
        (Opcode::ADD, Some(from), Operand::RegShift(_, _, _, by)) if by < 31 => {
            Op::Sum { to, from: [from, by as u8] }
        }
        // `mov x0, x1` is `orr x0, xzr, x1` (Arm ARM C6.2).
        (Opcode::ORR, None, Operand::RegShift(ShiftStyle::LSL, 0, _, from)) if from < 31 => {
            Op::Move { to, from: from as u8 }
        }
        (Opcode::MOVZ, ..) => match second {
            Operand::ImmShift(value, shift) => {
                Op::constant(to, u64::from(value).checked_shl(shift.into()).unwrap_or(0))
            }
            _ => written(found),
        },
        _ => written(found),
    }
}

/// As [`computed`], for 32 bits; a move may still keep an argument.
fn of_half(found: &Instruction) -> Op {
    match (found.opcode, found.operands) {
        (
            Opcode::ORR,
            [
                Operand::Register(SizeCode::W, to @ 0..31),
                Operand::Register(_, 31),
                Operand::RegShift(ShiftStyle::LSL, 0, _, from @ 0..31),
                _,
            ],
        ) => Op::Move { to: to as u8, from: from as u8 },
        _ => written(found),
    }
}

/// Loads and stores. An instruction that does both, such as an atomic addition, counts as a load of all its
/// registers.
fn moved(found: &Instruction) -> Op {
    let of_memory = |operand: &Operand| {
        matches!(
            operand,
            Operand::RegPreIndex(..)
                | Operand::RegPostIndex(..)
                | Operand::RegPostIndexReg(..)
                | Operand::RegRegOffset(..)
                | Operand::PCOffset(_)
        )
    };
    let Some(at) = found.operands.iter().position(of_memory) else { return Op::Other };
    let is_known = |operand: &Operand| {
        matches!(operand, Operand::Register(..) | Operand::RegisterOrSP(..) | Operand::SIMDRegister(..))
    };
    if at == 0 || !found.operands[..at].iter().all(is_known) {
        return Op::Other;
    }
    let registers = found.operands[..at].iter().fold(0, |all, operand| all | register(*operand));
    // Only 8 bytes can be an address. Other sizes need not be told apart.
    let size = match (found.opcode, found.operands[0]) {
        (Opcode::LDR | Opcode::LDUR, Operand::Register(SizeCode::X, _)) => 8,
        _ => 4,
    };
    let place = match found.operands[at] {
        Operand::RegPreIndex(base, by, writes_back) => {
            Place { writes_back, ..Place::based(base as u8, by.into(), size) }
        }
        Operand::RegPostIndex(base, _) | Operand::RegPostIndexReg(base, _) => {
            Place { writes_back: true, ..Place::based(base as u8, 0, size) }
        }
        Operand::RegRegOffset(base, ..) => Place { indexed: true, ..Place::based(base as u8, 0, size) },
        // A constant after the code.
        _ => return Op::Write(registers),
    };
    let stores = matches!(
        found.opcode,
        Opcode::STR
            | Opcode::STUR
            | Opcode::STP
            | Opcode::STNP
            | Opcode::STRB
            | Opcode::STRH
            | Opcode::STURB
            | Opcode::STURH
            | Opcode::STLR
    );
    if stores {
        return Op::Store { of: registers, place };
    }
    Op::Load { to: registers, place }
}

/// Moves between vector registers: an argument may be kept in a callee-saved one over a call.
fn of_vectors(found: &Instruction) -> Op {
    match (found.opcode, found.operands) {
        (Opcode::FMOV, [Operand::SIMDRegister(_, to), Operand::SIMDRegister(_, from), ..]) => {
            Op::Move { to: VECTORS + (to as u8 & 31), from: VECTORS + (from as u8 & 31) }
        }
        (
            Opcode::ORR,
            [
                Operand::SIMDRegisterElements(_, to, _),
                Operand::SIMDRegisterElements(_, from, _),
                Operand::SIMDRegisterElements(_, also, _),
                _,
            ],
        ) if from == also => Op::Move { to: VECTORS + (to as u8 & 31), from: VECTORS + (from as u8 & 31) },
        _ => Op::Other,
    }
}
