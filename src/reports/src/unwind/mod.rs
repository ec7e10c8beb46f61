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
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{self, Waker};

use foldsym_symbolize::{
    AddressKind, Mapping, Modules, ReportedAddress, Stack, StackFrame, Symbolizer, Unknown,
};
use minidump::system_info::{Cpu, Os};
use minidump::{
    Endian, MinidumpContext, MinidumpMemory, MinidumpModule, MinidumpModuleList, Module, UnifiedMemory,
};
use minidump_unwind::{
    CallStack, FileError, FileKind, FillSymbolError, FrameSymbolizer, FrameTrust, FrameWalker,
    SymbolProvider, SystemInfo,
};

use crate::{MAX_FRAMES, MAX_NAME, Options, Trust, cut};

mod program;
mod registers;
mod rows;
mod sources;

use program::{Caller, ThreadState};
use registers::names;
pub(crate) use sources::Programs;
use sources::{FoundSource, Source, lock};

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
/// Bytes of a module's first range, and of each further one: a module of a minidump has 32 bits for its size.
const MAX_RANGE: u64 = u32::MAX as u64;
/// Most further ranges of all modules together. A warning names the first module that would have more.
const MAX_MORE: usize = 1 << 10;
/// Most modules that warnings name.
const MAX_TOLD: usize = 20;
/// The bytes below its stack pointer that a leaf function may use.
const RED_ZONE: u64 = 128;
/// By module: its unwind rules.
type Sources = HashMap<usize, FoundSource>;
/// Unwind rules, and the load bias of their module.
type Biased = (Arc<Source>, u64);

/// A range of the process's memory: its start, and its bytes.
pub(crate) type Range<'m> = (u64, &'m [u8]);

/// The report's data about the process.
pub(crate) struct Process<'w> {
    pub(crate) modules: &'w Modules,
    pub(crate) os: Os,
    pub(crate) cpu: Cpu,
    pub(crate) endian: Endian,
    /// Whether the memory at an address is executable; `None` if the report does not say.
    pub(crate) executable: &'w (dyn Fn(u64) -> Option<bool> + Sync),
    /// The range of memory that contains an address, if the report has it.
    pub(crate) memory: &'w (dyn Fn(u64) -> Option<Range<'w>> + Sync),
}

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
}

/// Frames of a stack, and how each was found.
#[derive(Default)]
pub(crate) struct Walked {
    pub(crate) frames: Vec<StackFrame>,
    pub(crate) trust: Vec<Trust>,
    pub(crate) registers: Vec<Vec<(&'static str, String)>>,
    /// The stack is longer than the part that was walked.
    pub(crate) is_cut: bool,
}

impl Walked {
    fn push(&mut self, frame: StackFrame, trust: Trust) {
        self.frames.push(frame);
        self.trust.push(trust);
    }

