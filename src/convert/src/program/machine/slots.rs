//! Calls through a word of a table of functions, as the instructions show them.
//!
//! Example: `mov (%rdi), %rax; call *16(%rax)` loads the first word of an object, its vtable pointer, and calls the
//! function 16 bytes after that address: word 2 of the table. `call *16(%rdi)` calls a function pointer in the object
//! itself: the slot is the same, but nothing shows a table. Both calls are found; [`SlotCall::by_object`]
//! distinguishes them.
//!
//! Code is read forward from a known start of an instruction, and the values of registers are followed along it. At
//! the target of a forward jump, registers have the values on which all paths agree; at the target of a backward
//! jump, no value is known. If a function has a jump through a register or memory, there may be hidden paths to any
//! place. Then only the call instruction itself counts.
//!
//! On x86, only the code before an indirect call is read, from a row of the line table on: the call instruction
//! `call *16(%rax)` contains the word. A call through a register, `mov 16(%rax), %rcx; call *%rcx`, may be reached with
//! another word in the register. So a function with such a call is read whole, from its start. This includes calls of thunks that go
//! where a register points: `mov 16(%rax), %r11; call __llvm_retpoline_r11`.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions,
    Mnemonic, OpAccess, OpKind, Register,
};

use super::inst::{Goal, Op, Place};
use super::limits::MAX_SLOT_CODE;
use super::reader::{Machine, Processor, RegisterThunks};
use super::register_values::{Effect, Follower, Held, SlotCalls, State};
use super::run::{InstRun, Mode};
use crate::diagnostics::Cap;
use crate::model::{AddressRange, ImageAddr};

/// Bytes read before a call at least: the code that loads the object, the arguments and the table's address.
const BEFORE_CALL: u64 = 96;

impl Machine<'_, '_> {
    /// The calls of `code` that go through a word of a table; `code` begins with a function. There are none if the code is
    /// missing or not supported. `begins` returns the last known start of an instruction that is not after an
    /// address.
    pub(crate) fn slot_calls(
        &self,
        code: AddressRange,
        begins: &dyn Fn(ImageAddr) -> ImageAddr,
    ) -> SlotCalls {
        let start = code.start;
        let ReadPart { code, cut: rest } = ReadPart::of(code, MAX_SLOT_CODE);
        let found = match self.processor {
            Some(Processor::X86 { wide }) => self.bytes(code).map(|bytes| {
                X86Code { bytes, start: start.0, wide, thunks: self.register_thunks() }.calls(begins)
            }),
            Some(Processor::AArch64) => self.runs(code).map(|runs| of_runs(&runs)),
            _ => None,
        };
        let Some(SlotCalls { calls, cut }) = found else { return SlotCalls::default() };
        SlotCalls { calls, cut: cut.or(rest) }
    }
}

/// The part of a function's code that is read.
#[derive(Debug, PartialEq, Eq)]
struct ReadPart {
    code: AddressRange,
    /// The limit for which the rest is not read.
    cut: Option<Cap>,
}

impl ReadPart {
    /// At most so many bytes of the code.
    fn of(code: AddressRange, most: u64) -> ReadPart {
        let end = code.end.min(code.start.saturating_add(most));
        ReadPart { code: AddressRange::new(code.start, end), cut: (end < code.end).then_some(Cap::SlotCode) }
    }
}

/// x86 code, and the program's thunks.
struct X86Code<'a> {
    bytes: &'a [u8],
    start: u64,
    wide: bool,
    thunks: &'a RegisterThunks,
}

