//! Turns the loader's list into the table of modules that the handler reads.
//!
//! The table only grows: a module is written whole before the count says that it is there, so that a handler in another thread
//! sees whole modules without a lock. A module that was unloaded is marked, and its place is used again when the same file is
//! loaded at the same place.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::size_of;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use foldsym_lookup::SymbolFile;
use foldsym_unwind::Unwind;

use crate::elf::{self, Range, Symbols};
use crate::files::{self, Found};
use crate::pages;
use crate::status::{self, Status};

/// Segments of a module that are kept; compilers and linkers make four to six.
const SEGMENTS: usize = 12;
/// Bytes of a build id that are kept; sha-256 has 32.
const BUILD_ID: usize = 64;

/// A program or library of this process.
pub(crate) struct Module {
    pub(crate) is_loaded: AtomicBool,
    pub(crate) range: Range,
    pub(crate) bias: u64,
    segments: [Range; SEGMENTS],
    code: [bool; SEGMENTS],
    build_id: ([u8; BUILD_ID], usize),
    /// Its path; it stays.
    pub(crate) name: &'static [u8],
    /// Where its symbols are, or why there are none.
    pub(crate) symbols: Found,
    pub(crate) file: Option<SymbolFile<'static>>,
    /// Where `.eh_frame` is, of a module without `.eh_frame_hdr` (GNU ld, `-static`).
    pub(crate) eh_frame: Range,
    pub(crate) unwind: Option<Unwind<'static>>,
    /// Where `.eh_frame_hdr` is; 0 for none.
    pub(crate) eh_frame_hdr: u64,
    pub(crate) dynsym: Symbols<'static>,
    pub(crate) symtab: Symbols<'static>,
}

impl Module {
    pub(crate) fn build_id(&self) -> &[u8] {
        self.build_id.0.get(..self.build_id.1).unwrap_or_default()
    }

    /// The segment that has an address.
    pub(crate) fn segment(&self, address: u64) -> Option<&Range> {
        self.segments.iter().find(|segment| segment.has(address))
    }

    /// Whether code is at an address.
    pub(crate) fn has_code(&self, address: u64) -> bool {
        self.segments.iter().zip(self.code).any(|(segment, code)| code && segment.has(address))
    }

    /// The last component of its path.
    pub(crate) fn short_name(&self) -> &'static [u8] {
        self.name.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
    }
}

/// The table.
pub(crate) struct Modules {
    first: AtomicPtr<Module>,
    count: AtomicUsize,
    capacity: UnsafeCell<usize>,
    busy: AtomicBool,
}

// SAFETY: `capacity` is written and read under `busy` alone; modules below `count` are not written again but for their atomics.
unsafe impl Sync for Modules {}

pub(crate) static MODULES: Modules = Modules {
    first: AtomicPtr::new(core::ptr::null_mut()),
    count: AtomicUsize::new(0),
    capacity: UnsafeCell::new(0),
    busy: AtomicBool::new(false),
};

/// What a refresh passes through the loader's callback.
struct Refresh {
    capacity: usize,
    /// Index in the loader's list.
    index: usize,
    seen: *mut u8,
    status: Status,
}

