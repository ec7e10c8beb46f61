//! Instructions of 32-bit ARM, A32 and T32, decoded by `yaxpeax-arm` into the terms of [`super::inst`].
//!
//! The decoder does not know coprocessor and vector instructions; none of them jumps. Its tests and ours found four
//! peculiarities that this file works around. It panics on `LDRD` and `STRD` of R15 ([`is_refused`]), counts branch
//! distances from different addresses ([`branch`]), drops the sign of `SUB` from the program counter in A32, and does
//! not apply the conditions of an `IT` to the instructions after it ([`Conditional`]).

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv7::{ConditionCode, InstDecoder, Instruction, Opcode, Operand, RegShift, RegShiftStyle};

use super::inst::{Convention, Goal, Inst, Op, Place, RegisterSet};

const FRAME: u8 = 11;
const STACK: u8 = 13;
const LINK: u8 = 14;
const COUNTER: u8 = 15;

/// `r0` to `r3`; `r4` to `r11` and `lr` (AAPCS32 6.1).
pub(super) const CONVENTION: Convention =
    Convention { arguments: 0xf, kept: 0xff << 4 | 1 << LINK, stack: STACK };

/// The instructions that an `IT` makes conditional and that were not read yet.
#[derive(Clone, Copy, Default)]
pub(super) struct Conditional(u32);

/// The A32 words on which the decoder panics: `LDRD` and `STRD` of R15 and the register after it, and a few
/// neighbours, all without a meaning (Arm ARM F5.1.78, F5.1.242: an odd `Rt` is unpredictable).
fn is_refused(word: u32) -> bool {
    word & 0x0e10_f0d0 == 0x0000_f0d0
}

/// The A32 instruction at an address.
pub(super) fn decode_a32(word: u32, address: u64) -> Inst {
    let decoder = InstDecoder::default();
    let found = match is_refused(word) {
        true => None,
        false => decoder.decode(&mut U8Reader::new(&word.to_le_bytes())).ok(),
    };
    let Some(found) = found else {
        // Coprocessor, vector and parallel instructions and UDF do not jump. Other words jump only if their result is R15.
        let goes_on = is_refused(word)
            || word >> 28 == 15
            || word >> 26 & 3 == 3
            || word >> 25 & 7 == 3
            || word >> 12 & 15 != 15;
        return Inst::of(4, if goes_on { Op::Other } else { Op::Jump(Goal::Anywhere) });
    };
    // An instruction reads R15 as its own address plus 8 in A32, and plus 4 in T32 (Arm ARM).
    let at = At { address, counter: address.wrapping_add(8), thumb: false, word };
    let op = match found.opcode {
        // NOP and other hints, for which the decoder has no name.
        Opcode::Invalid if word & 0x0fff_ff00 == 0x0320_f000 => Op::Nothing,
        Opcode::Invalid => Op::Other,
        _ => at.operation(&found),
    };
    Inst { len: 4, op, conditional: found.condition != ConditionCode::AL }
}

/// The T32 instruction at the start of `bytes`; `None` if it is cut off.
pub(super) fn decode_t32(bytes: &[u8], address: u64, block: &mut Conditional) -> Option<Inst> {
    let half = u16::from_le_bytes(*bytes.first_chunk()?);
    // From 0b11101 in the upper five bits on, a halfword begins an instruction of 32 bits (Arm ARM F3.1).
    let len = if half >= 0xe800 { 4 } else { 2 };
    let bytes = bytes.get(..len)?;
    let second = bytes.get(2..4).map_or(0, |half| u16::from_le_bytes([half[0], half[1]]));
    let in_block = block.0 > 0;
    block.0 = block.0.saturating_sub(1);
    let Ok(found) = InstDecoder::default_thumb().decode(&mut U8Reader::new(bytes)) else {
        // An unknown word of the class of branches may be a branch.
        let may_branch = half & 0xf800 == 0xf000 && second & 0x8000 != 0;
        return Some(Inst::of(len, if may_branch { Op::Jump(Goal::Anywhere) } else { Op::Other }));
    };
    let word = u32::from(half) | u32::from(second) << 16;
    let at = At { address, counter: address.wrapping_add(4), thumb: true, word };
    if let (Opcode::IT, Operand::Imm32(mask @ 1..)) = (found.opcode, found.operands[1]) {
        // The lowest set bit of the mask ends the block: 0b1000 is one instruction, and a mask with bit 0 set is four.
        block.0 = 4 - mask.trailing_zeros().min(3);
        return Some(Inst::of(len, Op::Nothing));
    }
    let op = at.operation(&found);
    let compares = matches!(found.opcode, Opcode::CBZ | Opcode::CBNZ);
    let conditional = in_block || compares || found.condition != ConditionCode::AL;
    Some(Inst { len, op, conditional })
}