impl X86Code<'_> {
    /// The places where bytes may be `FF /2`, a call through a register or memory, except calls through an absolute or
    /// relative address (`FF 15`), or `E8`, a call of a thunk.
    fn indirect_calls(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        let is_indirect = |at: &usize| {
            let next = self.bytes.get(at + 1);
            next.is_some_and(|next| next >> 3 & 7 == 2 && *next != 0x15)
        };
        if self.thunks.is_empty() {
            return Box::new(memchr::memchr_iter(0xff, self.bytes).filter(is_indirect));
        }
        let is_of_thunk = |at: usize| {
            let distance = self.bytes.get(at + 1..)?.first_chunk().map(|bytes| i32::from_le_bytes(*bytes))?;
            let next = self.start + at as u64 + 5;
            let target = next.wrapping_add_signed(i64::from(distance));
            Some(self.is_thunk(if self.wide { target } else { target & 0xffff_ffff }))
        };
        let both = memchr::memchr2_iter(0xe8, 0xff, self.bytes);
        Box::new(both.filter(move |at| match self.bytes[*at] {
            0xe8 => is_of_thunk(*at) == Some(true),
            _ => is_indirect(at),
        }))
    }

    fn is_thunk(&self, target: u64) -> bool {
        self.thunks.contains_key(&ImageAddr(target))
    }

    fn decoder(&self) -> Decoder<'_> {
        Decoder::with_ip(if self.wide { 64 } else { 32 }, self.bytes, self.start, DecoderOptions::NONE)
    }

    fn follower(&self, back: Vec<u64>) -> Follower {
        Follower::new([4, 5], kept(self.wide), if self.wide { 8 } else { 4 }, back)
    }

    /// The calls. `begins`: see [`Machine::slot_calls`].
    fn calls(&self, begins: &dyn Fn(ImageAddr) -> ImageAddr) -> SlotCalls {
        let start = self.start;
        // Without the targets of backward jumps, since not all code is read. The word is in the call instruction and the
        // same on every way; that an object holds the table is only likely.
        let (mut decoder, mut follower) = (self.decoder(), self.follower(Vec::new()));
        let mut info = InstructionInfoFactory::new();
        let mut now = Instruction::default();
        // The next place after bytes that are no instruction: the code before it was read or cannot be read.
        let mut unread = Some(start);
        for at in self.indirect_calls() {
            let call = start + at as u64;
            // The place, and a row before it, may be before the start of the code.
            let from = begins(ImageAddr(call.saturating_sub(BEFORE_CALL))).0.clamp(start, call);
            if unread.is_some_and(|unread| from < unread) {
                continue;
            }
            // Otherwise the code before `from` was just read, and the values of registers at it are still known.
            if unread.take().is_some() || from > decoder.ip() {
                if decoder.set_position((from - start) as usize).is_err() {
                    break;
                }
                decoder.set_ip(from);
                follower.begin();
            }
            while decoder.ip() <= call && decoder.can_decode() {
                decoder.decode_out(&mut now);
                if now.is_invalid() {
                    unread = Some(decoder.ip());
                    break;
                }
                follower.arrive(now.ip());
                let step = self.step(&now, &follower.state, &mut info);
                follower.take(step, now.ip(), now.next_ip());
            }
        }
        let mut found = follower.calls();
        if found.calls.iter().any(|call| call.by_register && call.by_object) {
            return self.calls_of_whole();
        }
        // Not all code was read, so another path may bring another word in the register.
        found.calls.retain(|call| !call.by_register);
        found
    }

    /// The same for a function that is read whole.
    fn calls_of_whole(&self) -> SlotCalls {
        // The targets of backward jumps must be known before the values are followed past them, so the code is read twice.
        let (mut back, mut indirect, mut last_call) = (Vec::new(), false, None);
        for now in &mut self.decoder() {
            match now.flow_control() {
                FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                    back.extend(Some(now.near_branch_target()).filter(|to| *to <= now.ip()));
                    indirect |= self.is_thunk(now.near_branch_target());
                }
                // An indirect jump may lead to any instruction, so no value that one path gives a register is certain anywhere.
                FlowControl::IndirectBranch => indirect = true,
                FlowControl::IndirectCall if !now.is_ip_rel_memory_operand() => last_call = Some(now.ip()),
                FlowControl::Call if self.is_thunk(now.near_branch_target()) => {
                    last_call = Some(now.ip());
                }
                // After bytes that are no instruction, jumps may be missed, and with them paths to a call.
                _ if now.is_invalid() => return SlotCalls::default(),
                _ => {}
            }
        }
        let Some(last_call) = last_call else { return SlotCalls::default() };
        let mut follower = self.follower(back);
        let mut info = InstructionInfoFactory::new();
        for now in &mut self.decoder() {
            if now.ip() > last_call {
                break;
            }
            follower.arrive(now.ip());
            if indirect {
                follower.state = follower.start;
            }
            let step = self.step(&now, &follower.state, &mut info);
            follower.take(step, now.ip(), now.next_ip());
        }
        follower.calls()
    }

    /// The effect of an instruction.
    fn step(&self, now: &Instruction, state: &State, info: &mut InstructionInfoFactory) -> Effect {
        match now.flow_control() {
            FlowControl::Call
                if let Some(register) = self.thunks.get(&ImageAddr(now.near_branch_target())) =>
            {
                Effect::Call(register.map(|register| state[usize::from(register)]), true)
            }
            _ => x86_step(now, state, self.wide, info),
        }
    }
}

