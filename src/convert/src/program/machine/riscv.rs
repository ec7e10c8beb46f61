//! Instructions of RISC-V, as far as control flow and passing a call on need them (RISC-V ISA manual volume 1:
//! chapters 2, 4, 13 to 16, and chapter 34 for the lists of opcodes).
//!
//! The table is our own: the crates of the registry decode operands for emulators, stop at unknown extensions, or are
//! no longer maintained.

use super::inst::{Convention, Goal, Inst, Op, Place, VECTORS};

const LINK: u8 = 1;
const STACK: u8 = 2;

/// `a0` to `a7` and `fa0` to `fa7`; `ra`, `s0` to `s11` and `fs0` to `fs11` (psABI, register convention).
pub(super) const CONVENTION: Convention = Convention {
    arguments: 0xff << 10 | 0xff << (10 + VECTORS),
    kept: SAVED | SAVED << VECTORS | 1 << LINK,
    stack: STACK,
};
const SAVED: u64 = 3 << 8 | 0x3ff << 18;

/// `gp` and `tp`: linkers address by them what is near.
const POINTERS: [u8; 2] = [3, 4];

/// True for an instruction of the code `start..end` that a linker may have put in place of a longer one (psABI, linker relaxation): a
/// call or jump to other code, the upper half of an address in 16 bits, and what `gp` or `tp` addresses.
pub(super) fn may_be_shortened(inst: &Inst, start: u64, end: u64) -> bool {
    match inst.op {
        Op::Call(Goal::To(_)) => true,
        Op::Jump(Goal::To(to)) => !(inst.conditional || (start < to && to < end)),
        Op::Constant { value, .. } => inst.len == 2 && value != 0 && value & 0xfff == 0,
        Op::Load { place, .. } | Op::Store { place, .. } => {
            place.base.is_some_and(|base| POINTERS.contains(&base))
        }
        Op::Add { from, .. } | Op::Move { from, .. } => POINTERS.contains(&from),
        Op::Sum { from, .. } => from.iter().any(|from| POINTERS.contains(from)),
        _ => false,
    }
}

/// `bits` bits of a word from bit `from` on, moved to bit `to`.
fn field(word: u32, from: u32, bits: u32, to: u32) -> u32 {
    (word >> from & ((1 << bits) - 1)) << to
}

/// Sign-extends a number of this many bits.
fn signed(value: u32, bits: u32) -> i64 {
    i64::from((value << (32 - bits)).cast_signed() >> (32 - bits))
}

fn register(word: u32, from: u32) -> u8 {
    field(word, from, 5, 0) as u8
}

/// The instruction at the start of `bytes`; `None` if it is cut off or longer than 64 bits.
pub(super) fn decode(bytes: &[u8], address: u64, wide: bool) -> Option<Inst> {
    let half = u32::from(u16::from_le_bytes(*bytes.first_chunk()?));
    let long = |len: usize| bytes.get(..len).map(|_| Inst::of(len, Op::Other));
    match half {
        _ if half & 3 != 3 => Some(short(half, address, wide)),
        // The low bits of the first 16 give the length, also of instructions that no extension has yet (volume 1, 1.5).
        _ if half & 0x1c != 0x1c => Some(whole(u32::from_le_bytes(*bytes.first_chunk()?), address)),
        _ if half & 0x3f == 0x1f => long(6),
        _ if half & 0x7f == 0x3f => long(8),
        _ => None,
    }
}

/// A 32-bit instruction.
fn whole(word: u32, address: u64) -> Inst {
    let (to, a, b) = (register(word, 7), register(word, 15), register(word, 20));
    let (third, immediate) = (field(word, 12, 3, 0), signed(word >> 20, 12));
    let store_at = signed(field(word, 25, 7, 5) | field(word, 7, 5, 0), 12);
    let upper = i64::from((word & 0xffff_f000).cast_signed());
    let at = |by: i64| Goal::To(address.wrapping_add_signed(by));
    let place = |offset: i64| Place::based(a, offset, 1 << (third & 3));
    let op = match word & 0x7f {
        // The base opcodes of chapter 34: LUI, AUIPC, JAL.
        0x37 => Op::constant(to, upper.cast_unsigned()),
        0x17 => Op::constant(to, address.wrapping_add_signed(upper)),
        0x6f => {
            let by = field(word, 31, 1, 20) | field(word, 12, 8, 12) | field(word, 20, 1, 11);
            linking(to, at(signed(by | field(word, 21, 10, 1), 21)))
        }
        // A jump to a link register is a return.
        0x67 if to == 0 && matches!(a, LINK | 5) && immediate == 0 => Op::Return,
        0x67 => linking(to, Goal::Register(a, immediate)),
        0x63 => {
            let by = field(word, 31, 1, 12) | field(word, 7, 1, 11) | field(word, 25, 6, 5);
            return Inst::conditional(4, Op::Jump(at(signed(by | field(word, 8, 4, 1), 13))));
        }
        // The width is in the low two bits of the third field; the bit above them says that the load zero-extends.
        0x03 => Op::load(to, place(immediate)),
        // Loads and stores of vectors have other widths.
        0x07 if (1..=4).contains(&third) => Op::load(to + VECTORS, place(immediate)),
        0x23 => Op::store(b, place(store_at)),
        0x27 if (1..=4).contains(&third) => Op::store(b + VECTORS, place(store_at)),
        0x13 if third == 0 => added(to, a, immediate),
        0x33 if third == 0 && word >> 25 == 0 => Op::Sum { to, from: [a, b] },
        // All other computations of integers write one register.
        0x13 | 0x1b | 0x33 | 0x3b => Op::write(to),
        // FMV is FSGNJ of a register with itself.
        0x53 if word >> 27 == 4 && third == 0 && a == b => Op::Move { to: to + VECTORS, from: a + VECTORS },
        0x0f => Op::Nothing,
        0x73 => match (word, third) {
            // EBREAK, WFI; MRET, SRET.
            (0x0010_0073 | 0x1050_0073, _) => Op::Nothing,
            (0x3020_0073 | 0x1020_0073, _) => Op::Return,
            // ECALL, and the loads and stores of a hypervisor. What remains accesses a control register.
            (_, 0 | 4) => Op::Other,
            _ => Op::write(to),
        },
        _ => Op::Other,
    };
    Inst::of(4, op)
}

