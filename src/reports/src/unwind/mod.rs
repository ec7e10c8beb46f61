//! Walks stacks: by section UNWIND of the files that the engine finds, or by call frame information of the programs that are at hand; else by the
//! frame pointer, else by looking for anything on the stack that may be a return address. The last two are those of `minidump-unwind`.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Waker};

use foldsym_symbolize::{Kind, Modules, Place, Stack, StackFrame, Symbolizer, Unknown};
use minidump::system_info::{Cpu, Os};
use minidump::{Endian, MinidumpContext, MinidumpMemory, MinidumpModuleList, Module, UnifiedMemory};
use minidump_unwind::{
    CallStack, FileError, FileKind, FillSymbolError, FrameSymbolizer, FrameTrust, FrameWalker,
    SymbolProvider, SystemInfo,
};

use crate::Trust;

mod program;
mod rows;

use program::{Caller, Program, ThreadState};
use rows::Rows;

/// Bytes of a stack that are walked, from the stack pointer on: each frame found costs some kilobytes until the stack is done.
pub(crate) const MAX_STACK: usize = 1 << 20;
/// What a function that calls nobody may use below its stack pointer.
const RED_ZONE: u64 = 128;
/// Programs whose call frame information is kept; then all are forgotten.
const MAX_PROGRAMS: usize = 512;

/// A module, as its report names it.
type Key = (String, Option<foldsym_symbolize::ModuleId>);

/// Call frame information of programs, kept from report to report.
#[derive(Default)]
pub(crate) struct Programs {
    known: Mutex<HashMap<Key, Option<Arc<Source>>>>,
}

/// Of each module that was asked for: what says how its frames are left.
type Sources = HashMap<usize, Option<Arc<Source>>>;

/// What says how the frames of a module are left.
enum Source {
    /// Section UNWIND of its file.
    Rows(Rows),
    /// Its program.
    Program(Program),
}

impl Source {
    /// Link-time address of the page that the first segment begins in.
    fn first(&self) -> u64 {
        match self {
            Self::Rows(rows) => rows.first,
            Self::Program(program) => program.first,
        }
    }

    fn covers(&self, address: u64) -> bool {
        match self {
            Self::Rows(rows) => rows.covers(address),
            Self::Program(program) => program.covers(address),
        }
    }

    fn leave(&self, address: u64, state: &dyn ThreadState) -> Option<Caller> {
        match self {
            Self::Rows(rows) => rows.leave(address, state),
            Self::Program(program) => program.leave(address, state),
        }
    }
}

impl Programs {
    /// What says how the frames of a module are left. That there is nothing is kept too, unless a place failed that may have it later.
    fn get(&self, module: &foldsym_symbolize::Module, symbolizer: &Symbolizer) -> Option<Arc<Source>> {
        let key = (module.name.to_string(), module.id.clone());
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = known().get(&key) {
            return source.clone();
        }
        // Nobody else waits while a file is fetched or converted.
        let file = symbolizer.file_of(module);
        let has_failed = matches!(&file, Err(why) if !matches!(why, Unknown::Absent(_)));
        // The file that answers the frames has the rows at hand, if it was converted with them.
        let rows = file.ok().and_then(Rows::of).map(Source::Rows);
        let of_program = || {
            let paths = symbolizer.programs(module);
            paths.iter().find_map(|path| Program::open(path, module.id.as_ref())).map(Source::Program)
        };
        let source = rows.or_else(of_program).map(Arc::new);
        if source.is_none() && has_failed {
            return None;
        }
        let mut known = known();
        if known.len() >= MAX_PROGRAMS {
            known.clear();
        }
        // Another thread may have been faster.
        known.entry(key).or_insert(source).clone()
    }
}

/// The process whose stacks are walked.
pub(crate) struct Walker<'w> {
    pub(crate) symbolizer: &'w Symbolizer,
    pub(crate) programs: &'w Programs,
    pub(crate) modules: &'w Modules,
    /// The same modules, as `minidump-unwind` wants them.
    pub(crate) list: &'w MinidumpModuleList,
    pub(crate) os: Os,
    pub(crate) cpu: Cpu,
    /// Whether the memory at an address may be run, where the report says so of it.
    pub(crate) executable: &'w (dyn Fn(u64) -> Option<bool> + Sync),
}

