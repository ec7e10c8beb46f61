//! Tier 2 for C: paths and many addresses. Allocates, and is not for signal handlers.

use core::ffi::{CStr, c_char};

use std::boxed::Box;
use std::fs;
use std::path::Path;
use std::vec::Vec;

use foldsym_lookup::SymbolFile;
use memmap2::Mmap;

use super::{array, buffer, open_file, put, read_input};
use crate::tier1;
use crate::tier2::{self, Module, NoMemory, Table};
use crate::types::{
    self, Addresses, Damage, FOLDSYM_E_ARGUMENT, FOLDSYM_E_DAMAGED, FOLDSYM_E_IO, FOLDSYM_E_MEMORY,
    FOLDSYM_E_RESERVED, FOLDSYM_E_SIZE, FOLDSYM_FOREIGN, FOLDSYM_OK, File, Modules, StackRequest, Symbols,
};

/// A mapped file: `foldsym_map` of the header.
pub struct Map {
    /// Borrows from `map`, which does not move the bytes that it maps; so it is dropped with it.
    file: File,
    map: Mmap,
}

/// Symbols with all that they point to; C sees the first field.
#[repr(C)]
struct Owned {
    symbols: Symbols,
    table: Table,
}

/// Maps a file and opens it.
///
/// # Safety
/// `path` ends with a zero; `out` is writable; `damage` is null or writable. The file must not be cut short
/// while it is mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_map_open(
    path: *const c_char,
    out: *mut *mut Map,
    damage: *mut Damage,
) -> i32 {
    if path.is_null() || out.is_null() {
        return FOLDSYM_E_ARGUMENT;
    }
    // SAFETY: not null, and the caller promises a zero at its end and room for a pointer.
    let path = unsafe {
        out.write(core::ptr::null_mut());
        CStr::from_ptr(path)
    };
    let Some(file) = open_path(path) else { return FOLDSYM_E_IO };
    // SAFETY: the caller promises that the file is not truncated. If its bytes change, answers are wrong or missing, since the reader
    // checks each byte that it reads.
    let Ok(map) = (unsafe { Mmap::map(&file) }) else { return FOLDSYM_E_IO };
    // SAFETY: the mapping does not move until `Map` is dropped, and the opened file is dropped with it.
    let bytes: &'static [u8] = unsafe { core::slice::from_raw_parts(map.as_ptr(), map.len()) };
    match SymbolFile::open(bytes) {
        Ok(opened) => {
            let mut owned = Box::new(Map { file: File { tag: 0, opaque: [0; 191] }, map });
            // SAFETY: both are ours, or promised above.
            unsafe {
                put(&raw mut owned.file, &opened);
                out.write(Box::into_raw(owned));
            }
            FOLDSYM_OK
        }
        Err(error) => {
            if !damage.is_null() {
                // SAFETY: not null, and writable.
                unsafe { damage.write(tier1::damage(error)) };
            }
            FOLDSYM_E_DAMAGED
        }
    }
}

/// Opens a regular file that is not empty: what can be mapped.
fn open_path(path: &CStr) -> Option<fs::File> {
    #[cfg(unix)]
    let path = Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path.to_bytes()));
    #[cfg(not(unix))]
    let path = Path::new(path.to_str().ok()?);
    // Checked first: opening a pipe would wait for its writer.
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() == 0 {
        return None;
    }
    fs::File::open(path).ok()
}

/// The opened file of a mapping, for all of tier 1; null for null.
///
/// # Safety
/// `map` is null or comes from `foldsym_map_open` and is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_map_file(map: *const Map) -> *const File {
    // SAFETY: not null, and open.
    if map.is_null() { core::ptr::null() } else { unsafe { &raw const (*map).file } }
}

/// Unmaps a file. Null is allowed.
///
/// # Safety
/// `map` is null or comes from `foldsym_map_open`; neither it nor its file is used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_map_close(map: *mut Map) {
    if !map.is_null() {
        // SAFETY: it came from `Box::into_raw`, and is closed once.
        let owned = unsafe { Box::from_raw(map) };
        drop(owned.map);
    }
}

/// Looks up many addresses, with all texts.
///
/// # Safety
/// `file` is open; `addresses` is as the header has it; `out` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_symbolize(
    file: *const File,
    addresses: *const Addresses,
    out: *mut *mut Symbols,
) -> i32 {
    // SAFETY: as promised above.
    unsafe {
        if out.is_null() {
            return FOLDSYM_E_ARGUMENT;
        }
        out.write(core::ptr::null_mut());
        let Some(file) = open_file(file) else { return FOLDSYM_E_ARGUMENT };
        let wanted = match read_input(addresses) {
            Ok(wanted) => wanted,
            Err(status) => return status,
        };
        let Some(addresses) = array(wanted.addresses, wanted.count) else { return FOLDSYM_E_ARGUMENT };
        if tier1::stack_addr(wanted.kind, 0, 0).is_none() {
            return FOLDSYM_E_ARGUMENT;
        }
        if !tier2::known_flags(wanted.flags) {
            return FOLDSYM_E_RESERVED;
        }
        hand_over(tier2::symbolize(file, &wanted, addresses), out)
    }
}