/// A jump that stores the next address in a register: a call if that is a link register.
fn linking(to: u8, goal: Goal) -> Op {
    // x5 is the alternate link register (volume 1, 2.5): `-msave-restore` calls `__riscv_save_0` with it.
    if matches!(to, LINK | 5) { Op::Call(goal) } else { Op::Jump(goal) }
}

fn added(to: u8, from: u8, by: i64) -> Op {
    match (from, by) {
        (0, _) => Op::constant(to, by.cast_unsigned()),
        (_, 0) => Op::Move { to, from },
        _ => Op::Add { to, from, by },
    }
}

/// A 16-bit instruction.
fn short(half: u32, address: u64, wide: bool) -> Inst {
    let (to, b) = (register(half, 7), register(half, 2));
    let (third, high, low) =
        (field(half, 13, 3, 0), field(half, 7, 3, 0) as u8 + 8, field(half, 2, 3, 0) as u8 + 8);
    let immediate = signed(field(half, 12, 1, 5) | field(half, 2, 5, 0), 6);
    let word_at = (field(half, 10, 3, 3) | field(half, 6, 1, 2) | field(half, 5, 1, 6)).into();
    let double_at = (field(half, 10, 3, 3) | field(half, 5, 2, 6)).into();
    let jump_by = || {
        let by =
            field(half, 12, 1, 11) | field(half, 11, 1, 4) | field(half, 9, 2, 8) | field(half, 8, 1, 10);
        signed(
            by | field(half, 7, 1, 6) | field(half, 6, 1, 7) | field(half, 3, 3, 1) | field(half, 2, 1, 5),
            12,
        )
    };
    let at = |by: i64| Goal::To(address.wrapping_add_signed(by));
    // LD and SD of 64-bit processors have the places of FLW and FSW.
    let bank = if wide { 0 } else { VECTORS };
    let on_stack = |bytes: u8| Place::based(STACK, 0, bytes);
    let op = match (half & 3, third) {
        _ if half == 0 => Op::Nothing, // the illegal instruction that traps
        // The offset of a place in the frame does not matter here.
        (0, 0) => Op::Add { to: low, from: STACK, by: 0 },
        (0, 1) => Op::load(low + VECTORS, Place::based(high, double_at, 8)),
        (0, 2) => Op::load(low, Place::based(high, word_at, 4)),
        (0, 3) => Op::load(
            low + bank,
            Place::based(high, if wide { double_at } else { word_at }, if wide { 8 } else { 4 }),
        ),
        (0, 5) => Op::store(low + VECTORS, Place::based(high, double_at, 8)),
        (0, 6) => Op::store(low, Place::based(high, word_at, 4)),
        (0, 7) => Op::store(
            low + bank,
            Place::based(high, if wide { double_at } else { word_at }, if wide { 8 } else { 4 }),
        ),
        (1, 0) => added(to, to, immediate),
        // C.ADDIW of 64-bit processors has the place of C.JAL of 32-bit ones.
        (1, 1) if wide => Op::write(to),
        (1, 1) => Op::Call(at(jump_by())),
        (1, 2) => Op::constant(to, immediate.cast_unsigned()),
        // C.ADDI16SP has the place that C.LUI of the stack pointer would have.
        (1, 3) if to == STACK => Op::Add { to, from: to, by: 0 },
        (1, 3) => Op::constant(to, (immediate << 12).cast_unsigned()),
        // C.SRLI to C.AND all write the register of bits 9 to 7.
        (1, 4) => Op::write(high),
        (1, 5) => Op::Jump(at(jump_by())),
        (1, _) => {
            let by =
                field(half, 12, 1, 8) | field(half, 10, 2, 3) | field(half, 5, 2, 6) | field(half, 3, 2, 1);
            return Inst::conditional(2, Op::Jump(at(signed(by | field(half, 2, 1, 5), 9))));
        }
        (2, 0) => Op::write(to),
        (2, 1) => Op::load(to + VECTORS, on_stack(8)),
        (2, 2) => Op::load(to, on_stack(4)),
        (2, 3) => Op::load(to + bank, on_stack(8)),
        (2, 4) => match (half >> 12 & 1, to, b) {
            (0, LINK | 5, 0) => Op::Return,
            (0, _, 0) => Op::Jump(Goal::Register(to, 0)),
            (0, ..) => Op::Move { to, from: b },
            (_, 0, 0) => Op::Nothing, // EBREAK
            // C.JALR always stores the return address in `ra`.
            (_, _, 0) => Op::Call(Goal::Register(to, 0)),
            _ => Op::Sum { to, from: [to, b] },
        },
        (2, 5) => Op::store(b + VECTORS, on_stack(8)),
        (2, 6) => Op::store(b, on_stack(4)),
        (2, 7) => Op::store(b + bank, on_stack(8)),
        _ => Op::Other,
    };
    Inst::of(2, op)
}
