//! Instructions of x86, decoded by `iced-x86`: their control flow, the indirect jumps of a `switch`, and code that
//! only passes a call on.
//!
//! Code is read forward from a known start. Reading ends at bytes that are no instruction. The caller then uses the
//! places that [`scan`] finds, or nothing.

pub(super) mod scan;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions,
    Mnemonic, OpAccess, OpKind, Register,
};

use super::flow::{Flow, Hop, Target};
use crate::model::ImageAddr;

/// Instructions before a jump that are searched for the load from its table.
const WINDOW: usize = 8;

/// The instructions of code at `start`, up to the first bytes that are none. `wide`: 64-bit mode instead of 32-bit
/// mode.
fn decoder(bytes: &[u8], start: u64, wide: bool) -> Decoder<'_> {
    Decoder::with_ip(if wide { 64 } else { 32 }, bytes, start, DecoderOptions::NONE)
}

/// The control flow of code at `start`, in order. `None` if not all of it is instructions: some bytes decode to none,
/// or a jump leads into the middle of one, as happens if there are data among code.
pub(super) fn flows(bytes: &[u8], start: u64, wide: bool) -> Option<Vec<Flow>> {
    let mut decoder = decoder(bytes, start, wide);
    let mut found = Vec::new();
    let mut before = [Instruction::new(); WINDOW + 1];
    let mut count = 0;
    // Starts of instructions, one bit per byte.
    let mut begins = vec![0_u64; bytes.len() / 64 + 1];
    while decoder.can_decode() {
        let at = decoder.position();
        begins[at / 64] |= 1 << (at % 64);
        let now = decoder.decode();
        before[count % before.len()] = now;
        if now.is_invalid() {
            return None;
        }
        count += 1;
        match now.flow_control() {
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                found.push(Flow::Jump(near(&now)));
            }
            FlowControl::IndirectBranch => {
                // The oldest first, without the jump itself.
                let oldest = (0..WINDOW).map(|back| &before[(count + back) % before.len()]);
                found.push(Flow::Jump(target(&now, oldest, wide)));
            }
            FlowControl::Call => found.push(Flow::Call(near(&now))),
            FlowControl::IndirectCall => {
                found.push(Flow::Call(in_memory(&now, wide).unwrap_or(Target::Anywhere)))
            }
            FlowControl::Return => found.push(Flow::Return),
            _ => {}
        }
    }
    let is_whole = |flow: &Flow| match *flow {
        Flow::Jump(Target::To(to)) => {
            // A jump out of the code may go to any byte.
            let at = to.0.wrapping_sub(start);
            at >= bytes.len() as u64 || begins[(at / 64) as usize] >> (at % 64) & 1 != 0
        }
        _ => true,
    };
    found.iter().all(is_whole).then_some(found)
}

/// The calls of code at `start`: where each returns to, and where it goes; `None` where not all of it is instructions.
pub(super) fn calls(bytes: &[u8], start: u64, wide: bool) -> Option<Vec<(ImageAddr, Target)>> {
    let mut calls = Vec::new();
    for now in &mut decoder(bytes, start, wide) {
        if now.is_invalid() {
            return None;
        }
        let target = match now.flow_control() {
            FlowControl::Call => near(&now),
            FlowControl::IndirectCall => in_memory(&now, wide).unwrap_or(Target::Anywhere),
            _ => continue,
        };
        calls.push((ImageAddr(now.next_ip()), target));
    }
    Some(calls)
}

/// The target of a direct jump or call; far ones, which leave the segment, have none.
fn near(now: &Instruction) -> Target {
    match now.op0_kind() {
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
            Target::To(ImageAddr(now.near_branch_target()))
        }
        _ => Target::Anywhere,
    }
}

