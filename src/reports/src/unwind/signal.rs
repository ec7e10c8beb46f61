//! Finds frames whose caller made no call: the code to which a signal handler returns (a trampoline), and the functions of Go's runtime that a
//! signal handler puts on the stack.
//!
//! Few C libraries describe their trampoline by call frame information, and a wrong description ends a walk. The code itself is certain: it is
//! the system call `rt_sigreturn`, for which the kernel takes all registers from the stack. So a walk takes them from there, too.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;

use foldsym_symbolize::{
    Frame, Mapping, Module, ModuleId, Stack, StackFrame, Symbolizer, TRAMPOLINES, open_regular,
};
use minidump::MinidumpContext;
use minidump::system_info::Cpu;
use object::{Object, ObjectSegment, ReadCache, ReadRef as _};

use super::process::Process;
use super::sources::lock;
use super::{program, registers};

/// Most programs whose code is read for one report: each takes an open file.
const MAX_OPEN: usize = 64;

/// Bytes of the longest trampoline.
const LONGEST: usize = 9;

/// Where the kernel puts the registers of the code that a signal interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// `struct ucontext` at the stack pointer (Linux, `arch/x86/include/asm/sigframe.h`).
    Amd64,
    /// `struct sigcontext_32` after the number of the signal.
    X86,
    /// The second word after the number of the signal is the address of a `struct ucontext_ia32`.
    X86Info,
    /// `struct siginfo`, then `struct ucontext` (Linux, `arch/arm64/kernel/signal.c`).
    Arm64,
}

/// The code of trampolines. The system call follows the number of the call, so that no other code is the same by chance.
const CODES: &[(Layout, &[u8])] = &[
    // `mov $0xf,%rax; syscall`: glibc, musl, Go.
    (Layout::Amd64, &[0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05]),
    // `mov $0xf,%eax; syscall`.
    (Layout::Amd64, &[0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05]),
    // `pop %eax; mov $0x77,%eax; int $0x80`.
    (Layout::X86, &[0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80]),
    // `mov $0xad,%eax; int $0x80`.
    (Layout::X86Info, &[0xb8, 0xad, 0, 0, 0, 0xcd, 0x80]),
    // `mov x8,#0x8b; svc #0`.
    (Layout::Arm64, &[0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4]),
];

/// Functions of Go's runtime that a signal handler makes the interrupted code appear to call (`runtime/traceback.go`): their return address is
/// that of the interrupted instruction.
const INJECTED: &[&str] = &["runtime.sigpanic", "runtime.asyncPreempt", "runtime.debugCallV2"];

/// Functions of Go's runtime that change to the stack of the thread, which their call frame information does not say.
const SWITCHES: &[&str] = &["runtime.mcall", "runtime.systemstack"];

/// What is special about a function of Go's runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    None,
    Injected,
    Switch,
}

impl Layout {
    /// That of a processor's trampoline with or without `siginfo`.
    fn of(cpu: Cpu, has_info: bool) -> Option<Self> {
        match (cpu, has_info) {
            (Cpu::X86_64, true) => Some(Self::Amd64),
            (Cpu::X86, true) => Some(Self::X86Info),
            (Cpu::X86, false) => Some(Self::X86),
            (Cpu::Arm64, true) => Some(Self::Arm64),
            _ => None,
        }
    }

    fn is_of(self, cpu: Cpu) -> bool {
        [true, false].iter().any(|has_info| Self::of(cpu, *has_info) == Some(self))
    }

    /// The offsets of registers from the start of the saved ones, by DWARF's numbers, without the program counter; then its offset.
    fn registers(self) -> (Vec<(u64, u64)>, u64) {
        match self {
            // r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
            Self::Amd64 => {
                let order = [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7];
                (order.into_iter().zip((0..).step_by(8)).collect(), 128)
            }
            // Four segment registers, then edi, esi, ebp, esp, ebx, edx, ecx, eax; two words later eip.
            Self::X86 | Self::X86Info => {
                let order = [7, 6, 5, 4, 3, 2, 1, 0];
                (order.into_iter().zip((16..).step_by(4)).collect(), 56)
            }
            // The fault address, then x0 to x30, sp, pc.
            Self::Arm64 => ((0..32).map(|register| (register, 8 + 8 * register)).collect(), 264),
        }
    }

    /// The address of the saved registers, by the stack pointer at the trampoline. `Err`: the address that cannot be read.
    fn place(self, stack_pointer: u64, process: &Process<'_>) -> Result<u64, u64> {
        Ok(match self {
            // After `uc_flags`, `uc_link` and `uc_stack`.
            Self::Amd64 => stack_pointer.wrapping_add(40),
            Self::X86 => stack_pointer.wrapping_add(4),
            Self::X86Info => {
                let pointer = stack_pointer.wrapping_add(8);
                process.word(pointer).ok_or(pointer)?.wrapping_add(20)
            }
            // `siginfo` has 128 bytes; the registers are 176 bytes after the start of `struct ucontext`.
            Self::Arm64 => stack_pointer.wrapping_add(128 + 176),
        })
    }
}

/// The registers that a signal saved, by the stack pointer at its trampoline. `Err`: the first address that cannot be read.
pub(super) fn interrupted(
    layout: Layout,
    stack_pointer: u64,
    process: &Process<'_>,
) -> Result<MinidumpContext, u64> {
    let place = layout.place(stack_pointer, process)?;
    let word = |offset: u64| {
        let address = place.wrapping_add(offset);
        process.word(address).ok_or(address)
    };
    let (offsets, counter) = layout.registers();
    let mut values = Vec::with_capacity(offsets.len());
    let mut saved_stack_pointer = 0;
    let own = registers::stack_pointer(process.cpu);
    for (register, offset) in offsets {
        let value = word(offset)?;
        if register == own {
            saved_stack_pointer = value;
        }
        values.push((register, value));
    }
    registers::of_signal(process.cpu, &values, saved_stack_pointer, word(counter)?).ok_or(place)
}

