//! Tier 1 for C: async-signal-safe, over memory of the caller's.

use core::ffi::{c_char, c_void};
use core::mem::size_of;
use core::ptr;

use foldsym_lookup::{Error, FileId, ImageAddr, NameId, Resolved, StackAddr, SymbolFile};

use super::{array, buffer, get, open_file, output_size, put, read_input, scratch, write_output};
use crate::tier1::{self, Status};
use crate::types::{
    self, Answer, Damage, FOLDSYM_E_ARGUMENT, FOLDSYM_E_DAMAGED, FOLDSYM_E_SIZE, FOLDSYM_NONE, FOLDSYM_OK,
    File, Frame, Frames, Info, Query, Stack,
};

fn status(result: Result<Status, Error>) -> Status {
    result.unwrap_or(FOLDSYM_E_DAMAGED)
}

/// Opens a file that is entirely in memory. Takes constant time.
///
/// # Safety
/// `file` is writable; `bytes` has `len` bytes that stay as long as the file is used; `damage` is null or
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_open(
    file: *mut File,
    bytes: *const c_void,
    len: usize,
    damage: *mut Damage,
) -> i32 {
    // SAFETY: the bytes stay while the file is used, which is what `'static` means here.
    let bytes: Option<&'static [u8]> = unsafe { array(bytes.cast(), len) };
    let (false, Some(bytes)) = (file.is_null(), bytes) else { return FOLDSYM_E_ARGUMENT };
    match SymbolFile::open(bytes) {
        Ok(opened) => {
            // SAFETY: not null, and writable.
            unsafe { put(file, &opened) };
            FOLDSYM_OK
        }
        Err(error) => {
            // SAFETY: both are writable unless null. A file that failed to open is not set up.
            unsafe {
                (&raw mut (*file).tag).write(0);
                if !damage.is_null() {
                    damage.write(tier1::damage(error));
                }
            }
            FOLDSYM_E_DAMAGED
        }
    }
}

/// Returns the data of an open file.
///
/// # Safety
/// `file` is open; `info` is writable and its size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_file_info(file: *const File, info: *mut Info) -> i32 {
    // SAFETY: as promised above; `info` is written once.
    unsafe {
        let Some(file) = open_file(file) else { return FOLDSYM_E_ARGUMENT };
        let size = match output_size(info) {
            Ok(size) => size,
            Err(status) => return status,
        };
        write_output(info, size, &tier1::info(file, size));
    }
    FOLDSYM_OK
}

/// Finds the function at an address and its inlined frames, which are left in `frames`.
///
/// # Safety
/// `file` is open; the others are null or point to structs as the header has them, `answer` and `frames`
/// writable; `frames` was zeroed before its first use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_lookup(
    file: *const File,
    query: *const Query,
    frames: *mut Frames,
    answer: *mut Answer,
) -> i32 {
    // SAFETY: as promised above; C's structs do not overlap, since each is a whole object.
    unsafe {
        let Some(frames) = scratch(frames) else { return FOLDSYM_E_ARGUMENT };
        frames.clear();
        let Some(file) = open_file(file) else { return FOLDSYM_E_ARGUMENT };
        let query = match read_input(query) {
            Ok(query) => query,
            Err(status) => return status,
        };
        let size = match output_size(answer) {
            Ok(size) => size,
            Err(status) => return status,
        };
        let resolved = get(query.resolved);
        if resolved.is_none() && !query.resolved.is_null() {
            return FOLDSYM_E_ARGUMENT;
        }
        let mut out = empty_answer(size);
        let status = status(tier1::lookup(file, &query, resolved, frames, &mut out));
        if status != FOLDSYM_OK {
            frames.clear();
        }
        write_output(answer, size, &out);
        status
    }
}

fn empty_answer(size: usize) -> Answer {
    Answer {
        size,
        certainty: types::FOLDSYM_UNKNOWN,
        evidence: types::FOLDSYM_BY_NOTHING,
        candidate_count: 0,
        group: FOLDSYM_NONE,
        frame_count: 0,
        flags: 0,
        function_start: 0,
        reason: types::FOLDSYM_FOR_NOTHING,
        reserved: 0,
    }
}

/// Reads frame `index` of the last lookup's `frames`, innermost first.
///
/// # Safety
/// `file` is open; `frames` comes from `foldsym_lookup` or is zeroed; `frame` is writable and its size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_frame_at(
    file: *const File,
    frames: *const Frames,
    index: u32,
    frame: *mut Frame,
) -> i32 {
    // SAFETY: as promised above.
    unsafe {
        let (Some(file), Some(frames)) = (open_file(file), get(frames)) else { return FOLDSYM_E_ARGUMENT };
        let size = match output_size(frame) {
            Ok(size) => size,
            Err(status) => return status,
        };
        match tier1::frame(file, frames, index, size) {
            Ok(Some(found)) => {
                write_output(frame, size, &found);
                FOLDSYM_OK
            }
            Ok(None) => types::FOLDSYM_END,
            Err(_) => FOLDSYM_E_DAMAGED,
        }
    }
}

