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
//! another word in the register. So a function with such a call is read whole, from its start.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions,
    Mnemonic, OpAccess, OpKind, Register,
};

use super::inst::{Goal, Op, Place};
use super::reader::{Machine, Processor};
use super::run::{InstRun, Mode};

/// A call through a word of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotCall {
    pub(crate) return_addr: u64,
    pub(crate) slot: u16,
    /// The code loads the table's address from the first word of an object.
    pub(crate) by_object: bool,
    /// The word depends on the value of a register, and not only on the instruction.
    by_register: bool,
}

/// The value of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Unknown,
    /// The address of a place in the frame.
    Frame,
    /// The value at an offset from a pointer, and whether the pointer was the first word of an object.
    Loaded(i32, bool),
    /// A loaded pointer plus a number, and whether the pointer was the first word of an object.
    Inside(i32, bool),
}

/// General registers that are followed.
const REGISTERS: usize = 32;

type State = [Held; REGISTERS];

/// Targets of forward jumps that are kept until the code is read up to them; a function with more gives no slot.
const MAX_JOINS: usize = 512;

/// Bytes read of one function; the rest is left out.
const MAX_CODE: u64 = 1 << 20;

/// Bytes read before a call at least: the code that loads the object, the arguments and the table's address.
const BEFORE_CALL: u64 = 96;

impl Held {
    /// The value loaded from offset `by` of this value.
    fn load(self, by: i64) -> Held {
        let Ok(by) = i32::try_from(by) else { return Held::Unknown };
        match self {
            Held::Frame => Held::Unknown,
            Held::Unknown => Held::Loaded(by, false),
            Held::Loaded(at, _) => Held::Loaded(by, at == 0),
            Held::Inside(from, first) => Held::Loaded(from.saturating_add(by), first),
        }
    }

    fn add(self, by: i64) -> Held {
        let Ok(by) = i32::try_from(by) else { return Held::Unknown };
        match self {
            Held::Frame => Held::Frame,
            Held::Loaded(at, _) => Held::Inside(by, at == 0),
            Held::Inside(from, first) => Held::Inside(from.saturating_add(by), first),
            Held::Unknown => Held::Unknown,
        }
    }

    /// The word that a call of this value goes through.
    fn called(self, width: i32) -> Option<(u16, bool)> {
        let Held::Loaded(at, by_object) = self else { return None };
        let whole = at >= 0 && at % width == 0;
        Some((u16::try_from(at / width).ok().filter(|slot| whole && *slot < u16::MAX)?, by_object))
    }
}

/// The effect of one instruction, in the terms of this file.
enum Effect {
    /// Changes these registers to unknown values, one bit each.
    Forget(u32),
    Set(usize, Held),
    Jump {
        to: Option<u64>,
        /// Does not continue at the next instruction.
        ends: bool,
    },
    /// A call of this value, if it is indirect, and whether it goes through a register.
    Call(Option<Held>, bool),
}

/// Follows registers along the code of one function.
struct Follower {
    state: State,
    /// The values of registers at the targets of forward jumps.
    joins: BTreeMap<u64, State>,
    /// The code before does not continue here.
    ended: bool,
    /// Callee-saved registers.
    kept: u32,
    /// The frame pointer.
    frame: usize,
    /// Values that are known everywhere.
    start: State,
    found: Vec<SlotCall>,
    gave_up: bool,
    width: i32,
    /// There was a backward jump: the state at its target was unknown.
    back: Vec<u64>,
}

impl Follower {
    fn new([stack, frame]: [usize; 2], kept: u32, width: i32, mut back: Vec<u64>) -> Self {
        let mut start = [Held::Unknown; REGISTERS];
        start[stack] = Held::Frame;
        back.sort_unstable();
        Follower {
            state: start,
            joins: BTreeMap::new(),
            ended: false,
            kept,
            frame,
            start,
            found: Vec::new(),
            gave_up: false,
            width,
            back,
        }
    }

    fn calls(self) -> Vec<SlotCall> {
        if self.gave_up { Vec::new() } else { self.found }
    }

    /// Resumes at a place with no known values.
    fn begin(&mut self) {
        self.state = self.start;
        self.joins.clear();
        self.ended = false;
    }

    /// Resumes at the start of an instruction.
    fn arrive(&mut self, address: u64) {
        while let Some(join) = self.joins.first_entry().filter(|join| *join.key() <= address) {
            let (place, state) = join.remove_entry();
            if place == address {
                self.state = if self.ended { state } else { agreed(&self.state, &state) };
                self.ended = false;
            }
        }
        if self.ended || self.back.binary_search(&address).is_ok() {
            self.state = self.start;
            self.ended = false;
        }
    }

