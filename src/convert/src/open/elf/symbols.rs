//! Selects from the symbol tables the symbols that can name code or vtables.

use hashbrown::HashTable;
use object::elf;
use rayon::prelude::*;

use super::layout::Layout;
use super::relocate::Relocator;
use super::sections::Contents;
use crate::diagnostics::opening::{OpenDiagnosticKind, OpenDiagnostics};
use crate::model::{AddressRange, ImageAddr};
use crate::open::elf_tables::{RawSymbol, SymbolPlace, SymbolTable, Tables};
use crate::open::error::OpenError;
use crate::open::image::{Binding, CodeMark, MarkKind, Symbol, SymbolKind};
use crate::toolchain::assemblers::is_local_label;
use crate::toolchain::itanium_abi::is_vtable;
use crate::toolchain::suffixes::{exported_part, without_version};
use crate::util::hash::{HashSet, hash};
use crate::util::text;
use crate::util::text::{TOGETHER, shown, soon};

/// Function descriptors of PPC64 ELFv1 (`.opd`). There a function symbol has the address of a descriptor, and the
/// descriptor's first word is the address of the code.
#[derive(Default)]
pub(super) struct Descriptors {
    range: Option<AddressRange>,
    bytes: Vec<u8>,
}

impl Descriptors {
    /// Reads `.opd`; empty for other processors.
    ///
    /// # Errors
    /// The section is too large to copy.
    pub(super) fn read(
        contents: &Contents<'_, '_>,
        layout: &Layout,
        diagnostics: &mut OpenDiagnostics,
    ) -> Result<Self, OpenError> {
        let tables = contents.tables;
        // Little-endian PPC64 has ELFv2, which has no descriptors. Big-endian files of ELFv2 have no `.opd`.
        let section =
            (tables.machine == elf::EM_PPC64.0 && tables.is_big_endian()).then(|| tables.section(b".opd"));
        let Some(section) = section.flatten() else { return Ok(Self::default()) };
        let input = tables.bytes(section);
        let length = input.len() as u64;
        let mut bytes = contents.files.reserve(contents.path, "section .opd", length, length)?;
        bytes.extend_from_slice(input);
        // In a linked file the relocator applies nothing.
        if !Relocator::new(tables, &layout.bias).apply(section.index, &mut bytes, diagnostics) {
            // Without bytes no descriptor resolves, so each symbol of a descriptor is counted as `BadDescriptor`.
            bytes.clear();
        }
        let position = layout.position[section.index] as usize;
        Ok(Self { range: layout.sections.get(position).map(|section| section.range), bytes })
    }

    /// The code address in the descriptor at this address; the address itself if it is outside `.opd`. `Err` if the
    /// descriptor cannot be read.
    fn resolve(&self, address: u64) -> Result<u64, ()> {
        let Some(range) = self.range.filter(|range| range.contains(ImageAddr(address))) else {
            return Ok(address);
        };
        let offset = usize::try_from(ImageAddr(address) - range.start).map_err(|_| ())?;
        let word = self.bytes.get(offset..).and_then(|rest| rest.first_chunk()).ok_or(())?;
        // ELFv1 is big-endian only.
        Ok(u64::from_be_bytes(*word))
    }
}

/// What the symbol tables of a file say about its code.
pub(super) struct SymbolTables<'f> {
    pub(super) symbols: Vec<Symbol<'f>>,
    /// Names of `STT_FILE` symbols.
    pub(super) files: Vec<&'f [u8]>,
    pub(super) marks: Vec<CodeMark>,
    /// As [`Tables::versions`].
    pub(super) versions: HashSet<&'f [u8]>,
}