/// The slot or table of a jump or call through memory; `None` if it goes through a register, or through memory that a
/// register addresses.
fn in_memory(now: &Instruction, wide: bool) -> Option<Target> {
    if now.op0_kind() != OpKind::Memory || now.is_jmp_far_indirect() || now.is_call_far_indirect() {
        return None;
    }
    if now.is_ip_rel_memory_operand() {
        return Some(Target::Through(ImageAddr(now.ip_rel_memory_address())));
    }
    // `call *%gs:0x10` enters the kernel on i386. FS and GS are the thread's, so the displacement is no address.
    let segment = now.has_segment_prefix() && matches!(now.segment_prefix(), Register::FS | Register::GS);
    if now.memory_base() != Register::None || segment {
        return None;
    }
    let address = ImageAddr(displacement(now, wide));
    match now.memory_index() {
        Register::None if !wide => Some(Target::Through(address)),
        Register::None => None,
        // An index, scaled by the size of an address, and no base.
        _ => Some(Target::TableAt(address, if wide { 8 } else { 4 })),
    }
}

fn displacement(now: &Instruction, wide: bool) -> u64 {
    if wide { now.memory_displacement64() } else { now.memory_displacement64() & u64::from(u32::MAX) }
}

/// `before`: the instructions before a jump through a register or memory, the oldest first.
fn target<'i>(jump: &Instruction, before: impl Iterator<Item = &'i Instruction>, wide: bool) -> Target {
    if jump.op0_kind() != OpKind::Register {
        return in_memory(jump, wide).unwrap_or(Target::Anywhere);
    }
    let to = jump.op0_register();
    let (mut loaded, mut summed) = (false, false);
    for now in before {
        loaded |= is_table_load(now, wide);
        summed |= loaded
            && now.mnemonic() == Mnemonic::Add
            && now.op1_kind() == OpKind::Register
            && now.op0_register() == to;
    }
    if summed { Target::Table } else { Target::Anywhere }
}

/// True for the load of a table element: `movslq (base,index,4)`, or `mov` if addresses have 32 bits.
fn is_table_load(now: &Instruction, wide: bool) -> bool {
    let load = if wide { now.mnemonic() == Mnemonic::Movsxd } else { now.code() == Code::Mov_r32_rm32 };
    // The table of a `switch` has distances of 32 bits.
    load && now.op1_kind() == OpKind::Memory && now.memory_index_scale() == 4
}

/// The call before a return address, from the last five and the last seven bytes before it. The instruction before a
/// return address is a call: `E8`, or `FF /2` with up to six bytes of operands. Only one form of the latter may have
/// the byte `E8` at the same place, `call disp(base,index,scale)`: then the answer is `None`.
pub(super) fn call_before(last: &[u8], seven: Option<&[u8]>, return_addr: u64, wide: bool) -> Option<Target> {
    let &[0xe8, a, b, c, d] = last else { return Some(Target::Anywhere) };
    if seven.is_some_and(|seven| seven.starts_with(&[0xff, 0x94])) {
        return None;
    }
    let target = return_addr.wrapping_add_signed(i32::from_le_bytes([a, b, c, d]).into());
    Some(Target::To(ImageAddr(if wide { target } else { target & u64::from(u32::MAX) })))
}

/// The target of code at `start` that only jumps, as a stub does. `table`: the address that slots are counted from in
/// 32-bit mode.
pub(super) fn hop(
    bytes: &[u8],
    start: u64,
    wide: bool,
    table: impl Fn() -> Option<ImageAddr>,
) -> Option<Hop> {
    for now in &mut decoder(bytes, start, wide) {
        match now.mnemonic() {
            // With CET, an entry of `.plt.sec` begins so.
            Mnemonic::Endbr64 | Mnemonic::Endbr32 => {}
            // Pushes a number for the loader.
            Mnemonic::Mov if now.op0_kind() == OpKind::Register && is_constant(now.op1_kind()) => {}
            // A jump to a retpoline, which jumps to the address in R11.
            Mnemonic::Mov if now.is_ip_rel_memory_operand() && now.op0_register() == Register::R11 => {
                return Some(Hop::Through(ImageAddr(now.ip_rel_memory_address())));
            }
            Mnemonic::Jmp => {
                return match in_memory(&now, wide) {
                    Some(Target::Through(slot)) => Some(Hop::Through(slot)),
                    Some(_) => None,
                    None if now.is_jmp_short_or_near() => Some(Hop::To(ImageAddr(now.near_branch_target()))),
                    None if !wide
                        && now.memory_base() == Register::EBX
                        && now.memory_index() == Register::None =>
                    {
                        let slot = table()?.0.wrapping_add(displacement(&now, wide));
                        Some(Hop::Through(ImageAddr(slot & u64::from(u32::MAX))))
                    }
                    None => None,
                };
            }
            _ => return None,
        }
    }
    None
}

