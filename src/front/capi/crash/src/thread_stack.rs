//! Turns the calling thread into one whose stack may overflow: gives it an alternate stack for the handler.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::pages;
use crate::status::{self, Status};

/// Bytes that the handler may take, in addition to the kernel's frame: `tests/handler` measures what it takes.
const HANDLER: usize = 64 << 10;
const PAGE: usize = 64 << 10;

/// The key whose destructor gives the stack back at the end of its thread.
static KEY: AtomicU32 = AtomicU32::new(0);
static HAS_KEY: AtomicBool = AtomicBool::new(false);

/// Bytes of an alternate stack: the kernel's frame has 1 to 11 KiB, by the processor's vector registers.
fn size() -> usize {
    const AT_MINSIGSTKSZ: libc::c_ulong = 51;
    // SAFETY: reads the auxiliary vector.
    let frame = unsafe { libc::getauxval(AT_MINSIGSTKSZ) };
    HANDLER.saturating_add(usize::try_from(frame).unwrap_or(0)).next_multiple_of(PAGE)
}

/// Makes the key. Called by one thread, before any stack is made.
pub(crate) fn prepare() {
    let mut key = 0;
    // SAFETY: writes the key.
    if !HAS_KEY.load(Ordering::Relaxed) && unsafe { libc::pthread_key_create(&raw mut key, Some(free)) } == 0
    {
        KEY.store(key, Ordering::Relaxed);
        HAS_KEY.store(true, Ordering::Release);
    }
}

/// Gives the calling thread an alternate stack, unless it has one of this size.
pub(crate) fn make() -> Status {
    let len = size();
    // SAFETY: plain words; the system fills them.
    let mut before: libc::stack_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: writes the struct.
    if unsafe { libc::sigaltstack(ptr::null(), &raw mut before) } != 0 {
        return status::E_STACK;
    }
    let is_used = before.ss_flags & libc::SS_ONSTACK != 0;
    if is_used || (before.ss_flags & libc::SS_DISABLE == 0 && before.ss_size >= len) {
        return status::OK;
    }
    // The lowest pages are never mapped, so that a handler that needs more than it has meets a fault, and no other memory.
    let Some(memory) = pages::pages(len.saturating_add(PAGE)) else { return status::E_MEMORY };
    // SAFETY: inside of the new pages.
    let stack = unsafe {
        libc::mprotect(memory.cast(), PAGE, libc::PROT_NONE);
        libc::stack_t { ss_sp: memory.add(PAGE).cast(), ss_flags: 0, ss_size: len }
    };
    // SAFETY: a stack of so many bytes, which the thread's end alone unmaps.
    if unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) } != 0 {
        // SAFETY: nobody uses the pages.
        unsafe { libc::munmap(memory.cast(), len.saturating_add(PAGE)) };
        return status::E_STACK;
    }
    if HAS_KEY.load(Ordering::Acquire) {
        // SAFETY: a key of ours.
        unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), memory.cast()) };
    }
    status::OK
}

/// The end of a thread: its alternate stack is given back.
unsafe extern "C" fn free(memory: *mut c_void) {
    let len = size();
    // SAFETY: the thread's own alternate stack, on which it does not run: threads do not end in signal handlers. If the program has chosen
    // another since, that stays.
    unsafe {
        let mut now: libc::stack_t = MaybeUninit::zeroed().assume_init();
        libc::sigaltstack(ptr::null(), &raw mut now);
        if now.ss_sp == memory.byte_add(PAGE) {
            let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            if libc::sigaltstack(&raw const none, ptr::null_mut()) != 0 {
                return;
            }
        }
        libc::munmap(memory, len.saturating_add(PAGE));
    }
}
