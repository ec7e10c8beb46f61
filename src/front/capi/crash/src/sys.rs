//! Turns the handler's requests into system calls, made directly: no code of the C library runs in the handler.
//!
//! These are all calls that the handler makes: write, rt_sigaction, rt_sigprocmask, tgkill, gettid, clock_gettime, nanosleep,
//! process_vm_readv and exit_group. `tests/handler` compares the list with what strace sees.

use core::arch::asm;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const WRITE: usize = 1;
    pub(super) const RT_SIGACTION: usize = 13;
    pub(super) const RT_SIGPROCMASK: usize = 14;
    pub(super) const NANOSLEEP: usize = 35;
    pub(super) const GETTID: usize = 186;
    pub(super) const CLOCK_GETTIME: usize = 228;
    pub(super) const EXIT_GROUP: usize = 231;
    pub(super) const TGKILL: usize = 234;
    pub(super) const PROCESS_VM_READV: usize = 310;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const WRITE: usize = 64;
    pub(super) const EXIT_GROUP: usize = 94;
    pub(super) const NANOSLEEP: usize = 101;
    pub(super) const CLOCK_GETTIME: usize = 113;
    pub(super) const TGKILL: usize = 131;
    pub(super) const RT_SIGACTION: usize = 134;
    pub(super) const RT_SIGPROCMASK: usize = 135;
    pub(super) const GETTID: usize = 178;
    pub(super) const PROCESS_VM_READV: usize = 270;
}

const EPERM: isize = -1;
const EINTR: isize = -4;
const EACCES: isize = -13;
const EPIPE: isize = -32;
const ENOSYS: isize = -38;
const EAGAIN: isize = -11;
/// The size of the kernel's set of signals.
const SET_LEN: usize = 8;

/// Makes a system call. Returns what the kernel does: a negative number is an error.
///
/// # Safety
/// As the kernel's documentation of the call demands of its arguments.
unsafe fn call(number: usize, args: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = args;
    let result: isize;
    // SAFETY: as the caller promises; the clobbered registers are those that the kernel's convention names.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    result
}

/// What the kernel keeps of a signal's action; on both processors with this layout.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Action {
    pub(crate) handler: usize,
    pub(crate) flags: usize,
    pub(crate) restorer: usize,
    pub(crate) mask: u64,
}

impl Action {
    pub(crate) const DEFAULT: Self = Action { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
}

/// Reads a signal's action.
pub(crate) fn action(signal: i32) -> Option<Action> {
    let mut old = Action::DEFAULT;
    // SAFETY: the kernel writes a struct of this layout.
    let result =
        unsafe { call(number::RT_SIGACTION, [signal as usize, 0, (&raw mut old) as usize, SET_LEN, 0, 0]) };
    (result == 0).then_some(old)
}

/// Gives a signal its default action.
pub(crate) fn set_default(signal: i32) {
    restore(signal, &Action::DEFAULT);
}

/// Gives a signal an action that [`action`] read, or the default one.
pub(crate) fn restore(signal: i32, action: &Action) {
    let action: *const Action = action;
    // SAFETY: the kernel reads a struct of this layout.
    unsafe { call(number::RT_SIGACTION, [signal as usize, action as usize, 0, SET_LEN, 0, 0]) };
}

/// Whether memory can be read at an address: the kernel copies the action of a signal that does not exist from there.
pub(crate) fn is_readable(address: u64) -> bool {
    const EINVAL: isize = -22;
    // SAFETY: the kernel reads, and reports an address that it cannot read; there is no signal 0, so that it changes nothing.
    unsafe { call(number::RT_SIGACTION, [0, address as usize, 0, SET_LEN, 0, 0]) == EINVAL }
}

/// Blocks the signals of a set in this thread, or unblocks them.
pub(crate) fn mask(block: bool, set: u64) {
    let how = if block { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    // SAFETY: the kernel reads 8 bytes.
    unsafe { call(number::RT_SIGPROCMASK, [how as usize, (&raw const set) as usize, 0, SET_LEN, 0, 0]) };
}

/// Blocks the signals of a set in this thread, too. Returns those that were blocked before.
pub(crate) fn block(set: u64) -> u64 {
    let mut before = 0u64;
    let (set, old) = ((&raw const set) as usize, (&raw mut before) as usize);
    // SAFETY: the kernel reads 8 bytes, and writes 8.
    unsafe { call(number::RT_SIGPROCMASK, [libc::SIG_BLOCK as usize, set, old, SET_LEN, 0, 0]) };
    before
}

/// Blocks these signals in this thread, and no others.
pub(crate) fn set_mask(set: u64) {
    // SAFETY: the kernel reads 8 bytes.
    unsafe {
        call(
            number::RT_SIGPROCMASK,
            [libc::SIG_SETMASK as usize, (&raw const set) as usize, 0, SET_LEN, 0, 0],
        )
    };
}

/// Sends a signal to a thread; false if there is no such thread in this process. Signal 0 only asks.
pub(crate) fn send(process: i32, thread: i32, signal: i32) -> bool {
    // SAFETY: no pointers.
    unsafe { call(number::TGKILL, [process as usize, thread as usize, signal as usize, 0, 0, 0]) == 0 }
}

/// The number of this thread.
pub(crate) fn thread() -> i32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETTID, [0; 6]) as i32 }
}

