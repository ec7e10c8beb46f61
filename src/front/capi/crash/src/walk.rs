//! Turns the registers of a thread into the addresses of its frames.
//!
//! Each module is asked for what it has: the section UNWIND of its `.fsym`, then its mapped `.eh_frame` by `.eh_frame_hdr`. Code
//! without either is left by its frame pointer, or, where the processor jumped to an address without code, by the return address.

use foldsym_expr::cfi::{self, Fde, FrameSection};
use foldsym_unwind::{Cfa, Frame, Process as _, Registers, Row, Rule, Saves, Step};

use crate::elf::{u32_at, u64_at};
use crate::memory::Memory;
use crate::modules::{MODULES, Module};
use crate::registers::{FRAME_POINTER, MACHINE, interrupted};
use crate::sys;

/// Frames that are kept: the innermost ones, and of a deeper stack the last.
pub(crate) const FRAMES: usize = 256;
/// Of these, the outermost ones of a deeper stack.
const OUTER: usize = 32;
const INNER: usize = FRAMES - OUTER;
/// Steps of a walk: a stack of 8 MiB has fewer frames of 16 bytes.
const STEPS: usize = 1 << 19;
/// Registers with a rule in a row of `.eh_frame`, and the states that it remembers.
const RULES: usize = if cfg!(target_arch = "x86_64") { 20 } else { 33 };
const REMEMBERED: usize = 3;
/// Frames of a walk that a word on the stack may give.
const SCANS: usize = 8;

/// How a frame was found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// It was running.
    Context,
    /// By call frame information.
    Cfi,
    /// By a frame pointer.
    FramePointer,
    /// By the return address of a call to where no code is.
    Returned,
    /// By a word on the stack that is an address behind a call.
    Scan,
}

/// A frame of the stack.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) address: u64,
    /// The address is where a call returns to.
    pub(crate) is_return: bool,
    pub(crate) how: How,
}

impl Entry {
    const NONE: Self = Entry { address: 0, is_return: false, how: How::Context };

    /// An address inside of the instruction that runs, or that called.
    pub(crate) const fn lookup(&self) -> u64 {
        self.address.wrapping_sub(self.is_return as u64)
    }
}

/// The frames of a stack.
pub(crate) struct Stack {
    entries: [Entry; FRAMES],
    /// How many frames the walk found.
    found: usize,
    /// The last of them, until the walk is over.
    current: Option<Frame>,
    /// Frames that a word on the stack may still give.
    scans: usize,
    /// The same for frames of code that no module of the table has, such as constructors of a library that is being loaded.
    scans_outside: usize,
}

impl Stack {
    pub(crate) const fn new() -> Self {
        Stack { entries: [Entry::NONE; FRAMES], found: 0, current: None, scans: 0, scans_outside: 0 }
    }

    pub(crate) fn clear(&mut self) {
        (self.found, self.current) = (0, None);
    }

    /// The last frames of a deep stack are kept in a ring behind the first.
    fn push(&mut self, entry: Entry) {
        let at = if self.found < INNER { self.found } else { INNER.wrapping_add(self.ring(self.found)) };
        if let Some(slot) = self.entries.get_mut(at) {
            *slot = entry;
        }
        self.found = self.found.wrapping_add(1);
    }

    const fn ring(&self, number: usize) -> usize {
        number.wrapping_sub(INNER) % OUTER
    }

    /// How many frames are kept.
    pub(crate) fn len(&self) -> usize {
        self.found.min(FRAMES)
    }

    /// Frames between the inner and the outer ones that are not kept.
    pub(crate) const fn left_out(&self) -> usize {
        self.found.saturating_sub(FRAMES)
    }

    /// The number of the frame that is kept at an index: there is a gap where frames are left out.
    pub(crate) const fn number(&self, index: usize) -> usize {
        if index < INNER { index } else { index.wrapping_add(self.left_out()) }
    }

    /// Whether frames are left out before that of this index.
    pub(crate) const fn is_after_gap(&self, index: usize) -> bool {
        index == INNER && self.left_out() > 0
    }

    pub(crate) fn get(&self, index: usize) -> Option<Entry> {
        if index >= self.len() {
            return None;
        }
        let at = if index < INNER { index } else { INNER.wrapping_add(self.ring(self.number(index))) };
        self.entries.get(at).copied()
    }

    /// Begins at these registers. `is_exact`: the first frame was running, and does not wait for a call.
    pub(crate) fn begin(&mut self, registers: Registers, is_exact: bool) {
        let frame = if is_exact { Frame::innermost(registers) } else { Frame::caller(registers) };
        (self.scans, self.scans_outside) = (SCANS, SCANS);
        self.push(Entry { address: frame.pc(), is_return: !is_exact, how: How::Context });
        self.current = Some(frame);
    }