    fn gap(&mut self, registers: bool) {
        if self.trust.last() != Some(&Trust::Gap) {
            self.push(StackFrame::UNKNOWN, Trust::Gap);
            self.registers.extend(registers.then(Vec::new));
        }
    }
}

/// How a caller was found.
fn trust_of(trust: FrameTrust) -> Trust {
    match trust {
        FrameTrust::CallFrameInfo => Trust::Cfi,
        FrameTrust::FramePointer => Trust::FramePointer,
        _ => Trust::Scan,
    }
}

/// A frame at which a part of a walk begins.
struct Start {
    context: MinidumpContext,
    trust: Trust,
    kind: AddressKind,
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
        }
    }

    /// Walks a stack from its registers. `memory` contains its start.
    pub(crate) fn walk(&self, context: &MinidumpContext, mut memory: Option<Range<'w>>) -> Walked {
        let mut walked = Walked::default();
        let mut start = Start {
            context: context.clone(),
            trust: Trust::Context,
            kind: AddressKind::Exact,
            is_after_full: false,
        };
        let mut parts = 0;
        while parts < MAX_PARTS {
            let Some(next) = self.part(&start, memory, &mut walked) else { return walked };
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

    /// Walks one part of a stack; returns the start of the next one, if there is one.
    fn part(&self, start: &Start, memory: Option<Range<'w>>, walked: &mut Walked) -> Option<Start> {
        let left = self.left.load(Ordering::Relaxed);
        let most = left.saturating_mul(MIN_FRAME).min(MAX_STACK);
        // A leaf function of x86-64 may keep registers in the red zone (psABI 3.2.2), and its rows refer to them.
        let from = start.context.get_stack_pointer().saturating_sub(RED_ZONE);
        walked.is_cut = false;
        let base = memory.map_or(0, |(base, _)| base);
        let memory = memory.and_then(|(base, bytes)| {
            let skip = usize::try_from(from.saturating_sub(base)).ok()?;
            let bytes = bytes.get(skip..)?;
            walked.is_cut = bytes.len() > most;
            let bytes = &bytes[..bytes.len().min(most)];
            let base_address = base.checked_add(skip as u64)?;
            let size = bytes.len() as u64;
            let endian = self.process.endian;
            (size > 0).then_some(MinidumpMemory {
                desc: Default::default(),
                base_address,
                size,
                bytes,
                endian,
            })
        });
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
            next = Some(Start { context: last.context, trust, kind, is_after_full: true });
        }
        // One thread walks at a time, so a load and a store suffice. It is an atomic because `walk_stack` needs a provider that is `Sync`.
        self.left.store(left.saturating_sub(stack.frames.len()), Ordering::Relaxed);
        // A walk that ended far from the end of the memory that was read was not cut.
        let last = stack.frames.last().map_or(0, |frame| frame.context.get_stack_pointer());
        let is_near_end = end.saturating_sub(last) <= (end - base_of_walk) / 8;
        walked.is_cut &= is_near_end;
        walked.is_cut |= provider.left.load(Ordering::Relaxed) == 0;
        for (index, frame) in stack.frames.iter().enumerate() {
            // `instruction` is already inside of the call. The engine finds call keys by the return address itself.
            let place = ReportedAddress::Memory(frame.resume_address);
            let (kind, trust) = match index {
                0 => (start.kind, start.trust),
                _ => (AddressKind::Return, trust_of(frame.trust)),
            };
            // A frame pointer may belong to an outer frame, since a leaf function need not set up its own. A return address that a scan
            // finds may be left over from a call that has returned; then its function is no caller on this stack, and no function called it
            // here.
            let is_scanned = trust == Trust::Scan || walked.trust.last() == Some(&Trust::Scan);
            if is_scanned || trust == Trust::FramePointer {
                walked.gap(self.registers);
            }
            walked.push(StackFrame { place, kind }, trust);
            walked.registers.extend(self.registers.then(|| registers::known(&frame.context)));
        }
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

/// The ranges of modules, and the index of the first module that has too few.
fn ranges(modules: &Modules) -> (MinidumpModuleList, Option<usize>) {
    let (mut list, mut left, mut too_large) = (Vec::new(), MAX_MORE, None);
    for (index, module) in modules.iter().enumerate() {
        let Mapping::LoadAddress { address, size } = module.mapping else { continue };
        let size = size.unwrap_or(0);
        let range = |from: u64| {
            let size = u32::try_from(size - from).unwrap_or(u32::MAX);
            MinidumpModule::new(address.saturating_add(from), size, "")
        };
        list.push(range(0));
        let mut end = MAX_RANGE;
        while end < size && left > 0 {
            list.push(range(end));
            (end, left) = (end.saturating_add(MAX_RANGE), left - 1);
        }
        if end < size {
            too_large = too_large.or(Some(index));
        }
    }
    (MinidumpModuleList::from_modules(list), too_large)
}

/// The bits that addresses of a process on AArch64 have. A signed pointer has its pointer authentication code above them. Their number is
/// a choice of the system, which reports do not have: these are the bits that `minidump-unwind` takes, from the modules' addresses.
fn address_bits(list: &MinidumpModuleList) -> u64 {
    let end = list.by_addr().next_back().map_or(0, |last| last.base_address().saturating_add(last.size()));
    let most = end.max((1 << 47) - 1);
    most.checked_next_power_of_two().map_or(u64::MAX, |bit| bit - 1)
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
        if !(self.walker.is_wanted)() {
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
        let process = &self.walker.process;
        let Some(names) = names(process.cpu) else {
            self.walker.is_unread.store(true, Ordering::Relaxed);
            return None;
        };
        let at = walker.get_instruction();
        let (index, found) = self.program(at)?;
        let Some((program, bias)) = found else {
            lock(&self.walker.without_rows).insert(index);
            return None;
        };
        let caller = program.leave(at.wrapping_sub(bias), &Frame { walker: &*walker, names, process })?;
        let Caller { cfa, return_address, registers, is_signal } = caller;
        // `minidump-unwind` strips a return address too, but not one at which the next part begins. The address at which a signal
        // interrupted the code has no pointer authentication code.
        let bits = if is_signal { u64::MAX } else { self.walker.address_bits };
        let return_address = return_address.map(|address| address & bits);
        // A function does not return to memory that is not executable. A program's first function has rows like any other, but the word
        // above it on the stack is no return address.
        let return_address = return_address.filter(|address| (process.executable)(*address) != Some(false));
        if let Some(address) = return_address.filter(|_| is_signal || !self.stack.contains(&cfa)) {
            let kind = if is_signal { AddressKind::Exact } else { AddressKind::Return };
            let context = registers::of_caller(process.cpu, walker, &registers, cfa, address)?;
            *lock(&self.next) = Some(Start { context, trust: Trust::Cfi, kind, is_after_full: false });
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
}

impl ThreadState for Frame<'_, '_> {
    fn register(&self, number: u64) -> Option<u64> {
        self.walker.get_callee_register(self.names.get(usize::try_from(number).ok()?)?)
    }

    /// First the memory that the walk passes in; the registers that a signal saved may be elsewhere.
    fn memory(&self, address: u64) -> Option<u64> {
        self.walker.get_register_at_address(address).or_else(|| self.process.word(address))
    }
}

impl Process<'_> {
    /// A word of the processor's size, anywhere in the process.
    fn word(&self, address: u64) -> Option<u64> {
        let (base, bytes) = (self.memory)(address)?;
        let bytes = bytes.get(usize::try_from(address.checked_sub(base)?).ok()?..)?;
        let is_big = matches!(self.endian, Endian::Big);
        if matches!(self.cpu, Cpu::X86) {
            let word = *bytes.first_chunk()?;
            return Some(u64::from(if is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }));
        }
        let word = *bytes.first_chunk()?;
        Some(if is_big { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) })
    }
}

#[cfg(test)]
mod tests;
