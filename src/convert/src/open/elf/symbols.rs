//! Picks the symbols that can name code (and vtables) out of the symbol tables.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use object::elf;
use rustc_hash::FxBuildHasher;

use super::Layout;
use super::relocate::Relocator;
use super::sections::Contents;
use super::tables::{RawSymbol, SymbolPlace, SymbolTable, Tables};
use crate::open::diagnostics::{Diagnostics, OpenDiagnosticKind};
use crate::open::error::OpenError;
use crate::open::image::{AddressRange, Binding, Symbol, SymbolKind};
use crate::text;

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
        diagnostics: &mut Diagnostics,
    ) -> Result<Self, OpenError> {
        let tables = contents.tables;
        let section =
            (tables.machine == elf::EM_PPC64.0 && tables.is_big_endian()).then(|| tables.section(b".opd"));
        let Some(section) = section.flatten() else { return Ok(Self::default()) };
        let input = tables.bytes(section);
        let length = input.len() as u64;
        let mut bytes = contents.files.reserve(contents.path, "section .opd", length, length)?;
        bytes.extend_from_slice(input);
        Relocator::new(tables, &layout.bias).apply(section.index, &mut bytes, diagnostics);
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

/// Reads `.symtab`, then what only `.dynsym` has.
pub(super) fn read<'f>(
    tables: &Tables<'f>,
    layout: &Layout,
    descriptors: &Descriptors,
    diagnostics: &mut Diagnostics,
) -> (Vec<Symbol<'f>>, Vec<&'f [u8]>) {
    let read = |kind: u32, dynamic: bool| {
        let mut reader = SymbolReader {
            machine: elf::Machine(tables.machine),
            layout,
            descriptors,
            diagnostics: Diagnostics::default(),
            symbols: Vec::new(),
            hashes: Vec::new(),
            files: Vec::new(),
        };
        if let Some(table) = tables.symbol_table(kind) {
            reader.read(&table, dynamic);
        }
        reader
    };
    let (whole, dynamic) = rayon::join(|| read(elf::SHT_SYMTAB.0, false), || read(elf::SHT_DYNSYM.0, true));
    diagnostics.merge(whole.diagnostics.into_vec());
    diagnostics.merge(dynamic.diagnostics.into_vec());
    let (mut symbols, mut files, mut new) = (whole.symbols, whole.files, dynamic.symbols);
    if !new.is_empty() {
        leave_out(&mut new, dynamic.hashes, &symbols, whole.hashes);
    }
    new.iter_mut().for_each(|symbol| symbol.file = symbol.file.map(|file| file + files.len() as u32));
    symbols.extend(new);
    files.extend(dynamic.files);
    (symbols, files)
}

/// Leaves symbols out that a table has which are not local. Names were hashed as they were read, which two threads did.
fn leave_out(new: &mut Vec<Symbol<'_>>, hashes: Vec<u64>, table: &[Symbol<'_>], table_hashes: Vec<u64>) {
    type Hashed<'s, 'f> = (u64, &'s Symbol<'f>);
    fn alike(a: &Hashed<'_, '_>, b: &Hashed<'_, '_>) -> bool {
        (a.0, a.1.address, a.1.name) == (b.0, b.1.address, b.1.name)
    }
    let mut known: HashTable<Hashed<'_, '_>> = HashTable::with_capacity(table.len());
    for (symbol, hash) in table.iter().zip(table_hashes) {
        if symbol.binding != Binding::Local {
            // Once: a table may say the same any number of times.
            let symbol = (hash, symbol);
            known.entry(hash, |known| alike(known, &symbol), |known| known.0).or_insert(symbol);
        }
    }
    let mut hashes = hashes.into_iter();
    new.retain(|symbol| {
        let hash = hashes.next().unwrap_or_default();
        known.find(hash, |known| alike(known, &(hash, symbol))).is_none()
    });
}

struct SymbolReader<'a, 'f> {
    machine: elf::Machine,
    layout: &'a Layout,
    descriptors: &'a Descriptors,
    diagnostics: Diagnostics,
    symbols: Vec<Symbol<'f>>,
    /// Of the name and the address of each.
    hashes: Vec<u64>,
    files: Vec<&'f [u8]>,
}

impl<'f> SymbolReader<'_, 'f> {
    fn read(&mut self, table: &SymbolTable<'f>, dynamic: bool) {
        let mut file = None;
        let name_room = text::room(table.names_len(), table.len());
        let name_of = |raw: &RawSymbol| {
            let name = if name_room.is_short() { None } else { table.name(raw.name) };
            name.filter(|name| name_room.spend(name.len()))
        };
        for index in 1..table.len() {
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
            if let Some(mut symbol) = self.symbol(&raw, name, place, position) {
                symbol.dynamic = dynamic;
                symbol.file = file.filter(|_| symbol.binding == Binding::Local && raw.visible);
                self.hashes.push(FxBuildHasher.hash_one((symbol.address, symbol.name)));
                self.symbols.push(symbol);
            }
        }
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
    match name.iter().position(|&byte| byte == b'@') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}