/// Frames of a stack, and how each was found.
#[derive(Default)]
pub(crate) struct Walked {
    pub(crate) frames: Vec<StackFrame>,
    pub(crate) trust: Vec<Trust>,
    /// The stack was longer than what is walked.
    pub(crate) is_cut: bool,
}

impl Walker<'_> {
    /// Walks a stack from its registers. `memory` begins at `base`.
    pub(crate) fn walk(
        &self,
        context: &MinidumpContext,
        memory: Option<(u64, &[u8])>,
        endian: Endian,
    ) -> Walked {
        let mut walked = Walked::default();
        let from = context.get_stack_pointer().saturating_sub(RED_ZONE);
        let memory = memory.and_then(|(base, bytes)| {
            let skip = usize::try_from(from.saturating_sub(base)).ok()?;
            let bytes = bytes.get(skip..)?;
            walked.is_cut = bytes.len() > MAX_STACK;
            let bytes = &bytes[..bytes.len().min(MAX_STACK)];
            let base_address = base.checked_add(skip as u64)?;
            let size = bytes.len() as u64;
            (size > 0).then_some(MinidumpMemory {
                desc: Default::default(),
                base_address,
                size,
                bytes,
                endian,
            })
        });
        let info = SystemInfo {
            os: self.os,
            os_version: None,
            os_build: None,
            cpu: self.cpu,
            cpu_info: None,
            cpu_microcode_version: None,
            cpu_count: 1,
        };
        let provider = Provider { walker: self, after_signal: Mutex::default(), sources: Mutex::default() };
        let mut stack = CallStack::with_context(context.clone());
        let memory = memory.as_ref().map(UnifiedMemory::Memory);
        run(minidump_unwind::walk_stack(0, (), &mut stack, memory, self.list, &info, &provider));
        let after_signal = provider.after_signal.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (index, frame) in stack.frames.iter().enumerate() {
            let address = frame.resume_address;
            let trust = match frame.trust {
                FrameTrust::Context => Trust::Context,
                FrameTrust::CallFrameInfo => Trust::Cfi,
                FrameTrust::FramePointer => Trust::FramePointer,
                _ => Trust::Scan,
            };
            // A frame pointer may be that of an outer frame: a function that calls nobody has none of its own.
            if matches!(trust, Trust::Scan | Trust::FramePointer) {
                walked.frames.push(StackFrame::UNKNOWN);
                walked.trust.push(Trust::Gap);
            }
            let is_exact = index == 0 || after_signal.contains(&address);
            let kind = if is_exact { Kind::Exact } else { Kind::Return };
            walked.frames.push(StackFrame { place: Place::Memory(address), kind });
            walked.trust.push(trust);
        }
        walked
    }
}

/// Runs a future that never waits.
fn run(future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    let mut context = task::Context::from_waker(Waker::noop());
    if future.as_mut().poll(&mut context).is_pending() {
        debug_assert!(false, "nothing here waits");
    }
}

/// Answers `minidump-unwind`.
struct Provider<'w> {
    walker: &'w Walker<'w>,
    /// Return addresses at which a frame stands that a signal interrupted.
    after_signal: Mutex<HashSet<u64>>,
    /// Modules of this stack, so that one whose file cannot be had is tried once for a stack, not for each word that is looked at.
    sources: Mutex<Sources>,
}

impl Provider<'_> {
    /// The program of an address of the process, and what runtime addresses are more than its own.
    fn program(&self, address: u64) -> Option<(Arc<Source>, u64)> {
        let index = self.walker.modules.find(address)?;
        let module = &self.walker.modules[index];
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let get = || self.walker.programs.get(module, self.walker.symbolizer);
        let program = sources.entry(index).or_insert_with(get).clone()?;
        let base = match module.mapping {
            foldsym_symbolize::Mapping::LoadAddress { address, .. } => address,
            _ => return None,
        };
        let bias = base.wrapping_sub(program.first());
        Some((program, bias))
    }
}

