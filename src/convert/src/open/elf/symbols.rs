//! Picks the symbols that can name code (and vtables) out of the symbol tables.

use hashbrown::HashTable;
use object::elf;
use rayon::prelude::*;

use super::layout::Layout;
use super::relocate::Relocator;
use super::sections::Contents;
use super::tables::{RawSymbol, SymbolPlace, SymbolTable, Tables};
use crate::open::diagnostics::{OpenDiagnosticKind, OpenDiagnostics};
use crate::open::error::OpenError;
use crate::open::image::{AddressRange, Binding, CodeMark, MarkKind, Symbol, SymbolKind};
use crate::util::hash::hash;
use crate::util::text;
use crate::util::text::{TOGETHER, soon};

/// Function descriptors of PPC64 ELFv1 (`.opd`): a function symbol holds the address of a descriptor, whose first word
/// is the address of the code.
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
        let section =
            (tables.machine == elf::EM_PPC64.0 && tables.is_big_endian()).then(|| tables.section(b".opd"));
        let Some(section) = section.flatten() else { return Ok(Self::default()) };
        let input = tables.bytes(section);
        let length = input.len() as u64;
        let mut bytes = contents.files.reserve(contents.path, "section .opd", length, length)?;
        bytes.extend_from_slice(input);
        if !Relocator::new(tables, &layout.bias).apply(section.index, &mut bytes, diagnostics) {
            // Descriptors that lead nowhere: each symbol of one is counted.
            bytes.clear();
        }
        let position = layout.position[section.index] as usize;
        Ok(Self { range: layout.sections.get(position).map(|section| section.range), bytes })
    }

    /// The address of the code of a descriptor at this address; `Err` where it leads nowhere.
    fn resolve(&self, address: u64) -> Result<u64, ()> {
        let Some(range) = self.range.filter(|range| (range.start..range.end).contains(&address)) else {
            return Ok(address);
        };
        let offset = usize::try_from(address - range.start).map_err(|_| ())?;
        let word = self.bytes.get(offset..).and_then(|rest| rest.first_chunk()).ok_or(())?;
        // ELFv1 is big-endian only.
        Ok(u64::from_be_bytes(*word))
    }
}

/// What the symbol tables of a file say of its code.
pub(super) struct SymbolTables<'f> {
    pub(super) symbols: Vec<Symbol<'f>>,
    /// Names of `STT_FILE` symbols.
    pub(super) files: Vec<&'f [u8]>,
    pub(super) marks: Vec<CodeMark>,
}

