//! The registers of a frame by DWARF's numbers, and the registers of its caller for `minidump-unwind`.

use std::collections::HashSet;

use minidump::format::{CONTEXT_AMD64, CONTEXT_ARM64, CONTEXT_X86};
use minidump::system_info::Cpu;
use minidump::{CpuContext, MinidumpContext, MinidumpContextValidity, MinidumpRawContext};
use minidump_unwind::FrameWalker;

/// The names of the registers, by DWARF's numbers.
pub(super) fn names(cpu: Cpu) -> Option<&'static [&'static str]> {
    // The numbers are those of each processor's psABI. x86-64 and i386 count the return address as a register (16 and 8).
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

/// Registers that a call preserves, unless a row says otherwise.
const fn kept(cpu: Cpu) -> &'static [&'static str] {
    match cpu {
        Cpu::X86_64 => &["rbx", "rbp", "r12", "r13", "r14", "r15"],
        Cpu::X86 => &["ebp", "ebx", "edi", "esi"],
        // AAPCS64: a call preserves x19 to x28 and the frame pointer.
        _ => &["x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "fp"],
    }
}

/// The registers of the caller of a walker's frame. `registers` are those that a row names, `None` if their value is lost.
pub(super) fn of_caller(
    cpu: Cpu,
    walker: &(dyn FrameWalker + Send),
    registers: &[(u64, Option<u64>)],
    stack_pointer: u64,
    program_counter: u64,
) -> Option<MinidumpContext> {
    let names = names(cpu)?;
    let forwarded = kept(cpu).iter().map(|name| (*name, walker.get_callee_register(name)));
    let named = registers
        .iter()
        .filter_map(|(register, value)| Some((*names.get(usize::try_from(*register).ok()?)?, *value)));
    // The last value counts, so a row's rule replaces the value that a call preserves.
    let values = forwarded.chain(named);
    of_values(cpu, values, (stack_pointer, program_counter))
}

/// The registers of code that a signal interrupted.
pub(super) fn of_signal(
    cpu: Cpu,
    registers: &[(u64, u64)],
    stack_pointer: u64,
    program_counter: u64,
) -> Option<MinidumpContext> {
    let names = names(cpu)?;
    let values = registers
        .iter()
        .filter_map(|(register, value)| Some((*names.get(usize::try_from(*register).ok()?)?, Some(*value))));
    of_values(cpu, values, (stack_pointer, program_counter))
}

/// DWARF's number of the stack pointer.
pub(super) const fn stack_pointer(cpu: Cpu) -> u64 {
    match cpu {
        Cpu::X86_64 => 7,
        Cpu::X86 => 4,
        _ => 31,
    }
}

/// The name of the program counter.
pub(super) const fn program_counter(cpu: Cpu) -> &'static str {
    match cpu {
        Cpu::X86_64 => "rip",
        Cpu::X86 => "eip",
        _ => "pc",
    }
}

/// Registers by name, and the stack pointer and program counter.
fn of_values(
    cpu: Cpu,
    values: impl Iterator<Item = (&'static str, Option<u64>)>,
    ends: (u64, u64),
) -> Option<MinidumpContext> {
    match cpu {
        Cpu::X86_64 => context(CONTEXT_AMD64::default(), values, ends, MinidumpRawContext::Amd64),
        Cpu::X86 => context(CONTEXT_X86::default(), values, ends, MinidumpRawContext::X86),
        Cpu::Arm64 => context(CONTEXT_ARM64::default(), values, ends, MinidumpRawContext::Arm64),
        _ => None,
    }
}

/// The registers whose values are known, as hexadecimal numbers.
pub(crate) fn known(context: &MinidumpContext) -> Vec<(&'static str, String)> {
    let is_known = |name: &&&'static str| match &context.valid {
        MinidumpContextValidity::All => true,
        MinidumpContextValidity::Some(names) => names.contains(**name),
    };
    let names = context.general_purpose_registers().iter().filter(is_known);
    names.map(|name| (*name, context.format_register(name))).collect()
}

/// Sets registers; the last value of a register counts.
fn context<C: CpuContext>(
    mut raw: C,
    values: impl Iterator<Item = (&'static str, Option<u64>)>,
    (stack_pointer, program_counter): (u64, u64),
    wrap: fn(C) -> MinidumpRawContext,
) -> Option<MinidumpContext>
where
    C::Register: TryFrom<u64>,
{
    let mut valid = HashSet::new();
    let ends = [
        (raw.stack_pointer_register_name(), Some(stack_pointer)),
        (raw.instruction_pointer_register_name(), Some(program_counter)),
    ];
    for (name, value) in values.chain(ends) {
        let Some(name) = raw.memoize_register(name) else { continue };
        match value.and_then(|value| C::Register::try_from(value).ok()) {
            Some(value) => {
                raw.set_register(name, value)?;
                valid.insert(name);
            }
            None => _ = valid.remove(name),
        }
    }
    Some(MinidumpContext { raw: wrap(raw), valid: MinidumpContextValidity::Some(valid) })
}
