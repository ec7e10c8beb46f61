//! Unwinds frames for C by the section UNWIND (`include/foldsym_unwind.h`): registers of a frame in, those of its caller out.
//!
//! The C caller promises the following for every function, and each safety proof below relies on it: a pointer points to memory of the
//! stated type that no other thread writes during the call; the bytes of an opened file live as long as its `foldsym_unwind` is used. The
//! library allocates nothing, takes no lock, makes no system call, and calls back only the function that reads memory.

#![no_std]
#![warn(missing_docs)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::unwrap_used, clippy::expect_used)]

use core::ffi::{c_int, c_void};
use core::mem::{align_of, size_of};

use foldsym_format::header::HEADER_LEN;
use foldsym_format::{DirectoryEntry, Header, SectionId};
use foldsym_unwind::{Frame, Machine, Process, Registers, Step, Stop, Unwind};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

const OK: c_int = 0;
const NO_ENTRY: c_int = 2;
const OUTERMOST: c_int = 3;
const LOST: c_int = 6;
const STUCK: c_int = 7;
const E_ARGUMENT: c_int = -1;
const E_DAMAGED: c_int = -4;

/// Marks a struct that is open ("fsymunwd").
const TAG: u64 = u64::from_le_bytes(*b"fsymunwd");
/// Registers of [`Walk`]: as many as AArch64 has.
const REGISTERS: usize = 33;

/// `foldsym_unwind`.
#[repr(C)]
pub struct Opened {
    tag: u64,
    machine: u32,
    reserved: u32,
    opaque: [u64; 64],
}

const _: () = assert!(
    size_of::<Unwind<'static>>() <= size_of::<[u64; 64]>()
        && align_of::<Unwind<'static>>() <= align_of::<u64>()
);

/// `foldsym_walk`.
#[repr(C)]
pub struct Walk {
    size: usize,
    exact: u32,
    reserved: u32,
    known: u64,
    registers: [u64; REGISTERS],
}

/// `foldsym_read`.
type Read = unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> c_int;

/// Opens the section of a file.
///
/// # Safety
/// See `include/foldsym_unwind.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_unwind_open(data: *const c_void, len: usize, out: *mut Opened) -> c_int {
    if data.is_null() || out.is_null() || len > isize::MAX as usize {
        return E_ARGUMENT;
    }
    // SAFETY: not null, readable for `len` bytes as the caller promises, and not longer than an object can be.
    let bytes: &'static [u8] = unsafe { core::slice::from_raw_parts(data.cast(), len) };
    let (machine, unwind) = match open(bytes) {
        Ok(Some(found)) => found,
        Ok(None) => return NO_ENTRY,
        Err(()) => return E_DAMAGED,
    };
    // SAFETY: `out` is valid for writes of its type, and the assertion above proves that `opaque` has room for the value.
    unsafe {
        (&raw mut (*out).opaque).cast::<Unwind<'static>>().write(unwind);
        (&raw mut (*out).machine).write(machine);
        (&raw mut (*out).reserved).write(0);
        (&raw mut (*out).tag).write(TAG);
    }
    OK
}

/// Machine and section of a file; `None` if it has no section, or is of a processor that cannot be stepped on.
fn open(bytes: &'static [u8]) -> Result<Option<(u32, Unwind<'static>)>, ()> {
    let header = Header::parse(bytes).map_err(|_| ())?;
    if header.file_len != bytes.len() as u64 {
        return Err(());
    }
    if Machine::of_elf(header.machine).is_none() || header.address_size != 8 {
        return Ok(None);
    }
    let directory = bytes.get(HEADER_LEN..).ok_or(())?;
    for index in 0..header.section_count as usize {
        let entry = DirectoryEntry::parse(directory, index).ok_or(())?;
        if entry.id != SectionId::UNWIND {
            continue;
        }
        let end = entry.offset.checked_add(entry.len).and_then(|end| usize::try_from(end).ok()).ok_or(())?;
        let section = usize::try_from(entry.offset).ok().and_then(|start| bytes.get(start..end)).ok_or(())?;
        let unwind = Unwind::open(section, header.image_base).map_err(|_| ())?;
        return Ok(Some((header.machine.into(), unwind)));
    }
    Ok(None)
}

/// The caller's memory, by the caller's function.
struct Memory {
    read: Read,
    context: *mut c_void,
}

impl Process for Memory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
        // SAFETY: the caller's function takes an address and a buffer of so many bytes.
        let read = unsafe { (self.read)(self.context, address, bytes.as_mut_ptr().cast(), bytes.len()) };
        (read != 0).then_some(())
    }

    fn strip(&self, address: u64) -> u64 {
        // Pointer authentication of AArch64 is above the 48 bits of an address; x86-64's addresses of programs have 47.
        if cfg!(target_arch = "aarch64") { address & 0x0000_ffff_ffff_ffff } else { address }
    }
}

/// Goes to the caller of a frame.
///
/// # Safety
/// See `include/foldsym_unwind.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_unwind_step(
    unwind: *const Opened,
    load_bias: u64,
    walk: *mut Walk,
    read: Option<Read>,
    context: *mut c_void,
) -> c_int {
    let Some(read) = read else { return E_ARGUMENT };
    if unwind.is_null() || walk.is_null() {
        return E_ARGUMENT;
    }
    // SAFETY: not null; a struct whose tag is ours was written by `foldsym_unwind_open`.
    let (machine, module) = unsafe {
        if (&raw const (*unwind).tag).read() != TAG {
            return E_ARGUMENT;
        }
        ((&raw const (*unwind).machine).read(), &*(&raw const (*unwind).opaque).cast::<Unwind<'static>>())
    };
    let machine = u16::try_from(machine).ok().and_then(Machine::of_elf);
    // SAFETY: not null, initialized, and used by no other thread during the call.
    let walk = unsafe { &mut *walk };
    let Some(machine) = machine.filter(|_| walk.size == size_of::<Walk>() && walk.reserved == 0) else {
        return E_ARGUMENT;
    };
    let mut registers = Registers::new(machine);
    for (number, value) in (0u64..).zip(walk.registers) {
        if walk.known.wrapping_shr(number as u32) & 1 != 0 {
            registers.set(number, value);
        }
    }
    let mut frame = if walk.exact != 0 { Frame::innermost(registers) } else { Frame::caller(registers) };
    match frame.step(module, load_bias, &mut Memory { read, context }) {
        Ok(Step::Outermost) => return OUTERMOST,
        Ok(Step::Caller) => {}
        Err(Stop::NoEntry) => return NO_ENTRY,
        Err(Stop::Stuck) => return STUCK,
        Err(Stop::Damaged(_)) => return E_DAMAGED,
        Err(_) => return LOST,
    }
    walk.known = 0;
    for (number, slot) in (0u64..).zip(&mut walk.registers) {
        if let Some(value) = frame.registers().get(number) {
            *slot = value;
            walk.known |= 1u64.wrapping_shl(number as u32);
        }
    }
    walk.exact = frame.is_exact().into();
    OK
}