/// The position of an instruction.
struct At {
    address: u64,
    /// The program counter as the instruction reads it.
    counter: u64,
    thumb: bool,
    word: u32,
}

impl At {
    fn operation(&self, found: &Instruction) -> Op {
        let [first, second, ..] = found.operands;
        match found.opcode {
            Opcode::B | Opcode::CBZ | Opcode::CBNZ => Op::Jump(self.branch(found)),
            Opcode::BL | Opcode::BLX => Op::Call(self.branch(found)),
            Opcode::BX | Opcode::BXJ => match register(first) {
                Some(LINK) => Op::Return,
                // `bx pc; nop` of T32 enters the A32 code behind it, as in veneers of linkers.
                Some(COUNTER) => Op::Jump(Goal::To(self.counter & !3)),
                Some(to) => Op::Jump(Goal::Register(to, 0)),
                None => Op::Jump(Goal::Anywhere),
            },
            Opcode::TBB | Opcode::TBH => Op::Jump(Goal::Table),
            Opcode::POP => loaded(list(first), Place::based(STACK, 0, 4)),
            Opcode::PUSH => Op::Store { of: list(first), place: Place::based(STACK, 0, 4) },
            Opcode::LDM(..) | Opcode::STM(..) => {
                let Operand::RegWBack(base, writes_back) = first else { return Op::Other };
                let place = Place { writes_back, ..Place::based(base.number(), 0, 4) };
                match found.opcode {
                    Opcode::LDM(..) => loaded(list(second), place),
                    _ => Op::Store { of: list(second), place },
                }
            }
            Opcode::LDR | Opcode::LDRB | Opcode::LDRH | Opcode::LDRSB | Opcode::LDRSH | Opcode::LDRD => {
                self.moved(found).map_or(Op::Other, |(registers, place)| loaded(registers, place))
            }
            Opcode::STR | Opcode::STRB | Opcode::STRH | Opcode::STRD => {
                self.moved(found).map_or(Op::Other, |(of, place)| Op::Store { of, place })
            }
            Opcode::CMP | Opcode::CMN | Opcode::TST | Opcode::TEQ => Op::Nothing,
            Opcode::NOP | Opcode::HINT | Opcode::UDF | Opcode::BKPT | Opcode::DMB | Opcode::DSB => {
                Op::Nothing
            }
            Opcode::ISB | Opcode::PLD | Opcode::BTI | Opcode::PACBTI | Opcode::PAC | Opcode::AUT => {
                Op::Nothing
            }
            _ => match register(first) {
                // A return from an interrupt is a subtraction.
                Some(COUNTER) if register(second) == Some(LINK) && added(found.operands[2]).is_none() => {
                    Op::Return
                }
                Some(COUNTER) => Op::Jump(self.computed_jump(found)),
                Some(to) if found.operands.iter().skip(1).all(is_read) => self.computed(found, to),
                _ => Op::Other,
            },
        }
    }

    /// The target of a branch. The decoder counts some distances from the instruction after the branch, others from
    /// where the processor does.
    fn branch(&self, found: &Instruction) -> Goal {
        let of = found
            .operands
            .iter()
            .find(|operand| matches!(operand, Operand::BranchOffset(_) | Operand::BranchThumbOffset(_)));
        let (from, by) = match of {
            Some(&Operand::BranchOffset(by)) => (self.address, i64::from(by) * 4),
            Some(&Operand::BranchThumbOffset(by)) => {
                // B<c> of 16 bits (encoding T1), CBZ and CBNZ.
                let near = self.thumb && self.word & 0xf000 != 0xe000 && !found.wide;
                // BLX to A32 counts from an aligned word.
                let to_a32 = found.opcode == Opcode::BLX && self.thumb;
                let counter = if to_a32 { self.counter & !3 } else { self.counter };
                (if near { self.address.wrapping_add(2) } else { counter }, i64::from(by) * 2)
            }
            _ => {
                return register(found.operands[0]).map_or(Goal::Anywhere, |to| Goal::Register(to, 0));
            }
        };
        Goal::To(from.wrapping_add_signed(by) & u64::from(u32::MAX))
    }