fn is_constant(kind: OpKind) -> bool {
    matches!(kind, OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64)
}

/// True if code at `start` contains only code that accompanies a call that is passed on.
pub(super) fn only_passes_on(bytes: &[u8], start: u64, wide: bool) -> bool {
    let mut frame = PlaceRegisters::new(wide);
    let mut decoder = decoder(bytes, start, wide);
    let mut info = InstructionInfoFactory::new();
    for now in &mut decoder {
        // A profiler gets the address of the function.
        let is_own = now.mnemonic() == Mnemonic::Lea && now.is_ip_rel_memory_operand();
        if is_own && now.ip_rel_memory_address() == start {
            continue;
        }
        if now.is_invalid() || !frame.may_pass_on(&now) || !frame.follow(&now, &mut info) {
            return false;
        }
    }
    true
}

/// The known registers, while code is read that may only pass a call on.
struct PlaceRegisters {
    wide: bool,
    /// Registers with the address of a place in the frame, one bit each.
    registers: u16,
    /// An argument register has an address or a constant for REP MOVS, which copies an argument in memory.
    will_copy: bool,
}

/// RDI, RSI, RDX, RCX, R8 and R9; RBX, RBP and R12 to R15 (System V ABI of x86-64 3.2.1, 3.2.3), one bit each. On
/// i386 arguments are in memory.
const ARGUMENTS: u16 = 1 << 7 | 1 << 6 | 1 << 2 | 1 << 1 | 1 << 8 | 1 << 9;
const KEPT: u16 = 1 << 3 | 1 << 5 | 0xf << 12;
const STACK: u16 = 1 << 4;

/// The bit of a general register of at least 16 bits; 0 for other registers.
fn bit(register: Register) -> u16 {
    let whole = register.is_gpr16() || register.is_gpr32() || register.is_gpr64();
    if whole { 1 << (register.full_register().number() & 15) } else { 0 }
}

impl PlaceRegisters {
    /// At the entry of a function: ESP and EBP.
    fn new(wide: bool) -> PlaceRegisters {
        PlaceRegisters { wide, registers: STACK | 1 << 5, will_copy: false }
    }

    /// True for an access to memory through a register with the address of a place in the frame.
    fn is_in_frame(&self, now: &Instruction) -> bool {
        self.registers & bit(now.memory_base()) != 0
    }

    fn is_argument(&self, registers: u16) -> bool {
        self.wide && registers & ARGUMENTS != 0
    }

