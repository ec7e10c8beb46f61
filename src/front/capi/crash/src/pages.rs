//! Turns requests for memory into pages of the system: the installation allocates nothing of the program's heap.

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Pages of memory, all zero; `None` if there are none.
pub(crate) fn pages(len: usize) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, of no file.
    let at = unsafe {
        libc::mmap(core::ptr::null_mut(), len.max(1), libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    (at != libc::MAP_FAILED).then_some(at.cast())
}

/// Copies a text to where it stays. Called by one thread at a time: [`crate::modules::Modules::refresh`] sees to it.
pub(crate) fn keep(text: &[u8]) -> Option<&'static [u8]> {
    const ROOM: usize = 1 << 16;
    static NEXT: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    if LEFT.load(Ordering::Relaxed) < text.len() {
        NEXT.store(pages(ROOM.max(text.len()))?, Ordering::Relaxed);
        LEFT.store(ROOM.max(text.len()), Ordering::Relaxed);
    }
    let at = NEXT.load(Ordering::Relaxed);
    // SAFETY: so many bytes are left, they are in no other text, and the pages are never unmapped.
    let kept = unsafe {
        core::ptr::copy_nonoverlapping(text.as_ptr(), at, text.len());
        NEXT.store(at.add(text.len()), Ordering::Relaxed);
        core::slice::from_raw_parts(at, text.len())
    };
    LEFT.fetch_sub(text.len(), Ordering::Relaxed);
    Some(kept)
}
