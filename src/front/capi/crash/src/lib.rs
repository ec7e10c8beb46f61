//! Turns a crash into a report: thread, signal, stack with folded functions resolved, modules (`include/foldsym_crash.h`).
//!
//! Two halves. The installation (`signals::install`, `modules`, `files`, `thread_stack`) runs in ordinary code: it calls the C library, maps
//! the `.fsym` of each module and reads it once. The handler (`signals::handler`, `report`, `walk`, `json`) calls no function of the C library
//! but `memcpy` and its like, allocates nothing, takes no lock that a crash can leave locked, and makes the system calls of `sys` alone. It
//! reads the stack and whatever may be gone through the kernel (`memory`). A fault in it enters it again, and it goes on with the
//! next part of the report.
//!
//! The C caller promises the following for every function, and each safety proof relies on it: a pointer is null or points to memory of
//! the stated type that no other thread writes during the call.

#![no_std]
#![warn(missing_docs)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::unwrap_used, clippy::expect_used)]

mod cause;
mod elf;
mod files;
mod json;
mod memory;
mod modules;
mod names;
mod options;
mod out;
mod pages;
mod registers;
mod report;
mod signal_names;
mod signals;
mod status;
mod sys;
mod thread_stack;
mod walk;

use core::arch::asm;
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, Ordering};

use foldsym_unwind::Registers;

use crate::modules::MODULES;
use crate::options::{OPTIONS, Options};
use crate::status::Status;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// One installation at a time.
static INSTALLING: AtomicBool = AtomicBool::new(false);

/// Installs the handler.
///
/// # Safety
/// See `include/foldsym_crash.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_install_crash_handler(options: *const Options) -> Status {
    // SAFETY: as the caller promises.
    let options = match unsafe { Options::read(options) } {
        Ok(options) => options,
        Err(status) => return status,
    };
    if INSTALLING.swap(true, Ordering::Acquire) {
        return status::E_BUSY;
    }
    let status = install(options);
    INSTALLING.store(false, Ordering::Release);
    status
}

fn install(options: Options) -> Status {
    if !signals::are_signals(&options) {
        return status::E_ARGUMENT;
    }
    memory::prepare();
    if OPTIONS.set(options).is_none() {
        return status::E_MEMORY;
    }
    let full = refresh();
    if full != status::OK && full != status::E_FULL {
        return full;
    }
    thread_stack::prepare();
    let stack = thread_stack::make();
    if stack != status::OK {
        return stack;
    }
    let status = signals::install(&options);
    // The handler works without the modules that had no room.
    if status == status::OK { full } else { status }
}

/// Fills the table, and finds where glibc leaves the message of a failed assertion.
fn refresh() -> Status {
    let status = MODULES.refresh(OPTIONS.get().module_capacity());
    let mut addresses = MODULES.all().iter().filter_map(|module| {
        let table = if module.dynsym.entries.is_empty() { &module.symtab } else { &module.dynsym };
        let is_loaded = module.is_loaded.load(Ordering::Acquire);
        let address = is_loaded.then(|| table.address_of(b"__abort_msg")).flatten()?;
        Some(address.wrapping_add(module.bias))
    });
    let address = addresses.next().unwrap_or(0);
    report::ABORT_MESSAGE.store(address as usize, Ordering::Relaxed);
    status
}

/// Adds the modules that were loaded since, and marks those that are gone.
#[unsafe(no_mangle)]
pub extern "C" fn foldsym_crash_refresh() -> Status {
    if signals::is_installed() { refresh() } else { status::E_NOT_INSTALLED }
}

/// Gives the calling thread an alternate stack.
#[unsafe(no_mangle)]
pub extern "C" fn foldsym_crash_thread() -> Status {
    if signals::is_installed() { thread_stack::make() } else { status::E_NOT_INSTALLED }
}

/// Keeps a text for the next report; null or an empty one takes it away.
///
/// # Safety
/// `text` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_crash_note(text: *const c_char) {
    // SAFETY: as the caller promises.
    let bytes = if text.is_null() { &[] } else { unsafe { CStr::from_ptr(text) }.to_bytes() };
    // A zero behind the text is in the last word at the latest.
    let bytes =
        bytes.get(..bytes.len().min(report::NOTE.len().wrapping_mul(8).wrapping_sub(1))).unwrap_or_default();
    let mut chunks = bytes.chunks(8);
    for word in &report::NOTE {
        let mut place = [0; 8];
        let chunk = chunks.next().unwrap_or_default();
        elf::copy(&mut place, chunk);
        word.store(u64::from_le_bytes(place), Ordering::Relaxed);
    }
}