/// Reads `.symtab`, then adds the symbols that only `.dynsym` has.
pub(super) fn read<'f>(
    tables: &Tables<'f>,
    layout: &Layout,
    descriptors: &Descriptors,
    diagnostics: &mut OpenDiagnostics,
) -> SymbolTables<'f> {
    let versions = tables.versions();
    let read = |kind: u32, dynamic: bool| {
        let mut reader = SymbolReader {
            versions: &versions,
            machine: elf::Machine(tables.machine),
            layout,
            descriptors,
            diagnostics: OpenDiagnostics::default(),
            symbols: Vec::new(),
            hashes: Vec::new(),
            files: Vec::new(),
            marks: Vec::new(),
        };
        if let Some(table) = tables.symbol_table(kind) {
            reader.read(&table, dynamic);
        }
        reader
    };
    let whole = || {
        let whole = read(elf::SHT_SYMTAB.0, false);
        let dynamic = tables.symbol_table(elf::SHT_DYNSYM.0);
        let shared = dynamic.map_or_else(GlobalSymbols::default, |_| GlobalSymbols::new(&whole));
        (whole, shared)
    };
    // The two tables are read at once. `.symtab` still comes first in the result, so its order does not depend on threads.
    let ((whole, shared), dynamic) = rayon::join(whole, || read(elf::SHT_DYNSYM.0, true));
    let mut new = shared.others(&whole, dynamic.symbols, &dynamic.hashes);
    if !new.is_empty() {
        let parts = exported_parts(&whole.symbols);
        new.retain(|symbol| !parts.contains(&(symbol.address, symbol.name)));
    }
    diagnostics.merge(whole.diagnostics.into_vec());
    diagnostics.merge(dynamic.diagnostics.into_vec());
    let (mut symbols, mut files, mut marks) = (whole.symbols, whole.files, whole.marks);
    let first = files.len() as u32;
    symbols.extend(
        new.into_iter().map(|symbol| Symbol { file: symbol.file.map(|file| file + first), ..symbol }),
    );
    files.extend(dynamic.files);
    marks.extend(dynamic.marks);
    SymbolTables { symbols, files, marks, versions }
}

/// What is left in `.dynsym` of names whose second half became a version, with their addresses: no other names of these functions.
pub(in crate::open) fn exported_parts<'f>(symbols: &[Symbol<'f>]) -> HashSet<(u64, &'f [u8])> {
    let exported = symbols.iter().filter(|symbol| symbol.binding != Binding::Local);
    exported.filter_map(|symbol| Some((symbol.address, exported_part(symbol.name)?))).collect()
}

/// The least number of symbols that one parallel task looks up in the other table.
const AT_ONCE: usize = 1024;

/// The global and weak symbols of a table: hashed by address and name, as positions in its list of symbols.
#[derive(Default)]
struct GlobalSymbols(HashTable<u32>);

impl GlobalSymbols {
    fn new(table: &SymbolReader<'_, '_>) -> GlobalSymbols {
        let mut shared = HashTable::with_capacity(table.symbols.len());
        for (symbol, at) in table.symbols.iter().zip(0..) {
            // Functions in `.dynsym` are global or weak, so a local symbol cannot be in both tables.
            if symbol.binding != Binding::Local {
                let hash = table.hashes[at as usize];
                let hash_of = |at: &u32| table.hashes[*at as usize];
                // A table may repeat a symbol any number of times; one entry is enough.
                shared.entry(hash, |at| table.is(*at, hash, symbol), hash_of).or_insert(at);
            }
        }
        GlobalSymbols(shared)
    }

    /// The symbols of another table that `table` does not have.
    fn others<'f>(
        &self,
        table: &SymbolReader<'_, 'f>,
        mut symbols: Vec<Symbol<'f>>,
        hashes: &[u64],
    ) -> Vec<Symbol<'f>> {
        let all = symbols.par_iter().zip(hashes).with_min_len(AT_ONCE);
        let is_new = all.map(|(symbol, &hash)| self.0.find(hash, |at| table.is(*at, hash, symbol)).is_none());
        let mut is_new = is_new.collect::<Vec<bool>>().into_iter();
        symbols.retain(|_| is_new.next() == Some(true));
        symbols
    }
}

/// Code that a function descriptor describes.
struct DescribedCode {
    address: u64,
    /// The position of its section.
    position: u32,
}

struct SymbolReader<'a, 'f> {
    machine: elf::Machine,
    versions: &'a HashSet<&'f [u8]>,
    layout: &'a Layout,
    descriptors: &'a Descriptors,
    diagnostics: OpenDiagnostics,
    symbols: Vec<Symbol<'f>>,
    /// For each symbol the hash of its address and name.
    hashes: Vec<u64>,
    files: Vec<&'f [u8]>,
    marks: Vec<CodeMark>,
}

