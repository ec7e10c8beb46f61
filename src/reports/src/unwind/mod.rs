//! Walks stacks. A caller is found by the section UNWIND of a `.fsym` that the engine finds, or by the call frame information of a
//! program on this machine; else by the frame pointer; else by scanning the stack for possible return addresses. The last two methods are
//! those of `minidump-unwind`.
//!
//! `minidump-unwind` reads one range of memory, and assumes that every caller's address is inside a call. So a walk is divided into parts.
//! A part ends at a frame that a signal made, or whose caller is on another stack; the next part begins with that caller's registers.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{self, Waker};

use foldsym_symbolize::{AddressKind, Mapping, ReportedAddress, Stack, StackFrame, Symbolizer, Unknown};
use minidump::system_info::Cpu;
use minidump::{MinidumpContext, MinidumpMemory, MinidumpModuleList, Module, UnifiedMemory};
use minidump_unwind::{
    CallStack, FileError, FileKind, FillSymbolError, FrameSymbolizer, FrameWalker, SymbolProvider, SystemInfo,
};

use crate::{MAX_FRAMES, MAX_NAME, Options, Trust, cut};

mod process;
mod program;
mod ranges;
mod registers;
mod rows;
mod signal;
mod sources;
mod walked;

pub(crate) use process::{Process, Range};
use program::{Caller, ThreadState};
use ranges::{MAX_MORE, address_bits, ranges};
pub(crate) use registers::known;
use registers::names;
use signal::Signals;
pub(crate) use sources::Programs;
use sources::{FoundSource, Source, lock};
pub(crate) use walked::Walked;
use walked::trust_of;

/// Bytes of a stack that one part of a walk reads, from the stack pointer on: each frame takes some kilobytes until the part is done.
pub(crate) const MAX_STACK: usize = 1 << 20;
/// Bytes that `minidump-unwind` keeps for each frame of a part, and most frames of one.
const FRAME: u64 = 4 << 10;
const MAX_PART: usize = 1 << 15;
/// Words of stacks that are looked up for a scan, for each frame that a report may have: threads may share a stack.
const SCANS_A_FRAME: usize = 4;
/// The smallest frame: a return address.
const MIN_FRAME: usize = 8;
/// Most frames that the stacks of a small report may have together.
const MIN_FRAMES: usize = 1 << 16;
/// Most parts of a walk: a stack that leads to itself would have any number.
const MAX_PARTS: usize = 64;
/// Most modules that warnings name.
const MAX_TOLD: usize = 20;
/// Most bytes between a stack pointer and the memory above it that counts as its stack: one frame may be large.
const MAX_OUTSIDE: u64 = 64 << 20;
/// The bytes below its stack pointer that a leaf function may use.
const RED_ZONE: u64 = 128;
/// By module: its unwind rules.
type Sources = HashMap<usize, FoundSource>;
/// Unwind rules, and the load bias of their module.
type Biased = (Arc<Source>, u64);

/// Walks the stacks of a process.
pub(crate) struct Walker<'w> {
    symbolizer: &'w Symbolizer,
    programs: &'w Programs,
    process: Process<'w>,
    /// The modules' ranges. Each frame that `minidump-unwind` finds has a copy of its module, so they have no names here.
    list: MinidumpModuleList,
    /// The first module that has code above its ranges in `list`.
    too_large: Option<usize>,
    /// The bits of an address: on AArch64 without those of pointer authentication codes.
    address_bits: u64,
    is_wanted: &'w (dyn Fn() -> bool + Sync),
    registers: bool,
    /// Most frames that the stacks may have together, and how many of them are left.
    frames: usize,
    left: AtomicUsize,
    /// Most frames of one part of a walk.
    part: usize,
    /// Words that may still be looked up for a scan.
    scans: AtomicUsize,
    /// If the file of a module cannot be found, it is searched once per report, not once per scanned word.
    sources: Mutex<Sources>,
    /// Modules without unwind rules.
    without_rows: Mutex<BTreeSet<usize>>,
    /// Whether a frame had a processor whose call frame information is not read.
    is_unread: AtomicBool,
    /// The frames at which signals changed the stack.
    signals: Signals,
}