    /// Instructions that compute the program counter.
    fn computed_jump(&self, found: &Instruction) -> Goal {
        let [_, second, third, _] = found.operands;
        let counted = |register: u8| Goal::Register(register, self.counter.cast_signed());
        match (found.opcode, register(second), added(third)) {
            (Opcode::MOV, Some(from), None) => Goal::Register(from, 0),
            // A table jump into the branches that follow it.
            (Opcode::ADD, Some(COUNTER), Some((_, true))) => Goal::Near(self.counter),
            (Opcode::ADD, Some(COUNTER), Some((by, false)))
            | (Opcode::ADD, Some(by), Some((COUNTER, false))) => counted(by),
            (Opcode::ADD, Some(from), Some((by, _))) => Goal::Sum([from, by]),
            // `add pc, r3` of T32
            (Opcode::ADD, Some(by), None) if third == Operand::Nothing => counted(by),
            _ => Goal::Anywhere,
        }
    }

    /// Instructions that compute a general register, their first operand.
    fn computed(&self, found: &Instruction, to: u8) -> Op {
        let [_, second, third, _] = found.operands;
        let from_counter = |by: i64| Op::constant(to, (self.counter & !3).wrapping_add_signed(by));
        // `add r0, r1` and `adds r0, #1` of T32 have no third operand.
        let is_sum = matches!(found.opcode, Opcode::ADD | Opcode::SUB);
        let (from, other) = match third {
            Operand::Nothing if is_sum => (Some(to), second),
            other => (register(second), other),
        };
        match (found.opcode, from, constant(other)) {
            (Opcode::ADR, None, _) => constant(second).map_or(Op::write(to), from_counter),
            // The decoder distinguishes ADD and SUB of the program counter only in T32.
            (Opcode::ADR, Some(_), Some(by)) if self.word & 0x00c0_0000 == 0x0040_0000 => from_counter(-by),
            (Opcode::ADR | Opcode::ADD, Some(COUNTER), Some(by)) => from_counter(by),
            (Opcode::ADR, ..) => Op::write(to),
            (Opcode::SUB, Some(COUNTER), Some(by)) => from_counter(-by),
            (Opcode::ADD, Some(from), Some(0)) => Op::Move { to, from },
            (Opcode::ADD, Some(from), Some(by)) => Op::Add { to, from, by },
            (Opcode::SUB, Some(from), Some(by)) => Op::Add { to, from, by: -by },
            (Opcode::ADD, Some(from), None) => match (from, added(other)) {
                (_, None) => Op::write(to),
                (COUNTER, Some((by, false))) | (by, Some((COUNTER, false))) => {
                    Op::Add { to, from: by, by: self.counter.cast_signed() }
                }
                (_, Some((by, _))) => Op::Sum { to, from: [from, by] },
            },
            (Opcode::MOV, Some(COUNTER), _) => Op::constant(to, self.counter),
            (Opcode::MOV, Some(from), None) => Op::Move { to, from },
            // `movs r4, r0` of T32
            (Opcode::LSL, Some(from), Some(0)) => Op::Move { to, from },
            (Opcode::LSL, Some(from), Some(_)) => Op::Shift { to, from },
            (Opcode::MOV, None, None) => match constant(second) {
                Some(value) => Op::constant(to, value.cast_unsigned()),
                None => Op::write(to),
            },
            (Opcode::MOVT, ..) => match constant(second) {
                Some(value) => Op::Upper { to, value: value.cast_unsigned() },
                None => Op::Other,
            },
            _ if changes_one(found.opcode) => Op::write(to),
            _ => Op::Other,
        }
    }

    /// The registers and the place of a load or store.
    fn moved(&self, found: &Instruction) -> Option<(RegisterSet, Place)> {
        let at = found.operands.iter().position(|operand| register(*operand).is_none())?;
        let registers = found.operands[..at].iter().filter_map(|operand| register(*operand));
        let registers = registers.fold(0, |all, register| all | 1 << register);
        // Only a whole word can be an address.
        let size = if found.opcode == Opcode::LDR || found.opcode == Opcode::STR { 4 } else { 1 };
        let signed = |by: u16, adds: bool| if adds { i64::from(by) } else { -i64::from(by) };
        let (base, offset, indexed, writes_back) = match found.operands[at] {
            Operand::RegDeref(base) => (base, 0, false, false),
            Operand::RegDerefPreindexOffset(base, by, adds, writes) => {
                (base, signed(by, adds), false, writes)
            }
            Operand::RegDerefPostindexOffset(base, ..) => (base, 0, false, true),
            Operand::RegDerefPreindexReg(base, _, _, writes)
            | Operand::RegDerefPreindexRegShift(base, _, _, writes) => (base, 0, true, writes),
            Operand::RegDerefPostindexReg(base, ..) | Operand::RegDerefPostindexRegShift(base, ..) => {
                (base, 0, false, true)
            }
            _ => return None,
        };
        let place = match base.number() {
            COUNTER => {
                let address = (self.counter & !3).wrapping_add_signed(offset);
                Place { indexed, ..Place::at(address, size) }
            }
            base => Place { indexed, writes_back, ..Place::based(base, offset, size) },
        };
        Some((registers, place))
    }
}