    fn take(&mut self, step: Effect, address: u64, next: u64) {
        match step {
            Effect::Forget(registers) => self.forget(registers),
            Effect::Set(register, held) => {
                // The frame pointer keeps its value once it is set.
                if register == self.frame && held == Held::Frame {
                    self.start[register] = held;
                }
                self.state[register] = held;
            }
            Effect::Jump { to, ends } => {
                if let Some(to) = to.filter(|to| *to > address) {
                    self.join(to);
                }
                self.ended = ends;
            }
            Effect::Call(held, by_register) => {
                if let Some((slot, by_object)) = held.and_then(|held| held.called(self.width)) {
                    self.found.push(SlotCall { return_addr: next, slot, by_object, by_register });
                }
                self.forget(!self.kept);
            }
        }
    }

    /// Merges the current values into the state at the target of a jump.
    fn join(&mut self, to: u64) {
        if self.joins.len() >= MAX_JOINS {
            self.gave_up = true;
            return;
        }
        match self.joins.entry(to) {
            Entry::Occupied(mut known) => *known.get_mut() = agreed(known.get(), &self.state),
            Entry::Vacant(place) => _ = place.insert(self.state),
        }
    }

    fn forget(&mut self, registers: u32) {
        let mut left = registers;
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            // Values that are known everywhere remain known.
            self.state[number] = self.start[number];
        }
    }
}

fn agreed(one: &State, other: &State) -> State {
    std::array::from_fn(|at| if one[at] == other[at] { one[at] } else { Held::Unknown })
}

impl Machine<'_, '_> {
    /// The calls of `start..end` that go through a word of a table; `start` begins a function. None if the code is
    /// missing or not supported. `begins` returns the last known start of an instruction that is not after an
    /// address.
    pub(crate) fn slot_calls(&self, start: u64, end: u64, begins: &dyn Fn(u64) -> u64) -> Vec<SlotCall> {
        let end = end.min(start.saturating_add(MAX_CODE));
        match self.processor {
            Some(Processor::X86 { wide }) => match self.bytes(start, end) {
                Some(bytes) => of_x86(bytes, start, wide, begins),
                _ => Vec::new(),
            },
            Some(Processor::AArch64) => self.runs(start, end).map_or_else(Vec::new, |runs| of_runs(&runs)),
            _ => Vec::new(),
        }
    }
}

/// The places where bytes may be `FF /2`, a call through a register or memory, except calls through an absolute or
/// relative address (`FF 15`).
fn indirect_calls(bytes: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memchr_iter(0xff, bytes)
        .filter(|at| bytes.get(at + 1).is_some_and(|next| next >> 3 & 7 == 2 && *next != 0x15))
}

fn general(register: Register) -> Option<usize> {
    let whole = register.is_gpr32() || register.is_gpr64();
    whole.then(|| register.full_register().number() & 15)
}

/// Callee-saved: RBX, RBP, RSP, R12 to R15; on i386 EBX, EBP, ESP, ESI, EDI.
const fn kept(wide: bool) -> u32 {
    if wide { 1 << 3 | 1 << 4 | 1 << 5 | 0xf << 12 } else { 0xf8 }
}

fn of_x86(bytes: &[u8], start: u64, wide: bool, begins: &dyn Fn(u64) -> u64) -> Vec<SlotCall> {
    let bits = if wide { 64 } else { 32 };
    let mut decoder = Decoder::with_ip(bits, bytes, start, DecoderOptions::NONE);
    let mut follower = Follower::new([4, 5], kept(wide), if wide { 8 } else { 4 }, Vec::new());
    let mut info = InstructionInfoFactory::new();
    let mut now = Instruction::default();
    // The next place after bytes that are no instruction: the code before it was read or cannot be read.
    let mut unread = Some(start);
    for at in indirect_calls(bytes) {
        let call = start + at as u64;
        let from = begins(call.saturating_sub(BEFORE_CALL)).clamp(start, call);
        if unread.is_some_and(|unread| from < unread) {
            continue;
        }
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
            let step = x86_step(&now, &follower.state, wide, &mut info);
            follower.take(step, now.ip(), now.next_ip());
        }
    }
    let mut found = follower.calls();
    if found.iter().any(|call| call.by_register && call.by_object) {
        return of_whole_x86(bytes, start, wide);
    }
    found.retain(|call| !call.by_register);
    found
}