/// A frame at which a part of a walk begins.
struct Start {
    context: MinidumpContext,
    trust: Trust,
    kind: AddressKind,
    /// A signal interrupted the frame: the frame before it returns from the handler.
    is_interrupted: bool,
    /// The part before has as many frames as a part may have.
    is_after_full: bool,
}

impl<'w> Walker<'w> {
    /// A walker of the stacks of a report. The number of frames is bounded by the report's size in bytes, even if many threads share one
    /// stack.
    pub(crate) fn new(
        process: Process<'w>,
        (symbolizer, programs): (&'w Symbolizer, &'w Programs),
        (options, is_wanted): (&Options, &'w (dyn Fn() -> bool + Sync)),
        bytes: usize,
    ) -> Self {
        let (list, too_large) = ranges(process.modules);
        let address_bits = if matches!(process.cpu, Cpu::Arm64) { address_bits(&list) } else { u64::MAX };
        let frames = (bytes / MIN_FRAME).max(MIN_FRAMES);
        Self {
            symbolizer,
            programs,
            process,
            list,
            too_large,
            address_bits,
            is_wanted,
            registers: options.registers,
            frames,
            left: AtomicUsize::new(frames),
            part: options
                .memory
                .map_or(MAX_PART, |memory| (memory / 2 / FRAME).clamp(256, MAX_PART as u64) as usize),
            scans: AtomicUsize::new(frames.saturating_mul(SCANS_A_FRAME)),
            sources: Mutex::default(),
            without_rows: Mutex::default(),
            is_unread: AtomicBool::new(false),
            signals: Signals::default(),
        }
    }

    /// Has a module unwound by the program in the report's own memory that begins with these bytes.
    pub(crate) fn add_image(&self, module: usize, bytes: &[u8]) {
        let program = program::Program::of_image(bytes);
        if let Some(source) = program.and_then(|program| self.programs.counted(program)) {
            lock(&self.sources).insert(module, Some(Arc::new(source)));
        }
    }

    /// Walks a stack from its registers. `memory` contains its start; `own` is the stack that the report gives for the thread, if it does.
    pub(crate) fn walk(
        &self,
        context: &MinidumpContext,
        mut memory: Option<Range<'w>>,
        own: Option<Range<'w>>,
    ) -> Walked {
        let mut walked = Walked::new(self.registers);
        let mut start = Start {
            context: context.clone(),
            trust: Trust::Context,
            kind: AddressKind::Exact,
            is_interrupted: false,
            is_after_full: false,
        };
        let mut parts = 0;
        while parts < MAX_PARTS {
            let layout = self.trampoline(start.context.get_instruction_pointer());
            let next = match layout {
                Some(layout) => self.leave_signal(&start, layout, &mut walked),
                None => {
                    let memory = self.stack_of(&start, (memory, own), &mut walked);
                    self.part(&start, memory, &mut walked)
                }
            };
            let Some(next) = next else { return walked };
            if walked.frames.len() >= MAX_FRAMES {
                break;
            }
            // A part that was full leads on by its frames, whose number is bounded.
            parts += usize::from(!next.is_after_full);
            memory = (self.process.memory)(next.context.get_stack_pointer());
            start = next;
        }
        walked.is_cut = true;
        walked
    }

    /// The memory of the stack of a frame. After an overflow the stack pointer is below the memory of its stack.
    fn stack_of(
        &self,
        start: &Start,
        (given, own): (Option<Range<'w>>, Option<Range<'w>>),
        walked: &mut Walked,
    ) -> Option<Range<'w>> {
        let pointer = start.context.get_stack_pointer();
        let is_near = |(start, _): &Range<'w>| *start > pointer && start - pointer <= MAX_OUTSIDE;
        let [given, own] = [given, own].map(|range| range.filter(|(_, bytes)| !bytes.is_empty()));
        let memory = given.or(own.filter(is_near)).or_else(|| (self.process.above)(pointer).filter(is_near));
        match memory {
            Some((base, _)) if pointer < base => _ = walked.outside.get_or_insert((pointer, base)),
            Some((base, bytes)) if pointer - base < bytes.len() as u64 => {}
            _ => walked.missing = Some(pointer),
        }
        memory
    }