impl Modules {
    /// All modules that were ever added, in order.
    pub(crate) fn all(&self) -> &'static [Module] {
        let first = self.first.load(Ordering::Acquire);
        if first.is_null() {
            return &[];
        }
        // SAFETY: so many modules were written before the count was, and none of them is freed.
        unsafe { core::slice::from_raw_parts(first, self.count.load(Ordering::Acquire)) }
    }

    /// The index of the loaded module that has an address; of several the one that was added last.
    pub(crate) fn find(&self, address: u64) -> Option<(usize, &'static Module)> {
        let all = self.all().iter().enumerate().rev();
        all.into_iter()
            .find(|(_, module)| module.range.has(address) && module.is_loaded.load(Ordering::Acquire))
    }

    /// Whether code of a loaded module is at an address.
    pub(crate) fn has_code(&self, address: u64) -> bool {
        self.find(address).is_some_and(|(_, module)| module.has_code(address))
    }

    /// Reads the loader's list: adds what is new, marks what is gone. `capacity` counts the first time.
    pub(crate) fn refresh(&self, capacity: usize) -> Status {
        if self.busy.swap(true, Ordering::Acquire) {
            return status::E_BUSY;
        }
        let status = self.refresh_alone(capacity);
        self.busy.store(false, Ordering::Release);
        status
    }

    fn refresh_alone(&self, capacity: usize) -> Status {
        // SAFETY: `busy` is held.
        let room = unsafe { &mut *self.capacity.get() };
        if *room == 0 {
            // Pages that no module fills are never touched, and take no memory.
            let Some(bytes) = pages::pages(capacity.saturating_mul(size_of::<Module>())) else {
                return status::E_MEMORY;
            };
            *room = capacity;
            self.first.store(bytes.cast(), Ordering::Release);
        }
        let Some(seen) = pages::pages(*room) else { return status::E_MEMORY };
        let mut refresh = Refresh { capacity: *room, index: 0, seen, status: status::OK };
        // SAFETY: the callback has the type that the C library calls, and `refresh` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut refresh).cast()) };
        for (index, module) in self.all().iter().enumerate() {
            // SAFETY: `seen` has a byte for each module.
            let is_seen = unsafe { seen.add(index).read() } != 0;
            module.is_loaded.store(is_seen, Ordering::Release);
        }
        // SAFETY: mapped above with this length.
        unsafe { libc::munmap(seen.cast(), *room) };
        refresh.status
    }

    /// Adds one module of the loader's list, unless it is there.
    ///
    /// # Safety
    /// Called by the loader with one of its modules.
    unsafe fn add(&self, info: &libc::dl_phdr_info, refresh: &mut Refresh) {
        let is_program = refresh.index == 0;
        refresh.index = refresh.index.wrapping_add(1);
        // SAFETY: the loader's list of headers.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        // SAFETY: a text of the loader's, where it has one.
        let name = unsafe { if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) } };
        let mut module = Module {
            is_loaded: AtomicBool::new(true),
            range: Range { start: u64::MAX, end: 0 },
            bias: info.dlpi_addr,
            segments: [Range::default(); SEGMENTS],
            code: [false; SEGMENTS],
            build_id: ([0; BUILD_ID], 0),
            name: &[],
            symbols: Found::NONE,
            file: None,
            eh_frame: Range::default(),
            unwind: None,
            eh_frame_hdr: 0,
            dynsym: Symbols::NONE,
            symtab: Symbols::NONE,
        };
        module.read_headers(headers);
        if module.range.start >= module.range.end {
            return;
        }
        let mut path = [0u8; files::PATH];
        let name = name_of(name.to_bytes(), is_program, &module.range, &mut path);
        for (index, known) in self.all().iter().enumerate() {
            let is_same = known.name == name
                && known.range.start == module.range.start
                && known.range.end == module.range.end
                && known.build_id() == module.build_id();
            // SAFETY: `seen` has a byte for each module.
            let seen = unsafe { refresh.seen.add(index) };
            // SAFETY: as above.
            if is_same && unsafe { seen.read() } == 0 {
                // SAFETY: as above.
                unsafe { seen.write(1) };
                return;
            }
        }
        let count = self.count.load(Ordering::Relaxed);
        let Some(name) = pages::keep(name).filter(|_| count < refresh.capacity) else {
            refresh.status = status::E_FULL;
            return;
        };
        module.name = name;
        module.find_symbols(self.all(), is_program);
        // SAFETY: there is room for the module, and nobody reads it before the count has it; `seen` has a byte for it.
        unsafe {
            self.first.load(Ordering::Relaxed).add(count).write(module);
            refresh.seen.add(count).write(1);
        }
        self.count.store(count.wrapping_add(1), Ordering::Release);
    }
}

