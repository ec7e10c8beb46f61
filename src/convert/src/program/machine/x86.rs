//! Where one instruction of x86 ends and the next begins, and which indirect jumps are those of a `switch`.
//!
//! Bytes that look like a jump through a register or memory (`FF /4`) stand in many instructions: at the end of a call
//! backwards and the beginning of what follows. So code is walked from its start, instruction by instruction (Intel SDM
//! volume 2, chapter 2 and appendix A). What has no place in the tables ends the walk.
//!
//! Long because the tables of instruction lengths stand beside the tests that list their bytes.

use super::Indirect;
use super::ways::Hop;

/// Instructions before a jump among which its table is read.
const WINDOW: usize = 8;

/// Bytes of an instruction, at most (Intel SDM 2.3.11).
const MAX_INSTRUCTION: usize = 15;

/// An instruction, without what it works on.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Instruction {
    pub(super) len: usize,
    /// Of one byte, or behind `0F` with 0x100 added; others are 0x200.
    opcode: u16,
    /// REX.W, REX.R, REX.X, REX.B: bits 3 to 0.
    rex: u8,
    /// 0 where there is none.
    modrm: u8,
    sib: u8,
    /// The displacement of 32 bits; 0 where there is none.
    disp: i32,
}

impl Instruction {
    fn is_memory(self) -> bool {
        self.modrm >> 6 != 3
    }

    fn reg(self) -> u8 {
        self.modrm >> 3 & 7 | (self.rex & 4) << 1
    }

    fn rm(self) -> u8 {
        self.modrm & 7 | (self.rex & 1) << 3
    }

    /// The register that a place in memory is counted from; `None` for a place that the code knows.
    fn base(self) -> Option<u8> {
        let base = if self.modrm & 7 == 4 { self.sib & 7 } else { self.modrm & 7 };
        (self.is_memory() && (self.modrm >> 6 != 0 || base != 5)).then_some(base | (self.rex & 1) << 3)
    }

    /// True for what passes a call on, and what builds a frame, keeps the arguments and compares a guard beside it.
    fn may_pass_on(self, frame: &Frame, wide: bool) -> bool {
        let operation = self.modrm >> 3 & 7;
        let in_frame = || self.base().is_some_and(|base| frame.has(base));
        match self.opcode {
            // PUSH, POP, NOP, RET, LEAVE, INT3, calls and jumps; ENDBR, NOP, UD2; MOVS.
            0x50..=0x5f | 0x90 | 0xc2 | 0xc3 | 0xc9 | 0xcc | 0xe8 | 0xe9 | 0xeb | 0x70..=0x7f => true,
            0x180..=0x18f | 0x11e | 0x11f | 0x10b | 0xa4 | 0xa5 => true,
            // INC of memory, CALL, JMP, PUSH.
            0xff => matches!(operation, 2 | 4 | 6) || (operation == 0 && self.is_memory()),
            // CMP, and SUB or XOR with memory; XOR of EAX with itself forgets a guard.
            0x39 | 0x3b => true,
            0x2b | 0x33 if self.is_memory() => true,
            0x31 | 0x33 => self.reg() == 0 && self.rm() == 0 && !self.is_memory(),
            // ADD, AND, SUB and CMP of a constant: to the stack's register, to where slots are counted from, to memory.
            0x81 | 0x83 => {
                matches!(operation, 0 | 4 | 5 | 7) && (self.is_memory() || self.rm() == 4 || !wide)
            }
            // LEA of a place in the frame.
            0x8d => in_frame(),
            // How much REP MOVS copies: to ECX.
            0xb9 => self.rex & 1 == 0,
            // MOV from and to the stack, a place in a segment or one that the code knows; arguments are on the stack alone.
            0x89 | 0x8b if self.is_memory() => match self.base() {
                Some(base) => frame.has(base),
                None => may_keep(0, self.reg(), wide),
            },
            // MOV of a place that the code knows to EAX.
            0xa1 => true,
            // The stack's register goes to an argument's only before a copy, as `Frame::follow` checks.
            0x89 => self.reg() == 4 || may_keep(self.reg(), self.rm(), wide),
            0x8b => self.rm() == 4 || may_keep(self.rm(), self.reg(), wide),
            // MOVUPS, MOVSD, MOVAPS, MOVDQA, MOVDQU and MOVQ from and to the stack; FLD and FST of the x87.
            0x110 | 0x111 | 0x128 | 0x129 | 0x16f | 0x17e | 0x17f | 0x1d6 => in_frame(),
            0xd9 | 0xdd if self.is_memory() => in_frame() && matches!(operation, 0 | 2 | 3),
            0xdb => in_frame() && matches!(operation, 5 | 7),
            0xdd => operation == 3,
            _ => false,
        }
    }