/// The words for a status.
#[unsafe(no_mangle)]
pub extern "C" fn foldsym_crash_text(status: Status) -> *const c_char {
    status::text(status).as_ptr()
}

/// Writes the modules and what their symbols came to.
#[unsafe(no_mangle)]
pub extern "C" fn foldsym_print_modules(fd: c_int) -> Status {
    if signals::is_installed() { signals::print_modules(fd) } else { status::E_NOT_INSTALLED }
}

/// Writes the stack of the caller. Keeps the registers of its caller, by DWARF's numbers, before anything changes them.
///
/// The body is one block of assembly without a local variable, so that the compiler puts at most one thing before it: where it was told to
/// keep frame pointers (`-Cforce-frame-pointers`), the new frame pointer, which the first instructions take back. `tests/handler`
/// compares the stack with gdb's. In a function of Rust it has a debugging entry. Assembly of a module has none, and a linker that folds
/// could then have folded any function with it (`undescribed_object`).
#[unsafe(no_mangle)]
pub extern "C" fn foldsym_print_stack(fd: c_int) -> Status {
    // SAFETY: a whole function by the convention of C: it keeps what a called function keeps, and returns.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            // A caller's frame pointer is above the return address, to which the stack pointer points.
            "cmp rsp, rbp",
            "jne 2f",
            "pop rbp",
            "2:",
            ".cfi_def_cfa 7, 8",
            ".cfi_same_value 6",
            "sub rsp, 152",
            ".cfi_adjust_cfa_offset 152",
            "mov [rsp + 24], rbx",
            "mov [rsp + 48], rbp",
            "lea rax, [rsp + 160]",
            "mov [rsp + 56], rax",
            "mov [rsp + 96], r12",
            "mov [rsp + 104], r13",
            "mov [rsp + 112], r14",
            "mov [rsp + 120], r15",
            "mov rax, [rsp + 152]",
            "mov [rsp + 128], rax",
            "mov rsi, rsp",
            "call {inner}",
            "add rsp, 152",
            ".cfi_adjust_cfa_offset -152",
            "ret",
            inner = sym print_stack_from,
            in("edi") fd,
            options(noreturn, nostack),
        )
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            // A caller's frame pointer may be the stack pointer, too. Behind it is the return address of the caller, not of this function.
            "cmp sp, x29",
            "b.ne 2f",
            "ldr x16, [sp, #8]",
            "cmp x16, x30",
            "b.ne 2f",
            "ldp x29, x30, [sp], #16",
            "2:",
            ".cfi_def_cfa 31, 0",
            ".cfi_same_value 29",
            ".cfi_same_value 30",
            "stp x29, x30, [sp, #-16]!",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset 29, -16",
            ".cfi_offset 30, -8",
            "sub sp, sp, #272",
            ".cfi_def_cfa_offset 288",
            "stp x19, x20, [sp, #152]",
            "stp x21, x22, [sp, #168]",
            "stp x23, x24, [sp, #184]",
            "stp x25, x26, [sp, #200]",
            "stp x27, x28, [sp, #216]",
            "str x29, [sp, #232]",
            "add x1, sp, #288",
            "str x1, [sp, #248]",
            "str x30, [sp, #256]",
            "mov x1, sp",
            "bl {inner}",
            "add sp, sp, #272",
            ".cfi_def_cfa_offset 16",
            "ldp x29, x30, [sp], #16",
            "ret",
            inner = sym print_stack_from,
            in("w0") fd,
            options(noreturn, nostack),
        )
    }
}

/// The registers that a called function keeps for its caller, and stack pointer and program counter.
const KEPT: u64 = if cfg!(target_arch = "x86_64") { 0x1_f0c8 } else { 0x1_bff8_0000 };

/// # Safety
/// `values` has a word for each register of the processor.
unsafe extern "C" fn print_stack_from(fd: c_int, values: *const u64) -> Status {
    if !signals::is_installed() {
        return status::E_NOT_INSTALLED;
    }
    let mut known = Registers::new(registers::MACHINE);
    for number in
        (0..=registers::MACHINE.program_counter()).filter(|number| KEPT.wrapping_shr(*number as u32) & 1 != 0)
    {
        // SAFETY: the words above.
        known.set(number, unsafe { values.add(number as usize).read() });
    }
    signals::print_stack(fd, known)
}