    /// Puts the frame of a trampoline; returns the frame that the signal interrupted.
    fn leave_signal(&self, start: &Start, layout: signal::Layout, walked: &mut Walked) -> Option<Start> {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 || !(self.is_wanted)() {
            return None;
        }
        let place = ReportedAddress::Memory(start.context.get_instruction_pointer());
        walked.push(StackFrame { place, kind: AddressKind::Exact }, start.trust, &start.context);
        walked.signals.push(walked.frames.len() - 1);
        walked.is_cut = false;
        match signal::interrupted(layout, start.context.get_stack_pointer(), &self.process) {
            Ok(context) => Some(Start {
                context,
                trust: Trust::Cfi,
                kind: AddressKind::Exact,
                is_interrupted: false,
                is_after_full: false,
            }),
            Err(missing) => {
                walked.missing = Some(missing);
                None
            }
        }
    }

    fn trampoline(&self, address: u64) -> Option<signal::Layout> {
        self.signals.trampoline(address, &self.process, self.symbolizer)
    }

    /// The first frame of a part, except its first one, that returns from a signal handler, or that a signal handler made call a function of
    /// Go's runtime. The next part begins there, by an exact address.
    fn first_exact(&self, frames: &[minidump_unwind::StackFrame]) -> Option<usize> {
        let is_exact = |pair: &[minidump_unwind::StackFrame]| match pair {
            [callee, frame] => {
                self.trampoline(frame.resume_address).is_some()
                    || self.signals.is_injected(callee.instruction, &self.process, self.symbolizer)
            }
            _ => false,
        };
        frames.windows(2).position(is_exact).map(|callee| callee + 1)
    }

