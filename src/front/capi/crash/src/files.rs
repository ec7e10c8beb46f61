//! Turns the path and build id of a module into its symbols: opened, mapped and read once, before anything crashes.

use foldsym_format::header::VERSION;
use foldsym_lookup::SymbolFile;

use crate::elf::{self, Range, Sections, Symbols};
use crate::options::OPTIONS;
use crate::pages::keep;
use crate::status::{self, Status};

/// Bytes of the longest path, with its zero.
pub(crate) const PATH: usize = 4096;

/// Where symbols are, and what they came to.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) status: Status,
    /// The file that has them, or the one of another build; empty for memory.
    pub(crate) path: &'static [u8],
}

impl Found {
    pub(crate) const NONE: Self = Found { status: status::NO_SYMBOLS, path: &[] };
}

/// A path that is put together, with its zero.
struct Path {
    bytes: [u8; PATH],
    len: usize,
}

impl Path {
    fn of(parts: &[&[u8]]) -> Option<Self> {
        let mut path = Path { bytes: [0; PATH], len: 0 };
        for part in parts {
            let end = path.len.checked_add(part.len()).filter(|&end| end < PATH)?;
            elf::copy(path.bytes.get_mut(path.len..end)?, part);
            path.len = end;
        }
        Some(path)
    }

    /// Maps the file; `None` where it cannot be read, or has no bytes.
    fn map(&self) -> Option<&'static [u8]> {
        // To open a pipe would wait for its writer.
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: the path ends with a zero.
        let descriptor = unsafe { libc::open(self.bytes.as_ptr().cast(), flags) };
        if descriptor < 0 {
            return None;
        }
        // SAFETY: a descriptor that was just opened; its mapping stays after it is closed.
        unsafe {
            let len = libc::lseek(descriptor, 0, libc::SEEK_END);
            let len = usize::try_from(len).ok().filter(|&len| len > 0 && len <= isize::MAX as usize);
            let bytes = len.and_then(|len| {
                let to = core::ptr::null_mut();
                let at = libc::mmap(to, len, libc::PROT_READ, libc::MAP_PRIVATE, descriptor, 0);
                (at != libc::MAP_FAILED).then(|| core::slice::from_raw_parts(at.cast::<u8>(), len))
            });
            libc::close(descriptor);
            bytes
        }
    }
}

fn unmap(bytes: &'static [u8]) {
    // SAFETY: a mapping of [`Path::map`] that nobody uses any more.
    unsafe { libc::munmap(bytes.as_ptr().cast_mut().cast(), bytes.len()) };
}

/// The search for the symbols of one module.
struct Search<'b> {
    build_id: &'b [u8],
    found: Found,
    file: Option<SymbolFile<'static>>,
}

impl Search<'_> {
    /// Takes symbols if they are of the module's build.
    fn try_bytes(&mut self, bytes: &'static [u8], path: &[u8]) -> bool {
        let (status, file) = match SymbolFile::open(bytes) {
            Err(_) => (status::E_DAMAGED, None),
            Ok(file) => {
                let has_both = !self.build_id.is_empty() && !file.build_id().is_empty();
                let is_same = file.build_id() == self.build_id;
                let fits = if has_both { is_same } else { OPTIONS.get().is_unchecked() };
                if fits { (status::OK, Some(file)) } else { (status::E_OTHER_BUILD, None) }
            }
        };
        if status == status::OK {
            // Each page is read once: a file system that fails does so now, and not in the handler.
            for page in bytes.chunks(4096) {
                core::hint::black_box(page.first().copied());
            }
        }
        // A file of another build says more than a damaged one, and both more than none.
        if self.found.status != status::E_OTHER_BUILD || status == status::OK {
            self.found = Found { status, path: keep(path).unwrap_or_default() };
        }
        self.file = file;
        self.file.is_some()
    }

    fn try_path(&mut self, parts: &[&[u8]]) -> bool {
        let Some(path) = Path::of(parts) else { return false };
        let Some(bytes) = path.map() else { return false };
        let name = path.bytes.get(..path.len).unwrap_or_default();
        let taken = self.try_bytes(bytes, name);
        if !taken {
            unmap(bytes);
        }
        taken
    }

    /// Looks in the places that are not the module's own file.
    fn elsewhere(&mut self, name: &[u8]) -> bool {
        if self.try_path(&[name, b".fsym"]) {
            return true;
        }
        let options = OPTIONS.get();
        let short = name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        if let Some(folder) = options.folder()
            && self.try_path(&[folder, b"/", short, b".fsym"])
        {
            return true;
        }
        let (Some(store), Some(([first], rest))) = (options.store(), self.build_id.split_first_chunk::<1>())
        else {
            return false;
        };
        let (mut first_digits, mut digits) = ([0u8; 2], [0u8; 128]);
        let version = [b'0'.wrapping_add(VERSION as u8)];
        let first = hex(&[*first], &mut first_digits);
        let rest = hex(rest, &mut digits);
        // The layout of a store (`foldsym convert --store`).
        self.try_path(&[store, b"/", first, b"/", rest, b"/v", &version, b".fsym"])
    }
}

fn hex<'o>(bytes: &[u8], out: &'o mut [u8]) -> &'o [u8] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble & 15)).copied().unwrap_or(b'0');
    for (byte, place) in bytes.iter().zip(out.chunks_exact_mut(2)) {
        elf::copy(place, &[digit(byte.wrapping_shr(4)), digit(*byte)]);
    }
    out.get(..bytes.len().wrapping_mul(2)).unwrap_or_default()
}

/// What a module's files have.
#[derive(Clone, Copy)]
pub(crate) struct Opened {
    pub(crate) found: Found,
    pub(crate) file: Option<SymbolFile<'static>>,
    pub(crate) symtab: Symbols<'static>,
    /// The link-time addresses of `.eh_frame`.
    pub(crate) eh_frame: Range,
}

/// Finds the symbols of a module: in memory that the options name, in the section `.fsym` of its file, beside it, in the folder, in the
/// store. Without them, the table of all symbols of its own file, if that is the file that was loaded.
pub(crate) fn find(name: &[u8], is_program: bool, build_id: &[u8]) -> Opened {
    let mut search = Search { build_id, found: Found::NONE, file: None };
    // The program's own file, even where it was replaced or removed since it was started.
    let own = Path::of(&[if is_program { b"/proc/self/exe" } else { name }]);
    let own = own.as_ref().and_then(Path::map).unwrap_or_default();
    let is_loaded = is_program || elf::build_id_of_file(own).is_some_and(|id| id == build_id);
    let sections = Sections::open(own);
    let eh_frame =
        sections.as_ref().filter(|_| is_loaded).and_then(|sections| sections.addresses(b".eh_frame\0"));
    let is_inside = is_program && OPTIONS.get().program().is_some_and(|bytes| search.try_bytes(bytes, b""));
    let section = sections.as_ref().and_then(|sections| sections.named(b".fsym\0"));
    let is_section = !is_inside && section.is_some_and(|bytes| search.try_bytes(bytes, name));
    let has_file = is_inside || is_section || search.elsewhere(name);
    let symbols = || sections.and_then(|sections| sections.symbols());
    let symtab = if has_file || !is_loaded { None } else { symbols() };
    if symtab.is_none() && !is_section && !own.is_empty() {
        unmap(own);
    }
    Opened {
        found: search.found,
        file: search.file,
        symtab: symtab.unwrap_or(Symbols::NONE),
        eh_frame: eh_frame.unwrap_or_default(),
    }
}