    /// The register that two were added in.
    fn sum(self, wide: bool) -> Option<u8> {
        let whole = !wide || self.rex & 8 != 0;
        match self.opcode {
            0x01 if whole && !self.is_memory() => Some(self.rm()),
            0x03 if whole && !self.is_memory() => Some(self.reg()),
            _ => None,
        }
    }

    /// True for the load of a word of a table: `movslq (base,index,4)`, and `mov` where addresses have 32 bits.
    fn is_table_load(self, wide: bool) -> bool {
        let opcode = if wide { 0x63 } else { 0x8b };
        self.opcode == opcode && self.is_memory() && self.modrm & 7 == 4 && self.sib >> 6 == 2
    }
}

/// True for a move that may keep an argument, or give it back: not from a register that calls change to one of an argument
/// (System V ABI of x86-64 3.2.1, 3.2.3; on i386 arguments are in memory).
fn may_keep(from: u8, to: u8, wide: bool) -> bool {
    const KEPT: [u8; 6] = [3, 5, 12, 13, 14, 15];
    !wide || !ARGUMENTS.contains(&to) || KEPT.contains(&from)
}

/// RDI, RSI, RDX, RCX, R8 and R9.
const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];

/// What is known of registers while code is read that may only pass a call on.
struct Frame {
    /// Registers with the address of a place in the frame, one bit each.
    registers: u16,
    /// An argument's register has an address or a constant for REP MOVS, which copies an argument that memory holds.
    will_copy: bool,
}

impl Frame {
    /// At the entry of a function: ESP, and EBP.
    const ENTRY: Frame = Frame { registers: 1 << 4 | 1 << 5, will_copy: false };

    fn has(&self, register: u8) -> bool {
        self.registers & 1 << register != 0
    }

    /// Takes up an instruction; false for a call with what only REP MOVS was to have.
    fn follow(&mut self, now: Instruction, wide: bool) -> bool {
        let copied = |from: u8, to: u8| (from == 4).then_some(to);
        let address = match now.opcode {
            0x8d => Some(now.reg()),
            0x89 if !now.is_memory() => copied(now.reg(), now.rm()),
            0x8b if !now.is_memory() => copied(now.rm(), now.reg()),
            _ => None,
        };
        match (now.opcode, address) {
            (_, Some(register)) if wide && ARGUMENTS.contains(&register) => self.will_copy = true,
            (_, Some(register)) => self.registers |= 1 << register,
            (0xb9, _) => self.will_copy = true,
            (0xa4 | 0xa5, _) => self.will_copy = false,
            (0xe8 | 0xe9 | 0xeb | 0xff, _) => return !self.will_copy,
            _ => {}
        }
        true
    }
}

/// What follows an opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    None,
    /// Bytes of a constant.
    Imm(usize),
    /// ModRM, and bytes of a constant.
    Modrm(usize),
}