impl<'f> SymbolReader<'_, 'f> {
    /// True if the symbol at position `at` has the same address and name.
    fn is(&self, at: u32, hash: u64, symbol: &Symbol<'_>) -> bool {
        let own = &self.symbols[at as usize];
        (self.hashes[at as usize], own.address, own.name) == (hash, symbol.address, symbol.name)
    }

    fn read(&mut self, table: &SymbolTable<'f>, dynamic: bool) {
        let (mut file, before) = (None, self.symbols.len());
        let name_room = text::room(table.names_len(), table.len());
        let name_of = |raw: &RawSymbol| {
            let name = if name_room.is_short() { None } else { table.name(raw.name) };
            name.filter(|name| name_room.spend(name.len()))
        };
        // Symbol 0 is reserved (System V gABI, symbol table).
        for index in 1..table.len() {
            // Names are prefetched in groups: a dynamic table is sorted by hash, so its names are spread over the section.
            if index % TOGETHER == 1 {
                let some = (index..index + TOGETHER).map_while(|index| table.get(index));
                soon(some.map(|raw| table.names_from(raw.name)));
            }
            let Some(raw) = table.get(index) else { break };
            let kind = elf::SymbolType(raw.kind);
            if kind == elf::STT_FILE {
                // Linkers write an `STT_FILE` symbol without a name after the local symbols of the last file.
                let name = name_of(&raw).unwrap_or_default();
                file = (!name.is_empty()).then_some(self.files.len() as u32);
                if file.is_some() {
                    self.files.push(name);
                }
                continue;
            }
            if !matches!(kind, elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_NOTYPE | elf::STT_OBJECT) {
                continue;
            }
            let place = match raw.place {
                SymbolPlace::Section(section) => section,
                SymbolPlace::Undefined | SymbolPlace::Special => continue,
            };
            let (Some(&position), Some(name)) = (self.layout.position.get(place), name_of(&raw)) else {
                let kind = match name_room.is_short() {
                    true => OpenDiagnosticKind::LongSymbolNames,
                    false => OpenDiagnosticKind::BadSymbol,
                };
                self.diagnostics.note(kind, || format!("symbol {index}"));
                continue;
            };
            self.mark(&raw, name, place, position);
            if let Some(mut symbol) = self.symbol(&raw, name, place, position) {
                symbol.dynamic = dynamic;
                symbol.file = file.filter(|_| symbol.binding == Binding::Local);
                self.hashes.push(hash(&(symbol.address, symbol.name)));
                self.symbols.push(symbol);
            }
        }
        let last = (self.files.len() as u32).checked_sub(1);
        for symbol in &mut self.symbols[before..] {
            symbol.is_of_file = symbol.file.is_some() && (!symbol.hidden || symbol.file != last);
        }
    }

    /// Records the place where data begins inside a code section, and where code begins again.
    fn mark(&mut self, raw: &RawSymbol, name: &[u8], place: usize, position: u32) {
        let in_code = self.layout.sections.get(position as usize).is_some_and(|section| section.executable);
        let kind = match elf::SymbolType(raw.kind) {
            // Assembly code keeps tables of constants among its functions.
            elf::STT_OBJECT if in_code && raw.size > 0 => MarkKind::Object,
            elf::STT_NOTYPE if in_code && name.starts_with(b"$") && self.is_internal_label(name) => {
                match name[1] {
                    b'd' => MarkKind::Data,
                    b't' if self.machine == elf::EM_ARM => MarkKind::Thumb,
                    // `$a` and `$x`; on C-SKY `$t` too, which on ARM means Thumb code.
                    _ => MarkKind::Code,
                }
            }
            _ => return,
        };
        self.marks.push(CodeMark { address: raw.value.wrapping_add(self.layout.bias[place]), kind });
    }

    /// The symbol, if its kind is kept. `place` is its section index in the file, `position` its position in `Image::sections`.
    fn symbol(&mut self, raw: &RawSymbol, name: &'f [u8], place: usize, position: u32) -> Option<Symbol<'f>> {
        // The position of a section that is not loaded is `u32::MAX`. Its symbols are dropped here.
        let section = self.layout.sections.get(position as usize)?;
        let executable = section.executable;
        let kind = match elf::SymbolType(raw.kind) {
            elf::STT_FUNC => SymbolKind::Function,
            elf::STT_GNU_IFUNC => SymbolKind::Indirect,
            elf::STT_NOTYPE if executable && !self.is_internal_label(name) => SymbolKind::Label,
            elf::STT_OBJECT if is_vtable(name) => SymbolKind::Data,
            _ => return None,
        };
        if name.is_empty() {
            return None;
        }
        let mut section = section;
        let mut position = position;
        let mut address = raw.value.wrapping_add(self.layout.bias[place]);
        let function = matches!(kind, SymbolKind::Function | SymbolKind::Indirect);
        if function {
            if self.machine == elf::EM_ARM {
                // Bit 0 marks Thumb code.
                address &= !1;
            }
            // Function symbols of PPC64 ELFv1 are in `.opd`, which has no code.
            if !executable {
                DescribedCode { address, position } = self.code_of_descriptor(address, position, name)?;
                section = self.layout.sections.get(position as usize)?;
            }
        }
        // A label at the end of its section (`_etext`) comes from the linker and names no code.
        let place = ImageAddr(address);
        let inside = section.range.contains(place) || (function && place == section.range.end);
        if !inside {
            if kind != SymbolKind::Label {
                let first = || format!("{} at {address:#x}", shown(name));
                self.diagnostics.note(OpenDiagnosticKind::SymbolOutsideSection, first);
            }
            return None;
        }
        let binding = match elf::SymbolBind(raw.bind) {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            // Also `STB_GNU_UNIQUE`, which gcc gives to static data of inline functions and templates.
            _ => Binding::Global,
        };
        let name = without_version(name, |version| self.versions.contains(version));
        Some(Symbol {
            name,
            address,
            size: raw.size,
            kind,
            binding,
            section: position,
            file: None,
            is_of_file: false,
            dynamic: false,
            hidden: !raw.visible,
        })
    }

    /// The code that a function descriptor describes, which is at `address` of the section at `position`.
    fn code_of_descriptor(&mut self, address: u64, position: u32, name: &[u8]) -> Option<DescribedCode> {
        let code = self.descriptors.resolve(address);
        if code == Ok(address) {
            return Some(DescribedCode { address, position });
        }
        let sections = &self.layout.sections;
        let found = code.ok().and_then(|address| {
            let code = ImageAddr(address);
            let after = sections.partition_point(|section| section.range.start <= code);
            let section = sections.get(after.checked_sub(1)?)?;
            let is_inside = section.executable && code < section.range.end;
            is_inside.then_some(DescribedCode { address, position: (after - 1) as u32 })
        });
        if found.is_none() {
            let first = || format!("{} at {address:#x}", shown(name));
            self.diagnostics.note(OpenDiagnosticKind::BadDescriptor, first);
        }
        found
    }

    /// True for names that assemblers make: local labels (`.L`), and mapping symbols, which mark where code and data begin.
    fn is_internal_label(&self, name: &[u8]) -> bool {
        // Object files for RISC-V have these labels as symbols, since the linker moves code.
        if is_local_label(name) {
            return true;
        }
        let (Some(b'$'), Some(letter)) = (name.first(), name.get(1)) else { return false };
        let ends = matches!(name.get(2), None | Some(b'.'));
        // A mapping symbol may have a suffix after a dot, `$d.4` (ELF for the Arm Architecture, mapping symbols; RISC-V psABI).
        match self.machine {
            elf::EM_ARM => ends && matches!(letter, b'a' | b'd' | b't'),
            elf::EM_AARCH64 => ends && matches!(letter, b'd' | b'x'),
            // The instruction set may follow `$x`.
            elf::EM_RISCV => matches!(letter, b'x') || (ends && matches!(letter, b'd')),
            elf::EM_CSKY => ends && matches!(letter, b'd' | b't'),
            _ => false,
        }
    }
}