/// Finds the frames, and keeps what it found.
#[derive(Default)]
pub(super) struct Signals(Mutex<KnownCode>);

/// What is known of the code of a report's modules.
#[derive(Default)]
struct KnownCode {
    /// By address.
    trampolines: HashMap<u64, Option<Layout>>,
    roles: HashMap<u64, Role>,
    /// By module.
    code: HashMap<usize, Code>,
    /// Modules whose code is neither in the report nor on this machine.
    without_code: HashSet<usize>,
}

/// The code of a program on this machine.
struct Code {
    cache: ReadCache<File>,
    /// Link-time address, size and file offset of each segment.
    segments: Vec<(u64, u64, u64)>,
    /// Link-time address of the page that the first segment begins in.
    first: u64,
}

impl Code {
    fn open(path: &Path, id: Option<&ModuleId>) -> Option<Self> {
        let cache = ReadCache::new(open_regular(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        if !program::is_of(&file, id) {
            return None;
        }
        let mut segments: Vec<_> = file
            .segments()
            .map(|segment| {
                let (offset, size) = segment.file_range();
                (segment.address(), size, offset)
            })
            .collect();
        segments.sort_unstable();
        let first = segments.first()?.0 & !0xfff;
        Some(Self { cache, segments, first })
    }

    fn read(&self, address: u64) -> Option<Vec<u8>> {
        let behind = self.segments.partition_point(|(start, ..)| *start <= address);
        let &(start, size, offset) = self.segments.get(behind.checked_sub(1)?)?;
        let skip = address - start;
        let most = size.checked_sub(skip)?.min(LONGEST as u64);
        let bytes = (&self.cache).read_bytes_at(offset.checked_add(skip)?, most).ok()?;
        Some(bytes.to_vec())
    }
}

impl Signals {
    /// The trampoline at an address, if there is one.
    pub(super) fn trampoline(
        &self,
        address: u64,
        process: &Process<'_>,
        symbolizer: &Symbolizer,
    ) -> Option<Layout> {
        let mut found = lock(&self.0);
        if let Some(layout) = found.trampolines.get(&address) {
            return *layout;
        }
        let layout = match found.code(address, process, symbolizer) {
            Some(code) => {
                let is_it =
                    |(layout, bytes): &&(Layout, &[u8])| layout.is_of(process.cpu) && code.starts_with(bytes);
                CODES.iter().find(is_it).map(|(layout, _)| *layout)
            }
            None => {
                let frame = function(address, process, symbolizer);
                let frame = frame.filter(|frame| frame.start == frame.image_address);
                frame.and_then(|frame| {
                    let name = &frame.functions.last()?.linkage_name;
                    let (_, has_info) = TRAMPOLINES.iter().find(|(known, _)| **known == **name)?;
                    Layout::of(process.cpu, *has_info)
                })
            }
        };
        found.trampolines.insert(address, layout);
        layout
    }

    /// Whether the function at an address was not called, but put on the stack by a signal handler.
    pub(super) fn is_injected(&self, address: u64, process: &Process<'_>, symbolizer: &Symbolizer) -> bool {
        self.role(address, process, symbolizer) == Role::Injected
    }

    /// Whether the function at an address changes to another stack without saying so.
    pub(super) fn is_switch(&self, address: u64, process: &Process<'_>, symbolizer: &Symbolizer) -> bool {
        self.role(address, process, symbolizer) == Role::Switch
    }

    fn role(&self, address: u64, process: &Process<'_>, symbolizer: &Symbolizer) -> Role {
        *lock(&self.0).roles.entry(address).or_insert_with(|| {
            let frame = function(address, process, symbolizer);
            let name = frame.as_ref().and_then(|frame| frame.functions.last());
            match name.map(|name| name.linkage_name.trim_end_matches(".abi0")) {
                Some(name) if INJECTED.contains(&name) => Role::Injected,
                Some(name) if SWITCHES.contains(&name) => Role::Switch,
                _ => Role::None,
            }
        })
    }
}

fn function(address: u64, process: &Process<'_>, symbolizer: &Symbolizer) -> Option<Frame> {
    process.modules.find(address)?;
    let stack = Stack::new(process.modules, vec![StackFrame::exact(address)]);
    symbolizer.symbolize(&stack).into_iter().next()
}

impl KnownCode {
    /// The code at an address: that of the report, else that of a program on this machine.
    fn code(&mut self, address: u64, process: &Process<'_>, symbolizer: &Symbolizer) -> Option<Vec<u8>> {
        let in_report = (process.memory)(address).and_then(|(base, bytes)| {
            let bytes = bytes.get(usize::try_from(address.checked_sub(base)?).ok()?..)?;
            (!bytes.is_empty()).then(|| bytes[..bytes.len().min(LONGEST)].to_vec())
        });
        if in_report.is_some() {
            return in_report;
        }
        let index = process.modules.find(address)?;
        if self.without_code.contains(&index) {
            return None;
        }
        let module: &Module = &process.modules[index];
        let Mapping::LoadAddress { address: base, .. } = module.mapping else { return None };
        if !self.code.contains_key(&index) && self.code.len() < MAX_OPEN {
            let paths = symbolizer.programs(module);
            match paths.iter().find_map(|path| Code::open(path, module.id.as_ref())) {
                Some(code) => _ = self.code.insert(index, code),
                None => _ = self.without_code.insert(index),
            }
        }
        let code = self.code.get(&index)?;
        code.read(address.wrapping_sub(base).wrapping_add(code.first))
    }
}
