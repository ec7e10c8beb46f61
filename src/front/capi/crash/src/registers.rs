//! Turns what the kernel keeps of an interrupted thread, a `ucontext_t`, into registers by DWARF's numbers.

use core::ffi::c_void;

use foldsym_unwind::{Machine, Registers};

#[cfg(target_arch = "x86_64")]
pub(crate) const MACHINE: Machine = Machine::X86_64;
#[cfg(target_arch = "aarch64")]
pub(crate) const MACHINE: Machine = Machine::Aarch64;

/// Where the kernel's `ucontext_t` has the registers, in words of 8 bytes from this offset on.
#[cfg(target_arch = "x86_64")]
const WORDS_AT: u64 = 40;
#[cfg(target_arch = "aarch64")]
const WORDS_AT: u64 = 184;

/// Which of these words each register is, by DWARF's numbers: `gregs` has r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
#[cfg(target_arch = "x86_64")]
const WORDS: [u64; 17] = [13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16];
/// The same: `uc_mcontext` has x0 to x30, sp and pc, behind the fault address.
#[cfg(target_arch = "aarch64")]
const WORDS: [u64; 33] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
    29, 30, 31, 32,
];

/// The names of the registers, by the same numbers.
#[cfg(target_arch = "x86_64")]
pub(crate) const NAMES: [&str; 17] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "rip",
];
#[cfg(target_arch = "aarch64")]
pub(crate) const NAMES: [&str; 33] = [
    "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
    "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30",
    "sp", "pc",
];

/// The registers of a `ucontext_t` at an address, read by `word`; `None` if a part of it is not there.
pub(crate) fn of_context(context: u64, mut word: impl FnMut(u64) -> Option<u64>) -> Option<Registers> {
    let mut registers = Registers::new(MACHINE);
    for (number, index) in (0u64..).zip(WORDS) {
        let offset = WORDS_AT.wrapping_add(index.wrapping_mul(8));
        registers.set(number, word(context.wrapping_add(offset))?);
    }
    Some(registers)
}

/// Lets the kernel return from a signal to `pc`, with this stack pointer.
///
/// # Safety
/// `context` is the `ucontext_t` that the handler of this thread got.
pub(crate) unsafe fn set_context(context: *mut c_void, pc: u64, sp: u64) {
    for (register, value) in [(MACHINE.program_counter(), pc), (MACHINE.stack_pointer(), sp)] {
        if let Some(index) = WORDS.get(register as usize) {
            let offset = WORDS_AT.wrapping_add(index.wrapping_mul(8));
            // SAFETY: a register of the struct.
            unsafe { context.byte_add(offset as usize).cast::<u64>().write(value) };
        }
    }
}

/// The number of the register that a frame pointer is in.
pub(crate) const FRAME_POINTER: u64 = if cfg!(target_arch = "x86_64") { 6 } else { 29 };
/// Bytes between the stack pointer in a signal trampoline and the `ucontext_t` of what was interrupted: on AArch64 a `siginfo_t`.
const TO_CONTEXT: u64 = if cfg!(target_arch = "x86_64") { 0 } else { 128 };

/// The code of a signal trampoline, which C libraries and the kernel make without call frame information at times:
/// the system call rt_sigreturn.
#[cfg(target_arch = "x86_64")]
const TRAMPOLINE: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
#[cfg(target_arch = "aarch64")]
const TRAMPOLINE: [u8; 8] = [0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4];

/// The registers of the code that a signal interrupted, if `registers` are those of the trampoline that its handler returns to.
pub(crate) fn interrupted(
    registers: &Registers,
    mut read: impl FnMut(u64, &mut [u8]) -> Option<()>,
) -> Option<Registers> {
    let mut code = TRAMPOLINE;
    read(registers.get(MACHINE.program_counter())?, &mut code)?;
    if code != TRAMPOLINE {
        return None;
    }
    let context = registers.get(MACHINE.stack_pointer())?.wrapping_add(TO_CONTEXT);
    of_context(context, |address| {
        let mut word = [0; 8];
        read(address, &mut word)?;
        Some(u64::from_le_bytes(word))
    })
}
