//! Stacks as reports have them: modules with their mappings, and addresses with their kinds.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use foldsym_format::sections::segments;
use foldsym_lookup::SectionId;
use foldsym_store::{ModuleId, SymbolMap};

use crate::cover::{Cover, Mapped};
use crate::unknown::Unknown;

/// Bytes of a module's name: `PATH_MAX` of Linux.
const MAX_NAME: usize = 4096;

/// Where a module is in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mapping {
    /// Not known: a frame in this module must refer to it.
    #[default]
    Unknown,
    /// The module has all addresses that no other module has and at which its program has a section. Runtime addresses are link-time
    /// addresses plus `bias`, modulo 2^64.
    Everywhere {
        /// The load bias.
        bias: u64,
    },
    /// The first segment of the program is at this address; for most programs this is the lowest address of the module.
    LoadAddress {
        /// The address.
        address: u64,
        /// The bytes of memory that belong to the module, if known. Otherwise it ends where the next module begins.
        size: Option<u64>,
    },
    /// Runtime addresses are link-time addresses plus `bias`, modulo 2^64 (`dlpi_addr`).
    Bias {
        /// The load bias.
        bias: u64,
        /// The lowest address in memory.
        start: u64,
        /// Bytes of memory.
        size: u64,
    },
    /// A part of the file is mapped, as profiles describe it.
    FilePart {
        /// The lowest address in memory.
        start: u64,
        /// Bytes of memory.
        size: u64,
        /// The file offset of the part.
        file_offset: u64,
    },
}

/// A program or library of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Module {
    /// Its identity. Without one, its file is found by name.
    pub id: Option<ModuleId>,
    /// Its name or path, as the report has it. Only the last part of a path counts.
    pub name: Arc<str>,
    /// Its place in memory.
    pub mapping: Mapping,
    /// Its file, if it is open already; then no file is searched.
    pub file: Option<OpenFile>,
    /// The path of its program on this machine. Set it only if the author of the stack may choose a path to open. The program gives the
    /// module's identity if `id` is unset, and is converted if no search path and no store has the file. This needs the feature `convert`.
    pub program: Option<Arc<Path>>,
    /// Why its program is unknown, if there is a reason: answers without a file repeat it.
    pub note: Option<Arc<str>>,
    /// Where sections of its program are in memory, by name, as of a module of the Linux kernel: a relocatable program has no other addresses.
    pub sections: Option<Arc<[(String, u64)]>>,
}

/// A file that is open.
#[derive(Clone)]
pub struct OpenFile(pub Arc<SymbolMap>);

impl PartialEq for OpenFile {
    /// True if both are the same mapping.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OpenFile {}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenFile").field(&self.0.path()).finish()
    }
}

impl Module {
    /// A module without identity and mapping. A name of more than 4,096 bytes is cut: no path is longer, and each frame repeats it.
    pub fn new(name: &str) -> Self {
        let end = (0..=name.len().min(MAX_NAME)).rev().find(|&end| name.is_char_boundary(end));
        Self {
            id: None,
            name: name[..end.unwrap_or(0)].into(),
            mapping: Mapping::Unknown,
            file: None,
            program: None,
            note: None,
            sections: None,
        }
    }