    /// The memory of a stack from a frame on, at most a number of bytes.
    fn part_of(
        &self,
        start: &Start,
        (base, bytes): Range<'w>,
        most: usize,
        walked: &mut Walked,
    ) -> Option<MinidumpMemory<'w>> {
        // A leaf function of x86-64 may keep registers in the red zone (psABI 3.2.2), and its rows refer to them.
        let from = start.context.get_stack_pointer().saturating_sub(RED_ZONE);
        let skip = usize::try_from(from.saturating_sub(base)).ok()?;
        let bytes = bytes.get(skip..)?;
        walked.is_cut = bytes.len() > most;
        let bytes = &bytes[..bytes.len().min(most)];
        let base_address = base.checked_add(skip as u64)?;
        let (size, endian) = (bytes.len() as u64, self.process.endian);
        (size > 0).then_some(MinidumpMemory { desc: Default::default(), base_address, size, bytes, endian })
    }

    /// Walks one part of a stack; returns the start of the next one, if there is one.
    fn part(&self, start: &Start, memory: Option<Range<'w>>, walked: &mut Walked) -> Option<Start> {
        let left = self.left.load(Ordering::Relaxed);
        let most = left.saturating_mul(MIN_FRAME).min(MAX_STACK);
        walked.is_cut = false;
        let base = memory.map_or(0, |(base, _)| base);
        let memory = memory.and_then(|memory| self.part_of(start, memory, most, walked));
        let info = SystemInfo {
            os: self.process.os,
            os_version: None,
            os_build: None,
            cpu: self.process.cpu,
            cpu_info: None,
            cpu_microcode_version: None,
            cpu_count: 1,
        };
        let end = memory.as_ref().map_or(0, |memory| memory.base_address.saturating_add(memory.size));
        let base_of_walk = memory.as_ref().map_or(0, |memory| memory.base_address);
        let provider = Provider {
            walker: self,
            stack: base..end,
            left: AtomicUsize::new(left.min(self.part)),
            next: Mutex::default(),
            is_without_scan: AtomicBool::new(false),
            is_outermost: AtomicBool::new(false),
            missing: AtomicU64::new(0),
        };
        // `minidump-unwind` takes the address of the first frame as exact. This frame may be at a return address. The row of
        // the call before that address applies.
        let mut stack = CallStack::with_context(start.context.clone());
        if let (AddressKind::Return, Some(first)) = (start.kind, stack.frames.first_mut()) {
            first.instruction = first.instruction.saturating_sub(1);
        }
        let memory = memory.as_ref().map(UnifiedMemory::Memory);
        run(minidump_unwind::walk_stack(0, (), &mut stack, memory, &self.list, &info, &provider));
        let mut next = lock(&provider.next).take();
        // If only the part has no frames left, its last frame begins the next one.
        let is_full = next.is_none() && left > self.part && provider.left.load(Ordering::Relaxed) == 0;
        if is_full
            && stack.frames.len() > 1
            && let Some(last) = stack.frames.pop()
        {
            let (kind, trust) = (AddressKind::Return, trust_of(last.trust));
            next = Some(Start {
                context: last.context,
                trust,
                kind,
                is_interrupted: false,
                is_after_full: true,
            });
        }
        // One thread walks at a time, so a load and a store suffice. It is an atomic because `walk_stack` needs a provider that is `Sync`.
        self.left.store(left.saturating_sub(stack.frames.len()), Ordering::Relaxed);
        if let Some(at) = self.first_exact(&stack.frames) {
            // What lies behind this frame was found as if it had made a call.
            let frame = stack.frames.drain(at..).next();
            next = frame.map(|frame| Start {
                trust: trust_of(frame.trust),
                context: frame.context,
                kind: AddressKind::Exact,
                is_interrupted: false,
                is_after_full: false,
            });
        }
        let missing = provider.missing.load(Ordering::Relaxed);
        if next.is_none() && missing != 0 && walked.missing.is_none() {
            walked.missing = Some(missing);
        }
        // A walk that ended far from the end of the memory that was read was not cut.
        let last = stack.frames.last().map_or(0, |frame| frame.context.get_stack_pointer());
        let is_near_end = end.saturating_sub(last) <= (end - base_of_walk) / 8;
        walked.is_cut &= is_near_end && !provider.is_outermost.load(Ordering::Relaxed);
        walked.is_cut |= provider.left.load(Ordering::Relaxed) == 0;
        // A function of the C library that the rows call a signal frame begins at the address to which a handler returns.
        let interrupts = next.as_ref().is_some_and(|next| next.is_interrupted);
        let signal = stack.frames.len().checked_sub(1).filter(|_| interrupts);
        for (index, frame) in stack.frames.iter().enumerate() {
            // `instruction` is already inside of the call. The engine finds call keys by the return address itself.
            let place = ReportedAddress::Memory(frame.resume_address);
            let (kind, trust) = match index {
                0 => (start.kind, start.trust),
                _ => (AddressKind::Return, trust_of(frame.trust)),
            };
            let kind = if signal == Some(index) { AddressKind::Exact } else { kind };
            walked.push(StackFrame { place, kind }, trust, &frame.context);
        }
        walked.signals.extend(signal.map(|_| walked.frames.len() - 1));
        next
    }

    /// What was lost in all walks, one sentence each.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.left.load(Ordering::Relaxed) == 0 {
            warnings.push(format!(
                "the walks ended early: a report of this size has at most {} frames",
                self.frames
            ));
        }
        if self.scans.load(Ordering::Relaxed) == 0 {
            warnings.push("the walks ended early: too many words of stacks were scanned".to_owned());
        }
        if let Some(module) = self.too_large.and_then(|index| self.process.modules.get(index)) {
            warnings.push(format!(
                "{}: is larger than the {MAX_MORE} ranges of 4 GiB that large modules have together, so callers of its code above them are guessed",
                cut(&module.name, MAX_NAME)
            ));
        }
        if self.is_unread.load(Ordering::Relaxed) {
            warnings.push(format!(
                "call frame information is not read for the processor {}, so callers of frames are guessed",
                self.process.cpu
            ));
        }
        let without = lock(&self.without_rows);
        for module in without.iter().take(MAX_TOLD).filter_map(|index| self.process.modules.get(*index)) {
            let name = cut(&module.name, MAX_NAME);
            // A module whose file is missing, or is of another build, needs that first.
            let why = match self.symbolizer.file_of(module) {
                Ok(_) => "convert it with --unwind".to_owned(),
                Err(why) => why.to_string(),
            };
            warnings.push(format!(
                "no call frame information for {name}, so callers of its frames are guessed: {why}"
            ));
        }
        if without.len() > MAX_TOLD {
            warnings.push(format!("no call frame information for {} more modules", without.len() - MAX_TOLD));
        }
        warnings
    }
}