    /// True for an instruction that passes a call on, builds a frame, keeps arguments or compares a guard.
    fn may_pass_on(&self, now: &Instruction) -> bool {
        let memory = |operand: u32| now.op_kind(operand) == OpKind::Memory;
        let has_memory = memory(0) || memory(1);
        let (to, from) = (now.op0_register(), now.op1_register());
        match now.mnemonic() {
            Mnemonic::Push => now.op0_kind() == OpKind::Register || memory(0),
            Mnemonic::Pop => now.op0_kind() == OpKind::Register,
            Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Endbr32 | Mnemonic::Ret | Mnemonic::Leave => true,
            Mnemonic::Call | Mnemonic::Int3 | Mnemonic::Ud2 => true,
            _ if now.is_jmp_short_or_near() || now.is_jcc_short_or_near() => true,
            _ if now.is_jmp_near_indirect() => true,
            // REP MOVS
            Mnemonic::Movsb | Mnemonic::Movsw | Mnemonic::Movsd | Mnemonic::Movsq
                if now.is_string_instruction() =>
            {
                true
            }
            // A counter or a guard. XOR of EAX with itself clears a guard.
            Mnemonic::Inc => memory(0) && !is_byte(now),
            Mnemonic::Cmp if now.op1_kind() == OpKind::Register || memory(1) => !is_byte(now),
            Mnemonic::Sub | Mnemonic::Xor if memory(1) => !is_byte(now),
            Mnemonic::Xor => to == from && matches!(to, Register::EAX | Register::RAX | Register::AX),
            // Adds a constant to the stack pointer, to the base of slots, or to memory.
            Mnemonic::Add | Mnemonic::And | Mnemonic::Sub | Mnemonic::Cmp => {
                let is_constant = !matches!(now.op1_kind(), OpKind::Register | OpKind::Memory);
                is_constant && !is_byte(now) && (memory(0) || bit(to) == STACK || !self.wide)
            }
            Mnemonic::Lea => self.is_in_frame(now),
            Mnemonic::Mov => self.may_move(now),
            // Vector and x87 instructions, to and from the stack.
            Mnemonic::Movups | Mnemonic::Movupd | Mnemonic::Movss | Mnemonic::Movaps | Mnemonic::Movapd => {
                has_memory && self.is_in_frame(now)
            }
            Mnemonic::Movsd | Mnemonic::Movdqa | Mnemonic::Movdqu | Mnemonic::Movq | Mnemonic::Movd => {
                has_memory && self.is_in_frame(now)
            }
            Mnemonic::Vmovups
            | Mnemonic::Vmovupd
            | Mnemonic::Vmovss
            | Mnemonic::Vmovsd
            | Mnemonic::Vmovaps => has_memory && self.is_in_frame(now),
            Mnemonic::Vmovapd | Mnemonic::Vmovdqa | Mnemonic::Vmovdqu | Mnemonic::Vmovq | Mnemonic::Vmovd => {
                has_memory && self.is_in_frame(now)
            }
            Mnemonic::Fld | Mnemonic::Fst => memory(0) && self.is_in_frame(now),
            Mnemonic::Fstp => !memory(0) || self.is_in_frame(now),
            _ => false,
        }
    }

    /// MOV: from and to the stack, a place in a segment, or a fixed address. On i386 all arguments are on the stack.
    fn may_move(&self, now: &Instruction) -> bool {
        let (to, from) = (bit(now.op0_register()), bit(now.op1_register()));
        match (now.op0_kind(), now.op1_kind()) {
            (OpKind::Memory, OpKind::Register) | (OpKind::Register, OpKind::Memory) if to | from != 0 => {
                let places = now.memory_base() == Register::None || now.is_ip_rel_memory_operand();
                if places { !self.is_argument(to | from) } else { self.is_in_frame(now) }
            }
            // The stack pointer goes to an argument register only before a copy, as `follow` checks. A move may save
            // an argument or restore it, but not from a caller-saved register.
            (OpKind::Register, OpKind::Register) if to != 0 && from != 0 => {
                from == STACK || from & KEPT != 0 || !self.is_argument(to)
            }
            // The count of REP MOVS.
            (OpKind::Register, kind) if is_constant(kind) => bit(Register::ECX) == to,
            _ => false,
        }
    }

