//! Turns the options of C into values of which the handler keeps copies.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::{offset_of, size_of};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::pages;
use crate::status::{self, Status};

/// `FOLDSYM_CRASH_REGISTERS`.
const REGISTERS: u32 = 1;
/// `FOLDSYM_UNCHECKED_BUILD` has this number in the crash handler's flags.
const UNCHECKED_BUILD: u32 = 2;
const KNOWN_FLAGS: u32 = REGISTERS | UNCHECKED_BUILD;
const MODULES: usize = 1024;
const SECONDS: u32 = 10;

/// `foldsym_crash_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Options {
    size: usize,
    folder: *const c_char,
    store: *const c_char,
    program: *const c_void,
    program_len: usize,
    signals: *const c_int,
    signal_count: usize,
    module_capacity: usize,
    fd: c_int,
    json_fd: c_int,
    flags: u32,
    seconds: u32,
    reserved: [u64; 4],
}

impl Options {
    const NONE: Self = Options {
        size: size_of::<Self>(),
        folder: core::ptr::null(),
        store: core::ptr::null(),
        program: core::ptr::null(),
        program_len: 0,
        signals: core::ptr::null(),
        signal_count: 0,
        module_capacity: 0,
        fd: 0,
        json_fd: 0,
        flags: 0,
        seconds: 0,
        reserved: [0; 4],
    };

    /// Copies the caller's options, of any size that a version of this struct had.
    ///
    /// # Safety
    /// `from` is null or has as many bytes as it says.
    pub(crate) unsafe fn read(from: *const Options) -> Result<Self, Status> {
        let mut options = Self::NONE;
        if from.is_null() {
            return Ok(options);
        }
        // SAFETY: not null; its first field is its size.
        let size = unsafe { (&raw const (*from).size).read() };
        if size < offset_of!(Options, reserved) || size > 4096 {
            return Err(status::E_SIZE);
        }
        for at in 0..size {
            // SAFETY: below the size that the struct has.
            let byte = unsafe { from.cast::<u8>().add(at).read() };
            if at < size_of::<Self>() {
                // SAFETY: inside of `options`, whose fields take any bytes.
                unsafe { (&raw mut options).cast::<u8>().add(at).write(byte) };
            } else if byte != 0 {
                return Err(status::E_RESERVED);
            }
        }
        if options.reserved != [0; 4] || options.flags & !KNOWN_FLAGS != 0 {
            return Err(status::E_RESERVED);
        }
        let no_program = options.program.is_null() && options.program_len != 0;
        if no_program
            || (options.signals.is_null() && options.signal_count != 0)
            || options.fd < 0
            || options.json_fd < 0
            || options.signal_count > 64
            || options.module_capacity > 1 << 20
        {
            return Err(status::E_ARGUMENT);
        }
        Ok(options)
    }

    /// The signals that are asked for besides those of every handler.
    ///
    /// # Safety
    /// The caller's array is still there.
    pub(crate) unsafe fn signals(&self) -> &[c_int] {
        if self.signals.is_null() {
            return &[];
        }
        // SAFETY: not null, with as many as the caller says.
        unsafe { core::slice::from_raw_parts(self.signals, self.signal_count) }
    }

    /// The caller's texts may go after the call.
    fn keep_texts(&mut self) -> Option<()> {
        for text in [&mut self.folder, &mut self.store] {
            if !text.is_null() {
                // SAFETY: a text of the caller's, which is there during the call.
                let bytes = unsafe { CStr::from_ptr(*text) }.to_bytes_with_nul();
                *text = pages::keep(bytes)?.as_ptr().cast();
            }
        }
        Some(())
    }

    fn text(text: &*const c_char) -> Option<&'static [u8]> {
        // SAFETY: kept by [`Self::keep_texts`].
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(*text) }.to_bytes())
    }

    pub(crate) fn folder(&self) -> Option<&'static [u8]> {
        Self::text(&self.folder)
    }

    pub(crate) fn store(&self) -> Option<&'static [u8]> {
        Self::text(&self.store)
    }

    /// Symbols of the program that are in memory.
    pub(crate) fn program(&self) -> Option<&'static [u8]> {
        // SAFETY: the caller promises that they stay.
        (!self.program.is_null())
            .then(|| unsafe { core::slice::from_raw_parts(self.program.cast(), self.program_len) })
    }

    pub(crate) const fn is_unchecked(&self) -> bool {
        self.flags & UNCHECKED_BUILD != 0
    }

    pub(crate) const fn has_registers(&self) -> bool {
        self.flags & REGISTERS != 0
    }

    pub(crate) const fn module_capacity(&self) -> usize {
        if self.module_capacity == 0 { MODULES } else { self.module_capacity }
    }

    pub(crate) const fn descriptor(&self) -> c_int {
        if self.fd == 0 { libc::STDERR_FILENO } else { self.fd }
    }

    pub(crate) fn json_descriptor(&self) -> Option<c_int> {
        (self.json_fd != 0).then_some(self.json_fd)
    }

    /// Nanoseconds that a report may take.
    pub(crate) fn limit(&self) -> u64 {
        let seconds = if self.seconds == 0 { SECONDS } else { self.seconds };
        u64::from(seconds).wrapping_mul(1_000_000_000)
    }
}

/// The options that are in force. Each set of them stays, since a handler may read it.
pub(crate) struct InForce(AtomicPtr<Options>);

pub(crate) static OPTIONS: InForce = InForce(AtomicPtr::new(core::ptr::null_mut()));

impl InForce {
    pub(crate) fn get(&self) -> Options {
        let options = self.0.load(Ordering::Acquire);
        // SAFETY: written whole before it was stored, and never freed.
        if options.is_null() { Options::NONE } else { unsafe { options.read() } }
    }

    /// Puts options in force; `None` if there is no memory.
    pub(crate) fn set(&self, mut options: Options) -> Option<()> {
        options.keep_texts()?;
        let place = pages::pages(size_of::<Options>())?.cast::<Options>();
        // SAFETY: pages of this size.
        unsafe { place.write(options) };
        self.0.store(place, Ordering::Release);
        Some(())
    }
}