/// Runs a future that is never pending.
fn run(future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    let mut context = task::Context::from_waker(Waker::noop());
    if future.as_mut().poll(&mut context).is_pending() {
        debug_assert!(false, "nothing here waits");
    }
}

/// Answers `minidump-unwind` in one part of a walk.
struct Provider<'p, 'w> {
    walker: &'p Walker<'w>,
    /// The range in which a caller's stack pointer may be: the memory of this stack that the walk reads.
    stack: std::ops::Range<u64>,
    /// Frames that may still be found.
    left: AtomicUsize,
    /// The start of the next part.
    next: Mutex<Option<Start>>,
    /// Rows lead from the frame to memory that is not code, so its caller is found by its frame pointer or not at all.
    is_without_scan: AtomicBool,
    /// Rows say that the frame has no caller.
    is_outermost: AtomicBool,
    /// The address of memory that rows needed and the report lacks, in the last frame; 0 if none was missing.
    missing: AtomicU64,
}

impl Provider<'_, '_> {
    /// The module of an address of the process, and its unwind rules with the load bias.
    fn program(&self, address: u64) -> Option<(usize, Option<Biased>)> {
        let walker = self.walker;
        let index = walker.process.modules.find(address)?;
        let module = &walker.process.modules[index];
        let get = || walker.programs.get(module, walker.symbolizer);
        let program = lock(&walker.sources).entry(index).or_insert_with(get).clone();
        let base = match module.mapping {
            Mapping::LoadAddress { address, .. } => address,
            _ => return None,
        };
        Some((
            index,
            program.map(|program| {
                let bias = base.wrapping_sub(program.first());
                (program, bias)
            }),
        ))
    }

    /// Whether to look for one more frame.
    fn goes_on(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        left > 0 && (self.walker.is_wanted)()
    }
}

#[async_trait::async_trait]
impl SymbolProvider for Provider<'_, '_> {
    /// Says whether there is code at an address: `minidump-unwind` uses it to scan stacks.
    async fn fill_symbol(
        &self,
        _module: &(dyn Module + Sync),
        frame: &mut (dyn FrameSymbolizer + Send),
    ) -> Result<(), FillSymbolError> {
        let address = frame.get_instruction();
        // An address without a function counts as no code, so that the scan of a cancelled walk accepts none.
        if !(self.walker.is_wanted)() || self.is_without_scan.load(Ordering::Relaxed) {
            return Ok(());
        }
        let scans = self.walker.scans.load(Ordering::Relaxed);
        self.walker.scans.store(scans.saturating_sub(1), Ordering::Relaxed);
        if scans == 0 {
            return Ok(());
        }
        if let Some((_, Some((program, bias)))) = self.program(address) {
            if program.covers(address.wrapping_sub(bias)) {
                frame.set_function("?", address, 0);
            }
            return Ok(());
        }
        let stack = Stack::new(self.walker.process.modules, vec![StackFrame::exact(address)]);
        let answers = self.walker.symbolizer.symbolize(&stack);
        match answers.first() {
            Some(answer) if answer.certainty.is_some() => frame.set_function("?", address, 0),
            Some(answer) if answer.unknown == Some(Unknown::NoFunction) => {}
            // After an error `minidump-unwind` takes every address of the module for code, as nothing says otherwise.
            _ => return Err(FillSymbolError {}),
        }
        Ok(())
    }