    /// Processes an instruction; false for a call with a register that only REP MOVS may have.
    fn follow(&mut self, now: &Instruction, info: &mut InstructionInfoFactory) -> bool {
        let to = bit(now.op0_register());
        let address = match now.mnemonic() {
            Mnemonic::Lea => to,
            Mnemonic::Mov if bit(now.op1_register()) == STACK && now.op0_kind() == OpKind::Register => to,
            _ => 0,
        };
        let is_call = matches!(now.mnemonic(), Mnemonic::Call | Mnemonic::Jmp);
        if now.is_string_instruction() {
            self.will_copy = false;
        }
        if self.is_argument(address) || (now.mnemonic() == Mnemonic::Mov && is_constant(now.op1_kind())) {
            self.will_copy = true;
        }
        // A write replaces the value of a register, and a call that returns changes the caller-saved ones.
        let changes =
            |access: OpAccess| !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
        let used = info.info_options(now, InstructionInfoOptions::NO_MEMORY_USAGE).used_registers();
        let written =
            used.iter().filter(|used| changes(used.access())).fold(0, |all, used| all | bit(used.register()));
        self.registers &= !written;
        if now.mnemonic() == Mnemonic::Call {
            self.registers &= KEPT;
        }
        self.registers |= STACK | if self.is_argument(address) { 0 } else { address };
        !(is_call && self.will_copy)
    }
}