/// Reads `.symtab`, then what only `.dynsym` has.
pub(super) fn read<'f>(
    tables: &Tables<'f>,
    layout: &Layout,
    descriptors: &Descriptors,
    diagnostics: &mut OpenDiagnostics,
) -> SymbolTables<'f> {
    let read = |kind: u32, dynamic: bool| {
        let mut reader = SymbolReader {
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
    let ((whole, shared), dynamic) = rayon::join(whole, || read(elf::SHT_DYNSYM.0, true));
    let new = shared.others(&whole, dynamic.symbols, &dynamic.hashes);
    diagnostics.merge(whole.diagnostics.into_vec());
    diagnostics.merge(dynamic.diagnostics.into_vec());
    let (mut symbols, mut files, mut marks) = (whole.symbols, whole.files, whole.marks);
    let first = files.len() as u32;
    symbols.extend(
        new.into_iter().map(|symbol| Symbol { file: symbol.file.map(|file| file + first), ..symbol }),
    );
    files.extend(dynamic.files);
    marks.extend(dynamic.marks);
    SymbolTables { symbols, files, marks }
}

/// Symbols that one task looks for in another table, at least.
const AT_ONCE: usize = 1024;

/// The symbols of a table that are not local, by address and name: places among the symbols.
#[derive(Default)]
struct GlobalSymbols(HashTable<u32>);

impl GlobalSymbols {
    fn new(table: &SymbolReader<'_, '_>) -> GlobalSymbols {
        let mut shared = HashTable::with_capacity(table.symbols.len());
        for (symbol, at) in table.symbols.iter().zip(0..) {
            if symbol.binding != Binding::Local {
                let hash = table.hashes[at as usize];
                let hash_of = |at: &u32| table.hashes[*at as usize];
                // Once: a table may say the same any number of times.
                shared.entry(hash, |at| table.is(*at, hash, symbol), hash_of).or_insert(at);
            }
        }
        GlobalSymbols(shared)
    }

    /// Those of another table's symbols that `table` has not.
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

struct SymbolReader<'a, 'f> {
    machine: elf::Machine,
    layout: &'a Layout,
    descriptors: &'a Descriptors,
    diagnostics: OpenDiagnostics,
    symbols: Vec<Symbol<'f>>,
    /// Of the name and the address of each.
    hashes: Vec<u64>,
    files: Vec<&'f [u8]>,
    marks: Vec<CodeMark>,
}

impl<'f> SymbolReader<'_, 'f> {
    /// True where a symbol is the one at this place.
    fn is(&self, at: u32, hash: u64, symbol: &Symbol<'_>) -> bool {
        let own = &self.symbols[at as usize];
        (self.hashes[at as usize], own.address, own.name) == (hash, symbol.address, symbol.name)
    }

    fn read(&mut self, table: &SymbolTable<'f>, dynamic: bool) {
        let mut file = None;
        let name_room = text::room(table.names_len(), table.len());
        let name_of = |raw: &RawSymbol| {
            let name = if name_room.is_short() { None } else { table.name(raw.name) };
            name.filter(|name| name_room.spend(name.len()))
        };
        for index in 1..table.len() {
            // Those of a dynamic table, which is sorted by hash, lie all over the section.
            if index % TOGETHER == 1 {
                let some = (index..index + TOGETHER).map_while(|index| table.get(index));
                soon(some.map(|raw| table.names_from(raw.name)));
            }
            let Some(raw) = table.get(index) else { break };
            let kind = elf::SymbolType(raw.kind);
            if kind == elf::STT_FILE {
                // Linkers close the list of local symbols of files with a file without a name.
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
                symbol.file = file.filter(|_| symbol.binding == Binding::Local && raw.visible);
                self.hashes.push(hash(&(symbol.address, symbol.name)));
                self.symbols.push(symbol);
            }
        }
    }

    /// Keeps where data begins among code, and code again.
    fn mark(&mut self, raw: &RawSymbol, name: &[u8], place: usize, position: u32) {
        let in_code = self.layout.sections.get(position as usize).is_some_and(|section| section.executable);
        let kind = match elf::SymbolType(raw.kind) {
            elf::STT_OBJECT if in_code && raw.size > 0 => MarkKind::Object,
            elf::STT_NOTYPE if in_code && name.starts_with(b"$") && self.is_internal_label(name) => {
                match name[1] {
                    b'd' => MarkKind::Data,
                    b't' if self.machine == elf::EM_ARM => MarkKind::Thumb,
                    _ => MarkKind::Code,
                }
            }
            _ => return,
        };
        self.marks.push(CodeMark { address: raw.value.wrapping_add(self.layout.bias[place]), kind });
    }

    /// The symbol, if it is of a kind that is kept. `place` is the file's section index, `position` the image's.
    fn symbol(&mut self, raw: &RawSymbol, name: &'f [u8], place: usize, position: u32) -> Option<Symbol<'f>> {
        let section = self.layout.sections.get(position as usize)?;
        let executable = section.executable;
        let kind = match elf::SymbolType(raw.kind) {
            elf::STT_FUNC => SymbolKind::Function,
            elf::STT_GNU_IFUNC => SymbolKind::Indirect,
            elf::STT_NOTYPE if executable && !self.is_internal_label(name) => SymbolKind::Label,
            elf::STT_OBJECT if name.starts_with(b"_ZTV") => SymbolKind::Data,
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
                // Bit 0 says that the function is Thumb code.
                address &= !1;
            }
            if !executable {
                (address, position) = self.code_of_descriptor(address, position, name)?;
                section = self.layout.sections.get(position as usize)?;
            }
        }
        // A label at its section's end (`_etext`) is of the linker and names no code.
        let inside = section.range.start <= address
            && (address < section.range.end || (function && address == section.range.end));
        if !inside {
            if kind != SymbolKind::Label {
                let first = || format!("{} at {address:#x}", name.escape_ascii());
                self.diagnostics.note(OpenDiagnosticKind::SymbolOutsideSection, first);
            }
            return None;
        }
        let binding = match elf::SymbolBind(raw.bind) {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        };
        let name = without_version(name);
        Some(Symbol {
            name,
            address,
            size: raw.size,
            kind,
            binding,
            section: position,
            file: None,
            dynamic: false,
            hidden: !raw.visible,
        })
    }

    fn code_of_descriptor(&mut self, address: u64, position: u32, name: &[u8]) -> Option<(u64, u32)> {
        let code = self.descriptors.resolve(address);
        if code == Ok(address) {
            return Some((address, position));
        }
        let sections = &self.layout.sections;
        let found = code.ok().and_then(|code| {
            let after = sections.partition_point(|section| section.range.start <= code);
            let section = sections.get(after.checked_sub(1)?)?;
            (section.executable && code < section.range.end).then_some((code, (after - 1) as u32))
        });
        if found.is_none() {
            let first = || format!("{} at {address:#x}", name.escape_ascii());
            self.diagnostics.note(OpenDiagnosticKind::BadDescriptor, first);
        }
        found
    }

    /// True for names that assemblers make: local labels, and mapping symbols that tell code from data.
    fn is_internal_label(&self, name: &[u8]) -> bool {
        if name.starts_with(b".L") {
            return true;
        }
        let (Some(b'$'), Some(letter)) = (name.first(), name.get(1)) else { return false };
        let ends = matches!(name.get(2), None | Some(b'.'));
        match self.machine {
            elf::EM_ARM => ends && matches!(letter, b'a' | b'd' | b't'),
            elf::EM_AARCH64 => ends && matches!(letter, b'd' | b'x'),
            // `$x` may be followed by the instruction set.
            elf::EM_RISCV => matches!(letter, b'x') || (ends && matches!(letter, b'd')),
            elf::EM_CSKY => ends && matches!(letter, b'd' | b't'),
            _ => false,
        }
    }
}

/// The name without `@VERSION` or `@@VERSION`.
fn without_version(name: &[u8]) -> &[u8] {
    match memchr::memchr(b'@', name) {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}