/// Nanoseconds of a clock that only goes forward.
pub(crate) fn now() -> u64 {
    let mut time = [0i64; 2];
    // SAFETY: the kernel writes two words.
    unsafe {
        call(number::CLOCK_GETTIME, [libc::CLOCK_MONOTONIC as usize, (&raw mut time) as usize, 0, 0, 0, 0])
    };
    let [seconds, nanos] = time;
    (seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(nanos as u64)
}

/// Sleeps for a millisecond.
pub(crate) fn sleep() {
    let time = [0i64, 1_000_000];
    // SAFETY: the kernel reads two words.
    unsafe { call(number::NANOSLEEP, [(&raw const time) as usize, 0, 0, 0, 0, 0]) };
}

/// Writes to a descriptor; how much, 0 to try again later, `None` if it cannot be.
pub(crate) fn write(descriptor: i32, bytes: &[u8]) -> Option<usize> {
    // SAFETY: the kernel reads the bytes of a slice.
    let result =
        unsafe { call(number::WRITE, [descriptor as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) };
    match result {
        EINTR | EAGAIN => Some(0),
        EPIPE => {
            // The handler blocks SIGPIPE, which would end the process at its return, in place of the crash: an action that ignores a signal
            // takes a pending one away.
            let before = action(libc::SIGPIPE).unwrap_or(Action::DEFAULT);
            restore(libc::SIGPIPE, &Action { handler: libc::SIG_IGN, ..Action::DEFAULT });
            restore(libc::SIGPIPE, &before);
            None
        }
        done => usize::try_from(done).ok().filter(|&done| done > 0),
    }
}

/// What a request to read memory met.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryRead {
    /// All of it was read.
    Whole,
    /// Not all of it is mapped.
    Unmapped,
    /// The system forbids this call (a sandbox, an emulator).
    Forbidden,
}

/// Reads memory of this process.
pub(crate) fn read_memory(thread: i32, address: u64, bytes: &mut [u8]) -> MemoryRead {
    let local = [bytes.as_mut_ptr() as usize, bytes.len()];
    let remote = [address as usize, bytes.len()];
    // SAFETY: the kernel writes the bytes of a slice, and reports memory that it cannot read.
    let result = unsafe {
        let (local, remote) = ((&raw const local) as usize, (&raw const remote) as usize);
        call(number::PROCESS_VM_READV, [thread as usize, local, 1, remote, 1, 0])
    };
    match result {
        EPERM | EACCES | ENOSYS => MemoryRead::Forbidden,
        read if read == bytes.len() as isize => MemoryRead::Whole,
        _ => MemoryRead::Unmapped,
    }
}

/// Ends the process.
pub(crate) fn exit(status: i32) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { call(number::EXIT_GROUP, [status as usize, 0, 0, 0, 0, 0]) };
    }
}
