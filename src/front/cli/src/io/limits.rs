//! Handles two failures that the system imposes: a stack that is too small, and a file that is truncated while it is mapped.
//!
//! An access to a truncated page of a mapped file ends the process by `SIGBUS`. Reading the inputs into memory instead of mapping them
//! would cost every conversion a copy. Checking the size of the file before each access would leave a race. So the command, which owns
//! its process, handles the signal: it prints the file in progress and exits with the code of bad input. The output file is complete or
//! missing, as after any other end. The libraries install no handler.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Most inputs in progress that the handler can name.
const SLOTS: usize = 64;

/// The inputs in progress: lines that are never freed while the handler may read them.
static LINES: [AtomicPtr<NamedLine>; SLOTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

struct NamedLine(Vec<u8>);

/// Takes the name away again.
pub(crate) struct Named(usize);

impl Drop for Named {
    fn drop(&mut self) {
        // The line itself is leaked: the handler may be reading it. Some hundred bytes for each input.
        LINES[self.0].store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// Names a file that is mapped from now on.
pub(crate) fn name(name: &str) -> Named {
    let mut line = b"foldsym: ".to_vec();
    crate::io::escape::push_escaped(&mut line, name.as_bytes());
    line.extend_from_slice(b": cut short or unreadable while it was read (SIGBUS)\n");
    let slot = NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS;
    LINES[slot].store(Box::into_raw(Box::new(NamedLine(line))), Ordering::Release);
    Named(slot)
}

/// Bytes of stack that the first thread may have.
pub(crate) fn stack_limit() -> u64 {
    #[cfg(unix)]
    return handler::stack_limit();
    #[cfg(not(unix))]
    return 0;
}

/// Has the allocator give freed memory back to the system at once, in place of 10 ms later. On a program of 1.43 GB this saves about
/// 100 MB of peak memory. To be called before the command starts threads.
pub(crate) fn give_memory_back_at_once() {
    /// `mi_option_purge_delay` of mimalloc 2; milliseconds.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    // SAFETY: the number is that of an option of the linked mimalloc. It writes one number, before any thread converts.
    unsafe { libmimalloc_sys::mi_option_set_enabled(PURGE_DELAY, false) };
}

/// Handles the signal from now on.
pub(crate) fn install() {
    #[cfg(unix)]
    handler::install();
}

#[cfg(unix)]
mod handler {
    use std::sync::atomic::Ordering;

    use super::LINES;
    use crate::io::failure::exit;

    /// Writes the lines and ends the process, using only what a signal handler may call: loads, `write`, `_exit`.
    extern "C" fn on_sigbus(_: libc::c_int) {
        for line in &LINES {
            let line = line.load(Ordering::Acquire);
            if line.is_null() {
                continue;
            }
            // SAFETY: a line that was ever stored is leaked, so the pointer is valid as long as the process; it is never changed after it
            // was stored.
            let bytes = unsafe { &(*line).0 };
            // SAFETY: pointer and length are of one vector, which lives.
            let written = unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
            // If standard error is closed, the error cannot be reported.
            let _ = written;
        }
        // SAFETY: ends the process at once and runs no code of it.
        unsafe { libc::_exit(exit::BAD_INPUT.into()) }
    }

    pub(super) fn stack_limit() -> u64 {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is valid for the call to write to, and keeps its zeros if the call fails.
        let asked = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
        if asked == 0 { limit.rlim_cur } else { 0 }
    }

    pub(super) fn install() {
        // SAFETY: all zeros are a valid `sigaction` without flags and with an empty mask on every system that has it.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_sigbus as extern "C" fn(libc::c_int) as usize;
        // The default stack may be what cannot be mapped; threads of the standard library have one for signals.
        action.sa_flags = libc::SA_ONSTACK;
        // SAFETY: `action` is fully initialized, and the old one is not read. The handler makes only async-signal-safe calls.
        let installed = unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) };
        // Without a handler the process ends by the signal, as before.
        let _ = installed;
    }
}