/// The instruction at the start of `bytes`; `None` where it is cut off or has no place in the tables. `wide`: in 64-bit
/// mode, else in 32-bit mode.
pub(super) fn instruction(bytes: &[u8], wide: bool) -> Option<Instruction> {
    let bytes = &bytes[..bytes.len().min(MAX_INSTRUCTION)];
    let prefixes = bytes
        .iter()
        .take_while(|byte| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3))
        .count();
    let short = bytes[..prefixes].contains(&0x66);
    let short_address = bytes[..prefixes].contains(&0x67);
    let mut at = prefixes;
    let mut rex = 0;
    if wide && bytes.get(at)? >> 4 == 4 {
        rex = bytes[at] & 15;
        at += 1;
    }
    let word = if short && rex & 8 == 0 { 2 } else { 4 };
    let first = *bytes.get(at)?;
    at += 1;
    let next = bytes.get(at).copied().unwrap_or(0);
    let (opcode, operand) = match first {
        0x0f => {
            at += 1;
            match next {
                0x38 => (0x200, Operand::Modrm(0)),
                0x3a => (0x200, Operand::Modrm(1)),
                _ => (0x100 | u16::from(next), two_bytes(next, if wide { 4 } else { word })?),
            }
        }
        // In 32-bit mode these are LES, LDS and BOUND, whose operands are in memory.
        0xc5 if wide || next >= 0xc0 => {
            let opcode = *bytes.get(at + 1)?;
            at += 2;
            (0x200, vector(1, opcode)?)
        }
        0xc4 if wide || next >= 0xc0 => {
            let opcode = *bytes.get(at + 2)?;
            at += 3;
            (0x200, vector(next & 31, opcode)?)
        }
        0x62 if wide || next >= 0xc0 => {
            let opcode = *bytes.get(at + 3)?;
            at += 4;
            (0x200, vector(next & 7, opcode)?)
        }
        // AMD's XOP.
        0x8f if next & 31 >= 8 => {
            at += 3;
            let constant = match next & 31 {
                8 => 1,
                9 => 0,
                10 => 4,
                _ => return None,
            };
            (0x200, Operand::Modrm(constant))
        }
        _ => (u16::from(first), one_byte(first, next, wide, word, rex & 8 != 0, short_address)?),
    };
    // Both bytes after an opcode of which only one was looked at are added below.
    if first == 0x0f && matches!(next, 0x38 | 0x3a) {
        at += 1;
    }
    let mut found = Instruction { opcode, rex, ..Instruction::default() };
    let constant = match operand {
        Operand::None => 0,
        Operand::Imm(constant) => constant,
        Operand::Modrm(constant) => {
            found.modrm = *bytes.get(at)?;
            at += 1;
            let (mode, rm) = (found.modrm >> 6, found.modrm & 7);
            let displacement = if short_address && !wide {
                match (mode, rm) {
                    (0, 6) | (2, _) => 2,
                    (1, _) => 1,
                    _ => 0,
                }
            } else {
                if mode != 3 && rm == 4 {
                    found.sib = *bytes.get(at)?;
                    at += 1;
                }
                let no_base = rm == 5 || (rm == 4 && found.sib & 7 == 5);
                match mode {
                    0 if no_base => 4,
                    1 => 1,
                    2 => 4,
                    _ => 0,
                }
            };
            if displacement == 4 {
                found.disp = i32::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
            }
            at += displacement;
            constant
        }
    };
    found.len = at + constant;
    (found.len <= bytes.len()).then_some(found)
}

/// `word`: bytes of a constant that is as wide as the operands, but for 64 bits.
fn one_byte(
    opcode: u8,
    modrm: u8,
    wide: bool,
    word: usize,
    rex_w: bool,
    short_address: bool,
) -> Option<Operand> {
    let branch = if wide { 4 } else { word };
    let narrow = |operand| (!wide).then_some(operand);
    Some(match opcode {
        0x00..=0x3f => match opcode & 7 {
            0..=3 => Operand::Modrm(0),
            4 => Operand::Imm(1),
            5 => Operand::Imm(word),
            _ => narrow(Operand::None)?,
        },
        0x40..=0x4f | 0x60 | 0x61 | 0x9a | 0xea | 0xce | 0xd4 | 0xd5 if wide => return None,
        0x9a | 0xea => Operand::Imm(word + 2),
        0xd4 | 0xd5 | 0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xcd | 0xe0..=0xe7 | 0xeb => Operand::Imm(1),
        0x62 | 0xc4 | 0xc5 => narrow(Operand::Modrm(0))?,
        0x82 => narrow(Operand::Modrm(1))?,
        0x63 | 0x84..=0x8f | 0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => Operand::Modrm(0),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => Operand::Modrm(1),
        0x69 | 0x81 | 0xc7 => Operand::Modrm(word),
        0xf6 => Operand::Modrm(usize::from(modrm >> 3 & 7 < 2)),
        0xf7 => Operand::Modrm(if modrm >> 3 & 7 < 2 { word } else { 0 }),
        0x68 | 0xa9 => Operand::Imm(word),
        0xb8..=0xbf => Operand::Imm(if rex_w { 8 } else { word }),
        0xe8 | 0xe9 => Operand::Imm(branch),
        0xa0..=0xa3 => Operand::Imm(match (wide, short_address) {
            (true, false) => 8,
            (true, true) | (false, false) => 4,
            (false, true) => 2,
        }),
        0xc2 | 0xca => Operand::Imm(2),
        0xc8 => Operand::Imm(3),
        0xd6 => return None,
        _ => Operand::None,
    })
}