    async fn walk_frame(
        &self,
        _module: &(dyn Module + Sync),
        walker: &mut (dyn FrameWalker + Send),
    ) -> Option<()> {
        // After `None`, `minidump-unwind` would go on by the frame pointer and by scanning. An address of 0 ends the walk.
        if !self.goes_on() {
            return walker.set_ra(0);
        }
        self.is_without_scan.store(false, Ordering::Relaxed);
        self.missing.store(0, Ordering::Relaxed);
        let process = &self.walker.process;
        let Some(names) = names(process.cpu) else {
            self.walker.is_unread.store(true, Ordering::Relaxed);
            return None;
        };
        let at = walker.get_instruction();
        // The next part begins at the trampoline.
        let counter = registers::program_counter(process.cpu);
        if walker
            .get_callee_register(counter)
            .is_some_and(|counter| self.walker.trampoline(counter).is_some())
        {
            return walker.set_ra(0);
        }
        let (index, found) = self.program(at)?;
        let Some((program, bias)) = found else {
            lock(&self.walker.without_rows).insert(index);
            return None;
        };
        let frame = Frame { walker: &*walker, names, process, missing: &self.missing };
        let caller = program.leave(at.wrapping_sub(bias), &frame)?;
        self.missing.store(0, Ordering::Relaxed);
        let Caller { cfa, return_address, registers, is_signal } = caller;
        // `minidump-unwind` strips a return address too, but not one at which the next part begins. The address at which a signal
        // interrupted the code has no pointer authentication code.
        let bits = if is_signal { u64::MAX } else { self.walker.address_bits };
        let return_address = return_address.map(|address| address & bits).filter(|address| *address != 0);
        self.is_outermost.store(return_address.is_none(), Ordering::Relaxed);
        let (owner, is_code) = (self.walker, |address| (process.executable)(address) != Some(false));
        // The words above its frame are on another stack than those that its rows describe, so the walk goes on by scanning.
        if !return_address.is_some_and(is_code) && owner.signals.is_switch(at, process, owner.symbolizer) {
            self.is_outermost.store(false, Ordering::Relaxed);
            return None;
        }
        // A function does not return to memory that is not executable. A program's first function has rows like any other, but the word
        // above it on the stack is no return address. Rows may also be wrong; then the frame pointer may lead on.
        if return_address.is_some_and(|address| !is_code(address)) {
            self.is_without_scan.store(true, Ordering::Relaxed);
            return None;
        }
        let is_exact = is_signal || owner.signals.is_injected(at, process, owner.symbolizer);
        if let Some(address) = return_address.filter(|_| is_exact || !self.stack.contains(&cfa)) {
            let kind = if is_exact { AddressKind::Exact } else { AddressKind::Return };
            let context = registers::of_caller(process.cpu, walker, &registers, cfa, address)?;
            let (trust, is_interrupted) = (Trust::Cfi, is_signal);
            *lock(&self.next) = Some(Start { context, trust, kind, is_interrupted, is_after_full: false });
            return walker.set_ra(0);
        }
        for (register, value) in registers {
            let Some(name) = usize::try_from(register).ok().and_then(|register| names.get(register)) else {
                continue;
            };
            match value {
                Some(value) => walker.set_caller_register(name, value)?,
                None => walker.clear_caller_register(name),
            }
        }
        walker.set_cfa(cfa)?;
        // Zero ends the walk: the entry says that the frame is the outermost one.
        walker.set_ra(return_address.unwrap_or(0))
    }

    async fn get_file_path(
        &self,
        _module: &(dyn Module + Sync),
        _kind: FileKind,
    ) -> Result<PathBuf, FileError> {
        Err(FileError::NotFound)
    }
}

/// The frame that is unwound, with the names of its registers.
struct Frame<'f, 'w> {
    walker: &'f (dyn FrameWalker + Send),
    names: &'static [&'static str],
    process: &'f Process<'w>,
    missing: &'f AtomicU64,
}

impl ThreadState for Frame<'_, '_> {
    fn register(&self, number: u64) -> Option<u64> {
        self.walker.get_callee_register(self.names.get(usize::try_from(number).ok()?)?)
    }

    /// First the memory that the walk passes in; the registers that a signal saved may be elsewhere.
    fn memory(&self, address: u64) -> Option<u64> {
        let word = self.walker.get_register_at_address(address).or_else(|| self.process.word(address));
        if word.is_none() {
            self.missing.store(address, Ordering::Relaxed);
        }
        word
    }
}

#[cfg(test)]
mod tests;