    /// The module with an identity.
    pub fn with_id(self, id: impl Into<ModuleId>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// The module with its first segment at an address.
    pub fn at(self, address: u64) -> Self {
        Self { mapping: Mapping::LoadAddress { address, size: None }, ..self }
    }

    /// The module with a mapping.
    pub fn mapped(self, mapping: Mapping) -> Self {
        Self { mapping, ..self }
    }

    /// The module with a file that is open.
    pub fn with_file(self, file: Arc<SymbolMap>) -> Self {
        Self { file: Some(OpenFile(file)), ..self }
    }

    /// The module with the path of its program on this machine.
    pub fn with_program(self, path: &Path) -> Self {
        Self { program: Some(path.into()), ..self }
    }

    /// The same with a reason why its program is not known.
    pub(crate) fn noted(self, why: &str) -> Self {
        Self { note: Some(why.into()), ..self }
    }

    /// The same with its sections at these addresses, in place of a mapping.
    pub fn with_sections(self, sections: impl IntoIterator<Item = (String, u64)>) -> Self {
        Self { sections: Some(sections.into_iter().collect()), mapping: Mapping::Unknown, ..self }
    }

    /// The last section that begins at or before an address of the process, and the address's offset in it. `None` if no sections are
    /// known, or none begins there.
    pub(crate) fn section_of(&self, address: u64) -> Option<(&str, u64)> {
        let sections = self.sections.as_deref()?.iter().filter(|(_, base)| *base <= address);
        let (name, base) = sections.max_by_key(|(_, base)| *base)?;
        Some((name, address - base))
    }

    /// Where it is in memory: first and last addresses. The end of a section is not known.
    fn ranges(&self) -> impl Iterator<Item = (u64, Option<u64>)> {
        let sections = self.sections.as_deref().unwrap_or_default();
        range(self.mapping).into_iter().chain(sections.iter().map(|(_, base)| (*base, None)))
    }

    /// The last part of the name, after `/` and `\`.
    pub fn file_name(&self) -> &str {
        self.name.rsplit(['/', '\\']).next().unwrap_or("")
    }
}

/// The modules of a process. Stacks of one process share them: a clone is cheap.
#[derive(Clone, Debug)]
pub struct Modules {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Different for values with different modules. It stays the same while modules are added at the end.
    serial: u64,
    modules: Vec<Module>,
    /// Where they are mapped.
    mapped: Vec<Mapped>,
    /// The same by address, made when the first address asks.
    cover: OnceLock<Cover>,
    /// The module that has all other addresses.
    everywhere: Option<usize>,
    /// Modules by identity and by name, made at the first search for one.
    called: OnceLock<Called>,
}

/// The first module with each identity, and with each name and file name. The author of a report chooses the names, so hashes are keyed.
#[derive(Clone, Debug, Default)]
struct Called {
    by_id: HashMap<ModuleId, usize>,
    by_name: HashMap<Arc<str>, usize>,
}

impl Called {
    fn add(&mut self, index: usize, module: &Module) {
        if let Some(id) = &module.id {
            self.by_id.entry(id.clone()).or_insert(index);
        }
        let file_name = module.file_name();
        // `entry` would allocate the name even if it is already there.
        if !self.by_name.contains_key(file_name) {
            self.by_name.insert(file_name.into(), index);
        }
        self.by_name.entry(module.name.clone()).or_insert(index);
    }
}

impl Clone for Inner {
    fn clone(&self) -> Self {
        let Self { modules, mapped, cover, everywhere, called, .. } = self;
        let (modules, mapped, cover, called) =
            (modules.clone(), mapped.clone(), cover.clone(), called.clone());
        // `Arc::make_mut` clones in order to change, so the clone needs a number of its own.
        Self { serial: serial(), modules, mapped, cover, everywhere: *everywhere, called }
    }
}

/// A number that no other value of this process has.
fn serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The first address of a mapped module, and its last if known.
fn range(mapping: Mapping) -> Option<(u64, Option<u64>)> {
    let (start, size) = match mapping {
        Mapping::Unknown | Mapping::Everywhere { .. } => return None,
        Mapping::LoadAddress { address, size } => (address, size),
        Mapping::Bias { start, size, .. } | Mapping::FilePart { start, size, .. } => (start, Some(size)),
    };
    match size {
        Some(0) => None,
        // The last address is kept, not the end: a module may end at the end of the address space, and then its end does not fit 64
        // bits.
        Some(size) => Some((start, Some(start.saturating_add(size - 1)))),
        None => Some((start, None)),
    }
}

impl Modules {
    /// Takes the modules of a process. If mappings overlap, an address belongs to the mapping with the highest start that contains it.
    pub fn new(modules: Vec<Module>) -> Self {
        let mut mapped: Vec<Mapped> = Vec::new();
        let mut everywhere = None;
        for (index, module) in modules.iter().enumerate() {
            mapped.extend(module.ranges().map(|(start, last)| Mapped { start, last, module: index }));
            if let Mapping::Everywhere { .. } = module.mapping {
                everywhere.get_or_insert(index);
            }
        }
        let (cover, called) = (OnceLock::new(), OnceLock::new());
        Self { inner: Arc::new(Inner { serial: serial(), modules, mapped, cover, everywhere, called }) }
    }