/// A load. It returns or jumps if it loads the program counter.
fn loaded(registers: RegisterSet, place: Place) -> Op {
    if registers & 1 << COUNTER == 0 {
        return Op::Load { to: registers, place };
    }
    // Restores registers from where the prologue saved them.
    match place.base {
        Some(STACK) if !place.indexed => Op::Return,
        // `ldm fp, {fp, sp, pc}` ends a function with an APCS frame. `ldr pc, [fp, #-8]` may jump through a local variable.
        Some(FRAME) if registers != 1 << COUNTER => Op::Return,
        _ => Op::Jump(Goal::Memory(place)),
    }
}

fn register(operand: Operand) -> Option<u8> {
    match operand {
        Operand::Reg(register) => Some(register.number()),
        _ => None,
    }
}

fn list(operand: Operand) -> RegisterSet {
    match operand {
        Operand::RegList(registers) => registers.into(),
        _ => 1 << COUNTER,
    }
}

fn constant(operand: Operand) -> Option<i64> {
    match operand {
        Operand::Imm32(value) => Some(value.into()),
        Operand::Imm12(value) => Some(value.into()),
        _ => None,
    }
}

/// The added register, and whether it is shifted.
fn added(operand: Operand) -> Option<(u8, bool)> {
    match operand {
        Operand::Reg(register) => Some((register.number(), false)),
        Operand::RegShift(shift) => shiftee(shift).map(|register| (register, true)),
        _ => None,
    }
}

fn shiftee(shift: RegShift) -> Option<u8> {
    match shift.into_shift() {
        RegShiftStyle::RegImm(shift) => Some(shift.shiftee().number()),
        RegShiftStyle::RegReg(_) => None,
    }
}

/// True for an operand after the first that is only read.
fn is_read(operand: &Operand) -> bool {
    matches!(
        operand,
        Operand::Nothing
            | Operand::Reg(_)
            | Operand::Imm12(_)
            | Operand::Imm32(_)
            | Operand::RegShift(_)
            | Operand::Ror(_)
            | Operand::CPSR
            | Operand::APSR
    )
}

/// True for an instruction that changes only its first register.
fn changes_one(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::AND
            | Opcode::EOR
            | Opcode::SUB
            | Opcode::RSB
            | Opcode::ADD
            | Opcode::ADC
            | Opcode::SBC
            | Opcode::RSC
            | Opcode::ORR
            | Opcode::ORN
            | Opcode::MOV
            | Opcode::BIC
            | Opcode::MVN
            | Opcode::LSL
            | Opcode::LSR
            | Opcode::ASR
            | Opcode::RRX
            | Opcode::ROR
            | Opcode::MRS
            | Opcode::CLZ
            | Opcode::MUL
            | Opcode::MLA
            | Opcode::MLS
            | Opcode::SXTH
            | Opcode::UXTH
            | Opcode::SXTB
            | Opcode::UXTB
            | Opcode::REV
            | Opcode::REV16
            | Opcode::SBFX
            | Opcode::UBFX
            | Opcode::BFI
            | Opcode::BFC
            | Opcode::SDIV
            | Opcode::UDIV
    )
}

/// True for an A32 word that may be a direct branch without link: cond 1010 imm24 (Arm ARM F4.1). Most words are
/// none.
pub(super) fn may_branch_a32(word: u32) -> bool {
    word >> 24 & 15 == 10 && word >> 28 != 15
}

/// Finds possible direct branches without link in T32 code (Arm ARM F3.1); most instructions are none.
pub(super) fn branches_of_t32(bytes: &[u8], start: u64, see: &mut impl FnMut(u64, Inst)) {
    let half = |at: usize| bytes.get(at..)?.first_chunk().map(|half| u16::from_le_bytes(*half));
    let mut at = 0;
    while let Some(first) = half(at) {
        let wide = first >= 0xe800;
        // B<c> (T3) and B (T4) of 32 bits; then B<c> (T1), B (T2), CBZ and CBNZ of 16 bits.
        let may_branch = match (first, half(at + 2)) {
            (0xf000..=0xf7ff, Some(second)) => matches!(second & 0xd000, 0x8000 | 0x9000),
            _ => matches!(first >> 12, 0xd | 0xe) && !wide || first & 0xf500 == 0xb100,
        };
        if may_branch {
            let address = start.wrapping_add(at as u64);
            if let Some(inst) = decode_t32(&bytes[at..], address, &mut Conditional::default()) {
                see(address, inst);
            }
        }
        at += if wide { 4 } else { 2 };
    }
}