/// The path of a module. The loader lists the program first: glibc without a name, static musl as `/proc/self/exe`. The vDSO has no name
/// with dynamic musl.
fn name_of<'p>(name: &'p [u8], is_program: bool, range: &Range, path: &'p mut [u8]) -> &'p [u8] {
    if is_program {
        // SAFETY: writes at most the length of the buffer.
        let len = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
        return usize::try_from(len).ok().and_then(|len| path.get(..len)).unwrap_or(name);
    }
    // SAFETY: reads the auxiliary vector.
    let vdso = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    if name.is_empty() && range.has(vdso) { b"[vdso]" } else { name }
}

impl Module {
    fn read_headers(&mut self, headers: &[libc::Elf64_Phdr]) {
        let mut dynamic = Range::default();
        let range = |header: &libc::Elf64_Phdr, bias: u64| {
            let start = header.p_vaddr.wrapping_add(bias);
            Range { start, end: start.wrapping_add(header.p_memsz) }
        };
        let mut slots = self.segments.iter_mut().zip(self.code.iter_mut());
        for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_memsz > 0) {
            let loaded = range(header, self.bias);
            self.range.start = self.range.start.min(loaded.start);
            self.range.end = self.range.end.max(loaded.end);
            if header.p_flags & libc::PF_R != 0
                && let Some((slot, code)) = slots.next()
            {
                (*slot, *code) = (loaded, header.p_flags & libc::PF_X != 0);
            }
        }
        for header in headers {
            let here = range(header, self.bias);
            match header.p_type {
                libc::PT_DYNAMIC => dynamic = here,
                libc::PT_GNU_EH_FRAME => self.eh_frame_hdr = here.start,
                libc::PT_NOTE if self.build_id.1 == 0 && self.segment(here.start).is_some() => {
                    // SAFETY: the loader has mapped it, and does not unload it while it calls back.
                    let notes = unsafe { here.bytes(here.start) };
                    let id = elf::build_id(notes, header.p_align).unwrap_or_default();
                    if let Some(place) = self.build_id.0.get_mut(..id.len()) {
                        elf::copy(place, id);
                        self.build_id.1 = id.len();
                    }
                }
                _ => {}
            }
        }
        if self.segment(dynamic.start).is_some() {
            // SAFETY: mapped as above. A handler reads the table only after it has seen that its pages are there.
            let symbols =
                unsafe { elf::dynamic_symbols(dynamic.bytes(dynamic.start), &self.segments, self.bias) };
            self.dynsym = symbols.unwrap_or(Symbols::NONE);
        }
    }

    /// Opens its symbols, or takes those of a module of the same file and build.
    fn find_symbols(&mut self, known: &[Module], is_program: bool) {
        let same = |other: &&Module| {
            other.name == self.name && !self.build_id().is_empty() && other.build_id() == self.build_id()
        };
        if let Some(other) = known.iter().find(same) {
            (self.symbols, self.file, self.symtab) = (other.symbols, other.file, other.symtab);
        } else {
            let opened = files::find(self.name, is_program, self.build_id());
            (self.symbols, self.file, self.symtab) = (opened.found, opened.file, opened.symtab);
            if self.eh_frame_hdr == 0 {
                let at = |address: u64| address.wrapping_add(self.bias);
                self.eh_frame = Range { start: at(opened.eh_frame.start), end: at(opened.eh_frame.end) };
            }
        }
        self.unwind = self.file.as_ref().and_then(|file| file.unwind().ok().flatten());
    }
}

/// The loader's callback.
unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, context: *mut c_void) -> c_int {
    // SAFETY: the loader passes a module of its list, and the pointer that [`Modules::refresh_alone`] gave it.
    unsafe { MODULES.add(&*info, &mut *context.cast::<Refresh>()) };
    0
}