    /// Adds a module at the end, and returns its index. Takes constant time for a module without a mapping, unless another value shares
    /// these modules: then all modules are copied first.
    pub fn push(&mut self, module: Module) -> usize {
        let inner = Arc::make_mut(&mut self.inner);
        let index = inner.modules.len();
        let before = inner.mapped.len();
        inner.mapped.extend(module.ranges().map(|(start, last)| Mapped { start, last, module: index }));
        // A module without a mapping changes no range, so the ranges need not be cut again.
        if inner.mapped.len() > before {
            inner.cover.take();
        }
        if let Mapping::Everywhere { .. } = module.mapping {
            inner.everywhere.get_or_insert(index);
        }
        // The first search makes this index from all modules, so it is extended only if it already exists.
        if let Some(called) = inner.called.get_mut() {
            called.add(index, &module);
        }
        inner.modules.push(module);
        index
    }

    /// The first module with an identity.
    pub fn of_id(&self, id: &ModuleId) -> Option<usize> {
        self.called().by_id.get(id).copied()
    }

    /// The first module that has this name, or this file name.
    pub fn of_name(&self, name: &str) -> Option<usize> {
        self.called().by_name.get(name).copied()
    }

    fn called(&self) -> &Called {
        self.inner.called.get_or_init(|| {
            let mut called = Called::default();
            self.inner.modules.iter().enumerate().for_each(|(index, module)| called.add(index, module));
            called
        })
    }

    /// The module that contains an address of the process.
    pub fn find(&self, address: u64) -> Option<usize> {
        let cover = self.inner.cover.get_or_init(|| Cover::new(self.inner.mapped.clone()));
        cover.find(address).or(self.inner.everywhere)
    }

    /// Why an address is in no module.
    pub(crate) fn why_none(&self) -> Unknown {
        match self.inner.modules.first() {
            Some(first) if self.inner.mapped.is_empty() && self.inner.everywhere.is_none() => {
                Unknown::NoBase(first.name.clone())
            }
            _ => Unknown::NoModule,
        }
    }

    /// True if an address of the process is in a range of a module.
    pub(crate) fn has(&self, module: usize, address: u64) -> bool {
        // `Cover` is not used: it may give an address in overlapping ranges to another module.
        let ranges = self.inner.modules.get(module).into_iter().flat_map(Module::ranges);
        ranges.into_iter().any(|(start, last)| start <= address && last.is_none_or(|last| address <= last))
    }

    /// Identifies a list of modules. If two values have the same number, one list is the beginning of the other.
    pub(crate) fn serial(&self) -> u64 {
        self.inner.serial
    }
}

impl Deref for Modules {
    type Target = [Module];

    fn deref(&self) -> &[Module] {
        &self.inner.modules
    }
}

/// The link-time address of an address in a mapping that is known by its file offset. `back` is 1 for a return address, since its call
/// must be inside the mapping, and 0 for other addresses.
pub(crate) fn in_file_part(address: u64, back: u64, module: &Module, map: &SymbolMap) -> Result<u64, String> {
    let (name, path) = (&module.name, map.path().display());
    let Mapping::FilePart { start, file_offset, .. } = module.mapping else {
        return Err(format!("{name}: its load address is unknown"));
    };
    let segments = map.file().records().segments().ok_or_else(|| {
        let has = match map.file().records().section_bytes(SectionId::SEGMENTS) {
            None => "no segments".to_owned(),
            Some(_) => format!("no sound section SEGMENTS, of at most {} segments,", segments::MAX),
        };
        format!("{name}: mapped by file offset, but {path} has {has} to convert the offset into an address")
    })?;
    // The byte before a return address is in a segment, but the return address itself may be after its end.
    let offset = address.wrapping_sub(back).wrapping_sub(start).wrapping_add(file_offset);
    let found = segments.address_of(offset);
    let found = found.ok_or_else(|| format!("{name}: no segment of {path} has file offset {offset:#x}"))?;
    Ok(found.0.wrapping_add(back))
}

/// The kind of a frame's address. Reports differ: the documentation of each says which kind it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// The instruction that was running, for example when a signal came.
    Exact,
    /// The instruction after a call.
    Return,
    /// An address inside a call instruction. The unwinder made it from a return address (minus 1, or minus the size of an instruction).
    Adjusted,
}