    /// Walks on outwards. `with_rows`: by section UNWIND, too.
    pub(crate) fn walk(&mut self, memory: &mut Memory, deadline: u64, with_rows: bool) {
        while let Some(mut frame) = self.current {
            let how = step(&mut frame, memory, with_rows).or_else(|| {
                let is_outside = MODULES.find(frame.lookup_pc()).is_none();
                let left = if is_outside { &mut self.scans_outside } else { &mut self.scans };
                *left = left.checked_sub(1)?;
                scan(&mut frame, memory)
            });
            let is_late = self.found >= STEPS || (self.found % 64 == 63 && sys::now() > deadline);
            let Some(how) = how.filter(|_| !is_late) else {
                self.current = None;
                return;
            };
            // Behind code that can be walked stands what started the thread: a guess there is worth nothing.
            if how == How::Cfi && self.scans == SCANS {
                self.scans = 0;
            }
            self.push(Entry { address: frame.pc(), is_return: !frame.is_exact(), how });
            self.current = Some(frame);
        }
    }
}

/// Goes to the caller; `None` at the outermost frame, and where there is no way on.
fn step(frame: &mut Frame, memory: &mut Memory, with_rows: bool) -> Option<How> {
    let module = MODULES.find(frame.lookup_pc()).map(|(_, module)| module);
    if let Some(module) = module {
        if let Some(unwind) = module.unwind.as_ref().filter(|_| with_rows)
            && let Ok(step) = frame.step(unwind, module.bias, memory)
        {
            return (step == Step::Caller).then_some(How::Cfi);
        }
        match by_eh_frame(frame, module, memory) {
            Some(Step::Caller) => return Some(How::Cfi),
            Some(_) => return None,
            None => {}
        }
    }
    if let Some(registers) = interrupted(frame.registers(), |address, bytes| memory.copy(address, bytes)) {
        *frame = Frame::innermost(registers);
        return Some(How::Cfi);
    }
    if frame.is_exact() && !module.is_some_and(|module| module.has_code(frame.pc())) {
        return returned(frame, memory).or_else(|| by_frame_pointer(frame, memory));
    }
    by_frame_pointer(frame, memory)
}

/// The module's mapped `.eh_frame` and its entry for an address.
fn find_entry(
    module: &Module,
    memory: &mut Memory,
    pc: u64,
) -> Option<(FrameSection<'static>, Fde<'static>)> {
    let section =
        |bytes, address| FrameSection { bytes, eh: true, address, address_size: 8, big_endian: false };
    if module.eh_frame_hdr == 0 {
        let segment = module.segment(module.eh_frame.start)?;
        // SAFETY: a segment of a program that the linker gave no `.eh_frame_hdr`: of the program itself, which is never unloaded.
        let bytes = unsafe { segment.bytes(module.eh_frame.start) };
        let len = usize::try_from(module.eh_frame.end.checked_sub(module.eh_frame.start)?).ok()?;
        let section = section(bytes.get(..len)?, module.eh_frame.start);
        return Some((section, section.find(pc).ok()??));
    }
    let segment = module.segment(module.eh_frame_hdr)?;
    // Of a library that was unloaded since the table was filled nothing is left.
    memory.word(module.eh_frame_hdr)?;
    memory.word(segment.end.wrapping_sub(8) & !7)?;
    // SAFETY: a segment that the loader mapped, and of which both ends were just read.
    let header = unsafe { segment.bytes(module.eh_frame_hdr) };
    let (start, entry) = search(header, module.eh_frame_hdr, pc)?;
    let segment = module.segment(start)?;
    // SAFETY: as above; the segment is the same one with every linker, else its own pages.
    let bytes = unsafe { segment.bytes(start) };
    let section = section(bytes, start);
    Some((section, section.fde_at(entry.checked_sub(start)?)?.ok().filter(|fde| fde.covers(pc))?))
}

/// A step by the module's mapped `.eh_frame`.
fn by_eh_frame(frame: &mut Frame, module: &Module, memory: &mut Memory) -> Option<Step> {
    let pc = frame.lookup_pc();
    let (section, fde) = find_entry(module, memory, pc)?;
    let found: cfi::Row<'_, RULES> = section.row::<RULES, REMEMBERED>(&fde, pc).ok()?;
    let cfa = match found.cfa {
        cfi::Cfa::Register { register, offset, space: 0 } => Cfa::Register { register, offset },
        cfi::Cfa::Expression(bytes) => Cfa::Expression(bytes),
        _ => return None,
    };
    let mut saves = Saves::new();
    for register in 0..=MACHINE.program_counter() {
        if let Some(rule) = found.rule(register) {
            saves.push(register, plain(rule))?;
        }
    }
    let row = Row::new(cfa, fde.cie.return_register, fde.is_signal(), &saves);
    frame.step_by(&row, memory).ok()
}