/// The same for a function that is read whole.
fn of_whole_x86(bytes: &[u8], start: u64, wide: bool) -> Vec<SlotCall> {
    let bits = if wide { 64 } else { 32 };
    let (mut back, mut indirect, mut last_call) = (Vec::new(), false, None);
    for now in &mut Decoder::with_ip(bits, bytes, start, DecoderOptions::NONE) {
        match now.flow_control() {
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                back.extend(Some(now.near_branch_target()).filter(|to| *to <= now.ip()));
            }
            FlowControl::IndirectBranch => indirect = true,
            FlowControl::IndirectCall if !now.is_ip_rel_memory_operand() => last_call = Some(now.ip()),
            _ if now.is_invalid() => return Vec::new(),
            _ => {}
        }
    }
    let Some(last_call) = last_call else { return Vec::new() };
    let mut follower = Follower::new([4, 5], kept(wide), if wide { 8 } else { 4 }, back);
    let mut info = InstructionInfoFactory::new();
    for now in &mut Decoder::with_ip(bits, bytes, start, DecoderOptions::NONE) {
        if now.ip() > last_call {
            break;
        }
        follower.arrive(now.ip());
        if indirect {
            follower.state = follower.start;
        }
        let step = x86_step(&now, &follower.state, wide, &mut info);
        follower.take(step, now.ip(), now.next_ip());
    }
    follower.calls()
}

/// The value loaded from a place in memory.
fn x86_load(now: &Instruction, state: &State, wide: bool) -> Held {
    let unindexed = now.memory_index() == Register::None && !now.has_segment_prefix();
    match general(now.memory_base()).filter(|_| unindexed && !now.is_ip_rel_memory_operand()) {
        Some(base) => {
            let by = now.memory_displacement64();
            let by = if wide { by.cast_signed() } else { i64::from((by as u32).cast_signed()) };
            state[base].load(by)
        }
        None => Held::Unknown,
    }
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
                    return Effect::Set(to, state[base].add(now.memory_displacement64().cast_signed()));
                }
            }
            (Mnemonic::Add | Mnemonic::Sub, kind) if !matches!(kind, OpKind::Register | OpKind::Memory) => {
                let by = now.immediate(1).cast_signed();
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

fn of_runs(runs: &[InstRun<'_>]) -> Vec<SlotCall> {
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
        return Vec::new();
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
                    // `inst` does not distinguish conditional jumps: the code after one may be reached from it.
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

    /// `(offset of the return address, slot, by_object)` of code.
    fn slots(bytes: &[u8]) -> Vec<(u64, u16, bool)> {
        of_x86(bytes, 0x1000, true, &|_| 0)
            .into_iter()
            .map(|call| (call.return_addr - 0x1000, call.slot, call.by_object))
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
    fn only_the_code_before_a_call_is_read() {
        // 06 is no instruction of x86-64. mov (%rdi),%rax; call *0x10(%rax)
        let code = [&[0x06][..], &[0x90; 199], &[0x48, 0x8b, 0x07, 0xff, 0x50, 0x10]].concat();
        let from = |offset: u64| of_x86(&code, 0x1000, true, &|_| 0x1000 + offset).len();
        assert_eq!((from(0), from(64)), (0, 1));
        // The call after bytes that are no instruction is read.
        let twice = [&code[..], &code[1..]].concat();
        let begins = |address: u64| if address < 0x1000 + 220 { 0x1000 } else { 0x1000 + 220 };
        assert_eq!(of_x86(&twice, 0x1000, true, &begins).len(), 1);
    }

    #[test]
    fn a_call_through_a_register_is_reached_in_every_way() {
        // test %esi,%esi; je 1f; mov (%rdi),%rax; mov 8(%rax),%rax; jmp 2f;
        // 1: mov (%rdi),%rax; mov 16(%rax),%rax; 2: call *%rax
        let code = [
            0x85, 0xf6, 0x74, 0x09, 0x48, 0x8b, 0x07, 0x48, 0x8b, 0x40, 0x08, 0xeb, 0x07, 0x48, 0x8b, 0x07,
            0x48, 0x8b, 0x40, 0x10, 0xff, 0xd0,
        ];
        let from = |offset: u64| of_x86(&code, 0x1000, true, &|_| 0x1000 + offset);
        assert_eq!((from(0), from(13)), (Vec::new(), Vec::new()));
        // The second way alone.
        assert_eq!(of_x86(&code[13..], 0x1000, true, &|_| 0).len(), 1);
    }
}