impl AddressKind {
    const ALL: [Self; 3] = [Self::Exact, Self::Return, Self::Adjusted];

    /// The word for it in JSON and in tables.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Return => "return",
            Self::Adjusted => "adjusted",
        }
    }

    /// The kind of a word.
    ///
    /// # Errors
    /// The words that there are, for a message.
    pub fn parse(word: &str) -> Result<Self, &'static str> {
        let kind = Self::ALL.into_iter().find(|kind| kind.text() == word);
        kind.ok_or("expected \"exact\", \"return\" or \"adjusted\"")
    }
}

/// An address as a report or a caller gives it, in one of several forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportedAddress {
    /// An address of the process.
    Memory(u64),
    /// An address of the process, in the module that the report gives: in a report about several processes mappings may overlap.
    Mapped {
        /// Index of the module.
        module: usize,
        /// The address.
        address: u64,
    },
    /// An offset from the address of a module's first segment.
    Offset {
        /// Index of the module.
        module: usize,
        /// Bytes from the start of the segment.
        offset: u64,
    },
    /// A link-time address of a module. In most position-independent programs it equals the offset.
    Image {
        /// Index of the module.
        module: usize,
        /// The address, as section headers have it.
        address: u64,
    },
    /// An offset in a section of a module's program. A relocatable program has these in place of addresses.
    Section {
        /// Index of the module.
        module: usize,
        /// Index of the section, in the order of [`foldsym_lookup::records::Records::program_sections`].
        section: usize,
        /// Bytes from its start.
        offset: u64,
    },
    /// Not known. The frame outside of it is then no caller of the frame inside.
    Unknown,
}

impl ReportedAddress {
    /// The number that the report gave: an address or an offset. `None` for an unknown place.
    pub const fn given(self) -> Option<u64> {
        match self {
            Self::Memory(address) | Self::Mapped { address, .. } | Self::Image { address, .. } => {
                Some(address)
            }
            Self::Offset { offset, .. } | Self::Section { offset, .. } => Some(offset),
            Self::Unknown => None,
        }
    }
}

/// Bytes from a module's first segment to a place in it, without its file; `None` if the mapping does not say it.
pub(crate) fn module_offset(modules: &Modules, module: Option<usize>, place: ReportedAddress) -> Option<u64> {
    let mapping = modules.get(module?)?.mapping;
    match (place, mapping) {
        (ReportedAddress::Offset { offset, .. }, _) => Some(offset),
        // Of most programs in which the address can differ from the link-time address.
        (ReportedAddress::Image { address, .. }, _) => Some(address),
        (ReportedAddress::Memory(at) | ReportedAddress::Mapped { address: at, .. }, mapping) => match mapping
        {
            Mapping::LoadAddress { address, .. } => at.checked_sub(address),
            Mapping::Bias { start, .. } => at.checked_sub(start),
            Mapping::FilePart { start, file_offset, .. } => at.checked_sub(start)?.checked_add(file_offset),
            Mapping::Everywhere { .. } | Mapping::Unknown => None,
        },
        _ => None,
    }
}

/// One frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// Its address.
    pub place: ReportedAddress,
    /// The kind of the address.
    pub kind: AddressKind,
}

impl StackFrame {
    /// The instruction at an address of the process.
    pub const fn exact(address: u64) -> Self {
        Self { place: ReportedAddress::Memory(address), kind: AddressKind::Exact }
    }

    /// A caller, by the return address of its call.
    pub const fn returns_to(address: u64) -> Self {
        Self { place: ReportedAddress::Memory(address), kind: AddressKind::Return }
    }