/// Says for each frame of a stack which of the functions that share its code ran.
///
/// # Safety
/// `file` is open; `stack` is as the header has it, its arrays have `count` elements of the stated size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_resolve_stack(file: *const File, stack: *const Stack) -> i32 {
    // SAFETY: as promised above.
    let (file, stack) = unsafe {
        let Some(file) = open_file(file) else { return FOLDSYM_E_ARGUMENT };
        match read_input(stack) {
            Ok(stack) => (file, stack),
            Err(status) => return status,
        }
    };
    let stride = stack.resolved_size;
    if stride < size_of::<types::Resolved>() || !stride.is_multiple_of(align_of::<types::Resolved>()) {
        return FOLDSYM_E_SIZE;
    }
    // SAFETY: the caller has `count` entries there.
    let entries = unsafe { array(stack.entries, stack.count) };
    let room = stack.count.checked_mul(stride).is_some_and(|len| len <= isize::MAX as usize);
    let Some(entries) = entries.filter(|_| room && (!stack.resolved.is_null() || stack.count == 0)) else {
        return FOLDSYM_E_ARGUMENT;
    };
    let at = |index: usize| stack.resolved.cast::<u8>().wrapping_add(index.wrapping_mul(stride)).cast();
    for index in 0..entries.len() {
        // SAFETY: `index` is below `count`, and the caller has room for that many.
        unsafe {
            let at: *mut types::Resolved = at(index);
            ptr::write_bytes(at.cast::<u8>(), 0, stride);
            write_resolved(at, &Resolved::NONE);
        }
    }
    // From the outermost frame in: a frame is resolved from its caller.
    let mut caller: Option<(StackAddr, Resolved)> = None;
    for (index, entry) in entries.iter().enumerate().rev() {
        if entry.reserved != 0 {
            return types::FOLDSYM_E_RESERVED;
        }
        let Some(address) = tier1::stack_addr(entry.kind, entry.address, stack.load_bias) else {
            return FOLDSYM_E_ARGUMENT;
        };
        let caller_now = caller.as_ref().map(|(address, resolved)| (*address, resolved));
        match file.resolve_one(address, caller_now) {
            Ok(mut resolved) => {
                // As the addresses: the bias may wrap.
                let vptr = Some(stack.vptr.wrapping_sub(stack.load_bias));
                let vptr = vptr.filter(|_| stack.vptr != 0 && index == 0);
                if let Some(vptr) = vptr
                    && file
                        .resolve_object(&mut resolved, ImageAddr(vptr), caller.map(|caller| caller.0))
                        .is_err()
                {
                    return FOLDSYM_E_DAMAGED;
                }
                // SAFETY: as above.
                unsafe { write_resolved(at(index), &resolved) };
                caller = Some((address, resolved));
            }
            Err(_) => return FOLDSYM_E_DAMAGED,
        }
    }
    FOLDSYM_OK
}

/// Writes one resolved frame.
///
/// # Safety
/// `at` is valid for writes.
unsafe fn write_resolved(at: *mut types::Resolved, resolved: &Resolved) {
    // SAFETY: the caller's promise.
    unsafe {
        at.write(tier1::resolved(resolved));
        put(at, resolved);
    }
}

/// Writes a function's name to `out`, truncated to fit, with a terminating zero; returns its whole length.
///
/// # Safety
/// `file` is open; `out` is null or has `len` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_write_name(
    file: *const File,
    name: u32,
    out: *mut c_char,
    len: usize,
) -> usize {
    // SAFETY: as promised above.
    let (file, out) = unsafe { (open_file(file), buffer(out, len)) };
    let room = out.len().saturating_sub(1);
    let whole = match name {
        FOLDSYM_NONE => Some(0),
        name => file.and_then(|file| file.write_name(NameId(name), out.get_mut(..room)?)),
    };
    tier1::terminate(out, whole)
}

/// Writes a path to `out`, truncated to fit, with a terminating zero; returns its whole length.
///
/// # Safety
/// `file` is open; `out` is null or has `len` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_write_path(
    file: *const File,
    path: u32,
    out: *mut c_char,
    len: usize,
) -> usize {
    // SAFETY: as promised above.
    let (file, out) = unsafe { (open_file(file), buffer(out, len)) };
    let room = out.len().saturating_sub(1);
    let whole = match path {
        FOLDSYM_NONE => Some(0),
        path => file.and_then(|file| file.write_path(FileId(path), out.get_mut(..room)?)),
    };
    tier1::terminate(out, whole)
}

/// The text of a function's return value; never null.
#[unsafe(no_mangle)]
pub extern "C" fn foldsym_status_text(status: i32) -> *const c_char {
    tier1::status_text(status).as_ptr()
}
