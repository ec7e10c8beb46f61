//! Handles two failures that the system imposes: a stack that is too small, and a file that is truncated while it is mapped.
//!
//! An access to a truncated page of a mapped file ends the process by `SIGBUS`. Reading the inputs into memory instead of mapping them
//! would cost every conversion a copy. Checking the size of the file before each access would leave a race. So the command, which owns
//! its process, handles the signal: it prints the file of the address and exits with the code of bad input. The output file is complete or
//! missing, as after any other end. The libraries install no handler.
//!
//! The file is that in whose mapping the address is: one that was named here with its bytes, else the one of the system's list of mappings,
//! as the engine and the converter map files that are not named here. Only where the system has no list (it is Linux's), the files in
//! progress are printed. An address of no file has a line without a name.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Most files in progress that the handler can name.
const SLOTS: usize = 64;

/// The files in progress: lines that are never freed while the handler may read them.
static LINES: [AtomicPtr<NamedLine>; SLOTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// What is said of a file, after its name.
const CUT_SHORT: &[u8] = b": cut short or unreadable while it was read (SIGBUS)\n";

struct NamedLine {
    text: Vec<u8>,
    /// Where its bytes are; none while that is not known.
    start: AtomicUsize,
    len: AtomicUsize,
}

impl NamedLine {
    /// Whether its bytes are at this address; `None` if that is not known.
    fn holds(&self, address: usize) -> Option<bool> {
        let len = Some(self.len.load(Ordering::Acquire)).filter(|len| *len > 0)?;
        Some(address.wrapping_sub(self.start.load(Ordering::Acquire)) < len)
    }
}

/// Takes the name away again.
pub(crate) struct Named {
    slot: usize,
    line: &'static NamedLine,
}

impl Named {
    /// The bytes of the file are here from now on.
    pub(crate) fn at(self, bytes: &[u8]) -> Self {
        self.line.start.store(bytes.as_ptr().addr(), Ordering::Release);
        self.line.len.store(bytes.len(), Ordering::Release);
        self
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        // The line itself is leaked: the handler may be reading it. Some hundred bytes for each file.
        LINES[self.slot].store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// Names a file that is mapped from now on.
pub(crate) fn name(name: &str) -> Named {
    let mut text = b"foldsym: ".to_vec();
    crate::io::escape::push_escaped(&mut text, name.as_bytes());
    text.extend_from_slice(CUT_SHORT);
    let line = NamedLine { text, start: AtomicUsize::new(0), len: AtomicUsize::new(0) };
    let line: &'static NamedLine = Box::leak(Box::new(line));
    let slot = NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS;
    LINES[slot].store(std::ptr::from_ref(line).cast_mut(), Ordering::Release);
    Named { slot, line }
}

/// Finds the path of the file that is mapped at an address, in the text of `/proc/self/maps`. It takes byte after byte, as a signal handler
/// has no memory for a line.
#[cfg(unix)]
struct MapsReader {
    address: u64,
    /// Of the line: 0 and 1 are the range, then come permissions, offset, device, inode, and 6 is the path.
    field: u8,
    number: u64,
    holds: bool,
    in_path: bool,
}

#[cfg(unix)]
impl MapsReader {
    fn new(address: u64) -> Self {
        Self { address, field: 0, number: 0, holds: false, in_path: false }
    }

    /// Takes the next byte, and gives it back if it is of the path.
    fn take(&mut self, byte: u8) -> Option<u8> {
        match (self.field, byte) {
            (_, b'\n') => *self = Self::new(self.address),
            (0, b'-') => (self.holds, self.number, self.field) = (self.number <= self.address, 0, 1),
            (1, b' ') => (self.holds, self.field) = (self.holds && self.address < self.number, 2),
            (0 | 1, digit) => {
                let digit = char::from(digit).to_digit(16).unwrap_or(0);
                self.number = self.number << 4 | u64::from(digit);
            }
            (2..=5, b' ') => self.field += 1,
            (2..=5, _) => {}
            // Blanks come before the path, and may be in it.
            (_, b' ') if !self.in_path => {}
            (_, byte) => {
                // `[heap]` is no file.
                self.holds &= self.in_path || byte == b'/';
                self.in_path = true;
                return self.holds.then_some(byte);
            }
        }
        None
    }
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

    use super::{CUT_SHORT, LINES, MapsReader, NamedLine};
    use crate::io::failure::exit;

    /// Bytes of a path that are printed: the handler's stack is small.
    const MAX_PATH: usize = 1024;

    /// Writes a line and ends the process, using only what a signal handler may call: loads, `open`, `read`, `write`, `_exit`.
    extern "C" fn on_sigbus(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: with `SA_SIGINFO` the system gives a valid pointer, and for this signal an address.
        let address = unsafe { (*info).si_addr() }.addr();
        if !say_named(|line| line.holds(address) == Some(true)) {
            let found = say_mapped(address as u64);
            // Without a list of mappings any file whose bytes may be there.
            if found == Some(false) || found.is_none() && !say_named(|line| line.holds(address).is_none()) {
                say(b"foldsym: a mapped file");
                say(CUT_SHORT);
            }
        }
        // SAFETY: ends the process at once and runs no code of it.
        unsafe { libc::_exit(exit::BAD_INPUT.into()) }
    }

    fn say(bytes: &[u8]) {
        // SAFETY: pointer and length are of one slice.
        let written = unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
        // If standard error is closed, the error cannot be reported.
        let _ = written;
    }

    /// Writes the lines of the named files that are chosen; whether there was one.
    fn say_named(is_chosen: impl Fn(&NamedLine) -> bool) -> bool {
        let mut any = false;
        for line in &LINES {
            let line = line.load(Ordering::Acquire);
            if line.is_null() {
                continue;
            }
            // SAFETY: a line that was ever stored is leaked, so the pointer is valid as long as the process. Its text is never changed
            // after it was stored, and the rest is atomic.
            let line = unsafe { &*line };
            if is_chosen(line) {
                say(&line.text);
                any = true;
            }
        }
        any
    }

    /// Writes a line with the file that the system has mapped at an address. False if it is not of a file, `None` if there is no list of
    /// mappings.
    fn say_mapped(address: u64) -> Option<bool> {
        // SAFETY: the path ends with a zero byte.
        let list = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if list < 0 {
            return None;
        }
        let mut reader = MapsReader::new(address);
        let (mut bytes, mut path, mut len) = ([0; 512], [0; MAX_PATH], 0);
        loop {
            // SAFETY: pointer and length are of one array.
            let read = unsafe { libc::read(list, bytes.as_mut_ptr().cast(), bytes.len()) };
            let read = usize::try_from(read).unwrap_or(0);
            if read == 0 {
                // The process ends, so the list need not be closed.
                return Some(false);
            }
            for &byte in bytes.iter().take(read) {
                match reader.take(byte) {
                    Some(byte) => {
                        if let Some(to) = path.get_mut(len) {
                            // A terminal would obey control characters, some of which are not ASCII.
                            *to = if byte.is_ascii_control() || !byte.is_ascii() { b'?' } else { byte };
                            len += 1;
                        }
                    }
                    None if len > 0 => {
                        say(b"foldsym: ");
                        say(path.get(..len).unwrap_or(&[]));
                        say(CUT_SHORT);
                        return Some(true);
                    }
                    None => {}
                }
            }
        }
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
        action.sa_sigaction =
            on_sigbus as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as usize;
        // The default stack may be what cannot be mapped; threads of the standard library have one for signals.
        action.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
        // SAFETY: `action` is fully initialized, and the old one is not read. The handler makes only async-signal-safe calls.
        let installed = unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) };
        // Without a handler the process ends by the signal, as before.
        let _ = installed;
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::MapsReader;

    #[test]
    fn the_file_of_an_address() {
        let maps = b"1000-3000 r--p 00000000 08:01 12      /opt/my app\n3000-4000 rw-p 00000000 00:00 0\n\
            5000-6000 rw-p 00000000 00:00 0 [heap]\nffffffffff600000-ffffffffff601000 r-xp 0 00:00 7 /b";
        let path = |address: u64| {
            let mut reader = MapsReader::new(address);
            String::from_utf8(maps.iter().filter_map(|byte| reader.take(*byte)).collect()).unwrap()
        };
        for (address, expected) in [
            (0xfff, ""),
            (0x1000, "/opt/my app"),
            (0x2fff, "/opt/my app"),
            (0x3000, ""),
            (0x5000, ""),
            (0xffff_ffff_ff60_0000, "/b"),
            (u64::MAX, ""),
        ] {
            assert_eq!(path(address), expected, "{address:#x}");
        }
    }
}