fn general(register: Register) -> Option<usize> {
    let whole = register.is_gpr32() || register.is_gpr64();
    whole.then(|| register.full_register().number() & 15)
}

/// Callee-saved: RBX, RBP, RSP, R12 to R15; on i386 EBX, EBP, ESP, ESI, EDI. There are no registers from number 16 on.
const fn kept(wide: bool) -> u32 {
    0xffff_0000 | if wide { 1 << 3 | 1 << 4 | 1 << 5 | 0xf << 12 } else { 0xf8 }
}

/// The value loaded from a place in memory.
fn x86_load(now: &Instruction, state: &State, wide: bool) -> Held {
    let unindexed = now.memory_index() == Register::None && !now.has_segment_prefix();
    match general(now.memory_base()).filter(|_| unindexed && !now.is_ip_rel_memory_operand()) {
        Some(base) => state[base].load(displacement(now, wide)),
        None => Held::Unknown,
    }
}

/// The displacement of a memory operand, as a signed number.
fn displacement(now: &Instruction, wide: bool) -> i64 {
    signed(now.memory_displacement64(), wide)
}

/// A number of an instruction with its sign: iced-x86 does not extend that of 32-bit numbers.
fn signed(by: u64, wide: bool) -> i64 {
    if wide { by.cast_signed() } else { i64::from((by as u32).cast_signed()) }
}

fn x86_step(now: &Instruction, state: &State, wide: bool, info: &mut InstructionInfoFactory) -> Effect {
    match now.flow_control() {
        FlowControl::UnconditionalBranch => {
            return Effect::Jump { to: Some(now.near_branch_target()), ends: true };
        }
        FlowControl::ConditionalBranch => {
            return Effect::Jump { to: Some(now.near_branch_target()), ends: false };
        }
        FlowControl::IndirectBranch | FlowControl::Return | FlowControl::Exception => {
            return Effect::Jump { to: None, ends: true };
        }
        // A direct call goes through no table, but it changes registers.
        FlowControl::Call => return Effect::Call(None, false),
        FlowControl::IndirectCall => {
            // An increment of a register may add up differently where code jumps back to.
            let moved =
                general(now.memory_base()).is_some_and(|base| matches!(state[base], Held::Inside(..)));
            let by_register = now.op0_kind() == OpKind::Register || moved;
            let held = match now.op0_kind() {
                OpKind::Memory if !now.is_call_far_indirect() => Some(x86_load(now, state, wide)),
                OpKind::Register => general(now.op0_register()).map(|register| state[register]),
                _ => None,
            };
            return Effect::Call(held, by_register);
        }
        _ => {}
    }
    // A write of a part of a register leaves no value that is followed. It is forgotten below.
    let is_whole = if wide { now.op0_register().is_gpr64() } else { now.op0_register().is_gpr32() };
    let to = general(now.op0_register()).filter(|_| now.op0_kind() == OpKind::Register && is_whole);
    if let Some(to) = to {
        match (now.mnemonic(), now.op1_kind()) {
            (Mnemonic::Mov, OpKind::Memory) => return Effect::Set(to, x86_load(now, state, wide)),
            (Mnemonic::Mov, OpKind::Register) if let Some(from) = general(now.op1_register()) => {
                return Effect::Set(to, state[from]);
            }
            (Mnemonic::Lea, _) => {
                let unindexed = now.memory_index() == Register::None && !now.is_ip_rel_memory_operand();
                if let Some(base) = general(now.memory_base()).filter(|_| unindexed) {
                    return Effect::Set(to, state[base].add(displacement(now, wide)));
                }
            }
            (Mnemonic::Add | Mnemonic::Sub, kind) if !matches!(kind, OpKind::Register | OpKind::Memory) => {
                let by = signed(now.immediate(1), wide);
                let by = if now.mnemonic() == Mnemonic::Sub { by.wrapping_neg() } else { by };
                return Effect::Set(to, state[to].add(by));
            }
            _ => {}
        }
    }
    // Most instructions are of these kinds, for which the decoder's tables are not needed.
    match now.mnemonic() {
        Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Nop => return Effect::Forget(0),
        Mnemonic::Mov
        | Mnemonic::Movzx
        | Mnemonic::Movsx
        | Mnemonic::Movsxd
        | Mnemonic::Lea
        | Mnemonic::Add
        | Mnemonic::Sub
        | Mnemonic::And
        | Mnemonic::Or
        | Mnemonic::Xor => {
            let written = now.op0_register().full_register();
            return Effect::Forget(if written.is_gpr() { 1 << (written.number() & 15) } else { 0 });
        }
        _ => {}
    }
    let mut registers = 0;
    for used in info.info_options(now, InstructionInfoOptions::NO_MEMORY_USAGE).used_registers() {
        let writes = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
        let register = used.register().full_register();
        if writes && register.is_gpr() {
            registers |= 1 << (register.number() & 15);
        }
    }
    Effect::Forget(registers)
}