/// True for an instruction on single bytes.
fn is_byte(now: &Instruction) -> bool {
    let of = |operand: u32| match now.op_kind(operand) {
        OpKind::Register => now.op_register(operand).size() == 1,
        OpKind::Memory => now.memory_size().size() == 1,
        _ => false,
    };
    of(0) || of(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Targets of jumps that are no addresses.
    fn one(bytes: &[u8], wide: bool) -> Option<Vec<Target>> {
        let target = |flow: Flow| match flow {
            Flow::Jump(Target::To(_)) => None,
            Flow::Jump(target) => Some(target),
            _ => None,
        };
        flows(bytes, 0x1000, wide).map(|found| found.into_iter().filter_map(target).collect())
    }

    #[test]
    fn jumps_of_switches() {
        // lea table(%rip),%rcx; movslq (%rcx,%rax,4),%rax; add %rcx,%rax; jmp *%rax
        let switch = [0x48, 0x8d, 0x0d, 0, 1, 0, 0, 0x48, 0x63, 0x04, 0x81, 0x48, 0x01, 0xc8, 0xff, 0xe0];
        assert_eq!(one(&switch, true), Some(vec![Target::Table]));
        // The same with `notrack`, with add (reg) in its other form, and to %r10.
        let other = [0x4e, 0x63, 0x14, 0x81, 0x4c, 0x03, 0xd1, 0x3e, 0x41, 0xff, 0xe2];
        assert_eq!(one(&other, true), Some(vec![Target::Table]));
        // Without the load; with the sum in another register; the sum of 32 bits.
        let mut no_sum = switch;
        no_sum[13] = 0xc1;
        let mut narrow = switch;
        narrow[11] = 0x40;
        for code in [&switch[11..], &no_sum, &narrow] {
            assert_eq!(one(code, true), Some(vec![Target::Anywhere]), "{code:x?}");
        }
        // mov table(%ebx,%eax,4),%eax; add %ebx,%eax; jmp *%eax
        let switch = [0x8b, 0x84, 0x83, 0, 0xf0, 0xff, 0xff, 0x01, 0xd8, 0xff, 0xe0];
        assert_eq!(one(&switch, false), Some(vec![Target::Table]));
    }

    #[test]
    fn jumps_through_memory() {
        // jmp *0x402230(,%eax,4), and with 64 bits and times 8
        assert_eq!(
            one(&[0xff, 0x24, 0x85, 0x30, 0x22, 0x40, 0], false),
            Some(vec![Target::TableAt(ImageAddr(0x40_2230), 4)])
        );
        assert_eq!(
            one(&[0xff, 0x24, 0xc5, 0x30, 0x22, 0x40, 0], true),
            Some(vec![Target::TableAt(ImageAddr(0x40_2230), 8)])
        );
        // Without an index; on a base; an absolute one; a far one
        for code in
            [&[0xff, 0x24, 0x25, 0, 0x10, 0, 0][..], &[0xff, 0x24, 0xc1], &[0xff, 0x67, 8], &[0xff, 0x28]]
        {
            assert_eq!(one(code, true), Some(vec![Target::Anywhere]), "{code:x?}");
        }
        assert_eq!(one(&[0xff, 0x25, 0, 0x10, 0, 0], false), Some(vec![Target::Through(ImageAddr(0x1000))]));
        assert_eq!(one(&[0xff, 0x25, 0xfa, 0, 0, 0], true), Some(vec![Target::Through(ImageAddr(0x1100))]));
    }

    #[test]
    fn jumps_and_calls_and_returns() {
        // jrcxz; mov %rbp, 0xc2e0(%rip)
        let code = [0xe3, 0x10, 0x48, 0x89, 0x2d, 0xe0, 0xc2, 0, 0];
        assert_eq!(flows(&code, 0x1000, true).unwrap(), [Flow::Jump(Target::To(ImageAddr(0x1012)))]);
        // push %rax; call; pop %rcx; ret
        let code = [0x50, 0xe8, 0, 0, 0, 0, 0x59, 0xc3];
        assert_eq!(
            flows(&code, 0x1000, true).unwrap(),
            [Flow::Call(Target::To(ImageAddr(0x1006))), Flow::Return]
        );
        // call *slot(%rip); call *%rax
        let code = [0xff, 0x15, 0xfa, 0x1f, 0, 0, 0xff, 0xd0];
        assert_eq!(
            flows(&code, 0x1000, true).unwrap(),
            [Flow::Call(Target::Through(ImageAddr(0x3000))), Flow::Call(Target::Anywhere)]
        );
        // call; mov %eax,%ebx; mov $1,%eax; int $0x80
        let start = [0xe8, 0, 0, 0, 0, 0x89, 0xc3, 0xb8, 1, 0, 0, 0, 0xcd, 0x80];
        assert_eq!(flows(&start, 0x1000, false).unwrap(), [Flow::Call(Target::To(ImageAddr(0x1005)))]);
    }

    /// The instruction before a return address is a call; one form of it ends like another.
    #[test]
    fn calls_before_return_addresses() {
        let call = [0x90, 0x90, 0xe8, 0xfb, 0x0f, 0, 0];
        let before = |seven: &[u8; 7]| call_before(&seven[2..], Some(seven), 0x1000, true);
        assert_eq!(before(&call), Some(Target::To(ImageAddr(0x1ffb))));
        assert_eq!(call_before(&call[2..], None, 0x1000, true), Some(Target::To(ImageAddr(0x1ffb))));
        // call *0x10(%rax), call *0xffb(%rax,%rbp,8)
        assert_eq!(before(&[0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x10]), Some(Target::Anywhere));
        assert_eq!(before(&[0xff, 0x94, 0xe8, 0xfb, 0x0f, 0, 0]), None);
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
            // mov %gs:0x14,%eax: a guard of i386; cut off in 64-bit mode, where an address has eight bytes.
            (&[0x65, 0xa1, 0x14, 0, 0, 0], false, true),
            // flds 8(%esp); fstps (%esp); fistpl (%esp)
            (&[0xd9, 0x44, 0x24, 8, 0xd9, 0x1c, 0x24], true, true),
            (&[0xdb, 0x1c, 0x24], false, false),
            // vmovsd 8(%rsp),%xmm0; vmovups %xmm0,(%rsp); and of memory that the code knows.
            (&[0xc5, 0xfb, 0x10, 0x44, 0x24, 8, 0xc5, 0xf8, 0x11, 0x04, 0x24], true, true),
            (&[0xc5, 0xfa, 0x10, 5, 0, 0, 0, 0], false, false),
            // lea 8(%rsp),%rax; mov 8(%rsp),%rax; mov (%rax),%rdi: the register has another address now.
            (&[0x48, 0x8d, 0x44, 0x24, 8, 0x48, 0x8b, 0x44, 0x24, 8, 0x48, 0x8b, 0x38], false, false),
            // lea 8(%rsp),%rax; call; mov (%rax),%rdi: calls change it.
            (&[0x48, 0x8d, 0x44, 0x24, 8, 0xe8, 0, 0, 0, 0, 0x48, 0x8b, 0x38], false, false),
            // Not an instruction, in 64-bit mode or at all.
            (&[0xe9, 0, 0, 0, 0, 0x0f, 0xff], false, false),
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
        // jmp over four bytes of data, of which the last takes up the jump behind it; the same with no more than padding.
        let over = [0xeb, 4, 0, 0, 0, 0xb8, 0xe9, 0, 1, 0, 0];
        assert_eq!(one(&over, true), None);
        let padded = [0xeb, 4, 0x90, 0x90, 0x90, 0x90, 0xe9, 0, 1, 0, 0];
        assert_eq!(one(&padded, true), Some(vec![]));
        // Cut off, and no instruction.
        assert_eq!(one(&[0xe8, 0, 0, 0, 0xff, 0xe8, 0], true), None);
        assert_eq!(one(&[0x06, 0xff, 0xe0], true), None);
        assert_eq!(one(&[0x06, 0xff, 0xe0], false), Some(vec![Target::Anywhere]));
    }

    #[test]
    fn stubs() {
        let table = || Some(ImageAddr(0x3000));
        let wide = |bytes: &[u8]| hop(bytes, 0x1000, true, table);
        let slot = [0xff, 0x25, 0xfa, 0x1f, 0, 0];
        assert_eq!(wide(&slot), Some(Hop::Through(ImageAddr(0x3000))));
        // endbr64; mold's index; bnd
        assert_eq!(
            wide(&[&[0xf3, 0x0f, 0x1e, 0xfa][..], &slot].concat()),
            Some(Hop::Through(ImageAddr(0x3004)))
        );
        assert_eq!(
            wide(&[&[0x41, 0xbb, 1, 0, 0, 0][..], &slot].concat()),
            Some(Hop::Through(ImageAddr(0x3006)))
        );
        assert_eq!(wide(&[&[0xf2][..], &slot].concat()), Some(Hop::Through(ImageAddr(0x3001))));
        // lld's retpolines: mov slot(%rip), %r11
        assert_eq!(wide(&[0x4c, 0x8b, 0x1d, 0xf9, 0x1f, 0, 0]), Some(Hop::Through(ImageAddr(0x3000))));
        assert_eq!(wide(&[0xe9, 0xfb, 0x0f, 0, 0]), Some(Hop::To(ImageAddr(0x2000))));
        assert_eq!(wide(&[0xeb, 0x0e]), Some(Hop::To(ImageAddr(0x1010))));
        assert_eq!(wide(&[0x90, 0xeb, 0x0e]), None);
        assert_eq!(wide(&slot[..5]), None);
        let narrow = |bytes: &[u8]| hop(bytes, 0x1000, false, table);
        assert_eq!(narrow(&[0xff, 0x25, 0, 0x40, 0, 0]), Some(Hop::Through(ImageAddr(0x4000))));
        assert_eq!(narrow(&[0xff, 0xa3, 0x10, 0, 0, 0]), Some(Hop::Through(ImageAddr(0x3010))));
    }

    /// Any bytes are read to their end, or to the first that are no instruction.
    #[test]
    fn any_bytes_are_read() {
        let mut state = 7_u64;
        for round in 0..20_000 {
            let code: Vec<u8> = (0..round % 67)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 33) as u8
                })
                .collect();
            for (start, wide) in
                [(0x1000, true), (0x1000, false), (u64::MAX - 20, true), (u64::MAX - 20, false)]
            {
                let found = flows(&code, start, wide).map_or(0, |found| found.len());
                assert!(found <= code.len());
                only_passes_on(&code, start, wide);
                hop(&code, start, wide, || Some(ImageAddr(u64::MAX)));
            }
        }
    }
}