/// Behind `0F`.
fn two_bytes(opcode: u8, branch: usize) -> Option<Operand> {
    Some(match opcode {
        0x05..=0x09 | 0x0b | 0x0e | 0x30..=0x35 | 0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa | 0xc8..=0xcf => {
            Operand::None
        }
        0x04 | 0x0a | 0x0c | 0x24..=0x27 | 0x36 | 0x38..=0x3f | 0x78..=0x7b | 0xa6 | 0xa7 => return None,
        0x0f | 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => Operand::Modrm(1),
        0x80..=0x8f => Operand::Imm(branch),
        _ => Operand::Modrm(0),
    })
}

/// Of an instruction with VEX or EVEX, by its map.
fn vector(map: u8, opcode: u8) -> Option<Operand> {
    match (map, opcode) {
        (1, 0x77) => Some(Operand::None),
        (1, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6) | (3, _) => Some(Operand::Modrm(1)),
        (1 | 2 | 5 | 6, _) => Some(Operand::Modrm(0)),
        _ => None,
    }
}

/// True where code has a return, or the walk ends before the code does.
pub(super) fn returns(bytes: &[u8], wide: bool) -> bool {
    let mut at = 0;
    while at < bytes.len() {
        match instruction(&bytes[at..], wide) {
            Some(Instruction { opcode: 0xc2 | 0xc3, .. }) | None => return true,
            Some(other) => at += other.len,
        }
    }
    false
}

/// True where code at `start` has only what stands around a call that is passed on, or the walk ends before the code does.
pub(super) fn only_passes_on(bytes: &[u8], start: u64, wide: bool) -> bool {
    let (mut at, mut frame) = (0, Frame::ENTRY);
    while at < bytes.len() {
        let Some(now) = instruction(&bytes[at..], wide) else { return true };
        at += now.len;
        // A profiler is given the address of the function.
        let next = start.wrapping_add(at as u64);
        let is_own = now.opcode == 0x8d && wide && now.modrm & 0xc7 == 5;
        if is_own && next.wrapping_add_signed(now.disp.into()) == start {
            continue;
        }
        if !now.may_pass_on(&frame, wide) || !frame.follow(now, wide) {
            return false;
        }
    }
    true
}

/// Where code at `start` goes that does nothing else, as a stub does. `table`: where slots are counted from in 32-bit mode.
pub(super) fn hop(bytes: &[u8], start: u64, wide: bool, table: impl Fn() -> Option<u64>) -> Option<Hop> {
    let mut at = 0;
    loop {
        let now = instruction(bytes.get(at..)?, wide)?;
        let end = at + now.len;
        let next = start.wrapping_add(end as u64);
        match (now.opcode, now.modrm) {
            // ENDBR; a number for the loader.
            (0x11e, 0xfa | 0xfb) | (0xb8..=0xbf, _) => at = end,
            (0xe9, _) => {
                let by = i32::from_le_bytes(*bytes.get(end - 4..)?.first_chunk()?);
                return Some(Hop::To(next.wrapping_add_signed(by.into())));
            }
            (0xeb, _) => {
                return Some(Hop::To(next.wrapping_add_signed(bytes[end - 1].cast_signed().into())));
            }
            // Through the slot; or to a retpoline, with what is in it in R11, below.
            (0xff, 0x25) if wide => return Some(Hop::Through(next.wrapping_add_signed(now.disp.into()))),
            (0x8b, 0x1d) if wide && now.rex & 4 != 0 => {
                return Some(Hop::Through(next.wrapping_add_signed(now.disp.into())));
            }
            (0xff, 0x25) => return Some(Hop::Through(now.disp.cast_unsigned().into())),
            (0xff, 0xa3) if !wide => {
                return Some(Hop::Through(table()?.wrapping_add_signed(now.disp.into())));
            }
            _ => return None,
        }
    }
}