const fn plain(rule: cfi::Rule<'_>) -> Rule<'_> {
    match rule {
        cfi::Rule::Undefined => Rule::Undefined,
        cfi::Rule::SameValue => Rule::SameValue,
        cfi::Rule::Offset(offset) => Rule::Offset(offset),
        cfi::Rule::ValueOffset(offset) => Rule::ValueOffset(offset),
        cfi::Rule::Register(other) => Rule::Register(other),
        cfi::Rule::Expression(bytes) => Rule::Expression(bytes),
        cfi::Rule::ValueExpression(bytes) => Rule::ValueExpression(bytes),
    }
}

/// Where `.eh_frame` is, and the entry that may cover an address, by the table of `.eh_frame_hdr` (LSB Core 10.6.2). Linkers write
/// its fields as signed distances of 4 bytes.
fn search(header: &[u8], at: u64, pc: u64) -> Option<(u64, u64)> {
    const SDATA4_PC: u8 = 0x1b;
    const UDATA4: u8 = 0x03;
    const SDATA4_TABLE: u8 = 0x3b;
    if header.get(..4)? != [1, SDATA4_PC, UDATA4, SDATA4_TABLE] {
        return None;
    }
    let distance = |place: usize| u32_at(header, place).map(|word| i64::from(word.cast_signed()));
    let start = at.wrapping_add(4).wrapping_add_signed(distance(4)?);
    let (mut low, mut high) = (0u64, u64::from(u32_at(header, 8)?));
    // The last entry that begins at or before the address.
    while low < high {
        let middle = low.wrapping_add(high) / 2;
        let begins =
            at.wrapping_add_signed(distance(usize::try_from(middle.checked_mul(8)?.checked_add(12)?).ok()?)?);
        if begins <= pc { low = middle.wrapping_add(1) } else { high = middle }
    }
    let place = usize::try_from(low.checked_sub(1)?.checked_mul(8)?.checked_add(16)?).ok()?;
    u64_at(header, place.checked_sub(4)?)?;
    Some((start, at.wrapping_add_signed(distance(place)?)))
}

/// The caller of a jump to where no code is: a call has just pushed where it returns to.
fn returned(frame: &mut Frame, memory: &mut Memory) -> Option<How> {
    let mut registers = *frame.registers();
    let sp = registers.get(MACHINE.stack_pointer())?;
    let address = if cfg!(target_arch = "x86_64") {
        registers.set(MACHINE.stack_pointer(), sp.wrapping_add(8));
        memory.word(sp)?
    } else {
        const LINK: u64 = 30;
        registers.get(LINK)?
    };
    let address = memory.strip(address);
    if address == frame.pc() || !MODULES.has_code(address.wrapping_sub(1)) {
        return None;
    }
    registers.set(MACHINE.program_counter(), address);
    *frame = Frame::caller(registers);
    Some(How::Returned)
}

/// The caller by a frame pointer: two words, its own frame pointer and the return address.
fn by_frame_pointer(frame: &mut Frame, memory: &mut Memory) -> Option<How> {
    let mut registers = *frame.registers();
    let (sp, pointer) = (registers.get(MACHINE.stack_pointer())?, registers.get(FRAME_POINTER)?);
    if pointer < sp || !pointer.is_multiple_of(8) {
        return None;
    }
    let (next, address) = (memory.word(pointer)?, memory.word(pointer.wrapping_add(8))?);
    let address = memory.strip(address);
    // Code that no module has (of a just-in-time compiler) may be called by such code.
    let is_code = MODULES.has_code(address.wrapping_sub(1)) || MODULES.find(frame.lookup_pc()).is_none();
    if !is_code || address == 0 || (next != 0 && next <= pointer) {
        return None;
    }
    registers.set(MACHINE.stack_pointer(), pointer.wrapping_add(16));
    registers.set(FRAME_POINTER, next);
    registers.set(MACHINE.program_counter(), address);
    *frame = Frame::caller(registers);
    Some(How::FramePointer)
}

/// The caller by the stack alone, for code that is built without any means to walk it (musl's): the first word that is an address
/// behind a call.
fn scan(frame: &mut Frame, memory: &mut Memory) -> Option<How> {
    /// Words that are looked at: more than a frame of such code has.
    const WORDS: u64 = 512;
    let mut registers = *frame.registers();
    let mut at = registers.get(MACHINE.stack_pointer())?.checked_next_multiple_of(8)?;
    for _ in 0..WORDS {
        let address = memory.word(at)?;
        let address = memory.strip(address);
        at = at.wrapping_add(8);
        if MODULES.has_code(address.wrapping_sub(1)) && is_behind_call(address, memory) {
            registers.set(MACHINE.stack_pointer(), at);
            registers.set(MACHINE.program_counter(), address);
            *frame = Frame::caller(registers);
            return Some(How::Scan);
        }
    }
    None
}

/// Whether the instruction before an address is a call.
fn is_behind_call(address: u64, memory: &mut Memory) -> bool {
    let mut code = [0u8; 8];
    if memory.copy(address.wrapping_sub(8), &mut code).is_none() {
        return false;
    }
    if cfg!(target_arch = "aarch64") {
        let [.., a, b, c, d] = code;
        let word = u32::from_le_bytes([a, b, c, d]);
        // BL, BLR.
        return word.wrapping_shr(26) == 0b10_0101 || word & 0xffff_fc1f == 0xd63f_0000;
    }
    // `call rel32`; `call r/m64` of 2 to 7 bytes: opcode ff, and 2 in the middle of the byte behind.
    let is_indirect = |pair: &[u8]| matches!(pair, [0xff, modrm] if modrm.wrapping_shr(3) & 7 == 2);
    code.get(3) == Some(&0xe8) || code.windows(2).skip(1).any(is_indirect)
}