fn of_runs(runs: &[InstRun<'_>]) -> SlotCalls {
    let (mut back, mut indirect, mut calls) = (Vec::new(), false, false);
    for run in runs.iter().filter(|run| run.mode == Mode::A64) {
        run.each(|address, inst| match inst.op {
            Op::Jump(Goal::To(to)) => back.extend(Some(to).filter(|to| *to <= address)),
            Op::Jump(_) => indirect = true,
            Op::Call(Goal::Register(..)) => calls = true,
            _ => {}
        });
    }
    if !calls {
        return SlotCalls::default();
    }
    // X19 to X29; the stack pointer is number 31 in `inst`.
    let mut follower = Follower::new([31, 29], 0x3ff8_0000 | 1 << 31, 8, back);
    for run in runs.iter().filter(|run| run.mode == Mode::A64) {
        run.each(|address, inst| {
            follower.arrive(address);
            if indirect {
                // On these processors the load of the callee is a separate instruction.
                follower.state = follower.start;
            }
            let state = &follower.state;
            let step = match inst.op {
                Op::Jump(goal) => {
                    let to = match goal {
                        Goal::To(to) => Some(to),
                        _ => None,
                    };
                    // Every jump counts as conditional: the code after one may be reached from it.
                    Effect::Jump { to, ends: false }
                }
                Op::Return => Effect::Jump { to: None, ends: true },
                Op::Call(Goal::Register(register, 0)) => {
                    Effect::Call(Some(state[usize::from(register & 31)]), true)
                }
                Op::Call(_) => Effect::Call(None, false),
                Op::Move { to, from } if to < 32 && from < 32 => {
                    Effect::Set(usize::from(to), state[usize::from(from)])
                }
                Op::Add { to, from, by } if to < 32 && from < 32 => {
                    Effect::Set(usize::from(to), state[usize::from(from)].add(by))
                }
                Op::Load {
                    to,
                    place: Place { base: Some(base), offset, indexed: false, writes_back, size: 8 },
                } if to.count_ones() == 1 && to.trailing_zeros() < 32 && base < 32 && !writes_back => {
                    Effect::Set(to.trailing_zeros() as usize, state[usize::from(base)].load(offset))
                }
                // The bits of vector registers are above these.
                other => Effect::Forget(other.written() as u32),
            };
            follower.take(step, address, address + inst.len as u64);
        });
    }
    follower.calls()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::machine::limits::MAX_JOINS;
    use crate::program::machine::register_values::SlotCall;

    /// The calls of code at 0x1000, with a thunk for R11 at 0x900 and one of which the register is not known at 0x940.
    fn of_x86(bytes: &[u8], begins: &dyn Fn(u64) -> u64) -> Vec<SlotCall> {
        let thunks = RegisterThunks::from_iter([(ImageAddr(0x900), Some(11)), (ImageAddr(0x940), None)]);
        let code = X86Code { bytes, start: 0x1000, wide: true, thunks: &thunks };
        let found = code.calls(&|address| ImageAddr(begins(address.0)));
        assert_eq!(found.cut, None);
        found.calls
    }

    /// `(offset of the return address, slot, by_object)` of code.
    fn slots(bytes: &[u8]) -> Vec<(u64, u16, bool)> {
        of_x86(bytes, &|_| 0)
            .into_iter()
            .map(|call| (call.return_addr.0 - 0x1000, call.slot, call.by_object))
            .collect()
    }

    #[test]
    fn the_word_of_a_call() {
        // mov (%rdi),%rax; call *0x10(%rax)
        assert_eq!(slots(&[0x48, 0x8b, 0x07, 0xff, 0x50, 0x10]), [(6, 2, true)]);
        // mov (%rdi),%rax; call *(%rax)
        assert_eq!(slots(&[0x48, 0x8b, 0x07, 0xff, 0x10]), [(5, 0, true)]);
        // call *0x10(%rdi): the object holds it.
        assert_eq!(slots(&[0xff, 0x57, 0x10]), [(3, 2, false)]);
        // mov 8(%rdi),%rax; call *0x10(%rax): the pointer is not the first word.
        assert_eq!(slots(&[0x48, 0x8b, 0x47, 0x08, 0xff, 0x50, 0x10]), [(7, 2, false)]);
        // call *0x10(%rsp): a place in the frame.
        assert_eq!(slots(&[0xff, 0x54, 0x24, 0x10]), []);
        // call *%rax
        assert_eq!(slots(&[0xff, 0xd0]), []);
        // No multiple of a word: call *0x11(%rax).
        assert_eq!(slots(&[0xff, 0x50, 0x11]), []);
    }

    #[test]
    fn without_optimization_a_register_is_called() {
        // mov -8(%rbp),%rax; mov (%rax),%rax; add $0x10,%rax; mov (%rax),%rdx; mov -8(%rbp),%rax; mov %rax,%rdi; call *%rdx
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x45, 0xf8, 0x48, 0x8b, 0x00, 0x48, 0x83, 0xc0, 0x10, 0x48,
            0x8b, 0x10, 0x48, 0x8b, 0x45, 0xf8, 0x48, 0x89, 0xc7, 0xff, 0xd2,
        ];
        assert_eq!(slots(&code), [(27, 2, true)]);
    }

    #[test]
    fn what_ways_do_not_agree_on_is_not_known() {
        // mov (%rdi),%rax; test %esi,%esi; je 1f; mov (%rdx),%rcx; mov 8(%rcx),%rax; 1: call *%rax
        let code =
            [0x48, 0x8b, 0x07, 0x85, 0xf6, 0x74, 0x07, 0x48, 0x8b, 0x0a, 0x48, 0x8b, 0x41, 0x08, 0xff, 0xd0];
        assert_eq!(slots(&code), []);
        // gcc compares a function before it calls it: mov (%rdi),%rax; mov 8(%rax),%rax; cmp %rcx,%rax; jne 1f; ret; 1: call *%rax
        let code = [0x48, 0x8b, 0x07, 0x48, 0x8b, 0x40, 0x08, 0x48, 0x39, 0xc8, 0x75, 0x01, 0xc3, 0xff, 0xd0];
        assert_eq!(slots(&code), [(15, 1, true)]);
        // What is behind the last call is not read, also where it leads back. The word is the same in every way; that an
        // object holds the table is likely: mov (%rdi),%rax; 1: call *8(%rax); mov (%rdx),%rax; jmp 1b
        let code = [0x48, 0x8b, 0x07, 0xff, 0x50, 0x08, 0x48, 0x8b, 0x02, 0xeb, 0xf8];
        assert_eq!(slots(&code), [(6, 1, true)]);
    }

    #[test]
    fn calls_change_registers() {
        // mov (%rdi),%rax; call f; call *8(%rax)
        let code = [0x48, 0x8b, 0x07, 0xe8, 0, 0, 0, 0, 0xff, 0x50, 0x08];
        assert_eq!(slots(&code), [(11, 1, false)]);
    }

    #[test]
    fn a_call_of_a_thunk_is_a_call_through_its_register() {
        // mov (%rdi),%rax; mov 8(%rax),%r11; call 0x900
        let load = [0x48, 0x8b, 0x07, 0x4c, 0x8b, 0x58, 0x08];
        let call = |target: i32| [&load[..], &[0xe8], &(target - 0x100c).to_le_bytes()].concat();
        assert_eq!(slots(&call(0x900)), [(12, 1, true)]);
        // Another function; a thunk for an unknown register.
        assert_eq!((slots(&call(0x904)), slots(&call(0x940))), (vec![], vec![]));
        // A jump through a register may lead to the call: push %rax; jmp 0x900
        let jump = [&call(0x900)[..], &[0x50, 0xe9], &(0x900_i32 - 0x1012).to_le_bytes()].concat();
        assert_eq!(slots(&jump), []);
    }

    #[test]
    fn only_the_code_before_a_call_is_read() {
        // 06 is no instruction of x86-64. mov (%rdi),%rax; call *0x10(%rax)
        let code = [&[0x06][..], &[0x90; 199], &[0x48, 0x8b, 0x07, 0xff, 0x50, 0x10]].concat();
        let from = |offset: u64| of_x86(&code, &|_| 0x1000 + offset).len();
        assert_eq!((from(0), from(64)), (0, 1));
        // The call after bytes that are no instruction is read.
        let twice = [&code[..], &code[1..]].concat();
        let begins = |address: u64| if address < 0x1000 + 220 { 0x1000 } else { 0x1000 + 220 };
        assert_eq!(of_x86(&twice, &begins).len(), 1);
    }

    #[test]
    fn a_call_through_a_register_is_reached_in_every_way() {
        // test %esi,%esi; je 1f; mov (%rdi),%rax; mov 8(%rax),%rax; jmp 2f;
        // 1: mov (%rdi),%rax; mov 16(%rax),%rax; 2: call *%rax
        let code = [
            0x85, 0xf6, 0x74, 0x09, 0x48, 0x8b, 0x07, 0x48, 0x8b, 0x40, 0x08, 0xeb, 0x07, 0x48, 0x8b, 0x07,
            0x48, 0x8b, 0x40, 0x10, 0xff, 0xd0,
        ];
        let from = |offset: u64| of_x86(&code, &|_| 0x1000 + offset);
        assert_eq!((from(0), from(13)), (Vec::new(), Vec::new()));
        // The second way alone.
        assert_eq!(of_x86(&code[13..], &|_| 0).len(), 1);
    }

    #[test]
    fn the_rest_of_long_code_is_reported() {
        let code = |start, end| AddressRange::new(ImageAddr(start), ImageAddr(end));
        let of = |start, end| ReadPart::of(code(start, end), 0x40);
        assert_eq!(of(0x1000, 0x1040), ReadPart { code: code(0x1000, 0x1040), cut: None });
        assert_eq!(of(0x1000, 0x1041), ReadPart { code: code(0x1000, 0x1040), cut: Some(Cap::SlotCode) });
        let last = code(u64::MAX - 0x10, u64::MAX);
        assert_eq!(ReadPart::of(last, 0x40), ReadPart { code: last, cut: None });
    }

    #[test]
    fn too_many_jumps_over_a_place_are_reported() {
        // test %esi,%esi; je to a place behind the call, each to another one; mov (%rdi),%rax; mov 8(%rax),%rax; call *%rax
        let call = [0x48, 0x8b, 0x07, 0x48, 0x8b, 0x40, 0x08, 0xff, 0xd0];
        let of = |jumps: i32| {
            let mut code = vec![0x85, 0xf6];
            for _ in 0..jumps {
                code.extend([0x0f, 0x84]);
                // Each jump has 6 bytes, and its target is 5 before that of the next.
                code.extend((6 * jumps + 16 - code.len() as i32 / 6).to_le_bytes());
            }
            code.extend(call);
            code.extend(vec![0x90; 12 * jumps as usize]);
            X86Code { bytes: &code, start: 0x1000, wide: true, thunks: &RegisterThunks::default() }
                .calls(&|_| ImageAddr(0))
        };
        let few = of(MAX_JOINS as i32);
        assert_eq!((few.calls.len(), few.cut), (1, None));
        assert_eq!(of(MAX_JOINS as i32 + 1), SlotCalls { calls: Vec::new(), cut: Some(Cap::SlotJumps) });
    }
}