/// What a walk over code finds.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Walk {
    pub(super) indirect: Vec<Indirect>,
    /// Where jumps on a count go (`loop`, `jrcxz`).
    pub(super) counting: Vec<u64>,
}

/// Walks over code at `start`; `None` where the walk ends before the code does.
pub(super) fn walk(bytes: &[u8], start: u64, wide: bool) -> Option<Walk> {
    let mut found = Walk::default();
    let mut before = [Instruction::default(); WINDOW];
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        let now = instruction(&bytes[at..], wide)?;
        at += now.len;
        let next = start.wrapping_add(at as u64);
        match now.opcode {
            // FF /5 leaves the segment besides.
            0xff if matches!(now.modrm >> 3 & 7, 4 | 5) => {
                let oldest = (0..WINDOW).map(|back| before[(count + back) % WINDOW]);
                found.indirect.push(kind(now, oldest, next, wide));
            }
            0xe0..=0xe3 => found.counting.push(next.wrapping_add_signed(bytes[at - 1].cast_signed().into())),
            _ => {}
        }
        before[count % WINDOW] = now;
        count += 1;
    }
    Some(found)
}

/// `before`: the instructions before it, the oldest first.
fn kind(jump: Instruction, before: impl Iterator<Item = Instruction>, next: u64, wide: bool) -> Indirect {
    if jump.modrm >> 3 & 7 != 4 {
        return Indirect::Anywhere;
    }
    if !jump.is_memory() {
        let mut loaded = false;
        let mut summed = false;
        for instruction in before {
            loaded |= instruction.is_table_load(wide);
            summed |= loaded && instruction.sum(wide) == Some(jump.rm());
        }
        return if summed { Indirect::Table } else { Indirect::Anywhere };
    }
    match (jump.modrm >> 6, jump.modrm & 7) {
        (0, 5) if wide => Indirect::Through(next.wrapping_add_signed(jump.disp.into())),
        // Times the size of an address, with an index and no base.
        (0, 4) if jump.sib & 7 == 5 && jump.sib >> 3 & 7 != 4 => {
            let table = if wide {
                i64::from(jump.disp).cast_unsigned()
            } else {
                u64::from(jump.disp.cast_unsigned())
            };
            Indirect::TableAt(table)
        }
        _ => Indirect::Anywhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instructions of compilers, one after the other, end where a disassembler says.
    #[test]
    fn lengths() {
        let len = |bytes: &[u8], wide: bool| instruction(bytes, wide).map(|found| found.len);
        for (bytes, wide, narrow) in [
            (&[0xf3, 0x0f, 0x1e, 0xfa][..], 4, 4),                    // endbr64
            (&[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], 10, 10), // nopw %cs:0(%rax,%rax)
            (&[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8], 10, 1),           // movabs; dec
            (&[0x66, 0xb8, 1, 2], 4, 4),                              // mov $0x201,%ax
            (&[0xc7, 0x05, 1, 2, 3, 4, 5, 6, 7, 8], 10, 10),          // movl $.., mem
            (&[0x66, 0xc7, 0x44, 0x24, 8, 1, 2], 7, 7),               // movw $.., 8(%rsp)
            (&[0xf7, 0xc1, 1, 2, 3, 4], 6, 6),                        // test $..,%ecx
            (&[0xf7, 0xd9, 1, 2, 3, 4], 2, 2),                        // neg %ecx
            (&[0xf6, 0x47, 8, 1], 4, 4),                              // testb $1, 8(%rdi)
            (&[0xc5, 0xf8, 0x77], 3, 3),                              // vzeroupper
            (&[0xc5, 0xf9, 0x70, 0xc0, 0x4e], 5, 5),                  // vpshufd
            (&[0xc4, 0xe3, 0x7d, 0x39, 0xc1, 1], 6, 6),               // vextracti128
            (&[0xc4, 0xe2, 0x79, 0x18, 0x05, 1, 2, 3, 4], 9, 9),      // vbroadcastss
            (&[0x62, 0xf1, 0x7c, 0x48, 0x10, 0x44, 0x24, 1], 8, 8),   // vmovups 64(%rsp)
            (&[0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8], 6, 6),               // palignr
            (&[0x66, 0x0f, 0x38, 0x00, 0xc1], 5, 5),                  // pshufb
            (&[0xa1, 1, 2, 3, 4, 5, 6, 7, 8], 9, 5),                  // mov mem,%eax
            (&[0x66, 0x66, 0x48, 0xe8, 1, 2, 3, 4], 8, 3),            // call __tls_get_addr; dec
            (&[0x67, 0x8d, 0x44, 0x24, 8], 5, 4),                     // lea 8(%esp); of 16 bits
            (&[0xc8, 1, 2, 3], 4, 4),                                 // enter
        ] {
            assert_eq!((len(bytes, true), len(bytes, false)), (Some(wide), Some(narrow)), "{bytes:x?}");
            assert_eq!(len(&bytes[..wide - 1], true), None, "{bytes:x?}");
        }
    }

    fn one(bytes: &[u8], wide: bool) -> Option<Vec<Indirect>> {
        walk(bytes, 0x1000, wide).map(|found| found.indirect)
    }

    #[test]
    fn jumps_of_switches() {
        // lea table(%rip),%rcx; movslq (%rcx,%rax,4),%rax; add %rcx,%rax; jmp *%rax
        let switch = [0x48, 0x8d, 0x0d, 0, 1, 0, 0, 0x48, 0x63, 0x04, 0x81, 0x48, 0x01, 0xc8, 0xff, 0xe0];
        assert_eq!(one(&switch, true), Some(vec![Indirect::Table]));
        // The same with `notrack`, with add (reg) in its other form, and to %r10.
        let other = [0x4e, 0x63, 0x14, 0x81, 0x4c, 0x03, 0xd1, 0x3e, 0x41, 0xff, 0xe2];
        assert_eq!(one(&other, true), Some(vec![Indirect::Table]));
        // Without the load; with the sum in another register; the sum of 32 bits.
        let mut no_sum = switch;
        no_sum[13] = 0xc1;
        let mut narrow = switch;
        narrow[11] = 0x40;
        for code in [&switch[11..], &no_sum, &narrow] {
            assert_eq!(one(code, true), Some(vec![Indirect::Anywhere]), "{code:x?}");
        }
        // mov table(%ebx,%eax,4),%eax; add %ebx,%eax; jmp *%eax
        let switch = [0x8b, 0x84, 0x83, 0, 0xf0, 0xff, 0xff, 0x01, 0xd8, 0xff, 0xe0];
        assert_eq!(one(&switch, false), Some(vec![Indirect::Table]));
    }

    #[test]
    fn jumps_through_memory() {
        // jmp *0x402230(,%eax,4), and with 64 bits and times 8
        assert_eq!(
            one(&[0xff, 0x24, 0x85, 0x30, 0x22, 0x40, 0], false),
            Some(vec![Indirect::TableAt(0x40_2230)])
        );
        assert_eq!(
            one(&[0xff, 0x24, 0xc5, 0x30, 0x22, 0x40, 0], true),
            Some(vec![Indirect::TableAt(0x40_2230)])
        );
        // Without an index; on a base; an absolute one; a far one
        for code in
            [&[0xff, 0x24, 0x25, 0, 0x10, 0, 0][..], &[0xff, 0x24, 0xc1], &[0xff, 0x67, 8], &[0xff, 0x28]]
        {
            assert_eq!(one(code, true), Some(vec![Indirect::Anywhere]), "{code:x?}");
        }
        assert_eq!(one(&[0xff, 0x25, 0, 0x10, 0, 0], false), Some(vec![Indirect::Anywhere]));
        assert_eq!(one(&[0xff, 0x25, 0xfa, 0, 0, 0], true), Some(vec![Indirect::Through(0x1100)]));
    }

    #[test]
    fn jumps_on_a_count() {
        // jrcxz; mov %rbp, 0xc2e0(%rip)
        let code = [0xe3, 0x10, 0x48, 0x89, 0x2d, 0xe0, 0xc2, 0, 0];
        assert_eq!(walk(&code, 0x1000, true).unwrap().counting, [0x1012]);
    }

    #[test]
    fn code_that_returns() {
        // push %rax; call; pop %rcx; ret, and what calls a function that does not return: ret; call
        assert!(returns(&[0x50, 0xe8, 0, 0, 0, 0, 0x59, 0xc3], true));
        assert!(returns(&[0xc3, 0xe8, 0, 0, 0, 0], true));
        // call; mov %eax,%ebx; mov $1,%eax; int $0x80
        let start = [0xe8, 0, 0, 0, 0, 0x89, 0xc3, 0xb8, 1, 0, 0, 0, 0xcd, 0x80];
        assert!(!returns(&start, false));
        assert!(returns(&[0x06], true));
    }

    #[test]
    fn code_that_only_passes_on() {
        for (code, wide, narrow) in [
            (&[0xe9, 0, 0, 0, 0][..], true, true),
            // push %rbp; mov %rsp,%rbp; pop %rbp; jmp, and push %rax; call; pop %rcx; ret
            (&[0x55, 0x48, 0x89, 0xe5, 0x5d, 0xe9, 0, 0, 0, 0], true, true),
            (&[0x50, 0xe8, 0, 0, 0, 0, 0x59, 0xc3], true, true),
            // mov %fs:0x28,%rax; mov %rax,(%rsp)
            (&[0x64, 0x48, 0x8b, 4, 0x25, 0x28, 0, 0, 0, 0x48, 0x89, 4, 0x24], true, true),
            // mov %rdi,%rbx; mov %rbx,%rdi; mov 8(%rsp),%rdi: kept over a call.
            (&[0x48, 0x89, 0xfb, 0x48, 0x89, 0xdf, 0x48, 0x8b, 0x7c, 0x24, 8], true, true),
            // mov %eax,%edi: what another call gave; mov mem(%rip),%edi: on i386 no argument.
            (&[0x89, 0xc7], false, true),
            (&[0x8b, 0x3d, 0, 0, 0, 0], false, true),
            // xor %eax,%eax: forgets a guard.
            (&[0x31, 0xc0], true, true),
            // movsd 8(%rsp),%xmm0; lea 0x60(%rsp),%rax; mov 0x40(%rax),%rcx: an argument on the stack.
            (&[0xf2, 0x0f, 0x10, 0x44, 0x24, 8], true, true),
            (&[0x48, 0x8d, 0x44, 0x24, 0x60, 0x48, 0x8b, 0x48, 0x40], true, true),
            // mov %rsp,%rdi; lea 8(%rsp),%rsi; mov $9,%ecx; rep movsl; call, and the same without the copy.
            (
                &[
                    0x48, 0x89, 0xe7, 0x48, 0x8d, 0x74, 0x24, 8, 0xb9, 9, 0, 0, 0, 0xf3, 0xa5, 0xe8, 0, 0, 0,
                    0,
                ],
                true,
                true,
            ),
            (&[0x8d, 0x74, 0x24, 8, 0xb9, 9, 0, 0, 0, 0xf3, 0xa5, 0xe8, 0, 0, 0, 0], true, true),
            (&[0x8d, 0x74, 0x24, 8, 0xe8, 0, 0, 0, 0], false, true),
            (&[0x48, 0x89, 0xe7, 0xe8, 0, 0, 0, 0], false, true),
            (&[0xb9, 9, 0, 0, 0, 0xe8, 0, 0, 0, 0], false, false),
            // mov %gs:0x14,%eax: a guard of i386.
            (&[0x65, 0xa1, 0x14, 0, 0, 0], true, true),
            // flds 8(%esp); fstps (%esp); fistpl (%esp)
            (&[0xd9, 0x44, 0x24, 8, 0xd9, 0x1c, 0x24], true, true),
            (&[0xdb, 0x1c, 0x24], false, false),
            // movss mem(%rip),%xmm0; mov 8(%r12),%rdi: values of its own.
            (&[0xf3, 0x0f, 0x10, 5, 0, 0, 0, 0], false, false),
            (&[0x49, 0x8b, 0x7c, 0x24, 8], false, true),
            // lea of its own beginning; of another place.
            (&[0x48, 0x8d, 0x3d, 0xf9, 0xff, 0xff, 0xff], true, false),
            (&[0x48, 0x8d, 0x3d, 0, 0, 0, 0], false, false),
            // xor %esi,%esi; mov $1,%eax; lea 1(%rdi),%edi; mov (%rdi),%rdi; inc %edi; push $1; syscall
            (&[0x31, 0xf6], false, false),
            (&[0xb8, 1, 0, 0, 0], false, false),
            (&[0x8d, 0x7f, 1], false, false),
            (&[0x48, 0x8b, 0x3f], false, false),
            (&[0xff, 0xc7], false, false),
            (&[0x6a, 1], false, false),
            (&[0x0f, 0x05], false, false),
        ] {
            assert_eq!(only_passes_on(code, 0x1000, true), wide, "{code:x?}");
            // DEC and INC have the bytes of prefixes.
            if !code.iter().any(|byte| byte & 0xf8 == 0x48) {
                assert_eq!(only_passes_on(code, 0x1000, false), narrow, "{code:x?}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_a_jump() {
        // call to before here, and a prefix; mov $-1,%eax; and $-32,%rsp
        let code =
            [0xe8, 0, 0, 0, 0xff, 0x66, 0x90, 0xb8, 0xff, 0xff, 0xff, 0xff, 0x25, 0xff, 0xe0, 0, 0, 0xc3];
        assert_eq!(one(&code, true), Some(vec![]));
        // Cut off, and no instruction.
        assert_eq!(one(&[0xe8, 0, 0, 0, 0xff, 0xe8, 0], true), None);
        assert_eq!(one(&[0x06, 0xff, 0xe0], true), None);
        assert_eq!(one(&[0x06, 0xff, 0xe0], false), Some(vec![Indirect::Anywhere]));
    }

    #[test]
    fn stubs() {
        let table = || Some(0x3000);
        let wide = |bytes: &[u8]| hop(bytes, 0x1000, true, table);
        let slot = [0xff, 0x25, 0xfa, 0x1f, 0, 0];
        assert_eq!(wide(&slot), Some(Hop::Through(0x3000)));
        // endbr64; mold's index; bnd
        assert_eq!(wide(&[&[0xf3, 0x0f, 0x1e, 0xfa][..], &slot].concat()), Some(Hop::Through(0x3004)));
        assert_eq!(wide(&[&[0x41, 0xbb, 1, 0, 0, 0][..], &slot].concat()), Some(Hop::Through(0x3006)));
        assert_eq!(wide(&[&[0xf2][..], &slot].concat()), Some(Hop::Through(0x3001)));
        // lld's retpolines: mov slot(%rip), %r11
        assert_eq!(wide(&[0x4c, 0x8b, 0x1d, 0xf9, 0x1f, 0, 0]), Some(Hop::Through(0x3000)));
        assert_eq!(wide(&[0xe9, 0xfb, 0x0f, 0, 0]), Some(Hop::To(0x2000)));
        assert_eq!(wide(&[0xeb, 0x0e]), Some(Hop::To(0x1010)));
        assert_eq!(wide(&[0x90, 0xeb, 0x0e]), None);
        assert_eq!(wide(&slot[..5]), None);
        let narrow = |bytes: &[u8]| hop(bytes, 0x1000, false, table);
        assert_eq!(narrow(&[0xff, 0x25, 0, 0x40, 0, 0]), Some(Hop::Through(0x4000)));
        assert_eq!(narrow(&[0xff, 0xa3, 0x10, 0, 0, 0]), Some(Hop::Through(0x3010)));
    }
}