    /// A caller, by an address of the process inside its call.
    pub const fn adjusted(address: u64) -> Self {
        Self { place: ReportedAddress::Memory(address), kind: AddressKind::Adjusted }
    }

    /// A frame without an address.
    pub const UNKNOWN: Self = Self { place: ReportedAddress::Unknown, kind: AddressKind::Exact };
}

/// A stack, innermost frame first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stack {
    /// The modules of the process.
    pub modules: Modules,
    /// Its frames.
    pub frames: Vec<StackFrame>,
}

impl Stack {
    /// A stack of a process.
    pub fn new(modules: &Modules, frames: Vec<StackFrame>) -> Self {
        Self { modules: modules.clone(), frames }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_find_their_modules() {
        let part = |start, size| Mapping::FilePart { start, size, file_offset: 0 };
        let modules = Modules::new(vec![
            Module::new("open").at(0x1000),
            Module::new("part").mapped(part(0x3000, 0x100)),
            Module::new("none"),
            Module::new("empty").mapped(part(0x2000, 0)),
            Module::new("last").mapped(part(u64::MAX - 1, 10)),
            Module::new("sized").mapped(Mapping::LoadAddress { address: 0x100, size: Some(0x10) }),
            Module::new("around").mapped(Mapping::LoadAddress { address: 0x5000, size: Some(0x1000) }),
            Module::new("inner").mapped(Mapping::LoadAddress { address: 0x5100, size: Some(0x10) }),
        ]);
        for (address, found) in [
            (0xff, None),
            (0x100, Some(5)),
            (0x110, None),
            (0x1000, Some(0)),
            (0x2fff, Some(0)),
            (0x3000, Some(1)),
            (0x30ff, Some(1)),
            (0x3100, None),
            (0x5100, Some(7)),
            (0x5110, Some(6)),
            (0x5fff, Some(6)),
            (0x6000, None),
            (u64::MAX, Some(4)),
        ] {
            assert_eq!(modules.find(address), found, "{address:#x}");
        }
        let mut grown = Modules::new(modules[..2].to_vec());
        for (index, module) in modules.iter().enumerate().skip(2) {
            assert_eq!(grown.push(module.clone()), index);
        }
        for address in [0xff, 0x100, 0x110, 0x1000, 0x2fff, 0x3000, 0x3100, 0x5100, 0x5110, u64::MAX] {
            assert_eq!(grown.find(address), modules.find(address), "{address:#x}");
        }
        assert_eq!(Module::new("/usr/lib/libc.so.6").file_name(), "libc.so.6");
        assert_eq!(Module::new("C:\\x\\a.so").file_name(), "a.so");
        assert_eq!(Module::new("..").file_name(), "..");
    }

    #[test]
    fn texts_find_the_first_module() {
        let id = |text: &str| ModuleId::parse(text).unwrap();
        let mut modules = Modules::new(vec![
            Module::new("/a/libx.so").with_id(id("abcd")),
            Module::new("libx.so").with_id(id("ef01")),
            Module::new("C:\\y.dll").with_id(id("abcd")),
        ]);
        let alone = modules.serial();
        for (name, found) in [
            ("/a/libx.so", Some(0)),
            ("libx.so", Some(0)),
            ("y.dll", Some(2)),
            ("C:\\y.dll", Some(2)),
            ("z", None),
        ] {
            assert_eq!(modules.of_name(name), found, "{name}");
        }
        assert_eq!((modules.of_id(&id("abcd")), modules.of_id(&id("ef01"))), (Some(0), Some(1)));
        assert_eq!(modules.push(Module::new("z")), 3);
        assert_eq!((modules.of_name("z"), modules.serial()), (Some(3), alone));
        // A clone does not change when modules are added.
        let shared = modules.clone();
        modules.push(Module::new("w"));
        assert_eq!((shared.len(), modules.len(), shared.serial()), (4, 5, alone));
        assert!(modules.serial() != alone && modules.of_name("libx.so") == Some(0));
    }
}