/// Passes an answer to C.
///
/// # Safety
/// `out` is writable.
unsafe fn hand_over(table: Result<Table, NoMemory>, out: *mut *mut Symbols) -> i32 {
    let Ok(table) = table else { return FOLDSYM_E_MEMORY };
    let symbols = Symbols { symbols: table.symbols.as_ptr(), count: table.symbols.len() };
    // SAFETY: the caller's promise. `symbols` is the first field of a `repr(C)` struct: a pointer to one is a pointer to the
    // other.
    unsafe { out.write(Box::into_raw(Box::new(Owned { symbols, table })).cast()) };
    FOLDSYM_OK
}

/// The modules of a caller's table.
///
/// # Safety
/// The table is as the header has it; its files are open for `'f`.
unsafe fn modules<'f>(table: &Modules) -> Result<Vec<Module<'f>>, i32> {
    let stride = table.module_size;
    if stride < size_of::<types::Module>() || !stride.is_multiple_of(align_of::<types::Module>()) {
        return Err(FOLDSYM_E_SIZE);
    }
    let len = table.count.checked_mul(stride).filter(|len| *len <= isize::MAX as usize);
    if len.is_none() || table.count > table.capacity || (table.modules.is_null() && table.count != 0) {
        return Err(FOLDSYM_E_ARGUMENT);
    }
    let mut all = Vec::new();
    all.try_reserve_exact(table.count).map_err(|_| FOLDSYM_E_MEMORY)?;
    for index in 0..table.count {
        // SAFETY: the caller has `count` modules of that size there.
        let module: types::Module = unsafe {
            table.modules.cast::<u8>().wrapping_add(index.wrapping_mul(stride)).cast::<types::Module>().read()
        };
        if module.reserved != 0 {
            return Err(FOLDSYM_E_RESERVED);
        }
        let types::Module { start, end, load_bias, name, status, .. } = module;
        // SAFETY: null, or open, or zeroed.
        let file = unsafe { open_file(module.file) };
        all.push(Module { start, end, load_bias, file, name, status });
    }
    Ok(all)
}

/// Answers a stack over many modules, with all texts.
///
/// # Safety
/// `table` and `request` are as the header has them, the table's files open; `out` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_symbolize_stack(
    table: *const Modules,
    request: *const StackRequest,
    out: *mut *mut Symbols,
) -> i32 {
    // SAFETY: as promised above.
    unsafe {
        if out.is_null() {
            return FOLDSYM_E_ARGUMENT;
        }
        out.write(core::ptr::null_mut());
        let (table, request) = match (read_input(table), read_input(request)) {
            (Ok(table), Ok(request)) => (table, request),
            (Err(status), _) | (_, Err(status)) => return status,
        };
        if !tier2::known_flags(request.flags) {
            return FOLDSYM_E_RESERVED;
        }
        let Some(entries) = array(request.entries, request.count) else { return FOLDSYM_E_ARGUMENT };
        if entries.iter().any(|entry| entry.reserved != 0) {
            return FOLDSYM_E_RESERVED;
        }
        if entries.iter().any(|entry| entry.kind > FOLDSYM_FOREIGN) {
            return FOLDSYM_E_ARGUMENT;
        }
        let modules = match modules(&table) {
            Ok(modules) => modules,
            Err(status) => return status,
        };
        hand_over(tier2::symbolize_stack(&modules, entries, request.vptr, request.flags), out)
    }
}

/// Writes the readable name of a linkage name, in the way of `foldsym_write_name`.
///
/// # Safety
/// `name` ends with a zero; `out` is null or has `len` writable bytes, which do not overlap the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_demangle(name: *const c_char, out: *mut c_char, len: usize) -> usize {
    // SAFETY: as promised above.
    let (name, out) = unsafe {
        let name = if name.is_null() { None } else { Some(CStr::from_ptr(name)) };
        (name, buffer(out, len))
    };
    let readable = name.and_then(|name| foldsym_demangle::demangle(name.to_bytes()));
    if let Some(text) = &readable {
        let cut = text.len().min(out.len().saturating_sub(1));
        if let (Some(place), Some(text)) = (out.get_mut(..cut), text.as_bytes().get(..cut)) {
            place.copy_from_slice(text);
        }
    }
    tier1::terminate(out, readable.map(|text| text.len()))
}

/// Frees the result of `foldsym_symbolize`. Null is allowed.
///
/// # Safety
/// `symbols` is null or comes from `foldsym_symbolize`, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldsym_symbols_free(symbols: *mut Symbols) {
    if !symbols.is_null() {
        // SAFETY: it came from `Box::into_raw` of an `Owned`, and is freed once.
        let owned = unsafe { Box::from_raw(symbols.cast::<Owned>()) };
        drop(owned.table);
    }
}