#[async_trait::async_trait]
impl SymbolProvider for Provider<'_> {
    /// Says whether there is code at an address: stacks are scanned by that.
    async fn fill_symbol(
        &self,
        _module: &(dyn Module + Sync),
        frame: &mut (dyn FrameSymbolizer + Send),
    ) -> Result<(), FillSymbolError> {
        let address = frame.get_instruction();
        if let Some((program, bias)) = self.program(address) {
            if program.covers(address.wrapping_sub(bias)) {
                frame.set_function("?", address, 0);
            }
            return Ok(());
        }
        let stack = Stack::new(self.walker.modules, vec![StackFrame::exact(address)]);
        let answers = self.walker.symbolizer.symbolize(&stack);
        match answers.first() {
            Some(answer) if answer.certainty.is_some() => frame.set_function("?", address, 0),
            Some(answer) if answer.unknown == Some(Unknown::NoFunction) => {}
            _ => return Err(FillSymbolError {}),
        }
        Ok(())
    }

    async fn walk_frame(
        &self,
        _module: &(dyn Module + Sync),
        walker: &mut (dyn FrameWalker + Send),
    ) -> Option<()> {
        let mut at = walker.get_instruction();
        let step = if matches!(self.walker.cpu, Cpu::Arm64) { 4 } else { 1 };
        {
            let after_signal = self.after_signal.lock().unwrap_or_else(PoisonError::into_inner);
            if walker.has_grand_callee() && after_signal.contains(&at.wrapping_add(step)) {
                at = at.wrapping_add(step);
            }
        }
        let (program, bias) = self.program(at)?;
        let names = names(self.walker.cpu)?;
        let caller = program.leave(at.wrapping_sub(bias), &Frame { walker, names })?;
        let Caller { cfa, return_address, registers, is_signal } = caller;
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
        // Where the entry says that nobody called, 0 ends the walk. Nor does a function return to memory that is not run: a program's first
        // function has rows like any other, and what is above it on the stack is no return address.
        let return_address =
            return_address.filter(|address| (self.walker.executable)(*address) != Some(false));
        walker.set_ra(return_address.unwrap_or(0))?;
        if let Some(address) = return_address.filter(|_| is_signal) {
            self.after_signal.lock().unwrap_or_else(PoisonError::into_inner).insert(address);
        }
        Some(())
    }

    async fn get_file_path(
        &self,
        _module: &(dyn Module + Sync),
        _kind: FileKind,
    ) -> Result<PathBuf, FileError> {
        Err(FileError::NotFound)
    }
}

/// The registers by DWARF's numbers.
fn names(cpu: Cpu) -> Option<&'static [&'static str]> {
    Some(match cpu {
        Cpu::X86_64 => &[
            "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
            "r14", "r15", "rip",
        ],
        Cpu::X86 => &["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"],
        Cpu::Arm64 => &[
            "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
            "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28",
            "fp", "lr", "sp",
        ],
        _ => return None,
    })
}

/// The frame that is left, by the names of its registers.
struct Frame<'w> {
    walker: &'w (dyn FrameWalker + Send),
    names: &'static [&'static str],
}

impl ThreadState for Frame<'_> {
    fn register(&self, number: u64) -> Option<u64> {
        self.walker.get_callee_register(self.names.get(usize::try_from(number).ok()?)?)
    }

    fn memory(&self, address: u64) -> Option<u64> {
        self.walker.get_register_at_address(address)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// That a file could not be had this time says nothing of the next; that it is nowhere is kept.
    #[test]
    fn a_module_whose_file_failed_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("crash.fsym");
        let symbolizer = || Symbolizer::builder().search([&file]).build().unwrap();
        let module = foldsym_symbolize::Module::new("crash");
        let programs = Programs::default();
        std::fs::write(&file, b"no such file").unwrap();
        assert!(programs.get(&module, &symbolizer()).is_none());
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports/crash");
        let mut options = foldsym_convert::Options::default();
        (options.threads, options.unwind) = (1, true);
        std::fs::remove_file(&file).unwrap();
        foldsym_convert::convert(&program, &file, &options, &foldsym_convert::NoProgress).unwrap();
        assert!(programs.get(&module, &symbolizer()).is_some());
        // The other way round: it was nowhere, and then it is not looked for again.
        let other = foldsym_symbolize::Module::new("other");
        assert!(programs.get(&other, &symbolizer()).is_none());
        std::fs::rename(&file, folder.path().join("other.fsym")).unwrap();
        let found = Symbolizer::builder().search([folder.path().join("other.fsym")]).build().unwrap();
        assert!(programs.get(&other, &found).is_none());
    }
}
